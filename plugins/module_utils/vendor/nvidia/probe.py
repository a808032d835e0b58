# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVIDIA's kernel driver tells in procfs.

Source: ``/proc/driver/nvidia`` of open-gpu-kernel-modules 580 (``nv-procfs.c``); NVSwitch ids from the PCI ID
database of 2026-08-22. Looked at 2026-12-01.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...codec.sysfs import integer
from ...host.door import Host
from ...model.answer import Answer, Book
from ...model.device import NEEDS_TOOL, Told
from ...model.pci import Function

_PROC = "/proc/driver/nvidia"
_SWITCHES = {"1ac2", "1af1", "22a3"}  # NVSwitch of Volta, Ampere, Hopper; class 0680
_INTEGRATED = {"2b00", "2e03", "2e06", "2e12", "2e13", "2e2a"}  # Thor, GB10 and its kin: one package with the processor
_SHARED = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset")
_LINE = re.compile(r"([^:]+):\s*(.*)\Z")


def observe(host: Host, devices: Sequence[Function], functions: Mapping[str, Function]) -> Told:
    """Model, UUID, video BIOS, GSP firmware, device minor, MIG capabilities and peer memory of each device."""
    told = Told({}, {}, {}, _SHARED, (), f"nvlink: {NEEDS_TOOL}")
    has_switch = any(one.vendor_id == "10de" and one.device_id in _SWITCHES for one in functions.values())
    for function in devices:
        book = Book()
        told.fields[function.id] = _device(host, function, has_switch, told.nodes, book)
        told.unknown[function.id] = book.unknown
    return told


def _information(host: Host, address: str) -> tuple[dict[str, str], str | None]:
    answer = host.read(f"{_PROC}/gpus/{address}/information")
    if answer.value is None:
        return {}, f"{_PROC}/gpus/{address}/information {answer.reason}"
    lines = (_LINE.match(line) for line in answer.value.splitlines())
    return {line.group(1).strip(): line.group(2).strip() for line in lines if line is not None}, None


def _device(
    host: Host, function: Function, has_switch: bool, nodes: dict[str, list[str]], book: Book
) -> dict[str, Any]:
    seen, reason = _information(host, function.id)

    def told(key: str, line: str) -> Any:
        value = seen.get(line, "")
        if not value or "?" in value or value.lower() in ("unknown", "n/a"):
            book.miss(key, reason or f"the driver says {value or 'nothing'!r}")
            return None
        return value

    fields: dict[str, Any] = {
        "uuid": told("uuid", "GPU UUID"),
        "serial": None,
        "memory_mib": None,
        "integrated": function.device_id in _INTEGRATED,
        "firmware": {"vbios": told("firmware.vbios", "Video BIOS"), "gsp": told("firmware.gsp", "GPU Firmware")},
        "fabric": {"kind": "nvlink" if has_switch else None, "state": None, "clique": None},
        "peer_memory": "nvidia_peermem" if host.exists("/sys/module/nvidia_peermem") else None,
        "partition_mode": {"compute": None, "memory": None},
    }
    if "Model" in seen:
        fields["model"] = told("model", "Model")
    if not has_switch:
        book.miss("fabric.kind", NEEDS_TOOL)
    if fields["peer_memory"] is None:
        book.miss("peer_memory", "nvidia_peermem is not loaded; dma-buf: " + NEEDS_TOOL)
    for key in ("serial", "memory_mib", "fabric.state", "fabric.clique"):
        book.miss(key, NEEDS_TOOL)
    for key in ("partition_mode.compute", "partition_mode.memory"):
        book.miss(key, "this maker has no such mode")
    minor = book.take(
        "partitions", Answer(seen.get("Device Minor"), reason or "the driver names no device minor"), integer
    )
    fields["partitions"] = None if minor is None else _partitions(host, minor, book)
    nodes[function.id] = [] if minor is None else [f"/dev/nvidia{minor}"]
    return fields


def _partitions(host: Host, minor: int, book: Book) -> list[dict[str, Any]] | None:
    """MIG compute instances by their capability files: ``capabilities/gpu0/mig/gi1/ci0/access``."""
    base = f"{_PROC}/capabilities/gpu{minor}/mig"
    instances = host.list(base)
    if instances.value is None:
        return [] if host.exists(f"{_PROC}/capabilities") else book.miss("partitions", f"{base} {instances.reason}")
    found: list[dict[str, Any]] = []
    for instance in sorted((name for name in instances.value if name.startswith("gi")), key=_number):
        computes = host.list(f"{base}/{instance}").value or ()
        for compute in sorted((name for name in computes if name.startswith("ci")), key=_number):
            caps = [_cap(host, f"{base}/{instance}/access"), _cap(host, f"{base}/{instance}/{compute}/access")]
            found.append(
                {
                    "id": f"{minor}:{len(found)}",
                    "kind": "mig",
                    "uuid": None,
                    "memory_mib": None,
                    "nodes": [cap for cap in caps if cap is not None],
                    "unknown": {"uuid": NEEDS_TOOL, "memory_mib": NEEDS_TOOL},
                }
            )
    return found


def _number(name: str) -> int:
    return int(name[2:]) if name.isascii() and name[2:].isdigit() else -1


def _cap(host: Host, path: str) -> str | None:
    for line in (host.read(path).value or "").splitlines():
        name, _colon, value = line.partition(":")
        if name == "DeviceFileMinor" and value.isascii() and value.strip().isdigit():
            return f"/dev/nvidia-caps/nvidia-cap{value.strip()}"
    return None
