# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands in the way of a change: rights, room, owners; and all of it with the errors of the parts in one list."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.host.room import Room, is_root, room
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import (
    ConflictError,
    InputError,
    UnsupportedError,
    joined,
)
from ansible_collections.accelerator.ops.plugins.module_utils.model.owner import Owner
from ansible_collections.accelerator.ops.plugins.module_utils.model.plan import PathStep
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import node_config, preflight
from ansible_collections.accelerator.ops.plugins.module_utils.vendor import owners

ETC, STATE = Room("/etc", False, True, 9999, 9999), Room("/var/lib", False, True, None, None)
FREE = preflight.Seen(True, True, (ETC, STATE), ())
OWNER = Owner("an operator", "/run/nvidia/driver", "driver.enabled: false", "nvidia", ("nvidia", "nvidia_uvm"))
KERNEL: dict[str, Any] = {name: row.get("default") for name, row in node_config.OPTIONS["kernel"]["options"].items()}
PERMISSIONS = {name: row.get("default") for name, row in node_config.OPTIONS["permissions"]["options"].items()}
NOTHING: dict[str, Any] = dict.fromkeys(node_config.OPTIONS)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (FREE, []),
        (FREE._replace(is_root=False), ["not run as root, expected root"]),
        (FREE._replace(is_live=False, is_root=False), []),  # a tree needs no root, only to be ours
        (FREE._replace(rooms=(ETC._replace(is_read_only=True), STATE)), ["write in /etc: a read-only file system"]),
        (FREE._replace(rooms=(ETC._replace(is_writable=False), STATE)), ["write in /etc: no right to"]),
        (FREE._replace(rooms=(ETC, STATE._replace(free_kib=1023))), ["write in /var/lib: 1023 KiB free"]),
        (FREE._replace(rooms=(ETC, STATE._replace(free_kib=1024, free_inodes=64))), []),
        (FREE._replace(rooms=(ETC, STATE._replace(free_inodes=63))), ["write in /var/lib: room for 63 more files"]),
        (
            FREE._replace(rooms=(ETC._replace(is_read_only=True, free_kib=0), STATE._replace(free_kib=0))),
            ["read-only", "/etc: 0 KiB", "/var/lib: 0 KiB"],
        ),
    ],
)
def test_rights_and_room(seen: preflight.Seen, expected: list[str]) -> None:
    found = [str(error) for error in preflight.decide(seen, NOTHING)]
    assert len(found) == len(expected)
    assert all(part in line for part, line in zip(expected, found))


@pytest.mark.parametrize(
    ("specs", "derived", "expected"),
    [
        (Room("/etc/cdi", True, True, 9999, 9999), ["CDI specs"], ["write in /etc/cdi: a read-only file system"]),
        (Room("/etc/cdi", True, True, 9999, 9999), ["initramfs 6.1"], []),  # those that are there are right
        (Room("/etc/cdi", False, True, 0, 9999), ["CDI specs"], ["write in /etc/cdi: 0 KiB free"]),
        (ETC._replace(is_read_only=True), ["CDI specs"], ["write in /etc: a read-only file system"]),
    ],
)
def test_the_folder_of_cdi_specs_is_looked_at_where_they_are_made(
    specs: Room, derived: list[str], expected: list[str]
) -> None:
    rooms = (specs, STATE) if specs.path == "/etc" else (ETC, STATE)
    found = [str(error) for error in preflight.decide(FREE._replace(rooms=rooms, specs=specs), NOTHING, derived)]
    assert len(found) == len(expected)
    assert all(part in line for part, line in zip(expected, found))


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (NOTHING, []),
        ({**NOTHING, "kernel": {**KERNEL, "hugepages": {"2M": 1}, "blacklist": ["nouveau"]}}, []),
        (
            {**NOTHING, "kernel": {**KERNEL, "module_options": {"nvidia-uvm": {"a": 1}}}},
            ["module_options of nvidia-uvm"],
        ),
        (
            {**NOTHING, "kernel": {**KERNEL, "modules_load": ["nvidia", "amdgpu"], "blacklist": ["nvidia"]}},
            ["modules_load of nvidia", "blacklist of nvidia"],
        ),
        ({**NOTHING, "permissions": PERMISSIONS}, ["permissions of nvidia devices"]),
        ({**NOTHING, "permissions": {**PERMISSIONS, "makers": ["amd", "nvidia"]}}, ["permissions of nvidia devices"]),
        ({**NOTHING, "permissions": {**PERMISSIONS, "makers": ["amd"]}}, []),
        ({**NOTHING, "permissions": {**PERMISSIONS, "state": "absent"}}, []),
    ],
)
def test_what_an_operator_owns_is_refused_with_its_switch(wish: Mapping[str, Any], expected: list[str]) -> None:
    found = preflight.decide(FREE._replace(owners=(OWNER,)), wish)
    assert [error.subject for error in found] == expected
    assert all("an operator has the driver (seen at /run/nvidia/driver)" in str(error) for error in found)
    assert all("driver.enabled: false" in error.next_step for error in found)
    assert preflight.decide(FREE, wish) == ()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"/run/nvidia/driver/usr/bin/nvidia-smi": ""}, ["nvidia"]),
        ({"/run/nvidia/driver/empty": ""}, []),  # made by the toolkit where the driver is the node's own
        ({"/etc/hostname": ""}, []),
    ],
)
def test_an_operator_is_seen_by_its_mount(node: Any, files: Mapping[str, str], expected: list[str]) -> None:
    assert [one.maker for one in owners.found(node(files))] == expected


