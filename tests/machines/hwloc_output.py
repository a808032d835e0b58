# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read what hwloc says of a machine: its XML (version 2 and later) and the console form of ``lstopo -v``."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import NamedTuple, Optional

from ansible_collections.accelerator.ops.tests.machines.sysfs_tree import bits

_TYPE = re.compile(r"(\w{4}) \[(\w{4}):(\w{4})\](?: \[(\w{4}):(\w{4})\])? (\w{2})")
_LINE = re.compile(r"(?P<indent> *)(?P<type>[A-Za-z0-9]+)(?P<about>.*)")
_PCI = re.compile(r"busid=(\S+) id=(\w{4}):(\w{4}) class=(\w{4})")


class Memory(NamedTuple):
    """A NUMA node; ``bytes`` is None where hwloc rounds it."""

    cpus: tuple[int, ...]
    bytes: Optional[int]


class Function(NamedTuple):
    """A PCI function or bridge; ``code`` is the class without the programming interface; CPUs and nodes are those of
    the objects around it; ``interfaces`` are the names of its OS devices."""

    id: str
    code: str
    vendor: str
    device: str
    subsystem: Optional[tuple[str, str]]
    revision: Optional[str]
    bridges: tuple[str, ...]
    cpus: tuple[int, ...]
    nodes: tuple[int, ...]
    interfaces: tuple[str, ...]


class Machine(NamedTuple):
    """NUMA nodes by number, the numbers of all CPUs, and the PCI functions in order."""

    memories: dict[int, Memory]
    cpus: tuple[int, ...]
    functions: tuple[Function, ...]


def read_xml(source: Path) -> Machine:
    """What an XML of version 2 or later tells."""
    top = ET.parse(source).getroot()
    memories: dict[int, Memory] = {}
    cpus: list[int] = []
    functions: list[Function] = []

    def walk(element: ET.Element, near: tuple[tuple[int, ...], tuple[int, ...]], bridges: tuple[str, ...]) -> None:
        kind, address = element.get("type"), element.get("pci_busid")
        if element.get("cpuset"):
            near = tuple(bits(element.attrib["cpuset"])), tuple(bits(element.get("nodeset") or "0"))
        if kind == "NUMANode":
            memories[int(element.attrib["os_index"])] = Memory(near[0], int(element.get("local_memory") or 0))
        elif kind == "PU":
            cpus.append(int(element.attrib["os_index"]))
        elif address:
            match = _TYPE.match(element.attrib["pci_type"])
            assert match is not None, element.attrib["pci_type"]
            code, vendor, device, above, below, revision = match.groups()
            names = tuple(child.attrib["name"] for child in element.findall("object") if child.get("type") == "OSDev")
            functions.append(
                Function(
                    address, code, vendor, device, (above, below) if above else None, revision, bridges, *near, names
                )
            )
            bridges = (*bridges, address)
        for child in element.findall("object"):
            walk(child, near, bridges)

    for element in top.findall("object"):
        walk(element, ((), ()), ())
    return Machine(memories, tuple(sorted(cpus)), tuple(functions))


def read_console(source: Path) -> Machine:
    """What the text of ``lstopo -v`` tells: a NUMA node's CPUs are those of the object that it stands in."""
    rows: list[tuple[int, str, str]] = []
    for line in source.read_text(encoding="utf-8").splitlines():
        match = _LINE.match(line)
        if line.startswith(("depth", "Special depth")) or not line.strip():
            break
        assert match is not None, line
        rows.append((len(match.group("indent")), match.group("type"), match.group("about")))
    memories: dict[int, Memory] = {}
    functions: list[Function] = []
    for position, (_indent, kind, about) in enumerate(rows):
        found = _PCI.search(about)
        if kind == "NUMANode":
            memories[_number(about)] = Memory(_cpus_around(rows, position), None)
        elif found and kind in ("PCI", "PCIBridge"):
            address, vendor, device, code = found.groups()
            functions.append(Function(address, code, vendor, device, None, None, (), (), (), ()))
    return Machine(
        memories, tuple(sorted(_number(about) for _indent, kind, about in rows if kind == "PU")), tuple(functions)
    )


def _number(about: str) -> int:
    match = re.search(r"\(P#(\d+)", about)
    assert match is not None, about
    return int(match.group(1))


def _cpus_around(rows: list[tuple[int, str, str]], position: int) -> tuple[int, ...]:
    """CPUs of the nearest object further left, above; memory-side caches stand between a node and that object."""
    indent = rows[position][0]
    start = position
    while start > 0 and (rows[start][0] >= indent or rows[start][1] == "MemCache"):
        start -= 1
        indent = min(indent, rows[start][0] + 1) if rows[start][1] == "MemCache" else indent
    end = start + 1
    while end < len(rows) and rows[end][0] > rows[start][0]:
        end += 1
    return tuple(sorted(_number(about) for _indent, kind, about in rows[start:end] if kind == "PU"))
