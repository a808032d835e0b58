# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts documents (docs/facts.md, schema 1) built in a few lines, for the tests of the report.

Each function returns a document that is complete in form; the machines are shaped like real ones.
"""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any

from ansible_collections.accelerator.ops.plugins.module_utils.report.survey import NodeReport

Facts = dict[str, Any]

GPU_H100 = {
    "maker": "nvidia",
    "model": "H100 SXM5 80GB",
    "pci": ("10de", "2330"),
    "driver": ("nvidia", "580.95.05"),
    "memory_mib": 81559,
}
GPU_MI300X = {
    "maker": "amd",
    "model": "Instinct MI300X",
    "pci": ("1002", "74a1"),
    "driver": ("amdgpu", "6.14.14"),
    "memory_mib": 196592,
}
GAUDI = {
    "maker": "habana",
    "model": "Gaudi 2",
    "pci": ("1da3", "1020"),
    "driver": ("habanalabs", "1.22.1"),
    "memory_mib": 98304,
}


def link(
    speed: float,
    width: int,
    max_speed: float | None = None,
    max_width: int | None = None,
    limited_by: str | None = None,
) -> Facts:
    return {
        "speed_gts": speed,
        "width": width,
        "max_speed_gts": max_speed or speed,
        "max_width": max_width or width,
        "limited_by": limited_by,
    }


def bridge(name: str, parent: str | None, root: str, numa: int | None, speed: float = 32.0, width: int = 16) -> Facts:
    return {
        "id": name,
        "parent": parent,
        "root": root,
        "numa_node": numa,
        "pci": {},
        "link": link(speed, width),
        "unknown": {},
    }


def device(name: str, path: list[str] | None, numa: int | None, kind: str, model: Facts, **more: Any) -> Facts:
    vendor, product = model["pci"]
    driver, version = model["driver"]
    facts: Facts = {
        "id": name,
        "kind": kind,
        "integrated": False,
        "maker": model["maker"],
        "model": model["model"],
        "uuid": None,
        "serial": None,
        "memory_mib": model["memory_mib"],
        "numa_node": numa,
        "cpus": None,
        "pci": {"vendor_id": vendor, "device_id": product, "class": "030200", "revision": "a1"},
        "path": path,
        "link": link(32.0, 16),
        "aer": {"correctable": 0, "nonfatal": 0, "fatal": 0},
        "acs": False,
        "iommu_group": None,
        "sriov": {"total": 0, "configured": 0, "physical_function": None},
        "driver": {"name": driver, "version": version},
        "firmware": {},
        "partitions": [],
        "partition_mode": None,
        "fabric": None,
        "peer_memory": None,
        "nearest": None,
        "nodes": [],
        "unknown": {"serial": "permission denied", "uuid": "not there"},
    }
    facts.update(more)
    return facts


def nic(
    name: str, path: list[str] | None, numa: int | None, model: str, gbps: int, protocol: str | None = None, **more: Any
) -> Facts:
    facts: Facts = {
        "id": name,
        "maker": "nvidia",
        "model": model,
        "numa_node": numa,
        "cpus": None,
        "pci": {"vendor_id": "15b3", "device_id": "1021", "class": "020000", "revision": "00"},
        "path": path,
        "link": link(32.0, 16),
        "sriov": {"total": 0, "configured": 0, "physical_function": None},
        "driver": {"name": "mlx5_core", "version": None},
        "netdevs": [
            {
                "name": "eth" + name[5:7],
                "mtu": 9000,
                "speed_mbps": gbps * 1000,
                "state": "up",
                "bond": None,
                "vlans": [],
            }
        ],
        "rdma": [{"name": "mlx5_" + name[5:7], "port": 1, "protocol": protocol, "state": "active", "rate_gbps": gbps}]
        if protocol
        else [],
        "unknown": {},
    }
    facts.update(more)
    return facts


def disk(name: str, path: list[str] | None, numa: int | None, number: int, **more: Any) -> Facts:
    facts: Facts = {
        "id": name,
        "names": [f"nvme{number}"],
        "model": "PM1743",
        "size_mib": 3662830,
        "numa_node": numa,
        "cpus": None,
        "pci": {"vendor_id": "144d", "device_id": "a826", "class": "010802", "revision": "00"},
        "path": path,
        "link": link(32.0, 4),
        "unknown": {},
    }
    facts.update(more)
    return facts


def document(**sections: Any) -> Facts:
    facts: Facts = {
        "schema": 1,
        "sources": [
            {"name": "sysfs", "status": "ok", "reason": None},
            {"name": "procfs", "status": "ok", "reason": None},
        ],
        "devices": [],
        "bridges": [],
        "links": [],
        "distances": [],
        "numa_nodes": [],
        "nics": [],
        "storage": [],
        "kernel": {
            "release": "6.8.0-88-generic",
            "next_boot": "6.8.0-88-generic",
            "command_line": "BOOT_IMAGE=/vmlinuz root=/dev/sda1 iommu=pt pci=realloc",
            "taint": {"value": 4096, "flags": ["O"]},
            "cgroup_version": 2,
            "modules": [],
            "unknown": {},
        },
        "security": {"secure_boot": False, "lockdown": "none", "module_signatures_enforced": False, "unknown": {}},
        "drivers": [],
        "engines": None,
        "cdi": None,
        "kubelet": None,
        "owners": None,
        "unknown": dict.fromkeys(("engines", "cdi", "kubelet", "owners"), "not looked for yet"),
    }
    facts.update(copy.deepcopy(sections))
    return facts


def numa(node: int, cpus: str, mib: int, distances: list[int]) -> Facts:
    return {
        "node": node,
        "cpus": cpus,
        "memory_mib": mib,
        "hugepages": [{"size_kib": 2048, "total": 0, "free": 0}],
        "distances": distances,
        "unknown": {},
    }


def mesh(ids: list[str], kind: str, count: int | None, hops: int) -> list[Facts]:
    return [
        {"a": a, "b": b, "kind": kind, "hops": hops, "count": count, "state": "active", "unknown": {}}
        for a, b in itertools.combinations(sorted(ids), 2)
    ]


def nvswitch_node() -> Facts:
    """Eight H100 behind four PCIe switches at two sockets, ten NICs, eight NVMe, all joined by NVSwitch."""
    devices, nics, disks, bridges = [], [], [], []
    bus = 0x10
    for switch in range(4):
        node = switch // 2
        root = f"pci0000:{bus:02x}"
        port, top = f"0000:{bus:02x}:01.0", f"0000:{bus + 1:02x}:00.0"
        bridges += [bridge(port, None, root, node), bridge(top, port, root, node)]
        for place in range(6):
            down, here = f"0000:{bus + 2:02x}:{place:02x}.0", f"0000:{bus + 3 + place:02x}:00.0"
            bridges.append(bridge(down, top, root, node, width=4 if place >= 4 else 16))
            path = [port, top, down]
            if place < 2:
                devices.append(device(here, path, node, "gpu", GPU_H100))
            elif place < 4:
                nics.append(nic(here, path, node, "ConnectX-7", 400, "infiniband"))
            else:
                disks.append(disk(here, path, node, len(disks)))
        bus += 0x20
    for node, start in ((0, 0x90), (1, 0xA0)):
        port = f"0000:{start:02x}:01.0"
        bridges.append(bridge(port, None, f"pci0000:{start:02x}", node))
        nics.append(nic(f"0000:{start + 1:02x}:00.0", [port], node, "BlueField-3", 200, "roce"))
        nics.append(nic(f"0000:{start + 1:02x}:00.1", [port], node, "BlueField-3", 200, "roce"))
    return document(
        devices=devices,
        nics=nics,
        storage=disks,
        bridges=bridges,
        links=mesh([one["id"] for one in devices], "nvlink", 18, 2),
        numa_nodes=[numa(0, "0-55,112-167", 1031000, [10, 21]), numa(1, "56-111,168-223", 1032000, [21, 10])],
    )


def driver(name: str, maker: str, version: str | None, kernel: str = "6.8.0-88-generic", **more: Any) -> Facts:
    facts: Facts = {
        "name": name,
        "maker": maker,
        "loaded": version,
        "on_disk": [{"kernel": kernel, "version": version}],
        "user_space": version,
        "fabric_manager": version,
        "mismatch": None,
        "unknown": {},
    }
    facts.update(more)
    return facts


def tooled_node() -> Facts:
    """The node with NVSwitch, of which the maker's tool has told what the kernel does not."""
    facts = nvswitch_node()
    facts["sources"].append({"name": "nvml", "status": "ok", "reason": None})
    facts["drivers"] = [driver("nvidia", "nvidia", "580.95.05")]
    for one in facts["devices"]:
        one.update(
            firmware={"vbios": "96.00.74.00.01", "gsp": "580.95.05"},
            partition_mode={"compute": None, "memory": None},
            fabric={"kind": "nvlink", "state": "completed", "clique": None},
            memory_health={"ecc_mode": "enabled", "remapped_rows": remapped(0)},
            power_limit_watts=700,
            mismatch={},
        )
        one["unknown"]["fabric.clique"] = "in no NVLink domain of several nodes"
    return facts


