# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A library that stands in for ``pynvml``: installed under that name, it answers from ``state.json`` beside it.

``gpus`` are ``{bus, lost, links, mig, ...}``; a question named in ``refused`` raises, one in ``hang`` never returns;
``init`` is the error that the start raises; names in ``unknown`` do not exist, as in an older version;
``old`` is one that knows of no fabric.
"""

from __future__ import annotations

import ctypes
import json
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

STATE = json.loads(Path(__file__).with_name("state.json").read_text(encoding="utf-8"))
NVML_NVLINK_MAX_LINKS = 18


class NVMLError(Exception):
    pass


class c_nvmlGpuFabricInfo_v2_t(ctypes.Structure):
    _fields_ = [("clusterUuid", ctypes.c_uint8 * 16), ("cliqueId", ctypes.c_uint32), ("state", ctypes.c_ubyte)]


def nvmlInit() -> None:
    if STATE.get("init"):
        raise NVMLError(STATE["init"])


def nvmlSystemGetDriverVersion() -> str:
    return str(STATE.get("driver", "580.10.1"))


def nvmlSystemGetNVMLVersion() -> bytes:
    return str(STATE.get("library", "13.580.10.1")).encode()


def nvmlDeviceGetCount() -> int:
    return len(STATE["gpus"])


def nvmlDeviceGetHandleByIndex(number: int) -> Any:
    if STATE["gpus"][number].get("lost"):
        raise NVMLError("GPU is lost")
    return STATE["gpus"][number]


def _fabric(gpu: Any, reference: Any) -> None:
    told = reference._obj
    told.state, told.cliqueId = gpu.get("state", 3), 4
    told.clusterUuid = (ctypes.c_uint8 * 16)(*bytes.fromhex(gpu.get("cluster", "12345678000000000000000000000001")))


def _mig(gpu: Any, index: int) -> Any:
    if index >= len(gpu.get("migs", ())):
        raise NVMLError("Not Found")
    return gpu["migs"][index]


def _peer(gpu: Any, link: int) -> str:
    links = gpu.get("links", [])
    if link >= len(links):
        raise NVMLError("Invalid Argument")
    return str(links[link])


ANSWERS: dict[str, Any] = {
    "GetPciInfo": lambda gpu: SimpleNamespace(busId=gpu["bus"].encode()),
    "GetName": lambda gpu: gpu.get("name", "NVIDIA H100"),
    "GetUUID": lambda gpu: gpu["uuid"],
    "GetSerial": lambda gpu: gpu["serial"].encode(),
    "GetVbiosVersion": lambda gpu: "96.00.01",
    "GetGspFirmwareVersion": lambda gpu: "580.10.1",
    "GetMemoryInfo": lambda gpu: SimpleNamespace(total=gpu.get("memory", 81559) * 1048576),
    "GetPowerManagementLimit": lambda gpu: 650500,
    "GetEccMode": lambda gpu: [1, 1],
    "GetRemappedRows": lambda gpu: (3, 0, 1, 0),
    "GetGpuFabricInfoV": _fabric,
    "GetMigMode": lambda gpu: [bool(gpu.get("migs")), 0],
    "GetMaxMigDeviceCount": lambda gpu: 7,
    "GetMigDeviceHandleByIndex": _mig,
    "GetGpuInstanceId": lambda gpu: gpu["gi"],
    "GetComputeInstanceId": lambda gpu: 0,
    "GetNvLinkState": lambda gpu, link: _peer(gpu, link) != "down",
    "GetNvLinkRemoteDeviceType": lambda gpu, link: 2 if _peer(gpu, link) == "switch" else 0,
    "GetNvLinkRemotePciInfo": lambda gpu, link: SimpleNamespace(busId=_peer(gpu, link).encode()),
}


def _question(name: str) -> Any:
    def ask(gpu: Any, *arguments: Any) -> Any:
        if name in STATE.get("refused", ()):
            raise NVMLError("Not Supported")
        while name in STATE.get("hang", ()):
            signal.pause()
        return ANSWERS[name](gpu, *arguments)

    return ask


if STATE.get("old"):
    del globals()["c_nvmlGpuFabricInfo_v2_t"]
for _name in ANSWERS.keys() - set(STATE.get("unknown", ())):
    globals()[f"nvmlDevice{_name}"] = _question(_name)
