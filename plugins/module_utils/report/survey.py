# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of a fleet as one document: what ``survey.json`` holds and the page shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from .links import DEGRADED, VERDICTS, LinkFinding, judge_links
from .markup import natural
from .matrix import agreement, fabrics, partitions, tools, versions
from .spread import Spread, compare, model_of
from .texts import full_model
from .wiring import ACCELERATORS, Record, Wiring, count_cpus, is_virtual, part, rows, wire

SEEN, FAILED, UNREACHABLE, MISSING = "seen", "failed", "unreachable", "missing"


class NodeReport(NamedTuple):
    """One host of the run. ``facts`` is set when ``status`` is ``seen``; else ``reason`` says why not.

    ``root`` is the tree that was read, ``/`` for the live node.
    """

    name: str
    status: str
    root: str
    facts: Optional[Record]
    reason: str


class Survey(NamedTuple):
    """``document`` is plain JSON data without time or run; ``wirings`` are drawn by the page, by node name."""

    document: dict[str, Any]
    wirings: dict[str, Wiring]


def survey(nodes: Sequence[NodeReport], title: str, changed: Sequence[Mapping[str, Any]] = ()) -> Survey:
    """Everything that the report says, in a fixed order: the same nodes give the same document.

    ``changed`` are the rows of ``changes``: what the run did to the nodes beside looking.
    """
    nodes = sorted(nodes, key=lambda node: natural(node.name))
    seen = [(node.name, node.facts) for node in nodes if node.status == SEEN and node.facts is not None]
    wirings = {name: wire(facts) for name, facts in seen}
    topologies = _topologies(wirings, {name for name, facts in seen if rows(facts, "devices")})
    topology_of = {name: topology["name"] for topology in topologies for name in topology["nodes"]}
    findings = [
        (name, finding) for name, facts in seen for finding in [*judge_links(facts), *_judge_counts(wirings[name])]
    ]
    spreads = compare(seen)
    differing = sorted(
        {name for spread in spreads if spread.has_majority for _value, names in spread.values[1:] for name in names},
        key=natural,
    )
    degraded = Counter(name for name, finding in findings if finding.verdict == DEGRADED)
    unknowns = {name: unknown_of(facts) for name, facts in seen}
    rows_of_nodes = []
    for node in nodes:
        row: dict[str, Any] = {
            "name": node.name,
            "status": node.status,
            "root": node.root,
            "reason": node.reason or None,
        }
        if node.name in wirings and node.facts is not None:
            row.update(_summary(node.facts))
            row.update(
                topology=topology_of[node.name],
                differs=node.name in differing,
                degraded_links=degraded[node.name],
                unknown_values=len(unknowns[node.name]),
            )
        rows_of_nodes.append(row)
    makers = _makers(seen)
    count = Counter(node.status for node in nodes)
    document: dict[str, Any] = {
        "schema": 1,
        "title": title,
        "totals": {
            "nodes": len(nodes),
            "seen": count[SEEN],
            "failed": count[FAILED],
            "unreachable": count[UNREACHABLE],
            "missing": count[MISSING],
            "devices": sum(entry["count"] for entry in makers),
            "topologies": len(topologies),
            "differing_nodes": len(differing),
            "degraded_links": sum(degraded.values()),
            "unknown_values": sum(len(entries) for entries in unknowns.values()),
        },
        "changes": [dict(row) for row in changed],
        "makers": makers,
        "topologies": topologies,
        "versions": versions(seen),
        "agreement": agreement(seen),
        "partitions": partitions(seen),
        "fabrics": fabrics(seen, wirings),
        "tools": tools(seen),
        "nodes": rows_of_nodes,
        "differences": [_spread_row(spread) for spread in spreads],
        "links": [
            {"node": name, **finding._asdict()}
            for name, finding in sorted(findings, key=lambda pair: (VERDICTS.index(pair[1].verdict), natural(pair[0])))
        ],
        "unknown": _unknown_rows(unknowns),
    }
    return Survey(document, wirings)


def summary(document: Mapping[str, Any]) -> dict[str, Any]:
    """The totals as scalars, for ``set_stats``."""
    totals = document["totals"]
    return {
        "nodes_total": totals["nodes"],
        "nodes_seen": totals["seen"],
        "nodes_failed": totals["failed"],
        "nodes_unreachable": totals["unreachable"],
        "nodes_missing": totals["missing"],
        "devices_total": totals["devices"],
        "makers": ", ".join(
            f"{entry['count']} × {full_model(entry['maker'], entry['model'])}" for entry in document["makers"]
        ),
        "topologies_total": totals["topologies"],
        "differing_nodes": totals["differing_nodes"],
        "degraded_links": totals["degraded_links"],
        "unknown_values": totals["unknown_values"],
    }


def unknown_of(facts: Record) -> list[tuple[str, str]]:
    """Every ``(path, reason)`` of a node; list positions and ids are left out of the path (``devices[].serial``)."""
    found = [(path, str(reason)) for path, reason in part(facts, "unknown").items()]
    for name, section in facts.items():
        if name == "unknown":
            continue
        if isinstance(section, Mapping):
            found += _unknown_below(section, name)
        elif isinstance(section, (list, tuple)):
            prefix = f"{name}[]"
            for record in section:
                if isinstance(record, dict):
                    found += _unknown_below(record, prefix)
    return found


def _unknown_below(record: Record, prefix: str) -> list[tuple[str, str]]:
    unknown = record.get("unknown")
    found = [(f"{prefix}.{path}", str(reason)) for path, reason in unknown.items()] if unknown else []
    for name, value in record.items():
        # a fleet has millions of these values: the plain types of JSON are asked for, which is quick
        if value.__class__ is list:
            for inner in value:
                if inner.__class__ is dict and inner.get("unknown").__class__ is dict:
                    found += _unknown_below(inner, f"{prefix}.{name}[]")
    return found


