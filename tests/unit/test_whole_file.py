# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of the control host: whole or not there, all or none, and nothing of a killed run stays for ever."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.plugin_utils import whole_file
from ansible_collections.accelerator.ops.plugins.plugin_utils.destination import Destination
from ansible_collections.accelerator.ops.plugins.plugin_utils.report_dir import ReportDir

KILLED = """
import os, signal, sys
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models, whole_file

def die(*_arguments):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[1] == "lay out":
    machine_models._move = die
    machine_models.laid_out(machine_models.find("nvidia-t4-vm"), sys.argv[2])
else:
    os.replace = die
    whole_file.write(os.path.join(sys.argv[2], "a"), b"x", 0o600)
"""


def leave(folder: Path, what: str) -> Path:
    """What a run that is killed at its last step leaves, as if two hours ago."""
    done = subprocess.run([sys.executable, "-c", KILLED, what, str(folder)], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = [path for path in folder.iterdir() if path.name.startswith(".")]
    age(left)
    return left


def age(path: Path) -> None:
    os.utime(path, (time.time() - 7200, time.time() - 7200), follow_symlinks=False)


def test_a_machine_model_is_laid_out_where_a_killed_run_left_something(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="machine models are read on the control host, with ansible-core")
    from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models

    model = machine_models.find("nvidia-t4-vm")
    machine_models.laid_out(model, str(tmp_path))
    (root,) = tmp_path.iterdir()
    os.rename(root, tmp_path / "aside")
    left = leave(tmp_path, "lay out")
    os.rename(tmp_path / "aside", root)
    machine_models.laid_out(model, str(tmp_path))
    assert not left.exists()
    assert list(tmp_path.iterdir()) == [root]


def test_a_recording_is_written_where_a_killed_run_left_something(tmp_path: Path) -> None:
    leave(tmp_path, "write")
    Destination(str(tmp_path / "b"), "b", "recording").write(b"y")
    assert os.listdir(tmp_path) == ["b"]


def test_a_report_is_written_where_a_killed_run_left_something(tmp_path: Path) -> None:
    (tmp_path / "facts").mkdir()
    leave(tmp_path, "write")
    leave(tmp_path / "facts", "write")
    ReportDir(str(tmp_path)).sweep()
    assert [path.name for path in tmp_path.rglob("*")] == ["facts"]


def test_what_is_young_or_not_ours_stays(tmp_path: Path) -> None:
    young = Path(whole_file.temporary(str(tmp_path)))
    young.write_text("x", encoding="utf-8")
    others = [tmp_path / name for name in (".accelerator-ops-1.tmp", f".{'0' * 32}.tmp", "a", f"x{young.name}")]
    for other in others:
        other.write_text("x", encoding="utf-8")
        age(other)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x", encoding="utf-8")
    link = Path(whole_file.temporary(str(tmp_path)))
    link.symlink_to(outside)
    age(link)
    whole_file.sweep(str(tmp_path))
    assert young.exists()
    assert all(other.exists() for other in others)
    assert not link.is_symlink()
    assert (outside / "kept").exists()
    whole_file.sweep(str(tmp_path / "nowhere"))


@pytest.mark.parametrize("call", [1, 2])
def test_a_disk_that_is_full_changes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    """Of two files that belong together none is new where one has no room."""
    folder = ReportDir(str(tmp_path))
    folder.write_all({"survey.html": "old page", "survey.json": "old data"})
    real, count = os.fsync, 0

    def full(handle: int) -> None:
        nonlocal count
        count += 1
        if count == call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Exception, match="No space left"):
        folder.write_all({"survey.html": "new page", "survey.json": "new data"})
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {
        "survey.html": "old page",
        "survey.json": "old data",
    }


def test_the_data_of_a_report_takes_its_place_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed = []
    real = os.replace

    def note(made: str, path: str) -> None:
        placed.append(os.path.basename(path))
        real(made, path)

    monkeypatch.setattr(os, "replace", note)
    pytest.importorskip("ansible", reason="the action plugin runs on the control host, with ansible-core")
    from ansible_collections.accelerator.ops.plugins.action.survey_report import report

    report({"report_dir": str(tmp_path), "hosts": ["a"], "title": "", "language": "en"})
    assert placed == ["survey.html", "survey.json"]
