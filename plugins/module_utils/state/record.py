# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps as JSON and back, and the lines of a journal. Pure.

A line is a checksum, a space, and one JSON object. The checksum covers the line before it too, so that a line that
was changed, moved or taken out is found. Only the last line may be torn: a crash can leave it so, nothing else can.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

from ..model.plan import Command, Derived, PathStep, Proof, Restart, Setting, State, digest

Step = Union[PathStep, Setting, Command]

_CHECKSUM = re.compile(rb"[0-9a-f]{64}\Z")


def state_row(state: State) -> dict[str, Any]:
    """A version as JSON."""
    row = state._asdict()
    row["xattrs"] = [list(one) for one in state.xattrs]
    return row


def to_state(row: Mapping[str, Any]) -> State:
    """A version from JSON."""
    return State(**{**row, "xattrs": tuple((one[0], one[1]) for one in row["xattrs"])})


def step_row(step: Step) -> dict[str, Any]:
    """A step as JSON; contents of files are named by their digests only."""
    if isinstance(step, PathStep):
        shown = {"before": state_row(step.before), "after": state_row(step.after)}
        marks = {"is_edit": step.is_edit, "is_ours": step.is_ours}
        return {"kind": "path", "path": step.path, **shown, "why": step.why, **marks}
    return {"kind": "setting" if isinstance(step, Setting) else "command", **step._asdict()}


def to_step(row: Mapping[str, Any]) -> Step:
    """A step from JSON, its contents empty."""
    told = {key: value for key, value in row.items() if key != "kind"}
    if row["kind"] == "path":
        before, after = to_state(told["before"]), to_state(told["after"])
        return PathStep(told["path"], before, after, b"", b"", told["why"], told["is_edit"], told["is_ours"])
    if row["kind"] == "setting":
        return Setting(**told)
    run, undo, probe = (tuple(told[key]) for key in ("run", "undo", "probe"))
    return Command(
        told["name"], told["before"], told["after"], run, undo, probe, told["why"], tuple(told.get("used", ()))
    )


def derived_row(derived: Derived) -> dict[str, Any]:
    """A derived thing as JSON."""
    row = derived._asdict()
    if derived.proof is not None:
        row["proof"] = derived.proof._asdict()
    return row


def to_restart(row: Mapping[str, Any]) -> Restart:
    """A restart from its row; one of an earlier version lacks what it did not know."""
    return Restart(**{**row, "busy": tuple(row.get("busy", ()))})


def to_derived(row: Mapping[str, Any]) -> Derived:
    """A derived thing from JSON."""
    proof = row["proof"]
    if proof is not None:
        proof = Proof(tuple(proof["argv"]), tuple((one[0], one[1]) for one in proof["lines"]))
    return Derived(**{**row, "make": tuple(tuple(one) for one in row["make"]), "proof": proof})


class Batch(NamedTuple):
    """What one call of a module wanted: its steps, and what they make stale.

    ``settled`` are steps that somebody else had done before it: they are known from then on, and never taken back.
    """

    number: int
    what: str
    steps: tuple[Step, ...]
    derived: tuple[Derived, ...]
    restarts: tuple[Restart, ...]
    settled: tuple[Step, ...] = ()


def batch_row(batch: Batch) -> dict[str, Any]:
    """A batch as a line of a journal."""
    return {
        "t": "intent",
        "batch": batch.number,
        "what": batch.what,
        "steps": [step_row(step) for step in batch.steps],
        "derived": [derived_row(one) for one in batch.derived],
        "restarts": [one._asdict() for one in batch.restarts],
    }


