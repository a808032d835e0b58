# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is a device, whose it is, and what kind it is."""

from __future__ import annotations

import re

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.model.pci import Function
from ansible_collections.accelerator.ops.plugins.module_utils.vendor import ids


def function(vendor, device, pci_class):
    return Function("0000:01:00.0", "/sys/x", "pci0000:00", (), vendor, device, pci_class)


@pytest.mark.parametrize(
    ("vendor", "device", "pci_class", "maker", "kind"),
    [
        ("10de", "2330", "030200", "nvidia", "gpu"),
        ("10de", "1b38", "030000", "nvidia", "gpu"),
        ("1002", "74a1", "120000", "amd", "gpu"),
        ("1002", "740f", "038000", "amd", "gpu"),
        ("1022", "17f0", "118000", "amd", "npu"),
        ("8086", "0bd5", "038000", "intel", "gpu"),
        ("8086", "5912", "030000", "intel", "gpu"),
        ("8086", "7d1d", "120000", "intel", "npu"),
        ("8086", "225e", "0b4000", "intel", "accelerator"),
        ("1da3", "1020", "120000", "habana", "accelerator"),
        ("19e5", "d802", "120000", "huawei", "npu"),
        ("1d0f", "7364", "088000", "aws", "accelerator"),
        ("1e60", "2864", "0b4000", "hailo", "npu"),
        ("1ac1", "089a", "088000", "globalunichip", "accelerator"),
        ("1e52", "401e", "120000", "tenstorrent", "accelerator"),
        ("beef", "0001", "120000", None, "accelerator"),
        ("beef", "0001", "030200", None, "gpu"),
    ],
)
def test_devices(vendor, device, pci_class, maker, kind):
    it = function(vendor, device, pci_class)
    assert ids.is_device(it)
    assert (ids.maker_of(it) and ids.maker_of(it).name) == maker
    assert ids.kind_of(it) == kind


@pytest.mark.parametrize(
    ("vendor", "device", "pci_class", "what"),
    [
        ("1a03", "2000", "030000", "ASPEED console"),
        ("102b", "0522", "030000", "Matrox console"),
        ("1013", "00b8", "030000", "Cirrus console of a VM"),
        ("1af4", "1050", "030000", "virtio display"),
        ("1002", "515e", "030000", "ES1000 console"),
        ("19e5", "1711", "030000", "iBMC console"),
        ("1d0f", "1111", "030000", "display of an EC2 instance"),
        ("10de", "22a3", "068000", "NVSwitch"),
        ("10de", "228b", "040300", "GPU audio"),
        ("8086", "37c8", "0b4000", "QuickAssist"),
        ("8086", "0b25", "088000", "DSA"),
        ("8086", "1592", "020000", "NIC of a maker of accelerators"),
        ("1d0f", "efa2", "020000", "EFA"),
        ("1ae0", "0042", "020000", "gVNIC"),
        ("1d0f", "cd01", "010802", "SSD of a maker of accelerators"),
        ("19e5", "0123", "010802", "SSD of a maker of accelerators"),
        ("beef", "0001", "120100", "SDXI"),
        ("beef", "0001", None, "class unknown"),
        (None, None, None, "nothing readable"),
    ],
)
def test_no_devices(vendor, device, pci_class, what):
    assert not ids.is_device(function(vendor, device, pci_class)), what


@pytest.mark.parametrize("maker", ids.MAKERS, ids=lambda maker: maker.name)
def test_row_is_well_formed(maker):
    kinds = ("gpu", "npu", "accelerator")
    assert re.fullmatch(r"[a-z]+", maker.name)
    assert maker.kind in kinds
    assert all(re.fullmatch(r"[0-9a-f]{4}", text) for text in (*maker.vendor_ids, *maker.devices))
    assert all(mark in ("-", "never", *kinds) and name != "-" for mark, name in maker.devices.values())
    assert all(re.fullmatch(r"\w+", module) for module in maker.modules + maker.rivals)
    assert ids.maker_named(maker.name) is maker


def test_every_row_of_the_table_belongs_to_one_maker():
    rows = [line.split()[:2] for line in ids._DEVICES.split("\n") if line]
    assert len(rows) == sum(len(maker.devices) for maker in ids.MAKERS) == len({tuple(row) for row in rows})


def test_no_vendor_id_belongs_to_two_makers():
    all_ids = [vendor_id for maker in ids.MAKERS for vendor_id in maker.vendor_ids]
    assert len(all_ids) == len(set(all_ids))
    assert len({maker.name for maker in ids.MAKERS}) == len(ids.MAKERS) >= 30
