# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel driver habanalabs tells of Gaudi devices.

Source: Linux 6.18 ``Documentation/ABI/testing/sysfs-driver-habanalabs``. Looked at 2026-12-01.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

from ...host.door import Host
from ...model.answer import MISSING, Answer, Book
from ...model.device import NEEDS_TOOL, Told
from ...model.pci import Function

_FIRMWARE = {
    "os": ("fw_os_ver",),
    "cpucp": ("cpucp_ver", "armcp_ver"),
    "kernel": ("cpucp_kernel_ver", "armcp_kernel_ver"),
    "preboot": ("preboot_btl_ver",),
    "uboot": ("uboot_ver",),
    "fuse": ("fuse_ver",),
    "cpld": ("cpld_ver",),
    "thermal": ("thermal_ver",),
    "vrm": ("vrm_ver", "infineon_ver"),
}
"""Our name of a firmware, and the attributes that hold its version, newest name first."""


def observe(host: Host, devices: Sequence[Function], functions: Mapping[str, Function]) -> Told:
    """Firmware versions of each device; its ports, memory and serial need the maker's tool."""
    told = Told({}, {}, {}, (), (), f"scaleup: {NEEDS_TOOL}")
    for function in devices:
        book = Book()
        told.fields[function.id] = _device(host, function, book)
        told.unknown[function.id] = book.unknown
        told.nodes[function.id] = []
    return told


def _attribute(host: Host, function: Function, names: tuple[str, ...]) -> Answer:
    """The attribute on the PCI device (current kernels) or on its class device (before Linux 6.2)."""
    folders = [function.place]
    for kind in ("accel", "habanalabs"):
        folders += [f"{function.place}/{kind}/{name}" for name in host.list(f"{function.place}/{kind}").value or ()]
    last = Answer(None, MISSING)
    for name in names:
        for folder in folders:
            answer = host.read(f"{folder}/{name}")
            if answer.value:
                return answer
            if answer.reason not in (None, MISSING):
                last = answer
    return last


def _device(host: Host, function: Function, book: Book) -> dict[str, Any]:
    firmware: dict[str, Optional[str]] = {}
    for name, files in _FIRMWARE.items():
        answer = _attribute(host, function, files)
        if answer.value is not None:
            firmware[name] = answer.value
        elif answer.reason != MISSING:
            book.miss(f"firmware.{name}", answer.reason or "")
            firmware[name] = None
    if not firmware:
        book.miss("firmware", "the driver shows no versions")
    for key in ("uuid", "serial", "memory_mib", "peer_memory", "fabric.state", "fabric.clique"):
        book.miss(key, NEEDS_TOOL)
    for key in ("partition_mode.compute", "partition_mode.memory"):
        book.miss(key, "this maker has no such mode")
    return {
        "integrated": False,
        "uuid": None,
        "serial": None,
        "memory_mib": None,
        "firmware": firmware or None,
        "partitions": [],
        "partition_mode": {"compute": None, "memory": None},
        "peer_memory": None,
        "fabric": {"kind": "scaleup", "state": None, "clique": None},
    }
