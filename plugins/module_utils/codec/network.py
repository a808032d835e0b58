# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel writes about network and RDMA devices into values, and NIC ids into names.

Each function raises ValueError for what it does not understand.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

# Makers of network functions by PCI vendor id.
# Source: pci.ids 2023-04-10, drivers/net and drivers/infiniband of Linux 6.12; read 2026-11.
MAKERS = {
    "1014": "ibm",
    "1077": "marvell",
    "10df": "broadcom",
    "10ec": "realtek",
    "1137": "cisco",
    "1414": "microsoft",
    "1425": "chelsio",
    "14c3": "mediatek",
    "14e4": "broadcom",
    "15ad": "vmware",
    "15b3": "nvidia",
    "168c": "qualcomm",
    "177d": "marvell",
    "17cb": "qualcomm",
    "17db": "hpe",
    "1924": "amd",
    "19e5": "huawei",
    "1ae0": "google",
    "1af4": "virtio",
    "1d0f": "amazon",
    "1d6a": "marvell",
    "1dd8": "amd",
    "1ded": "alibaba",
    "1fc1": "qlogic",
    "434e": "cornelis",
    "8086": "intel",
    "8088": "wangxun",
}

# Models by PCI vendor and device id: what clusters with accelerators have, and the common onboard ports.
# Source: pci.ids 2023-04-10; ConnectX-9, EFA 3, MANA, Thor 2, E830, IPU and Cassini: the device tables of mlx5_core,
# efa, mana, bnxt_en, ice, idpf (Linux 6.12 to 6.17) and of HPE's cxi driver; read 2026-11.
MODELS = {
    "1077:7322": "TrueScale QDR",
    "1077:1634": "FastLinQ QL45000",
    "1077:1644": "FastLinQ QL45000",
    "1077:1654": "FastLinQ QL45000",
    "1077:1656": "FastLinQ QL45000",
    "1077:8070": "FastLinQ QL41000",
    "10ec:8125": "RTL8125",
    "1414:00b9": "MANA",
    "1414:00ba": "MANA",
    "14e4:165f": "BCM5720",
    "14e4:1657": "BCM5719",
    "14e4:16d6": "BCM57412",
    "14e4:16d7": "BCM57414",
    "14e4:16d8": "BCM57416",
    "14e4:16d9": "BCM57417",
    "14e4:1750": "BCM57508 (Thor)",
    "14e4:1751": "BCM57504 (Thor)",
    "14e4:1752": "BCM57502 (Thor)",
    "14e4:1760": "BCM57608 (Thor 2)",
    "15ad:07b0": "VMXNET3",
    "15b3:1003": "ConnectX-3",
    "15b3:1007": "ConnectX-3 Pro",
    "15b3:1013": "ConnectX-4",
    "15b3:1014": "ConnectX-4",
    "15b3:1015": "ConnectX-4 Lx",
    "15b3:1016": "ConnectX-4 Lx",
    "15b3:1017": "ConnectX-5",
    "15b3:1018": "ConnectX-5",
    "15b3:1019": "ConnectX-5 Ex",
    "15b3:101a": "ConnectX-5 Ex",
    "15b3:101b": "ConnectX-6",
    "15b3:101c": "ConnectX-6",
    "15b3:101d": "ConnectX-6 Dx",
    "15b3:101f": "ConnectX-6 Lx",
    "15b3:1021": "ConnectX-7",
    "15b3:1023": "ConnectX-8",
    "15b3:1025": "ConnectX-9",
    "15b3:6746": "ConnectX-2",
    "15b3:a2d2": "BlueField",
    "15b3:a2d6": "BlueField-2",
    "15b3:a2d9": "BlueField-3 Lx",
    "15b3:a2dc": "BlueField-3",
    "15b3:a2df": "BlueField-4",
    "17db:0501": "Slingshot (Cassini)",
    "19e5:a222": "HNS RDMA",
    "19e5:a224": "HNS RDMA",
    "19e5:a226": "HNS RDMA",
    "1ae0:0042": "gVNIC",
    "1af4:1000": "virtio-net",
    "1af4:1041": "virtio-net",
    "1d0f:ec20": "ENA",
    "1d0f:efa0": "EFA",
    "1d0f:efa1": "EFA",
    "1d0f:efa2": "EFA",
    "1d0f:efa3": "EFA",
    "1dd8:1002": "Pensando DSC",
    "1dd8:1003": "Pensando DSC",
    "1ded:107f": "eRDMA",
    "1ded:5007": "eRDMA",
    "8086:10c9": "82576",
    "8086:10fb": "82599ES",
    "8086:12d2": "E830",
    "8086:12d3": "E830",
    "8086:1452": "IPU E2000",
    "8086:145c": "IPU E2000",
    "8086:1521": "I350",
    "8086:1533": "I210",
    "8086:1563": "X550",
    "8086:1572": "X710",
    "8086:1583": "XL710",
    "8086:1584": "XL710",
    "8086:158a": "XXV710",
    "8086:158b": "XXV710",
    "8086:1591": "E810-C",
    "8086:1592": "E810-C",
    "8086:1593": "E810-C",
    "8086:1599": "E810-XXV",
    "8086:159a": "E810-XXV",
    "8086:159b": "E810-XXV",
    "8086:15ff": "X710",
    "8086:24f0": "Omni-Path 100",
    "8086:24f1": "Omni-Path 100",
}

