# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does steps to a node, and looks whether they are done. Knows nothing of journals.

All new versions are staged and on the disk before the first of them takes its path's place: a full disk, a read-only
or an immutable folder is found while everything is still as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Optional

from ..host import command, disk
from ..host.door import Host
from ..model.errors import ApplyError, ConflictError, VerifyError
from ..model.plan import ABSENT, Command, Derived, Found, PathStep, Proof, Setting, State
from .record import Step

Content = Callable[[str], bytes]
"""Gives the content with a digest."""

_PROBE_SECONDS = 20.0
_COMMAND_SECONDS = 120.0


def failed(step: str, error: OSError, verb: str = "change") -> ApplyError:
    """An error of the system as ours."""
    found = error.strerror or str(error)
    return ApplyError(verb, step, found, "a path that can be written", "mend that and run again")


def look(host: Host, step: Step) -> State | str | bool:
    """What is there now of what a step is about: a version, a value, or whether it is there."""
    if isinstance(step, PathStep):
        return disk.found(host, step.path).state
    if isinstance(step, Setting):
        value, reason = host.read(step.path)
        return value if value is not None else f"unknown ({reason})"
    return command.run(host, step.probe, _PROBE_SECONDS).reason is None


def is_at(step: Step, seen: State | str | bool, wanted: State | str | bool) -> bool:
    """Whether what was seen is the version, value or presence that is wanted."""
    if isinstance(seen, State) and isinstance(wanted, State):
        return seen.is_same(wanted)
    if isinstance(step, Setting):
        return str(seen).split() == str(wanted).split()
    return seen == wanted


def told(seen: State | str | bool) -> str:
    """A version, value or presence in one short text."""
    if isinstance(seen, State):
        return seen.text()
    return seen if isinstance(seen, str) else ("present" if seen else "absent")


def do(host: Host, steps: Sequence[Step], mark: str, content: Content, keep: Sequence[int]) -> None:
    """Do steps in order. ``mark`` names what is staged: ``<mark>-<number>``. Raises ApplyError, ConflictError.

    Programs inherit the open files ``keep``: a lock among them is held until they have ended, also those of a killed
    module.

    A path that is no longer as its step found it is a conflict, and stops everything before it is touched.
    """
    paths = [(number, step) for number, step in enumerate(steps) if isinstance(step, PathStep)]
    folders = [step for _number, step in paths if step.after.kind == "dir" and step.before.kind == "absent"]
    made: dict[int, str] = {}
    path = ""
    try:
        for folder in folders:
            path = folder.path
            check(host, folder)
            disk.make_folder(disk.place(host, path), folder.after)
        for number, step in paths:
            if step.after.kind in ("file", "link"):
                path = step.path
                new = content(step.after.sha256) if step.after.kind == "file" else b""
                made[number] = disk.stage(disk.place(host, path), staged_name(mark, number), step.after, new)
    except OSError as error:
        raise failed(path, error) from None
    changed = set()
    for number, step in paths:
        real = disk.place(host, step.path)
        check(host, step)
        try:
            if number in made:
                disk.swap(made[number], real)
            elif step.after.kind == "absent":
                _remove(step, real)
        except OSError as error:
            raise failed(step.path, error) from None
        changed.add(real.rpartition("/")[0] or "/")
    _sync(changed)
    for other in steps:
        if not isinstance(other, PathStep):
            _do_other(host, other, keep)
    if any(isinstance(step, Command) for step in steps):
        write_back(host)


def _sync(folders: set[str]) -> None:
    for folder in sorted(folders):
        try:
            disk.sync_folders([folder])
        except OSError as error:
            raise failed(folder, error, "write back") from None


def check(host: Host, step: PathStep) -> None:
    """Raise ConflictError where a path is no longer as its step found it, or is one of several names of a file."""
    seen = disk.found(host, step.path)
    is_made = step.after.kind == "dir" and step.before.kind == "absent"
    if not seen.state.is_same(step.before) and not (is_made and seen.state.kind == "dir"):
        raise conflict(step.path, seen.state.text(), step.before.text())
    if seen.state.kind not in ("absent", "file", "link") and not (
        seen.state.kind == "dir" and step.after.kind in ("absent", "dir")
    ):
        raise ConflictError(
            "change",
            step.path,
            seen.state.text(),
            "a file, a link, or nothing",
            "look at it, and move it away: it could not be put back",
        )
    if seen.hard_links > 1:
        raise ConflictError(
            "change",
            step.path,
            f"{seen.hard_links} hard links to it",
            "one name for one file",
            "make it a file of its own: another name would keep the old content",
        )


