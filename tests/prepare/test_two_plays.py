# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two runs against one node: the second is told who has it, nothing is mixed, and a run that is over blocks nobody."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.accelerator.ops.tests.prepare.conftest import HERE, STATE, Ran, Tree, ended

ROUNDS = 50 if os.environ.get("ACCELERATOR_OPS_WHOLE") else 5
PLAY = str(HERE / "plays" / "held.yml")
SYSCTL = "/etc/sysctl.d/90-accelerator-ops.conf"
OPTIONS = "/etc/modprobe.d/accelerator-ops-options.conf"
ENDS = ("commits", "fails", "is killed")
_LONGEST_SECONDS = 120


def hold(tree: Tree, number: int, fails: bool) -> tuple[subprocess.Popen[str], Path]:
    """A run that has changed the node, and waits."""
    wish = {
        "accelerator_kernel": {"sysctl": {"vm.swappiness": number}},
        "accelerator_report_dir": str(tree.folder / "report-held"),
        "held_ready": str(tree.folder / "ready"),
        "held_go": str(tree.folder / "go"),
        "held_fails": fails,
    }
    run, records = tree.start(PLAY, **wish)
    deadline = time.monotonic() + _LONGEST_SECONDS
    while not (tree.folder / "ready").exists():
        if run.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"the first run did not come to wait: {run.communicate()[0]}")
        select.select([], [], [], 0.1)
    return run, records


def second(tree: Tree) -> Ran:
    """Another run, which wants something else of the node."""
    return tree.play(PLAY, accelerator_kernel={"module_options": {"amdgpu": {"gttsize": 4096}}})


def rest(tree: Tree) -> dict[str, tuple[Any, ...]]:
    """Everything in the tree, the state too, but the lock, which names whoever came last."""
    return tree.listing(but=f"{STATE}/lock")


@pytest.mark.parametrize("number", range(ROUNDS))
def test_the_second_of_two_runs_is_told_who_has_the_node(tree: Tree, number: int) -> None:
    end = ENDS[number % len(ENDS)]
    first, records = hold(tree, number, end == "fails")
    try:
        before = rest(tree)
        refused = second(tree)
        assert refused.status != 0
        error = refused.of("node_config")["error"]
        assert error["code"] == "busy"
        assert f" {first.pid}-" in error["details"]["owner"]["run"]
        assert error["details"]["owner"]["run"] in refused.of("node_config")["msg"]
        assert rest(tree) == before
        assert tree.generations() == []
        if end == "is killed":
            os.kill(first.pid, signal.SIGKILL)  # its worker goes on to wait, as nobody's
            first.wait()
        else:
            (tree.folder / "go").touch()
            assert (ended(first, records).status == 0) == (end == "commits")
        after = second(tree)
        assert after.status == 0, after.output
        # what a run that is over left open is not lost: it is in the generation of the one that came after
        assert tree.generations() == ([[SYSCTL], [OPTIONS]] if end == "commits" else [[OPTIONS, SYSCTL]])
        assert f"swappiness = {number}" in (tree.read(SYSCTL) or "").replace("=", " = ").replace("  ", " ")
        assert "gttsize=4096" in (tree.read(OPTIONS) or "")
        assert not list((tree.root / STATE[1:] / "journal").iterdir())
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(first.pid, signal.SIGKILL)
