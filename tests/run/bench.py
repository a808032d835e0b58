# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the measurements of ``tests/bench/`` on the newest core; each prints its figures and fails over its limit."""

from __future__ import annotations

import subprocess
import sys

import checks
import surroundings
from checks import House
from surroundings import HERE, SetupError

NOT_MEASURED = 77  # as automake's tests say that they were skipped


def main() -> int:
    """1 when a limit is broken or there is nothing to measure."""
    surroundings.require_python()
    try:
        house = House()
        tool = house.core(house.newest)
        env = house.test_environment(tool)
        if checks.no_node() is None:
            env.update(checks.node_environment(house, tool))
    except SetupError as error:
        print(error)
        return 1
    scripts = sorted((HERE / "tests" / "bench").glob("bench_*.py"))
    statuses = []
    for script in scripts:
        print(f"=== {script.stem}", flush=True)
        statuses.append(
            subprocess.run([tool.program("python"), str(script)], env=env, cwd=HERE, check=False).returncode
        )
    skipped = statuses.count(NOT_MEASURED)
    broken = len(statuses) - skipped - statuses.count(0)
    print(f"bench: {statuses.count(0)} passed, {broken} failed, {skipped} not measured")
    return 1 if broken or not statuses else 0


if __name__ == "__main__":
    sys.exit(main())