def conflict(subject: str, seen: str, ours: str, details: Optional[dict[str, object]] = None) -> ConflictError:
    """A third version was found."""
    step = "look at it, then say on_conflict: overwrite (it is kept in the generation) or keep"
    return ConflictError("change", subject, seen, ours, step, details)


def _remove(step: PathStep, real: str) -> None:
    if step.before.kind == "dir":
        disk.remove_folder(real)  # one with something in it stays: that is not ours
    else:
        disk.remove(real)


def write_back(host: Host) -> None:
    """Make what programs wrote last: a power cut could else take it, after it was noted as done.

    A file system that does not answer is no reason to fail: what is on it is not ours.
    """
    command.run(host, ("sync",), _COMMAND_SECONDS)


def _do_other(host: Host, step: Setting | Command, keep: Sequence[int]) -> None:
    if isinstance(step, Setting):
        try:
            disk.set_value(host, step.path, step.after)
        except OSError as error:
            raise failed(step.path, error, "set") from None
        return
    if look(host, step) == step.after:
        return
    argv = step.run if step.after else step.undo
    ran = command.run(host, argv, _COMMAND_SECONDS, keep)
    if ran.reason is not None:
        raise ApplyError("run", " ".join(argv), ran.reason, "exit status 0", f"mend that: {step.why}")


def staged_name(mark: str, number: int) -> str:
    """The name of a staged version: hidden, and with an ending that no reader of a drop-in folder takes."""
    return f".accelerator-ops-{mark}-{number}.tmp"


def sweep(host: Host, steps: Sequence[Step], mark: str) -> None:
    """Remove what was staged under ``mark``, on the way there or back, and did not take its place.

    By its name, not by the steps' numbers: a way back that was cut off had other steps than the next one has.
    """
    paths = [step.path for step in steps if isinstance(step, PathStep)]
    folders = {disk.place(host, path).rpartition("/")[0] or "/" for path in paths}
    start = staged_name(mark, 0).rpartition("0")[0]
    for folder in folders:
        for name in disk.names_in(folder):
            if name.startswith(start):
                disk.remove(f"{folder}/{name}")
    _sync(folders)


def settled(host: Host, steps: Sequence[Step]) -> tuple[Step, ...]:
    """What somebody else has taken back of ``steps`` already, as the steps that did it."""
    found = []
    for step in steps:
        seen = look(host, step)
        if is_at(step, seen, step.before) and not is_at(step, seen, step.after):
            found.append(step._replace(before=step.after, after=step.before))  # type: ignore[arg-type]
    return tuple(found)


def back(host: Host, steps: Sequence[Step], on_conflict: str, is_half_done: bool = False) -> list[Step]:
    """The steps that are needed to take ``steps`` back, last done first, from what is there now.

    Found as before: nothing. Found as after: back. Neither: ConflictError with all of them, unless ``on_conflict`` is
    ``overwrite`` (what is there goes) or ``keep`` (it stays). Steps that were cut off (``is_half_done``) may have left
    a value that is neither: the kernel gives huge pages one by one.
    """
    needed: list[Step] = []
    third: dict[str, dict[str, str]] = {}
    for step in reversed(steps):
        seen = look(host, step)
        if is_at(step, seen, step.before):
            continue
        is_ours = is_at(step, seen, step.after) or _is_same_folder(step, seen)
        if not is_ours and not (is_half_done and not isinstance(step, PathStep)):
            third[step.key] = {"found": told(seen), "before": told(step.before), "after": told(step.after)}
            if on_conflict != "overwrite":
                continue
        if not _is_in_use(host, step, needed):
            needed.append(_to(step, seen))
    if third and on_conflict == "refuse":
        first = next(iter(third))
        versions = third[first]
        ours = f"{versions['after']} (as it was left) or {versions['before']} (as before)"
        raise conflict(first, versions["found"], ours, {"conflicts": dict(third)})
    return needed


