# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AMD's kernel drivers tell: amdgpu attributes, the KFD topology, the NPU driver.

Source: Linux 6.18 ``Documentation/gpu/amdgpu`` and ``drivers/accel/amdxdna``. Looked at 2026-12-01.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

from ...codec.sysfs import integer
from ...host.door import Host
from ...model.answer import Book
from ...model.device import NEEDS_TOOL, Told
from ...model.pci import Function
from .kfd import XGMI, KfdNode, hops, topology

_NPU_VENDOR = "1022"
_NO_GPU_TRAIT = "this device has none"


def observe(host: Host, devices: Sequence[Function], functions: Mapping[str, Function]) -> Told:
    """Memory, ids, firmware, partitions and XGMI links of each device."""
    gpus = [function for function in devices if function.vendor_id != _NPU_VENDOR]
    nodes, reason = topology(host) if gpus else ([], None)
    links, links_reason = _links(nodes or []), None
    if gpus and nodes is None:
        links_reason = f"xgmi: {reason}"
    told = Told({}, {}, {}, ("/dev/kfd",) if gpus else (), tuple(links), links_reason)
    for index, function in enumerate(devices):
        book = Book()
        mine = [node for node in nodes or [] if node.parent_address == function.id or node.address == function.id]
        if function.vendor_id == _NPU_VENDOR:
            told.fields[function.id] = _npu(host, function, book)
        else:
            told.fields[function.id] = _gpu(host, function, index, mine, reason, book)
        told.unknown[function.id] = book.unknown
        told.nodes[function.id] = []
    return told


def _text(value: str) -> str:
    if not value:
        raise ValueError(value)
    return value


def _mib(value: str) -> int:
    return integer(value) // (1024 * 1024)


def _hex16(value: str) -> str:
    if not int(value, 16):
        raise ValueError(value)
    return value.lower()


def _gpu(
    host: Host, function: Function, index: int, mine: list[KfdNode], reason: Optional[str], book: Book
) -> dict[str, Any]:
    def seen(key: str, file: str, parse: Any) -> Any:
        return book.take(key, host.read(f"{function.place}/{file}"), parse)

    fields: dict[str, Any] = {
        "uuid": seen("uuid", "unique_id", _hex16),
        "serial": seen("serial", "serial_number", _text),
        "memory_mib": seen("memory_mib", "mem_info_vram_total", _mib),
        "firmware": {"vbios": seen("firmware.vbios", "vbios_version", _text), **_firmware(host, function)},
        "partition_mode": {
            "compute": seen("partition_mode.compute", "current_compute_partition", _text),
            "memory": seen("partition_mode.memory", "current_memory_partition", _text),
        },
        "partitions": _partitions(index, mine),
        "fabric": _fabric(mine, reason, book),
        "peer_memory": None,
    }
    name = host.read(f"{function.place}/product_name").value
    if name:
        fields["model"] = name
    if mine:
        fields["integrated"] = any(node.cpu_cores for node in mine)
    if reason is not None:
        book.miss("partitions", reason)
        fields["partitions"] = None
    book.miss("peer_memory", NEEDS_TOOL)
    return fields


def _firmware(host: Host, function: Function) -> dict[str, str]:
    """``fw_version/smc_fw_version`` and its like: the versions of the blocks' microcode."""
    names = host.list(f"{function.place}/fw_version").value or ()
    found = {}
    for name in names:
        version = host.read(f"{function.place}/fw_version/{name}").value
        if name.endswith("_fw_version") and version:
            found[name[: -len("_fw_version")]] = version
    return found


def _partitions(index: int, mine: list[KfdNode]) -> list[dict[str, Any]]:
    """A device in SPX mode is one KFD node and has none; more nodes with distinct addresses are its partitions."""
    by_address = {node.address: node for node in reversed(mine)}
    if len(by_address) < 2:
        return []
    return [
        _partition(index, number, by_address[address]) for number, address in enumerate(sorted(map(str, by_address)))
    ]


def _partition(index: int, number: int, node: KfdNode) -> dict[str, Any]:
    unknown = {} if node.memory_bytes else {"memory_mib": "KFD lists no memory of its own"}
    unknown["uuid"] = "KFD gives partitions no id of their own"
    return {
        "id": f"{index}:{number}",
        "kind": "xcp",
        "uuid": None,
        "memory_mib": node.memory_bytes // (1024 * 1024) if node.memory_bytes else None,
        "nodes": [] if node.render_minor is None else [f"/dev/dri/renderD{node.render_minor}"],
        "unknown": unknown,
    }


def _fabric(mine: list[KfdNode], reason: Optional[str], book: Book) -> dict[str, Any] | None:
    if reason is not None or not mine:
        book.miss("fabric", reason or "KFD does not list this device")
        return None
    hives = {node.hive_id for node in mine if node.hive_id}
    if not hives:
        book.miss("fabric", "KFD lists no hive: this device has no XGMI link")
        return None
    book.miss("fabric.state", NEEDS_TOOL)
    return {"kind": "xgmi", "state": None, "clique": f"{min(hives):016x}"}


def _links(nodes: list[KfdNode]) -> Iterable[dict[str, Any]]:
    """One row for each pair of devices that share an XGMI link; the fewest hops of their partitions count."""
    address = {node.node: node.parent_address for node in nodes if node.is_gpu}
    best: dict[tuple[str, str], Optional[int]] = {}
    for node in nodes:
        for link in node.links:
            ends = sorted({address.get(link.node) or "", address.get(link.peer) or ""})
            if link.kind == XGMI and len(ends) == 2 and ends[0]:
                pair, count = (ends[0], ends[1]), hops(link.weight)
                known = best.get(pair)
                best[pair] = count if known is None else known if count is None else min(known, count)
    return [_row(pair, best[pair]) for pair in sorted(best)]


def _row(pair: tuple[str, str], count: Optional[int]) -> dict[str, Any]:
    unknown = {"count": "KFD does not count links", "state": "KFD does not tell"}
    if count is None:
        unknown["hops"] = "KFD's weight is no sum of hops"
    return {"a": pair[0], "b": pair[1], "kind": "xgmi", "hops": count, "count": None, "state": None, "unknown": unknown}


def _npu(host: Host, function: Function, book: Book) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "integrated": True,
        "firmware": {"npu": book.take("firmware.npu", host.read(f"{function.place}/fw_version"), _text)},
        "partitions": [],
        "fabric": None,
        "partition_mode": {"compute": None, "memory": None},
        "uuid": None,
        "serial": None,
        "memory_mib": None,
        "peer_memory": None,
    }
    for key in ("fabric", "partition_mode.compute", "partition_mode.memory", "uuid", "serial", "peer_memory"):
        book.miss(key, _NO_GPU_TRAIT)
    book.miss("memory_mib", "uses the memory of the system")
    return fields
