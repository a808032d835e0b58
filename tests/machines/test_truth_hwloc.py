# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCI functions and NUMA nodes of machines that hwloc described: XML made a tree again, expected outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.answer import Book
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import numa
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.pci import functions, shared_fields
from ansible_collections.accelerator.ops.tests.machines.conftest import Compare, CompareAll, Comparison
from ansible_collections.accelerator.ops.tests.machines.convert_hwloc import convert
from ansible_collections.accelerator.ops.tests.machines.hwloc_output import Machine, read_console, read_xml
from ansible_collections.accelerator.ops.tests.machines.sysfs_tree import bits, cpulist

_MIB = 1024 * 1024

# Expected outputs that cannot be held against the tree that they were made from, and why.
_NOT_THE_TREE = {
    "16amd64-8n2c-cpusets": "hwloc leaves out what the cpuset forbids; the output with --disallowed is compared",
    "16em64t-4s2ca2c-cpusetreorder": "hwloc leaves out what the cpuset forbids",
    "16em64t-4s2ca2c-cpusetreorder-merge": "hwloc leaves out what the cpuset forbids",
    "4fake-4gr1nu1pu": "hwloc leaves out what the cpuset forbids",
}
# Values of edited or very old captures where hwloc answers another question: what our answer is, and why.
_OTHER_QUESTION = {
    # cpu4 was made offline in cpumap and in cpu/online; cpulist, which a kernel keeps the same as cpumap, still has it.
    ("16amd64-8n2c-cpusets-disallowed", "node 2 cpus"): "4-5",
    # Kernels of 2008 left offline CPUs in the map of their node.
    ("16em64t-4s2c2t-offlines", "node 0 cpus"): "0-15",
    # A made-up node that lists no CPUs: hwloc puts it beside the CPUs whose other node is near.
    ("fakeheterocpunuma", "node 2 cpus"): None,
    # hwloc places a host bridge with all below it once, by its first function; this function says -1 and other CPUs.
    ("32em64t-2n8c+dax+nvme+mic+dimms", "0000:00:02.0 cpus"): "0-3",
    ("32em64t-2n8c+dax+nvme+mic+dimms", "0000:00:02.0 numa_node"): None,
}
# The .test beside this output forces where its functions are (HWLOC_PCI_LOCALITY): ids are compared, places are not.
_FORCED_PLACES = {"fakepcilocalities"}


def test_machines_from_xml(data: Path, tmp_path: Path, comparisons: CompareAll) -> None:
    """Ids, class, NUMA node, CPUs and bridges of each function; CPUs, memory and distances of each NUMA node."""
    with comparisons(
        ("PCI functions from hwloc files", 265),
        ("values of PCI functions from hwloc files", 1579),
        ("NUMA values from hwloc files", 203),
    ) as (counted, values, nodes):
        for path in sorted((data / "truth" / "hwloc-xml").glob("*.json")):
            truth = json.loads(path.read_text(encoding="utf-8"))
            made_up = convert(data / "hwloc-xml" / f"{path.stem}.xml", tmp_path / path.stem)
            host = Host(str(tmp_path / path.stem))
            known = functions(host)[0] or {}
            seen: set[str] = set()
            for function in truth["pci"]:
                address = function["busid"]
                if address in seen:
                    address = next(ours for ours, theirs in made_up.items() if theirs == address and ours not in seen)
                seen.add(address)
                where = f"{path.stem} {address}"
                counted.same(where, address in known, True)
                if address in known:
                    ours = shared_fields(host, known[address], known, Book())
                    expected = {
                        "class": function["cls"],
                        "vendor": function["vendor"],
                        "device": function["device"],
                        "numa_node": _numa_node(function),
                        "path": [bridge for bridge in function["bridges"] if not bridge.startswith("host ")],
                    }
                    if function["local_cpus"]:
                        expected["cpus"] = function["local_cpus"]
                    pci = ours["pci"]
                    found = {
                        **ours,
                        "class": pci["class"][:4],
                        "vendor": pci["vendor_id"],
                        "device": pci["device_id"],
                    }
                    for key, value in expected.items():
                        values.same(f"{where} {key}", found[key], value)
            _compare_nodes(nodes, path.stem, numa.observe(host)[0], truth)


