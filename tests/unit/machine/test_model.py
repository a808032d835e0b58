# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reader of models: what means the same is the same, and what cannot be meant is one clear line."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout
from ansible_collections.accelerator.ops.plugins.module_utils.machine.model import cpu_list, parse
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError

MODEL: dict[str, Any] = {
    "name": "small",
    "threads_per_core": 2,
    "numa": [
        {"cpus": "0-3", "memory_mib": 1000, "distances": [10, 20], "hugepages": {"2048": [4, 2]}},
        {"cpus": "4-7", "memory_mib": 2000, "distances": [20, 10]},
    ],
    "types": {
        "port": {
            "id": "8086:352a",
            "class": "bridge",
            "revision": "30",
            "driver": "pcieport",
            "link": [32, 16],
            "acs": True,
        },
        "gpu": {
            "id": "10de:2330",
            "subsystem": "10de:16c1",
            "class": "3d",
            "revision": "a1",
            "driver": "nvidia",
            "link": [16, 8, 32, 16],
            "aer": {},
            "sriov": {"total": 2, "configured": 1},
            "nvidia": {"model": "Small GPU", "video_bios": "1.2", "firmware": "3.4"},
        },
        "nic": {
            "id": "15b3:1021",
            "class": "ethernet",
            "driver": "mlx5_core",
            "net": {"mtu": 9000, "speed_mbps": 100000, "state": "up"},
            "rdma": {"link_layer": "Ethernet", "state": "ACTIVE", "rate": "100 Gb/sec (4X EDR)", "node_type": "CA"},
        },
    },
    "pci": {
        "pci0000:16": {
            "numa": 0,
            "16:01.0 port": {
                "17:00.0 gpu": {
                    "drm": {"card": 1, "render": 128},
                    "iommu_group": 7,
                    "aer": {"correctable": {"BadTLP": 3}, "nonfatal": {"DLP": 1}, "fatal": {"TLP": 2}},
                    "nvidia": {"uuid": "GPU-1", "minor": 0},
                    "attributes": {"vbios_version": "x"},
                },
                "17:00.1 gpu": {"vf_of": "17:00.0", "nvidia": None, "sriov": None, "numa": -1, "accel": 0},
            },
            "16:02.0 port": {"empty": True},
        },
        "pci0000:30": {
            "numa": 1,
            "30:01.0 port": {
                "31:00.0 nic": {
                    "net": {"name": "eth0", "ifindex": 2},
                    "rdma": {"name": "mlx5_0", "port": 2, "uverbs": 0},
                }
            },
            "30:02.0 port > 32:00.0": {
                "id": "144d:a824",
                "class": "nvme",
                "nvme": {"name": "nvme0", "model": "Disk", "serial": "S1", "firmware": "F1", "sectors": 4096},
            },
        },
    },
    "platform": {
        "amdgpu_xcp_0": {"driver": "xcp", "drm": {"card": 9, "render": 140}, "accel": 3, "attributes": {"a": "b"}}
    },
    "bonds": {
        "bond0": {
            "mode": "802.3ad 4",
            "members": ["eth0"],
            "mtu": 9000,
            "speed_mbps": 100000,
            "state": "up",
            "ifindex": 5,
        }
    },
    "vlans": {"bond0.7": {"parent": "bond0", "id": 7, "mtu": 9000, "ifindex": 6}},
    "kfd": {
        "major": 235,
        "common": {"simd_count": 16},
        "memory": [{"heap_type": 1, "size_in_bytes": 1024}],
        "nodes": [
            {"cpu_cores_count": 8},
            {"device": "0000:17:00.0", "gpu_id": 77, "unique_id": 5},
            {"device": "17:00.1", "gpu_id": 78, "memory": [{"heap_type": 2}]},
        ],
        "links": [
            {"pairs": [[1, 2]], "type": 11, "weight": 15},
            {"directed": [[0, 1]], "type": 2, "weight": 20},
            {"mesh": [0, 2], "type": 2, "p2p": True},
        ],
    },
    "nvidia_version": "NVRM version: 1",
    "kernel": {
        "release": "6.1.0",
        "next_boot": "6.1.1",
        "command_line": "BOOT_IMAGE=/vmlinuz quiet",
        "taint": 4096,
        "cgroup": 2,
        "modules": {
            "nvidia": {"version": "570.1", "size": 5, "used_by": ["nvidia_uvm"], "taint": "OE"},
            "nvidia_uvm": {},
        },
        "releases": ["6.1.1"],
        "disk": {"6.1.0": {"updates/nvidia.ko": {"version": "570.1", "signer": "Someone"}}},
    },
    "security": {"secure_boot": True, "lockdown": "integrity", "signatures_enforced": True},
    "users": {"gpu": 990},
    "groups": {"gpu": 991},
    "device_files": {"/dev/nvidiactl": "char 195 255 0660 gpu gpu"},
    "files": {"/etc/machine": "text"},
    "symlinks": {"/etc/link": "/etc/machine"},
    "folders": ["/sys/class/empty"],
    "absent": ["/proc/version"],
}


