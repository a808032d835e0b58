# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What journaling costs: 1,000 files in one generation, and the recovery of a journal of 1,000 steps.

Beside each, what the disk alone takes for as many files that are written and made to last one by one. Limits: 3 s and
2 s, and 8 and 5 times the disk.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.accelerator.ops.plugins.module_utils import runner
from ansible_collections.accelerator.ops.plugins.module_utils.host import disk
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.call import Call
from ansible_collections.accelerator.ops.plugins.module_utils.model.plan import Plan, file_step

COUNT = 1000
LIMITS_SECONDS = {"change": 3.0, "recovery": 2.0}
LIMITS_RATIO = {"change": 8.0, "recovery": 5.0}
FILES = {f"/etc/x{number // 100}/f{number}.conf": b"a setting\n" * 20 for number in range(COUNT)}
OPTIONS = {name: row.get("default") for name, row in runner.SHARED.items()}


def observe(host: Host, _wish: Mapping[str, Any]) -> dict[str, Any]:
    """The files as they are."""
    return {path: disk.found(host, path) for path in FILES}


def decide(seen: Mapping[str, Any], _wish: Mapping[str, Any]) -> Plan:
    """The files as they shall be."""
    return Plan(tuple(step for path, text in FILES.items() for step in file_step(path, seen[path], text, "measured")))


def alone(folder: Path) -> float:
    """Seconds that the disk takes for as many files."""
    start = time.perf_counter()
    for number in range(COUNT):
        handle = os.open(folder / f"f{number}", os.O_WRONLY | os.O_CREAT)
        os.write(handle, b"a setting\n" * 20)
        os.fsync(handle)
        os.close(handle)
    return time.perf_counter() - start


def cut_off(root: Path) -> None:
    """Leave a change half done: killed before it is seen to be whole."""
    process = os.fork()
    if process == 0:
        runner._verify = lambda *_given: os._exit(9)  # type: ignore[assignment]
        change(root)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) != 9:
        raise SystemExit("the change was not cut off")


def change(root: Path) -> None:
    """Make all files."""
    runner.change(Call("files", {**OPTIONS, "root": str(root), "run": "bench"}, False, False), observe, decide)


def recover(root: Path) -> int:
    """Take back what was cut off; how much that was."""
    wish = {**OPTIONS, "root": str(root), "run": "bench"}
    return len(runner.recovered(Call("generation", wish, False, False)).results["taken_back"])


def main() -> int:
    """1 over a limit."""
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        roots = [Path(folder) / name for name in ("disk", "change", "recovery")]
        for root in roots:
            (root / "etc").mkdir(parents=True)
        base = alone(roots[0])
        start = time.perf_counter()
        change(roots[1])
        seconds["change"] = time.perf_counter() - start
        cut_off(roots[2])
        start = time.perf_counter()
        count = recover(roots[2])
        seconds["recovery"] = time.perf_counter() - start
        if count < COUNT or any((roots[2] / "etc").iterdir()):
            raise SystemExit(f"{count} of {COUNT} taken back")
    broken = 0
    print(f"the disk alone, {COUNT} files: {base:.2f} s")
    for name, took in seconds.items():
        is_over = took > LIMITS_SECONDS[name] or took > LIMITS_RATIO[name] * base
        broken += is_over
        limits = f"limits {LIMITS_SECONDS[name]:g} s and {LIMITS_RATIO[name]:g} times"
        print(f"{name} of {COUNT} files: {took:.2f} s, {took / base:.1f} times; {limits}{': over' if is_over else ''}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
