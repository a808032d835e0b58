# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NICs from small trees."""

from __future__ import annotations

import json
from typing import Any, Optional

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import network
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import nics, pci

PLACE = "pci0000:10/0000:10:01.0/0000:11:00.0"
SYS = f"/sys/devices/{PLACE}"


def observed(host: Host) -> tuple[list[dict[str, Any]], dict[str, str]]:
    found, unknown = nics.observe(host, pci.functions(host)[0] or {})
    assert found is not None
    assert all(one["id"] for one in found)
    return found, unknown


def only(host: Host) -> dict[str, Any]:
    found, unknown = observed(host)
    assert unknown == {}
    assert len(found) == 1
    return found[0]


def netdev(name: str, place: str = PLACE, **files: Optional[str]) -> dict[str, Optional[str]]:
    folder = f"/sys/devices/{place}/net/{name}"
    content = {"mtu": "9000", "speed": "400000", "operstate": "up", "address": "02:00:5e:00:53:01", **files}
    return {
        f"/sys/class/net/{name}": f"-> ../../devices/{place}/net/{name}",
        **{f"{folder}/{file}": text for file, text in content.items()},
    }


def rdma(name: str, place: str = PLACE, port: int = 1, **files: Optional[str]) -> dict[str, Optional[str]]:
    folder = f"/sys/devices/{place}/infiniband/{name}"
    content = {"state": "4: ACTIVE", "rate": "400 Gb/sec (4X NDR)", "link_layer": "InfiniBand"}
    content.update({file: text for file, text in files.items() if file in content and text is not None})
    return {
        f"/sys/class/infiniband/{name}": f"-> ../../devices/{place}/infiniband/{name}",
        f"{folder}/node_type": files.get("node_type", "1: CA"),
        f"{folder}/node_guid": "0200:5e00:5300:0001",
        **{f"{folder}/ports/{port}/{file}": text for file, text in content.items()},
    }


@pytest.fixture
def card(pci_function: Any) -> dict[str, Any]:
    """A ConnectX-7 below a bridge."""
    return {
        **pci_function("pci0000:10/0000:10:01.0", "8086", "352a", "060400"),
        **pci_function(PLACE, "15b3", "1021", "020700", driver="-> ../../../../bus/pci/drivers/mlx5_core"),
        "/sys/bus/pci/drivers/mlx5_core/module": "-> ../../../../module/mlx5_core",
        "/sys/module/mlx5_core/version": "24.10-1.1.4",
        "/sys/class/net/lo": "-> ../../devices/virtual/net/lo",
        "/sys/devices/virtual/net/lo/mtu": "65536",
    }


def test_a_whole_nic(grow: Any, card: Any) -> None:
    one = only(grow({**card, **netdev("ibp17s0"), **rdma("mlx5_0")}))
    assert list(one) == [
        "id",
        "maker",
        "model",
        "numa_node",
        "cpus",
        "pci",
        "path",
        "link",
        "sriov",
        "driver",
        "netdevs",
        "rdma",
        "unknown",
    ]
    assert one["pci"]["class"] == "020700"
    assert {key: one[key] for key in one if key not in ("pci", "link")} == {
        "id": "0000:11:00.0",
        "maker": "nvidia",
        "model": "ConnectX-7",
        "numa_node": 1,
        "cpus": "8-15",
        "path": ["0000:10:01.0"],
        "sriov": None,
        "driver": {"name": "mlx5_core", "version": "24.10-1.1.4"},
        "netdevs": [{"name": "ibp17s0", "mtu": 9000, "speed_mbps": 400000, "state": "up", "bond": None, "vlans": []}],
        "rdma": [{"name": "mlx5_0", "port": 1, "protocol": "infiniband", "state": "active", "rate_gbps": 400.0}],
        "unknown": {},
    }


def test_no_hardware_address_and_no_guid_is_told(grow: Any, card: Any) -> None:
    host = grow({**card, **netdev("ibp17s0"), **rdma("mlx5_0")})
    text = json.dumps(observed(host))
    assert "5e:00" not in text
    assert "5e00" not in text
    assert not [path for path in host.read_paths if path.endswith(("/address", "_guid"))]


