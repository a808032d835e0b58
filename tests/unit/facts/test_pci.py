# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCI functions, their links and what else sysfs tells of any of them."""

from __future__ import annotations

import struct

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.model.answer import Book
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import pci

DEVICES = "/sys/devices"


class Tree:
    """Builds sysfs files of PCI functions."""

    def __init__(self):
        self.files = {}

    def add(self, path, vendor="0x8086", device="0x0001", pci_class="0x060400", link=None, **files):
        """A function at ``pci0000:00/0000:00:01.0/…``; ``link`` is (speed, width, max speed, max width)."""
        place = f"{DEVICES}/{path}"
        address = path.rpartition("/")[2]
        self.files[f"/sys/bus/pci/devices/{address}"] = ("link", f"../../../devices/{path}")
        values = {"vendor": vendor, "device": device, "class": pci_class, "uevent": "", **files}
        if link is not None:
            names = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
            values.update(zip(names, (f"{link[0]} GT/s PCIe", link[1], f"{link[2]} GT/s PCIe", link[3])))
        for name, value in values.items():
            self.files[f"{place}/{name}"] = value if isinstance(value, (bytes, tuple)) else f"{value}\n"
        return place


def look(node, tree, address):
    host = node(tree.files)
    known, reason = pci.functions(host)
    assert reason is None
    book = Book()
    return pci.shared_fields(host, known[address], known, book), book.unknown, known


ROOT = "pci0000:00/0000:00:01.0"
CARD_UP = f"{ROOT}/0000:01:00.0"
CARD_DOWN = f"{CARD_UP}/0000:02:00.0"


def test_the_place_in_the_tree(node):
    tree = Tree()
    tree.add(ROOT)
    tree.add(f"{ROOT}/0000:01:00.0", vendor="0x10de", pci_class="0x030200", numa_node="1", local_cpulist="8-15")
    fields, unknown, known = look(node, tree, "0000:01:00.0")
    assert known["0000:01:00.0"].root == "pci0000:00"
    assert fields["path"] == ["0000:00:01.0"]
    assert fields["numa_node"] == 1
    assert fields["cpus"] == "8-15"
    assert fields["pci"]["class"] == "030200"
    assert {"pci.subsystem_id", "link.width"} <= unknown.keys()


def test_a_root_bus_below_another_counts(node):
    """A volume management device has a root bus of its own inside the tree, with a domain wider than 16 bits."""
    tree = Tree()
    tree.add("pci0000:64/0000:64:05.5")
    tree.add("pci0000:64/0000:64:05.5/pci10000:00/10000:00:02.0")
    tree.add("pci0000:64/0000:64:05.5/pci10000:00/10000:00:02.0/10000:01:00.0", pci_class="0x010802")
    _fields, _unknown, known = look(node, tree, "10000:01:00.0")
    assert known["10000:01:00.0"].root == "pci10000:00"
    assert known["10000:01:00.0"].bridges == ("10000:00:02.0",)
    assert list(known) == ["0000:64:05.5", "10000:00:02.0", "10000:01:00.0"]


def test_a_flat_capture_has_no_tree(node):
    place = "/sys/bus/pci/devices/0000:3b:00.0"
    host = node({f"{place}/vendor": "0x8086\n", f"{place}/device": "0x1592\n", f"{place}/class": "0x020000\n"})
    known, _reason = pci.functions(host)
    book = Book()
    fields = pci.shared_fields(host, known["0000:3b:00.0"], known, book)
    assert fields["path"] is None
    assert book.unknown["path"] == pci.NO_TREE
    assert book.unknown["driver.name"]


@pytest.mark.parametrize(
    ("numa", "cpus", "reason_numa", "reason_cpus"),
    [("-1", "", "platform reports none", "platform reports none"), ("soon", "x-y", "unexpected", "unexpected")],
)
def test_numa_that_is_not_told(node, numa, cpus, reason_numa, reason_cpus):
    tree = Tree()
    tree.add(ROOT, numa_node=numa, local_cpulist=cpus)
    fields, unknown, _known = look(node, tree, "0000:00:01.0")
    assert fields["numa_node"] is fields["cpus"] is None
    assert reason_numa in unknown["numa_node"]
    assert reason_cpus in unknown["cpus"]


def test_an_old_kernel_has_only_the_mask(node):
    tree = Tree()
    tree.add(ROOT, local_cpus="00000000,0000ff00")
    assert look(node, tree, "0000:00:01.0")[0]["cpus"] == "8-15"


def test_a_mask_that_is_none_is_not_what_the_platform_reports(node):
    tree = Tree()
    tree.add(ROOT, local_cpus="soon")
    fields, unknown, _known = look(node, tree, "0000:00:01.0")
    assert fields["cpus"] is None
    assert unknown["cpus"] == "unexpected content 'soon'"


def test_the_link_of_a_plain_card(node):
    tree = Tree()
    tree.add(ROOT, link=(32.0, 16, 32.0, 16))
    tree.add(f"{ROOT}/0000:01:00.0", vendor="0x10de", link=(16.0, 8, 32.0, 16))
    fields, unknown, _known = look(node, tree, "0000:01:00.0")
    assert fields["link"] == {
        "speed_gts": 16.0,
        "width": 8,
        "max_speed_gts": 32.0,
        "max_width": 16,
        "limited_by": None,
    }
    assert not [key for key in unknown if key.startswith("link")]


def card_with_switch(vendor, port_vendor):
    tree = Tree()
    tree.add(ROOT, link=(16.0, 16, 16.0, 16))
    tree.add(CARD_UP, vendor=port_vendor, link=(16.0, 16, 16.0, 16))
    tree.add(CARD_DOWN, vendor=port_vendor, link=(2.5, 1, 2.5, 1))
    tree.add(f"{CARD_DOWN}/0000:03:00.0", vendor=vendor, pci_class="0x038000", link=(2.5, 1, 2.5, 1))
    return tree


