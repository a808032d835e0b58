# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The survey as one HTML page: no script, no file beside it, no request.

Made to be read on a wall, on paper and at night.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Optional

from .links import DEGRADED
from .picture import Flaw, draw
from .spread import size_text
from .style import STYLE
from .survey import SEEN, Survey, natural
from .texts import LANGUAGES, maker_name
from .wiring import cards_of, switches_of

_FEW = 8  # names that are listed; more are counted, and listed on a click


def render_json(survey: Survey, run: Mapping[str, str]) -> str:
    """``survey.json``: the document, and when and by which run it was made."""
    return json.dumps({**survey.document, "run": dict(run)}, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def render_page(survey: Survey, time: str, language: str) -> str:
    """``survey.html``. ``time`` is the time of the run as it shall be read; ``language`` is ``en`` or ``de``."""
    return _Page(survey, LANGUAGES[language]).render(time, language)


def safe(value: object) -> str:
    """Text for HTML: escaped, and without signs that no document may hold."""
    return escape("".join(sign if sign.isprintable() else "\ufffd" for sign in str(value)), quote=True)


def fold_names(names: Iterable[str]) -> list[str]:
    """``node01, node02, node03, node04`` as ``node[01-04]``: from four on, where width and rest are equal."""
    runs: list[tuple[str, str, list[str]]] = []
    for name in sorted(names, key=natural):
        found = re.fullmatch(r"(.*?)([0-9]+)([^0-9]*)", name)
        head, number, tail = (found[1], found[2], found[3]) if found else (name, "", "")
        if runs and number and runs[-1][2] and runs[-1][0] == head and runs[-1][1] == tail:
            last = runs[-1][2][-1]
            if int(number) == int(last) + 1 and (len(number) == len(last) or not (number[0] == "0" or last[0] == "0")):
                runs[-1][2].append(number)
                continue
        runs.append((head, tail, [number] if number else []))
    folded = []
    for head, tail, numbers in runs:
        if len(numbers) >= 4:
            folded.append(f"{head}[{numbers[0]}-{numbers[-1]}]{tail}")
        else:
            folded += [f"{head}{number}{tail}" for number in numbers] or [head]
    return folded


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Host names without their domain, where that is still clear: for the tiles."""
    heads = [name.partition(".")[0] for name in names]
    is_clear = len(set(heads)) == len(names) and not any(head.isdecimal() or not head for head in heads)
    return dict(zip(names, heads if is_clear else names))


class _Page:
    def __init__(self, survey: Survey, texts: Mapping[str, str]) -> None:
        self.survey = survey
        self.document = survey.document
        self.texts = texts
        self.flaws = self._flaws()

    def render(self, time: str, language: str) -> str:
        title = safe(self.document["title"] or self.texts["title"])
        body = "\n".join(
            [
                f'<header><div><h1>{title}</h1><p class="lead">{safe(self.texts["subtitle"])}</p></div>'
                f'<p class="when">{safe(self.texts["seen_at"].format(time=time))}</p></header>',
                self._figures(),
                self._lost(),
                self._makers(),
                self._fleet(),
                self._section(
                    "wiring",
                    "".join(self._topology(entry) for entry in self.document["topologies"])
                    or self._nothing("no_nodes"),
                ),
                self._differences(),
                self._links(),
                self._nodes(),
                self._unknown(),
                f"<footer>{safe(self.texts['footer'])}</footer>",
            ]
        )
        return (
            f'<!DOCTYPE html>\n<html lang="{safe(language)}">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
            '<link rel="icon" href="data:,">\n'
            f"<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
        )

    def _figures(self) -> str:
        totals = self.document["totals"]
        fields = sum(1 for row in self.document["differences"] if row["has_majority"])
        makers = self.document["makers"]
        lost = totals["nodes"] - totals["seen"]
        note = self.texts["devices_note"].format(models=len(makers), makers=len({entry["maker"] for entry in makers}))
        figures = [
            (totals["seen"], "all_nodes", self.texts["of_total"].format(total=totals["nodes"]), "bad" if lost else ""),
            (totals["devices"], "devices", note, ""),
            (totals["topologies"], "topologies", self.texts["topologies_note"], ""),
            (
                totals["differing_nodes"],
                "differing",
                self.texts["differing_note"].format(fields=fields),
                "warn" if totals["differing_nodes"] else "",
            ),
            (
                totals["degraded_links"],
                "degraded",
                self.texts["degraded_note"],
                "bad" if totals["degraded_links"] else "",
            ),
            (totals["unknown_values"], "unknown", self.texts["unknown_note"], ""),
        ]
        return '<section class="figures">' + "".join(
            f'<div class="figure {style}"><b>{value}</b><span>{safe(self.texts[key])}</span><small>{safe(note)}</small></div>'
            for value, key, note, style in figures
        ) + "</section>"  # fmt: skip

    def _lost(self) -> str:
        lost = [node for node in self.document["nodes"] if node["status"] != SEEN]
        if not lost:
            return ""
        rows = "".join(
            f"<li><b>{safe(node['name'])}</b> {safe(self.texts['status_' + node['status']])}"
            + (f"<span>{safe(node['reason'])}</span>" if node["reason"] else "")
            + "</li>"
            for node in lost
        )
        return f'<section class="lost"><h2>{safe(self.texts["not_seen"])} ({len(lost)})</h2><ul>{rows}</ul></section>'

    def _makers(self) -> str:
        makers = self.document["makers"]
        if not makers:
            return self._section("devices", self._nothing("no_devices"))
        most = max(entry["count"] for entry in makers)
        rows = "".join(
            f"<tr><td>{safe(maker_name(entry['maker']))}</td><td><b>{safe(entry['model'])}</b></td>"
            f'<td>{self._kind(entry["kind"])}</td><td class="n">{entry["count"]}</td>'
            f'<td class="bar"><i class="{safe(entry["kind"])}" style="width:{100 * entry["count"] / most:.1f}%"></i></td>'
            f"<td>{self._names(entry['nodes'])}</td></tr>"
            for entry in makers
        )
        return self._section("devices", self._table(["maker", "model", "kind", "count", "", "on_nodes"], rows))

    def _fleet(self) -> str:
        tiles, used = [], []
        shown = short_names([node["name"] for node in self.document["nodes"]])
        for node in self.document["nodes"]:
            state = self._state(node)
            if state not in used:
                used.append(state)
            mark = _MARKS[state]
            detail = node.get("topology") or ""
            title = f"{node['name']}: {self.texts['state_' + state]}"
            tiles.append(
                f'<li class="{state}" title="{safe(title)}"><b>{safe(shown[node["name"]])}</b><span>{safe(detail)}</span><i>{mark}</i></li>'
            )
        legend = " ".join(
            f'<span class="key {state}"><i>{_MARKS[state]}</i> {safe(self.texts["state_" + state])}</span>'
            for state in _MARKS
            if state in used
        )
        return self._section("fleet", f'<ul class="tiles">{"".join(tiles)}</ul><p class="legend">{legend}</p>')

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
            f"{model['count']} × {maker_name(model['maker'])} {model['model']}" for model in row["devices"] or ()
        )
        what = what or self.texts["unknown_short" if row["devices"] is None else "no_accelerators"]
        how_many = self.texts["on_one_node"] if len(names) == 1 else self.texts["on_nodes"].format(count=len(names))
        label = f"{self.texts['wiring_of'].format(name=entry['name'])}: {what}"
        kinds = sorted(
            {card.kind for domain in wiring.domains for card in cards_of(domain)},
            key=("gpu", "npu", "accelerator", "nic", "storage").index,
        )
        legend = "".join(f'<span class="key {kind}"><i></i>{safe(self.texts["kind_" + kind])}</span>' for kind in kinds)
        if any(switches_of(domain) for domain in wiring.domains):
            legend += f'<span class="key switch"><i></i>{safe(self.texts["kind_switch"])}</span>'
        if wiring.fabrics:
            legend += f'<span class="key fabric"><i></i>{safe(self.texts["kind_fabric"])}</span>'
        if flaws:
            legend += f'<span class="key flaw"><i></i>{safe(self.texts["legend_degraded"])}</span>'
        picture = draw(wiring, self.texts, label, flaws) if wiring.domains else self._nothing("numa_none")
        note = self.texts["legend_line"] if kinds else ""
        if len(names) > 1:
            note = f"{note} {self.texts['as_on'].format(node=first)}"
        return (
            f'<figure class="topology"><figcaption><h3><span class="badge">{safe(entry["name"])}</span> {safe(what)}</h3>'
            f"<p>{safe(how_many)}: {self._names(names)}</p></figcaption>"
            f'<div class="scroll">{picture}</div>'
            f'<p class="legend">{legend}<span class="note">{safe(note.strip())}</span></p></figure>'
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
            name: {
                there: Flaw(
                    "; ".join(
                        self.texts["edge_degraded"].format(
                            nodes=", ".join(fold_names(nodes)), found=found, expected=expected
                        )
                        for (found, expected), nodes in sorted(kinds.items())
                    )
                )
                for there, kinds in places.items()
            }
            for name, places in texts.items()
        }

    def _places(self, node: str) -> list[str]:
        places: list[str] = []
        for domain in self.survey.wirings[node].domains:
            for switch in switches_of(domain):
                places += [switch.id, *switch.via]
            for card in cards_of(domain):
                places += [*card.ids, *card.via]
        return places

    def _differences(self) -> str:
        rows = [row for row in self.document["differences"] if row["has_majority"]]
        split = [row for row in self.document["differences"] if not row["has_majority"]]
        body = self._nothing("no_differences") if not rows and not split else ""
        if rows:
            body += self._table(["field", "majority", "value", "nodes"], "".join(self._difference(row) for row in rows))
        if split:
            inner = self._table(["field", "value", "nodes"], "".join(self._split(row) for row in split))
            body += f"<details><summary>{safe(self.texts['no_majority'].format(count=len(split)))}</summary>{inner}</details>"
        return self._section("differences", body)

    def _difference(self, row: Mapping[str, Any]) -> str:
        most, others = row["values"][0], row["values"][1:]
        total = sum(len(value["nodes"]) for value in row["values"])
        head = (
            f'<td rowspan="{len(others)}">{self._field(row)}</td>'
            f'<td rowspan="{len(others)}">{self._value(most["value"])} <small>{len(most["nodes"])}/{total}</small></td>'
        )
        return "".join(
            f'<tr>{head if index == 0 else ""}<td class="odd">{self._value(other["value"])}</td><td>{self._names(other["nodes"])}</td></tr>'
            for index, other in enumerate(others)
        )

    def _split(self, row: Mapping[str, Any]) -> str:
        values = row["values"]
        return "".join(
            "<tr>"
            + (f'<td rowspan="{len(values)}">{self._field(row)}</td>' if index == 0 else "")
            + f"<td>{self._value(value['value'])}</td><td>{self._names(value['nodes'])}</td></tr>"
            for index, value in enumerate(values)
        )

    def _field(self, row: Mapping[str, Any]) -> str:
        subject = f"<br><small>{safe(row['subject'])}</small>" if row["subject"] else ""
        return f"{safe(self.texts['field_' + row['field']])}{subject}"

    def _value(self, value: str) -> str:
        return f"<code>{safe({'yes': self.texts['yes'], 'no': self.texts['no']}.get(value, value))}</code>"

    def _links(self) -> str:
        links = self.document["links"]
        if not links:
            return self._section("links", self._nothing("no_links"))
        # equal findings on several nodes are one row
        groups: dict[tuple[str, ...], list[str]] = {}
        for link in links:
            key = (link["verdict"], link["id"], link["found"], link["expected"], link["bridge"] or "", link["reason"])
            groups.setdefault(key, []).append(link["node"])
        parts = {
            verdict: [key for key in groups if key[0] == verdict]
            for verdict in ("degraded", "not_judged", "slot_limited")
        }
        body = ""
        for verdict, keys in parts.items():
            rows = "".join(
                f'<tr><td><span class="verdict {verdict}">{safe(self.texts["verdict_" + verdict])}</span></td><td><code>{safe(name)}</code></td>'
                f"<td>{safe(found)}</td><td>{safe(expected)}</td><td>{f'<code>{safe(bridge)}</code>' if bridge else ''}</td>"
                f"<td>{self._names(groups[verdict, name, found, expected, bridge, reason])}</td><td>{safe(self.texts[reason])}</td></tr>"
                for _verdict, name, found, expected, bridge, reason in keys
            )
            if not rows:
                continue
            table = self._table(["verdict", "link", "found", "expected", "bridge", "nodes", "reason"], rows)
            if verdict == DEGRADED:
                body += table
            else:
                body += f"<details><summary>{safe(self.texts['verdict_' + verdict])} ({len(keys)})</summary>{table}</details>"
        if not parts["degraded"]:
            body = self._nothing("no_links") + body
        return self._section("links", body)

    def _nodes(self) -> str:
        columns = [
            "node",
            "topology",
            "devices",
            "drivers",
            "kernel",
            "cpu",
            "nics",
            "storage",
            "secure_boot",
            "cgroup",
            "unknown",
        ]
        return self._section(
            "nodes", self._table(columns, "".join(self._node(node) for node in self.document["nodes"]), "wide")
        )

    def _node(self, node: Mapping[str, Any]) -> str:
        tree = (
            ""
            if node["root"] == "/"
            else f"<br><small>{safe(self.texts['tree_note'].format(root=node['root']))}</small>"
        )
        name = f'<th scope="row">{safe(node["name"])}{tree}</th>'
        if node["status"] != SEEN:
            return f'<tr class="gone">{name}<td colspan="10">{safe(self.texts["status_" + node["status"]])}</td></tr>'
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
            f'<span class="badge">{safe(node["topology"])}</span>',
            self._models(node["devices"]),
            "<br>".join(safe(driver) for driver in node["drivers"]) or safe(self.texts["none"]),
            self._maybe(node["kernel"]),
            self._maybe(machine or None),
            self._models(node["nics"]),
            self._maybe(disks),
            self._maybe(node["secure_boot"]),
            self._maybe(node["cgroup"]),
            str(node["unknown_values"]),
        ]
        return f"<tr>{name}" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"

    def _models(self, models: Optional[Sequence[Mapping[str, Any]]]) -> str:
        if models is None:
            return self._maybe(None)
        if not models:
            return safe(self.texts["none"])
        cells = []
        for model in models:
            virtual = " " + self.texts["virtual"].format(count=model["virtual"]) if model["virtual"] else ""
            text = safe(f"{model['count']} × {model['model']}{virtual}")
            cells.append(
                f"<details><summary>{text}</summary><code>{'<br>'.join(safe(one) for one in model['ids'])}</code></details>"
            )
        return "".join(cells)

    def _maybe(self, value: object) -> str:
        if value is None:
            return f'<span class="unknown">{safe(self.texts["unknown_short"])}</span>'
        if isinstance(value, bool):
            return safe(self.texts["yes" if value else "no"])
        return safe(value)

    def _unknown(self) -> str:
        rows = "".join(
            f'<tr><td>{safe(row["reason"])}</td><td class="n">{row["count"]}</td><td>{self._paths(row["paths"])}</td><td>{self._names(row["nodes"])}</td></tr>'
            for row in self.document["unknown"]
        )
        return self._section(
            "unknown", self._table(["reason", "times", "what", "nodes"], rows) if rows else self._nothing("no_unknown")
        )

    def _paths(self, paths: Sequence[Mapping[str, Any]]) -> str:
        pieces = [
            f"<code>{safe(entry['path'])}</code>" + (f" <small>×{entry['count']}</small>" if entry["count"] > 1 else "")
            for entry in paths
        ]
        if len(pieces) <= _FEW:
            return ", ".join(pieces)
        return f'{", ".join(pieces[:_FEW])}, <details class="inline"><summary>+ {len(pieces) - _FEW}</summary>{", ".join(pieces[_FEW:])}</details>'

    def _names(self, names: Sequence[str]) -> str:
        folded = fold_names(names)
        if len(folded) <= _FEW:
            return safe(", ".join(folded))
        rest = safe(", ".join(folded[_FEW:]))
        return f'{safe(", ".join(folded[:_FEW]))}, <details class="inline"><summary>+ {len(folded) - _FEW}</summary>{rest}</details>'

    def _kind(self, kind: str) -> str:
        return f'<span class="key {safe(kind)}"><i></i>{safe(self.texts.get("kind_" + kind, kind))}</span>'

    def _table(self, columns: Sequence[str], rows: str, style: str = "") -> str:
        numbers = ("count", "times")
        head = "".join(
            f'<th scope="col"{_NUMERIC if column in numbers else ""}>{safe(self.texts["col_" + column]) if column else ""}</th>'
            for column in columns
        )
        return f'<div class="scroll"><table class="{style}"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'

    def _section(self, name: str, body: str) -> str:
        return f'<section id="{name}"><h2>{safe(self.texts["section_" + name])}</h2>{body}</section>'

    def _nothing(self, key: str) -> str:
        return f'<p class="nothing">{safe(self.texts[key])}</p>'


_NUMERIC = ' class="n"'
_MARKS = {"ok": "✓", "differs": "≠", "degraded": "▼", "lost": "✕"}
