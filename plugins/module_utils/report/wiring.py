# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the facts of a node to the tree that is drawn: NUMA nodes, root complexes, switches, cards.

A bridge with one single child is not worth a box: it becomes a part of the line to that child (``via``).
Children are sorted by what they are first and by address last, so that the n-th card of one node is the
n-th card of every node that is wired alike.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

from ..codec.sysfs import cpus_of_list

Record = Mapping[str, Any]

ACCELERATORS = ("gpu", "npu", "accelerator")
_ORDER = {"gpu": 0, "npu": 1, "accelerator": 2, "nic": 3, "storage": 4}
_FOLD_ABOVE = 6  # more equal NICs or disks than this below one bridge are drawn as one box with a count


class Capability(NamedTuple):
    """What both ends of a link can do; ``speed_gts`` in GT/s, ``width`` in lanes, None where unknown."""

    speed_gts: Optional[float]
    width: Optional[int]


class Card(NamedTuple):
    """A leaf: one accelerator, or the functions of one NIC or disk, or several equal ones (``fold`` > 1).

    ``ids`` are the functions, ``virtual`` the virtual functions that belong to them. ``records`` are the
    facts of ``ids``, in the same order.
    """

    kind: str
    ids: tuple[str, ...]
    virtual: tuple[str, ...]
    link: Capability
    via: tuple[str, ...]
    fold: int
    records: tuple[Record, ...]


class Switch(NamedTuple):
    """A bridge with several children; ``via`` are the bridges between it and the box above."""

    id: str
    link: Capability
    via: tuple[str, ...]
    children: tuple[Union[Switch, Card], ...]


class Root(NamedTuple):
    """A root complex; ``name`` is None where the path of its cards is unknown, ``""`` off PCI."""

    name: Optional[str]
    children: tuple[Union[Switch, Card], ...]


class Domain(NamedTuple):
    """A NUMA node with what hangs at it; ``node`` None: the NUMA node of these cards is unknown."""

    node: Optional[int]
    record: Optional[Record]
    roots: tuple[Root, ...]


class Fabric(NamedTuple):
    """Devices that are joined by scale-up links of one kind; ``links`` as in the facts.

    ``is_complete``: every pair is there, with equal hops. Without ``links`` the devices say that they belong to such a
    fabric, and who is joined to whom is unknown.
    """

    kind: str
    members: tuple[str, ...]
    links: tuple[Record, ...]
    is_complete: bool


class Wiring(NamedTuple):
    """A node as a tree, its fabrics, and the signature that nodes wired alike share."""

    domains: tuple[Domain, ...]
    fabrics: tuple[Fabric, ...]
    signature: str


Child = Union[Switch, Card]


def rows(facts: Record, section: str) -> list[Record]:
    """A list section, empty where it is null (why it is null stands in ``unknown``)."""
    return list(facts.get(section) or ())


def part(record: Record, name: str) -> Record:
    """A mapping inside a record, empty where it is null."""
    return record.get(name) or {}


def is_virtual(record: Record) -> bool:
    """Whether this is an SR-IOV virtual function."""
    return part(record, "sriov").get("physical_function") is not None


def slot(address: str) -> str:
    """The address without its function number."""
    return address.rpartition(".")[0] or address


def least(*values: Optional[float]) -> Optional[float]:
    """The smallest of the known values, or None."""
    known = [value for value in values if value is not None]
    return min(known) if known else None


def capability(record: Record, bridges: Mapping[str, Record]) -> Capability:
    """What both ends of the link of a card can do, as far as it is known."""
    link = part(record, "link")
    above = part(bridges.get(link.get("limited_by") or "", {}), "link")
    return _both_ends(link, above)


def port_capability(bridge: Record, above: Optional[Record]) -> Capability:
    """What both ends of the link between a switch and the port above it can do."""
    return _both_ends(part(bridge, "link"), part(above or {}, "link"))


def _both_ends(here: Record, there: Record) -> Capability:
    speed = least(here.get("max_speed_gts"), there.get("max_speed_gts"))
    width = least(here.get("max_width"), there.get("max_width"))
    return Capability(None if speed is None else float(speed), None if width is None else int(width))


class _Bus:
    """A bridge (or a root bus) while the tree is built."""

    def __init__(self) -> None:
        self.below: dict[str, _Bus] = {}
        self.cards: list[Card] = []


