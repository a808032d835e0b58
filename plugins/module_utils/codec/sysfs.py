# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small texts of sysfs and procfs into values. Each function raises ValueError for what it does not understand."""

from __future__ import annotations

import re
from collections.abc import Iterable

_HEX = re.compile(r"0x([0-9a-fA-F]+)\Z")
_SPEED = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,4})?) GT/s(?: PCIe)?\Z")
_CPULIST = re.compile(r"[0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*\Z")
_CPUMASK = re.compile(r"(?:0x)?[0-9a-fA-F]{1,8}(?:,(?:0x)?[0-9a-fA-F]{1,8})*\Z")  # 0x: some captured files
_MAX_CPUS = 65536  # eight times what Linux can be built for; a longer list or mask is rubbish, and slow


def hex_id(text: str, digits: int) -> str:
    """``0x10DE`` as ``10de``, at least ``digits`` long (sysfs pads; some captured files do not)."""
    match = _HEX.match(text)
    if match is None or len(match.group(1).lstrip("0")) > digits:
        raise ValueError(text)
    return match.group(1).lower().lstrip("0").rjust(digits, "0")


def id4(text: str) -> str:
    """A vendor, device or subsystem id: four hex digits."""
    return hex_id(text, 4)


def id6(text: str) -> str:
    """A class code: six hex digits."""
    return hex_id(text, 6)


def id2(text: str) -> str:
    """A revision: two hex digits."""
    return hex_id(text, 2)


def integer(text: str) -> int:
    """A decimal number of zero or more, of at most 64 bits."""
    if not text.isascii() or not text.isdigit() or int(text[:21]) >> 64:
        raise ValueError(text)
    return int(text)


def link_speed_gts(text: str) -> float:
    """``16.0 GT/s PCIe`` as 16.0; ``Unknown`` (no link, or a speed newer than the kernel) raises ValueError."""
    match = _SPEED.match(text)
    if match is None:
        raise ValueError(text)
    return float(match.group(1))


def link_width(text: str) -> int:
    """Lanes of a link. 0 means that no link is up, 255 that the port does not answer: both raise ValueError."""
    width = integer(text)
    if not 0 < width <= 32:
        raise ValueError(text)
    return width


def cpulist(text: str) -> str:
    """A cpulist in the kernel's own form, such as ``0-15,32-47``; an empty one raises ValueError."""
    if _CPULIST.match(text) is None:
        raise ValueError(text)
    return text


def cpus_of_list(text: str) -> list[int]:
    """The CPU numbers of a cpulist, ascending."""
    found: list[int] = []
    for part in cpulist(text).split(","):
        first, _dash, last = part.partition("-")
        if int(last or first) >= _MAX_CPUS:
            raise ValueError(text)
        found.extend(range(int(first), int(last or first) + 1))
    return sorted(found)


def cpus_of_mask(text: str) -> list[int]:
    """The CPU numbers of a cpumap such as ``00000000,0000ffff`` (groups of 32 bits, highest first)."""
    if _CPUMASK.match(text) is None or text.count(",") >= _MAX_CPUS // 32:
        raise ValueError(text)
    value = 0
    for group in text.split(","):
        value = (value << 32) | int(group, 16)
    return [number for number in range(value.bit_length()) if value >> number & 1]


def list_of_cpus(numbers: Iterable[int]) -> str:
    """CPU numbers as the kernel writes a cpulist; no numbers raise ValueError."""
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    if not ranges:
        raise ValueError("no CPUs")
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def properties(text: str) -> dict[str, int]:
    """Lines of ``name number``, as in KFD's ``properties`` files; other lines raise ValueError."""
    found = {}
    for line in text.splitlines():
        name, _space, value = line.partition(" ")
        found[name] = integer(value.strip())
    return found


def aer_total(text: str) -> int:
    """The total of an ``aer_dev_*`` file: its ``TOTAL_ERR_*`` line."""
    for line in text.splitlines():
        name, _space, value = line.partition(" ")
        if name.startswith("TOTAL_ERR_"):
            return integer(value.strip())
    raise ValueError(text)


def uevent(text: str) -> dict[str, str]:
    """Lines of ``KEY=value``."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