def remapped(correctable: int, is_pending: bool = False) -> Facts:
    return {"correctable": correctable, "uncorrectable": 0, "pending": is_pending, "failure": False}


def mig(place: int, profile: str, mib: int) -> Facts:
    return {
        "id": f"0:{place}",
        "kind": "mig",
        "uuid": None,
        "profile": profile,
        "memory_mib": mib,
        "nodes": [],
        "unknown": {},
    }


def xgmi_node() -> Facts:
    """Eight MI300X, two to a root complex pair, joined by xGMI; NICs beside them."""
    devices, nics, bridges = [], [], []
    for place in range(8):
        start = 0x08 + place * 0x18
        node = place // 4
        port, root = f"0000:{start:02x}:01.1", f"pci0000:{start:02x}"
        top, down, side = f"0000:{start + 1:02x}:00.0", f"0000:{start + 2:02x}:00.0", f"0000:{start + 2:02x}:01.0"
        bridges += [
            bridge(port, None, root, node),
            bridge(top, port, root, node),
            bridge(down, top, root, node),
            bridge(side, top, root, node),
        ]
        devices.append(
            device(
                f"0000:{start + 3:02x}:00.0",
                [port, top, down],
                node,
                "gpu",
                GPU_MI300X,
                partition_mode={"compute": "SPX", "memory": "NPS1"},
            )
        )
        nics.append(nic(f"0000:{start + 4:02x}:00.0", [port, top, side], node, "Thor 2", 400, "roce", maker="broadcom"))
    return document(
        devices=devices,
        nics=nics,
        storage=[disk("0000:c7:00.0", ["0000:c6:01.0"], 0, 0), disk("0000:c8:00.0", ["0000:c6:01.1"], 0, 1)],
        bridges=[
            *bridges,
            bridge("0000:c6:01.0", None, "pci0000:c6", 0, width=4),
            bridge("0000:c6:01.1", None, "pci0000:c6", 0, width=4),
        ],
        links=mesh([one["id"] for one in devices], "xgmi", 1, 1),
        numa_nodes=[numa(0, "0-95,192-287", 1160000, [10, 32]), numa(1, "96-191,288-383", 1161000, [32, 10])],
    )