def wire(facts: Record) -> Wiring:
    """The tree of a node."""
    bridges = {str(bridge["id"]): bridge for bridge in rows(facts, "bridges")}
    buses: dict[Optional[int], dict[Optional[str], _Bus]] = {}
    for card, numa, root, path in _cards(facts, bridges):
        bus = buses.setdefault(numa, {}).setdefault(root, _Bus())
        for bridge in path:
            bus = bus.below.setdefault(bridge, _Bus())
        bus.cards.append(card)
    known = {entry.get("node"): entry for entry in rows(facts, "numa_nodes")}
    domains = tuple(
        Domain(node, known.get(node), _roots(buses.get(node, {}), bridges))
        for node in sorted(known.keys() | buses.keys(), key=lambda node: (node is None, node or 0))
    )
    order = [
        device for domain in domains for card in cards_of(domain) if card.kind in ACCELERATORS for device in card.ids
    ]
    fabrics = _fabrics(rows(facts, "links"), order)
    fabrics += _unseen_fabrics(rows(facts, "devices"), fabrics, order)
    return Wiring(domains, fabrics, _signature(domains, fabrics, order))


def cards_of(place: Union[Domain, Root, Switch, Card]) -> list[Card]:
    """Every card below a place, in drawing order."""
    if isinstance(place, Card):
        return [place]
    below: Sequence[Any] = place.roots if isinstance(place, Domain) else place.children
    return [card for child in below for card in cards_of(child)]


def switches_of(place: Union[Domain, Root, Switch, Card]) -> list[Switch]:
    """Every switch below a place, in drawing order."""
    if isinstance(place, Card):
        return []
    below: Sequence[Any] = place.roots if isinstance(place, Domain) else place.children
    here = [place] if isinstance(place, Switch) else []
    return here + [switch for child in below for switch in switches_of(child)]


def _cards(
    facts: Record, bridges: Mapping[str, Record]
) -> list[tuple[Card, Optional[int], Optional[str], tuple[str, ...]]]:
    """The functions of a node as cards, each with its NUMA node, root bus and bridges."""
    functions: list[tuple[str, Record]] = [
        (str(device.get("kind") or "accelerator"), device) for device in rows(facts, "devices")
    ]
    functions += [("nic", nic) for nic in rows(facts, "nics")]
    functions += [("storage", disk) for disk in rows(facts, "storage")]
    present = {str(record["id"]) for _kind, record in functions}
    virtual: dict[str, list[str]] = {}
    cards: dict[tuple[str, str], list[Record]] = {}
    for kind, record in functions:
        owner = part(record, "sriov").get("physical_function")
        if owner in present:
            virtual.setdefault(str(owner), []).append(str(record["id"]))
        else:
            # the functions of one NIC or disk share a link; each accelerator stands for itself
            name = str(record["id"]) if kind in ACCELERATORS or record.get("path") is None else slot(str(record["id"]))
            cards.setdefault((kind, f"{name} {record.get('numa_node')}"), []).append(record)
    found = []
    for (kind, _name), records in cards.items():
        records.sort(key=lambda record: str(record["id"]))
        ids = tuple(str(record["id"]) for record in records)
        below = tuple(sorted(function for one in ids for function in virtual.get(one, ())))
        card = Card(kind, ids, below, capability(records[0], bridges), (), 1, tuple(records))
        found.append(
            (card, records[0].get("numa_node"), _root(records[0], bridges), tuple(records[0].get("path") or ()))
        )
    return found


def _root(record: Record, bridges: Mapping[str, Record]) -> Optional[str]:
    path = record.get("path")
    if record.get("pci", {}) is None:
        return ""
    if path is None:
        return None
    first = str(path[0]) if path else str(record["id"])
    named = bridges.get(first, {}).get("root") if path else None
    # what stands first in a path stands on the root bus: its own address names that bus
    return str(named) if named else "pci" + first.rpartition(":")[0]


def _roots(buses: Mapping[Optional[str], _Bus], bridges: Mapping[str, Record]) -> tuple[Root, ...]:
    return tuple(
        Root(name, _children(bus, None, bridges))
        for name, bus in sorted(buses.items(), key=lambda item: (item[0] is None, item[0] or ""))
    )


def _children(bus: _Bus, here: Optional[str], bridges: Mapping[str, Record]) -> tuple[Child, ...]:
    children: list[Child] = _folded(bus.cards)
    for name, below in bus.below.items():
        inner = _children(below, name, bridges)
        if len(inner) == 1:
            children.append(inner[0]._replace(via=(name, *inner[0].via)))
        else:
            link = port_capability(bridges.get(name, {}), bridges.get(here or ""))
            children.append(Switch(name, link, (), inner))
    return tuple(sorted(children, key=_rank))


