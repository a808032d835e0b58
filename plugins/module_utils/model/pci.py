# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A PCI function as the kernel lists it."""

from __future__ import annotations

from typing import NamedTuple, Optional


class Function(NamedTuple):
    """One entry of ``/sys/bus/pci/devices``.

    ``place`` is its real folder on the node. ``bridges`` are the addresses of the bridges above it,
    outermost first, and ``root`` its root bus (``pci0000:16``); both are None where the tree has no
    PCI hierarchy (flat captures), which is not the same as a function on the root bus (``()``).
    Ids are lower-case hex without ``0x``; None where the file could not be read.
    """

    id: str
    place: str
    root: Optional[str]
    bridges: Optional[tuple[str, ...]]
    vendor_id: Optional[str]
    device_id: Optional[str]
    pci_class: Optional[str]
