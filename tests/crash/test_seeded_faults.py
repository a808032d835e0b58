# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The crash tests are tests of themselves: faults that are put into a copy of the engine must be found."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ansible_collections.accelerator.ops.tests.crash import find_fault, kernel_calls
from ansible_collections.accelerator.ops.tests.crash.amount import IS_WHOLE, SEED

CHECKOUT = Path(__file__).resolve().parents[2]


class Fault(NamedTuple):
    """What is wrong: the text in a file of ``module_utils``, what stands there instead, and how it is looked for."""

    name: str
    file: str
    text: str
    instead: str
    way: str
    case: str
    most: int


FAULTS = (
    Fault(
        "a new version is not synced",
        "host/disk.py",
        "        os.fchmod(handle, state.mode)  # after the owner: a change of owner clears set-id bits\n"
        "        os.fsync(handle)\n",
        "        os.fchmod(handle, state.mode)\n",
        "lost writes",
        "few files",
        400,
    ),
    Fault(
        "the folders are not synced after the swap",
        "state/apply.py",
        '        changed.add(real.rpartition("/")[0] or "/")\n    _sync(changed)\n',
        '        changed.add(real.rpartition("/")[0] or "/")\n',
        "lost writes",
        "few files",
        400,
    ),
    Fault(
        "the intent comes after the effect",
        "state/engine.py",
        "        self._write([record.batch_row(batch)])\n        try:\n"
        "            apply.do(self.host, plan.steps, self._mark(number), self.store.content, self._keep)\n",
        "        try:\n"
        "            apply.do(self.host, plan.steps, self._mark(number), self.store.content, self._keep)\n"
        "            self._write([record.batch_row(batch)])\n",
        "kills",
        "few files",
        60,
    ),
    Fault(
        "the journal is not synced",
        "host/disk.py",
        "            left = left[os.write(handle, left) :]\n        os.fsync(handle)\n    finally:\n"
        "        os.close(handle)\n    if is_new:\n",
        "            left = left[os.write(handle, left) :]\n    finally:\n        os.close(handle)\n    if is_new:\n",
        "lost writes",
        "few files",
        400,
    ),
    Fault(
        "the folder of a new journal is not synced",
        "host/disk.py",
        "    if is_new:\n        sync_folders([os.path.dirname(real)])\n",
        "",
        "lost writes",
        "few files",
        400,
    ),
    Fault(
        "done is written before it is done",
        "state/engine.py",
        "        self._write([record.batch_row(batch)])\n",
        '        self._write([record.batch_row(batch), {"t": "done", "batch": number, **_moment()}])\n',
        "kills",
        "few files",
        60,
    ),
    Fault(
        "a generation is current before it is written",
        "state/store.py",
        '        disk.put(f"{folder}/manifest.json", history.manifest(generation))\n'
        '        disk.point(f"{self._base}/current", f"generations/{generation.number}")\n',
        '        disk.point(f"{self._base}/current", f"generations/{generation.number}")\n'
        '        disk.put(f"{folder}/manifest.json", history.manifest(generation))\n',
        "kills",
        "few files",
        60,
    ),
    Fault(
        "the journal ends before the generation is current",
        "state/engine.py",
        "            self.store.commit(self._becoming(journal, number))\n        self.store.end_journals()\n",
        "            self.store.end_journals()\n            self.store.commit(self._becoming(journal, number))\n",
        "kills",
        "few files",
        60,
    ),
    Fault(
        "the swap of current is not synced",
        "host/disk.py",
        "    swap(made, real)\n    sync_folders([os.path.dirname(real)])\n\n\ndef target_of",
        "    swap(made, real)\n\n\ndef target_of",
        "lost writes",
        "few files",
        400,
    ),
    Fault(
        "what was there before is not kept",
        "state/engine.py",
        "for state, content in ((step.before, step.old), (step.after, step.new)) if",
        "for state, content in ((step.after, step.new),) if",
        "kills",
        "few files",
        60,
    ),
    Fault(
        "kept contents are not synced",
        "state/store.py",
        '                disk.put(f"{folder}/{name}", content, lasts=False)\n        disk.sync_folders(\n',
        '                disk.put(f"{folder}/{name}", content, lasts=False)\n        print(\n',
        "lost writes",
        "few files",
        400,
    ),
    Fault(
        "a way back is noted before it is gone",
        "state/engine.py",
        '            apply.do(self.host, needed, f"{mark}-back", self.store.content, self._keep)\n',
        '            self._write([{"t": "undone", "batch": batch.number, **_moment()}])\n'
        '            apply.do(self.host, needed, f"{mark}-back", self.store.content, self._keep)\n'
        "            self.journal = self.journal._replace(batches=())\n            return\n",
        "second kills",
        "few files",
        60,
    ),
    Fault(
        "what a way back staged is looked for by number",
        "state/apply.py",
        "            if name.startswith(start):\n",
        '            if name.startswith(start) and "back" not in name:\n',
        "second kills",
        "few files",
        60,
    ),
    Fault(
        "a derived thing is not due any more before all is done",
        "state/engine.py",
        "            if self.host.is_live:\n                self._make(plan.derived)\n            verify()\n",
        "            if self.host.is_live:\n                self._make(plan.derived)\n"
        "                self._undue([one.key for one in plan.derived])\n            verify()\n",
        "kills",
        "everything",
        140,
    ),
    Fault(
        "what becomes due is not written before the effect",
        "state/engine.py",
        "        self._add_due(plan.derived, plan.restarts)\n        self._write([",
        "        self._write([",
        "programs",
        "everything",
        0,
    ),
    Fault(
        "a program does not hold the lock",
        "state/apply.py",
        "    ran = command.run(host, argv, _COMMAND_SECONDS, keep)\n",
        "    ran = command.run(host, argv, _COMMAND_SECONDS)\n",
        "programs",
        "everything",
        0,
    ),
    Fault(
        "generations go while they can still be seen",
        "state/store.py",
        '            going = f"{self._base}/generations/gone-{number}"\n'
        '            disk.swap(f"{self._base}/generations/{number}", going)\n',
        '            going = f"{self._base}/generations/{number}"\n',
        "kills",
        "prune",
        60,
    ),
    Fault(
        "sealing writes over the first generation",
        "state/store.py",
        '        disk.make_folders(f"{self._base}/generations/sealed", 0o700)\n'
        '        disk.put(f"{self._base}/generations/sealed/manifest.json", history.manifest(generation))\n'
        "        self._end_sealing()\n",
        '        self.commit(generation)\n        for name in disk.names_in(f"{self._base}/generations"):\n'
        '            if name != "1":\n                disk.remove_tree(f"{self._base}/generations/{name}")\n',
        "kills",
        "seal",
        60,
    ),
)


