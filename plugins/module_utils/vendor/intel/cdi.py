# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Intel's GPUs and NPUs in containers: the files of DRM, or of the accel subsystem. Libraries are the image's own.

Kinds and ids are those of Intel's resource drivers for Kubernetes (read 2026-12).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...host.door import Host
from ...model.device import Row
from ..cdi import Aspect, Needs, address_name, is_driven, missing_nodes, units, with_groups

_KINDS = {"gpu": "intel.com/gpu", "npu": "intel.com/npu"}


def aspect() -> Aspect:
    """Two kinds, each with indices of its own."""
    return Aspect(tuple(_KINDS.values()), _needs)


def _needs(host: Host, rows: Sequence[Row]) -> tuple[Needs, ...]:
    found = []
    for kind, name in _KINDS.items():
        some = [row for row in rows if row["kind"] == kind and is_driven(row)]
        parts = tuple(unit for index, row in enumerate(some) for unit in units(row, str(index), [address_name(row)]))
        found.append(with_groups(host, Needs(name, parts, missing=missing_nodes(some))))
    return tuple(found)
