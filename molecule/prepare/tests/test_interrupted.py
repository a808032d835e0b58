# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is killed between the change and the handler: the next one restarts what is due, and proves it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

SCENARIO = Path(os.environ["MOLECULE_SCENARIO_DIRECTORY"])
PAGES = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
WANTED = 5
_LONGEST_SECONDS = 180


def start(folder: Path, playbook: str) -> subprocess.Popen[str]:
    """A run on the container that wants one more huge page than it has."""
    wish = {"accelerator_hugepages_2m": WANTED, "accelerator_report_dir": str(folder / "report")}
    wish["held_folder"] = str(folder)
    command = ["ansible-playbook", playbook, f"--inventory={SCENARIO.parent / 'inventory'}", "--limit=ops-prepare"]
    return subprocess.Popen(
        [*command, "-e", json.dumps(wish)],
        env={
            **os.environ,
            "ANSIBLE_CALLBACK_PLUGINS": str(SCENARIO.parents[1] / "tests" / "prepare" / "callback"),
            "ANSIBLE_CALLBACKS_ENABLED": "recorded_tasks",
            "RECORDED_TASKS": str(folder / "runs"),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def play(folder: Path) -> tuple[int, dict[str, Any]]:
    """A run of the playbook to its end: its status, and its last task of each name."""
    run = start(folder, "accelerator.ops.prepare")
    output = run.communicate(timeout=300)[0]
    print(output)
    last = sorted((folder / "runs").glob("*.jsonl"))[-1].read_text(encoding="utf-8").splitlines()
    return run.returncode, {row["task"].rpartition(" : ")[2]: row for row in map(json.loads, last)}


@pytest.fixture
def held(tmp_path: Path) -> subprocess.Popen[str]:
    """A run that has changed the container, and not come to its handlers."""
    run = start(tmp_path, str(SCENARIO / "held.yml"))
    deadline = time.monotonic() + _LONGEST_SECONDS
    while not (tmp_path / "ready").exists():
        if run.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"the first run did not come to wait: {run.communicate()[0]}")
        select.select([], [], [], 0.1)
    return run


def kubelet(host: Host) -> str:
    """The process that stands behind the unit."""
    number = host.check_output("systemctl show kubelet.service --property=MainPID --value")
    assert host.file(f"/proc/{number}/cmdline").content_string.startswith("/usr/bin/sleep")
    return number


def test_what_a_killed_run_left_due_is_done_by_the_next(
    host: Host, held: subprocess.Popen[str], tmp_path: Path
) -> None:
    before = kubelet(host)
    try:
        assert host.file(PAGES).content_string.strip() == str(WANTED)  # changed, and the kubelet does not know
        status, tasks = play(tmp_path)
        assert status != 0
        error = tasks["Prepare the node"]["error"]
        assert error["code"] == "busy"
        assert f" {held.pid}-" in error["details"]["owner"]["run"]
    finally:
        os.killpg(held.pid, signal.SIGKILL)
        held.communicate()
    assert kubelet(host) == before

    status, tasks = play(tmp_path)
    assert status == 0
    change, commit = tasks["Prepare the node"], tasks["Commit"]
    assert change["plan"] == []
    assert change["changed"]
    assert [row["service"] for row in change["restart"]] == ["kubelet.service"]
    assert commit["restart"] == []
    assert isinstance(commit["generation"], int)
    assert kubelet(host) != before

    started = kubelet(host)
    status, tasks = play(tmp_path)
    assert status == 0
    assert [name for name, row in tasks.items() if row.get("changed")] == []
    assert kubelet(host) == started
