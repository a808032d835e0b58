# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far things on PCI are from one another, from their places in the tree alone.

The words are those of ``nvidia-smi topo -m``: a switch is one PCIe switch, which is an upstream port with its
downstream ports (NVIDIA, driver 580 documentation).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Optional

KINDS = ("pix", "pxb", "phb", "node", "sys")
"""Distances, nearest first."""


class Endpoint(NamedTuple):
    """A device, NIC or NVMe: its address, root bus, the bridges above it (outermost first) and its NUMA node."""

    id: str
    root: Optional[str]
    bridges: Optional[tuple[str, ...]]
    numa_node: Optional[int]


def distance(a: Endpoint, b: Endpoint) -> tuple[str | None, str | None]:
    """The kind of distance, or None and the reason."""
    if a.root is None or b.root is None or a.bridges is None or b.bridges is None:
        return None, "the PCI tree is not in this root"
    if a.root == b.root:
        shared = _shared(a.bridges, b.bridges)
        if not shared:
            return "phb", None
        below = max(len(a.bridges), len(b.bridges)) - shared
        # One bridge below the last shared one is a downstream port of the same switch; more are further switches.
        return ("pix" if below <= 1 else "pxb"), None
    if a.numa_node is None or b.numa_node is None:
        silent = a.id if a.numa_node is None else b.id
        return None, f"different root buses, and the NUMA node of {silent} is unknown"
    return ("node" if a.numa_node == b.numa_node else "sys"), None


def _shared(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """How many bridges both paths have in common from the root on."""
    count = 0
    for left, right in zip(a, b):
        if left != right:
            break
        count += 1
    return count


def distances(endpoints: Sequence[Endpoint]) -> list[dict[str, object]]:
    """A row for each pair, in the order of the endpoints."""
    rows: list[dict[str, object]] = []
    for number, a in enumerate(endpoints):
        for b in endpoints[number + 1 :]:
            kind, reason = distance(a, b)
            rows.append({"a": a.id, "b": b.id, "kind": kind, "unknown": {"kind": reason} if reason else {}})
    return rows


def nearest(of: Endpoint, others: Sequence[Endpoint]) -> list[str] | None:
    """The ids of the nearest others, all of them where several are as near; None where no distance is known."""
    best: list[str] = []
    rank = len(KINDS)
    for other in others:
        kind, _reason = distance(of, other)
        if kind is None:
            continue
        if KINDS.index(kind) < rank:
            rank, best = KINDS.index(kind), []
        if KINDS.index(kind) == rank:
            best.append(other.id)
    return best if best or not others else None
