# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A second opinion on the same trees: what hwloc's ``lstopo`` reads of captured machines and of our models.

hwloc places a host bridge with all below it by the CPUs next to its first function; it never reads ``numa_node``. So a
NUMA node is compared where we tell one and hwloc's place is within one, and CPUs where hwloc could place the function.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.answer import Book
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.pci import functions, shared_fields
from ansible_collections.accelerator.ops.tests.machines.conftest import CompareAll, Comparison
from ansible_collections.accelerator.ops.tests.machines.hwloc_output import Function, Machine, read_xml
from ansible_collections.accelerator.ops.tests.machines.sysfs_tree import cpulist
from ansible_collections.accelerator.ops.tests.machines.unpack import sources

_MIB = 1024 * 1024
_WIRING = ("core_cpus", "thread_siblings")  # without one of them lstopo reads nothing of a tree

_PIECES = "procfs-fixtures"  # pieces of several machines in one folder, which no reader can make one machine of
# Values of edited or very old captures where hwloc answers another question: what our answer is, and why.
_OTHER_QUESTION = {
    # cpu4 was made offline in cpumap and in cpu/online; cpulist, which a kernel keeps the same as cpumap, still has it.
    "16amd64-8n2c-cpusets node 2 cpus": "4-5",
    # Kernels of 2008 left offline CPUs in the map of their node.
    "16em64t-4s2c2t-offlines node 0 cpus": "0-15",
    # A function that says other CPUs than the first one of its host bridge.
    "32em64t-2n8c+dax+nvme+mic+dimms 0000:00:02.0 cpus": "0-3",
    # CPUs that no package or cache holds together: hwloc cannot place them and takes the whole machine.
    "40intel64-4n10c+pci-conflicts 0000:00:00.0 cpus": "0-3",
    "40intel64-4n10c+pci-conflicts 0000:00:03.0 cpus": "0-3",
    "40intel64-4n10c+pci-conflicts 0000:01:00.0 cpus": "0-3",
    # A made-up node that lists no CPUs: hwloc puts it beside the CPUs whose other node is near.
    "fakeheterocpunuma node 2 cpus": None,
}
# What the .test file beside a capture asks for.
_ENVIRONMENT = {"fakeheterocpunuma": {"HWLOC_DEBUG_ALLOW_OVERLAPPING_NODE_CPUSETS": "1"}}
_SHORT = len("0000:00:00.0")  # Debian's hwloc leaves out PCI domains wider than 16 bits


