# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AMD GPUs in containers: the files of DRM and the one of KFD. Libraries are the image's own.

The maker's generator (amd-ctk of ROCm's container-toolkit, 2026-07) prints nothing but writes a file, and says which;
the file is its standard output here. Its numbers are those of partitions where there are some. Its NPU has no kind.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...host.door import Host
from ...model.device import Row
from ..cdi import Aspect, Needs, is_driven, missing_nodes, shared_nodes, units, with_groups

_KFD = "/dev/kfd"


def aspect() -> Aspect:
    """GPUs only."""
    return Aspect(("amd.com/gpu",), _needs, ("amd-ctk", "cdi", "generate", "--output=/dev/stdout"))


def _needs(host: Host, rows: Sequence[Row]) -> tuple[Needs, ...]:
    gpus = [row for row in rows if row["kind"] == "gpu" and is_driven(row)]
    found = tuple(unit for index, row in enumerate(gpus) for unit in units(row, str(index), [row["uuid"]]))
    shared = shared_nodes(gpus)
    missing = (*missing_nodes(gpus), *((_KFD,) if gpus and _KFD not in shared else ()))
    return (with_groups(host, Needs("amd.com/gpu", found, shared, missing=missing, required=(_KFD,))),)
