# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NUMA nodes: their CPUs, memory, huge pages and distances."""

from __future__ import annotations

import re
from typing import Any, Optional

from ...codec import sysfs
from ...host.door import Host
from ...model.answer import MISSING, Answer, Book

NODES = "/sys/devices/system/node"
CPUS = "/sys/devices/system/cpu"

_NODE = re.compile(r"node(\d+)\Z", re.ASCII)
_PAGES = re.compile(r"hugepages-(\d+)kB\Z", re.ASCII)
_TOTAL = re.compile(r"^Node \d+ MemTotal:\s*(\d+) kB$", re.ASCII | re.MULTILINE)
NO_CPUS = "no CPUs"
NO_NUMA = "kernel without NUMA"


def observe(host: Host) -> tuple[Optional[list[dict[str, Any]]], dict[str, str]]:
    """The NUMA nodes that are online, by number; None with the reason under ``numa_nodes``."""
    names = host.list(NODES)
    if names.value is None:
        without = names.reason == MISSING and host.exists(CPUS)
        return None, {"numa_nodes": NO_NUMA if without else f"{NODES} {names.reason}"}
    numbers = sorted(int(match.group(1)) for match in map(_NODE.match, names.value) if match)
    if not numbers:
        return None, {"numa_nodes": f"{NODES} lists no node"}
    return [_node(host, number, len(numbers)) for number in numbers], {}


def _node(host: Host, number: int, count: int) -> dict[str, Any]:
    book = Book()
    place = f"{NODES}/node{number}"

    def distances(text: str) -> list[int]:
        found = [sysfs.integer(part) for part in text.split()]
        if not found:
            raise ValueError(text)
        return found

    node: dict[str, Any] = {
        "node": number,
        "cpus": book.take("cpus", _cpus(host, place), sysfs.cpulist),
        "memory_mib": book.take("memory_mib", host.read(f"{place}/meminfo"), _memory_mib),
        "hugepages": _hugepages(host, place, book),
        "distances": book.take("distances", host.read(f"{place}/distance"), distances),
        "unknown": book.unknown,
    }
    if node["distances"] is not None and len(node["distances"]) != count:
        # The columns are the online nodes in order: with another count they cannot be told apart.
        book.miss("distances", f"{len(node['distances'])} distances for {count} nodes")
        node["distances"] = None
    return node


def _cpus(host: Host, place: str) -> Answer:
    """``cpulist``, or the same from ``cpumap`` (kernels before 2.6.26 have no cpulist)."""
    answer = host.read(f"{place}/cpulist")
    if answer.value is not None:
        return answer if answer.value else Answer(None, NO_CPUS)
    mask = host.read(f"{place}/cpumap")
    if mask.value is None:
        return answer
    try:
        numbers = sysfs.cpus_of_mask(mask.value)
    except ValueError:
        return Answer(None, f"unexpected content {mask.value[:40]!r}")
    return Answer(sysfs.list_of_cpus(numbers), None) if numbers else Answer(None, NO_CPUS)


def _memory_mib(text: str) -> int:
    match = _TOTAL.search(text)
    if match is None:
        raise ValueError(text)
    return int(match.group(1)) // 1024


def _hugepages(host: Host, place: str, book: Book) -> Optional[list[dict[str, Any]]]:
    names = host.list(f"{place}/hugepages")
    if names.value is None:
        book.miss("hugepages", names.reason or MISSING)
        return None
    sizes = sorted(int(match.group(1)) for match in map(_PAGES.match, names.value) if match)
    found = []
    for position, size in enumerate(sizes):
        folder = f"{place}/hugepages/hugepages-{size}kB"
        key = f"hugepages.{position}"
        found.append(
            {
                "size_kib": size,
                "total": book.take(f"{key}.total", host.read(f"{folder}/nr_hugepages"), sysfs.integer),
                "free": book.take(f"{key}.free", host.read(f"{folder}/free_hugepages"), sysfs.integer),
            }
        )
    return found
