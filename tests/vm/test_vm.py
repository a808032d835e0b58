# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node with a kernel of its own: what is set lasts over a boot, goes away by rollback, and survives a power cut.

One machine for the whole session, and the tests in their order: each boot takes an emulated processor most of a minute.
"""

from __future__ import annotations

import os
import platform
import random
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "run"))

import image
import surroundings
from guest import Guest, differences
from machine import Machine

UNIT = "/etc/systemd/system/device-file.service"
_UNIT_TEXT = b"""[Unit]
After=systemd-udevd.service
[Service]
ExecStartPre=modprobe cuse
ExecStart=/usr/bin/python3 /usr/local/sbin/device_file.py rbln0
[Install]
WantedBy=multi-user.target
"""


@pytest.fixture(scope="session")
def drawn() -> random.Random:
    """What decides the moments of power cuts. The seed is printed, and ACCELERATOR_OPS_SEED repeats it."""
    seed = os.environ.get("ACCELERATOR_OPS_SEED") or str(random.SystemRandom().randrange(10**6))
    print(f"\nACCELERATOR_OPS_SEED={seed}", flush=True)
    return random.Random(seed)


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """The machine, switched on."""
    made = image.ensure()
    with Machine(made.disk, made.key, tmp_path_factory.mktemp("vm"), made.accel) as machine:
        machine.wait_until_up()
        machine.put(Path(__file__).with_name("device_file.py"), "/usr/local/sbin/device_file.py")
        machine.run(f"cat > {UNIT} && systemctl -q enable --now device-file && sync", given=_UNIT_TEXT)
        yield Guest(machine, surroundings.environment())


def test_it_boots_a_kernel_of_its_own(guest: Guest) -> None:
    told = guest.machine.text(
        "uname -r; stat -f -c %T /sys/fs/cgroup; cat /sys/block/vda/queue/write_cache; ls /boot/vmlinuz-* | wc -l;"
        " systemctl --failed --no-legend; cat /proc/cmdline; grep -c '^menuentry\\|^submenu' /boot/grub/grub.cfg"
    ).splitlines()
    release, cgroups, cache, kernels, command_line, entries = told
    assert release != platform.release()
    assert (cgroups, cache, kernels) == ("cgroup2fs", "write back", "2")
    assert command_line.startswith(f"BOOT_IMAGE=/boot/vmlinuz-{release} root=/dev/vda1 "), "not the menu of update-grub"
    assert int(entries) >= 2


WISH: dict[str, object] = {
    "accelerator_kernel": {"blacklist": ["virtio_gpu"], "sysctl": {"vm.swappiness": 17}},
    "accelerator_blacklist_rivals": "never",
    "accelerator_modules_load": "nbd",
    "accelerator_hugepages_2m": 16,
    "accelerator_command_line": "iommu=pt",
    "accelerator_makers": "rebellions",
    "accelerator_group": "video",
    "accelerator_mode": "0640",
}
"""One of each kind: in the initramfs, in the boot menu, in the running kernel, and for udev."""

_LIVE = (
    "echo pages $(cat /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages);"
    "echo swappiness $(cat /proc/sys/vm/swappiness);"
    "for one in nbd virtio_gpu; do echo $one $(test -d /sys/module/$one && echo loaded || echo absent); done;"
    "echo iommu $(grep -c ' iommu=pt' /proc/cmdline);"
    "echo node $(stat -c '%G %a' /dev/rbln0);"
    "cat /boot/grub/grub.cfg | sed -n 's/^[[:space:]]*linux[[:space:]]/menu /p';"
    "echo image $(lsinitramfs /boot/initrd.img-$(uname -r) | grep -c accelerator-ops)"
)

OURS = {
    "/boot/grub/grub.cfg",
    "/etc/default/grub.d/accelerator-ops.cfg",
    "/etc/modprobe.d/accelerator-ops-blacklist.conf",
    "/etc/modules-load.d/accelerator-ops.conf",
    "/etc/sysctl.d/90-accelerator-ops.conf",
    "/etc/udev/rules.d/70-accelerator-ops.rules",
}
"""All that the wish changes, the images aside."""


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    """What a test leaves for those after it."""
    return {}


def settled(listing: Mapping[str, Any]) -> dict[str, Any]:
    """A listing without what is made anew each time: the image of a kernel is other bytes then."""
    return {path: row for path, row in listing.items() if not path.startswith("/boot/initrd.img-")}


def changed_images(seen: Mapping[str, Any]) -> set[str]:
    """The images that are other ones afterwards."""
    return {path for path in differences(seen["before"], seen["after"]) if path.startswith("/boot/initrd.img-")}


def recovered_after_cut(guest: Guest, drawn: random.Random, playbook: str, **given: Any) -> dict[str, Any]:
    """Cut the power in the middle of a play, boot, let the collection recover, and list what is there then."""
    before = guest.machine.boot_id()
    print(guest.cut(playbook, drawn, **given), flush=True)
    guest.machine.start()
    guest.machine.wait_until_up(other_than=before)
    played = guest.play(str(Path(__file__).with_name("recover.yml")))
    assert played.status == 0, played.text
    return guest.listing()


def state(guest: Guest) -> dict[str, list[str]]:
    """What the running kernel, udev, the boot menu and the initramfs say, by the words before."""
    found: dict[str, list[str]] = {}
    for line in guest.machine.text(_LIVE, deadline_seconds=300).splitlines():
        word, _space, rest = line.partition(" ")
        found.setdefault(word, []).append(rest)
    return found


def test_prepare_comes_through_a_power_cut(guest: Guest, drawn: random.Random, seen: dict[str, Any]) -> None:
    seen["before"], seen["state before"] = guest.listing(), state(guest)
    recovered = recovered_after_cut(guest, drawn, "accelerator.ops.prepare", **WISH)
    played = guest.play("accelerator.ops.prepare", **WISH)
    assert played.status == 0, played.text
    seen["after"] = guest.listing()
    assert settled(recovered) in (settled(seen["before"]), settled(seen["after"]))
    assert differences(settled(seen["before"]), settled(seen["after"])).keys() == OURS


def test_what_can_be_is_in_effect_at_once(guest: Guest, seen: dict[str, Any]) -> None:
    before, after = seen["state before"], state(guest)
    seen["state after"] = after
    assert (before["pages"], before["swappiness"], before["nbd"]) == (["0"], ["60"], ["absent"])
    assert (after["pages"], after["swappiness"], after["nbd"]) == (["16"], ["17"], ["loaded"])
    assert (before["node"], after["node"]) == (["root 600"], ["video 640"])
    assert after["virtio_gpu"] == ["loaded"], "it stays until the next boot"
    assert (before["image"], after["image"]) == (["0"], ["1"])


def test_the_boot_menu_has_the_argument_and_the_way_back(guest: Guest, seen: dict[str, Any]) -> None:
    before, after = seen["state before"]["menu"], seen["state after"]["menu"]
    ordinary = [line for line in before if "single" not in line.split()]
    assert len(before) == len(after) > len(ordinary) > 0
    assert after == [f"{line} iommu=pt" if line in ordinary else line for line in before]
    (older,) = {path for path in seen["before"] if path.startswith("/boot/initrd.img-")} - changed_images(seen)
    assert seen["before"][older] == seen["after"][older], "the kernel before keeps its image"


@pytest.mark.whole
def test_it_lasts_over_a_boot(guest: Guest, seen: dict[str, Any]) -> None:
    guest.machine.reboot()
    now = state(guest)
    assert now["virtio_gpu"] == ["absent"] and seen["state before"]["virtio_gpu"] == ["loaded"]
    assert now["iommu"] == ["1"] and seen["state before"]["iommu"] == ["0"]
    assert (now["pages"], now["swappiness"], now["nbd"]) == (["16"], ["17"], ["loaded"])
    assert now["node"] == seen["state after"]["node"]
    assert settled(guest.listing()) == settled(seen["after"])


@pytest.mark.whole
def test_rollback_comes_through_a_power_cut(guest: Guest, drawn: random.Random, seen: dict[str, Any]) -> None:
    recovered = recovered_after_cut(guest, drawn, "accelerator.ops.rollback", accelerator_generation=0)
    played = guest.play("accelerator.ops.rollback", accelerator_generation=0)
    assert played.status == 0, played.text
    assert settled(recovered) in (settled(seen["after"]), settled(seen["before"]))
    assert differences(settled(seen["before"]), settled(guest.listing())) == {}


@pytest.mark.whole
def test_nothing_of_it_is_left_after_a_boot(guest: Guest, drawn: random.Random, seen: dict[str, Any]) -> None:
    machine, before = guest.machine, guest.machine.boot_id()
    machine.run("echo kept > /srv/synced && sync /srv/synced /srv && echo lost > /srv/unsynced")
    print(machine.power_cut(drawn), flush=True)
    machine.start()
    machine.wait_until_up(other_than=before)
    assert machine.text("cat /srv/synced; cat /srv/unsynced || true") == "kept", "the power was not really cut"
    assert state(guest) == seen["state before"]
    assert differences(settled(seen["before"]), settled(guest.listing())) == {}


@pytest.mark.whole
@pytest.mark.parametrize("number", range(6))
def test_further_power_cuts(guest: Guest, drawn: random.Random, seen: dict[str, Any], number: int) -> None:
    playbook, given, old, new = "accelerator.ops.prepare", WISH, seen["before"], seen["after"]
    if number % 2:
        playbook, given, old, new = "accelerator.ops.rollback", {"accelerator_generation": 0}, new, old
    recovered = settled(recovered_after_cut(guest, drawn, playbook, **given))
    assert recovered in (settled(old), settled(new))
    assert guest.play(playbook, **given).status == 0
    assert differences(settled(new), settled(guest.listing())) == {}