def _is_same_folder(step: Step, seen: State | str | bool) -> bool:
    """A folder that was made: a crash may have left it without its mode. It is removed only when it is empty."""
    return isinstance(step, PathStep) and step.after.kind == "dir" and isinstance(seen, State) and seen.kind == "dir"


def _is_in_use(host: Host, step: Step, needed: Sequence[Step]) -> bool:
    """A folder that was made and holds something of others, or a group that has members by now: it stays."""
    if isinstance(step, Command):
        is_to_go = step.after and not step.before and bool(step.used)
        return is_to_go and command.run(host, step.used, _PROBE_SECONDS).reason is None
    if not isinstance(step, PathStep) or step.after.kind != "dir":
        return False
    goes = {one.key for one in needed if isinstance(one, PathStep) and one.after.kind == "absent"}
    return any(f"{step.path}/{name}" not in goes for name in host.list(step.path).value or ())


def _to(step: Step, seen: State | str | bool) -> Step:
    """The step from what was seen to what was before."""
    if isinstance(step, PathStep) and isinstance(seen, State):
        return step._replace(before=seen, after=step.before, old=b"", new=b"")
    return step._replace(before=seen, after=step.before)  # type: ignore[arg-type]


def make(host: Host, derived: Derived, keep: Sequence[int]) -> None:
    """Make a derived thing again, and prove that it holds what it is made from. Raises ApplyError, VerifyError."""
    for argv in derived.make:
        ran = command.run(host, argv, derived.deadline_seconds, keep)
        if ran.reason is not None:
            details: dict[str, object] = {"words": list(argv), "reason": ran.reason}
            found, step = ran.last or ran.reason, "mend that and run again"
            raise ApplyError("make", derived.key, found, "exit status 0", step, details)
    write_back(host)
    if derived.proof is not None:
        prove(host, derived.key, derived.proof)


def prove(host: Host, key: str, proof: Proof) -> None:
    """See that a derived thing holds what it must. Raises VerifyError."""
    ran = command.run(host, proof.argv, _COMMAND_SECONDS)
    if ran.reason is not None:
        raise VerifyError("read", key, ran.reason, "its content listed", "look at it by hand")
    lines = {line.strip() for line in ran.stdout.splitlines()}
    for line, path in proof.lines:
        is_wanted = host.status(path)[0] is not None
        if (line in lines) != is_wanted:
            found, wanted = ("in it", "not in it") if line in lines else ("not in it", "in it")
            details: dict[str, object] = {"words": list(proof.argv)}
            step = "make it by hand, and look at what it holds"
            raise VerifyError("prove", key, f"{line} is {found}", wanted, step, details)


def parents(host: Host, steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, with those for folders that are missing above new files before them."""
    ready: list[Step] = []
    seen = {step.key for step in steps}
    for step in steps:
        if isinstance(step, PathStep) and step.after.kind in ("file", "link"):
            missing = [one for one in _missing(host, step.path) if one.path not in seen]
            seen.update(one.path for one in missing)
            ready += missing
        ready.append(step)
    return tuple(ready)


def _missing(host: Host, path: str) -> list[PathStep]:
    found: list[PathStep] = []
    folder = path.rpartition("/")[0]
    while folder and not host.exists(folder):
        there: Found = disk.found(host, folder)
        if there.state != ABSENT:
            raise _no_folder(folder, f"{there.state.text()}, which leads nowhere")
        after = State("dir", 0o755, *there.owner)
        found.insert(0, PathStep(folder, ABSENT, after, b"", b"", f"the folder of {path}"))
        folder = folder.rpartition("/")[0]
    status, _reason = host.status(folder or "/")
    if status is not None and status.kind != "dir":
        raise _no_folder(folder, status.kind)
    return found


def _no_folder(path: str, found: str) -> ConflictError:
    return ConflictError("make a file in", path, found, "a folder", "look at it, and make it a folder")


def unlike(host: Host, steps: Iterable[Step]) -> Mapping[str, str]:
    """Of what steps led to, what is not so on the node: what is there instead."""
    found = {}
    for step in steps:
        seen = look(host, step)
        if not is_at(step, seen, step.after):
            found[step.key] = told(seen)
    return found