def changed(change: Callable[[Any], Any]) -> dict[str, Any]:
    model = copy.deepcopy(MODEL)
    change(model)
    return model


def places(value: Any, where: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of every value in the model that is no mapping and no list."""
    if isinstance(value, dict):
        return [place for key, inner in value.items() for place in places(inner, (*where, key))]
    if isinstance(value, list):
        return [place for at, inner in enumerate(value) for place in places(inner, (*where, at))]
    return [where]


def without(place: tuple[Any, ...]) -> dict[str, Any]:
    model = copy.deepcopy(MODEL)
    inner: Any = model
    for key in place[:-1]:
        inner = inner[key]
    del inner[place[-1]]
    return model


@pytest.mark.parametrize("place", places(MODEL), ids=lambda place: ".".join(str(key) for key in place))
def test_every_value_reaches_the_tree_or_is_missed(place: tuple[Any, ...]) -> None:
    try:
        machine = parse(without(place))
    except InputError:
        assert place[-1] in NEEDED, f"{place} is needed, and the test does not know why"
        return
    assert layout.entries(machine) != layout.entries(parse(MODEL)), f"{place} is read, and nothing depends on it"


NEEDED = ("name", "empty", "parent", "mode", "id", "model", "gpu", "class", 0, 1, 2, 3)
"""Keys that a model cannot do without: names, the way to a thing, a bridge's class, list items that others count on."""


def bad(place: str, value: Any) -> dict[str, Any]:
    keys = place.split("/")
    model = copy.deepcopy(MODEL)
    inner: Any = model
    for key in keys[:-1]:
        inner = inner[int(key) if key.isdigit() and isinstance(inner, list) else key]
    inner[int(keys[-1]) if isinstance(inner, list) else keys[-1]] = value
    return model


def twice(model: Any) -> None:
    model["pci"]["pci0000:30"]["16:01.0 port"] = {"empty": True}


BAD = {
    "no mapping": (["small"], "the model is no mapping"),
    "no name": ({"title": "x"}, "name is None"),
    "unknown key": (changed(lambda model: model.update(gpus=8)), "gpus is not a known key"),
    "unknown key of a type": (bad("types/gpu/speed", 3), "types.gpu.speed is not a known key"),
    "unknown key of a function": (
        bad("pci/pci0000:16/16:01.0 port/17:00.0 gpu/speed", 3),
        "pci.pci0000:16.16:01.0 port.17:00.0 gpu.speed is neither a known key nor a PCI address",
    ),
    "a bridge that leads nowhere": (
        bad("pci/pci0000:16/16:02.0 port", {}),
        "16:02.0 port is a bridge that leads nowhere",
    ),
    "an empty slot with a card": (
        bad("pci/pci0000:16/16:01.0 port/empty", True),
        "empty is true, yet functions stand behind it",
    ),
    "a function behind a function": (
        bad("pci/pci0000:30/30:02.0 port > 32:00.0/33:00.0", {"id": "8086:0001", "class": "3d"}),
        "33:00.0 stands behind 0000:32:00.0, which is no bridge",
    ),
    "a device twice": (changed(twice), "pci.pci0000:30.16:01.0 port is there twice"),
    "two buses behind a bridge": (
        bad("pci/pci0000:16/16:01.0 port/18:00.0 gpu", {"nvidia": None}),
        "leads to the buses 17, 18",
    ),
    "an unknown type": (bad("pci/pci0000:16/16:03.0 plug", {}), "has the type plug"),
    "an address that YAML took for a number": (bad("pci/pci0000:16", {968.0: {}}), "has the key 968.0"),
    "an id that YAML took for a number": (bad("types/gpu/id", 0x10DE), "17:00.0 gpu.id is 4318"),
    "a class that YAML took for a number": (bad("types/gpu/class", 0o30200), "class is 12416"),
    "a revision that YAML took for a number": (bad("types/gpu/revision", 2), "17:00.0 gpu.revision is 2"),
    "an id in capitals": (bad("types/gpu/id", "10DE:2330"), "id is '10DE:2330'"),
    "a version that YAML took for a number": (
        bad("kernel/modules/nvidia", 570.1),
        "kernel.modules.nvidia.version is 570.1",
    ),
    "a mode that YAML took for a number": (
        changed(lambda model: model["device_files"].update({"/dev/x": 438})),
        "device_files./dev/x is 438",
    ),
    "a link of three": (bad("types/gpu/link", [16, 8, 32]), "link is [16, 8, 32]"),
    "a width as text": (bad("types/gpu/link", [16, "x8"]), "link is [16, 'x8']"),
    "overlapping CPUs": (bad("numa/1/cpus", "3-7"), "numa[1].cpus holds CPU 3, which node 0 has too"),
    "no cpulist": (bad("numa/1/cpus", "4-"), "numa[1].cpus is '4-'"),
    "too few distances": (bad("numa/0/distances", [10]), "numa[0].distances has 1 values"),
    "an unknown NUMA node": (bad("pci/pci0000:30/numa", 2), "numa is 2"),
    "a VF of no function": (
        bad("pci/pci0000:16/16:01.0 port/17:00.1 gpu/vf_of", "19:00.0"),
        "vf_of is 0000:19:00.0",
    ),
    "one name for two": (
        bad("pci/pci0000:16/16:01.0 port/17:00.1 gpu/drm", {"render": 128}),
        "has drm render 128, which 0000:17:00.0 has too",
    ),
    "a bond of no interface": (bad("bonds/bond0/members", ["eth9"]), "bonds.bond0.members holds eth9"),
    "a VLAN on nothing": (bad("vlans/bond0.7/parent", "eth9"), "vlans.bond0.7.parent is eth9"),
    "a compute node of no device": (bad("kfd/nodes/1/device", "0000:99:00.0"), "kfd.nodes[1].device is 0000:99:00.0"),
    "a link to an unknown node": (bad("kfd/links/0/pairs", [[1, 9]]), "kfd.links[0].pairs links to node 9"),
    "a link twice": (bad("kfd/links/1/directed", [[1, 2]]), "gives the link 1 to 2 twice"),
    "a relative path": (changed(lambda model: model["files"].update({"etc/x": "y"})), "files holds the path 'etc/x'"),
    "a path out of the tree": (
        changed(lambda model: model["files"].update({"/../etc/x": "y"})),
        "files holds the path '/../etc/x'",
    ),
    "an owner that nobody is": (
        changed(lambda model: model["device_files"].update({"/dev/x": "char 1 2 0660 root nobody"})),
        "is owned by root:nobody",
    ),
    "an unknown lockdown": (bad("security/lockdown", "full"), "security.lockdown is 'full'"),
    "a module in another place": (bad("kernel/disk/6.1.0", {"../x.ko": {}}), "kernel.disk.6.1.0.../x.ko is no module"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_model_is_one_clear_line(case: str) -> None:
    mapping, complaint = BAD[case]
    with pytest.raises(InputError) as caught:
        parse(mapping)
    line = str(caught.value)
    assert complaint in line
    assert "\n" not in line
    assert line.startswith("cannot read model" + (" small: " if "small" in line else ""))
    assert line.count("; ") >= 1


def test_the_model_of_these_tests_is_good() -> None:
    machine = parse(MODEL)
    assert [function.address for function in machine.functions][:3] == ["0000:16:01.0", "0000:16:02.0", "0000:17:00.0"]


def test_a_line_overrides_its_type_key_by_key() -> None:
    gpu = next(function for function in parse(MODEL).functions if function.address == "0000:17:00.0")
    assert gpu.nvidia is not None
    assert (gpu.nvidia.model, gpu.nvidia.uuid, gpu.driver, gpu.numa) == ("Small GPU", "GPU-1", "nvidia", 0)
    assert gpu.aer == {"correctable": {"BadTLP": 3}, "nonfatal": {"DLP": 1}, "fatal": {"TLP": 2}}


def test_a_bare_name_and_a_chain_are_short_for_the_long_form() -> None:
    long = bad("pci/pci0000:30", {"numa": 1, "30:01.0 port": {"31:00.0 nic": {"net": {"name": "eth0"}}}})
    short = bad("pci/pci0000:30", {"numa": 1, "30:01.0 port > 31:00.0 nic": {"net": "eth0"}})
    assert parse(long) == parse(short)


def test_a_mesh_is_every_pair_in_both_directions() -> None:
    pairs = bad("kfd/links", [{"pairs": [[0, 1], [0, 2], [1, 2]], "type": 11}])
    mesh = bad("kfd/links", [{"mesh": [0, 1, 2], "type": 11}])
    assert parse(pairs) == parse(mesh)


@pytest.mark.parametrize(("text", "cpus"), [("", ()), ("3", (3,)), ("0-2,8", (0, 1, 2, 8)), ("8,0-1", (0, 1, 8))])
def test_cpu_list(text: str, cpus: tuple[int, ...]) -> None:
    assert cpu_list(text) == cpus


@pytest.mark.parametrize("text", ["a", "1-", "3-1", "-1", "1,,2"])
def test_no_cpu_list(text: str) -> None:
    with pytest.raises(ValueError):
        cpu_list(text)
