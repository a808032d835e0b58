# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""hwloc XML (versions 1, 2 and 3) into the raw sysfs that it was read from.

Ids, class, NUMA node and CPUs as files, bridges as folders. Nothing that relates two devices is carried over; the
tree says only what a kernel says. What the XML does not hold (drivers, links' speed and width, configuration space)
is not there either. An address that a file has twice (edited by its makers; no kernel has that) is laid out once as
it is and then in a PCI domain of its own.
Run as ``python tests/machines/convert_hwloc.py FILE.xml ROOT``.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import NamedTuple

if __package__:
    from .sysfs_tree import SysfsTree, bits, cpulist
else:
    from sysfs_tree import SysfsTree, bits, cpulist

# "0302 [10de:15f9] [10de:116b] a1 00": class, ids, subsystem, revision, and from version 3 the programming interface.
_TYPE = re.compile(r"(\w{4}) \[(\w{4}):(\w{4})\](?: \[(\w{4}):(\w{4})\])? (\w{2})(?: (\w{2}))?")
_DRM = re.compile(r"(card|renderD)\d+\Z")
_MADE_UP_DOMAIN = 0x20000  # beyond the 16 bits of ACPI segments, and beyond what VMD takes (10000 and up)
_HOST_BRIDGE = re.compile(r"(\w{4,8}):\[(\w{2})-\w{2}\]")

# OS device kinds: a number up to version 2, a set of bits from version 3, most telling first (hwloc 3.0 hwloc.h).
_KINDS = {1: "drm", 2: "net", 3: "infiniband"}
_KIND_BITS = {32: "infiniband", 16: "net", 4: "drm"}


class _Memory(NamedTuple):
    number: int
    cpus: list[int]
    bytes: int | None


class _Near(NamedTuple):
    numa_node: str
    cpulist: str


def convert(source: Path, root: Path) -> dict[str, str]:
    """Lay the machine of an hwloc XML out as ``root``, which must not exist.

    Returns the addresses that had to be made up, each with the one that the file has.
    """
    top = ET.parse(source).getroot()
    tree = SysfsTree(root)
    tree.cpus(int(element.attrib["os_index"]) for element in top.iter("object") if element.get("type") == "PU")
    memories = sorted(_memories(top), key=lambda memory: memory.number)
    rows = _latencies(top, [memory.number for memory in memories])
    for memory in memories:
        tree.node(memory.number, memory.cpus, memory.bytes, rows.get(memory.number))
    machine = _Machine(tree, memories, int((top.get("version") or "1").split(".")[0]))
    for element in top.findall("object"):
        machine.walk(element, None)
    return machine.made_up


def _memories(top: ET.Element) -> list[_Memory]:
    found = []
    for element in top.iter("object"):
        if element.get("type") == "NUMANode" and element.get("os_index") is not None:
            size = element.get("local_memory")
            found.append(
                _Memory(int(element.attrib["os_index"]), bits(element.attrib["cpuset"]), int(size) if size else None)
            )
    return found


def _latencies(top: ET.Element, numbers: list[int]) -> dict[int, list[int]]:
    """Rows of the kernel's distance table, columns by ascending node number; empty where the XML has none."""
    for matrix in top.iter("distances2"):
        if matrix.get("name") == "NUMALatency" and matrix.get("indexing") == "os":
            order = [int(text) for element in matrix.iter("indexes") for text in (element.text or "").split()]
            values = [int(text) for element in matrix.iter("u64values") for text in (element.text or "").split()]
            size = len(order)
            if sorted(order) == numbers and len(values) == size * size:
                table = {(a, b): values[i * size + j] for i, a in enumerate(order) for j, b in enumerate(order)}
                return {a: [table[a, b] for b in numbers] for a in numbers}
    return {}


def _numa(nodes: list[int], memories: list[_Memory]) -> str:
    """The node of an I/O object: the one around it, else the only one of them with CPUs (a package whose high-bandwidth
    memory is a node of its own); the kernel's -1 where that leaves several."""
    if len(nodes) != 1:
        nodes = [memory.number for memory in memories if memory.number in nodes and memory.cpus]
    return str(nodes[0]) if len(nodes) == 1 else "-1"


class _Machine:
    def __init__(self, tree: SysfsTree, memories: list[_Memory], version: int) -> None:
        self.tree = tree
        self.memories = memories
        self.version = version
        self.seen: set[str] = set()
        self.made_up: dict[str, str] = {}

    def walk(self, element: ET.Element, near: _Near | None) -> None:
        """Down to the host bridges; ``near`` is what the objects around are."""
        if element.get("cpuset"):
            nodes = bits(element.get("nodeset") or "0")
            near = _Near(_numa(nodes, self.memories), cpulist(bits(element.attrib["cpuset"])))
        for child in element.findall("object"):
            match = _HOST_BRIDGE.match(child.get("bridge_pci") or "")
            if child.get("type") == "Bridge" and (child.get("bridge_type") or "").startswith("0-") and match:
                assert near is not None, "an I/O object lies below one that has CPUs"
                for function in child.findall("object"):
                    self.function(function, f"sys/devices/pci{match.group(1)}:{match.group(2)}", near)
            else:
                self.walk(child, near)

    def function(self, element: ET.Element, above: str, near: _Near) -> None:
        """A bridge or an endpoint, what its driver shows, and all below it."""
        match = _TYPE.match(element.attrib["pci_type"])
        assert match is not None, element.attrib["pci_type"]
        code, vendor, device, subsystem_vendor, subsystem_device, revision, interface = match.groups()
        files = {
            "vendor": f"0x{vendor}",
            "device": f"0x{device}",
            "class": f"0x{code}{interface or '00'}",
            "revision": f"0x{revision}",
            "numa_node": near.numa_node,
            "local_cpulist": near.cpulist,
        }
        if subsystem_vendor:
            files["subsystem_vendor"], files["subsystem_device"] = f"0x{subsystem_vendor}", f"0x{subsystem_device}"
        place = self.tree.function(above, self.address(element.attrib["pci_busid"]), files)
        for child in element.findall("object"):
            if child.get("type") == "OSDev":
                kind, name = self.kind(int(child.attrib["osdev_type"])), child.attrib["name"]
                if kind is not None and (kind != "drm" or _DRM.match(name)):
                    self.tree.interface(kind, place, name)
            elif child.get("type") in ("PCIDev", "Bridge"):
                self.function(child, place, near)

    def kind(self, number: int) -> str | None:
        if self.version < 3:
            return _KINDS.get(number)
        return next((kind for bit, kind in _KIND_BITS.items() if number & bit), None)

    def address(self, address: str) -> str:
        if address in self.seen:
            made_up = f"{_MADE_UP_DOMAIN + len(self.made_up):05x}:00:00.0"
            self.made_up[made_up] = address
            return made_up
        self.seen.add(address)
        return address


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: convert_hwloc.py FILE.xml ROOT")
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
