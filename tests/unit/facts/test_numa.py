# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NUMA nodes from small trees."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import numa

NODES = "/sys/devices/system/node"


def node(number: int, cpulist: str, memory_kib: int, distances: str) -> dict[str, str]:
    place = f"{NODES}/node{number}"
    return {
        f"{place}/cpulist": cpulist,
        f"{place}/meminfo": f"Node {number} MemTotal:       {memory_kib} kB\nNode {number} MemFree:   5 kB",
        f"{place}/distance": distances,
        f"{place}/hugepages/hugepages-2048kB/nr_hugepages": "512",
        f"{place}/hugepages/hugepages-2048kB/free_hugepages": "500",
        f"{place}/hugepages/hugepages-1048576kB/nr_hugepages": "4",
        f"{place}/hugepages/hugepages-1048576kB/free_hugepages": "0",
    }


def observed(host: Host) -> list[dict[str, Any]]:
    nodes, unknown = numa.observe(host)
    assert unknown == {}
    assert nodes is not None
    return nodes


def test_nodes_are_ordered_by_number(grow: Any) -> None:
    files = {**node(10, "0-3", 2048, "10 20"), **node(2, "4-7", 4096, "20 10"), f"{NODES}/has_cpu": "2,10"}
    assert [(one["node"], one["cpus"], one["memory_mib"]) for one in observed(grow(files))] == [
        (2, "4-7", 4),
        (10, "0-3", 2),
    ]


def test_a_whole_node(grow: Any) -> None:
    assert observed(grow({**node(0, "0-7,16-23", 1048576, "10"), f"{NODES}/possible": "0"})) == [
        {
            "node": 0,
            "cpus": "0-7,16-23",
            "memory_mib": 1024,
            "hugepages": [
                {"size_kib": 2048, "total": 512, "free": 500},
                {"size_kib": 1048576, "total": 4, "free": 0},
            ],
            "distances": [10],
            "unknown": {},
        }
    ]


def test_memory_without_cpus(grow: Any) -> None:
    one = observed(grow(node(0, "", 1024, "10")))[0]
    assert one["cpus"] is None
    assert one["unknown"] == {"cpus": "no CPUs"}
    assert one["memory_mib"] == 1


@pytest.mark.parametrize(
    ("cpumap", "cpus", "reason"),
    [
        ("00000000,000000f1", "0,4-7", None),
        ("80000000,00000000,00000001", "0,95", None),
        ("00000000", None, "no CPUs"),
        ("zz", None, "unexpected content 'zz'"),
    ],
)
def test_a_kernel_with_cpumap_only(grow: Any, cpumap: str, cpus: str, reason: str) -> None:
    files = {path: text for path, text in node(0, "", 1024, "10").items() if not path.endswith("cpulist")}
    one = observed(grow({**files, f"{NODES}/node0/cpumap": cpumap}))[0]
    assert (one["cpus"], one["unknown"].get("cpus")) == (cpus, reason)


@pytest.mark.parametrize(
    ("path", "content", "key", "reason"),
    [
        ("cpulist", "0-", "cpus", "unexpected content '0-'"),
        ("cpulist", b"\xff\xfe", "cpus", "not UTF-8 text"),
        ("meminfo", "Node 0 MemFree: 3 kB", "memory_mib", "unexpected content 'Node 0 MemFree: 3 kB'"),
        ("distance", "10 x", "distances", "unexpected content '10 x'"),
        ("distance", "", "distances", "unexpected content ''"),
        ("distance", "10 21", "distances", "2 distances for 1 nodes"),
        ("hugepages/hugepages-2048kB/nr_hugepages", "-1", "hugepages.0.total", "unexpected content '-1'"),
    ],
)
def test_what_is_not_understood_is_null_with_its_reason(
    grow: Any, path: str, content: Any, key: str, reason: str
) -> None:
    one = observed(grow({**node(0, "0", 1024, "10"), f"{NODES}/node0/{path}": content}))[0]
    assert one["unknown"] == {key: reason}


@pytest.mark.parametrize(
    ("file", "key"),
    [("cpulist", "cpus"), ("meminfo", "memory_mib"), ("distance", "distances"), ("free_", "hugepages.0.free")],
)
def test_files_that_fail_or_vanish(grow: Any, file: str, key: str) -> None:
    failing = observed(grow(node(0, "0", 1024, "10"), broken=file))[0]
    assert failing["unknown"][key] == "cannot be read (Input/output error)"
    vanished = observed(grow({}, gone=file))[0]
    assert vanished["unknown"][key] == "not there"


def test_without_numa_and_without_sys(grow: Any) -> None:
    assert numa.observe(grow({})) == (None, {"numa_nodes": f"{NODES} not there"})
    assert numa.observe(grow({"/sys/devices/system/cpu/online": "0"})) == (None, {"numa_nodes": "kernel without NUMA"})
    assert numa.observe(grow({f"{NODES}/possible": "0"})) == (None, {"numa_nodes": f"{NODES} lists no node"})


def test_a_loop_of_links(grow: Any) -> None:
    nodes, unknown = numa.observe(grow({NODES: "-> node"}))
    assert nodes is None
    assert "symbolic links" in unknown["numa_nodes"]


def test_this_machine() -> None:
    nodes, unknown = numa.observe(Host("/"))
    assert (nodes is None) == ("numa_nodes" in unknown)
