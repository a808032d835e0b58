# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An image of a node that is prepared where it lies: what boots from it makes its own CDI specs, and containers keep
the devices that they got by them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "run"))

import image
import surroundings
from guest import play_here
from machine import Machine

pytestmark = pytest.mark.whole

GPU = "ati-vga,x-device-id=0x5159"
"""A GPU of AMD (RV100), which Linux's radeon drives; amdgpu, which udev loads for each GPU of AMD, makes /dev/kfd."""

DRIVERS = "amdgpu radeon"
UNIT = "accelerator-ops-cdi.service"
PROGRAM = "/usr/local/lib/accelerator-ops/cdi.pyz"
SPEC = "/etc/cdi/accelerator-amd.json"
WISH: dict[str, object] = {"accelerator_blacklist_rivals": "never", "accelerator_makers": "amd"}
_DEADLINE_SECONDS = 300.0


class Golden(NamedTuple):
    """The files of the image, and the page about the play that prepared them."""

    root: Path
    page: str


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Golden:
    """The files of a node that has never had this GPU, prepared without booting it."""
    folder = tmp_path_factory.mktemp("golden")
    root = folder / "root"
    image.unpack(image.ensure().disk, root)
    for name in ("dbus.service", "dbus.socket"):  # by it runtimes tell systemd which devices a container has
        (root / "etc/systemd/system" / name).unlink()
    late = "".join(f"blacklist {name}\n" for name in DRIVERS.split())
    (root / "etc/modprobe.d/late.conf").write_text(late, encoding="ascii")
    given = {**WISH, "accelerator_root": str(root)}
    played = play_here("accelerator.ops.prepare", folder, surroundings.environment(), **given)
    assert played.status == 0, played.text
    return Golden(root, (folder / "report/survey.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def machine(golden: Golden, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with the GPU, booted from the image. No play runs on it."""
    made, folder = image.ensure(), tmp_path_factory.mktemp("vm")
    image.pack(golden.root, made.disk, folder / "golden.raw")
    with Machine(folder / "golden.raw", made.key, folder / "machine", made.accel, [GPU]) as booted:
        (folder / "golden.raw").unlink()
        booted.wait_until_up()
        yield booted


def until(machine: Machine, command: str) -> None:
    """Wait until a command succeeds in the guest."""
    end = time.monotonic() + _DEADLINE_SECONDS
    while machine.run(command, is_checked=False).returncode:
        shown = machine.text(f"systemctl status --no-pager --lines=0 {UNIT}; cat {SPEC}; ls -l /dev/dri; true")
        assert time.monotonic() < end, f"{command} is not so: {shown}"
        time.sleep(1)


def nodes(machine: Machine) -> list[str]:
    """The device files that the drivers made."""
    return machine.text("ls -d /dev/dri/card* /dev/dri/renderD* /dev/kfd").split()


def test_a_root_without_sys_gets_no_spec(golden: Golden) -> None:
    assert not os.listdir(golden.root / "sys"), "this root tells which devices there are"
    assert "they make themselves at boot" in golden.page
    assert (golden.root / PROGRAM.lstrip("/")).is_file()
    assert os.readlink(golden.root / "etc/systemd/system/multi-user.target.wants" / UNIT) == f"../{UNIT}"
    assert not (golden.root / "etc/cdi").exists() and not (golden.root / "var/run/cdi").exists()


def test_the_first_boot_makes_it_when_the_driver_is_there(machine: Machine) -> None:
    until(machine, f"test $(systemctl show {UNIT} --property=NRestarts --value) -ge 1")
    assert machine.text("ls /etc/cdi /var/run/cdi /dev/dri /dev/kfd 2> /dev/null; true") == "", "the driver is late"

    machine.run(f"modprobe --all {DRIVERS}")
    until(machine, f"grep -q /dev/kfd {SPEC}")
    until(machine, f"systemctl show {UNIT} | grep -qx ActiveState=inactive")
    assert machine.text(f"systemctl show {UNIT} --property=Result --value") == "success"
    assert machine.text(f"python3 -I {PROGRAM} check") == SPEC

    spec = json.loads(machine.text(f"cat {SPEC}"))
    address = machine.text("basename $(dirname $(grep -l 0x5159 /sys/bus/pci/devices/*/device))")
    assert spec["kind"] == "amd.com/gpu"
    shared = {node["path"] for node in spec["containerEdits"]["deviceNodes"]}
    for device in spec["devices"]:
        assert shared | {node["path"] for node in device["containerEdits"]["deviceNodes"]} == set(nodes(machine))
    assert {device["name"] for device in spec["devices"]} == {address, "0", "all"}


_OPEN = """\
for file in {}; do
  if (: < $file) 2> /said; then echo $file opens; else $BUSYBOX sed "s|.*: |$file: |" /said; fi
done
"""


@pytest.mark.parametrize("runtime", ["crun", "runc"])
def test_a_container_keeps_its_devices_over_a_daemon_reload(machine: Machine, runtime: str) -> None:
    assert machine.text("stat -f -c %T /sys/fs/cgroup") == "cgroup2fs"
    script = _OPEN.format(" ".join(nodes(machine)))
    wanted = machine.run("sh", given=script.encode()).stdout.decode().splitlines()
    assert "/dev/dri/renderD128 opens" in wanted
    machine.run("tar -C / -c bin/busybox | podman import --quiet - busybox")
    given = "--network none --log-driver none --cap-add mknod --device amd.com/gpu=all"
    machine.run(f"podman --runtime {runtime} run --detach --name {runtime} {given} busybox /bin/busybox sleep 100000")

    # a device file of another number, which has to be refused
    script = f"BUSYBOX=busybox; test -e /other || busybox mknod /other c 1 11\n{script}".replace("; do", " /other; do")

    def opened() -> list[str]:
        done = machine.run(f"podman exec --interactive {runtime} busybox sh", given=script.encode())
        return done.stdout.decode().splitlines()

    try:
        scope = machine.text(f"podman inspect --format '{{{{.State.CgroupPath}}}}' {runtime}")
        assert scope.endswith(".scope"), f"systemd does not know this container: {scope}"
        assert opened() == [*wanted, "/other: Operation not permitted"]
        machine.run("systemctl daemon-reload")
        assert opened() == [*wanted, "/other: Operation not permitted"]
    finally:
        machine.run(f"podman rm --force --time 0 {runtime}")
