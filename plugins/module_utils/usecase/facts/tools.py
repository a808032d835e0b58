# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makers' tools add to the facts: only values that the kernel did not tell, and where the two contradict.

A tool that is missing, hangs or prints rubbish leaves the facts as they were, with its reason in ``unknown``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Optional

from ...host.door import Host
from ...model.device import NEEDS_TOOL, Heard
from ...model.errors import InputError
from ...vendor.ids import maker_named
from ...vendor.tools import Tools, tool_of

_COMPARED = ("uuid", "serial", "firmware.vbios", "firmware.gsp", "numa_node", "fabric.clique")
"""What must be the same in both. Names and sizes are not: makers and the kernel word and round them differently."""
_NOT_ASKED = "the maker's tool is not asked"
_LONGEST_SECONDS = 3600
_TOLD = ("model", "uuid", "serial", "memory_mib", "firmware", "firmware.vbios", "firmware.gsp", "partitions")
"""What the kernel may tell and else the tool: where neither does, both say why."""
_FINAL = re.compile("this (device|maker) has|uses the memory")


def add(host: Host, document: dict[str, Any], unknown: dict[str, str], deadline_seconds: float) -> None:
    """Ask the tools of each maker that is here, and add what they tell to the document and its ``unknown``.

    Raises InputError for a deadline that is none.
    """
    if not 0 < deadline_seconds <= _LONGEST_SECONDS:
        found, expected = f"tool_deadline_seconds {deadline_seconds:g}", f"more than 0, at most {_LONGEST_SECONDS}"
        raise InputError("ask", "the makers' tools", found, expected, "give each tool a few seconds")
    for maker in sorted({row["maker"] for row in document["devices"] or () if row["maker"]}):
        ask = tool_of(maker)
        if ask is None:
            continue
        rows = {row["id"]: row for row in document["devices"] if row["maker"] == maker}
        tools = Tools(host, deadline_seconds)
        heard = ask(tools, rows)
        document["sources"] += tools.sources
        for one, row in rows.items():
            _add_device(row, heard, one)
        _add_links(document, unknown, heard)
        known = maker_named(maker)
        bound = {row["driver"]["name"] for row in rows.values() if row["driver"] and row["driver"]["name"]}
        _add_versions(document, maker, bound or set(known.modules[:1] if known else ()), heard)


def _add_device(row: dict[str, Any], heard: Heard, one: str) -> None:
    told = heard.values.get(one, {})
    partitions = told.get("partitions")
    if partitions is not None:
        _add_partitions(row, partitions, heard)
    _merge(row, told, "", row["unknown"], heard.unknown.get(one, {}), row["mismatch"])
    silent = heard.silent if not heard.values or one in heard.values else f"{heard.silent}, which does not list it"
    for unknown in (row["unknown"], *(partition["unknown"] for partition in row["partitions"] or ())):
        _explain(unknown, silent, not told)
    row["unknown"] = dict(sorted(row["unknown"].items()))


def _merge(
    row: dict[str, Any],
    told: Mapping[str, Any],
    prefix: str,
    unknown: dict[str, str],
    reasons: Mapping[str, str],
    mismatch: dict[str, Any],
) -> None:
    for key, value in told.items():
        path, ours = prefix + key, row.get(key)
        if path == "partitions":
            continue
        if isinstance(value, dict):
            if ours is None:
                if not _has_any(value):
                    _reason(unknown, path, next((reasons[one] for one in reasons if one.startswith(path)), None))
                    continue
                ours = row[key] = {}
                unknown.pop(path, None)
            _merge(ours, value, path + ".", unknown, reasons, mismatch)
        elif value is None:
            if ours is None:
                row[key] = None
                _reason(unknown, path, reasons.get(path))
        elif ours is None and path != "numa_node":
            row[key] = value
            unknown.pop(path, None)
        elif ours is not None and path in _COMPARED and str(ours).lower() != str(value).lower():
            mismatch[path] = {"kernel": ours, "tool": value}


def _has_any(value: Any) -> bool:
    return any(map(_has_any, value.values())) if isinstance(value, dict) else value is not None


