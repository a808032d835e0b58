# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel writes about network and RDMA devices into values, and NIC ids into names.

Each function raises ValueError for what it does not understand.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

from ..model.answer import Answer

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
_MODELS = """
TrueScale QDR: 1077 7322
FastLinQ QL45000: 1077 1634 1644 1654 1656
FastLinQ QL41000: 1077 8070
RTL8125: 10ec 8125
MANA: 1414 00b9 00ba
BCM5720: 14e4 165f
BCM5719: 14e4 1657
BCM57412: 14e4 16d6
BCM57414: 14e4 16d7
BCM57416: 14e4 16d8
BCM57417: 14e4 16d9
BCM57508 (Thor): 14e4 1750
BCM57504 (Thor): 14e4 1751
BCM57502 (Thor): 14e4 1752
BCM57608 (Thor 2): 14e4 1760
VMXNET3: 15ad 07b0
ConnectX-3: 15b3 1003
ConnectX-3 Pro: 15b3 1007
ConnectX-4: 15b3 1013 1014
ConnectX-4 Lx: 15b3 1015 1016
ConnectX-5: 15b3 1017 1018
ConnectX-5 Ex: 15b3 1019 101a
ConnectX-6: 15b3 101b 101c
ConnectX-6 Dx: 15b3 101d
ConnectX-6 Lx: 15b3 101f
ConnectX-7: 15b3 1021
ConnectX-8: 15b3 1023
ConnectX-9: 15b3 1025
ConnectX-2: 15b3 6746
BlueField: 15b3 a2d2
BlueField-2: 15b3 a2d6
BlueField-3 Lx: 15b3 a2d9
BlueField-3: 15b3 a2dc
BlueField-4: 15b3 a2df
Slingshot (Cassini): 17db 0501
HNS RDMA: 19e5 a222 a224 a226
gVNIC: 1ae0 0042
virtio-net: 1af4 1000 1041
ENA: 1d0f ec20
EFA: 1d0f efa0 efa1 efa2 efa3
Pensando DSC: 1dd8 1002 1003
eRDMA: 1ded 107f 5007
82576: 8086 10c9
82599ES: 8086 10fb
E830: 8086 12d2 12d3
IPU E2000: 8086 1452 145c
I350: 8086 1521
I210: 8086 1533
X550: 8086 1563
X710: 8086 1572 15ff
XL710: 8086 1583 1584
XXV710: 8086 158a 158b
E810-C: 8086 1591 1592 1593
E810-XXV: 8086 1599 159a 159b
Omni-Path 100: 8086 24f0 24f1
"""
MODELS = {
    f"{vendor}:{device}": name
    for name, _colon, ids in (row.partition(": ") for row in _MODELS.strip().splitlines())
    for vendor, *devices in [ids.split()]
    for device in devices
}

# RDMA drivers whose ports are Omni-Path although the kernel calls their link layer InfiniBand.
_OMNIPATH_DRIVERS = ("hfi1", "hfi2")
_MLX_DRIVERS = ("mlx4_core", "mlx5_core")

_RATE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?) Gb/sec(?: \(.*\))?\Z", re.ASCII)
_STATE = re.compile(r"\d+: ([A-Z_]+)\Z", re.ASCII)
_MT = re.compile(r"MT(\d{4,5})\Z", re.ASCII)

MLX_VENDOR = "15b3"
"""The PCI vendor of all that mlx4 and mlx5 drive."""


class Vlan(NamedTuple):
    """One row of ``/proc/net/vlan/config``."""

    name: str
    id: int
    parent: str


def maker(vendor_id: Optional[str]) -> Answer:
    """Who made a network function."""
    if vendor_id is None:
        return Answer(None, "the PCI vendor id is unknown")
    known = MAKERS.get(vendor_id)
    return Answer(known, None if known else f"PCI vendor {vendor_id} is not in the table of NIC makers")


def model(vendor_id: Optional[str], device_id: Optional[str]) -> Answer:
    """The model of a network function."""
    if vendor_id is None or device_id is None:
        return Answer(None, "the PCI ids are unknown")
    ids = f"{vendor_id}:{device_id}"
    return Answer(MODELS.get(ids), None if ids in MODELS else f"{ids} is not in the table of NIC models")


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
        if len(parts) != 3 or not parts[0] or not parts[2] or not re.match(r"[0-9]{1,4}\Z", parts[1]):
            raise ValueError(line)
        found.append(Vlan(parts[0], int(parts[1]), parts[2]))
    return found
