# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The best sets of devices by looking at every one: slow, and written apart from the search that it judges.

It reads the rows of the facts by itself and knows the order of the rules only as docs/placement.md tells it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

Row = Mapping[str, Any]
_FARTHEST_FIRST = (None, "sys", "node", "phb", "pxb", "pix")


class EverySet:
    """Ranks sets of device ids from rows of the facts."""

    def __init__(
        self, devices: Sequence[Row], links: Sequence[Row], distances: Sequence[Row], numa_nodes: Sequence[Row]
    ) -> None:
        self.devices = {row["id"]: row for row in devices}
        self.links: dict[frozenset[str], list[Row]] = {}
        for row in links:
            if row["count"] is None or row["count"] > 0:
                self.links.setdefault(frozenset((row["a"], row["b"])), []).append(row)
        self.kinds = {frozenset((row["a"], row["b"])): row["kind"] for row in distances}
        order = [row["node"] for row in numa_nodes]
        self.numa = {
            (row["node"], other): row["distances"][order.index(other)]
            for row in numa_nodes
            for other in order
            if row["distances"]
        }
        self.strongest = max(
            (self._count(frozenset(pair)) for pair in combinations(self.devices, 2)),
            default=0,
        )

    def _count(self, pair: frozenset[str]) -> int:
        counts = [row["count"] for row in self.links.get(pair, ())]
        return 0 if None in counts else sum(counts)

    def rank(self, ids: Sequence[str]) -> tuple[object, ...]:
        """Less is better, by the rules in order."""
        unlinked = no_hops = hops = missing = 0
        kinds: Counter[object] = Counter()
        numa = 0
        for a, b in combinations(ids, 2):
            pair = frozenset((a, b))
            rows = self.links.get(pair, [])
            known = [row["hops"] for row in rows if row["hops"] is not None]
            unlinked += not rows
            no_hops += bool(rows) and not known
            hops += min(known, default=0)
            missing += self.strongest - self._count(pair)
            kinds[self._kind(a, b)] += 1
            numa += self._numa(a, b)
        nodes = [self.devices[one]["numa_node"] for one in ids]
        return (
            (unlinked, no_hops, hops, missing),
            tuple(kinds[kind] for kind in _FARTHEST_FIRST),
            (nodes.count(None), len(set(nodes) - {None}), numa),
        )

    def _kind(self, a: str, b: str) -> object:
        one, other = ((self.devices[which].get("sriov") or {}).get("physical_function") or which for which in (a, b))
        return "same" if one == other else self.kinds.get(frozenset((one, other)))

    def _numa(self, a: str, b: str) -> int:
        one, other = self.devices[a]["numa_node"], self.devices[b]["numa_node"]
        if one is not None and one == other:
            return 0
        ways = [self.numa.get((one, other)), self.numa.get((other, one))]
        return 255 if None in ways else max(way for way in ways if way is not None)

    def best(self, count: int, limit: int) -> list[tuple[str, ...]]:
        """The best sets, best first; equal ones by their ids."""
        return sorted(combinations(sorted(self.devices), count), key=lambda ids: (self.rank(ids), ids))[:limit]
