# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which k of n devices belong together: the best sets, exactly, from rows of the facts alone.

A set's rank is a list of numbers (``FIELDS``), the first that differs decides, less is better, and equal ranks go by
id. Every number but ``numa_nodes`` is a sum over the pairs or devices of the set, so each pair's numbers are packed
into one integer, wide enough that sums never carry over; a set is then compared by adding integers. Branch and bound
looks at no more sets than it must, and never misses a better one.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, Optional

from ..model.errors import InputError
from .distance import KINDS

Row = Mapping[str, Any]

SAME = "same"
"""The distance of two virtual functions of one device."""
UNKNOWN_NUMA_DISTANCE = 255  # what ACPI's SLIT says of a node that cannot be reached: nothing known is farther
MOST_STEPS = 1_000_000  # partial sets; about 5 s. 16 choose 8 needs at most 26,333

FABRICS = {"amd": "xgmi", "habana": "scaleup", "intel": "scaleup", "nvidia": "nvlink"}
"""The kind of link between devices of a maker (docs/facts.md, schema 1)."""

FIELDS = (
    "pairs without a known link",
    "pairs of unknown hops",
    "hops",
    "links missing",
    "pairs of unknown distance",
    *(f"pairs {kind}" for kind in reversed(KINDS)),
    "devices of unknown NUMA node",
    "NUMA nodes",
    "NUMA distance",
)
"""The rank of a set, most important first. ``links missing``: what each pair lacks to the strongest pair there is (a
pair whose links are not counted lacks all of them); ``NUMA distance``: the sum over all pairs."""
_DEVICES = FIELDS.index("devices of unknown NUMA node")
_NODES = FIELDS.index("NUMA nodes")


class Pair(NamedTuple):
    """What lies between two devices.

    ``fabrics`` are the kinds of active links, none where there is none; ``hops`` and ``links`` are None where they are
    not known (or there is no link); ``distance`` is a kind, or None with the reason.
    """

    fabrics: tuple[str, ...]
    hops: Optional[int]
    links: Optional[int]
    distance: Optional[str]
    reason: Optional[str]
    numa: Optional[int]


class Wiring(NamedTuple):
    """Devices in the order of their ids, their NUMA nodes, and each pair by the places of its devices."""

    ids: tuple[str, ...]
    nodes: tuple[Optional[int], ...]
    pairs: Mapping[tuple[int, int], Pair]


def wiring(devices: Sequence[Row], links: Sequence[Row], distances: Sequence[Row], numa_nodes: Sequence[Row]) -> Wiring:
    """How ``devices`` are wired, from rows as in the facts (docs/facts.md). A pair without a row is not guessed."""
    rows = sorted(devices, key=lambda row: str(row["id"]))
    ids = tuple(str(row["id"]) for row in rows)
    # A virtual function is where its physical function is; distances are told of that one.
    places = [str((row.get("sriov") or {}).get("physical_function") or row["id"]) for row in rows]
    nodes = tuple(row.get("numa_node") for row in rows)
    near = {frozenset((row["a"], row["b"])): row for row in distances}
    joined: dict[frozenset[str], list[Row]] = {}
    for row in links:
        if row.get("count") != 0:
            joined.setdefault(frozenset((row["a"], row["b"])), []).append(row)
    between = _numa_distances(numa_nodes)
    pairs = {}
    for i, j in combinations(range(len(ids)), 2):
        kind, reason = _distance(places[i], places[j], near)
        fabrics, hops, count = _link(joined.get(frozenset((ids[i], ids[j])), []))
        left, right = nodes[i], nodes[j]
        numa = None if left is None or right is None else between.get((left, right))
        pairs[i, j] = Pair(fabrics, hops, count, kind, reason, numa)
    return Wiring(ids, nodes, pairs)


def _distance(a: str, b: str, near: Mapping[frozenset[str], Row]) -> tuple[Optional[str], Optional[str]]:
    if a == b:
        return SAME, None
    row = near.get(frozenset((a, b)))
    if row is None:
        return None, "the facts have no distance of them"
    kind = row["kind"]
    if kind not in KINDS:
        return None, str((row.get("unknown") or {}).get("kind") or "the facts give no reason")
    return kind, None


