# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The small texts of a kernel are read strictly."""

from __future__ import annotations

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import kernel


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("0", []),
        ("1", ["P"]),
        ("4609", ["P", "W", "O"]),  # the example of the kernel's own documentation
        ("12289", ["P", "O", "E"]),  # an unsigned, proprietary, external module
        ("524288", ["J"]),
        ("536870912", ["bit29"]),  # a bit that a distribution has for itself
    ],
)
def test_taint(text, flags):
    assert kernel.read_taint(text) == {"value": int(text), "flags": flags}


@pytest.mark.parametrize("text", ["", "-1", "0x1", "tainted", "²", "1" * 30])
def test_taint_that_is_none(text):
    with pytest.raises(ValueError, match="no taint value"):
        kernel.read_taint(text)


@pytest.mark.parametrize("text", ["6.1.0-50-amd64", "5.14.0-427.59.1.el9_4.x86_64+rt", "6.8.0~rc1"])
def test_release(text):
    assert kernel.read_release(text) == text


@pytest.mark.parametrize("text", ["", "..", "../../etc", "6.1/0", "6.1 x", "6.1\n", "x" * 65])
def test_release_that_is_no_part_of_a_path(text):
    with pytest.raises(ValueError, match="no kernel release"):
        kernel.read_release(text)


def test_loaded():
    text = (
        "nvidia_uvm 1437696 0 - Live 0x0000000000000000 (OE)\n"
        "nvidia 56823808 2 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (OE)\n"
        "amdgpu 100 0 - Unloading 0x0 (O-)\n"
        "xe 100 1 - Loading 0x0\n"
    )
    assert kernel.read_loaded(text) == {"nvidia_uvm", "nvidia", "xe"}
    assert kernel.read_loaded("") == frozenset()


@pytest.mark.parametrize("text", ["nvidia", "nvidia many 0 - Live 0x0", "<html>"])
def test_loaded_that_is_no_list(text):
    with pytest.raises(ValueError, match="no module list"):
        kernel.read_loaded(text)


def test_find_files():
    listing = (
        "kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko.xz: kernel/drivers/gpu/drm/ttm/ttm.ko.xz\n"
        "updates/dkms/nvidia-uvm.ko: updates/dkms/nvidia.ko\n"
        "updates/dkms/nvidia.ko:\n"
        "kernel/drivers/net/nvidia.ko.zst.bak:\n"
        "\n"
    )
    names = {"amdgpu", "nvidia_uvm", "nvidia", "xe"}
    assert kernel.find_files(listing, names) == {
        "amdgpu": "kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko.xz",
        "nvidia_uvm": "updates/dkms/nvidia-uvm.ko",
        "nvidia": "updates/dkms/nvidia.ko",
    }


@pytest.mark.parametrize(
    ("text", "name", "target"),
    [
        ("install nvidia modprobe -i nvidia-current $CMDLINE_OPTS", "nvidia", "nvidia_current"),
        (
            "install nvidia-uvm modprobe nvidia ; modprobe -i nvidia-current-uvm $CMDLINE_OPTS",
            "nvidia_uvm",
            "nvidia_current_uvm",
        ),
        ("install nvidia /sbin/modprobe \\\n  --ignore-install nvidia-open", "nvidia", "nvidia_open"),
        ("alias nvidia nvidia_525", "nvidia", "nvidia_525"),
        ("# alias nvidia nvidia_525", "nvidia", None),
        ("install nvidia /bin/false", "nvidia", None),
        ("install nvidia modprobe -r nouveau", "nvidia", None),
        ("install nvidia modprobe --ignore-install nvidia && mkdir /dev/x", "nvidia", None),
        ("alias nvidia", "nvidia", None),
        ("blacklist nvidia\noptions nvidia a=1 b=2", "nvidia", None),
    ],
)
def test_find_stand_in(text, name, target):
    assert kernel.find_stand_in(text, name) == target


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0", 2),
        ("tmpfs /sys/fs/cgroup tmpfs ro 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0", 1),
        # hybrid: the controllers are those of version 1
        ("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0", 1),
        ("cgroup2 /mnt/other cgroup2 rw 0 0", None),
        ("proc /proc proc rw 0 0", None),
        ("", None),
    ],
)
def test_cgroup_version(text, version):
    assert kernel.read_cgroup_version(text) == version


def test_cgroup_version_of_no_mounts():
    with pytest.raises(ValueError, match="no list of mounts"):
        kernel.read_cgroup_version("what is this")
