# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands beside the accelerators of captured machines: NICs and drives as hwloc saw them, RDMA ports."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import nics, numa, pci, storage

# Bits of hwloc's osdev_type (hwloc 3 writes them as a sum): https://www.open-mpi.org/projects/hwloc, read 2026-11.
_STORAGE, _NETWORK, _OPENFABRICS = 1, 16, 32


def _below(function: ElementTree.Element, bit: int) -> list[ElementTree.Element]:
    found = [
        one for one in function.iter("object") if one.get("type") == "OSDev" and int(one.get("osdev_type", "0")) & bit
    ]
    return sorted(found, key=lambda one: one.get("name", ""))


@pytest.mark.parametrize("name", ["32em64t-2n8c+dax+nvme+mic+dimms"])
def test_nics_drives_and_memory_as_hwloc_saw_them(name: str, data: Path, trees: Any, comparison: Any) -> None:
    document = ElementTree.parse(data / "sysfs" / "hwloc" / f"{name}.xml")
    truth = {one.get("pci_busid"): one for one in document.iter("object") if one.get("type") == "PCIDev"}
    host = Host(str(trees(name)))
    functions = pci.functions(host)[0] or {}
    with comparison("names and sizes beside the accelerators", 13) as one:
        for nic in nics.observe(host, functions)[0] or []:
            if nic["pci"] is None:
                continue
            seen = truth[nic["id"]]
            rdma = [row.get("name") for row in _below(seen, _OPENFABRICS)]
            network = [row.get("name") for row in _below(seen, _NETWORK) if row.get("name") not in rdma]
            one.same(f"{name} {nic['id']} netdevs", [row["name"] for row in nic["netdevs"]], network)
            one.same(f"{name} {nic['id']} rdma", [row["name"] for row in nic["rdma"]], rdma)
        for drive in storage.observe(host, functions)[0] or []:
            disks = _below(truth[drive["id"]], _STORAGE)
            one.same(f"{name} {drive['id']} names", drive["names"], [disk.get("name") for disk in disks])
            kib = sum(
                int((info.get("value") or "").removesuffix("KiB"))
                for disk in disks
                for info in disk.iter("info")
                if info.get("name") == "Size"
            )
            one.same(f"{name} {drive['id']} size", drive["size_mib"], kib // 1024)
        memory = {
            int(node.get("os_index", "-1")): int(node.get("local_memory", "0")) // 1024**2
            for node in document.iter("object")
            if node.get("type") == "NUMANode"
        }
        for node in numa.observe(host)[0] or []:
            one.same(f"{name} node {node['node']} memory", node["memory_mib"], memory.pop(node["node"], None))
        one.same(f"{name} more NUMA nodes", memory, {})
        listed = {bus for bus, seen in truth.items() if re.match("02|0c06", seen.get("pci_type", ""))}
        one.same(f"{name} NICs", {nic["id"] for nic in nics.observe(host, functions)[0] or [] if nic["pci"]}, listed)
        drives = {bus for bus, seen in truth.items() if seen.get("pci_type", "").startswith("0108")}
        one.same(f"{name} drives", {drive["id"] for drive in storage.observe(host, functions)[0] or []}, drives)


def test_the_ports_of_an_h100_node(trees: Any, comparison: Any) -> None:
    """The capture is of ``/sys/class/infiniband`` alone; the card is in each device's ``hca_type``."""
    found, unknown = nics.observe(Host(str(trees("gpud-h100-class-infiniband"))), {})
    assert unknown == {}
    with comparison("RDMA ports", 9) as one:
        for nic in found or []:
            (row,) = nic["rdma"]
            ours = (nic["id"], nic["model"], row["port"], row["protocol"], row["state"], row["rate_gbps"])
            name = row["name"]
            if name == "mlx5_bond_0":
                truth = (f"class/infiniband/{name}", "BlueField-3", 1, "roce", "active", 200.0)
            else:
                truth = (f"class/infiniband/{name}", "ConnectX-7", 1, "infiniband", "active", 400.0)
            one.same(name, ours, truth)
