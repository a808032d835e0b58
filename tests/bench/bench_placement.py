# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What choosing 8 of 16 devices costs, on machines as they are built and on one that no bound helps with.

Processor time, beside that of a plain walk over the 12,870 sets in the same run, which a slow machine slows down as
well. Limits: 100 ms for the slowest, and the time of the walk.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Iterator
from itertools import combinations
from typing import Any, Callable

SIZE, COUNT, RUNS = 16, 8, 9
LIMIT_SECONDS, LIMIT_RATIO = 0.100, 1.0

Rows = list[dict[str, Any]]


def machines() -> Iterator[tuple[str, tuple[Rows, Rows, Rows, Rows]]]:
    """Name and rows of the facts: devices, links, distances, NUMA nodes."""
    names = [f"{number:02d}" for number in range(SIZE)]
    pairs = list(combinations(range(SIZE), 2))
    numa = [{"node": a, "distances": [10 if a == b else 21 for b in range(4)]} for a in range(4)]

    def rows(kind: Callable[[int, int], Any], count: Callable[[int, int], Any], node: Callable[[int], Any]) -> Any:
        return (
            [{"id": name, "numa_node": node(number), "sriov": None} for number, name in enumerate(names)],
            [
                {"a": names[a], "b": names[b], "kind": "nvlink", "hops": 2, "count": count(a, b)}
                for a, b in pairs
                if count(a, b)
            ],
            [{"a": names[a], "b": names[b], "kind": kind(a, b), "unknown": {}} for a, b in pairs],
            numa,
        )

    def distance(a: int, b: int) -> str:
        return "pix" if a // 2 == b // 2 else "pxb" if a // 4 == b // 4 else "node" if a // 8 == b // 8 else "sys"

    yield "all linked by switches", rows(distance, lambda a, b: 18, lambda number: number // 8)
    yield "two hives", rows(distance, lambda a, b: 3 if a % 2 == b % 2 else 0, lambda number: number // 8)
    yield "no fabric", rows(distance, lambda a, b: 0, lambda number: number // 4)
    pick = random.Random(16)
    links = {pair: pick.choice([0, 1, 2, 4]) for pair in pairs}
    kinds = {pair: pick.choice(["pix", "pxb", "phb", "node", "sys", None]) for pair in pairs}
    yield "at random", rows(lambda a, b: kinds[a, b], lambda a, b: links[a, b], lambda number: pick.randrange(4))
    # each device has one partner that is linked better: the bound for a set is far from any set there is
    yield "partners", rows(lambda a, b: "sys", lambda a, b: 2 if a + b == SIZE - 1 else 1, lambda number: number % 4)


def walk(count: int, links: dict[tuple[int, int], int]) -> int:
    """Add one number for each pair of each set: the least that a search without a bound must do."""
    return max(sum(links[pair] for pair in combinations(members, 2)) for members in combinations(range(SIZE), count))


def main() -> int:
    # late, so that a start without the collection on the path says so here
    from ansible_collections.accelerator.ops.plugins.module_utils.topology.placement import best_sets, wiring

    weights = {pair: sum(pair) for pair in combinations(range(SIZE), 2)}
    slowest, references = 0.0, []
    for name, rows in machines():
        taken = []
        for _run in range(RUNS):
            start = time.process_time()
            best_sets(wiring(*rows), COUNT, 5)
            taken.append(time.process_time() - start)
        start = time.process_time()
        walk(COUNT, weights)
        references.append(time.process_time() - start)
        median = statistics.median(taken)
        slowest = max(slowest, median)
        print(f"placement, {COUNT} of {SIZE}, {name}: {median * 1000:.1f} ms (median of {RUNS})")
    reference = statistics.median(references)
    ratio = slowest / reference
    print(
        f"slowest {slowest * 1000:.1f} ms (limit {LIMIT_SECONDS * 1000:.0f}), walk over every set "
        f"{reference * 1000:.1f} ms, ratio {ratio:.2f} (limit {LIMIT_RATIO})"
    )
    return 0 if slowest <= LIMIT_SECONDS and ratio <= LIMIT_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