def _folded(cards: Sequence[Card]) -> list[Child]:
    """Many equal NICs or disks side by side become one box."""
    alike: dict[str, list[Card]] = {}
    for card in sorted(cards, key=lambda card: card.ids):
        alike.setdefault(
            json.dumps(shape(card), sort_keys=True) if card.kind not in ACCELERATORS else card.ids[0], []
        ).append(card)
    folded: list[Child] = []
    for group in alike.values():
        if len(group) <= _FOLD_ABOVE:
            folded.extend(group)
            continue
        folded.append(
            group[0]._replace(
                ids=tuple(function for card in group for function in card.ids),
                virtual=tuple(function for card in group for function in card.virtual),
                fold=len(group),
                records=tuple(record for card in group for record in card.records),
            )
        )
    return folded


def _rank(child: Child) -> tuple[int, int, str, str]:
    if isinstance(child, Card):
        return 1, _ORDER.get(child.kind, 9), json.dumps(shape(child)), child.ids[0]
    return 0, 0, json.dumps(shape(child)), child.id


def shape(place: Union[Root, Switch, Card]) -> list[Any]:
    """What a place is, without addresses, serial numbers, or anything that a reboot may change.

    A disk counts by its link, not by its model: two suppliers of disks do not make two topologies.
    """
    if isinstance(place, Card):
        record = place.records[0]
        model = (
            None
            if place.kind == "storage"
            else [record.get("maker"), record.get("model") or part(record, "pci").get("device_id")]
        )
        return [place.kind, model, len(place.ids), place.fold, list(place.link), len(place.via)]
    below = sorted((shape(child) for child in place.children), key=json.dumps)
    if isinstance(place, Switch):
        return ["switch", list(place.link), len(place.via), below]
    return ["root" if place.name else place.name, below]


def count_cpus(cpulist: Optional[str]) -> Optional[int]:
    """How many CPUs a cpulist (``0-3,8``) names; None where it is unknown or not a cpulist."""
    if not cpulist:
        return None if cpulist is None else 0
    try:
        return len(cpus_of_list(cpulist))
    except ValueError:
        return None


def _fabrics(links: Sequence[Record], order: Sequence[str]) -> tuple[Fabric, ...]:
    """Connected devices per kind of link."""
    place = {device: index for index, device in enumerate(order)}
    fabrics = []
    for kind in sorted({str(link.get("kind")) for link in links}):
        mine = [
            link
            for link in links
            if str(link.get("kind")) == kind and link.get("a") in place and link.get("b") in place
        ]
        group: dict[str, set[str]] = {}
        for link in mine:
            joined = group.get(str(link["a"]), {str(link["a"])}) | group.get(str(link["b"]), {str(link["b"])})
            for member in joined:
                group[member] = joined
        for members in sorted(
            {tuple(sorted(joined, key=place.__getitem__)) for joined in group.values()}, key=lambda m: place[m[0]]
        ):
            own = tuple(
                sorted(
                    (link for link in mine if link["a"] in members), key=lambda link: (str(link["a"]), str(link["b"]))
                )
            )
            pairs = {frozenset((str(link["a"]), str(link["b"]))) for link in own}
            is_complete = (
                len(pairs) == len(members) * (len(members) - 1) // 2 and len({link.get("hops") for link in own}) == 1
            )
            fabrics.append(Fabric(kind, members, own, is_complete))
    return tuple(fabrics)


def _unseen_fabrics(devices: Sequence[Record], fabrics: Sequence[Fabric], order: Sequence[str]) -> tuple[Fabric, ...]:
    """Fabrics that devices name while no link of that kind is known."""
    known = {fabric.kind for fabric in fabrics}
    members: dict[str, list[str]] = {}
    for device in devices:
        kind = part(device, "fabric").get("kind")
        if kind is not None and kind not in known and device["id"] in order:
            members.setdefault(str(kind), []).append(str(device["id"]))
    return tuple(
        Fabric(kind, tuple(sorted(ids, key=order.index)), (), False)
        for kind, ids in sorted(members.items())
        if len(ids) > 1
    )


def _signature(domains: Sequence[Domain], fabrics: Sequence[Fabric], order: Sequence[str]) -> str:
    place = {device: index for index, device in enumerate(order)}
    structure = [
        [
            [
                domain.node,
                None
                if domain.record is None
                else [count_cpus(domain.record.get("cpus")), domain.record.get("distances")],
                sorted((shape(root) for root in domain.roots), key=json.dumps),
            ]
            for domain in domains
        ],
        [
            [
                fabric.kind,
                len(fabric.members),
                sorted(
                    [*sorted((place[str(link["a"])], place[str(link["b"])])), link.get("hops") or 0]
                    for link in fabric.links
                ),
            ]
            for fabric in fabrics
        ],
    ]
    return hashlib.sha256(json.dumps(structure, sort_keys=True).encode()).hexdigest()[:12]
