# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write raw sysfs: files and folders as a kernel shows them, and nothing that is worked out from them."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping
from pathlib import Path

PCI_FILES = (
    "vendor",
    "device",
    "subsystem_vendor",
    "subsystem_device",
    "class",
    "revision",
    "numa_node",
    "local_cpulist",
)


class SysfsTree:
    """A tree below ``root`` that stands for a node; paths are given without the leading slash."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "sys").mkdir(parents=True)

    def write(self, path: str, text: str) -> None:
        """A file with one line end, as sysfs has it."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n", encoding="utf-8")

    def link(self, path: str, target: str) -> None:
        """A relative link at ``path`` that leads to ``target``."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(posixpath.relpath(target, posixpath.dirname(path)), place)

    def function(self, above: str, address: str, files: Mapping[str, str]) -> str:
        """A PCI function in the folder ``above`` (a root bus or a bridge); returns its own folder."""
        place = f"{above}/{address}"
        (self.root / place).mkdir(parents=True)
        for name, text in files.items():
            self.write(f"{place}/{name}", text)
        self.link(f"sys/bus/pci/devices/{address}", place)
        return place

    def interface(self, kind: str, above: str, name: str) -> None:
        """What a driver shows below its function: ``kind`` is a class such as ``net``, ``infiniband``, ``drm``."""
        place = f"{above}/{kind}/{name}"
        (self.root / place).mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(self.root / f"sys/class/{kind}/{name}"):
            self.link(f"{place}/device", above)
            self.link(f"sys/class/{kind}/{name}", place)

    def cpus(self, numbers: Iterable[int]) -> None:
        """The CPUs of the node, all online."""
        numbers = sorted(numbers)
        for number in numbers:
            (self.root / f"sys/devices/system/cpu/cpu{number}").mkdir(parents=True)
        for name in ("online", "present", "possible"):
            self.write(f"sys/devices/system/cpu/{name}", cpulist(numbers))

    def node(self, number: int, cpus: Iterable[int], memory_bytes: int | None, distances: Iterable[int] | None) -> None:
        """A NUMA node; values that are not known are left out."""
        place = f"sys/devices/system/node/node{number}"
        self.write(f"{place}/cpulist", cpulist(cpus))
        if memory_bytes is not None:
            self.write(f"{place}/meminfo", f"Node {number} MemTotal:       {memory_bytes // 1024} kB")
        if distances is not None:
            self.write(f"{place}/distance", " ".join(str(value) for value in distances))


def cpulist(numbers: Iterable[int]) -> str:
    """``0-3,8`` for 0 1 2 3 8; empty for none (a node with memory only)."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def bits(mask: str) -> list[int]:
    """The bits that are set in a mask of 32-bit groups such as ``0x0000ffff,,0x1`` or ``0000ffff,00000000``."""
    value = 0
    for group in mask.split(","):
        value = value << 32 | int(group or "0", 16)
    return [bit for bit in range(value.bit_length()) if value >> bit & 1]
