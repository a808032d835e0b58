# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this collection changed on a node, what became of it since, and the way back as it would be now."""

from __future__ import annotations

from typing import Any, Optional

from ..host.door import Host
from ..model.errors import ConflictError, ProbeError
from ..model.plan import PathStep, rows
from ..state import apply, history
from ..state.engine import Caller, Engine
from ..state.record import Step
from ..state.store import STATE


def observe(host: Host, to: Optional[int]) -> dict[str, Any]:
    """Generations, open journal, what is due, what was changed since, and the way back to ``to``."""
    try:
        return _observe(Engine(host, Caller("generation_info", "", "")), to)
    except OSError as error:
        raise ProbeError(
            "read", STATE, error.strerror or str(error), "a folder that can be read", "run as root"
        ) from None


def _observe(engine: Engine, to: Optional[int]) -> dict[str, Any]:
    store = engine.store
    engine.journal = journal = store.journal()
    due = store.due()
    return {
        "current": store.current(),
        "generations": [
            {
                "generation": one.number,
                "at": one.at,
                "run": one.run,
                "modules": list(one.what),
                "changes": [_change(step) for step in one.steps],
            }
            for one in store.generations()
        ],
        "journal": None
        if journal is None
        else {
            "id": journal.id,
            "run": journal.run,
            "at": journal.at,
            "is_cut_off": bool(journal.unfinished),
            "changes": [_change(step) for step in history.net(journal.batches)],
        },
        "due": [
            {"subject": key, "why": (row.get("derived") or row["restart"])["why"]} for key, row in sorted(due.items())
        ],
        "changed_since": _changed_since(engine),
        "rollback": None if to is None else _way_back(engine, to),
    }


def _change(step: Step) -> dict[str, str]:
    return {"subject": step.key, "before": apply.told(step.before), "after": apply.told(step.after)}


def _changed_since(engine: Engine) -> list[dict[str, str]]:
    steps = {step.key: step for step in engine.known().values()}
    if not engine.host.is_live:
        steps = {key: step for key, step in steps.items() if isinstance(step, PathStep)}
    ours = {key: apply.told(step.after) for key, step in steps.items()}
    unlike = apply.unlike(engine.host, list(steps.values()))
    return [{"subject": key, "found": found, "ours": ours[key]} for key, found in unlike.items()]


def _way_back(engine: Engine, to: int) -> dict[str, Any]:
    try:
        plan, conflicts = engine.way_back(to, "refuse"), {}
    except ConflictError as error:
        plan = engine.way_back(to, "overwrite")
        told = error.details["conflicts"]
        conflicts = dict(told) if isinstance(told, dict) else {}
    return {"to": to, "plan": rows(plan), "conflicts": [{"subject": key, **row} for key, row in conflicts.items()]}
