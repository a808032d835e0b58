# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a report folder as a page: what is wrong with the file of one host costs that host alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ansible", reason="the action plugin runs on the control host, with ansible-core")

from ansible_collections.accelerator.ops.plugins.action.survey_report import report
from ansible_collections.accelerator.ops.plugins.plugin_utils.report_dir import ReportDir, facts_name
from ansible_collections.accelerator.ops.plugins.plugin_utils.this_run import run_id
from ansible_collections.accelerator.ops.tests.unit.report import fleet


def entry(facts: Any, host: str = "odd") -> dict[str, Any]:
    return {"run": run_id(), "host": host, "root": "/", "facts": facts}


def make(folder: Path, odd: str) -> dict[str, Any]:
    """The report of a good host and one whose file holds ``odd``."""
    into = ReportDir(str(folder))
    into.write_host("good", {"root": "/", "facts": fleet.nvswitch_node()})
    into.write(facts_name("odd"), odd)
    wish = {"report_dir": str(folder), "hosts": ["good", "odd"], "title": "", "language": "en"}
    result = report(wish)
    return {**result, **json.loads(Path(result["data"]).read_text(encoding="utf-8"))}


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (json.dumps(entry({**fleet.nvswitch_node(), "devices": "x"})), "devices is text, expected a list"),
        (json.dumps(entry({**fleet.nvswitch_node(), "schema": 2})), "schema is 2, expected 1"),
        (json.dumps(entry(fleet.nvswitch_node()))[:-999], "is no JSON"),
        ("", "is no JSON"),
        ("[" * 200000, "is no JSON"),
        ('{"a":' * 200000, "is no JSON"),
        ("1" * 5000, "is no JSON"),
        (json.dumps(entry(None, "other")), "is not about this host"),
        ("[]", "is not about this host"),
        ("7", "is not about this host"),
    ],
)
def test_a_wrong_file_fails_its_host_alone(tmp_path: Path, odd: str, reason: str) -> None:
    found = make(tmp_path, odd)
    assert [node["status"] for node in found["nodes"]] == ["seen", "failed"]
    assert reason in found["nodes"][1]["reason"]
    assert "\n" not in found["nodes"][1]["reason"]
    assert found["summary"]["nodes_failed"] == 1
    assert reason in Path(found["page"]).read_text(encoding="utf-8")
