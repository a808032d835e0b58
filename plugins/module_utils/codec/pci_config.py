# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCI configuration space: the few capabilities that sysfs has no file for.

Offsets and ids: PCI Express Base Specification 5.0, chapters 7.5 and 7.7.7 (ACS), as in Linux
``include/uapi/linux/pci_regs.h`` (2026-11).
"""

from __future__ import annotations

import struct

_EXTENDED_START = 0x100
_ACS = 0x000D
_ACS_CONTROL = 6
_ACS_REQUEST_REDIRECT = 0x0004
_MAX_CAPABILITIES = 96


def acs_redirects(config: bytes) -> bool | None:
    """Whether this port sends peer-to-peer requests up to the root complex.

    ``config`` is the whole space (4096 bytes). None: it is too short to hold extended capabilities, as it is
    for a reader without root (64 bytes) or a conventional PCI device (256). None, too, where the chain of
    capabilities has no end: the bytes are not the device's (all ones when it fell off the bus). False also where there
    is no ACS.
    """
    if len(config) <= _EXTENDED_START + 4:
        return None
    offset = _EXTENDED_START
    for _count in range(_MAX_CAPABILITIES):
        if not offset:
            return False
        if offset < _EXTENDED_START or offset + _ACS_CONTROL + 2 > len(config):
            return None
        (header,) = struct.unpack_from("<I", config, offset)
        if header in (0, 0xFFFFFFFF):
            return None if header else False
        if header & 0xFFFF == _ACS:
            (control,) = struct.unpack_from("<H", config, offset + _ACS_CONTROL)
            return bool(control & _ACS_REQUEST_REDIRECT)
        offset = header >> 20
    return None