def _numa_node(function: dict[str, Any]) -> int | None:
    """The listing has -1 for functions beside a node without CPUs; the nodes around the function name that node."""
    if function["numa_node"] != -1:
        return int(function["numa_node"])
    around = bits(function["nodeset"])
    return around[0] if len(around) == 1 else None


def _compare_nodes(nodes: Comparison, name: str, ours: list[dict[str, Any]] | None, truth: dict[str, Any]) -> None:
    by_number = {node["node"]: node for node in ours or []}
    nodes.same(f"{name} nodes", sorted(by_number), sorted(node["os_index"] for node in truth["numa"]))
    for node in truth["numa"]:
        mine = by_number.get(node["os_index"], {})
        where = f"{name} node {node['os_index']}"
        nodes.same(f"{where} cpus", mine.get("cpus"), cpulist(node["cpus"]) or None)
        if node["local_memory"]:
            nodes.same(f"{where} memory", mine.get("memory_mib"), int(node["local_memory"]) // _MIB)
    for matrix in truth["distances"]:
        if matrix["name"] == "NUMALatency":
            order = [int(index) for index in matrix["indexes"]]
            for row, number in enumerate(order):
                theirs = dict(zip(order, matrix["values"][row * len(order) :]))
                mine = by_number.get(number, {}).get("distances")
                nodes.same(f"{name} node {number} distances", mine, [theirs[other] for other in sorted(order)])


def test_expected_outputs(data: Path, trees: Callable[[str], Path], comparison: Compare) -> None:
    """What hwloc expects of lstopo on the captures themselves: NUMA nodes with CPUs and memory, CPUs, PCI functions."""
    with comparison("NUMA and PCI values from expected lstopo outputs", 1234) as values:
        folder = data / "sysfs" / "hwloc"
        for test in sorted(folder.glob("*.test")):
            words = dict(
                line.split(":", 1)
                for line in test.read_text(encoding="utf-8").splitlines()
                if line[:7] in ("source:", "target:")
            )
            if test.stem in _NOT_THE_TREE:
                continue
            source, target = (words[key].strip() for key in ("source", "target"))
            truth = (read_xml if target.endswith(".xml") else read_console)(folder / target)
            found = _outputs(test.stem, Host(str(trees(source.partition(".tar")[0]))), truth)
            for what, (ours, theirs) in found.items():
                values.same(f"{test.stem} {what}", ours, _OTHER_QUESTION.get((test.stem, what), theirs))


def _outputs(name: str, host: Host, truth: Machine) -> dict[str, tuple[object, object]]:
    """Each value that hwloc tells: ours and its own."""
    pairs: dict[str, tuple[object, object]] = {}
    ours = numa.observe(host)[0]
    if ours is not None:
        by_number = {node["node"]: node for node in ours}
        for number, memory in truth.memories.items():
            mine = by_number.get(number, {})
            pairs[f"node {number} cpus"] = mine.get("cpus"), cpulist(memory.cpus) or None
            if memory.bytes is not None:
                pairs[f"node {number} memory"] = mine.get("memory_mib"), memory.bytes // _MIB
    known = functions(host)[0] or {}
    for function in truth.functions:
        pairs[function.id] = function.id in known, True
        if function.id not in known:
            continue
        mine = shared_fields(host, known[function.id], known, Book())
        pci = mine["pci"]
        pairs[f"{function.id} class"] = pci["class"][:4], function.code
        pairs[f"{function.id} ids"] = (pci["vendor_id"], pci["device_id"]), (function.vendor, function.device)
        if function.subsystem and function.code != "0604":
            pairs[f"{function.id} subsystem"] = (pci["subsystem_vendor_id"], pci["subsystem_id"]), function.subsystem
        if function.cpus and name not in _FORCED_PLACES:
            pairs[f"{function.id} cpus"] = mine["cpus"], cpulist(function.cpus)
            pairs[f"{function.id} numa_node"] = (
                mine["numa_node"],
                function.nodes[0] if len(function.nodes) == 1 else None,
            )
            pairs[f"{function.id} path"] = mine["path"], list(function.bridges)
    return pairs
