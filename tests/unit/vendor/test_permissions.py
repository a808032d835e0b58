# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every maker's device files: the contract that all keep, and what single makers have beside it."""

from __future__ import annotations

import os
import stat

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import device_permissions
from ansible_collections.accelerator.ops.plugins.module_utils.vendor import ids, permissions

FILES_OF_SUBSYSTEMS = {"drm", "accel"}
"""Of several makers: who made the device above must be asked."""


def test_every_maker_of_the_tables_is_known():
    assert set(permissions.known()) == {maker.name for maker in ids.MAKERS} | set(ids.OFF_PCI_DRIVERS.values())
    assert set(permissions.LOADERS) <= set(permissions.known())


def test_a_name_in_no_table_is_none():
    with pytest.raises(KeyError):
        permissions.permissions_of("nobody")


@pytest.mark.parametrize("name", permissions.known())
def test_no_match_reaches_another_makers_files(name):
    matches = permissions.permissions_of(name).matches
    assert matches
    for match in matches:
        assert match.subsystem or match.names, "a match of anything"
        assert match.group
        if match.subsystem in FILES_OF_SUBSYSTEMS:
            assert match.vendor_ids or match.parents or match.drivers
        maker = ids.maker_named(name)
        assert set(match.vendor_ids) <= set(maker.vendor_ids if maker else ())


@pytest.mark.parametrize("name", permissions.known())
def test_no_two_makers_have_the_same_names_without_a_subsystem(name):
    mine = {match.names for match in permissions.permissions_of(name).matches if not match.subsystem}
    for other in set(permissions.known()) - {name}:
        assert not mine & {match.names for match in permissions.permissions_of(other).matches if not match.subsystem}


@pytest.mark.parametrize("name", [name for name, load in permissions.LOADERS.items() if load().driven])
def test_options_are_one_module_and_say_group_and_mode(name):
    driven = permissions.permissions_of(name).driven
    options = driven.options(104, 0o640)
    assert {"104", "0640"} <= set(options.values())
    assert all(value.isalnum() for value in options.values())


@pytest.mark.parametrize("name", [name for name, load in permissions.LOADERS.items() if load().driven])
def test_a_driver_that_is_not_loaded_holds_nothing(node, name):
    held = permissions.permissions_of(name).driven.held(node({"/dev/null": "x"}))
    assert held == permissions.Held(None, None)


def test_makers_have_no_choices():
    """A maker is added by its table row, and by nothing else."""
    assert "choices" not in device_permissions.OPTIONS["makers"]


def test_displays_that_compute_nothing_are_left_out():
    matches = permissions.permissions_of("amd").matches
    assert all("515e" in match.not_devices for match in matches if match.vendor_ids)


def test_files_of_amd():
    matches = permissions.permissions_of("amd").matches
    assert {"kfd"} <= {match.subsystem for match in matches}
    assert {"amdgpu_xcp*"} <= {match.parents for match in matches}


PARAMETERS = """ResmanDebugLevel: 4294967295
ModifyDeviceFiles: 1
DeviceFileUID: 0
DeviceFileGID: 44
DeviceFileMode: 432
RegistryDwords: ""
"""


class Nodes(Host):
    """A tree that has these device files, as a tree without root cannot."""

    def status(self, path):
        status, reason = super().status(path)
        known = {
            "/dev/nvidia0": (195, 0),
            "/dev/nvidiactl": (195, 255),
            "/dev/nvidia-modeset": (195, 254),
            "/dev/nvidia-uvm": (511, 0),
            "/dev/nvidia-caps/nvidia-cap1": (510, 1),
        }
        if status is not None and path in known:
            return status._replace(kind="char", major=known[path][0], minor=known[path][1], mode=0o666), reason
        return status, reason


def held_by_nvidia(node, *more):
    names = ["nvidia0", "nvidiactl", "nvidia-modeset", "nvidia-uvm", "nvidia-caps/nvidia-cap1", "nvidia.conf", "null"]
    files = {f"/dev/{name}": "" for name in names}
    files["/proc/driver/nvidia/params"] = PARAMETERS
    return permissions.permissions_of("nvidia").driven.held(node({**files, **dict.fromkeys(more, "")}, Nodes))


def test_what_nvidias_driver_holds(node):
    held = held_by_nvidia(node, "/usr/bin/nvidia-modprobe")
    assert (held.gid, held.mode) == (44, 0o660)
    assert {one.path: (one.major, one.minor, one.again) for one in held.nodes} == {
        "/dev/nvidia0": (195, 0, ("nvidia-modprobe", "-c", "0")),
        "/dev/nvidiactl": (195, 255, ("nvidia-modprobe", "-c", "255")),
        "/dev/nvidia-modeset": (195, 254, ("nvidia-modprobe", "-m")),
        "/dev/nvidia-uvm": (511, 0, ()),
        "/dev/nvidia-caps/nvidia-cap1": (510, 1, ()),
    }
    assert {one.mode for one in held.nodes} == {0o666}


def test_without_its_program_nothing_is_set_right(node):
    assert {one.again for one in held_by_nvidia(node).nodes} == {()}


def test_a_plain_file_in_the_place_of_a_device_file_is_none(node, tmp_path):
    held = permissions.permissions_of("nvidia").driven.held(node({"/dev/nvidia0": "text"}))
    assert held.nodes == ()
    assert stat.S_ISREG(os.stat(tmp_path / "node" / "dev" / "nvidia0").st_mode)
