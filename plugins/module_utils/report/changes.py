# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run changed on each node, out of the results that its tasks left: rows for the page, totals for statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

from .markup import natural

DONE, FAILED = "done", "failed"


def changes(left: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """One row for each node with results: ``left`` has them by node, in the order of the tasks.

    A row has ``status`` (``done`` or ``failed``), ``is_check``, ``changed``, ``generation`` (None where none was made),
    ``plan``, ``reboot``, ``restart`` (what is still due), ``deferred``, ``blockers`` and ``message`` (why it failed).
    A result of a form that is not ours counts as nothing.
    """
    told = {node: [one for one in results if isinstance(one, Mapping)] for node, results in left.items()}
    return [_row(node, told[node]) for node in sorted(told, key=natural) if told[node]]


def totals(rows: Sequence[Mapping[str, Any]], nodes_total: int) -> dict[str, Any]:
    """The rows of a run over ``nodes_total`` nodes as scalars, for ``set_stats``."""
    return {
        "nodes_total": nodes_total,
        "nodes_not_reached": nodes_total - len(rows),
        "nodes_changed": sum(row["changed"] for row in rows),
        "nodes_failed": sum(row["status"] == FAILED for row in rows),
        "nodes_to_reboot": sum(bool(row["reboot"]) for row in rows),
        "restarts_due": sum(len(row["restart"]) for row in rows),
        "deferred": sum(len(row["deferred"]) for row in rows),
        "blockers": sum(len(row["blockers"]) for row in rows),
    }


def _row(node: str, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    failed = next((one for one in results if not one.get("is_done")), None)
    done = [one for one in results if one.get("is_done")]
    is_check = any(one.get("is_check") is True for one in results)
    return {
        "node": node,
        "root": _text(results[0].get("root")) or "/",
        "status": DONE if failed is None else FAILED,
        "is_check": is_check,
        "changed": any(bool(_rows(one, "plan")) or isinstance(one.get("generation"), int) for one in done),
        "generation": next(
            (one["generation"] for one in reversed(done) if isinstance(one.get("generation"), int)), None
        ),
        "plan": [_step(row) for one in done for row in _rows(one, "plan")],
        "reboot": _unique(text for one in done for text in _list(one, "reboot_reasons")),
        "restart": _restarts(done if is_check else [_details(failed)] if "restart" in _details(failed) else done[-1:]),
        "deferred": _unique(text for one in done for text in _list(one, "deferred")),
        "blockers": [] if failed is None else _blockers(failed),
        "message": None if failed is None else _text(failed.get("message")) or None,
    }


def _step(row: Mapping[str, Any]) -> dict[str, str]:
    return {key: _text(row.get(key)) for key in ("kind", "subject", "change", "undo", "why")}


def _restarts(results: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """What is still due after the last task; in check mode nothing is ever done, and all of it is."""
    due = {_text(row.get("service")): _text(row.get("reason")) for one in results for row in _rows(one, "restart")}
    return [{"service": service, "reason": reason} for service, reason in due.items()]


def _blockers(failed: Mapping[str, Any]) -> list[str]:
    """Everything that stood in the way, a line for each."""
    lines = [_text(row.get("message")) for row in _rows(_details(failed), "blockers")]
    return lines or [_text(failed.get("message"))]


def _details(failed: Optional[Mapping[str, Any]]) -> Mapping[str, Any]:
    """What an error says besides its line."""
    error = None if failed is None else failed.get("error")
    details = error.get("details") if isinstance(error, Mapping) else None
    return details if isinstance(details, Mapping) else {}


def _list(result: Mapping[str, Any], key: str) -> list[Any]:
    value = result.get(key)
    return value if isinstance(value, list) else []


def _rows(result: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return [row for row in _list(result, key) if isinstance(row, Mapping)]


def _unique(values: Any) -> list[str]:
    return list(dict.fromkeys(value for value in values if isinstance(value, str)))


def _text(value: Optional[object]) -> str:
    return value if isinstance(value, str) else ""
