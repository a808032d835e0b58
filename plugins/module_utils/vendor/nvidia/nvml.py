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


def text(value: Any) -> str:
    """Old versions of pynvml answer in bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


class Gpu:
    """One GPU: each question by itself, so that one without an answer costs that answer only."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self.nvml = nvml
        self.handle = handle
        self.told: dict[str, Any] = {}
        self.why: dict[str, str] = {}

    def ask(self, path: str, question: Callable[[], Any]) -> None:
        try:
            self.told[path] = question()
        except self.nvml.NVMLError as error:
            self.told[path] = None
            self.why[path] = f"NVML says {str(error)!r}"
        except AttributeError:
            self.told[path] = None
            self.why[path] = "this pynvml does not know the question"

    def call(self, name: str, *arguments: Any) -> Any:
        return getattr(self.nvml, f"nvmlDevice{name}")(self.handle, *arguments)

    def look(self) -> dict[str, Any]:
        self.ask("model", lambda: text(self.call("GetName")))
        self.ask("uuid", lambda: text(self.call("GetUUID")))
        self.ask("serial", lambda: text(self.call("GetSerial")))
        self.ask("firmware.vbios", lambda: text(self.call("GetVbiosVersion")))
        self.ask("firmware.gsp", lambda: text(self.call("GetGspFirmwareVersion")))
        self.ask("memory_mib", lambda: self.call("GetMemoryInfo").total // 1048576)
        self.ask("power_limit_watts", lambda: self.call("GetPowerManagementLimit") / 1000)
        self.ask("memory_health.ecc_mode", lambda: "enabled" if self.call("GetEccMode")[0] else "disabled")
        self.ask("memory_health.remapped_rows", self.rows)
        self.fabric()
        return {"told": self.told, "why": self.why, "migs": self.migs(), "links": self.links()}

    def rows(self) -> dict[str, Any]:
        correctable, uncorrectable, pending, failure = self.call("GetRemappedRows")
        counts = {"correctable": correctable, "uncorrectable": uncorrectable}
        return {**counts, "pending": bool(pending), "failure": bool(failure)}

    def fabric(self) -> None:
        def info() -> Any:
            kind = getattr(self.nvml, "c_nvmlGpuFabricInfo_v2_t", None)
            found = self.nvml.c_nvmlGpuFabricInfo_t() if kind is None else kind()
            self.call("GetGpuFabricInfo" if kind is None else "GetGpuFabricInfoV", ctypes.byref(found))
            return found

        self.ask("fabric.state", info)
        found = self.told["fabric.state"]
        self.told.update({"fabric.state": None, "fabric.clique": None})
        if found is None or not found.state or found.state >= len(STATES):
            why = self.why.get("fabric.state", "NVML says 'not supported'")
            self.why.update({"fabric.state": why, "fabric.clique": why})
            return
        self.told["fabric.state"] = STATES[found.state]
        cluster = uuid.UUID(bytes=bytes(found.clusterUuid)[:16])
        if cluster.int:
            self.told["fabric.clique"] = f"{cluster}.{found.cliqueId}"
        else:
            self.why["fabric.clique"] = "in no NVLink domain of several nodes"

    def migs(self) -> list[dict[str, Any]]:
        found = []
        try:
            if not self.call("GetMigMode")[0]:
                return []
            places = range(self.call("GetMaxMigDeviceCount"))
        except (self.nvml.NVMLError, AttributeError):
            return []
        for place in places:
            try:
                one = Gpu(self.nvml, self.call("GetMigDeviceHandleByIndex", place))
                sort = (one.call("GetGpuInstanceId"), one.call("GetComputeInstanceId"))
            except (self.nvml.NVMLError, AttributeError):
                continue
            one.ask("uuid", lambda one=one: text(one.call("GetUUID")))  # type: ignore[misc]
            one.ask("profile", lambda one=one: text(one.call("GetName")).partition(" MIG ")[2])  # type: ignore[misc]
            one.ask("memory_mib", lambda one=one: one.call("GetMemoryInfo").total // 1048576)  # type: ignore[misc]
            found.append((sort, one.told))
        return [told for _sort, told in sorted(found, key=lambda pair: pair[0])]

    def links(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for link in range(getattr(self.nvml, "NVML_NVLINK_MAX_LINKS", 18)):
            try:
                if not self.call("GetNvLinkState", link):
                    continue
                peer = text(self.call("GetNvLinkRemotePciInfo", link).busId)
            except (self.nvml.NVMLError, AttributeError):
                continue
            try:
                peer = "switch" if self.call("GetNvLinkRemoteDeviceType", link) == 2 else peer
            except (self.nvml.NVMLError, AttributeError):
                peer = str(peer)  # an older one: a switch then shows by its address, which is no GPU's
            found[peer] = found.get(peer, 0) + 1
        return found


def main() -> int:
    if len(sys.argv) > 1:
        sys.path.insert(0, sys.argv[1])
    try:
        nvml = importlib.import_module("pynvml")
        nvml.nvmlInit()
    except ImportError as error:
        print(error, file=sys.stderr)
        return 3
    except nvml.NVMLError as error:
        print(error, file=sys.stderr)
        return 4
    node = Gpu(nvml, None)
    node.ask("driver", lambda: text(nvml.nvmlSystemGetDriverVersion()))
    node.ask("library", lambda: text(nvml.nvmlSystemGetNVMLVersion()))
    gpus, errors = [], []
    for number in range(nvml.nvmlDeviceGetCount()):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(number)
            bus = text(nvml.nvmlDeviceGetPciInfo(handle).busId)
        except nvml.NVMLError as error:
            errors.append(f"GPU {number}: {error}")
            continue
        gpus.append({"bus": bus, **Gpu(nvml, handle).look()})
    print(json.dumps({**node.told, "gpus": gpus, "errors": errors}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