def _unknown_rows(unknowns: Mapping[str, Sequence[tuple[str, str]]]) -> list[dict[str, Any]]:
    paths: dict[str, Counter[str]] = {}
    nodes: dict[str, set[str]] = {}
    for name, entries in unknowns.items():
        for path, reason in entries:
            paths.setdefault(reason, Counter())[path] += 1
            nodes.setdefault(reason, set()).add(name)
    return [
        {
            "reason": reason,
            "paths": [{"path": path, "count": counted[path]} for path in sorted(counted)],
            "count": sum(counted.values()),
            "nodes": sorted(nodes[reason], key=natural),
        }
        for reason, counted in sorted(paths.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    ]


def _topologies(wirings: Mapping[str, Wiring], bearers: Collection[str]) -> list[dict[str, Any]]:
    """The distinct topologies: those with accelerators first, then by how many nodes have them."""
    groups: dict[str, list[str]] = {}
    for name in sorted(wirings, key=natural):
        groups.setdefault(wirings[name].signature, []).append(name)
    ranked = sorted(groups.items(), key=lambda item: (item[1][0] not in bearers, -len(item[1]), natural(item[1][0])))
    return [
        {"name": letters(index), "signature": signature, "nodes": names}
        for index, (signature, names) in enumerate(ranked)
    ]


def letters(index: int) -> str:
    """0 is A, 25 is Z, 26 is AA."""
    text = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        text = chr(65 + rest) + text
    return text


def _makers(seen: Sequence[tuple[str, Record]]) -> list[dict[str, Any]]:
    counted: Counter[tuple[str, str, str]] = Counter()
    nodes: dict[tuple[str, str, str], set[str]] = {}
    for name, facts in seen:
        for device in rows(facts, "devices"):
            if is_virtual(device):
                continue
            key = (str(device.get("maker") or "?"), model_of(device), str(device.get("kind") or ACCELERATORS[2]))
            counted[key] += 1
            nodes.setdefault(key, set()).add(name)
    return [
        {
            "maker": maker,
            "model": model,
            "kind": kind,
            "count": counted[maker, model, kind],
            "nodes": sorted(nodes[maker, model, kind], key=natural),
        }
        for maker, model, kind in sorted(counted, key=lambda key: (-counted[key], key))
    ]


def _summary(facts: Record) -> dict[str, Any]:
    """What the table of nodes shows."""
    kernel, security = part(facts, "kernel"), part(facts, "security")
    domains = rows(facts, "numa_nodes")
    cpus = [count_cpus(domain.get("cpus")) for domain in domains]
    memory = [domain.get("memory_mib") for domain in domains]
    sizes = [disk.get("size_mib") for disk in rows(facts, "storage")]
    return {
        "devices": _by_model(facts, "devices"),
        "nics": _by_model(facts, "nics"),
        "storage": None
        if facts.get("storage") is None
        else {
            "count": len(sizes),
            "size_mib": None if None in sizes else sum(int(size) for size in sizes if size is not None),
        },
        "drivers": _drivers(facts),
        "kernel": kernel.get("release"),
        "cpus": None if not cpus or None in cpus else sum(count or 0 for count in cpus),
        "memory_mib": None if not memory or None in memory else sum(int(size) for size in memory if size is not None),
        "numa_nodes": len(domains) if facts.get("numa_nodes") is not None else None,
        "secure_boot": security.get("secure_boot"),
        "cgroup": kernel.get("cgroup_version"),
    }


def _by_model(facts: Record, section: str) -> Optional[list[dict[str, Any]]]:
    if facts.get(section) is None:
        return None
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in rows(facts, section):
        groups.setdefault((str(record.get("maker") or "?"), model_of(record)), []).append(record)
    return [
        {
            "maker": maker,
            "model": model,
            "count": sum(not is_virtual(record) for record in group),
            "virtual": sum(is_virtual(record) for record in group),
            "ids": sorted(str(record["id"]) for record in group),
        }
        for (maker, model), group in sorted(groups.items())
    ]


def _drivers(facts: Record) -> list[str]:
    """The drivers that devices are bound to, with their versions as far as known."""
    found: Counter[str] = Counter()
    for device in rows(facts, "devices"):
        driver = part(device, "driver")
        if driver.get("name"):
            found[" ".join(str(word) for word in (driver["name"], driver.get("version")) if word)] += 1
    return sorted(found)


def _judge_counts(wiring: Wiring) -> list[LinkFinding]:
    """Where nearly every pair of a fabric has the same number of links, a pair with fewer has lost some."""
    found = []
    for fabric in wiring.fabrics:
        counts = Counter(link["count"] for link in fabric.links if link.get("count") is not None)
        if not counts or not fabric.is_complete:
            continue
        usual, times = max(counts.items(), key=lambda item: (item[1], item[0]))
        if times * 2 <= sum(counts.values()):
            continue
        for link in fabric.links:
            if link.get("count") is not None and link["count"] < usual:
                found.append(
                    LinkFinding(
                        DEGRADED,
                        f"{link['a']} – {link['b']}",
                        f"{link['count']} {fabric.kind}",
                        f"{usual} {fabric.kind}",
                        None,
                        "reason_fabric_count",
                    )
                )
    return found


def _spread_row(spread: Spread) -> dict[str, Any]:
    return {
        "field": spread.field.name,
        "subject": spread.field.subject,
        "has_majority": spread.has_majority,
        "values": [{"value": value, "nodes": sorted(names, key=natural)} for value, names in spread.values],
    }
