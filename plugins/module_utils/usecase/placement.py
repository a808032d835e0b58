# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which devices of a node to take together, and the CPUs, memory and NICs that go with them (docs/placement.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Optional

from ..codec.sysfs import cpus_of_list, list_of_cpus
from ..model.answer import Book
from ..model.errors import InputError, ProbeError
from ..topology.distance import KINDS
from ..topology.placement import FABRICS, FIELDS, Pair, Wiring, best_sets, rank, wiring

Row = Mapping[str, Any]


def advise(facts: Row, count: int, named: Optional[Sequence[str]], limit: int) -> dict[str, Any]:
    """The ``limit`` best sets of ``count`` devices of a facts document (schema 1), best first.

    ``named``: the devices to choose from. Without it, sets are of devices of one model; virtual functions, and parts
    of the processor where there are other devices, are left out.
    Raises InputError for a wish that cannot be met, ProbeError where the devices are not known.
    """
    for name, value in (("count", count), ("limit", limit)):
        if value < 1:
            raise InputError("use", f"{name} {value}", str(value), "1 or more", f"set {name} to 1 or more")
    if facts["devices"] is None:
        reason = facts["unknown"].get("devices", "the facts give no reason")
        raise ProbeError(
            "place", f"{count} devices", f"the devices are unknown: {reason}", "a root with /sys", "correct root"
        )
    groups = [_named(facts["devices"], named)] if named is not None else _alike(facts["devices"])
    ranked = []
    for group in groups:
        if len(group) < count:
            continue
        wired = wiring(group, facts["links"] or (), facts["distances"] or (), facts["numa_nodes"] or ())
        # one more than asked for: what the last one is better than
        for places in best_sets(wired, count, limit + 1):
            ids = tuple(wired.ids[place] for place in places)
            ranked.append((_comparable(wired, places), ids, wired, places))
    if not ranked:
        raise _too_few(count, groups, named is not None)
    ranked.sort(key=lambda one: one[:2])
    rows = []
    for number, (mine, _ids, wired, places) in enumerate(ranked[:limit]):
        following = ranked[number + 1][0] if number + 1 < len(ranked) else None
        rows.append(_row(facts, wired, places, _before(mine, following)))
    return {
        "placements": rows,
        "candidates": sorted(row["id"] for group in groups if len(group) >= count for row in group),
        "unknown": {key: facts["unknown"][key] for key in sorted(facts["unknown"]) if _matters(key)},
    }


def _matters(key: str) -> bool:
    return key.split(".")[0] in ("devices", "links", "distances", "nics", "numa_nodes")


def _named(devices: Sequence[Row], named: Sequence[str]) -> list[Row]:
    known = {row["id"]: row for row in devices}
    wanted = [name.strip() for name in named]
    wanted = [name if name in known else name.lower() for name in wanted]
    for name in wanted:
        if name not in known:
            shown = ", ".join(sorted(known)) or "none: this node has no device"
            raise InputError("place", f"device {name}", "no such device", f"one of {shown}", "correct devices")
        if wanted.count(name) > 1:
            raise InputError("place", f"device {name}", "named twice", "each once", "correct devices")
    return [known[name] for name in wanted]


def _alike(devices: Sequence[Row]) -> list[list[Row]]:
    """Whole devices by maker and model, in the order of their first ids; parts of the processor where all are."""
    whole = [row for row in devices if not (row["sriov"] or {}).get("physical_function")]
    apart = [row for row in whole if not row["integrated"]] or whole
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in sorted(apart, key=lambda row: str(row["id"])):
        pci = row["pci"] or {}
        kind = (row["maker"], pci.get("vendor_id"), pci.get("device_id"), row["kind"], None if pci else row["model"])
        groups.setdefault(kind, []).append(row)
    return list(groups.values())


def _too_few(count: int, groups: Sequence[Sequence[Row]], is_named: bool) -> InputError:
    most = max((len(group) for group in groups), default=0)
    found = f"{most} named" if is_named else f"{most} of one model" if most else "no device"
    step = "lower count, or name more devices" if is_named else "lower count, or name devices of several models"
    return InputError("place", f"{count} devices", found, f"at least {count}", step, {"devices": most})


def _comparable(wired: Wiring, places: Sequence[int]) -> tuple[int, ...]:
    """A set's rank, so that it compares with sets of another model too: by links there are, not by links missing."""
    numbers = list(rank(wired, places))
    missing = FIELDS.index("links missing")
    numbers[missing] = -sum(wired.pairs[pair].links or 0 for pair in combinations(places, 2))
    return tuple(numbers)


