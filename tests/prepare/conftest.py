# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the playbooks of the collection as a user does, on a small tree, and reads what each task returned."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, Optional

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host import tree as host_tree
from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models
from ansible_collections.accelerator.ops.tests.listing import entries

HERE = Path(__file__).resolve().parent
COLLECTIONS = HERE.parents[1] / ".cache" / "linked"
STATE = "/var/lib/accelerator-ops"

pytest.importorskip("ansible", reason="playbooks run on the control host, with ansible-core")


class Ran(NamedTuple):
    """How a run of a playbook ended: its exit status, what each task returned, and what was printed."""

    status: int
    tasks: list[dict[str, Any]]
    output: str

    def modules(self) -> list[str]:
        """The modules of this collection that ran on the node, in order."""
        names = [row["action"].rpartition(".")[2] for row in self.tasks if row["status"] != "skipped"]
        ours = [row["action"].startswith("accelerator.ops.") for row in self.tasks if row["status"] != "skipped"]
        return [name for name, is_ours in zip(names, ours) if is_ours and name != "survey_report"]

    def of(self, module: str) -> dict[str, Any]:
        """The result of the first task of a module."""
        return next(row for row in self.tasks if row["action"] == f"accelerator.ops.{module}")


class Tree:
    """A small tree that stands for a node, with the devices of a machine model or none, and the playbooks that run on
    it."""

    def __init__(self, folder: Path, model: Optional[str] = None) -> None:
        self.folder, self.root = folder, folder / "root"
        if model is not None:
            host_tree.write(str(self.root), layout.entries(machine_models.load(machine_models.find(model))))
        for name in ("etc/modprobe.d", "etc/sysctl.d", "lib/modules/6.1.0", "sys/bus/pci/devices", "proc", "var/lib"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        self.write("/lib/modules/6.1.0/modules.dep", "kernel/drivers/gpu/drm/nouveau/nouveau.ko:\n")
        self.write("/etc/group", "root:x:0:\nvideo:x:44:\nrender:x:105:\n")
        self.report = folder / "report"
        hosts = {"tree": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}}
        hosts["tree"]["accelerator_root"] = str(self.root)
        self.inventory = folder / "hosts.json"
        self.inventory.write_text(json.dumps({"all": {"hosts": hosts}}))

    def write(self, path: str, text: str) -> None:
        """Write a file of the tree."""
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def read(self, path: str) -> Optional[str]:
        """A file of the tree, or None."""
        place = self.root / path.lstrip("/")
        return place.read_text() if place.is_file() else None

    def listing(self, but: str = STATE) -> dict[str, tuple[Any, ...]]:
        """Everything in the tree but one folder: type, mode, owner, extended attributes, content."""
        return dict(entries(self.root, but))

    def start(self, playbook: str, *more: str, **variables: Any) -> tuple[subprocess.Popen[str], Path]:
        """Start a run, in a process group of its own. Returns it and the folder of what its tasks return."""
        records = Path(self.folder, f"tasks-{len(list(self.folder.glob('tasks-*')))}")
        values = {"accelerator_report_dir": str(self.report), **variables}
        command = [sys.executable, "-m", "ansible", "playbook", playbook, "-i", str(self.inventory), *more]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
        run = subprocess.Popen(
            [*command, "-e", json.dumps(values)],
            env={
                **kept,
                "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
                "ANSIBLE_HOME": str(self.folder / "home"),
                "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "callback"),
                "ANSIBLE_CALLBACKS_ENABLED": "recorded_tasks",
                "ANSIBLE_LOCALHOST_WARNING": "false",
                "ANSIBLE_PIPELINING": "true",
                "LC_ALL": "C.UTF-8",
                "NO_COLOR": "1",
                "RECORDED_TASKS": str(records),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        return run, records

    def play(self, playbook: str, *more: str, **variables: Any) -> Ran:
        """Run a playbook to its end."""
        return ended(*self.start(playbook, *more, **variables))

    def generations(self) -> list[list[str]]:
        """What each generation that is kept changed, oldest first, folders aside."""
        found = []
        folder = self.root / STATE.lstrip("/") / "generations"
        for name in sorted(folder.iterdir(), key=lambda one: int(one.name)) if folder.is_dir() else ():
            steps = json.loads((name / "manifest.json").read_text())["steps"]
            keys = [step.get("path") or step.get("key") for step in steps if step["after"]["kind"] != "dir"]
            found.append(sorted(keys))
        return found


def ended(run: subprocess.Popen[str], records: Path) -> Ran:
    """A run when it is over."""
    output = run.communicate(timeout=240)[0]
    rows = [json.loads(line) for file in sorted(records.glob("*.jsonl")) for line in file.read_text().splitlines()]
    return Ran(run.returncode, rows, output)


def kill(run: subprocess.Popen[str]) -> None:
    """End a run and all its workers at once, as a control host that loses its power does."""
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A node's tree with nothing of ours in it."""
    return Tree(tmp_path)
