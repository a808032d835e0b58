# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fleet runs: versions, driver agreement, partitions, fabrics, and the tools that were asked.

Nodes that say the same share a row, so that the tables grow with what differs and not with the fleet.
Unknown stands beside the values with its reason, and is never counted among them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from .markup import natural
from .spread import NOT_SET, by_model, model_of, on_disk, partition_mode, profiles, show, together
from .wiring import Record, Wiring, is_virtual, part, rows

Seen = Sequence[tuple[str, Record]]
"""``(name, facts)`` of each node that was seen, in the order of the page."""

_READ = ("sysfs", "procfs")
_ASKED = ("ok", "partial", "failed")
_NO_REASON = "no reason is told"
_SIDES = ("driver_loaded", "driver_on_disk", "driver_next_boot", "user_space", "fabric_manager")
_ORDER = (*_SIDES, "kernel", "next_boot", "cgroup", "secure_boot", "firmware")


class Told(NamedTuple):
    """What a node says of one thing: a text, or None and the reason why it is unknown."""

    value: Optional[str]
    reason: str


class _Groups:
    """Nodes by what they say, each with how many things of theirs say it."""

    def __init__(self) -> None:
        self.nodes: dict[Any, list[str]] = {}
        self.counts: Counter[Any] = Counter()

    def add(self, key: Any, node: str, count: int = 1) -> None:
        """``key`` is anything that can be a key; the same node may come again."""
        names = self.nodes.setdefault(key, [])
        if not names or names[-1] != node:
            names.append(node)
        self.counts[key] += count

    def ranked(self) -> list[Any]:
        """The keys, most nodes first."""
        return sorted(self.nodes, key=lambda key: (-len(self.nodes[key]), str(key)))


def versions(seen: Seen) -> list[dict[str, Any]]:
    """``[{field, subject, values: [{value, nodes}], unknown: [{reason, nodes}]}]``.

    Of drivers, those that devices are bound to somewhere in the fleet.
    """
    bound = {
        str(part(device, "driver")["name"]).replace("-", "_")
        for _name, facts in seen
        for device in rows(facts, "devices")
        if part(device, "driver").get("name")
    }
    table: dict[tuple[str, str], dict[str, Told]] = {}
    for name, facts in seen:
        for field, subject, told in _versions_of(facts, bound):
            table.setdefault((field, subject), {})[name] = told
    found = []
    for (field, subject), said in table.items():
        # a kernel that boots next as it runs now is on disk once
        if field == "driver_next_boot" and said == table.get(("driver_on_disk", subject)):
            continue
        values, unknown = _Groups(), _Groups()
        for name, told in said.items():
            if told.value is None:
                unknown.add(told.reason, name)
            else:
                values.add(told.value, name)
        found.append(
            {
                "field": field,
                "subject": subject,
                "values": [{"value": value, "nodes": values.nodes[value]} for value in values.ranked()],
                "unknown": [{"reason": reason, "nodes": unknown.nodes[reason]} for reason in unknown.ranked()],
            }
        )
    # a driver with its sides is read together; all else by field
    return sorted(
        found,
        key=lambda row: (
            (0, row["subject"], _ORDER.index(row["field"]))
            if row["field"] in _SIDES
            else (1, "", _ORDER.index(row["field"])),
            natural(row["subject"]),
        ),
    )


