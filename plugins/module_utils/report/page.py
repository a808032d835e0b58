# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The survey as one HTML page: no script, no file beside it, no request.

Made to be read on a wall, on paper and at night.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from .changes import FAILED
from .links import DEGRADED, VERDICTS
from .markup import fold_names, safe, short_names, tag
from .matrix import asked
from .picture import Flaw, draw
from .spread import NOT_SET, size_text
from .style import STYLE
from .survey import SEEN, Survey
from .texts import LANGUAGES, full_model, maker_name, short_model
from .wiring import cards_of, switches_of

_FEW = 8  # names that are listed; more are counted, and listed on a click
_MANY = 100  # nodes from which on the tiles are small
_TILE = 7.2, 62, 92, 184  # pixels of a sign, of what stands beside the name, and the least and the most of a small tile
_LOUD = "vbios"  # firmware that is shown where all nodes agree too


def render_json(survey: Survey, run: Mapping[str, str]) -> str:
    """``survey.json``: the document, and when and by which run it was made."""
    return json.dumps({**survey.document, "run": dict(run)}, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def render_page(survey: Survey, time: str, language: str) -> str:
    """``survey.html``. ``time`` is the time of the run as it shall be read; ``language`` is ``en`` or ``de``."""
    return _Page(survey, LANGUAGES[language]).render(time, language)


class _Page:
    def __init__(self, survey: Survey, texts: Mapping[str, str]) -> None:
        self.survey = survey
        self.document = survey.document
        self.texts = texts
        self.flaws = self._flaws()

    def render(self, time: str, language: str) -> str:
        title = safe(self.document["title"] or self.texts["title"])
        topologies = "".join(self._topology(entry) for entry in self.document["topologies"])
        parts = [
            tag(
                "header",
                tag("div", tag("h1", title) + tag("p", safe(self._lead()), "lead"))
                + tag("p", safe(self.texts["seen_at"].format(time=time)), "when"),
            ),
            self._figures(),
            self._lost(),
            self._changes(),
            self._makers(),
            self._fleet(),
            self._section("wiring", topologies or self._nothing("no_nodes")),
            self._differences(),
            self._versions(),
            self._agreement(),
            self._partitions(),
            self._fabrics(),
            self._links(),
            self._nodes(),
            self._unknown(),
            self._tools(),
            tag("footer", self._text("footer")),
        ]
        head = _HEAD + tag("title", title) + "\n" + tag("style", "\n" + STYLE)
        body = "\n".join(parts)
        return (
            f'<!DOCTYPE html>\n<html lang="{safe(language)}">\n<head>\n{head}\n</head>\n'
            f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
        )

    def _lead(self) -> str:
        names = asked(self.document["tools"])
        how = self.texts["read_tools"].format(tools=", ".join(names)) if names else self.texts["read_kernel"]
        return f"{self.texts['subtitle']} {how}"

    def _text(self, key: str) -> str:
        return safe(self.texts[key])

    def _figures(self) -> str:
        totals, makers = self.document["totals"], self.document["makers"]
        fields = sum(1 for row in self.document["differences"] if row["has_majority"])
        maker_count = len({entry["maker"] for entry in makers})
        is_whole = totals["nodes"] == totals["seen"]
        figures = [
            ("seen", "all_nodes", self.texts["of_total"].format(total=totals["nodes"]), "" if is_whole else "bad"),
            ("devices", "devices", self.texts["devices_note"].format(models=len(makers), makers=maker_count), ""),
            ("topologies", "topologies", self.texts["topologies_note"], ""),
            ("differing_nodes", "differing", self.texts["differing_note"].format(fields=fields), "warn"),
            ("degraded_links", "degraded", self.texts["degraded_note"], "bad"),
            (
                "unknown_values",
                "unknown",
                self.texts["unknown_note"].format(reasons=len(self.document["unknown"])),
                "calm",
            ),
        ]
        return tag(
            "section",
            "".join(
                tag(
                    "div",
                    tag("b", str(totals[total])) + tag("span", self._text(key)) + tag("small", safe(note)),
                    f"figure {look if totals[total] else ''}".strip(),
                )
                for total, key, note, look in figures
            ),
            "figures",
        )

    def _lost(self) -> str:
        lost = [node for node in self.document["nodes"] if node["status"] != SEEN]
        if not lost:
            return ""
        # a switch that is down takes many nodes with it, and all say the same; each name is in the table of nodes
        groups: dict[tuple[str, str], list[str]] = {}
        for node in lost:
            groups.setdefault((node["status"], node["reason"] or ""), []).append(node["name"])
        rows = "".join(
            tag(
                "li",
                f"{tag('b', self._names(names))} {self._text('status_' + status)}"
                + (f" ({len(names)})" if len(names) > 1 else "")
                + (tag("span", safe(reason)) if reason else ""),
            )
            for (status, reason), names in groups.items()
        )
        return f'<section class="lost"><h2>{safe(self.texts["not_seen"])} ({len(lost)})</h2><ul>{rows}</ul></section>'

    def _changes(self) -> str:
        """What the run did to the nodes; no section where it only looked. Nodes with the same result are one row."""
        groups: dict[str, tuple[Mapping[str, Any], list[str]]] = {}
        for row in self.document["changes"]:
            alike = json.dumps({**row, "node": ""}, sort_keys=True)
            groups.setdefault(alike, (row, []))[1].append(row["node"])
        if not groups:
            return ""
        rows = [self._change(row, nodes) for row, nodes in groups.values()]
        is_check = any(row["is_check"] for row in self.document["changes"])
        table = self._table(_CHANGE_COLUMNS, rows, "wide")
        return self._section("changes", (tag("p", self._text("check_note")) if is_check else "") + table)

    def _change(self, row: Mapping[str, Any], nodes: Sequence[str]) -> list[str]:
        key = "change_failed" if row["status"] == FAILED else "change_done" if row["changed"] else "change_none"
        if key == "change_done" and row["is_check"]:
            key = "change_foreseen"
        look = {"change_failed": "degraded", "change_none": "good"}.get(key, "")
        made = "" if row["generation"] is None else str(row["generation"])
        due = [f"{tag('code', safe(one['service']))} {tag('small', safe(one['reason']))}" for one in row["restart"]]
        return [
            tag("td", self._names(nodes)),
            tag("td", tag("span", self._text(key), f"verdict {look}".strip())),
            tag("td", made, "n"),
            tag("td", self._steps(row["plan"])),
            tag("td", self._lines([safe(reason) for reason in row["reboot"]])),
            tag("td", self._lines(due)),
            tag("td", self._lines([safe(one) for one in row["deferred"]])),
            tag("td", self._lines([safe(one) for one in row["blockers"]])),
        ]

    def _steps(self, plan: Sequence[Mapping[str, Any]]) -> str:
        lines = [f"{tag('code', safe(step['subject']))} {tag('small', safe(step['change']))}" for step in plan]
        return self._more(str(len(lines)), self._lines(lines)) if len(lines) > _FEW else self._lines(lines)

    def _lines(self, lines: Sequence[str]) -> str:
        return "<br>".join(lines) or self._text("none")

    def _makers(self) -> str:
        makers = self.document["makers"]
        if not makers:
            return self._section("devices", self._nothing("no_devices"))
        most = max(entry["count"] for entry in makers)
        rows = [
            [
                tag("td", safe(maker_name(entry["maker"]))),
                tag("td", tag("b", safe(short_model(entry["maker"], entry["model"]))), "whole"),
                tag("td", self._key(entry["kind"], "kind_" + entry["kind"])),
                tag("td", str(entry["count"]), "n"),
                tag("td", tag("i", "", entry["kind"], style=f"width:{100 * entry['count'] / most:.1f}%"), "bar"),
                tag("td", self._names(entry["nodes"])),
            ]
            for entry in makers
        ]
        return self._section("devices", self._table(["maker", "model", "kind", "count", "", "on_nodes"], rows))

    def _fleet(self) -> str:
        states = {node["name"]: self._state(node) for node in self.document["nodes"]}
        shown = short_names(list(states))
        tiles = "".join(
            tag(
                "li",
                tag("b", safe(shown[node["name"]]))
                + tag("span", safe(node.get("topology") or ""))
                + tag("i", _MARKS[states[node["name"]]]),
                states[node["name"]],
                title=f"{node['name']}: {self.texts['state_' + states[node['name']]]}",
            )
            for node in self.document["nodes"]
        )
        used = [state for state in _MARKS if state in states.values()]
        legend = "".join(self._key(state, "state_" + state, _MARKS[state]) for state in used)
        kind, width = "tiles", ""
        if len(states) >= _MANY:
            sign, beside, least, most = _TILE
            longest = max(len(name) for name in shown.values())
            kind, width = "tiles small", f"--tile:{min(most, max(least, sign * longest + beside)):.0f}px"
        return self._section("fleet", tag("ul", tiles, kind, style=width) + tag("p", legend, "legend"))

    def _key(self, kind: str, text: str, mark: str = "") -> str:
        return tag("span", tag("i", mark) + self._text(text), f"key {kind}")

    def _state(self, node: Mapping[str, Any]) -> str:
        if node["status"] != SEEN:
            return "lost"
        if node["degraded_links"]:
            return "degraded"
        return "differs" if node["differs"] else "ok"

    def _topology(self, entry: Mapping[str, Any]) -> str:
        names = entry["nodes"]
        first = names[0]
        wiring = self.survey.wirings[first]
        flaws = self.flaws.get(entry["name"], {})
        row = next(node for node in self.document["nodes"] if node["name"] == first)
        what = ", ".join(
            f"{model['count']} × {full_model(model['maker'], model['model'])}" for model in row["devices"] or ()
        )
        what = what or self.texts["unknown_short" if row["devices"] is None else "no_accelerators"]
        how_many = self.texts["on_one_node"] if len(names) == 1 else self.texts["on_nodes"].format(count=len(names))
        label = f"{self.texts['wiring_of'].format(name=entry['name'])}: {what}"
        kinds = {card.kind for domain in wiring.domains for card in cards_of(domain)}
        keys = [(kind, "kind_" + kind) for kind in _KINDS if kind in kinds]
        keys += [("switch", "kind_switch")] if any(switches_of(domain) for domain in wiring.domains) else []
        keys += [("fabric", "kind_fabric")] if wiring.fabrics else []
        keys += [("flaw", "legend_degraded")] if flaws else []
        legend = "".join(self._key(*key) for key in keys)
        notes = ([self.texts["legend_line"]] if kinds else []) + (
            [self.texts["as_on"].format(node=first)] if len(names) > 1 else []
        )
        picture = (
            draw(wiring, self.texts, label, flaws) if wiring.domains else tag("p", self._text("numa_none"), "unknown")
        )
        heading = tag("h3", tag("span", safe(entry["name"]), "badge") + " " + safe(what))
        return tag(
            "figure",
            tag("figcaption", heading + tag("div", f"{safe(how_many)}: {self._names(names)}"))
            + tag("div", picture, "scroll")
            + tag("p", legend + tag("span", safe(" ".join(notes))), "legend"),
            "topology",
        )

    def _flaws(self) -> dict[str, dict[str, Flaw]]:
        """Degraded links by topology, under the ids of the node that is drawn.

        Nodes wired alike have the same places in the same order, so a place is found by its position.
        """
        texts: dict[str, dict[str, dict[tuple[str, str], list[str]]]] = {}
        topology_of = {name: entry for entry in self.document["topologies"] for name in entry["nodes"]}
        for finding in self.document["links"]:
            if finding["verdict"] != DEGRADED:
                continue
            entry = topology_of[finding["node"]]
            drawn = entry["nodes"][0]
            there = dict(zip(self._places(finding["node"]), self._places(drawn))).get(finding["id"])
            if there is not None:
                kinds = texts.setdefault(entry["name"], {}).setdefault(there, {})
                kinds.setdefault((finding["found"], finding["expected"]), []).append(finding["node"])
        return {
            name: {there: Flaw("; ".join(self._flaw_texts(kinds))) for there, kinds in places.items()}
            for name, places in texts.items()
        }

    def _flaw_texts(self, kinds: Mapping[tuple[str, str], Sequence[str]]) -> list[str]:
        return [
            self.texts["edge_degraded"].format(nodes=", ".join(fold_names(nodes)), found=found, expected=expected)
            for (found, expected), nodes in sorted(kinds.items())
        ]

    def _places(self, node: str) -> list[str]:
        places: list[str] = []
        for domain in self.survey.wirings[node].domains:
            for switch in switches_of(domain):
                places += [switch.id, *switch.via]
            for card in cards_of(domain):
                places += [*card.ids, *card.via]
        return places

    def _differences(self) -> str:
        agreed = [row for row in self.document["differences"] if row["has_majority"]]
        split = [row for row in self.document["differences"] if not row["has_majority"]]
        body = "" if agreed or split else self._nothing("no_differences")
        if agreed:
            rows = [cells for row in agreed for cells in self._difference(row)]
            body += self._table(["field", "majority", "value", "nodes"], rows)
        if split:
            rows = [cells for row in split for cells in self._split(row)]
            body += self._more(
                self.texts["no_majority"].format(count=len(split)), self._table(["field", "value", "nodes"], rows)
            )
        return self._section("differences", body)

    def _difference(self, row: Mapping[str, Any]) -> list[list[str]]:
        most, others = row["values"][0], row["values"][1:]
        share = f"{len(most['nodes'])}/{sum(len(value['nodes']) for value in row['values'])}"
        usual = f"{self._value(most['value'])} {tag('small', share)}"
        head = [tag("td", self._field(row), rowspan=len(others)), tag("td", usual, rowspan=len(others))]
        return [
            [
                *(head if index == 0 else []),
                tag("td", self._value(other["value"]), "odd"),
                tag("td", self._names(other["nodes"])),
            ]
            for index, other in enumerate(others)
        ]

    def _split(self, row: Mapping[str, Any]) -> list[list[str]]:
        head = tag("td", self._field(row), rowspan=len(row["values"]))
        return [
            [
                *([head] if index == 0 else []),
                tag("td", self._value(value["value"])),
                tag("td", self._names(value["nodes"])),
            ]
            for index, value in enumerate(row["values"])
        ]

    def _field(self, row: Mapping[str, Any]) -> str:
        subject = f"<br><small>{safe(row['subject'])}</small>" if row["subject"] else ""
        return f"{safe(self.texts['field_' + row['field']])}{subject}"

    def _value(self, value: str) -> str:
        return f"<code>{safe({'yes': self.texts['yes'], 'no': self.texts['no']}.get(value, value))}</code>"

    def _versions(self) -> str:
        versions = self.document["versions"]
        quiet = [[row] for row in versions if _is_quiet(row)]
        loud: list[list[Mapping[str, Any]]] = []
        for row in versions:
            if not _is_quiet(row):
                # fields that nobody knows, for the same reason, are said once
                if loud and not row["values"] and all(row[key] == loud[-1][0][key] for key in _SAME):
                    loud[-1].append(row)
                else:
                    loud.append([row])
        columns = ["field", "value", "count", "nodes"]
        body = self._table(columns, [cells for alike in loud for cells in self._version(alike)]) if loud else ""
        if quiet:
            rows = [cells for alike in quiet for cells in self._version(alike)]
            body += self._more(self.texts["firmware_equal"].format(count=len(quiet)), self._table(columns, rows))
        return self._section("versions", body or self._nothing("no_nodes"))

    def _version(self, alike: Sequence[Mapping[str, Any]]) -> list[list[str]]:
        row, names = alike[0], ", ".join(self.texts["field_" + one["field"]] for one in alike)
        head = safe(names) + (f"<br>{tag('small', safe(row['subject']))}" if row["subject"] else "")
        said = [(self._value(entry["value"]), entry["nodes"]) for entry in row["values"]]
        said += [(self._why(entry["reason"]), entry["nodes"]) for entry in row["unknown"]]
        return [
            [
                *([tag("td", head, rowspan=len(said))] if index == 0 else []),
                tag("td", value),
                tag("td", str(len(nodes)), "n"),
                tag("td", self._names(nodes)),
            ]
            for index, (value, nodes) in enumerate(said)
        ]

    def _why(self, reason: Optional[str]) -> str:
        """Unknown, and why."""
        return self._maybe(None) + self._small(reason)

    def _small(self, reason: Optional[str]) -> str:
        return " " + tag("small", safe(reason)) if reason else ""

    def _agreement(self) -> str:
        agreement = self.document["agreement"]
        rows = [
            [
                tag("td", tag("span", self._text("driver_mismatch"), "verdict degraded")),
                tag("td", self._of(row)),
                tag("td", " ≠ ".join(self._side(side) for side in row["values"])),
                tag("td", self._names(row["nodes"])),
            ]
            for row in agreement["mismatches"]
        ]
        rows += [
            [
                tag("td", tag("span", self._text("driver_agrees"), "verdict good")),
                tag("td", tag("code", safe(row["subject"]))),
                tag("td", self._text("driver_agrees_note")),
                tag("td", self._names(row["nodes"])),
            ]
            for row in agreement["agrees"]
        ]
        rows += [
            [
                tag("td", self._maybe(None)),
                tag("td", tag("code", safe(row["subject"]))),
                tag("td", tag("small", safe(row["reason"]))),
                tag("td", self._names(row["nodes"])),
            ]
            for row in agreement["unknown"]
        ]
        table = self._table(["verdict", "of", "found", "nodes"], rows)
        return self._section("agreement", table if rows else self._nothing("no_drivers"))

    def _of(self, row: Mapping[str, Any]) -> str:
        if not row["field"]:
            return tag("code", safe(row["subject"]))
        return f"{safe(row['count'])} × {safe(row['subject'])}<br>{tag('code', safe(row['field']))}"

    def _side(self, side: Mapping[str, str]) -> str:
        name = self.texts.get("side_" + side["side"], side["side"])
        return f"{safe(name)} {tag('code', safe(side['value']))}"

    def _partitions(self) -> str:
        rows = [
            [
                tag("td", tag("b", safe(row["model"]))),
                tag("td", safe(row["mode"] or NOT_SET) + self._small(row["unknown"].get("mode"))),
                tag("td", self._profiles(row)),
                tag("td", str(row["devices"]), "n"),
                tag("td", self._names(row["nodes"])),
            ]
            for row in self.document["partitions"]
        ]
        table = self._table(["model", "mode", "partitions", "count", "nodes"], rows)
        return self._section("partitions", table if rows else self._nothing("no_devices"))

    def _profiles(self, row: Mapping[str, Any]) -> str:
        if row["partitions"] is None:
            return self._why(row["unknown"].get("partitions"))
        found = [f"{count} × {tag('code', safe(profile))}" for profile, count in row["partitions"].items()]
        return ", ".join(found) or self._text("none")

    def _fabrics(self) -> str:
        rows = [
            [
                tag("td", tag("b", safe(row["kind"]))),
                tag("td", str(row["devices"]), "n"),
                tag("td", str(row["pairs"]) if row["pairs"] else self._maybe(None), "n"),
                tag("td", self._maybe(row["links"])),
                *(
                    tag("td", self._value(row[key]) if row[key] else self._why(row["unknown"].get(key)))
                    for key in ("state", "clique")
                ),
                tag("td", self._names(row["nodes"])),
            ]
            for row in self.document["fabrics"]
        ]
        table = self._table(["fabric", "members", "pairs", "pair_links", "state", "clique", "nodes"], rows)
        return self._section("fabrics", table if rows else self._nothing("no_fabrics"))

    def _tools(self) -> str:
        rows = [
            [
                tag("td", tag("code", safe(row["name"]))),
                tag("td", safe(self.texts.get("tool_" + row["status"], row["status"]))),
                tag("td", safe(row["reason"] or "")),
                tag("td", self._names(row["nodes"])),
            ]
            for row in self.document["tools"]
        ]
        table = self._table(["tool", "answer", "reason", "nodes"], rows)
        return self._section("tools", table if rows else self._nothing("no_tools"))

    def _links(self) -> str:
        links = self.document["links"]
        if not links:
            return self._section("links", self._nothing("no_links"))
        # equal findings on several nodes are one row
        groups: dict[tuple[str, ...], list[str]] = {}
        for link in links:
            key = (link["verdict"], link["id"], link["found"], link["expected"], link["bridge"] or "", link["reason"])
            groups.setdefault(key, []).append(link["node"])
        body = ""
        for verdict in VERDICTS:
            rows = [self._link(key, nodes) for key, nodes in groups.items() if key[0] == verdict]
            table = self._table(["verdict", "link", "found", "expected", "bridge", "nodes", "reason"], rows)
            if verdict == DEGRADED:
                body += table if rows else self._nothing("no_links")
            elif rows:
                body += self._more(f"{self.texts['verdict_' + verdict]} ({len(rows)})", table)
        return self._section("links", body)

    def _link(self, key: tuple[str, ...], nodes: Sequence[str]) -> list[str]:
        verdict, name, found, expected, bridge, reason = key
        return [
            tag("td", tag("span", self._text("verdict_" + verdict), f"verdict {verdict}")),
            tag("td", tag("code", safe(name))),
            tag("td", safe(found)),
            tag("td", safe(expected)),
            tag("td", tag("code", safe(bridge)) if bridge else ""),
            tag("td", self._names(nodes)),
            tag("td", self._text(reason)),
        ]

    def _nodes(self) -> str:
        rows = [self._node(node) for node in self.document["nodes"]]
        return self._section("nodes", self._table(_NODE_COLUMNS, rows, "wide"))

    def _node(self, node: Mapping[str, Any]) -> list[str]:
        tree = self.texts["tree_note"].format(root=node["root"])
        small = "" if node["root"] == "/" else "<br>" + tag("small", safe(tree))
        name = tag("th", safe(node["name"]) + small, scope="row")
        if node["status"] != SEEN:
            return [name, tag("td", self._text("status_" + node["status"]), "gone", colspan=len(_NODE_COLUMNS) - 1)]
        storage = node["storage"]
        disks = None if storage is None else self.texts["none"] if not storage["count"] else str(storage["count"])
        if storage and storage["count"] and storage["size_mib"]:
            disks = f"{disks} · {size_text(storage['size_mib'])}"
        machine = " · ".join(
            [
                *([f"{node['cpus']} CPUs"] if node["cpus"] is not None else []),
                *([size_text(node["memory_mib"])] if node["memory_mib"] is not None else []),
                *([f"{node['numa_nodes']} NUMA"] if node["numa_nodes"] else []),
            ]
        )
        cells = [
            tag("span", safe(node["topology"]), "badge"),
            self._models(node["devices"]),
            "<br>".join(safe(driver) for driver in node["drivers"]) or safe(self.texts["none"]),
            self._maybe(node["kernel"]),
            self._maybe(machine or None),
            self._models(node["nics"]),
            self._maybe(disks),
            self._maybe(node["secure_boot"]),
            self._maybe(node["cgroup"]),
            tag("small", str(node["unknown_values"])),
        ]
        return [name, *(tag("td", cell) for cell in cells)]

    def _models(self, models: Optional[Sequence[Mapping[str, Any]]]) -> str:
        if models is None:
            return self._maybe(None)
        if not models:
            return safe(self.texts["none"])
        cells = []
        for model in models:
            virtual = " " + self.texts["virtual"].format(count=model["virtual"]) if model["virtual"] else ""
            text = safe(f"{model['count']} × {short_model(model['maker'], model['model'])}{virtual}")
            ids = "<br>".join(safe(one) for one in model["ids"])
            cells.append(tag("details", tag("summary", text) + tag("code", ids)))
        return "".join(cells)

    def _maybe(self, value: object) -> str:
        if value is None:
            return tag("span", self._text("unknown_short"), "unknown")
        if isinstance(value, bool):
            return self._text("yes" if value else "no")
        return safe(value)

    def _unknown(self) -> str:
        rows = [
            [
                tag("td", safe(row["reason"])),
                tag("td", str(row["count"]), "n"),
                tag("td", self._paths(row["paths"])),
                tag("td", self._names(row["nodes"])),
            ]
            for row in self.document["unknown"]
        ]
        table = self._table(["reason", "times", "what", "nodes"], rows)
        return self._section("unknown", table if rows else self._nothing("no_unknown"))

    def _paths(self, paths: Sequence[Mapping[str, Any]]) -> str:
        return self._few(
            [
                tag("code", safe(entry["path"]))
                + (" " + tag("small", f"×{entry['count']}") if entry["count"] > 1 else "")
                for entry in paths
            ]
        )

    def _names(self, names: Sequence[str]) -> str:
        return self._few([safe(name) for name in fold_names(names)])

    def _few(self, pieces: Sequence[str]) -> str:
        """The first pieces of a list, and the rest on a click."""
        text = ", ".join(pieces[:_FEW])
        rest = pieces[_FEW:]
        return text + (", " + self._more(f"+ {len(rest)}", ", ".join(rest), "inline") if rest else "")

    def _more(self, text: str, body: str, kind: str = "") -> str:
        return tag("details", tag("summary", safe(text)) + body, kind)

    def _table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
        head = "".join(
            tag("th", self._text("col_" + column) if column else "", "n" if column in _NUMBERS else "", scope="col")
            for column in columns
        )
        body = "".join(tag("tr", "".join(cells)) for cells in rows)
        return tag("div", tag("table", tag("thead", tag("tr", head)) + tag("tbody", body), kind), "scroll")

    def _section(self, name: str, body: str) -> str:
        return tag("section", tag("h2", self._text("section_" + name)) + body, id=name)

    def _nothing(self, key: str) -> str:
        return tag("p", self._text(key), "nothing")


def _is_quiet(row: Mapping[str, Any]) -> bool:
    """Firmware that is the same everywhere: a device has dozens, and few are looked at."""
    return (
        row["field"] == "firmware"
        and len(row["values"]) == 1
        and not row["unknown"]
        and not row["subject"].endswith(_LOUD)
    )


_HEAD = """\
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
"""
_SAME = ("subject", "values", "unknown")
_KINDS = ("gpu", "npu", "accelerator", "nic", "storage")
_NUMBERS = ("count", "times", "members", "pairs", "generation")
_NODE_COLUMNS = (
    *("node", "topology", "devices", "drivers", "kernel", "cpu", "nics", "storage"),
    *("secure_boot", "cgroup", "unknown"),
)
_CHANGE_COLUMNS = ("nodes", "outcome", "generation", "changes", "reboot", "restart", "deferred", "in_the_way")
_MARKS = {"ok": "✓", "differs": "≠", "degraded": "▼", "lost": "✕"}
