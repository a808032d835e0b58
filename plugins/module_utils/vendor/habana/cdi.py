# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gaudi devices in containers: the device, its control file, and the verbs of its network ports.

The index is that of the device file, as in all of the maker's tools. Kind and ids are those of Intel's resource drivers
for Kubernetes; names of files are those of Linux 6.18 (``drivers/accel/habanalabs``), and of 6.1 before the accel
subsystem (``hl0``, ``hl_controlD0``). Read 2026-12.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...host.door import Host
from ...model.device import Row
from ...model.owner import Owner
from ..cdi import Aspect, Needs, address_name, is_driven, missing_nodes, own_nodes, units, with_groups

_DEVICE = re.compile(r"/dev/(?:accel/accel|hl)([0-9]+)\Z")
_CONTROLS = ("/dev/accel/accel_controlD", "/dev/hl_controlD")
_OPERATOR = "/run/habana/driver"


def aspect() -> Aspect:
    """One kind."""
    return Aspect(("intel.com/gaudi",), _needs, owner=_owner)


def _owner(host: Host) -> Owner | None:
    if not host.exists(f"{_OPERATOR}/usr"):
        return None
    return Owner("the Intel Gaudi Operator", _OPERATOR, "driver and runtime in its DeviceConfig")


def _needs(host: Host, rows: Sequence[Row]) -> tuple[Needs, ...]:
    found, driven = [], [row for row in rows if is_driven(row)]
    for row in driven:
        number = next((one[1] for one in map(_DEVICE.match, own_nodes(row)) if one), None)
        if number is None:
            continue
        for unit in units(row, number, [address_name(row)]):
            nodes = (*unit.nodes, *_beside(host, row, number))
            found.append(unit._replace(nodes=tuple(dict.fromkeys(nodes))))
    return (with_groups(host, Needs("intel.com/gaudi", tuple(found), missing=missing_nodes(driven))),)


def _beside(host: Host, row: Row, number: str) -> Iterator[str]:
    """The control file, and the device files of the device's own network ports."""
    yield from (f"{name}{number}" for name in _CONTROLS if host.exists(f"{name}{number}"))
    for name in host.list(f"/sys/bus/pci/devices/{row['id']}/infiniband_verbs").value or ():
        path = f"/dev/infiniband/{name}"
        if host.exists(path):
            yield path