def gaudi_node() -> Facts:
    """Eight Gaudi 2 whose NUMA node is unknown for two, one of them given to a virtual machine."""
    devices, bridges = [], []
    for place in range(8):
        start = 0x19 + place * 0x18
        node = None if place > 5 else place // 4
        port = f"0000:{start:02x}:00.0"
        bridges.append(bridge(port, None, f"pci0000:{start:02x}", node, speed=16.0))
        one = device(f"0000:{start + 1:02x}:00.0", [port], node, "npu", GAUDI, link=link(16.0, 16))
        if node is None:
            one["unknown"]["numa_node"] = "platform reports none"
        devices.append(one)
    devices[7]["driver"] = {"name": "vfio-pci", "version": None}
    devices[3]["link"] = link(16.0, 8, 16.0, 16)
    devices[4]["link"] = link(2.5, 16, 16.0, 16)
    return document(
        devices=devices,
        bridges=bridges,
        nics=[nic("0000:c0:00.0", ["0000:bf:00.0"], 1, "ConnectX-6 Dx", 100, "roce", link=link(16.0, 16, 16.0, 16))],
        storage=[disk(f"0000:{0x80 + place:02x}:00.0", None, 0, place) for place in range(4)],
        numa_nodes=[numa(0, "0-39", 515000, [10, 20]), numa(1, "40-79", 516000, [20, 10])],
        links=[],
    )


