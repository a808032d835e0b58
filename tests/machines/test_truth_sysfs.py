# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCI functions, NUMA nodes and interfaces of captured sysfs trees, against listings of what the captures hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.answer import Book
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.pci import functions, shared_fields
from ansible_collections.accelerator.ops.tests.machines.conftest import Compare, CompareAll
from ansible_collections.accelerator.ops.tests.machines.sysfs_tree import bits, cpulist

# The makers of hwloc copied one function's folder below two more bridges of this capture, each with another node; the
# listing took one of the copies, the link below /sys/bus/pci/devices leads to another.
_COPIED = {("fakepcilocalities", "0000:43:00.0"): {"numa_node": 1, "cpus": "1,5,9,13,17,21,25,29,33,37"}}


def _listings(data: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for path in sorted((data / "truth" / "sysfs").glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict):
            found[path.stem] = content
    return found


def test_functions(data: Path, trees: Callable[[str], Path], comparisons: CompareAll) -> None:
    """Ids, class, NUMA node (-1 is unknown, with its reason) and, where the listing has them, the CPUs next to it."""
    with comparisons(("PCI functions from sysfs", 596), ("values of PCI functions from sysfs", 2785)) as (
        counted,
        values,
    ):
        for name, truth in _listings(data).items():
            host = Host(str(trees(name)))
            known, reason = functions(host)
            assert known is not None, f"{name}: {reason}"
            counted.disagreements.extend(
                f"{name}: {extra} is not in the capture" for extra in set(known) - set(truth["pci"])
            )
            for address, files in truth["pci"].items():
                where = f"{name} {address}"
                counted.same(where, address in known, True)
                if address not in known:
                    continue
                book = Book()
                ours = shared_fields(host, known[address], known, book)
                values.same(f"{where} vendor", ours["pci"]["vendor_id"], _hex(files["vendor"], 4))
                values.same(f"{where} device", ours["pci"]["device_id"], _hex(files["device"], 4))
                values.same(f"{where} class", ours["pci"]["class"], _hex(files["class"], 6))
                node = int(files["numa_node"])
                expected: dict[str, object] = {"numa_node": None if node == -1 else node}
                if "local_cpus" in files:
                    expected["cpus"] = cpulist(bits(files["local_cpus"])) or None
                expected.update(_COPIED.get((name, address), {}))
                for key, value in expected.items():
                    values.same(f"{where} {key}", ours[key], value)
                if node == -1:
                    values.same(f"{where} reason", book.unknown.get("numa_node"), "platform reports none")


def _hex(text: str, digits: int) -> str:
    return f"{int(text, 16):0{digits}x}"


def test_nodes_and_interfaces(data: Path, trees: Callable[[str], Path], comparison: Compare) -> None:
    """NUMA nodes, the number of CPUs in them, and the names of network and RDMA devices that stand on PCI."""
    with comparison("NUMA nodes, CPU counts and interface names from sysfs", 40) as values:
        for name, truth in _listings(data).items():
            root = trees(name)
            facts = observe(Host(str(root)))
            nodes = facts["numa_nodes"] or []
            values.same(f"{name} nodes", [node["node"] for node in nodes], truth["numa_nodes"])
            count = sum(len(_numbers(node["cpus"])) for node in nodes)
            values.same(f"{name} CPUs", count, truth["cpus"])
            seen = {row["name"] for nic in facts["nics"] for row in nic["netdevs"] or ()}
            for interface in truth.get("net", ()):
                values.same(f"{name} {interface}", interface in seen, _is_on_pci(root, "net", interface))
            seen = {row["name"] for nic in facts["nics"] for row in nic["rdma"] or ()}
            for device in truth.get("infiniband", ()):
                values.same(f"{name} {device}", device in seen, _is_on_pci(root, "infiniband", device))


def _is_on_pci(root: Path, kind: str, name: str) -> bool:
    """Whether the kernel's own link leads to a device folder on PCI (no bridge, bond or VLAN, nor a Xeon Phi's own)."""
    place = (root / "sys" / "class" / kind / name).resolve()
    return "/sys/devices/pci" in place.as_posix() and "/mic/" not in place.as_posix()


def _numbers(text: str | None) -> list[int]:
    parts = [part.split("-") for part in (text or "").split(",") if part]
    return [number for part in parts for number in range(int(part[0]), int(part[-1]) + 1)]


def test_layout_that_the_profile_creator_expects(data: Path, trees: Callable[[str], Path], comparison: Compare) -> None:
    """NUMA node to CPUs, as OpenShift's performance profile creator must report them for two of the captures."""
    captures = {"worker1.internal": "openshift-bare-metal-worker1.internal", "sno": "openshift-sno-sno"}
    with comparison("NUMA layouts that the profile creator expects", 5) as values:
        for path in sorted((data / "truth" / "sysfs").glob("openshift-ppc-expected-*.json")):
            pools = json.loads(path.read_text(encoding="utf-8"))
            for machine in (machine for pool in pools for machine in pool["nodes"] or ()):
                capture = captures.pop(machine["name"], None)
                if capture is None:
                    continue
                ours = {node["node"]: node for node in observe(Host(str(trees(capture))))["numa_nodes"]}
                values.same(f"{capture} CPUs", sum(len(_numbers(ours[n]["cpus"])) for n in ours), machine["cpus_count"])
                for cell in machine["numa_cells"]:
                    values.same(f"{capture} node {cell['id']}", ours[cell["id"]]["cpus"], cpulist(cell["cores"]))
    assert not captures, f"the expected layouts hold no {captures}"
