# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small texts of sysfs into values."""

from __future__ import annotations

import struct

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import network, sysfs
from ansible_collections.accelerator.ops.plugins.module_utils.codec.pci_config import acs_redirects


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (sysfs.id4, "0x10DE", "10de"),
        (sysfs.id4, "0xb8", "00b8"),
        (sysfs.id4, "0x00b8", "00b8"),
        (sysfs.id4, "0x0000", "0000"),
        (sysfs.id6, "0x030200", "030200"),
        (sysfs.id2, "0xa1", "a1"),
        (sysfs.integer, "17", 17),
        (sysfs.link_speed_gts, "16.0 GT/s PCIe", 16.0),
        (sysfs.link_speed_gts, "2.5 GT/s", 2.5),
        (sysfs.link_speed_gts, "8 GT/s", 8.0),
        (sysfs.link_width, "16", 16),
        (sysfs.cpulist, "0-15,32-47", "0-15,32-47"),
        (sysfs.cpulist, "7", "7"),
        (sysfs.cpus_of_list, "2-3,0", [0, 2, 3]),
        (sysfs.cpus_of_mask, "00000001,00000003", [0, 1, 32]),
        (sysfs.cpus_of_mask, "f", [0, 1, 2, 3]),
        (sysfs.aer_total, "RxErr 1\nTOTAL_ERR_COR 7", 7),
        (
            sysfs.properties,
            "simd_count 416\nunique_id 10645161697164847644",
            {"simd_count": 416, "unique_id": 10645161697164847644},
        ),
        (sysfs.uevent, "MAJOR=226\nDEVNAME=dri/card0", {"MAJOR": "226", "DEVNAME": "dri/card0"}),
    ],
)
def test_value(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (sysfs.id4, "10de"),
        (sysfs.id4, "0x110de"),
        (sysfs.id4, ""),
        (sysfs.integer, "-1"),
        (sysfs.integer, "٣"),
        (sysfs.integer, "1.5"),
        (sysfs.link_speed_gts, "Unknown"),
        (sysfs.link_speed_gts, "Unknown speed"),
        (sysfs.link_width, "0"),
        (sysfs.link_width, "255"),
        (sysfs.cpulist, ""),
        (sysfs.cpulist, "0-"),
        (sysfs.cpus_of_mask, ""),
        (sysfs.aer_total, "RxErr 1"),
        (sysfs.properties, "simd_count many"),
    ],
)
def test_other_content_is_refused(parse, text):
    with pytest.raises(ValueError):
        parse(text)


def test_cpu_numbers_become_the_kernels_list():
    assert sysfs.list_of_cpus([5, 0, 1, 2, 7]) == "0-2,5,7"
    with pytest.raises(ValueError):
        sysfs.list_of_cpus([])


def space(*capabilities, length=4096):
    """A configuration space whose extended capabilities are (id, control word at +6) in a chain."""
    config = bytearray(length)
    for number, (capability, control) in enumerate(capabilities):
        offset = 0x100 + 0x40 * number
        following = offset + 0x40 if number + 1 < len(capabilities) else 0
        struct.pack_into("<IHH", config, offset, capability | 1 << 16 | following << 20, 0, control)
    return bytes(config)


@pytest.mark.parametrize(
    ("config", "answer"),
    [
        pytest.param(space((0x0001, 0xFFFF), (0x000D, 0x001D)), True, id="request redirect on"),
        pytest.param(space((0x0001, 0xFFFF), (0x000D, 0x0011)), False, id="other controls on"),
        pytest.param(space((0x0001, 0)), False, id="no ACS"),
        pytest.param(space(), False, id="no extended capability"),
        pytest.param(bytes(64), None, id="reader without root"),
        pytest.param(bytes(256), None, id="conventional PCI"),
        pytest.param(b"\xff" * 4096, None, id="device fell off the bus"),
        pytest.param(space((0x000D, 0x0004))[:0x105], None, id="cut short"),
    ],
)
def test_acs(config, answer):
    assert acs_redirects(config) is answer


def test_acs_ends_on_a_chain_that_is_a_ring():
    config = bytearray(space((0x0001, 0)))
    struct.pack_into("<I", config, 0x100, 0x0001 | 0x100 << 20)
    assert acs_redirects(bytes(config)) is None


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        pytest.param(sysfs.link_speed_gts, "9" * 400 + " GT/s PCIe", id="a speed that no float holds"),
        pytest.param(sysfs.link_speed_gts, "\u0661 GT/s", id="digits of another script"),
        pytest.param(sysfs.integer, "18446744073709551616", id="more than 64 bits"),
        pytest.param(sysfs.integer, "9" * 5000, id="more than Python reads"),
        pytest.param(sysfs.cpus_of_list, "0-99999999", id="more CPUs than there are"),
        pytest.param(sysfs.cpus_of_mask, "f" * 4000000, id="a mask of megabytes"),
        pytest.param(sysfs.cpus_of_mask, "-1", id="a mask with a sign"),
        pytest.param(sysfs.cpus_of_mask, "f,,f", id="a mask with a hole"),
        pytest.param(network.rate_gbps, "9" * 400 + " Gb/sec", id="a rate that no float holds"),
    ],
)
def test_what_no_kernel_prints_is_no_value(parse, text):
    with pytest.raises(ValueError):
        parse(text)


def test_the_largest_values_that_a_kernel_prints():
    assert sysfs.integer("18446744073709551615") == 2**64 - 1
    assert sysfs.link_speed_gts("128.0 GT/s PCIe") == 128.0
    assert sysfs.cpus_of_mask(",".join(["80000000"] + ["00000000"] * 2047)) == [65535]
    assert sysfs.cpus_of_mask("0xf") == [0, 1, 2, 3]
