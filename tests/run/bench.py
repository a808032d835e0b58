# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the measurements of ``tests/bench/`` on the newest core; each prints its figures and fails over its limit."""

from __future__ import annotations

import subprocess
import sys

import surroundings
from checks import House
from surroundings import HERE, SetupError


def main() -> int:
    """1 when a limit is broken or there is nothing to measure."""
    surroundings.require_python()
    try:
        house = House()
        tool = house.core(house.newest)
    except SetupError as error:
        print(error)
        return 1
    scripts = sorted((HERE / "tests" / "bench").glob("bench_*.py"))
    statuses = []
    for script in scripts:
        print(f"=== {script.stem}", flush=True)
        env = house.test_environment(tool)
        statuses.append(
            subprocess.run([tool.program("python"), str(script)], env=env, cwd=HERE, check=False).returncode
        )
    broken = sum(1 for status in statuses if status)
    print(f"bench: {len(statuses) - broken} passed, {broken} failed")
    return 1 if broken or not statuses else 0


if __name__ == "__main__":
    sys.exit(main())
