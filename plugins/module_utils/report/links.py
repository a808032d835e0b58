# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is each link as good as both of its ends can make it?

Width is judged: a link trains its lanes at start and keeps them. Speed is not: an idle device may run
its link slower to save power, and the facts are read from whatever the device does at that moment.
A card in a slot that can do less than the card is no fault: it is said, as a limit of the slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

from .wiring import Record, is_virtual, part, port_capability, rows, slot

DEGRADED, UNJUDGED, LIMITED = "degraded", "not_judged", "slot_limited"
VERDICTS = (DEGRADED, UNJUDGED, LIMITED)
"""What matters most stands first."""


class LinkFinding(NamedTuple):
    """One link that is not all it could be.

    ``found`` and ``expected`` are texts; ``bridge`` is the other end where it is known; ``reason`` is a
    key of the table of texts (``reason_width`` and so on).
    """

    verdict: str
    id: str
    found: str
    expected: str
    bridge: Optional[str]
    reason: str


def link_text(speed: Optional[float], width: Optional[int]) -> str:
    """``×16 · 32 GT/s``, with what is not known left out."""
    parts = [] if width is None else [f"×{width}"]
    parts += [] if speed is None else [f"{speed:g} GT/s"]
    return " · ".join(parts)


def judge_links(facts: Record) -> list[LinkFinding]:
    """Every finding of a node, PCI links first, in address order."""
    bridges = {str(bridge["id"]): bridge for bridge in rows(facts, "bridges")}
    found: list[LinkFinding] = []
    done: set[str] = set()
    for section in ("devices", "nics", "storage"):
        for record in rows(facts, section):
            place = slot(str(record["id"]))
            # virtual functions have no link of their own, and the functions of one card share one
            if is_virtual(record) or place in done or not part(record, "link"):
                continue
            done.add(place)
            found += _judge_card(record, bridges)
    found.sort(key=lambda finding: finding.id)
    return found + _judge_switches(bridges) + _judge_fabric(facts)


def _judge_card(record: Record, bridges: Mapping[str, Record]) -> list[LinkFinding]:
    link = part(record, "link")
    name = link.get("limited_by")
    bridge = bridges.get(name or "")
    path = list(record.get("path") or ())
    # in a virtual machine a card may stand on the root bus: there is no port to be seen, and what it can do is unknown
    is_known_free = name is None and bool(path) and "link.limited_by" not in part(record, "unknown")
    is_other_end_known = bridge is not None or is_known_free
    return _judge_link(
        str(record["id"]),
        link,
        part(bridge or {}, "link"),
        str(name) if name else (str(path[-1]) if path else None),
        is_other_end_known,
    )


def _judge_link(
    subject: str, link: Record, other: Record, bridge: Optional[str], is_other_end_known: bool
) -> list[LinkFinding]:
    found: list[LinkFinding] = []
    width, most, slot_most = link.get("width"), link.get("max_width"), other.get("max_width")
    if width is not None and most is not None:
        expected = min(most, slot_most) if slot_most is not None else most
        if width < expected:
            verdict, reason = (DEGRADED, "reason_width") if is_other_end_known else (UNJUDGED, "reason_other_end")
            found.append(
                LinkFinding(verdict, subject, link_text(None, width), link_text(None, expected), bridge, reason)
            )
        elif expected < most:
            found.append(
                LinkFinding(
                    LIMITED, subject, link_text(None, width), link_text(None, most), bridge, "reason_slot_width"
                )
            )
    speed, fastest, slot_fastest = link.get("speed_gts"), link.get("max_speed_gts"), other.get("max_speed_gts")
    if speed is not None and fastest is not None:
        quick = min(fastest, slot_fastest) if slot_fastest is not None else fastest
        if speed < quick:
            reason = "reason_speed" if is_other_end_known else "reason_other_end"
            found.append(LinkFinding(UNJUDGED, subject, link_text(speed, None), link_text(quick, None), bridge, reason))
        elif quick < fastest:
            found.append(
                LinkFinding(
                    LIMITED, subject, link_text(speed, None), link_text(fastest, None), bridge, "reason_slot_speed"
                )
            )
    return found


def _judge_switches(bridges: Mapping[str, Record]) -> list[LinkFinding]:
    """The links between a switch and the port above it.

    A root port stands on the root bus; below it ports take turns: one that looks up, one that looks down.
    Only the ones that look up share a link with the bridge above.
    """
    found: list[LinkFinding] = []
    for name, bridge in sorted(bridges.items()):
        above = bridges.get(str(bridge.get("parent") or ""))
        if above is None or _depth(name, bridges) % 2 == 0:
            continue
        expected = port_capability(bridge, above).width
        width = part(bridge, "link").get("width")
        if width is not None and expected is not None and width < expected:
            found.append(
                LinkFinding(
                    DEGRADED, name, link_text(None, width), link_text(None, expected), str(above["id"]), "reason_width"
                )
            )
    return found


def _depth(name: str, bridges: Mapping[str, Record]) -> int:
    depth, seen = 0, {name}
    above: Any = bridges[name].get("parent")
    while above in bridges and above not in seen:
        seen.add(above)
        depth += 1
        above = bridges[above].get("parent")
    return depth


def _judge_fabric(facts: Record) -> list[LinkFinding]:
    """Scale-up links that the node itself calls down."""
    found: list[LinkFinding] = []
    for link in rows(facts, "links"):
        state = link.get("state")
        if state in ("down", "inactive", "disabled", "error"):
            pair = f"{link.get('a')} – {link.get('b')}"
            found.append(
                LinkFinding(
                    DEGRADED, pair, f"{link.get('kind')} {state}", f"{link.get('kind')} active", None, "reason_fabric"
                )
            )
    return found
