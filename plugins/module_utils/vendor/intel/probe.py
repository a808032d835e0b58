# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Intel's kernel drivers i915, xe and intel_vpu tell.

Source: Linux 6.18 ``Documentation/ABI/testing/sysfs-driver-intel-*`` and ``drivers/accel/ivpu/ivpu_sysfs.c``;
``lmem_total_bytes`` stands in Intel's out-of-tree i915 (``I915_23WW*``), ``physical_vram_size_bytes`` in xe of
Linux 6.8. Looked at 2026-12-01.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...codec.sysfs import integer
from ...host.door import Host
from ...model.answer import Answer, Book
from ...model.device import NEEDS_TOOL, Told
from ...model.pci import Function

_MAX_SERIES = ("0b69", "0b6e", "0bd")  # Ponte Vecchio: the GPUs that have Xe Link
_CARDS = (*_MAX_SERIES, "56", "e20", "e21", "e22", "225", "2262")  # with Alchemist, Flex, Battlemage and Xeon Phi


def observe(host: Host, devices: Sequence[Function], functions: Mapping[str, Function]) -> Told:
    """Memory and what else the drivers show of each device."""
    told = Told({}, {}, {}, (), (), None)
    for function in devices:
        book = Book()
        told.fields[function.id] = _device(host, function, book)
        told.unknown[function.id] = book.unknown
        told.nodes[function.id] = []
    if any((function.device_id or "").startswith(_MAX_SERIES) for function in devices):
        return told._replace(links_unknown=f"scaleup: {NEEDS_TOOL}")
    return told


def _device(host: Host, function: Function, book: Book) -> dict[str, Any]:
    is_gpu = (function.pci_class or "")[:2] == "03"
    fields: dict[str, Any] = {
        "integrated": _is_integrated(function, is_gpu, book),
        "uuid": book.miss("uuid", NEEDS_TOOL),
        "serial": book.miss("serial", NEEDS_TOOL),
        "partitions": [],
        "partition_mode": {"compute": None, "memory": None},
        "peer_memory": book.miss("peer_memory", NEEDS_TOOL),
        "firmware": {},
        "fabric": None,
    }
    for key in ("partition_mode.compute", "partition_mode.memory"):
        book.miss(key, "this maker has no such mode")
    if (function.device_id or "").startswith(_MAX_SERIES):
        fields["fabric"] = {"kind": "scaleup", "state": None, "clique": None}
        book.miss("fabric.state", NEEDS_TOOL)
        book.miss("fabric.clique", NEEDS_TOOL)
    else:
        book.miss("fabric", "this device has none")
    if fields["integrated"]:
        fields["memory_mib"] = book.miss("memory_mib", "uses the memory of the system")
    else:
        fields["memory_mib"] = book.take("memory_mib", _memory_bytes(host, function), _mib)
    if not is_gpu:
        book.miss("firmware.npu", NEEDS_TOOL)
        fields["firmware"] = {"npu": None}
    return fields


def _is_integrated(function: Function, is_gpu: bool, book: Book) -> bool | None:
    """Intel's own graphics stand at 00:02.0 and its NPU is in the processor; a card is behind a port.

    A card that was given to a virtual machine stands on the root bus too, so the place alone proves nothing.
    """
    if function.bridges or (function.device_id or "").startswith(_CARDS):
        return False
    if not is_gpu or function.id == "0000:00:02.0":
        return True
    book.miss("integrated", "stands where a card given to a virtual machine could stand as well")
    return None


def _mib(value: str) -> int:
    return integer(value) // (1024 * 1024)


def _memory_bytes(host: Host, function: Function) -> Answer:
    for card in host.list(f"{function.place}/drm").value or ():
        answer = host.read(f"{function.place}/drm/{card}/lmem_total_bytes")
        if answer.value is not None:
            return answer
    sizes = []
    for name in host.list(function.place).value or ():
        if name.startswith("tile") and name[4:].isdigit():
            sizes.append(host.read(f"{function.place}/{name}/physical_vram_size_bytes").value)
    if sizes and all(size is not None for size in sizes):
        try:
            return Answer(str(sum(int(size or "", 0) for size in sizes)), None)
        except ValueError:
            return Answer(None, f"unexpected content {sizes[0]!r}")
    return Answer(None, NEEDS_TOOL)
