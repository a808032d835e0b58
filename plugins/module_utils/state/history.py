# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Generations: what each changed in all, what is known to be ours, and the way back to one of them. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..model.plan import Derived, PathStep, Restart, Setting, State, digest
from .record import Batch, Step, derived_row, step_row, to_derived, to_restart, to_step

SCHEMA = 1


class Generation(NamedTuple):
    """A committed set of changes: one step for each thing that it changed in all, in the order of their doing."""

    number: int
    journal: str
    run: str
    at: str
    what: tuple[str, ...]
    steps: tuple[Step, ...]
    derived: tuple[Derived, ...]
    restarts: tuple[Restart, ...]


def net(batches: Iterable[Batch]) -> tuple[Step, ...]:
    """One step for each thing: from what was before the first change to what is after the last."""
    steps: dict[str, Step] = {}
    for step in [step for batch in batches for step in (*batch.steps, *batch.settled)]:
        first = steps.get(step.key)
        steps[step.key] = step if first is None else _joined(first, step)
    return tuple(step for step in steps.values() if not is_nothing(step))


def _joined(first: Step, last: Step) -> Step:
    if isinstance(first, PathStep) and isinstance(last, PathStep):
        return last._replace(before=first.before, old=first.old, is_edit=first.is_edit and last.is_edit)
    return last._replace(before=first.before)  # type: ignore[arg-type]


def is_nothing(step: Step) -> bool:
    """Whether a step leads from a version to itself, labels included."""
    return step.before == step.after


def sealed_row(row: Mapping[str, Any]) -> bytes:
    """A JSON file of ours with its own checksum, so that a change by hand is found."""
    text = json.dumps({**row, "checksum": ""}, sort_keys=True, indent=1)
    return json.dumps({**row, "checksum": digest(text.encode())}, sort_keys=True, indent=1).encode() + b"\n"


def opened_row(content: bytes) -> Mapping[str, Any]:
    """The content of such a file. Raises ValueError where it was changed or is of a newer form."""
    row = json.loads(content)
    if not isinstance(row, dict) or row.get("schema") != SCHEMA:
        raise ValueError(f"expected schema {SCHEMA}")
    text = json.dumps({**row, "checksum": ""}, sort_keys=True, indent=1)
    if digest(text.encode()) != row["checksum"]:
        raise ValueError("its checksum does not fit its content")
    return row


def manifest(generation: Generation) -> bytes:
    """The manifest of a generation."""
    row = generation._asdict()
    row["steps"] = [step_row(step) for step in generation.steps]
    row["derived"] = [derived_row(one) for one in generation.derived]
    row["restarts"] = [one._asdict() for one in generation.restarts]
    return sealed_row({**row, "schema": SCHEMA})


def read_manifest(content: bytes) -> Generation:
    """A generation from its manifest. Raises ValueError."""
    row = opened_row(content)
    try:
        return Generation(
            row["number"],
            row["journal"],
            row["run"],
            row["at"],
            tuple(row["what"]),
            tuple(to_step(one) for one in row["steps"]),
            tuple(to_derived(one) for one in row["derived"]),
            tuple(to_restart(one) for one in row["restarts"]),
        )
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"not of the form that this version reads ({error})") from None


def known(generations: Iterable[Generation], batches: Iterable[Batch]) -> dict[str, Step]:
    """The last step known of each thing: what it led to is the version that is ours."""
    found: dict[str, Step] = {step.key: step for one in generations for step in one.steps}
    found.update({step.key: step for batch in batches for step in (*batch.steps, *batch.settled)})
    return found


def since(generations: Sequence[Generation], number: int, forgotten: Sequence[Generation] = ()) -> tuple[Step, ...]:
    """One step for each thing that was changed since generation ``number``; to go back is to take them back.

    The step is ours where the version *before* it is, so that what a human had is his again when it is put back.
    """
    before = known([*forgotten, *(one for one in generations if one.number <= number)], ())
    steps = []
    for step in net(Batch(one.number, "", one.steps, (), ()) for one in generations if one.number > number):
        if isinstance(step, PathStep):
            earlier = before.get(step.key)
            step = step._replace(is_ours=isinstance(earlier, PathStep) and earlier.is_ours)
        steps.append(step)
    return tuple(steps)


def touched(generations: Iterable[Generation]) -> tuple[tuple[Derived, ...], tuple[Restart, ...]]:
    """What is to be made again, and started anew, where changes of these generations are taken back."""
    derived: dict[str, Derived] = {}
    restarts: dict[str, Restart] = {}
    for one in generations:
        derived.update({each.key: each for each in one.derived})
        restarts.update({each.service: each for each in one.restarts})
    return tuple(derived.values()), tuple(restarts.values())


def squashed(generations: Sequence[Generation]) -> Generation:
    """All generations as one, numbered 1."""
    steps = net(Batch(one.number, "", one.steps, (), ()) for one in generations)
    derived, restarts = touched(generations)
    what = tuple(dict.fromkeys(name for one in generations for name in one.what))
    last = generations[-1]
    return Generation(1, last.journal, last.run, last.at, what, steps, derived, restarts)


def objects_of(steps: Iterable[Step]) -> set[str]:
    """The digests of all contents that steps name."""
    states: list[State] = []
    for step in steps:
        if isinstance(step, PathStep):
            states += [step.before, step.after]
    return {state.sha256 for state in states if state.sha256}


def state_after(step: Step) -> str:
    """What a step led to, in one short text."""
    if isinstance(step, PathStep):
        return step.after.text()
    return str(step.after) if isinstance(step, Setting) else ("present" if step.after else "absent")