@pytest.mark.parametrize(
    ("files", "speed", "state", "unknown"),
    [
        ({"speed": "-1", "operstate": "down"}, None, "down", {"netdevs.0.speed_mbps": "link is down"}),
        (
            {"speed": "", "operstate": "lowerlayerdown"},
            None,
            "lowerlayerdown",
            {"netdevs.0.speed_mbps": "link is down"},
        ),
        ({"speed": "4294967295", "operstate": "down"}, None, "down", {"netdevs.0.speed_mbps": "link is down"}),
        ({"speed": "-1"}, None, "up", {"netdevs.0.speed_mbps": "the driver tells no speed"}),
        (
            {"speed": "-1", "operstate": "unknown"},
            None,
            None,
            {"netdevs.0.speed_mbps": "the driver tells no speed", "netdevs.0.state": "the driver tells no state"},
        ),
        ({"speed": "fast"}, None, "up", {"netdevs.0.speed_mbps": "unexpected content 'fast'"}),
        ({"mtu": "x"}, 400000, "up", {"netdevs.0.mtu": "unexpected content 'x'"}),
    ],
)
def test_what_a_network_device_does_not_tell(
    grow: Any, card: Any, files: Any, speed: Any, state: Any, unknown: Any
) -> None:
    one = only(grow({**card, **netdev("eth0", **files)}))
    assert (one["netdevs"][0]["speed_mbps"], one["netdevs"][0]["state"]) == (speed, state)
    assert one["unknown"] == unknown


def test_the_kernel_refuses_the_speed_of_a_link_that_is_down(grow: Any, card: Any, monkeypatch: Any) -> None:
    host = grow({**card, **netdev("eth0", operstate="down")})
    plain = host._read_raw

    def refuse(place: str, limit: int, offset: int = 0) -> bytes:
        if place.endswith("/speed"):
            raise OSError(22, "Invalid argument")
        return bytes(plain(place, limit, offset))

    monkeypatch.setattr(host, "_read_raw", refuse)
    assert only(host)["unknown"] == {"netdevs.0.speed_mbps": "link is down"}


@pytest.mark.parametrize(
    ("files", "row", "unknown"),
    [
        ({"link_layer": "Ethernet"}, ("roce", "active", 400.0), {}),
        ({"link_layer": "Ethernet", "node_type": "4: RNIC"}, ("iwarp", "active", 400.0), {}),
        ({"rate": "2.5 Gb/sec (1X SDR)"}, ("infiniband", "active", 2.5), {}),
        ({"rate": "10 Gb/sec"}, ("infiniband", "active", 10.0), {}),
        (
            {"state": "1: DOWN", "rate": "10 Gb/sec (4X SDR)"},
            ("infiniband", "down", None),
            {"rdma.0.rate_gbps": "port is down"},
        ),
        ({"state": "ACTIVE"}, ("infiniband", None, 400.0), {"rdma.0.state": "unexpected content 'ACTIVE'"}),
        ({"rate": "a lot"}, ("infiniband", "active", None), {"rdma.0.rate_gbps": "unexpected content 'a lot'"}),
        (
            {"link_layer": "Unknown", "node_type": "7: unspecified"},
            (None, "active", 400.0),
            {"rdma.0.protocol": "link layer 'Unknown', node type '7: unspecified'"},
        ),
    ],
)
def test_ports(grow: Any, card: Any, files: Any, row: Any, unknown: Any) -> None:
    one = only(grow({**card, **rdma("mlx5_0", **files)}))
    assert (one["rdma"][0]["protocol"], one["rdma"][0]["state"], one["rdma"][0]["rate_gbps"]) == row
    assert one["unknown"] == unknown


def test_ports_are_ordered_by_number(grow: Any, card: Any) -> None:
    files = {**card, **rdma("mlx4_0", port=10), **rdma("mlx4_0", port=2), **rdma("mlx4_1")}
    assert [(row["name"], row["port"]) for row in only(grow(files))["rdma"]] == [
        ("mlx4_0", 2),
        ("mlx4_0", 10),
        ("mlx4_1", 1),
    ]


def test_a_device_without_ports(grow: Any, card: Any) -> None:
    one = only(
        grow(
            {
                **card,
                "/sys/class/infiniband/mlx5_0": f"-> ../../devices/{PLACE}/infiniband/mlx5_0",
                f"{SYS}/infiniband/mlx5_0": None,
            }
        )
    )
    assert one["rdma"] == [{"name": "mlx5_0", "port": None, "protocol": None, "state": None, "rate_gbps": None}]
    assert set(one["unknown"]) == {f"rdma.0.{key}" for key in ("port", "protocol", "state", "rate_gbps")}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("InfiniBand", "1: CA", "mlx5_core"), "infiniband"),
        (("InfiniBand", "1: CA", "hfi1"), "omnipath"),
        (("InfiniBand", None, None, "Board with Intel Omni-Path Adapter"), "omnipath"),
        (("InfiniBand", None, "ib_qib", "Omni-Path"), "infiniband"),
        (("Ethernet", "1: CA", "irdma"), "roce"),
        (("Ethernet", "4: RNIC", "irdma"), "iwarp"),
        (("Ethernet", None, "mlx5_core"), "roce"),
        (("Ethernet", None, None, None, "MT41692"), "roce"),
        (("Ethernet", None, "irdma"), None),
        (("Ethernet", "5: usNIC", "usnic"), None),
    ],
)
def test_protocols(arguments: Any, expected: Optional[str]) -> None:
    if expected is None:
        with pytest.raises(ValueError, match="link layer"):
            network.protocol(*arguments)
    else:
        assert network.protocol(*arguments) == expected


