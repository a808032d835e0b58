# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The units under a real systemd, on a node that boots with the devices of a machine model.

``OPS_CONTAINER_IMAGE`` names an image with systemd (``tests/run/node_image.py``).
"""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host import tree
from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import cdi_files, cdi_specs
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models

IMAGE = os.environ.get("OPS_CONTAINER_IMAGE", "")
SPEC = "/etc/cdi/accelerator-habana.json"
DEADLINE_SECONDS = 90.0

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a container with systemd needs root"),
    pytest.mark.skipif(not IMAGE, reason="OPS_CONTAINER_IMAGE names no image"),
]


class Booted:
    """A container that has booted with systemd."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["podman", "exec", self.name, *argv], capture_output=True, text=True, check=False)

    def shown(self, unit: str, prop: str) -> str:
        return self.run("systemctl", "show", unit, f"--property={prop}", "--value").stdout.strip()

    def until(self, *argv: str) -> None:
        """Wait until a command succeeds."""
        end = time.monotonic() + DEADLINE_SECONDS
        while self.run(*argv).returncode:
            log = self.run("journalctl", "--no-pager", "-u", cdi_files.NAME).stdout
            assert time.monotonic() < end, f"{' '.join(argv)} is not so: {log}"
            time.sleep(0.5)


@pytest.fixture
def booted(tmp_path: Path) -> Iterator[Booted]:
    """A node with eight Gaudi devices by its ``/sys``, none of their device files, and our files enabled."""
    place = tmp_path / "tree"
    tree.write(str(place), layout.entries(machine_models.load(machine_models.find("habana-gaudi2-8"))))
    (place / "sys" / "fs" / "cgroup").mkdir(parents=True, exist_ok=True)
    name = f"accelerator-ops-cdi-{uuid.uuid4().hex[:8]}"
    files = {cdi_files.PROGRAM: cdi_files.program(cdi_specs.Asked()), **cdi_files.units("/usr/bin/python3")}
    root = tmp_path / "files"
    for path, content in files.items():
        (root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (root / path.lstrip("/")).write_bytes(content)
    for path, target in cdi_files.LINKS.items():
        (root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (root / path.lstrip("/")).symlink_to(target)
    volumes = [f"--volume={place / 'sys'}:/sys", "--volume=/sys/fs/cgroup:/sys/fs/cgroup"]
    create = ["create", f"--name={name}", "--network=none", "--systemd=always", "--privileged", "--cgroupns=host"]
    podman = ["podman", *create, *volumes, IMAGE, "/lib/systemd/systemd"]
    subprocess.run(podman, check=True, capture_output=True)
    try:
        subprocess.run(["podman", "cp", f"{root}/.", f"{name}:/"], check=True, capture_output=True)
        subprocess.run(["podman", "start", name], check=True, capture_output=True)
        yield Booted(name)
    finally:
        subprocess.run(["podman", "rm", "--force", "--time=2", name], check=False, capture_output=True)


def test_the_spec_makes_itself_when_the_device_files_appear(booted):
    booted.until("systemctl", "is-active", f"{cdi_files.NAME}.path")
    booted.until("sh", "-c", f"test $(systemctl show {cdi_files.NAME} --property=NRestarts --value) -ge 1")
    log = booted.run("journalctl", "--no-pager", "-u", cdi_files.NAME).stdout
    assert "habana: not there: /dev/accel/accel0" in log
    assert booted.run("test", "-e", SPEC).returncode != 0

    nodes = [(f"accel{number}", 261, number) for number in range(8)]
    script = "mkdir -p /dev/accel" + "".join(f"; mknod /dev/accel/{name} c {major} {n}" for name, major, n in nodes)
    assert booted.run("sh", "-c", script).returncode == 0
    booted.until("grep", "-q", '"path": "/dev/accel/accel7"', SPEC)
    booted.until("sh", "-c", f"test $(systemctl show {cdi_files.NAME} --property=Result --value) = success")

    # a driver's libraries are replaced: what is not right by now is made again
    assert booted.run("rm", SPEC).returncode == 0
    assert booted.run("ldconfig").returncode == 0
    booted.until("grep", "-q", '"path": "/dev/accel/accel7"', SPEC)

    # a human's file stays, and is not tried again
    assert booted.run("sh", "-c", f"echo '{{}}' > {SPEC}").returncode == 0
    assert booted.run("ldconfig").returncode == 0
    booted.until("sh", "-c", f"systemctl show {cdi_files.NAME} --property=ExecMainStatus --value | grep -qx 73")
    booted.until("sh", "-c", f"test $(systemctl show {cdi_files.NAME} --property=ActiveState --value) = failed")
    assert booted.run("cat", SPEC).stdout == "{}\n"