def _before(mine: tuple[int, ...], following: Optional[tuple[int, ...]]) -> str:
    if following is None:
        return "there is no other set"
    for name, one, other in zip(FIELDS, mine, following):
        if one != other:
            if name == "links missing":
                return f"better than the next set by links: {-one}, next {-other}"
            return f"better than the next set by {name}: {one}, next {other}"
    return "as good as the next set: the lower ids come first"


def _row(facts: Row, wired: Wiring, places: Sequence[int], before: str) -> dict[str, Any]:
    book = Book()
    ids = [wired.ids[place] for place in places]
    pairs = {(wired.ids[a], wired.ids[b]): wired.pairs[a, b] for a, b in combinations(places, 2)}
    known = {row["id"]: row for row in facts["devices"]}
    devices = [known[one] for one in ids]
    row: dict[str, Any] = {
        "devices": ids,
        "fabric": _fabric(pairs, _silence(facts, devices), book),
        "distance": _distance(pairs, book),
        "numa": _numa(devices, pairs, wired, places, book),
        "cpus": _cpus(devices, book),
        "memory_nodes": _memory_nodes(facts, devices, book),
        "nics": _nics(facts, devices, book),
    }
    row["unknown"] = dict(sorted(book.unknown.items()))
    row["why"] = [*_why(row, len(pairs)), before]
    return row


def _some(pairs: Sequence[tuple[str, str]], reason: str) -> str:
    """The first pair and how many more, so that eight devices do not make 28 lines."""
    more = f" and {len(pairs) - 1} more" if len(pairs) > 1 else ""
    return f"{pairs[0][0]}|{pairs[0][1]}{more}: {reason}"


def _silence(facts: Row, devices: Sequence[Row]) -> Optional[str]:
    """Why two of these devices may be linked although the facts have no link of them, or None."""
    kinds = {FABRICS.get(row["maker"] or "") for row in devices}
    for key, reason in sorted(facts["unknown"].items()):
        section, _dot, kind = key.partition(".")
        if section == "links" and (not kind or kind in kinds or None in kinds):
            return f"{key}: {reason}"
    return None


def _fabric(pairs: Mapping[tuple[str, str], Pair], silence: Optional[str], book: Book) -> dict[str, Any]:
    linked = {ids: pair for ids, pair in pairs.items() if pair.fabrics}
    found: dict[str, Any] = {
        "kinds": sorted({kind for pair in linked.values() for kind in pair.fabrics}),
        "pairs": len(pairs),
        "linked_pairs": len(linked),
        "links": 0,
        "fewest_links": 0,
        "most_hops": None,
    }
    if silence and len(linked) < len(pairs):
        for key in ("linked_pairs", "links", "fewest_links", "most_hops", *(() if linked else ("kinds",))):
            found[key] = book.miss(f"fabric.{key}", silence)
        return found
    uncounted = [ids for ids, pair in linked.items() if pair.links is None]
    counts = [pair.links for pair in linked.values() if pair.links is not None]
    if uncounted:
        for key in ("links", "fewest_links"):
            found[key] = book.miss(f"fabric.{key}", _some(uncounted, "the links are not counted"))
    elif linked:
        found["links"] = sum(counts)
        found["fewest_links"] = min(counts) if len(linked) == len(pairs) else 0
    lost = [ids for ids, pair in linked.items() if pair.hops is None]
    if lost:
        book.miss("fabric.most_hops", _some(lost, "the hops are not known"))
    elif not linked:
        book.miss("fabric.most_hops", "no pair is linked")
    else:
        found["most_hops"] = max(pair.hops or 0 for pair in linked.values())
    return found


def _distance(pairs: Mapping[tuple[str, str], Pair], book: Book) -> dict[str, Any]:
    counted = Counter(pair.distance for pair in pairs.values())
    lost = [ids for ids, pair in pairs.items() if pair.distance is None]
    worst = next((kind for kind in (*reversed(KINDS), *counted) if counted[kind]), None)
    if lost:
        worst = book.miss("distance.worst", _some(lost, str(pairs[lost[0]].reason)))
    elif worst is None:
        book.miss("distance.worst", "one device has no distance")
    return {
        "worst": worst,
        "pairs": {str(kind): counted[kind] for kind in ("same", *KINDS) if counted[kind]},
        "unknown_pairs": len(lost),
    }


