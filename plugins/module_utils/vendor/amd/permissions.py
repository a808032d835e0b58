# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The device files of AMD's devices beside those on PCI: the one of KFD, and those of partitions.

Source: Linux 6.18 ``amdkfd/kfd_chardev.c`` and ``amdgpu/amdgpu_xcp_drv.c``. Looked at 2026-12-01.
"""

from __future__ import annotations

from ..permissions import VIDEO, Match, Permissions


def permissions() -> Permissions:
    """KFD has one file for all devices; a partition is a platform device of its own."""
    return Permissions(
        (
            Match("kfd", "kfd"),
            Match("drm", "card[0-9]*", parents="amdgpu_xcp*", group=VIDEO),
            Match("drm", "renderD[0-9]*", parents="amdgpu_xcp*"),
        )
    )
