# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NCCL or RCCL topology XML into raw sysfs: ids, class, NUMA node, CPUs, links, bridges as folders.

The XML has one element per PCIe switch (its upstream port) and no root ports. So that the tree is one that a kernel
could show, each element right below a ``cpu`` gets a root port on a root bus of its own, and each child of a switch
a downstream port of its own. Those made-up ports have addresses in PCI domains that no machine here uses.
XGMI and NVLink are no sysfs files of PCI and are left out; nothing that relates two devices is carried over.
Run as ``python tests/machines/convert_nccl.py FILE.xml ROOT``.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

if __package__:
    from .sysfs_tree import SysfsTree, bits, cpulist
else:
    from sysfs_tree import SysfsTree, bits, cpulist

_BRIDGE = "0x060400"
_MADE_UP_DOMAIN = 0x20000  # beyond the 16 bits of ACPI segments, and beyond what VMD takes (10000 and up)
_NAMES = {
    "vendor": "vendor",
    "device": "device",
    "subsystem_vendor": "subsystem_vendor",
    "subsystem_device": "subsystem_device",
    "class": "class",
    "link_speed": "current_link_speed",
    "link_width": "current_link_width",
}


class _Machine:
    def __init__(self, tree: SysfsTree, repeated: set[str]) -> None:
        self.tree = tree
        self.repeated = repeated
        self.ports = 0

    def new_address(self) -> str:
        """An address that no other function has; each in a domain of its own, so that any number fits."""
        self.ports += 1
        return f"{_MADE_UP_DOMAIN + self.ports:05x}:00:00.0"

    def place(self, element: ET.Element, above: str, near: dict[str, str]) -> None:
        """An element of the XML and all below it, in the folder of a port or a root bus."""
        files = {file: element.attrib[name] for name, file in _NAMES.items() if element.get(name)}
        is_switch = element.get("class") == _BRIDGE
        address = element.attrib["busid"].lower()
        if is_switch and address in self.repeated:
            address = self.new_address()
        folder = self.tree.function(above, address, {**files, **near})
        for child in element.findall("pci"):
            assert is_switch, f"{address} has functions below it and is no bridge"
            self.place(child, self.port(folder, near), near)
        for net in element.iterfind("nic/net"):
            is_rdma = "guid" in net.attrib or net.attrib["name"].startswith("mlx")
            self.tree.interface("infiniband" if is_rdma else "net", folder, net.attrib["name"])

    def port(self, above: str, near: dict[str, str]) -> str:
        return self.tree.function(above, self.new_address(), {"class": _BRIDGE, **near})


def convert(source: Path, root: Path) -> None:
    """Lay the machine of an NCCL or RCCL XML out as ``root``, which must not exist.

    A switch whose address an endpoint has too (seen in one file of RCCL) gets a made-up one.
    """
    top = ET.parse(source).getroot()
    tree = SysfsTree(root)
    seen = Counter(element.attrib["busid"].lower() for element in top.iter("pci"))
    machine = _Machine(tree, {address for address, times in seen.items() if times > 1})
    cpus = sorted(top.iter("cpu"), key=lambda cpu: int(cpu.attrib["numaid"]))
    tree.cpus({number for cpu in cpus for number in bits(cpu.attrib["affinity"])})
    for cpu in cpus:
        number, near_cpus = cpu.attrib["numaid"], bits(cpu.attrib["affinity"])
        tree.node(int(number), near_cpus, None, None)
        near = {"numa_node": number, "local_cpulist": cpulist(near_cpus)}
        for element in cpu.findall("pci"):
            address = machine.new_address()
            root_port = tree.function(f"sys/devices/pci{address[:8]}", address, {"class": _BRIDGE, **near})
            machine.place(element, root_port, near)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: convert_nccl.py FILE.xml ROOT")
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
