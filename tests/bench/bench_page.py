# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the page of a thousand nodes costs, from the files of facts to the files of the report.

The facts are those of machine models, varied a little from node to node. The report is made in a process of its own,
by what the action plugin runs. Limits: 20 s and 1 GiB.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
import time

import yaml

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parent.parent / "playbooks" / "files" / "machines"
NODES = 1000
LIMIT_SECONDS, LIMIT_MIB = 20, 1024
LEAST_DEVICES = 5 * NODES
SHARES = (*["nvidia-hgx-h100-8gpu"] * 6, *["amd-mi300x-8gpu"] * 2, "habana-gaudi2-8", "plain-r740xd")
"""Of ten nodes: mostly the model with the most devices and bridges."""


def fill(folder: pathlib.Path) -> int:
    """Write the facts of the nodes as a run would have left them; how many bytes."""
    from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
    from ansible_collections.accelerator.ops.plugins.module_utils.host.tree import write
    from ansible_collections.accelerator.ops.plugins.module_utils.machine.layout import entries
    from ansible_collections.accelerator.ops.plugins.module_utils.machine.model import parse
    from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
    from ansible_collections.accelerator.ops.plugins.plugin_utils.this_run import run_id

    templates = {}
    for name in set(SHARES):
        root = folder / "trees" / name
        model = yaml.safe_load((MODELS / f"{name}.yml").read_text(encoding="utf-8"))
        write(str(root), entries(parse(model)))
        templates[name] = json.dumps(observe(Host(str(root))))
    (folder / "report" / "facts").mkdir(parents=True)
    total = 0
    for number, host in enumerate(hosts()):
        facts = vary(json.loads(templates[SHARES[number % len(SHARES)]]), number)
        entry = {"run": run_id(), "host": host, "root": "/", "facts": facts}
        # as ReportDir writes it, but without waiting for the disk a thousand times
        text = json.dumps(entry, indent=1, sort_keys=True) + "\n"
        total += (folder / "report" / "facts" / f"{host}.json").write_text(text, encoding="utf-8")
    return total


def hosts() -> list[str]:
    return [f"node{number:04d}.cluster.example" for number in range(1, NODES + 1)]


def vary(facts: dict[str, object], number: int) -> dict[str, object]:
    """What is each node's own, and what differs on a few of them."""
    devices = facts["devices"]
    assert isinstance(devices, list)
    for place, device in enumerate(devices):
        device["serial"] = f"{number:06d}{place:02d}"
        if number % 97 == 5:
            device["driver"]["version"] = "1.2.3"
        if number % 89 == 7 and device["link"]["width"]:
            device["link"]["width"] //= 2
        if number % 7 == 0:
            device["link"]["speed_gts"] = 2.5
    if number % 53 == 3:
        facts["kernel"] = {**facts["kernel"], "release": "6.8.0-85-generic"}  # type: ignore[dict-item]
    return facts


def make(folder: pathlib.Path) -> str:
    """Make the report twice, as a second run finds the first one's files; what the second took, as JSON."""
    import resource

    from ansible_collections.accelerator.ops.plugins.action.survey_report import report

    wish = {"report_dir": str(folder / "report"), "hosts": hosts(), "language": "en", "title": ""}
    for _run in range(2):
        start, used = time.perf_counter(), time.process_time()
        result = report(dict(wish))
        took, used = time.perf_counter() - start, time.process_time() - used
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return json.dumps({"seconds": took, "processor": used, "mib": most, "summary": result["summary"]})


STEPS = {"fill": fill, "make": make}


def main() -> int:
    if len(sys.argv) == 3:
        print(STEPS[sys.argv[1]](pathlib.Path(sys.argv[2])))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # each step in a process of its own: both name the run of this one, and the facts' making counts for nothing
        size_of_facts, figures_text = (
            subprocess.run(
                [sys.executable, __file__, step, name], check=True, stdout=subprocess.PIPE, text=True
            ).stdout.splitlines()[-1]
            for step in STEPS
        )
        figures = json.loads(figures_text)
        size = (folder / "report" / "survey.html").stat().st_size
    summary = figures["summary"]
    print(f"{summary['nodes_seen']} nodes, {summary['devices_total']} devices, {int(size_of_facts) >> 20} MiB of facts")
    print(f"page: {figures['seconds']:.1f} s (limit {LIMIT_SECONDS}), processor {figures['processor']:.1f} s")
    print(f"page: {figures['mib']} MiB at most (limit {LIMIT_MIB}), file of {size / 1e6:.1f} MB")
    if summary["nodes_seen"] != NODES or summary["devices_total"] < LEAST_DEVICES:
        print("the fleet to measure is not all there")
        return 1
    return 0 if figures["seconds"] <= LIMIT_SECONDS and figures["mib"] <= LIMIT_MIB else 1


if __name__ == "__main__":
    sys.exit(main())