@pytest.mark.parametrize("vendor", ["0x8086", "0x1002"])
def test_a_card_with_its_own_switch_is_read_at_the_switch(node, vendor):
    fields, _unknown, known = look(node, card_with_switch(vendor, vendor), "0000:03:00.0")
    assert (fields["link"]["speed_gts"], fields["link"]["width"]) == (16.0, 16)
    assert fields["link"]["limited_by"] is None
    assert pci.own_ports(known["0000:03:00.0"], known) == ("0000:02:00.0", "0000:01:00.0")


def test_a_switch_of_another_maker_is_outside_the_card(node):
    fields, _unknown, known = look(node, card_with_switch("0x10de", "0x10b5"), "0000:03:00.0")
    assert pci.own_ports(known["0000:03:00.0"], known) == ()
    assert fields["link"]["width"] == 1


def test_a_root_port_of_the_same_maker_is_outside_the_card(node):
    tree = Tree()
    tree.add(ROOT, vendor="0x8086", link=(8.0, 8, 8.0, 8))
    tree.add(f"{ROOT}/0000:01:00.0", vendor="0x8086", pci_class="0x038000", link=(8.0, 8, 16.0, 16))
    fields, _unknown, _known = look(node, tree, "0000:01:00.0")
    assert fields["link"]["limited_by"] == "0000:00:01.0"
    assert fields["link"]["max_width"] == 16


@pytest.mark.parametrize(("speed", "width"), [("Unknown", 0), ("Unknown speed", 255), ("Unknown", 255)])
def test_no_link_is_no_number(node, speed, width):
    tree = Tree()
    tree.add(ROOT, current_link_speed=speed, current_link_width=width)
    fields, unknown, _known = look(node, tree, "0000:00:01.0")
    assert fields["link"]["speed_gts"] is fields["link"]["width"] is None
    assert unknown["link.width"] == unknown["link.speed_gts"] == pci.NO_LINK


def test_a_silent_bridge_leaves_the_limit_unknown(node):
    tree = Tree()
    tree.add(ROOT)
    tree.add(f"{ROOT}/0000:01:00.0", link=(8.0, 8, 16.0, 16))
    fields, unknown, _known = look(node, tree, "0000:01:00.0")
    assert fields["link"]["limited_by"] is None
    assert "0000:00:01.0" in unknown["link.limited_by"]


def test_vfio_and_no_driver_are_told_apart(node):
    tree = Tree()
    tree.add(ROOT, driver=("link", "../../../bus/pci/drivers/vfio-pci"))
    tree.files["/sys/bus/pci/drivers/vfio-pci/module"] = ("link", "../../../../module/vfio_pci")
    tree.files["/sys/module/vfio_pci/refcnt"] = "1\n"
    tree.add("pci0000:00/0000:00:02.0")
    fields, unknown, _known = look(node, tree, "0000:00:01.0")
    assert fields["driver"] == {"name": "vfio-pci", "version": None}
    assert "vfio_pci" in unknown["driver.version"]
    fields, unknown, _known = look(node, tree, "0000:00:02.0")
    assert fields["driver"]["name"] is None
    assert "driver.name" not in unknown


def test_sriov(node):
    tree = Tree()
    tree.add(ROOT, sriov_totalvfs="16", sriov_numvfs="2")
    tree.add("pci0000:00/0000:00:01.1", physfn=("link", "../0000:00:01.0"))
    tree.add("pci0000:00/0000:00:02.0")
    assert look(node, tree, "0000:00:01.0")[0]["sriov"] == {"total": 16, "configured": 2, "physical_function": None}
    assert look(node, tree, "0000:00:01.1")[0]["sriov"]["physical_function"] == "0000:00:01.0"
    assert look(node, tree, "0000:00:02.0")[0]["sriov"] is None


def test_acs_on_the_path(node):
    space = bytearray(4096)
    struct.pack_into("<IHH", space, 0x100, 0x0001000D, 0, 0x001D)
    tree = Tree()
    tree.add(ROOT, config=bytes(space))
    tree.add(f"{ROOT}/0000:01:00.0")
    host = node(tree.files)
    known, _reason = pci.functions(host)
    assert pci.acs(host, known["0000:01:00.0"], known, Book()) is True


@pytest.mark.parametrize("config", [bytes(64), None])
def test_acs_that_may_not_be_read_is_unknown(node, config):
    tree = Tree()
    tree.add(ROOT, **({"config": config} if config else {}))
    tree.add(f"{ROOT}/0000:01:00.0")
    host = node(tree.files)
    known, _reason = pci.functions(host)
    book = Book()
    assert pci.acs(host, known["0000:01:00.0"], known, book) is None
    assert "0000:00:01.0" in book.unknown["acs"]


def test_no_sysfs_is_a_reason(node):
    assert pci.functions(node({"/etc/hostname": "x"})) == (None, "/sys/bus/pci/devices not there")


def test_bridges_are_only_those_above_something(node):
    tree = Tree()
    tree.add(ROOT, link=(8.0, 8, 8.0, 8), numa_node="0")
    tree.add("pci0000:00/0000:00:02.0")
    tree.add(f"{ROOT}/0000:01:00.0")
    host = node(tree.files)
    known, _reason = pci.functions(host)
    rows = pci.bridges(host, [known["0000:01:00.0"]], known)
    assert [(row["id"], row["parent"], row["root"]) for row in rows] == [("0000:00:01.0", None, "pci0000:00")]
    assert rows[0]["link"]["max_width"] == 8
