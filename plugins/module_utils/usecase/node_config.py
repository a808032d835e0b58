# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that a node's configuration consists of, in one call: one look, one plan, one journal, one proof."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..host.door import Host
from ..model.plan import Plan, together
from . import device_permissions, kernel_config

_PARTS = {"kernel": kernel_config, "permissions": device_permissions}
"""Each part is a module of its own too, in the order of their doing."""

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    name: {"type": "dict", "options": dict(part.OPTIONS)} for name, part in _PARTS.items()
}


def observe(host: Host, wish: Mapping[str, Any]) -> dict[str, Any]:
    """What each wished part sees, by its name. Raises what they raise."""
    return {name: part.observe(host, wish[name]) for name, part in _PARTS.items() if wish[name] is not None}


def decide(seen: Mapping[str, Any], wish: Mapping[str, Any]) -> Plan:
    """One plan of all wished parts. No part knows what another is about to write."""
    return together(tuple(_PARTS[name].decide(found, wish[name]) for name, found in seen.items()))