def _numa(
    devices: Sequence[Row],
    pairs: Mapping[tuple[str, str], Pair],
    wired: Wiring,
    places: Sequence[int],
    book: Book,
) -> dict[str, Any]:
    silent = [row for row in devices if row["numa_node"] is None]
    nodes = sorted({row["numa_node"] for row in devices if row["numa_node"] is not None})
    if silent:
        reason = silent[0]["unknown"].get("numa_node", "the facts give no reason")
        book.miss("numa.nodes", f"{silent[0]['id']}: {reason}")
        book.miss("numa.farthest", "a NUMA node is unknown")
        return {"nodes": None, "farthest": None}
    if len(nodes) < 2:
        book.miss("numa.farthest", "one NUMA node")
        return {"nodes": nodes, "farthest": None}
    apart = [
        pair.numa
        for (_ids, pair), (a, b) in zip(pairs.items(), combinations(places, 2))
        if wired.nodes[a] != wired.nodes[b]
    ]
    if None in apart:
        book.miss("numa.farthest", "the distance of two of the NUMA nodes is unknown")
        return {"nodes": nodes, "farthest": None}
    return {"nodes": nodes, "farthest": max(one for one in apart if one is not None)}


def _cpus(devices: Sequence[Row], book: Book) -> Optional[str]:
    """The CPUs beside any of the devices."""
    numbers: set[int] = set()
    for row in devices:
        if row["cpus"] is None:
            reason = row["unknown"].get("cpus", "the facts give no reason")
            book.miss("cpus", f"{row['id']}: {reason}")
            return None
        numbers.update(cpus_of_list(row["cpus"]))
    return list_of_cpus(numbers)


def _memory_nodes(facts: Row, devices: Sequence[Row], book: Book) -> Optional[list[int]]:
    """The NUMA nodes of the devices; for one without memory, the nearest that have some."""
    rows = {row["node"]: row for row in facts["numa_nodes"] or ()}
    found: set[int] = set()
    for device in devices:
        node = device["numa_node"]
        if node is None:
            reason = device["unknown"].get("numa_node", "the facts give no reason")
            book.miss("memory_nodes", f"{device['id']}: {reason}")
            return None
        if node not in rows or rows[node]["memory_mib"] != 0:
            found.add(node)
            continue
        far = dict(zip(rows, rows[node]["distances"] or ()))
        near = {other: far[other] for other in far if rows[other]["memory_mib"]}
        if not near:
            book.miss("memory_nodes", f"NUMA node {node} has no memory, and which is nearest is unknown")
            return None
        found.update(other for other in near if near[other] == min(near.values()))
    return sorted(found)


def _nics(facts: Row, devices: Sequence[Row], book: Book) -> Optional[list[dict[str, Any]]]:
    """The NICs that are the nearest of a device of the set: each with its distance and those devices."""
    kinds = {frozenset((row["a"], row["b"])): row["kind"] for row in facts["distances"] or ()}
    found: dict[tuple[str, str], list[str]] = {}
    for device in devices:
        nics = (device.get("nearest") or {}).get("nics")
        if nics is None:
            reason = facts["unknown"].get("nics") or device["unknown"].get("nearest.nics", "the facts give no reason")
            book.miss("nics", f"{device['id']}: {reason}")
            return None
        place = (device["sriov"] or {}).get("physical_function") or device["id"]
        for nic in nics:
            found.setdefault((nic, str(kinds[frozenset((nic, place))])), []).append(device["id"])
    return [{"id": nic, "distance": kind, "devices": found[nic, kind]} for nic, kind in sorted(found)]


def _hops(count: int) -> str:
    return f"at most {count} hop{'s' if count > 1 else ''}"


def _why(row: Row, pairs: int) -> list[str]:
    """The rules in their order, each with what it found here."""
    lines = []
    fabric, distance, numa = row["fabric"], row["distance"], row["numa"]
    if pairs and fabric["linked_pairs"] is None:
        lines.append(f"fabric: unknown ({row['unknown']['fabric.linked_pairs']})")
    elif pairs and fabric["linked_pairs"]:
        links = "links not counted" if fabric["links"] is None else f"{fabric['links']} links"
        hops = "hops unknown" if fabric["most_hops"] is None else _hops(fabric["most_hops"])
        kinds = " and ".join(fabric["kinds"])
        lines.append(f"fabric: {fabric['linked_pairs']} of {pairs} pairs linked by {kinds}, {links}, {hops}")
    elif pairs:
        lines.append(f"fabric: none of {pairs} pairs linked")
    if pairs:
        parts = [f"{count} {kind}" for kind, count in distance["pairs"].items()]
        parts += [f"{distance['unknown_pairs']} unknown"] if distance["unknown_pairs"] else []
        lines.append(f"distance: {', '.join(parts)}")
    if numa["nodes"] is None:
        lines.append("NUMA: unknown")
    elif numa["farthest"] is None:
        lines.append(f"NUMA: {len(numa['nodes'])} node{'s' if len(numa['nodes']) > 1 else ''}")
    else:
        lines.append(f"NUMA: {len(numa['nodes'])} nodes, at most {numa['farthest']} apart")
    return lines
