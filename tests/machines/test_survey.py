# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook ``survey`` as a user runs it: hosts that fail, check mode, a second run, ``--limit``.

Runs the ``ansible-playbook`` beside the Python of the tests; without one the tests are skipped.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PLAYBOOK = Path(sys.executable).parent / "ansible-playbook"
ODD = "odd/../na me"

pytestmark = pytest.mark.skipif(not PLAYBOOK.exists(), reason=f"no Ansible here: {PLAYBOOK} is not there")


class Run(NamedTuple):
    status: int
    output: str
    stats: dict[str, Any]
    data: dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An inventory of a node, one with a wrong root, one that is down, and one with an odd name."""
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    tree = tmp_path / "tree"
    (tree / "sys" / "bus" / "pci" / "devices").mkdir(parents=True)
    (tree / "proc").mkdir()
    hosts = {
        "here": {**here, "accelerator_root": str(tree)},
        "wrong": {**here, "accelerator_root": str(tmp_path / "nowhere")},
        "down": {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 9},
        ODD: {**here, "accelerator_root": str(tree)},
    }
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}), encoding="utf-8")
    linked = tmp_path / "collections" / "ansible_collections" / "accelerator"
    linked.mkdir(parents=True)
    (linked / "ops").symlink_to(CHECKOUT)
    return tmp_path


def _run(folder: Path, *options: str) -> Run:
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(folder / "collections"),
        "ANSIBLE_SHOW_CUSTOM_STATS": "1",
        "ANSIBLE_LOCAL_TEMP": str(folder / "local"),
        "ANSIBLE_REMOTE_TEMP": str(folder / "remote"),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_DEVEL_WARNING": "0",
        "LC_ALL": "C.UTF-8",
    }
    environment.pop("PYTHONPATH", None)
    command = [str(PLAYBOOK), "-i", str(folder / "hosts.json"), "accelerator.ops.survey"]
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, cwd=folder, env=environment, check=False
    )
    found = re.search(r"^\tRUN: (\{.*\})$", done.stdout, re.MULTILINE)
    report = folder / "accelerator-report" / "survey.json"
    return Run(
        done.returncode,
        done.stdout + done.stderr,
        json.loads(found[1]) if found else {},
        json.loads(report.read_text(encoding="utf-8")) if report.exists() else {},
    )


def _status(run: Run) -> dict[str, str]:
    return {node["name"]: node["status"] for node in run.data["nodes"]}


def test_survey_goes_on_without_the_hosts_that_fail(folder: Path) -> None:
    run = _run(folder)
    assert run.status == 0, run.output
    assert _status(run) == {"down": "unreachable", "here": "seen", ODD: "seen", "wrong": "failed"}
    wrong = next(node for node in run.data["nodes"] if node["name"] == "wrong")
    assert wrong["reason"].startswith("cannot open root")
    assert {key: value for key, value in run.stats.items() if key.startswith("survey_nodes_")} == {
        "survey_nodes_total": 4,
        "survey_nodes_seen": 2,
        "survey_nodes_failed": 1,
        "survey_nodes_unreachable": 1,
        "survey_nodes_missing": 0,
    }
    assert all(isinstance(value, (str, int)) for value in run.stats.values())
    assert Path(run.stats["survey_page"]).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "Traceback" not in run.output
    assert "2 of 4 nodes seen" in run.output


def test_second_run_changes_nothing_and_a_stale_file_is_not_reported(folder: Path) -> None:
    first = _run(folder)
    assert " changed=1 " in first.output
    second = _run(folder, "--check")
    assert second.status == 0, second.output
    assert " changed=1 " not in second.output
    assert second.data["run"]["id"] != first.data["run"]["id"]
    assert {**first.data, "run": None} == {**second.data, "run": None}
    # a run that skips the look leaves yesterday's files where they are, and reports none of them
    third = _run(folder, "--start-at-task", "Make the page")
    assert third.status == 0, third.output
    assert set(_status(third).values()) == {"missing"}


def test_check_mode_writes_the_report(folder: Path) -> None:
    run = _run(folder, "--check", "--limit", "all:!down:!wrong")
    assert run.status == 0, run.output
    assert _status(run) == {"here": "seen", ODD: "seen"}
    assert run.stats["survey_nodes_total"] == 2


def test_report_is_made_when_every_host_is_lost(folder: Path) -> None:
    run = _run(folder, "--limit", "down:wrong", "-e", "accelerator_language=de")
    assert run.status == 0, run.output
    assert _status(run) == {"down": "unreachable", "wrong": "failed"}
    page = (folder / "accelerator-report" / "survey.html").read_text(encoding="utf-8")
    assert '<html lang="de">' in page


def test_wrong_language_is_one_clear_line(folder: Path) -> None:
    run = _run(folder, "--limit", "here", "-e", "accelerator_language=fr")
    assert run.status == 2
    assert "value of survey_language must be one of: de, en" in run.output
    assert not (folder / "accelerator-report").exists()
    assert "Traceback" not in run.output


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("accelerator_tools=some", "value of survey_tools must be one of: auto, none"),
        ("accelerator_tool_deadline_seconds=soon", "argument 'survey_tool_deadline_seconds' is of type"),
    ],
)
def test_wrong_choice_of_tools_is_one_clear_line(option: str, message: str, folder: Path) -> None:
    run = _run(folder, "--limit", "here", "-e", option)
    assert run.status == 2
    assert message in run.output
    assert "Traceback" not in run.output


def test_report_folder_that_is_a_file(folder: Path) -> None:
    (folder / "accelerator-report").write_text("a file", encoding="utf-8")
    run = _run(folder, "--limit", "here")
    assert run.status == 2
    assert "expected a folder on the control host that can be written" in run.output
    assert "Traceback" not in run.output