def _link(rows: Sequence[Row]) -> tuple[tuple[str, ...], Optional[int], Optional[int]]:
    """Kinds, fewest hops, and links in all; None for a number that one of the rows does not know."""
    hops, counts = [row.get("hops") for row in rows], [row.get("count") for row in rows]
    return (
        tuple(sorted({str(row["kind"]) for row in rows})),
        min((one for one in hops if one is not None), default=None),
        None if not rows or None in counts else sum(count or 0 for count in counts),
    )


def _numa_distances(numa_nodes: Sequence[Row]) -> dict[tuple[int, int], int]:
    """The distance of each two nodes; a row's columns are the nodes in order. A node's distance to itself is 0 here."""
    numbers = [row["node"] for row in numa_nodes]
    found = {}
    for row in numa_nodes:
        for other, value in zip(numbers, row.get("distances") or ()):
            found[row["node"], other] = value
    # The kernel's table may differ by direction: the greater one counts, both ways. One that is missing stays so.
    both = {(a, b): max(found[a, b], found[b, a]) for a, b in found if (b, a) in found}
    both.update({(number, number): 0 for number in numbers})
    return both


def rank(wired: Wiring, members: Sequence[int]) -> tuple[int, ...]:
    """The numbers of ``FIELDS`` for the set of the devices at these places."""
    most = max((pair.links or 0 for pair in wired.pairs.values()), default=0)
    sums = [0] * len(FIELDS)
    for pair in combinations(sorted(members), 2):
        for place, number in enumerate(_numbers(wired, pair, most)):
            sums[place] += number
    nodes = [wired.nodes[place] for place in members]
    sums[_DEVICES] = nodes.count(None)
    sums[_NODES] = len({node for node in nodes if node is not None})
    return tuple(sums)


def _numbers(wired: Wiring, places: tuple[int, int], most: int) -> list[int]:
    """What one pair adds to each field; the two that are not sums over pairs are 0."""
    pair = wired.pairs[places]
    same_node = wired.nodes[places[0]] is not None and wired.nodes[places[0]] == wired.nodes[places[1]]
    numa = 0 if same_node else UNKNOWN_NUMA_DISTANCE if pair.numa is None else pair.numa
    is_linked = bool(pair.fabrics)
    return [
        int(not is_linked),
        int(is_linked and pair.hops is None),
        pair.hops or 0,
        most - (pair.links or 0),
        int(pair.distance is None),
        *(int(pair.distance == kind) for kind in reversed(KINDS)),
        0,
        0,
        numa,
    ]


def best_sets(wired: Wiring, count: int, limit: int) -> list[tuple[int, ...]]:
    """The ``limit`` best sets of ``count`` devices, best first, each as ascending places in ``wired.ids``.

    Needs 1 <= count <= devices. Raises InputError where more than ``MOST_STEPS`` partial sets had to be looked at.
    """
    return _Search(wired, count, limit).run()