@pytest.fixture(scope="module")
def lstopo(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Machine]:
    """What lstopo reads of a tree; the test is skipped where hwloc is not installed."""
    program = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if program is None:
        pytest.skip("lstopo is not installed (Debian: hwloc-nox)")
    folder = tmp_path_factory.mktemp("lstopo")

    def read(root: Path) -> Machine:
        output = folder / f"{root.name}.xml"
        command = [
            program,
            "--input",
            str(root),
            "--if",
            "fsroot",
            "--of",
            "xml",
            "--whole-io",
            "--disallowed",
            "--force",
        ]
        # HWLOC_* of the one who runs the tests would change the answer; conflicts in captures are meant, not errors.
        clean = {key: value for key, value in os.environ.items() if not key.startswith("HWLOC_")}
        done = subprocess.run(
            [*command, str(output)],
            env={**clean, "HWLOC_HIDE_ERRORS": "2", "LC_ALL": "C.UTF-8", **_ENVIRONMENT.get(root.name, {})},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{root.name}: {done.stderr}"
        return read_xml(output)

    return read


def test_captures(
    data: Path, trees: Callable[[str], Path], lstopo: Callable[[Path], Machine], comparisons: CompareAll
) -> None:
    """Every capture that tells how its CPUs are wired: hwloc starts from that."""
    with comparisons(
        ("PCI functions that lstopo sees in captures", 593),
        ("values that lstopo reads of captures", 2658),
    ) as (counted, values):
        for name in sorted(set(sources(data)) - {_PIECES}):
            if any((trees(name) / "sys/devices/system/cpu/cpu0/topology" / file).is_file() for file in _WIRING):
                _compare(name, trees(name), lstopo(trees(name)), counted, values)


def test_models(models: dict[str, Path], lstopo: Callable[[Path], Machine], comparisons: CompareAll) -> None:
    """Every machine model that ships with the collection, laid out."""
    with comparisons(
        ("PCI functions that lstopo sees in models", 20 * len(models)),
        ("values that lstopo reads of models", 100 * len(models)),
    ) as (counted, values):
        for name, root in models.items():
            _compare(name, root, lstopo(root), counted, values)


def _compare(name: str, root: Path, theirs: Machine, counted: Comparison, values: Comparison) -> None:
    host = Host(str(root))
    facts = observe(host)
    _compare_nodes(name, facts["numa_nodes"] or [], theirs, values)
    known = functions(host)[0] or {}
    seen = {function.id for function in theirs.functions}
    for address in sorted({known_one for known_one in known if len(known_one) == _SHORT} | seen):
        if address not in known or not _is_bridge_to_nowhere(host, known[address].place):
            counted.same(f"{name} {address}", address in known, address in seen)
    for function in theirs.functions:
        if function.id in known:
            book = Book()
            ours = shared_fields(host, known[function.id], known, book)
            bare = {one for one in (function.id, *(ours["path"] or ())) if not _has_config(host, known[one].place)}
            is_placed = host.exists(f"{known[function.id].place}/local_cpus")
            for key, (mine, other) in _values(function, ours, bare, is_placed).items():
                where = f"{name} {function.id} {key}"
                values.same(where, mine, _OTHER_QUESTION.get(where, other))
    interfaces = {function.id: set(function.interfaces) for function in theirs.functions}
    for nic in facts["nics"] or ():
        names = {row["name"] for row in (nic["netdevs"] or []) + (nic["rdma"] or [])}
        values.same(f"{name} {nic['id']} interfaces", names, interfaces.get(nic["id"], set()))


def _compare_nodes(name: str, ours: list[dict[str, Any]], theirs: Machine, values: Comparison) -> None:
    for node in ours:
        memory = theirs.memories.get(node["node"])
        values.same(f"{name} node {node['node']}", memory is not None, True)
        if memory is not None:
            where = f"{name} node {node['node']} cpus"
            values.same(where, node["cpus"], _OTHER_QUESTION.get(where, cpulist(memory.cpus) or None))
            if node["memory_mib"] is not None:
                values.same(f"{name} node {node['node']} memory", node["memory_mib"], (memory.bytes or 0) // _MIB)


def _is_bridge_to_nowhere(host: Host, place: str) -> bool:
    """A bridge that has no bus behind it yet (an empty slot), or whose numbers were not captured: hwloc drops it."""
    content, _reason = host.read_bytes(f"{place}/config", 64)
    return content is not None and len(content) == 64 and content[0x0E] & 0x7F == 1 and content[0x19] == 0


def _has_config(host: Host, place: str) -> bool:
    content, _reason = host.read_bytes(f"{place}/config", 64)
    return content is not None and len(content) == 64


def _values(
    function: Function, ours: dict[str, Any], bare: set[str], is_placed: bool
) -> dict[str, tuple[object, object]]:
    """Ours and theirs. hwloc takes revisions and the buses behind bridges from the configuration space, which the
    functions in ``bare`` have none of in this tree, and places functions by their file ``local_cpus``."""
    pci = ours["pci"]
    found: dict[str, tuple[object, object]] = {
        "class": (pci["class"][:4], function.code),
        "ids": ((pci["vendor_id"], pci["device_id"]), (function.vendor, function.device)),
    }
    if not bare - {function.id}:
        found["path"] = ours["path"], list(function.bridges)
    if function.subsystem and pci["subsystem_vendor_id"] is not None:
        found["subsystem"] = (pci["subsystem_vendor_id"], pci["subsystem_id"]), function.subsystem
    if pci["revision"] is not None and function.id not in bare:
        found["revision"] = pci["revision"], function.revision
    if is_placed and ours["cpus"] is not None:
        found["cpus"] = ours["cpus"], cpulist(function.cpus)
    if is_placed and len(function.nodes) == 1 and ours["numa_node"] is not None:
        found["numa_node"] = ours["numa_node"], function.nodes[0]
    return found