class Journal(NamedTuple):
    """A journal as read: whose it is, since when that run was last seen (by the boot's clock), and its batches.

    ``done`` are numbers of batches that were applied and verified. The others were begun, and a crash left them so.
    ``length`` is the number of bytes that are sound, ``checksum`` that of the last sound line. ``run`` is the empty
    string after a human has released it.
    """

    id: str
    run: str
    at: str
    boot: str
    seconds: float
    batches: tuple[Batch, ...]
    done: frozenset[int]
    length: int
    checksum: str
    next_batch: int

    @property
    def unfinished(self) -> tuple[Batch, ...]:
        """Batches that a crash left half done."""
        return tuple(batch for batch in self.batches if batch.number not in self.done)


def line(row: Mapping[str, Any], before: str) -> tuple[bytes, str]:
    """A line, and its checksum; ``before`` is that of the line before (the empty string at the start)."""
    text = json.dumps(dict(row), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    checksum = digest(f"{before}\n{text}".encode())
    return f"{checksum} {text}\n".encode(), checksum


def lines(rows: Iterable[Mapping[str, Any]], before: str) -> bytes:
    """Several lines, one after another."""
    whole = b""
    for row in rows:
        text, before = line(row, before)
        whole += text
    return whole


def read(name: str, content: bytes) -> Optional[Journal]:
    """A journal from its file. None: not even its first line is whole. Raises ValueError where it is damaged."""
    rows: list[Mapping[str, Any]] = []
    checksum, length = "", 0
    pieces = content.split(b"\n")[:-1]  # what follows the last line end is torn, if there is anything
    for number, piece in enumerate(pieces, 1):
        row, told = _row(piece, checksum)
        if row is None:
            # what a crash tears is no whole JSON object any more, and nothing whole follows it
            if any(_row(one, None)[0] is not None for one in pieces[number - 1 :]):
                raise ValueError(f"line {number} is damaged, or was changed by hand")
            break
        rows.append(row)
        checksum, length = told, length + len(piece) + 1
    if not rows:
        return None
    try:
        return _journal(name, rows, length, checksum)
    except (KeyError, TypeError, IndexError, AttributeError):
        raise ValueError("a line is not of the form that this version reads") from None


def _row(piece: bytes, before: Optional[str]) -> tuple[Optional[Mapping[str, Any]], str]:
    """One line's object and checksum; no object where it is not sound. ``before`` None: its place is not judged."""
    told, space, text = piece.partition(b" ")
    if not space or not _CHECKSUM.match(told):
        return None, ""
    checksum = told.decode("ascii")
    if before is not None and digest(before.encode() + b"\n" + text) != checksum:
        return None, ""
    try:
        row = json.loads(text)
    except ValueError:
        return None, ""
    return (row if isinstance(row, dict) else None), checksum


def _journal(name: str, rows: Sequence[Mapping[str, Any]], length: int, checksum: str) -> Journal:
    first = rows[0]
    run, boot, seconds = first["run"], first["boot"], first["seconds"]
    batches: dict[int, Batch] = {}
    done: set[int] = set()
    next_batch = 0
    for row in rows:
        kind = row["t"]
        if kind == "intent":
            number = row["batch"]
            restarts = tuple(to_restart(one) for one in row["restarts"])
            steps = tuple(to_step(one) for one in row["steps"])
            derived = tuple(to_derived(one) for one in row["derived"])
            batches[number] = Batch(number, row["what"], steps, derived, restarts)
            next_batch = number + 1
        elif kind == "done":
            number = row["batch"]
            done.add(number)
            settled = tuple(to_step(one) for one in row.get("settled", ()))
            batches[number] = batches[number]._replace(settled=settled)
        elif kind == "undo":
            done.discard(row["batch"])
        elif kind == "undone":
            batches.pop(row["batch"])
        elif kind == "owner":
            run = row["run"]
        elif kind != "begin":
            raise KeyError(kind)
        boot, seconds = row.get("boot", boot), row.get("seconds", seconds)
    kept = tuple(batches[number] for number in sorted(batches))
    sound = frozenset(done & set(batches))
    return Journal(name, run, first["at"], boot, seconds, kept, sound, length, checksum, next_batch)