def cube_node() -> Facts:
    """Four GPUs in a ring of links, so not every pair is joined; nothing is known of the tree."""
    devices = [
        device(f"0000:{bus:02x}:00.0", None, 0 if bus < 0x60 else 1, "gpu", {**GPU_H100, "model": "V100 SXM2 16GB"})
        for bus in (0x1A, 0x1B, 0x60, 0x61)
    ]
    ids = [one["id"] for one in devices]
    ring = [
        {"a": min(a, b), "b": max(a, b), "kind": "nvlink", "hops": 1, "count": count, "state": "active", "unknown": {}}
        for a, b, count in ((ids[0], ids[1], 2), (ids[1], ids[2], 1), (ids[2], ids[3], 2), (ids[0], ids[3], 1))
    ]
    return document(
        devices=devices, links=ring, numa_nodes=[numa(0, "0-19", 191000, [10, 21]), numa(1, "20-39", 192000, [21, 10])]
    )


def plain_node() -> Facts:
    """No accelerators."""
    return document(
        nics=[
            nic("0000:02:00.0", ["0000:00:1c.0"], 0, "I350", 1, maker="intel", link=link(5.0, 4)),
            nic("0000:02:00.1", ["0000:00:1c.0"], 0, "I350", 1, maker="intel", link=link(5.0, 4)),
        ],
        storage=[disk("0000:01:00.0", ["0000:00:1b.0"], 0, 0)],
        bridges=[
            bridge("0000:00:1b.0", None, "pci0000:00", 0, width=4),
            bridge("0000:00:1c.0", None, "pci0000:00", 0, speed=8.0, width=4),
        ],
        numa_nodes=[numa(0, "0-15", 128000, [10])],
    )


def many_functions_node(devices: int = 32, nics: int = 300) -> Facts:
    """Devices on the root bus and one NIC with its virtual functions, as many as there is room for."""
    accelerators = [
        device(f"0000:{0x20 + place:02x}:00.0", [], 0, "accelerator", {**GAUDI, "model": "Inferentia"})
        for place in range(devices)
    ]
    owner = nic("0000:03:00.0", [], 0, "ConnectX-7", 400, "roce")
    owner["sriov"] = {"total": nics, "configured": nics - 1, "physical_function": None}
    virtual = []
    for place in range(1, nics):
        one = nic(f"0000:{3 + place // 256:02x}:{place % 256 // 8:02x}.{place % 8}", [], 0, "ConnectX-7 VF", 400)
        one["sriov"] = {"total": None, "configured": None, "physical_function": owner["id"]}
        virtual.append(one)
    return document(devices=accelerators, nics=[owner, *virtual], numa_nodes=[numa(0, "0-127", 515000, [10])])


def empty_node() -> Facts:
    """A node of which nothing could be read."""
    names = (
        "devices",
        "bridges",
        "links",
        "distances",
        "numa_nodes",
        "nics",
        "storage",
        "drivers",
        "kernel",
        "security",
    )
    facts = document(**dict.fromkeys(names))
    facts["unknown"].update(dict.fromkeys(names, "permission denied"))
    return facts


def seen(name: str, facts: Facts, root: str = "/") -> NodeReport:
    return NodeReport(name, "seen", root, facts, "")


def lost(
    name: str, status: str = "unreachable", reason: str = "ssh: connect to host port 22: Connection timed out"
) -> NodeReport:
    return NodeReport(name, status, "/", None, reason)


