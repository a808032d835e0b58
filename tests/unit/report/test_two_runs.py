# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two runs and one report folder: never a page of both, and no run that is over is in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import BusyError, InputError
from ansible_collections.accelerator.ops.plugins.plugin_utils.edge import outcome
from ansible_collections.accelerator.ops.plugins.plugin_utils.report_dir import ReportDir, facts_name
from ansible_collections.accelerator.ops.tests.unit.report import fleet

OTHER = """
import sys
from ansible_collections.accelerator.ops.plugins.plugin_utils.report_dir import ReportDir
ReportDir(sys.argv[1]).claim()
"""
PARENT = (
    "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]], check=True); print(1, flush=True); input()"
)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another run that has taken the folder, and goes on."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, "-c", OTHER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "1\n"
        yield run
        run.kill()


def test_a_run_that_goes_on_keeps_the_folder(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    with pytest.raises(BusyError) as caught:
        ReportDir(str(tmp_path)).claim()
    line = str(caught.value)
    assert line.startswith(f"cannot use report folder {tmp_path}: a run of ")
    assert f"(process {other.pid} on {os.uname().nodename}, since " in line
    assert "\n" not in line
    result = outcome(lambda: ReportDir(str(tmp_path)).claim() or {})
    assert result["error"]["code"] == "busy"
    assert result["error"]["details"]["process"] == other.pid


def test_neither_facts_nor_a_page_are_written_then(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    pytest.importorskip("ansible", reason="the action plugins run on the control host, with ansible-core")
    from types import SimpleNamespace

    from ansible_collections.accelerator.ops.plugins.action.accelerator_facts import ActionModule
    from ansible_collections.accelerator.ops.plugins.action.survey_report import report

    theirs = Path(ReportDir(str(tmp_path)).write_host("a", {"facts": fleet.nvswitch_node()}))
    before = theirs.read_bytes()
    plugin = ActionModule.__new__(ActionModule)
    plugin._task = SimpleNamespace(args={"report_dir": str(tmp_path)})
    plugin._templar = SimpleNamespace(template=None)  # no host here has a root
    with pytest.raises(BusyError):
        plugin._look({"inventory_hostname": "a"})
    with pytest.raises(BusyError):
        report({"report_dir": str(tmp_path), "hosts": ["a"], "title": "", "language": "en"})
    assert theirs.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == [".run.json", "facts"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="without /proc a zombie counts as a process")
def test_a_run_that_was_killed_is_not_in_the_way(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    other.kill()
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)  # dead, and nobody has asked for its status
    folder = ReportDir(str(tmp_path))
    folder.claim()
    folder.claim()
    assert json.loads((tmp_path / ".run.json").read_text(encoding="utf-8"))["run"].startswith(f"{os.getppid()}-")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="without /proc a process number is all there is")
def test_a_number_that_came_again_is_another_run(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    place = tmp_path / ".run.json"
    owner = json.loads(place.read_text(encoding="utf-8"))
    place.write_text(json.dumps({**owner, "run": f"{other.pid}-1"}), encoding="utf-8")
    ReportDir(str(tmp_path)).claim()


def test_a_run_of_another_machine_has_the_folder_for_an_hour(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    place = tmp_path / ".run.json"
    owner = json.loads(place.read_text(encoding="utf-8"))
    place.write_text(json.dumps({**owner, "node": "elsewhere", "run": "1-1"}), encoding="utf-8")
    with pytest.raises(BusyError, match=r"on elsewhere, since .*or remove .*\.run\.json if it is"):
        ReportDir(str(tmp_path)).claim()
    os.utime(place, (time.time() - 3700,) * 2)
    ReportDir(str(tmp_path)).claim()


def test_a_folder_that_was_given_back_is_free(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    """What is not the own folder stays the other's; an empty or torn file names nobody."""
    folder = ReportDir(str(tmp_path))
    folder.give_back()
    with pytest.raises(BusyError):
        folder.claim()
    for text in ("", '{"run": "1', "[]", '{"run": 1, "node": "x", "user": "x", "since": "x"}', "[" * 4000):
        (tmp_path / ".run.json").write_text(text, encoding="utf-8")
        folder.claim()
    folder.give_back()
    assert (tmp_path / ".run.json").read_bytes() == b""
    assert folder.read(facts_name("a")) is None


def test_a_folder_that_cannot_be_taken_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "report").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match=r"^cannot write report file .*\.run\.json: "):
        ReportDir(str(tmp_path / "report")).claim()
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / ".run.json").symlink_to(tmp_path / "report")
    with pytest.raises(InputError, match="cannot write report file"):
        ReportDir(str(tmp_path / "a")).claim()
    assert (tmp_path / "report").read_text(encoding="utf-8") == "x"
