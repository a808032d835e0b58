# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What asking a maker's tools costs beyond the tools' own time, on a node with 8 devices.

The facts are gathered from a zip, as on a node, so that every module is compiled at each run: without tools, and with
tools that print at once. Limit: the difference is at most the time of the programs alone plus 60 ms, each by its least
disturbed run.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
COLLECTION = HERE.parent.parent
RUNS, LIMIT_SECONDS = 15, 0.060
TOP = "ansible_collections/accelerator/ops/"
IDS = [f"0000:{bus:02x}:00.0" for bus in range(0x18, 0xF8, 0x1C)]

RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
class Node(Host):
    is_node = True
    def _inside(self, real):
        return real if real.startswith(sys.argv[3]) else self.root + real
node = Node(sys.argv[2])
node.is_live = True
if sys.argv[4] == "auto":
    from ansible_collections.accelerator.ops.plugins.module_utils.vendor import tools
    tools.FOLDERS = (sys.argv[3],)
facts = observe(node, sys.argv[4], 10)
told = [device for device in facts["devices"] if device["power_limit_watts"] is not None]
assert len(told) == (8 if sys.argv[4] == "auto" else 0), facts["sources"]
"""


def archive(place: pathlib.Path) -> None:
    folders = {"ansible_collections", "ansible_collections/accelerator", "ansible_collections/accelerator/ops"}
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as found:
        for path in [*(COLLECTION / "plugins/module_utils").rglob("*.py"), *(COLLECTION / "tests/fakes").glob("*.py")]:
            if path.name != "__init__.py":
                below = path.relative_to(COLLECTION)
                found.write(path, TOP + below.as_posix())
                folders |= {TOP + folder.as_posix() for folder in below.parents if folder.name}
        for folder in folders:
            found.writestr(f"{folder}/__init__.py", "")


def program(place: pathlib.Path, answers: dict[str, str]) -> list[list[str]]:
    """A shell script that prints a file for each set of arguments; returns its calls."""
    lines = ["#!/bin/sh", 'case "$*" in']
    for number, (arguments, text) in enumerate(answers.items()):
        file = place.with_name(f"{place.name}.{number}")
        file.write_text(text, encoding="utf-8")
        lines.append(f"'{arguments}') exec /bin/cat {file};;")
    place.write_text("\n".join([*lines, "esac", "exit 1", ""]), encoding="utf-8")
    place.chmod(0o755)
    return [[str(place), *arguments.split()] for arguments in answers]


def seconds(commands: list[list[str]]) -> float:
    start = time.perf_counter()
    for command in commands:
        subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return time.perf_counter() - start


def kinds() -> dict[str, tuple[str, tuple[str, str, str], dict[str, str]]]:
    """By maker: the tool, the PCI function, and what it prints of 8 devices; nvidia-smi as much as on a real node."""
    from ansible_collections.accelerator.ops.tests.fakes import tool_output as output

    clocks = "<supported_clocks>" + "<value>1215 MHz</value>" * 1000 + "</supported_clocks></gpu>"
    gpus = [output.nvidia_gpu(bus, n).replace("</gpu>", clocks) for n, bus in enumerate(IDS)]
    head = "\t".join(["", *(f"GPU{n}" for n in range(8))])
    rows = ["\t".join([f"GPU{n}", *(" X " if n == m else "NV18" for m in range(8))]) for n in range(8)]
    cards = json.loads(output.amd_static(True).partition("\n")[2])["gpu_data"][:1] * 8
    static = {"gpu_data": [{**card, "gpu": n, "bus": {"bdf": IDS[n]}} for n, card in enumerate(cards)]}
    topology = [
        {"gpu": a, "links": [{"gpu": b, "link_type": "XGMI", "num_hops": 1} for b in range(8)]} for a in range(8)
    ]
    return {
        "nvidia": (
            "nvidia-smi",
            ("10de", "2330", "030200"),
            {"-q -x": output.nvidia_log(*gpus), "topo -m": "\n".join([head, *rows])},
        ),
        "amd": (
            "amd-smi",
            ("1002", "74a1", "120000"),
            {"static --json": json.dumps(static), "topology --json": json.dumps(topology)},
        ),
    }


def main() -> int:
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder)
        archive(base / "payload.zip")
        sys.path.insert(0, str(base / "payload.zip"))
        from ansible_collections.accelerator.ops.tests.fakes import tool_node

        for maker, (name, function, answers) in kinds().items():
            programs, node = base / f"bin-{maker}", base / maker
            programs.mkdir()
            calls = program(programs / name, answers)
            tool_node.sysfs(node, dict.fromkeys(IDS, function))
            run = [sys.executable, "-B", "-c", RUN, str(base / "payload.zip"), str(node), str(programs)]
            times: dict[str, list[float]] = {"none": [], "auto": [], "tool": []}
            for number in range(RUNS + 1):
                for mode in ("none", "auto"):
                    took = seconds([[*run, mode]])
                    if number:  # the first only warms the caches
                        times[mode].append(took)
                times["tool"].append(seconds(calls))
            least = {mode: min(values) for mode, values in times.items()}
            more = least["auto"] - least["none"] - least["tool"]
            failed |= more > LIMIT_SECONDS
            print(
                f"{name}: {more * 1000:.0f} ms more than its own {least['tool'] * 1000:.0f} ms"
                f" (limit {LIMIT_SECONDS * 1000:.0f} ms; best of {RUNS})"
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