def _versions_of(facts: Record, bound: set[str]) -> Iterable[tuple[str, str, Told]]:
    kernel, security = part(facts, "kernel"), part(facts, "security")
    missing = part(facts, "unknown")
    for name, key, section, record in (
        ("kernel", "release", "kernel", kernel),
        ("next_boot", "next_boot", "kernel", kernel),
        ("cgroup", "cgroup_version", "kernel", kernel),
        ("secure_boot", "secure_boot", "security", security),
    ):
        yield name, "", _told(record.get(key), part(record, "unknown").get(key) or missing.get(section))
    for row in rows(facts, "drivers"):
        subject = str(row.get("name"))
        if subject.replace("-", "_") not in bound:
            continue
        unknown = part(row, "unknown")
        yield "driver_loaded", subject, _told(row.get("loaded"), unknown.get("loaded"))
        yield "driver_on_disk", subject, _on_disk(row, kernel.get("release"))
        yield "driver_next_boot", subject, _on_disk(row, kernel.get("next_boot"))
        for key in ("user_space", "fabric_manager"):
            yield key, subject, _told(row.get(key), unknown.get(key))
    for model, devices in by_model(facts).items():
        items = sorted({item for device in devices for item in part(device, "firmware")})
        for item in items:
            values = [part(device, "firmware").get(item) for device in devices]
            reasons = [part(device, "unknown").get(f"firmware.{item}") for device in devices]
            # one device of eight that does not tell is no reason to hide the others
            text = together(values if None not in values else [value or "?" for value in values])
            is_known = any(value is not None for value in values)
            yield "firmware", f"{model} {item}", _told(text if is_known else None, next(filter(None, reasons), None))
        reasons = [part(device, "unknown").get("firmware") for device in devices if device.get("firmware") is None]
        if reasons and not items:
            yield "firmware", model, _told(None, next(filter(None, reasons), None))


def _told(value: Any, reason: Optional[Any]) -> Told:
    return Told(None, str(reason or _NO_REASON)) if value is None else Told(show(value), "")


def _on_disk(row: Record, kernel: Optional[Any]) -> Told:
    unknown = part(row, "unknown")
    if row.get("on_disk") is None:
        return Told(None, str(unknown.get("on_disk") or _NO_REASON))
    if kernel is None:
        return Told(None, "the kernel is unknown")
    mine = [place for place, one in enumerate(row["on_disk"]) if one.get("kernel") == kernel]
    if not mine:
        return Told(NOT_SET, "")
    return _told(on_disk(row, kernel), unknown.get(f"on_disk.{mine[0]}.version"))


def agreement(seen: Seen) -> dict[str, list[dict[str, Any]]]:
    """``{mismatches, agrees, unknown}``, a row for the nodes that say the same.

    ``mismatches``: ``{subject, field, values: [{side, value}], count, nodes}``. ``field`` is empty for a driver
    (``subject`` its name), else the path of a fact on which the kernel and a tool contradict each other
    (``subject`` the model of the devices, ``count`` how many). ``agrees``: ``{subject, nodes}``. ``unknown``:
    ``{subject, reason, nodes}``. Drivers that are not loaded are not judged and in none of them.
    """
    mismatches, agrees, unknown = _Groups(), _Groups(), _Groups()
    for name, facts in seen:
        bound = {str(part(device, "driver").get("name")).replace("-", "_") for device in rows(facts, "devices")}
        for row in rows(facts, "drivers"):
            subject, why = str(row.get("name")), part(row, "unknown").get("mismatch")
            if row.get("mismatch"):
                mismatches.add((subject, "", tuple((str(k), show(v)) for k, v in row["mismatch"].items())), name)
            elif subject.replace("-", "_") in bound:
                if why is None:
                    agrees.add(subject, name)
                else:
                    unknown.add((subject, str(why)), name)
        for device in rows(facts, "devices"):
            for path, both in part(device, "mismatch").items():
                sides = tuple((str(side), show(value)) for side, value in both.items())
                mismatches.add((model_of(device), str(path), sides), name)
    return {
        "mismatches": [
            {
                "subject": key[0],
                "field": key[1],
                "values": [{"side": side, "value": value} for side, value in key[2]],
                "count": mismatches.counts[key],
                "nodes": mismatches.nodes[key],
            }
            for key in sorted(mismatches.ranked(), key=lambda key: key[1] != "")
        ],
        "agrees": [{"subject": key, "nodes": agrees.nodes[key]} for key in agrees.ranked()],
        "unknown": [{"subject": key[0], "reason": key[1], "nodes": unknown.nodes[key]} for key in unknown.ranked()],
    }


def partitions(seen: Seen) -> list[dict[str, Any]]:
    """``[{model, mode, partitions, unknown: {mode, partitions}, devices, nodes}]``: devices that are divided alike.

    ``mode`` is a text, or null, with its reason where one is told; ``partitions`` maps a profile (the kind where none
    is told) to how many of it a device has, is ``{}`` where it has none, and null with its reason.
    """
    groups = _Groups()
    for name, facts in seen:
        for model, devices in by_model(facts).items():
            for device in devices:
                groups.add((model, *_division(device)), name)
    found = []
    for key in sorted(groups.ranked(), key=lambda key: (key[0], key[2] is None)):
        model, mode, divided, whys = key
        found.append(
            {
                "model": model,
                "mode": mode,
                "partitions": None if divided is None else dict(divided),
                "unknown": dict(whys),
                "devices": groups.counts[key],
                "nodes": groups.nodes[key],
            }
        )
    return found