def test_room_is_that_of_the_file_system(node: Any) -> None:
    host: Host = node({"/etc/hostname": ""})
    seen, system = room(host, "/etc"), os.statvfs(host.root)
    assert seen.path == "/etc"
    assert seen.is_writable and not seen.is_read_only
    assert seen.free_kib is not None
    assert abs(seen.free_kib - (system.f_bfree if is_root() else system.f_bavail) * system.f_frsize // 1024) < 1 << 20
    assert room(host, "/var/lib/accelerator-ops").path == "/"  # the nearest that is there


def test_room_is_looked_for_inside_the_tree(node: Any) -> None:
    host: Host = node({"/etc": ("link", "/real"), "/real/x": ""})
    assert room(host, "/etc/modprobe.d").path == "/etc"


@pytest.mark.skipif(is_root(), reason="root may write in every folder")
def test_a_folder_of_another_account_is_not_writable(node: Any) -> None:
    host: Host = node({"/etc/hostname": ""})
    os.chmod(f"{host.root}/etc", 0o555)
    assert not room(host, "/etc").is_writable


@pytest.mark.parametrize(
    ("part", "word"), [({"mode": "0666"}, "writable by all"), ({"makers": ["nobody"]}, "maker nobody")]
)
def test_an_error_of_one_part_hides_none_of_the_others(node: Any, part: Mapping[str, Any], word: str) -> None:
    host: Host = node({"/etc/group": "", "/sys/x": "", "/etc/hostname": ""})
    wish = {
        **NOTHING,
        "kernel": {**KERNEL, "blacklist": ["nouveau"], "hugepages": {"2 apples": 1}},
        "permissions": {**PERMISSIONS, **part},
    }
    plan = node_config.decide(node_config.observe(host, wish), wish)
    assert plan.steps == ()
    assert [word in str(error) for error in plan.blockers] == [False, True]
    assert "2 apples" in str(plan.blockers[0])


def test_a_part_without_a_fault_still_shows_its_files(node: Any) -> None:
    host: Host = node({"/etc/group": "", "/sys/x": "", "/etc/hostname": ""})
    kernel, permissions = {**KERNEL, "blacklist": ["nouveau"]}, {**PERMISSIONS, "mode": "0666"}
    wish = {**NOTHING, "kernel": kernel, "permissions": permissions}
    plan = node_config.decide(node_config.observe(host, wish), wish)
    assert [step.path for step in plan.steps if isinstance(step, PathStep)] != []
    assert len(plan.blockers) == 1


def test_a_node_where_all_is_so_needs_neither_rights_nor_room(node: Any) -> None:
    host: Host = node({"/etc/group": "", "/sys/x": ""})
    wish = {**NOTHING, "kernel": KERNEL}
    seen = node_config.observe(host, wish)
    full = seen._replace(preflight=FREE._replace(is_root=False, rooms=(ETC._replace(is_read_only=True),)))
    assert node_config.decide(full, wish).blockers == ()


def test_several_errors_are_one_with_all_of_them() -> None:
    errors = [
        InputError("use", "a", "x", "y", "z"),
        ConflictError("change", "/b", "x", "y", "z", {"conflicts": {"/b": 1}}),
        ConflictError("change", "/c", "x", "y", "z", {"conflicts": {"/c": 2}}),
    ]
    error = joined(errors)
    assert error.code == "input"
    assert "\n" not in str(error)
    assert all(str(one) in str(error) for one in errors)
    assert error.details["conflicts"] == {"/b": 1, "/c": 2}
    blockers = error.details["blockers"]
    assert isinstance(blockers, list)
    assert [one["code"] for one in blockers] == ["input", "conflict", "conflict"]


def test_one_error_keeps_its_own_line() -> None:
    one = UnsupportedError("do", "it", "x", "y", "z", {"more": 1})
    line = str(one)
    assert str(joined([one])) == line
    assert joined([one]).details["more"] == 1


def test_an_error_of_one_aspect_of_the_kernel_hides_none_of_the_others(node: Any) -> None:
    host: Host = node({"/etc/modprobe.d/site.conf": "blacklist amdgpu\n", "/etc/sysctl.d/99-z.conf": "vm.x = 1\n"})
    kernel = {**KERNEL, "modules_load": ["amdgpu"], "sysctl": {"vm.x": 2}, "command_line": ["quiet"]}
    wish = {**NOTHING, "kernel": kernel}
    plan = node_config.decide(node_config.observe(host, wish), wish)
    assert [error.subject for error in plan.blockers] == [
        "amdgpu at boot",
        "sysctl vm.x",
        "the kernel command line to hold quiet",
    ]
