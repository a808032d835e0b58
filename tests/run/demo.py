# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The survey over the machine models, this machine, and the captured machines where there are some.

Needs git and a Python with venv; no root, nothing installed outside the cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

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
    if house.data is None:
        print("captured machines: none here, so the page shows the models and this machine")
    else:
        try:
            count = lay_captures_out(tool.program("python"), house.data)
        except SetupError as error:
            print(error)
            return 1
        print(f"captured machines: {count} trees of {house.data}")
    # one line per host and task would hide the summary; failures are shown all the same
    env = surroundings.local_play(tool, ANSIBLE_DISPLAY_OK_HOSTS="false", ANSIBLE_FORKS=str(2 * (os.cpu_count() or 1)))
    command = [tool.program("ansible-playbook"), "accelerator.ops.survey", "-i", str(INVENTORY)]
    command += ["-e", f"accelerator_report_dir={REPORT}"]
    status = subprocess.run(command, env=env, cwd=HERE, check=False).returncode
    if status:
        print("the survey failed; what failed stands above")
        return status
    nodes_are_seen = summary(json.loads((REPORT / "survey.json").read_text(encoding="utf-8")))
    print(f"page: {REPORT / 'survey.html'}")
    print(f"{time.monotonic() - start:.0f} seconds")
    return 0 if nodes_are_seen else 1


def summary(data: dict[str, Any]) -> bool:
    """Print what the fleet is; False when a node could not be seen, for models and captures all can."""
    totals = data["totals"]
    print(f"nodes: {totals['seen']} of {totals['nodes']} seen, wired in {totals['topologies']} ways")
    print(f"devices: {totals['devices']}")
    for maker in data["makers"]:
        print(f"  {maker['count']:4} {maker['maker'] or 'unknown maker'} {maker['model'] or 'unknown model'}")
    print(f"nodes that differ from the majority: {totals['differing_nodes']}")
    print(f"degraded links: {totals['degraded_links']}")
    print(f"values that could not be seen, each with its reason: {totals['unknown_values']}")
    unseen = [node for node in data["nodes"] if node["status"] != "seen"]
    for node in unseen:
        print(f"not seen: {node['name']}: {node['reason']}")
    return not unseen


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