# RDMA drivers whose ports are Omni-Path although the kernel calls their link layer InfiniBand.
_OMNIPATH_DRIVERS = ("hfi1", "hfi2")
_MLX_DRIVERS = ("mlx4_core", "mlx5_core")

_RATE = re.compile(r"(\d+(?:\.\d+)?) Gb/sec(?: \(.*\))?\Z", re.ASCII)
_STATE = re.compile(r"\d+: ([A-Z_]+)\Z", re.ASCII)
_MT = re.compile(r"MT(\d{4,5})\Z", re.ASCII)

MLX_VENDOR = "15b3"
"""The PCI vendor of all that mlx4 and mlx5 drive."""


class Vlan(NamedTuple):
    """One row of ``/proc/net/vlan/config``."""

    name: str
    id: int
    parent: str


def maker(vendor_id: Optional[str]) -> tuple[Optional[str], Optional[str]]:
    """Who made a network function, or None and the reason."""
    if vendor_id is None:
        return None, "the PCI vendor id is unknown"
    if vendor_id not in MAKERS:
        return None, f"PCI vendor {vendor_id} is not in the table of NIC makers"
    return MAKERS[vendor_id], None


def model(vendor_id: Optional[str], device_id: Optional[str]) -> tuple[Optional[str], Optional[str]]:
    """The model of a network function, or None and the reason."""
    if vendor_id is None or device_id is None:
        return None, "the PCI ids are unknown"
    ids = f"{vendor_id}:{device_id}"
    if ids not in MODELS:
        return None, f"{ids} is not in the table of NIC models"
    return MODELS[ids], None


def device_of_hca_type(text: str) -> str:
    """The PCI device id in an ``hca_type`` of mlx4 or mlx5 (``MT4129`` is device 0x1021), four hex digits."""
    match = _MT.match(text)
    if match is None or int(match.group(1)) > 0xFFFF:
        raise ValueError(text)
    return f"{int(match.group(1)):04x}"


def rate_gbps(text: str) -> float:
    """``400 Gb/sec (4X NDR)`` as 400.0."""
    match = _RATE.match(text)
    if match is None:
        raise ValueError(text)
    return float(match.group(1))


def port_state(text: str) -> str:
    """``4: ACTIVE`` as ``active``."""
    match = _STATE.match(text)
    if match is None:
        raise ValueError(text)
    return match.group(1).lower()


def is_adapter_class(pci_class: Optional[str]) -> bool:
    """Whether a PCI class is that of a network or InfiniBand controller (02 and 0c06)."""
    return pci_class is not None and pci_class.startswith(("02", "0c06"))


def protocol(
    link_layer: str,
    node_type: Optional[str],
    driver: Optional[str],
    board_id: Optional[str] = None,
    hca_type: Optional[str] = None,
) -> str:
    """``infiniband``, ``roce``, ``iwarp`` or ``omnipath``.

    ``node_type`` is the kernel's (``1: CA``, ``4: RNIC``; None where it was not found), ``driver`` that of the
    function; where there is none, the texts of ``board_id`` and ``hca_type`` stand in. Ethernet without a node
    type can be RoCE or iWARP: ValueError, except for mlx4 and mlx5, which have no iWARP.
    """
    kind = None if node_type is None else node_type.partition(":")[0].strip()
    if link_layer == "InfiniBand":
        is_omnipath = driver in _OMNIPATH_DRIVERS or (driver is None and "Omni-Path" in (board_id or ""))
        return "omnipath" if is_omnipath else "infiniband"
    if link_layer == "Ethernet":
        if kind == "4":
            return "iwarp"
        if kind == "1" or (kind is None and (driver in _MLX_DRIVERS or _MT.match(hca_type or "") is not None)):
            return "roce"
    raise ValueError(f"link layer {link_layer}, node type {node_type}")


def vlans(text: str) -> list[Vlan]:
    """The rows of ``/proc/net/vlan/config`` below its two heading lines."""
    found = []
    for line in text.splitlines()[2:]:
        parts = [part.strip() for part in line.rsplit("|", 2)]
        if len(parts) != 3 or not parts[0] or not parts[2] or not parts[1].isdigit():
            raise ValueError(line)
        found.append(Vlan(parts[0], int(parts[1]), parts[2]))
    return found
