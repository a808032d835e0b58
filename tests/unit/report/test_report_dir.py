# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report folder on the control host."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError
from ansible_collections.accelerator.ops.plugins.plugin_utils.edge import outcome, plain
from ansible_collections.accelerator.ops.plugins.plugin_utils.report_dir import ReportDir, facts_name
from ansible_collections.accelerator.ops.plugins.plugin_utils.this_run import run_id


def test_names_of_hosts_are_safe_and_distinct() -> None:
    hosts = [
        "a",
        "A",
        "..",
        "../../etc/passwd",
        "a/b",
        "a b",
        "[fe80::1]",
        "ü",
        "x" * 400,
        "x" * 401,
        "/",
        "a.json",
        "\udcff",
    ]
    names = [facts_name(host) for host in hosts]
    assert len(set(names)) == len(hosts)
    for name in names:
        folder, _slash, file = name.partition("/")
        assert folder == "facts"
        assert "/" not in file
        assert file not in ("", ".", "..")
        assert len(file.encode()) < 230


def test_write_replaces_whole_files_and_leaves_nothing_else(tmp_path: Path) -> None:
    folder = ReportDir(str(tmp_path / "new" / "report"))
    assert folder.read("survey.json") is None
    folder.write("survey.json", "one")
    folder.write("survey.json", "two\ud800")
    assert folder.read("survey.json") == "two?"
    assert os.listdir(folder.path) == ["survey.json"]
    folder.remove("survey.json")
    folder.remove("survey.json")
    assert os.listdir(folder.path) == []


def test_entry_of_a_host_names_its_run(tmp_path: Path) -> None:
    folder = ReportDir(str(tmp_path))
    place = folder.write_host("n/1", {"facts": {"schema": 1}})
    entry = json.loads(Path(place).read_text(encoding="utf-8"))
    assert entry == {"run": run_id(), "host": "n/1", "facts": {"schema": 1}}
    assert run_id().partition("-")[0] == str(os.getppid())


@pytest.mark.parametrize("blocked", ["report", "report/facts"])
def test_folder_that_cannot_be_used_is_one_clear_line(tmp_path: Path, blocked: str) -> None:
    place = tmp_path / blocked
    place.parent.mkdir(exist_ok=True)
    place.write_text("a file", encoding="utf-8")
    with pytest.raises(InputError, match=r"^cannot write report file .*: .*, expected a folder on the control host"):
        ReportDir(str(tmp_path / "report")).write_host("n", {})


def test_typed_error_is_a_failed_result() -> None:
    def work() -> dict[str, object]:
        raise InputError("read", "x", "y", "z", "do")

    result = outcome(work)
    assert (result["failed"], result["error"]["code"]) == (True, "input")
    assert outcome(lambda: {"changed": True}) == {"changed": True}


def test_values_of_ansible_become_plain() -> None:
    class Tagged(str):
        pass

    value = plain({Tagged("k"): [Tagged("v"), 1, None, (True,)]})
    assert value == {"k": ["v", 1, None, [True]]}
    assert value["k"][0].__class__ is str
