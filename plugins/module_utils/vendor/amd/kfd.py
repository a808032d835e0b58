# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The KFD topology of AMD's driver: its nodes, their memory and the links between them.

Source: Linux 6.18 ``drivers/gpu/drm/amd/amdkfd/kfd_topology.c`` and ``kfd_crat.h`` (link types, weights).
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from ...codec.sysfs import properties
from ...host.door import Host

NODES = "/sys/class/kfd/kfd/topology/nodes"
PCIE, XGMI = 2, 11  # CRAT_IOLINK_TYPE_PCIEXPRESS, CRAT_IOLINK_TYPE_XGMI
_HOP = 15  # KFD_CRAT_XGMI_WEIGHT
_INSIDE = 13  # KFD_CRAT_INTRA_SOCKET_WEIGHT: between two partitions of one device


class KfdLink(NamedTuple):
    """A link as KFD lists it. ``kind`` is the CRAT type; weights are relative costs."""

    node: int
    peer: int
    kind: int
    weight: int


class KfdNode(NamedTuple):
    """A node: a socket (no SIMDs), a GPU, or both (an APU).

    ``address`` is the PCI address of a GPU as KFD counts it: in a partitioned mode its last digit is the partition,
    which drivers have kept in the lowest bits of ``location_id`` or, at times, in its highest four.
    ``memory_bytes`` is its own memory; ids that are 0 in sysfs are None.
    """

    node: int
    is_gpu: bool
    cpu_cores: int
    address: Optional[str]
    unique_id: Optional[int]
    hive_id: Optional[int]
    render_minor: Optional[int]
    memory_bytes: Optional[int]
    links: tuple[KfdLink, ...]

    @property
    def parent_address(self) -> str | None:
        """The PCI function that a partition belongs to."""
        return None if self.address is None else f"{self.address[:-1]}0"


def topology(host: Host) -> tuple[list[KfdNode] | None, str | None]:
    """Every KFD node in order; None and the reason when the driver shows none or a node makes no sense."""
    names = host.list(NODES)
    if names.value is None:
        return None, f"{NODES} {names.reason}"
    found = []
    for number in sorted(int(name) for name in names.value if name.isascii() and name.isdigit()):
        text = host.read(f"{NODES}/{number}/properties")
        if text.value is None:
            return None, f"{NODES}/{number}/properties {text.reason}"
        try:
            found.append(_node(host, number, properties(text.value)))
        except ValueError as error:
            return None, f"{NODES}/{number}: unexpected content {str(error)[:40]!r}"
    return found, None


def _node(host: Host, number: int, seen: dict[str, int]) -> KfdNode:
    if not {"simd_count", "cpu_cores_count"} <= seen.keys():
        raise ValueError("no simd_count or no cpu_cores_count")
    is_gpu = seen["simd_count"] > 0
    location = seen.get("location_id", 0)
    address = None
    if is_gpu:
        part = location >> 28 or location & 7
        address = f"{seen.get('domain', 0):04x}:{location >> 8 & 255:02x}:{location >> 3 & 31:02x}.{part:x}"
    return KfdNode(
        number,
        is_gpu,
        seen["cpu_cores_count"],
        address,
        seen.get("unique_id") or None,
        seen.get("hive_id") or None,
        seen.get("drm_render_minor") or None,
        _memory(host, number) if is_gpu else None,
        read_links(host, number, "io_links"),
    )


def _memory(host: Host, number: int) -> int | None:
    """Bytes in the banks of device memory (heap types 1 public, 2 private)."""
    base = f"{NODES}/{number}/mem_banks"
    total = 0
    for bank in host.list(base).value or ():
        text = host.read(f"{base}/{bank}/properties").value
        if text is None:
            return None
        seen = properties(text)
        if seen.get("heap_type") in (1, 2):
            total += seen.get("size_in_bytes", 0)
    return total or None


def read_links(host: Host, number: int, folder: str) -> tuple[KfdLink, ...]:
    """The links of a node in ``io_links`` (its own) or ``p2p_links`` (through others, which no fact is made of)."""
    base = f"{NODES}/{number}/{folder}"
    found = []
    for name in sorted(host.list(base).value or (), key=lambda text: (len(text), text)):
        text = host.read(f"{base}/{name}/properties").value
        if text is not None:
            seen = properties(text)
            if not {"node_to", "type", "weight"} <= seen.keys():
                raise ValueError(text)
            found.append(KfdLink(number, seen["node_to"], seen["type"], seen["weight"]))
    return tuple(found)


def hops(weight: int) -> int | None:
    """XGMI hops of a link's weight: 15 a hop, and 13 at either end that is a partition; None for another sum."""
    between = weight - 2 * _INSIDE if weight % _HOP else weight
    return between // _HOP if between > 0 and between % _HOP == 0 else None