def _division(device: Record) -> tuple[Any, ...]:
    mode, found, unknown = partition_mode(device), profiles(device), part(device, "unknown")
    whys = {
        "mode": None if mode else _first(unknown, "partition_mode.compute", "partition_mode.memory", "partition_mode"),
        "partitions": (_first(unknown, "partitions") or _NO_REASON) if found is None else None,
    }
    # a reason names the device that has it (/proc/…/gpu3/mig): without the number, equal devices share a row
    told = tuple((key, re.sub("[0-9]+", "#", why)) for key, why in whys.items() if why is not None)
    return mode, None if found is None else tuple(found.items()), told


def fabrics(seen: Seen, wirings: Mapping[str, Wiring]) -> list[dict[str, Any]]:
    """``[{kind, devices, pairs, links, state, clique, unknown: {state, clique}, nodes}]``: fabrics that are alike.

    ``devices`` are those of one node; ``pairs`` of them are joined; ``links`` is the number of links of a pair as a
    text, null where unknown.
    """
    groups = _Groups()
    for name, facts in seen:
        devices = {str(device["id"]): device for device in rows(facts, "devices")}
        fabric_kinds: dict[str, list[Record]] = {}
        joined: set[str] = set()
        for fabric in wirings[name].fabrics:
            joined.update(fabric.members)
            members = [devices[member] for member in fabric.members]
            groups.add(_fabric(fabric.kind, members, fabric.links), name)
        for one, device in devices.items():
            kind = part(device, "fabric").get("kind")
            if kind is not None and one not in joined and not is_virtual(device):
                fabric_kinds.setdefault(str(kind), []).append(device)
        for kind, alone in fabric_kinds.items():
            groups.add(_fabric(kind, alone, ()), name)
    found = []
    for key in sorted(groups.ranked(), key=lambda key: str(key[0])):
        kind, count, pairs, links, state, clique, whys = key
        found.append(
            {
                "kind": kind,
                "devices": count,
                "pairs": pairs,
                "links": links,
                "state": state,
                "clique": clique,
                "unknown": dict(whys),
                "nodes": groups.nodes[key],
            }
        )
    return found


def _fabric(kind: str, members: Sequence[Record], links: Sequence[Record]) -> tuple[Any, ...]:
    told = {key: together([part(device, "fabric").get(key) for device in members]) for key in ("state", "clique")}
    if told["state"] is None:
        # what belongs to no switched fabric still has links with a state
        told["state"] = together([link.get("state") for link in links])
    whys = []
    for key, text in told.items():
        if text is None:
            reasons = (_first(part(device, "unknown"), f"fabric.{key}", "fabric") for device in members)
            whys.append((key, next(filter(None, reasons), _NO_REASON)))
    counts = together([link.get("count") for link in links])
    return kind, len(members), len(links), counts, told["state"], told["clique"], tuple(whys)


def _first(unknown: Record, *paths: str) -> Optional[str]:
    return next((str(unknown[path]) for path in paths if path in unknown), None)


def tools(seen: Seen) -> list[dict[str, Any]]:
    """``[{name, status, reason, nodes}]`` of the makers' tools that were looked for."""
    groups = _Groups()
    for name, facts in seen:
        for source in rows(facts, "sources"):
            if source.get("name") not in _READ:
                groups.add((str(source.get("name")), str(source.get("status")), source.get("reason")), name)
    return [
        {"name": key[0], "status": key[1], "reason": key[2], "nodes": groups.nodes[key]}
        for key in sorted(groups.ranked(), key=lambda key: key[0])
    ]


def asked(rows_of_tools: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of the tools that ran somewhere: a run in which none did has read the kernel alone."""
    return sorted({str(row["name"]) for row in rows_of_tools if row["status"] in _ASKED})
