# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program of its own: asks NVML through ``pynvml`` and prints JSON.

Its source is handed to a new Python, since a call into a hung driver can be interrupted by killing the process alone.
It prints ``{driver, library, gpus: [{bus, told, why, migs, links}], errors}``: ``told`` and ``why`` by the dotted path
of the facts, ``links`` the number of active NVLinks by the address of the peer, or ``switch``.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import sys
import uuid
from typing import Any, Callable

STATES = ("not supported", "not started", "in progress", "completed")
ROWS = ("correctable", "uncorrectable", "pending", "failure")


def text(told: Any) -> str:
    """Old versions of pynvml answer in bytes."""
    return told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)


def mib(told: Any) -> int:
    return int(told.total // 1048576)


def watts(told: int) -> float:
    return told / 1000 if told % 1000 else told // 1000


def ecc(told: Any) -> str:
    return "enabled" if told[0] else "disabled"


def rows(told: Any) -> dict[str, Any]:
    return {name: bool(what) if number > 1 else what for number, (name, what) in enumerate(zip(ROWS, told))}


ASKED: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("model", "GetName", text),
    ("uuid", "GetUUID", text),
    ("serial", "GetSerial", text),
    ("firmware.vbios", "GetVbiosVersion", text),
    ("firmware.gsp", "GetGspFirmwareVersion", text),
    ("memory_mib", "GetMemoryInfo", mib),
    ("power_limit_watts", "GetPowerManagementLimit", watts),
    ("memory_health.ecc_mode", "GetEccMode", ecc),
    ("memory_health.remapped_rows", "GetRemappedRows", rows),
)
MIG_ASKED = (
    ("uuid", "GetUUID", text),
    ("profile", "GetName", lambda told: text(told).partition(" MIG ")[2]),
    ("memory_mib", "GetMemoryInfo", mib),
    ("gi", "GetGpuInstanceId", int),
    ("ci", "GetComputeInstanceId", int),
)


class Gpu:
    """One GPU: each question by itself, so that one without an answer costs that answer only."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self.nvml = nvml
        self.handle = handle
        self.why: dict[str, str] = {}

    def ask(self, path: str, name: str, *arguments: Any) -> Any:
        try:
            return getattr(self.nvml, f"nvmlDevice{name}")(self.handle, *arguments)
        except self.nvml.NVMLError as error:
            self.why[path] = f"NVML says {str(error)!r}"
        except AttributeError:
            self.why[path] = "this pynvml does not know the question"
        return None

    def told(self, asked: Any) -> dict[str, Any]:
        answers = [(path, parse, self.ask(path, name)) for path, name, parse in asked]
        return {path: None if found is None else parse(found) for path, parse, found in answers}

    def look(self) -> dict[str, Any]:
        told = {**self.told(ASKED), **self.fabric()}
        return {"told": told, "why": self.why, "migs": self.migs(), "links": self.links()}

    def fabric(self) -> dict[str, Any]:
        newer = getattr(self.nvml, "c_nvmlGpuFabricInfo_v2_t", None)
        kind = newer or getattr(self.nvml, "c_nvmlGpuFabricInfo_t", None)
        found = None if kind is None else kind()
        name = "GetGpuFabricInfoV" if newer else "GetGpuFabricInfo"
        self.ask("fabric.state", name, None if found is None else ctypes.byref(found))
        if "fabric.state" in self.why or found is None or not 0 < found.state < len(STATES):
            why = self.why.setdefault("fabric.state", "NVML says 'not supported'")
            self.why["fabric.clique"] = why
            return {"fabric.state": None, "fabric.clique": None}
        cluster = uuid.UUID(bytes=bytes(found.clusterUuid)[:16])
        if not cluster.int:
            self.why["fabric.clique"] = "in no NVLink domain of several nodes"
        clique = f"{cluster}.{found.cliqueId}" if cluster.int else None
        return {"fabric.state": STATES[found.state], "fabric.clique": clique}

    def migs(self) -> list[dict[str, Any]]:
        found = []
        if (self.ask("", "GetMigMode") or [0])[0]:
            for place in range(self.ask("", "GetMaxMigDeviceCount") or 0):
                handle = self.ask("", "GetMigDeviceHandleByIndex", place)
                found += [] if handle is None else [Gpu(self.nvml, handle).told(MIG_ASKED)]
        return sorted(found, key=lambda one: (one.pop("gi") or 0, one.pop("ci") or 0))

    def links(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for link in range(getattr(self.nvml, "NVML_NVLINK_MAX_LINKS", 18)):
            if self.ask("", "GetNvLinkState", link):
                peer = self.ask("", "GetNvLinkRemotePciInfo", link)
                # An older library does not know the type: a switch then shows by its address, which is no GPU's.
                is_switch = self.ask("", "GetNvLinkRemoteDeviceType", link) == 2
                name = "switch" if is_switch or peer is None else text(peer.busId)
                found[name] = found.get(name, 0) + 1
        return found


def main() -> int:
    sys.path[:0] = sys.argv[1:]
    try:
        nvml = importlib.import_module("pynvml")
        nvml.nvmlInit()
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    except nvml.NVMLError as error:
        sys.stderr.write(f"{error}\n")
        return 4
    gpus, errors = [], []
    for number in range(nvml.nvmlDeviceGetCount()):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(number)
            bus = text(nvml.nvmlDeviceGetPciInfo(handle).busId)
        except nvml.NVMLError as error:
            errors.append(f"GPU {number}: {error}")
            continue
        gpus.append({"bus": bus, **Gpu(nvml, handle).look()})
    versions = {"driver": text(nvml.nvmlSystemGetDriverVersion()), "library": text(nvml.nvmlSystemGetNVMLVersion())}
    sys.stdout.write(json.dumps({**versions, "gpus": gpus, "errors": errors}) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
