# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The registry of the aspect *probe*: what the kernel tells beyond PCI, maker by maker.

A probe is a function ``observe(host, devices, functions) -> Told`` over its maker's devices, with all PCI functions at
hand. It is imported only when a device of its maker is here, so that a module start compiles no other maker's code. A
maker without a line has nothing to tell beyond PCI.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Callable, Optional

from ..host.door import Host
from ..model.device import Told
from ..model.pci import Function

Probe = Callable[[Host, Sequence[Function], Mapping[str, Function]], Told]


def _nvidia() -> Probe:
    from .nvidia.probe import observe

    return observe


def _amd() -> Probe:
    from .amd.probe import observe

    return observe


def _intel() -> Probe:
    from .intel.probe import observe

    return observe


def _habana() -> Probe:
    from .habana.probe import observe

    return observe


LOADERS: dict[str, Callable[[], Probe]] = {"nvidia": _nvidia, "amd": _amd, "intel": _intel, "habana": _habana}


def probe_of(maker: str) -> Optional[Probe]:
    """The maker's probe, loaded now; None for a maker that has none."""
    loader = LOADERS.get(maker)
    return None if loader is None else loader()