def _reason(unknown: dict[str, str], path: str, reason: Optional[str]) -> None:
    """The tool's reason takes the place of "not asked", and else stands behind the kernel's."""
    known = unknown.get(path, NEEDS_TOOL)
    if _NOT_ASKED in known:
        unknown[path] = known.replace(_NOT_ASKED, reason or _NOT_ASKED)
    elif reason is not None and path in _TOLD and not _FINAL.match(known):
        unknown[path] = f"{known}; {reason}"


def _explain(unknown: dict[str, str], silent: str, is_deaf: bool) -> None:
    """Reasons for what the tool did not speak of, or for all that it could have told."""
    for path, reason in unknown.items():
        if _NOT_ASKED in reason or is_deaf:
            _reason(unknown, path, silent)


def _add_partitions(row: dict[str, Any], told: list[dict[str, Any]], heard: Heard) -> None:
    """The kernel lists a device's partitions in the order of their instances, and so does the tool."""
    if row["partitions"] is None:
        reason = row["unknown"].pop("partitions", "")
        row["partitions"] = [{"kind": "mig", "nodes": None, "unknown": {"nodes": reason}} for _one in told]
    if len(row["partitions"]) != len(told):
        row["mismatch"]["partitions"] = {"kernel": len(row["partitions"]), "tool": len(told)}
        return
    for partition, more in zip(row["partitions"], told):
        _merge(partition, more, "", partition["unknown"], {}, {})
        partition["unknown"] = dict(sorted(partition["unknown"].items()))


def _add_links(document: dict[str, Any], unknown: dict[str, str], heard: Heard) -> None:
    rows = document["links"]
    if rows is None:
        return
    known = {(row["a"], row["b"], row["kind"]): row for row in rows}
    for link in heard.links:
        row = known.get((link["a"], link["b"], link["kind"]))
        if row is None:
            rows.append(link)
            continue
        for key in ("hops", "count", "state"):
            if row[key] is None and link[key] is not None:
                row[key] = link[key]
                row["unknown"].pop(key, None)
    rows.sort(key=lambda row: (row["a"], row["b"], row["kind"]))
    for path in [path for path in unknown if path.startswith("links.") and _NOT_ASKED in unknown[path]]:
        if heard.links_unknown is None and heard.values:
            del unknown[path]
        else:
            unknown[path] = unknown[path].replace(_NOT_ASKED, heard.links_unknown or heard.silent)


def _add_versions(document: dict[str, Any], maker: str, bound: set[str], heard: Heard) -> None:
    """Driver agreement: the loaded module, the one on disk, the libraries, the fabric manager, what the tool sees."""
    kernel = document["kernel"]
    for row in document["drivers"]:
        if row["maker"] != maker:
            continue
        unknown = row["unknown"]
        if row["name"] not in bound:
            unknown.update(dict.fromkeys(("user_space", "fabric_manager"), f"told of {', '.join(sorted(bound))} alone"))
            continue
        for key in ("user_space", "fabric_manager"):
            row[key] = heard.versions.get(key)
            if row[key] is None:
                unknown[key] = heard.no_manager if key == "fabric_manager" else heard.silent
            else:
                del unknown[key]
        if row["loaded"] is None and heard.versions.get("tool"):
            row["loaded"] = heard.versions["tool"]
            unknown.pop("loaded", None)
        _judge(row, heard, kernel["release"], kernel["next_boot"])


def _judge(row: dict[str, Any], heard: Heard, release: Optional[str], next_boot: Optional[str]) -> None:
    known = {"loaded": row["loaded"]}
    for name, one in (("on_disk", release), ("next_boot", next_boot)):
        known[name] = next((disk["version"] for disk in row["on_disk"] or () if disk["kernel"] == one), None)
    known.update({key: heard.versions.get(key) for key in heard.compared})
    told = {key: value for key, value in known.items() if value is not None}
    base = next(iter(told.items()), None)
    if base is None or len(told) < 2:
        return
    row["unknown"].pop("mismatch", None)
    differ = {key: value for key, value in told.items() if not _is_same(base[1], value)}
    if heard.is_mismatch and "user_space" in told:
        differ["user_space"] = told["user_space"]
    row["mismatch"] = {base[0]: base[1], **differ} if differ else None


def _is_same(a: str, b: str) -> bool:
    """The same release: builds stand after a dash, and NVML drops the last part of its number."""
    a, b = a.partition("-")[0], b.partition("-")[0]
    return f"{a}.".startswith(f"{b}.") or f"{b}.".startswith(f"{a}.")
