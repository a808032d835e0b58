# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``prepare`` with all its parts costs where nothing is to be done: seconds, and modules on the node.

The node is a container with systemd, eight Gaudi devices and a Docker that only tells its version, reached through a
pipelined connection. Beside it, in turn, a play of as many modules that do nothing: what the machine and Ansible take
anyway. Limits: 3 modules and 3 s. Needs root, and ``OPS_CONTAINER_IMAGE`` (``tests/run/bench.py`` names it).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.accelerator.ops.plugins.module_utils.host import tree
from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models

HERE = Path(__file__).resolve().parent
RUNS = 7
LIMIT_MODULES, LIMIT_SECONDS = 3, 3.0
MODEL, DEVICES = "habana-gaudi2-8", 8
NOT_MEASURED = 77
REFERENCE = [
    {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [{"name": f"Nothing, {number}", "empty_module": {}} for number in range(LIMIT_MODULES)],
    }
]
WISH = {
    "accelerator_makers": "habana",
    "accelerator_kernel": {"load_now": False, "sysctl": {"net.core.somaxconn": 777}},
    "accelerator_modules_load": "habanalabs",
    "accelerator_engines": {"runtimes": {"ops": {"binary": "/usr/bin/ops"}}},
}
DRESS = """set -e
mkdir -p /dev/accel /etc/docker
for n in $(seq 0 7); do mknod /dev/accel/accel$n c 261 $n; mknod /dev/accel/accel_controlD$n c 260 $n; done
chgrp render /dev/accel/*
chmod 0660 /dev/accel/*
printf '#!/bin/sh\\ntest $1 != --version || echo Docker version 27.5.1, build 1\\n' > /usr/local/bin/dockerd
chmod +x /usr/local/bin/dockerd
systemctl is-system-running --wait || test $? = 1
"""


@contextmanager
def node(folder: Path, image: str) -> Iterator[str]:
    """The name of a container that has booted with the devices of the model."""
    tree.write(str(folder), layout.entries(machine_models.load(machine_models.find(MODEL))))
    (folder / "sys/fs/cgroup").mkdir(parents=True, exist_ok=True)
    name = f"accelerator-ops-bench-{uuid.uuid4().hex[:8]}"
    run = ["podman", "run", "--detach", f"--name={name}", "--network=none", "--systemd=always", "--privileged"]
    run += ["--cgroupns=host", f"--volume={folder / 'sys'}:/sys", "--volume=/sys/fs/cgroup:/sys/fs/cgroup"]
    try:
        subprocess.run([*run, image, "/lib/systemd/systemd"], check=True, capture_output=True)
        subprocess.run(["podman", "exec", name, "sh", "-c", DRESS], check=True, capture_output=True)
        yield name
    finally:
        subprocess.run(["podman", "rm", "--force", "--time=2", name], check=False, capture_output=True)


class Bench:
    """Playbooks against the container, each run timed and its tasks kept."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        host = {"ansible_connection": "containers.podman.podman", "ansible_user": "root"}
        host["ansible_python_interpreter"] = "/usr/bin/python3"
        self.inventory = folder / "hosts.json"
        self.inventory.write_text(json.dumps({"all": {"hosts": {name: host}}}), encoding="utf-8")
        self.reference = folder / "reference.yml"
        self.reference.write_text(json.dumps(REFERENCE), encoding="utf-8")

    def play(self, playbook: str) -> tuple[float, list[dict[str, object]]]:
        """Seconds, and what each task returned. Ends the measurement where a run fails."""
        records = Path(tempfile.mkdtemp(dir=self.folder))
        wish = {**WISH, "accelerator_report_dir": str(self.folder / "report")}
        env = {
            **os.environ,
            "ANSIBLE_CALLBACK_PLUGINS": str(HERE.parent / "prepare" / "callback"),
            "ANSIBLE_CALLBACKS_ENABLED": "recorded_tasks",
            "ANSIBLE_LIBRARY": str(HERE),
            "ANSIBLE_PIPELINING": "true",
            "RECORDED_TASKS": str(records),
        }
        command = [sys.executable, "-m", "ansible", "playbook", playbook, "-i", str(self.inventory)]
        start = time.perf_counter()
        done = subprocess.run([*command, "-e", json.dumps(wish)], env=env, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
        if done.returncode:
            raise SystemExit(done.stdout[-4000:] + done.stderr[-1000:])
        (told,) = records.iterdir()
        return seconds, [json.loads(line) for line in told.read_text(encoding="utf-8").splitlines()]


def modules(rows: list[dict[str, object]]) -> list[str]:
    """The modules of this collection that ran on the node."""
    names = [str(row["action"]).rpartition(".") for row in rows if row["status"] == "ok"]
    return [name for ours, _dot, name in names if ours == "accelerator.ops" and name != "survey_report"]


def main() -> int:
    """Exit code 1 over a limit, 77 where nothing can be measured."""
    image = os.environ.get("OPS_CONTAINER_IMAGE")
    if not image:
        print("not measured: no image of a node with systemd, which needs root and podman")
        return NOT_MEASURED
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder = Path(place)
        with node(folder / "tree", image) as name:
            bench = Bench(folder, name)
            _seconds, first = bench.play("accelerator.ops.prepare")
            (change,) = [row for row in first if row["action"] == "accelerator.ops.node_config"]
            steps = change["plan"]
            took: dict[str, list[float]] = {"prepare": [], "reference": []}
            for _run in range(RUNS):
                seconds, rows = bench.play("accelerator.ops.prepare")
                took["prepare"].append(seconds)
                took["reference"].append(bench.play(str(bench.reference))[0])
    changed = [row["task"] for row in rows if row.get("changed")]
    if changed or not isinstance(steps, list):
        raise SystemExit(f"not measured as meant: {changed} changed again")
    # the faster half: a machine with other work is slower at times
    best = {key: statistics.median(sorted(values)[: RUNS // 2 + 1]) for key, values in took.items()}
    count = len(modules(rows))
    print(f"{len(steps)} steps the first time, then nothing to do: {count} modules (limit {LIMIT_MODULES})")
    print(f"prepare {best['prepare']:.2f} s (limit {LIMIT_SECONDS:g})")
    ratio = best["prepare"] / best["reference"]
    print(f"{LIMIT_MODULES} modules that do nothing: {best['reference']:.2f} s; prepare takes {ratio:.2f} times that")
    return 0 if best["prepare"] <= LIMIT_SECONDS and count <= LIMIT_MODULES else 1


if __name__ == "__main__":
    sys.exit(main())
