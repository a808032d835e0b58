# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The device files of Gaudi devices beside those of the accel subsystem: the control files, and those of old drivers.

Source: Linux 6.18 ``drivers/accel/habanalabs/common`` (the control device is of the driver's own class), and Linux 6.1
``drivers/misc/habanalabs`` (``hl0``, ``hl_controlD0``). Looked at 2026-12-01.
"""

from __future__ import annotations

from ..permissions import Match, Permissions


def permissions() -> Permissions:
    """The driver's class is its own, so that it alone tells whose a file is."""
    return Permissions((Match("habanalabs", ""), Match("accel", "accel_controlD[0-9]*", ("1da3",))))