class _Search:
    """One branch-and-bound search. ``cost[i][j]`` is a pair's packed numbers, ``own[j]`` a device's."""

    def __init__(self, wired: Wiring, count: int, limit: int) -> None:
        self.size, self.count, self.limit = len(wired.ids), count, limit
        most = max((pair.links or 0 for pair in wired.pairs.values()), default=0)
        numbers = {places: _numbers(wired, places, most) for places in wired.pairs}
        greatest = [max((row[place] for row in numbers.values()), default=0) for place in range(len(FIELDS))]
        greatest[_DEVICES] = greatest[_NODES] = 2
        pairs = max(1, count * (count - 1) // 2)
        units, unit = [0] * len(FIELDS), 1
        for place in reversed(range(len(FIELDS))):
            units[place] = unit
            # a set of one device has no pairs, but a node: so one more
            unit <<= (greatest[place] * pairs + 1).bit_length()
        self.cost = [[0] * self.size for _place in range(self.size)]
        for (i, j), row in numbers.items():
            self.cost[i][j] = self.cost[j][i] = sum(number * one for number, one in zip(row, units))
        self.own = [units[_DEVICES] if node is None else 0 for node in wired.nodes]
        known = sorted({node for node in wired.nodes if node is not None})
        self.bits = [0 if node is None else 1 << known.index(node) for node in wired.nodes]
        self.node_unit = units[_NODES]
        # least[r][j]: what j has to the r others that are nearest to it, whichever they will be
        self.least = [[0] * self.size]
        near = [sorted(row[:j] + row[j + 1 :]) for j, row in enumerate(self.cost)]
        for others in range(1, count):
            self.least.append([self.least[-1][j] + near[j][others - 1] for j in range(self.size)])
        self.kept: list[tuple[int, tuple[int, ...]]] = []
        self.steps = 0
        self.worst_kept = self._bar()

    def run(self) -> list[tuple[int, ...]]:
        self._extend((), 0, 0, 0, self.own)
        return [places for _total, places in self.kept]

    def _bar(self) -> Optional[int]:
        """A total that the last set to be kept cannot exceed: from each device on, always the cheapest next one."""
        totals: dict[tuple[int, ...], int] = {}
        for first in range(self.size):
            chosen, total, add = [first], self.own[first], self._added(self.own, first, 0)
            while len(chosen) < self.count:
                following = min((add[j], j) for j in range(self.size) if j not in chosen)[1]
                total += add[following]
                chosen.append(following)
                add = self._added(add, following, 0)
            mask = 0
            for place in chosen:
                mask |= self.bits[place]
            totals[tuple(sorted(chosen))] = total + bin(mask).count("1") * self.node_unit
        return sorted(totals.values())[self.limit - 1] if len(totals) >= self.limit else None

    def _added(self, add: list[int], place: int, start: int) -> list[int]:
        """What each device from ``start`` on would add, once ``place`` is in the set. ``add`` ends with the last."""
        row = self.cost[place]
        return [one + other for one, other in zip(add[start + len(add) - self.size :], row[start:])]

    def _extend(self, chosen: tuple[int, ...], mask: int, total: int, start: int, add: list[int]) -> None:
        """Try every device from ``start`` on as the next one; ``add[j - start]`` is what device j would add."""
        need = self.count - len(chosen)
        if need == 1:
            self._close(chosen, mask, total, start, add)
            return
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise InputError(
                "choose",
                f"{self.count} of {self.size} devices",
                f"more than {MOST_STEPS} partial sets to look at",
                "fewer",
                "name fewer devices to choose from",
            )
        for place in range(start, self.size - need + 1):
            if self._is_hopeless(mask, total, need, place, add[place - start :]):
                return
            bits = mask | self.bits[place]
            more = self._added(add[place - start + 1 :], place, place + 1)
            self._extend((*chosen, place), bits, total + add[place - start], place + 1, more)

    def _close(self, chosen: tuple[int, ...], mask: int, total: int, start: int, add: list[int]) -> None:
        kept = self.kept
        for place, one in enumerate(add, start):
            whole = total + one
            is_full = len(kept) == self.limit
            if is_full and whole >= kept[-1][0]:
                continue
            whole += bin(mask | self.bits[place]).count("1") * self.node_unit
            if is_full:
                if whole >= kept[-1][0]:
                    continue
                kept.pop()
            insort(kept, (whole, (*chosen, place)))

    def _is_hopeless(self, mask: int, total: int, need: int, start: int, add: list[int]) -> bool:
        """Whether no set that goes on with devices from ``start`` on can come into the list.

        Twice the bound, since each pair among the devices to come is half each one's: nothing is rounded. Sets come in
        the order of their ids, so that one as good as the last that is kept comes too late.
        """
        least = self.least[need - 1]
        doubled = sorted([2 * one + other for one, other in zip(add, least[start:])])
        bound = 2 * (total + bin(mask).count("1") * self.node_unit) + sum(doubled[:need])
        if len(self.kept) == self.limit and bound >= 2 * self.kept[-1][0]:
            return True
        return self.worst_kept is not None and bound > 2 * self.worst_kept
