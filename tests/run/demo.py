# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The survey over the machine models, this machine, and the captured machines where there are some.

Needs git and a Python with venv; no root, nothing installed outside the cache.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import surroundings
from checks import House
from surroundings import HERE, LOCAL, SetupError

INVENTORY = HERE / "inventories" / "demo"
REPORT = HERE / "accelerator-report"
CAPTURES = LOCAL / "captures"


def main() -> int:
    """Show the fleet page's place and the summary; the playbook's exit status."""
    surroundings.require_python()
    start = time.monotonic()
    try:
        house = House()
        tool = house.core(house.newest)
    except SetupError as error:
        print(error)
        return 1
    inventories = ["-i", str(INVENTORY)]
    if house.data is None:
        print("captured machines: none here, so the page shows the models and this machine")
    else:
        count = lay_captures_out(tool.program("python"), house.data)
        print(f"captured machines: {count} trees of {house.data}")
    env = surroundings.environment(tool)
    env["ACCELERATOR_OPS_CAPTURES"] = str(CAPTURES) if house.data is not None else ""
    status = subprocess.run(
        [
            tool.program("ansible-playbook"),
            "accelerator.ops.survey",
            *inventories,
            "-e",
            f"accelerator_report_dir={REPORT}",
        ],
        env=env,
        cwd=HERE,
        check=False,
    ).returncode
    pages = sorted(REPORT.rglob("*.html"), key=lambda page: page.stat().st_mtime) if REPORT.is_dir() else []
    if status == 0 and not pages:
        print(f"the survey wrote no page into {REPORT}")
        return 1
    if pages:
        print(f"page: {pages[-1]}")
    print(f"{time.monotonic() - start:.0f} seconds")
    return status


def lay_captures_out(python: str, data: Path) -> int:
    """Lay the captured machines out as trees below ``.cache/captures``; how many there are."""
    command = [python, str(HERE / "tests" / "machines" / "unpack.py"), str(data), str(CAPTURES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise SetupError(f"cannot lay out the captured machines: {last}")
    return sum(1 for line in done.stdout.splitlines() if "\t" in line)


if __name__ == "__main__":
    sys.exit(main())
