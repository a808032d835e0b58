# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the CDI spec of a node with 8 devices in 56 partitions costs: the program from its start to its end, and the
whole check of the node with its lint.

The partitions are MIG instances with their capability files, beside 40 libraries of a driver in a linker cache of 800.
Limits: 300 and 200 ms, by the faster half of the runs. Processor time is shown beside it: a machine with other work
waits.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ansible_collections.accelerator.ops.plugins.module_utils.host import tree
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout
from ansible_collections.accelerator.ops.plugins.module_utils.model.entry import Entry
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import cdi as usecase
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import cdi_files, cdi_specs
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models
from ansible_collections.accelerator.ops.tests.unit.codec.linker_cache_made import made

RUNS = 15
INSTANCES = 7
LIBRARIES, OTHERS = 40, 760
LIMIT_SECONDS = 0.3
CHECK_LIMIT_SECONDS = 0.2
FOLDER = "/usr/lib/x86_64-linux-gnu"


def lay_out(root: Path) -> tuple[int, int]:
    """The H100 model with seven instances on each device; how many devices and partitions that are."""
    entries = layout.entries(machine_models.load(machine_models.find("nvidia-hgx-h100-8gpu")))

    def add(path: str, entry: Entry) -> None:
        for above in list(Path(path).parents)[-2::-1]:
            entries.setdefault(str(above), Entry("dir"))
        entries[path] = entry

    devices = sorted(path for path in entries if path.startswith("/dev/nvidia") and path[-1].isdigit())
    minor = 10
    for number in range(len(devices)):
        for instance in range(INSTANCES):
            base = f"/proc/driver/nvidia/capabilities/gpu{number}/mig/gi{instance + 7}"
            for path in (f"{base}/access", f"{base}/ci0/access"):
                minor += 1
                add(path, Entry("file", f"DeviceFileMinor: {minor}\nDeviceFileMode: 292".encode()))
                add(f"/dev/nvidia-caps/nvidia-cap{minor}", Entry("char", mode=0o444, major=511, minor=minor))
    rows = [(f"libother{number}.so.1", f"{FOLDER}/libother{number}.so.1", 0x0303) for number in range(OTHERS)]
    for number in range(LIBRARIES):
        name = f"libnvidia-part{number}.so"
        add(f"{FOLDER}/{name}.580.95.05", Entry("file"))
        add(f"{FOLDER}/{name}.1", Entry("link", target=f"{name}.580.95.05"))
        rows.append((f"{name}.1", f"{FOLDER}/{name}.1", 0x0303))
    add("/etc/ld.so.cache", Entry("file", made(rows)))
    tree.write(str(root), entries)
    return len(devices), len(devices) * INSTANCES


def faster(walls: list[float]) -> float:
    """The median of the faster half."""
    return statistics.median(sorted(walls)[: RUNS // 2 + 1])


def checked(root: Path) -> tuple[float, float, list[dict[str, Any]]]:
    """How long a check takes, its processor time, and its findings."""
    wish = {name: option.get("default") for name, option in usecase.OPTIONS.items()}
    walls, rows, before = [], [], time.process_time()
    for _number in range(RUNS):
        start = time.perf_counter()
        rows = usecase.checked(Host(str(root)), {**wish, "state": "checked"})
        walls.append(time.perf_counter() - start)
    return faster(walls), (time.process_time() - before) / RUNS, rows


def main() -> int:
    """Exit code 1 when a limit is not kept."""
    with tempfile.TemporaryDirectory() as folder:
        root, program = Path(folder) / "root", Path(folder) / "cdi.pyz"
        devices, partitions = lay_out(root)
        program.write_bytes(cdi_files.program(cdi_specs.Asked()))
        spec = root / "etc" / "cdi" / "accelerator-nvidia.json"
        python = cdi_files.python(Host("/")) or sys.executable  # as the unit has it
        argv = [python, "-I", str(program), "make", "--root", str(root)]
        walls, before = [], resource.getrusage(resource.RUSAGE_CHILDREN)
        for _number in range(RUNS):
            if spec.exists():
                os.unlink(spec)
            start = time.perf_counter()
            subprocess.run(argv, check=True, capture_output=True)
            walls.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        names = [device["name"] for device in json.loads(spec.read_text(encoding="utf-8"))["devices"]]
        check, check_processor, rows = checked(root)
    found = sum(":" in name and "." not in name for name in names)
    processor = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / RUNS
    seconds = faster(walls)
    print(f"{devices} devices, {found} of {partitions} partitions, {len(names)} names")
    print(f"made in {seconds * 1000:.0f} ms (limit {LIMIT_SECONDS * 1000:.0f}), processor {processor * 1000:.0f} ms")
    limit = CHECK_LIMIT_SECONDS * 1000
    print(f"checked in {check * 1000:.0f} ms (limit {limit:.0f}), processor {check_processor * 1000:.0f} ms")
    is_in_time = seconds <= LIMIT_SECONDS and check <= CHECK_LIMIT_SECONDS
    return 0 if is_in_time and found == partitions and rows == [] else 1


if __name__ == "__main__":
    sys.exit(main())
