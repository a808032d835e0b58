# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA's device files: all but those of DRM are made by the maker's programs, not by udev.

``nvidia-modprobe`` and the libraries make and correct them each time they run, with what the module's parameters say.
They give ``nvidia-uvm`` always 0666 of root, and a capability the mode that its file in procfs has (0400 or 0444): no
option rules these two. Since driver 535 they also make the link in ``/dev/char``. Source: nvidia-modprobe 610.43
(``nvidia-modprobe-utils.c``), open-gpu-kernel-modules 580 (``nv-reg.h``). Looked at 2026-12-01.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...codec.sysfs import integer
from ...host import command
from ...host.door import Host
from ..permissions import Driven, Held, Permissions, SelfMade

_PARAMETERS = "/proc/driver/nvidia/params"
_FOLDERS = ("/dev", "/dev/nvidia-caps", "/dev/nvidia-caps-imex-channels")
_NAME = re.compile(
    r"nvidia(?:(?P<minor>[0-9]+)|(?P<ctl>ctl)|-(?P<modeset>modeset)|-uvm|-uvm-tools|-nvlink|-nvswitch.*|-cap[0-9]+)\Z"
    r"|channel[0-9]+\Z"
)


def permissions() -> Permissions:
    """One module's options for the files of GPUs, the control file and the one of modeset."""
    return Permissions((), Driven("nvidia", _options, _held))


def _options(gid: int, mode: int) -> Mapping[str, str]:
    return {
        "NVreg_ModifyDeviceFiles": "1",
        "NVreg_DeviceFileUID": "0",
        "NVreg_DeviceFileGID": str(gid),
        "NVreg_DeviceFileMode": f"{mode:04o}",
    }


def _held(host: Host) -> Held:
    values = {}
    for line in (host.read(_PARAMETERS).value or "").splitlines():
        name, _colon, value = line.partition(":")
        try:
            values[name.strip()] = integer(value.strip())
        except ValueError:
            continue  # parameters that are texts
    return Held(values.get("DeviceFileGID"), values.get("DeviceFileMode"), tuple(_nodes(host)))


def _nodes(host: Host) -> Iterator[SelfMade]:
    has_program = command.find(host, "nvidia-modprobe") is not None
    for folder in _FOLDERS:
        for name in host.list(folder).value or ():
            known = _NAME.match(name)
            status, _reason = host.status(f"{folder}/{name}") if known else (None, None)
            if known is None or status is None or status.kind != "char":
                continue
            yield SelfMade(
                f"{folder}/{name}",
                status.major,
                status.minor,
                status.gid,
                status.mode,
                _again(known.groupdict()) if has_program else (),
            )


def _again(name: Mapping[str, str | None]) -> tuple[str, ...]:
    if name["modeset"]:
        return ("nvidia-modprobe", "-m")
    minor = name["minor"] or ("255" if name["ctl"] else None)
    return () if minor is None else ("nvidia-modprobe", "-c", minor)
