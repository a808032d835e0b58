# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The survey over the machine models, this machine, and the captured machines where there are some.

Then a copy of one model is prepared and brought back: what is foreseen, what is done, and that all is as before.
Needs git and a Python with venv; no root, nothing installed outside the cache.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import surroundings
from checks import House
from surroundings import HERE, LOCAL, SetupError, Venv

INVENTORY = HERE / "inventories" / "demo"
REPORT = HERE / "accelerator-report"
CAPTURES = LOCAL / "captures"
MODELS = LOCAL / "models"
PREPARED = "nvidia-hgx-h100-8gpu"
"""The model that is prepared."""


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
    is_as_before = prepare_and_back(tool)
    nodes_are_seen = summary(json.loads((REPORT / "survey.json").read_text(encoding="utf-8")))
    print(f"page: {REPORT / 'survey.html'}")
    print(f"{time.monotonic() - start:.0f} seconds")
    return 0 if nodes_are_seen and is_as_before else 1


def prepare_and_back(tool: Venv) -> bool:
    """Prepare a copy of a model, and bring it back. False where a run fails or something is not as before."""
    print(f"\npreparing a copy of {PREPARED}, and bringing it back")
    (model,) = list(MODELS.glob(f"{PREPARED}-*"))[-1:]
    with tempfile.TemporaryDirectory(prefix="accelerator-ops-demo-") as folder:
        root = Path(folder) / "root"
        shutil.copytree(model, root, symlinks=True)
        before = listing(root)
        here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        hosts = {PREPARED: {**here, "accelerator_root": str(root)}}
        inventory = Path(folder) / "hosts.json"
        inventory.write_text(json.dumps({"all": {"hosts": hosts}}), encoding="utf-8")
        for verb, options in (("prepare", ["--check", "--diff"]), ("prepare", []), ("rollback", [])):
            if not ran(tool, [f"accelerator.ops.{verb}", "-i", str(inventory), *options], Path(folder) / "report"):
                return False
        is_as_before = listing(root) == before
    print(f"brought back, everything is as before: {'yes' if is_as_before else 'NO'}\n")
    return is_as_before


def ran(tool: Venv, arguments: list[str], report: Path) -> bool:
    """Run a playbook: the plan is shown by check mode, else one line from its report. False where it fails."""
    is_check = "--check" in arguments
    command = [tool.program("ansible-playbook"), *arguments, "-e", f"accelerator_report_dir={report}"]
    env = surroundings.local_play(tool, ANSIBLE_DISPLAY_OK_HOSTS="false", ANSIBLE_DISPLAY_SKIPPED_HOSTS="false")
    done = subprocess.run(command, env=env, cwd=HERE, capture_output=not is_check, text=True, check=False)
    if done.returncode:
        print(done.stdout or "", f"{arguments[0]} failed", sep="\n")
        return False
    (row,) = json.loads((report / "survey.json").read_text(encoding="utf-8"))["changes"]
    made = "foreseen" if is_check else f"done, generation {row['generation']}"
    print(f"{arguments[0]}: {len(row['plan'])} changes {made}")
    return True


def listing(root: Path) -> dict[str, tuple[int, object]]:
    """Types, modes and contents of a tree, but for the state of the collection in it."""
    found: dict[str, tuple[int, object]] = {}
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name != "accelerator-ops"]
        for path in (os.path.join(folder, name) for name in [*names, *files]):
            mode = os.lstat(path).st_mode
            content: object = os.readlink(path) if stat.S_ISLNK(mode) else None
            if stat.S_ISREG(mode):
                content = Path(path).read_bytes()
            found[path] = (mode, content)
    # the folder of the state stays when all is taken back, and so do those above it
    state = str(root / "var")
    return {path: row for path, row in found.items() if path != state and not path.startswith(f"{state}/")}


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