@pytest.fixture
def bonded(card: Any) -> dict[str, Any]:
    virtual = "/sys/devices/virtual/net"
    return {
        **card,
        **netdev("eth0", master="-> ../../../../../virtual/net/bond0"),
        "/sys/class/net/bond0": "-> ../../devices/virtual/net/bond0",
        "/sys/class/net/bond0.7": "-> ../../devices/virtual/net/bond0.7",
        "/sys/class/net/storage": "-> ../../devices/virtual/net/storage",
        f"{virtual}/bond0/bonding/slaves": "eth0 eth1",
        f"{virtual}/bond0/upper_bond0.7": "-> ../bond0.7",
        f"{virtual}/bond0/upper_br0": "-> ../br0",
        f"{virtual}/br0/uevent": "DEVTYPE=bridge\nINTERFACE=br0",
        f"{virtual}/bond0.7/uevent": "DEVTYPE=vlan\nINTERFACE=bond0.7",
        f"{SYS}/net/eth0/upper_storage": "-> ../../../../../virtual/net/storage",
        f"{virtual}/storage/uevent": "DEVTYPE=vlan\nINTERFACE=storage",
    }


VLANS = "VLAN Dev name    | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD"


def test_bond_and_vlans(grow: Any, bonded: Any) -> None:
    config = f"{VLANS}\nbond0.7        | 7  | bond0\nstorage        | 4000  | eth0\neth9.3         | 3  | eth9"
    one = only(grow({**bonded, "/proc/net/vlan/config": config}))
    assert one["netdevs"][0]["bond"] == "bond0"
    assert one["netdevs"][0]["vlans"] == [{"name": "bond0.7", "id": 7}, {"name": "storage", "id": 4000}]
    assert one["unknown"] == {}


def test_the_numbers_of_vlans_are_for_root(grow: Any, bonded: Any) -> None:
    one = only(grow({**bonded, "/proc/net/vlan/config": VLANS}, broken="vlan/config"))
    assert one["netdevs"][0]["vlans"] == [{"name": "bond0.7", "id": None}, {"name": "storage", "id": None}]
    reason = "/proc/net/vlan/config cannot be read (Input/output error)"
    assert one["unknown"] == {"netdevs.0.vlans.0.id": reason, "netdevs.0.vlans.1.id": reason}


def test_a_vlan_table_that_is_none(grow: Any, bonded: Any) -> None:
    one = only(grow({**bonded, "/proc/net/vlan/config": f"{VLANS}\nbond0.7 7 bond0"}))
    assert one["unknown"]["netdevs.0.vlans.0.id"] == "/proc/net/vlan/config unexpected content 'bond0.7 7 bond0'"


def test_a_bridge_is_no_bond(grow: Any, card: Any) -> None:
    files = {
        **card,
        **netdev("eth0", master="-> ../../../../../virtual/net/br0"),
        "/sys/class/net/br0": "-> ../../devices/virtual/net/br0",
        "/sys/devices/virtual/net/br0/bridge/bridge_id": "8000.000000000000",
    }
    assert only(grow(files))["netdevs"][0]["bond"] is None


def test_members_named_by_the_bond_alone(grow: Any, card: Any) -> None:
    files = {
        **card,
        **netdev("eth0"),
        "/sys/class/net/bonding_masters": "bond0 bond1",
        "/sys/class/net/bond1": "-> ../../devices/virtual/net/bond1",
        "/sys/devices/virtual/net/bond1/bonding/slaves": "eth0",
    }
    assert only(grow(files))["netdevs"][0]["bond"] == "bond1"


