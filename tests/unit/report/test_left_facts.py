# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the action plugin of ``accelerator_facts`` leaves in the report folder: the facts, or why there are none."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ansible", reason="the action plugin runs on the control host, with ansible-core")

from ansible_collections.accelerator.ops.plugins.action.accelerator_facts import ActionModule
from ansible_collections.accelerator.ops.plugins.plugin_utils.report_dir import facts_name

TRACEBACK = 'Traceback (most recent call last):\n  File "x.py", line 5, in main\nTypeError: a wrong kind\n'


def left_by(folder: Path, result: dict[str, Any]) -> dict[str, Any]:
    plugin = ActionModule.__new__(ActionModule)
    plugin._task = SimpleNamespace(args={"report_dir": str(folder)})
    plugin._execute_module = lambda **_given: dict(result)
    plugin._templar = SimpleNamespace(template=None)  # no host here has a root
    assert plugin._look({"inventory_hostname": "gpu-17"}) == result
    entry: dict[str, Any] = json.loads((folder / facts_name("gpu-17")).read_text(encoding="utf-8"))
    return entry


def test_facts_are_left(tmp_path: Path) -> None:
    assert left_by(tmp_path, {"ansible_facts": {"accelerators": {"schema": 1}}})["facts"] == {"schema": 1}


@pytest.mark.parametrize(
    ("result", "line"),
    [
        ({"failed": True, "msg": "cannot\nopen"}, "cannot open"),
        ({"failed": True}, "no message"),
        # ansible-core 2.16: a module that breaks, one that is killed
        ({"failed": True, "msg": "MODULE FAILURE\nSee stderr", "exception": TRACEBACK, "module_stderr": TRACEBACK},
         "MODULE FAILURE See stderr; TypeError: a wrong kind"),
        ({"failed": True, "msg": "MODULE FAILURE", "module_stderr": "Killed\n\n"}, "MODULE FAILURE; Killed"),
        # ansible-core 2.21: the same
        ({"failed": True, "exception": SimpleNamespace(event=SimpleNamespace(msg="a wrong\nkind"))}, "a wrong kind"),
        ({"failed": True, "msg": "No start of json char found", "module_stderr": "Killed\n"},
         "No start of json char found; Killed"),
        ({"failed": True, "exception": TRACEBACK}, "TypeError: a wrong kind"),
        ({"failed": True, "exception": None, "module_stderr": 7}, "no message"),
        ({"failed": True, "msg": "x" * 999}, "x" * 399 + "…"),
        ({}, "the module returned no facts"),
        ({"ansible_facts": None}, "the module returned no facts"),
        ({"ansible_facts": {"other": 1}}, "the module returned no facts"),
    ],
)  # fmt: skip
def test_why_there_are_none_is_left_in_one_line(tmp_path: Path, result: dict[str, Any], line: str) -> None:
    entry = left_by(tmp_path, result)
    assert entry["error"] == {"code": "probe", "message": line}
    assert "facts" not in entry


def test_code_of_the_module_is_kept(tmp_path: Path) -> None:
    result = {"failed": True, "msg": "no", "error": {"code": "input", "found": "x"}}
    assert left_by(tmp_path, result)["error"] == {"code": "input", "found": "x", "message": "no"}
    assert left_by(tmp_path, {"unreachable": True, "msg": "down"})["error"]["code"] == "unreachable"