_CHOSEN = FAULTS if IS_WHOLE else random.Random(SEED).sample(FAULTS, 2)


def _with(fault: Fault) -> str:
    """The faulty text of the file."""
    return (CHECKOUT / "plugins/module_utils" / fault.file).read_text().replace(fault.text, fault.instead)


def test_the_text_of_each_fault_is_in_the_engine():
    folder = CHECKOUT / "plugins/module_utils"
    gone = [fault.name for fault in FAULTS if (folder / fault.file).read_text().count(fault.text) != 1]
    assert not gone, "mend these faults: what they replace is not there any more"
    for fault in FAULTS:
        compile(_with(fault), f"{fault.name}: {fault.file}", "exec")


@pytest.mark.parametrize("fault", _CHOSEN, ids=lambda fault: fault.name.replace(" ", "-"))
def test_a_fault_in_the_engine_is_found(fault, tmp_path, tally):
    place = tmp_path / "ansible_collections" / "accelerator" / "ops"
    for name in ("plugins/module_utils", "plugins/plugin_utils", "tests/crash"):
        shutil.copytree(CHECKOUT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "tests/listing.py", place / "tests")
    (place / "plugins/module_utils" / fault.file).write_text(_with(fault))
    argv = [sys.executable, find_fault.__file__, fault.way, fault.case, str(fault.most)]
    env = {**kernel_calls.environment(), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert done.returncode == 0, f"not found in {told['tried']} tries"
    tally.add("seeded faults found", 1)
    print(f"{fault.name}: found at try {told['tried']}: {told['wrong'][0][:300]}")