def test_the_model_of_a_virtual_function_is_its_parents(grow: Any, card: Any, pci_function: Any) -> None:
    virtual = pci_function(PLACE.replace("00.0", "00.1"), "15b3", "101e", "020700", physfn="-> ../0000:11:00.0")
    found, _unknown = observed(grow({**card, **virtual}))
    assert [(one["id"], one["model"]) for one in found] == [
        ("0000:11:00.0", "ConnectX-7"),
        ("0000:11:00.1", "ConnectX-7"),
    ]
    assert found[1]["sriov"]["physical_function"] == "0000:11:00.0"


def test_makers_and_models_that_are_not_known(grow: Any, pci_function: Any) -> None:
    files = {
        **pci_function("pci0000:00/0000:00:01.0", "abcd", "0001", "020000"),
        **pci_function("pci0000:00/0000:00:02.0", "8086", "0001", "028000"),
        "/sys/class/net": None,
    }
    found, _unknown = observed(grow(files))
    assert [(one["maker"], one["model"]) for one in found] == [(None, None), ("intel", None)]
    assert found[0]["unknown"]["maker"] == "PCI vendor abcd is not in the table of NIC makers"
    assert found[1]["unknown"]["model"] == "8086:0001 is not in the table of NIC models"


def test_which_functions_are_nics(grow: Any, pci_function: Any) -> None:
    files: dict[str, Any] = {"/sys/class/net": None}
    classes = ("020000", "020700", "0c0600", "120000", "030200", "0b4000", "010802", "068000", "0c0330")
    for number, pci_class in enumerate(classes):
        place = f"pci0000:00/0000:00:{number:02x}.0"
        files.update(pci_function(place, "15b3", "1021", pci_class))
        files.update(rdma(f"rdma{number}", place))
    host = grow(files)
    found, _unknown = observed(host)
    assert [one["pci"]["class"] for one in found] == ["020000", "020700", "0c0600", "010802", "068000", "0c0330"]


def test_a_function_without_class_is_a_nic_by_its_rdma_device(grow: Any, card: Any) -> None:
    one = only(grow({**card, **rdma("mlx5_0")}, broken=f"{PLACE}/class"))
    assert one["unknown"] == {"pci.class": "cannot be read (Input/output error)"}


def test_below_virtio_and_deeper(grow: Any, pci_function: Any) -> None:
    place = "pci0000:00/0000:00:03.0"
    files = {**pci_function(place, "1af4", "1041", "020000"), **netdev("eth0", f"{place}/virtio2")}
    one = only(grow(files))
    assert (one["maker"], one["model"], one["netdevs"][0]["name"]) == ("virtio", "virtio-net", "eth0")


def test_usb_and_virtual_network_devices_are_none(grow: Any, card: Any, pci_function: Any) -> None:
    usb = "pci0000:00/0000:00:14.0"
    files = {
        **card,
        **pci_function(usb, "8086", "a36d", "0c0330"),
        **netdev("usb0", f"{usb}/usb1/1-1/1-1:1.0"),
        "/sys/class/infiniband/rxe0": "-> ../../devices/virtual/infiniband/rxe0",
        "/sys/devices/virtual/infiniband/rxe0/ports/1/state": "4: ACTIVE",
    }
    one = only(grow(files))
    assert one["netdevs"] == one["rdma"] == []


def test_a_flat_tree_with_device_links(grow: Any) -> None:
    bus = "/sys/bus/pci/devices/0000:11:00.0"
    files = {
        f"{bus}/vendor": "0x15b3",
        f"{bus}/device": "0x1021",
        f"{bus}/class": "0x020700",
        "/sys/class/net/ib0/device": "-> ../../../bus/pci/devices/0000:11:00.0",
        "/sys/class/net/ib0/mtu": "2044",
        "/sys/class/infiniband/mlx5_0/device": "-> ../../../bus/pci/devices/0000:11:00.0",
        "/sys/class/infiniband/mlx5_0/ports/1/state": "2: INIT",
    }
    one = only(grow(files))
    assert one["netdevs"][0]["mtu"] == 2044
    assert one["rdma"][0]["state"] == "init"
    assert one["path"] is None


def test_a_tree_without_classes(grow: Any, pci_function: Any) -> None:
    one = only(grow(pci_function(PLACE, "15b3", "1021", "020700")))
    assert one["netdevs"] is one["rdma"] is None
    assert one["unknown"]["netdevs"] == "/sys/class/net not there"
    assert one["unknown"]["rdma"] == "/sys/class/infiniband not there"


def test_a_tree_without_classes_that_has_the_devices_below_the_function(grow: Any, card: Any) -> None:
    files = {path: text for path, text in {**card, **netdev("eth0"), **rdma("mlx5_0")}.items() if "/class/" not in path}
    one = only(grow({**files, f"{SYS}/class": card[f"{SYS}/class"]}))
    assert one["netdevs"][0]["mtu"] == 9000
    assert one["rdma"][0]["rate_gbps"] == 400.0


