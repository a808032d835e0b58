# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The registry of the aspect *owner*: another tool that has a maker's driver on this node, and what is its own then.

A finder is a function ``owner(host) -> Optional[Owner]``. A maker without a line has no tool that is known to own it.
"""

from __future__ import annotations

from typing import Callable, Optional

from ..host.door import Host
from ..model.owner import Owner

Finder = Callable[[Host], Optional[Owner]]


def _nvidia() -> Finder:
    from .nvidia.owner import owner

    return owner


LOADERS: dict[str, Callable[[], Finder]] = {"nvidia": _nvidia}


def found(host: Host) -> tuple[Owner, ...]:
    """The owners that are certainly on this node."""
    seen = [load()(host) for load in LOADERS.values()]
    return tuple(one for one in seen if one is not None)
