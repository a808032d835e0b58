# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Look for one fault in the modules that are on the path: ``python find_fault.py WAY CASE MOST``.

Prints what was found first and after how many tries, as JSON. Exit status 0 where something was found.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys

from ansible_collections.accelerator.ops.tests.crash import bench, cases
from ansible_collections.accelerator.ops.tests.crash.node import Failed

SEED = 1


def find(way: str, name: str, most: int) -> bench.Score:
    """The score of a search that ends at the first fault."""
    case = next(one for one in cases.SMALL if one.name == name)
    score = bench.Score(is_one_enough=True)
    chance = random.Random(SEED)
    with contextlib.suppress(bench.Enough), bench.bench(case) as of:
        if way == "kills":
            bench.kills(of, most, chance, score)
        elif way == "second kills":
            bench.second_kills(of, 8, most, chance, score)
        elif way == "programs":
            bench.kills_inside_programs(of, cases.PROGRAMS, score)
        else:
            bench.lost_writes(of, most, chance, score)
    return score


def main(arguments: list[str]) -> int:
    """Exit status 0: found."""
    try:
        score = find(arguments[0], arguments[1], int(arguments[2]))
    except Failed as error:
        print(json.dumps({"tried": 0, "wrong": [f"the case itself fails: {error}"]}))
        return 2
    print(json.dumps({"tried": score.tried, "wrong": score.wrong}))
    return 0 if score.wrong else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