def test_no_rdma_driver_is_no_rdma_device(grow: Any, card: Any) -> None:
    one = only(grow({**card, **netdev("eth0")}))
    assert one["rdma"] == []


def test_off_pci(grow: Any) -> None:
    place = "platform/HISI00D1:00"
    files = {
        "/sys/bus/pci/devices": None,
        **rdma("hns_0", place, link_layer="Ethernet"),
        **netdev("eth0", place),
        **netdev("eth1", "platform/HISI00C2:00"),
        f"/sys/devices/{place}/numa_node": "2",
        f"/sys/devices/{place}/driver": "-> ../../../bus/platform/drivers/hns_roce",
        "/sys/bus/platform/drivers/hns_roce": None,
    }
    one = only(grow(files))
    assert (one["id"], one["numa_node"], one["driver"]["name"]) == ("platform/HISI00D1:00", 2, "hns_roce")
    assert one["pci"] is one["path"] is one["link"] is None
    assert one["unknown"]["pci"] == "not on PCI"
    assert [row["name"] for row in one["netdevs"]] == ["eth0"]
    assert one["rdma"][0]["protocol"] == "roce"


def test_rdma_folders_without_links(grow: Any) -> None:
    files = {
        "/sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
        "/sys/class/infiniband/mlx5_0/hca_type": "MT4129",
        "/sys/class/infiniband/notes/readme": "no device",
    }
    one = only(grow(files))
    assert (one["id"], one["maker"], one["model"]) == ("class/infiniband/mlx5_0", "nvidia", "ConnectX-7")
    nulls = {key for key in one if one[key] is None}
    assert nulls == {"numa_node", "cpus", "pci", "path", "link", "sriov", "netdevs"}
    assert nulls <= set(one["unknown"])


def test_nothing_to_look_at(grow: Any) -> None:
    assert nics.observe(grow({}), {}) == (None, {"nics": "/sys/bus/pci/devices not there"})
    assert nics.observe(grow({"/sys/bus/pci/devices": None}), {}) == ([], {})


def test_a_loop_of_links_is_told(grow: Any, card: Any) -> None:
    found, unknown = observed(grow({**card, **netdev("eth0"), "/sys/class/net/eth1": "-> eth1"}))
    assert [row["name"] for row in found[0]["netdevs"]] == ["eth0"]
    assert set(unknown) == {"nics.eth1"}
    assert "symbolic links" in unknown["nics.eth1"]


def test_a_device_that_is_gone_between_listing_and_reading(grow: Any, card: Any) -> None:
    found, unknown = observed(grow({**card, "/sys/class/net/eth1": f"-> ../../devices/{PLACE}/net/eth1"}))
    assert (found[0]["netdevs"], unknown) == ([], {})
    vanishing = only(grow({**netdev("eth0"), **rdma("mlx5_0")}, gone="/(net|infiniband)/"))
    assert vanishing["unknown"] == {
        **{f"netdevs.0.{key}": "not there" for key in ("mtu", "speed_mbps", "state")},
        **{f"rdma.0.{key}": "not there" for key in ("state", "rate_gbps")},
        "rdma.0.protocol": "link_layer not there",
    }


def test_files_that_fail(grow: Any, card: Any) -> None:
    one = only(grow({**card, **netdev("eth0"), **rdma("mlx5_0")}, broken="/(net|infiniband)/"))
    why = "cannot be read (Input/output error)"
    assert one["unknown"] == {
        **{f"netdevs.0.{key}": why for key in ("mtu", "speed_mbps", "state")},
        **{f"rdma.0.{key}": why for key in ("state", "rate_gbps")},
        "rdma.0.protocol": f"link_layer {why}",
    }


def test_bytes_that_are_no_text(grow: Any, card: Any) -> None:
    files = {**card, **netdev("eth0"), f"{SYS}/net/eth0/mtu": b"\xff\n", **rdma("mlx5_0")}
    files[f"{SYS}/infiniband/mlx5_0/ports/1/link_layer"] = b"\xfe"
    one = only(grow(files))
    assert one["unknown"] == {"netdevs.0.mtu": "not UTF-8 text", "rdma.0.protocol": "link_layer not UTF-8 text"}


def test_this_machine() -> None:
    host = Host("/")
    found, unknown = nics.observe(host, pci.functions(host)[0] or {})
    assert (found is None) == ("nics" in unknown)
