# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one path that every module takes, below the edge and above the use cases.

A read-only module opens the node and observes. A changing one will go on from here (observe, decide, plan, check mode
stops, journal, apply, verify): it joins this file, which is the only place that may know check mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, NamedTuple

from .host.door import Host


class Outcome(NamedTuple):
    """What a module returns: whether it changed anything, and its results by name."""

    changed: bool
    results: Mapping[str, Any]


Observe = Callable[[Host], Mapping[str, Any]]


def look(root: str, observe: Observe) -> Outcome:
    """Open the node at ``root`` and return what ``observe`` sees. Raises a typed error for a root that is none."""
    return Outcome(False, observe(Host(root)))
