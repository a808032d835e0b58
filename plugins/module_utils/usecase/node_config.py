# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that a node's configuration consists of, in one call: one look, one plan, one journal, one proof.

And one list of everything that stands in the way: an error of one part does not hide those of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..host.door import Host
from ..model.errors import OpsError
from ..model.plan import Plan, attempted, together
from . import cdi, container_engine, device_permissions, kernel_config, preflight

_PARTS = {"kernel": kernel_config, "permissions": device_permissions, "engines": container_engine, "cdi": cdi}
"""Each part is a module of its own too, in the order of their doing."""

OPTIONS: dict[str, dict[str, Any]] = {
    name: {"type": "dict", "options": dict(part.OPTIONS)} for name, part in _PARTS.items()
}
OPTIONS["cdi"]["options"]["state"] = {**cdi.OPTIONS["state"], "choices": ["present", "absent"]}  # it only changes


class Seen(NamedTuple):
    """What each wished part saw, by its name, or the error that it met; and what stands in the way of any change."""

    parts: Mapping[str, Any]
    preflight: preflight.Seen


def observe(host: Host, wish: Mapping[str, Any]) -> Seen:
    """Look at the node for each wished part. Raises no typed error: a part that meets one has it in its place."""
    parts = {name: _observe(host, name, {**wish, **wish[name]}) for name in _PARTS if wish[name] is not None}
    return Seen(parts, preflight.observe(host, wish))


def _observe(host: Host, name: str, wish: Mapping[str, Any]) -> Any:
    try:
        return _PARTS[name].observe(host, wish)
    except OpsError as error:
        return error


def decide(seen: Seen, wish: Mapping[str, Any]) -> Plan:
    """One plan of all wished parts, with all blockers. No part knows what another is about to write."""
    plan = together(tuple(_decide(name, found, {**wish, **wish[name]}) for name, found in seen.parts.items()))
    if not (plan.steps or plan.derived or plan.blockers):
        return plan  # a node where nothing is to be done needs neither rights nor room
    stands = preflight.decide(seen.preflight, wish, [one.key for one in plan.derived])
    return plan._replace(blockers=(*stands, *plan.blockers))


def _decide(name: str, found: Any, wish: Mapping[str, Any]) -> Plan:
    if isinstance(found, OpsError):
        return Plan(blockers=(found,))
    return attempted(lambda: _PARTS[name].decide(found, wish))