def small_fleet() -> list[NodeReport]:
    return [
        seen("hgx01", nvswitch_node()),
        seen("mi300-a", xgmi_node()),
        seen("gaudi-1", gaudi_node()),
        seen("old-ring", cube_node()),
        seen("login", plain_node()),
        lost("hgx02"),
        lost(
            "hgx03",
            "failed",
            "cannot open root /nowhere: no such folder, expected a folder; name the root of a node's tree",
        ),
    ]


def _vary(facts: Facts, number: int) -> None:
    """What a makers' tool tells of some nodes and not of their sisters."""
    row = facts["drivers"][0]
    if number == 4:
        row.update(user_space="580.105.08", mismatch={"loaded": "580.95.05", "user_space": "580.105.08"})
    if number == 5:
        facts["sources"][-1].update(status="failed", reason="no answer within 10 s")
        row.update(user_space=None, fabric_manager=None, mismatch=None)
        row["unknown"] = dict.fromkeys(("user_space", "fabric_manager", "mismatch"), "nvml: no answer within 10 s")
        for one in facts["devices"]:
            one.update(partitions=None, power_limit_watts=None, memory_health=None, fabric={"kind": "nvlink"})
            why = dict.fromkeys(("partitions", "fabric.state", "fabric.clique"), "nvml: no answer within 10 s")
            one["unknown"].update(why)
    if number in (8, 9):
        for one in facts["devices"][:4]:
            one["partitions"] = [mig(0, "3g.40gb", 40448), mig(1, "3g.40gb", 40448), mig(2, "1g.10gb", 9984)]
    if number == 10:
        facts["devices"][0]["mismatch"] = {"numa_node": {"kernel": 0, "tool": 1}}
        facts["devices"][0]["memory_health"]["remapped_rows"] = remapped(2, True)
        facts["devices"][3]["firmware"]["vbios"] = "96.00.89.00.01"
    if number == 12:
        facts["kernel"]["next_boot"] = "6.8.0-90-generic"
        facts["devices"][1]["fabric"].update(state="in progress")


def fleet_of(count: int) -> list[NodeReport]:
    """So many nodes with tools of NVIDIA, of AMD, of Habana, and a few that are down."""
    sources = [json.dumps(make()) for make in (*[tooled_node] * 6, *[xgmi_node] * 2, gaudi_node)]
    nodes = []
    for number in range(1, count + 1):
        name = f"node{number:04d}.cluster.example"
        if number % 10 == 0:
            nodes.append(lost(name))
            continue
        facts: Facts = json.loads(sources[number % 10 - 1])
        if number % 10 <= 6:
            _vary(facts, number % 103)
            rack = number // 18
            for one in facts["devices"]:
                one["fabric"]["clique"] = f"00000000-0000-4000-8000-{rack:012d}.{rack % 2}"
        nodes.append(seen(name, facts))
    return nodes


def large_fleet() -> list[NodeReport]:
    """Thirty nodes: twenty alike with a few that differ, eight of AMD, one login node, one that is down."""
    nodes = []
    for number in range(1, 21):
        facts = tooled_node()
        _vary(facts, number)
        if number == 7:
            for one in facts["devices"]:
                one["driver"]["version"] = "570.133.20"
        if number == 11:
            facts["devices"][2]["link"] = link(32.0, 8, 32.0, 16)
        if number == 13:
            facts["kernel"]["release"] = "6.8.0-85-generic"
            facts["kernel"]["command_line"] = "BOOT_IMAGE=/vmlinuz root=/dev/sda1 pci=realloc"
        if number % 3 == 0:
            facts["devices"][0]["link"] = link(2.5, 16, 32.0, 16)
        if number == 18:
            facts["security"]["secure_boot"] = None
            facts["security"]["unknown"]["secure_boot"] = "permission denied"
            facts["links"][5]["count"] = 17
        nodes.append(seen(f"hgx{number:02d}.cluster.example", facts))
    nodes += [seen(f"mi300x-{number}", xgmi_node()) for number in range(1, 9)]
    return [*nodes, seen("login", plain_node()), lost("hgx21.cluster.example")]
