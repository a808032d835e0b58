# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan: what is to be done to a node, as data. It is decided, shown, journaled, applied and undone from this.

A step has a key, a state before and a state after. Going back is the same step with the two exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Optional

from .errors import OpsError


class State(NamedTuple):
    """What is at a path. ``kind`` is ``absent``, ``file``, ``link``, ``dir``, or another kind of ``Status``.

    ``sha256`` is of a file's content, ``target`` what a link says, ``xattrs`` names with their values in base64
    (SELinux label and access list among them).
    """

    kind: str
    mode: int = 0
    uid: int = 0
    gid: int = 0
    sha256: str = ""
    target: str = ""
    xattrs: tuple[tuple[str, str], ...] = ()

    def is_same(self, other: State) -> bool:
        """Whether the two are one version. Labels may be set anew by the system, and make no other version."""
        return self._replace(xattrs=()) == other._replace(xattrs=())

    def text(self) -> str:
        """The version in one short line, for errors."""
        if self.kind == "absent":
            return "absent"
        if self.kind == "link":
            return f"a link to {self.target}"
        told = f"{self.kind} {self.mode:04o} {self.uid}:{self.gid}"
        return f"{told} sha256 {self.sha256[:12]}" if self.kind == "file" else told


ABSENT = State("absent")


class Found(NamedTuple):
    """What an observation found at a path: its state, its content where it is a file, and who would own a new one."""

    state: State = ABSENT
    content: bytes = b""
    owner: tuple[int, int] = (0, 0)
    hard_links: int = 1

    def text(self) -> str:
        """The content as text. Raises ValueError where it is not UTF-8."""
        return self.content.decode("utf-8")


class PathStep(NamedTuple):
    """A file, link or folder made, changed or removed. Undo class exact.

    ``is_edit``: the file is somebody else's and only some of its lines are ours, as the user asked; its present
    content is no conflict then. ``is_ours``: the version after is of this collection's making, and may be replaced by
    it later. ``old`` and ``new`` are contents of files (empty for all else).
    """

    path: str
    before: State
    after: State
    old: bytes
    new: bytes
    why: str
    is_edit: bool = False
    is_ours: bool = True

    @property
    def key(self) -> str:
        """What the step is about."""
        return self.path


class Setting(NamedTuple):
    """A value of the running kernel: a file below ``/proc/sys`` or ``/sys``. Undo class compensating.

    ``before`` and ``after`` are its text without white space around it. The kernel may give less than was asked
    (huge pages): verification then says so.
    """

    path: str
    before: str
    after: str
    why: str

    @property
    def key(self) -> str:
        """What the step is about."""
        return self.path


class Command(NamedTuple):
    """Something that a program makes there or not, such as a group. Undo class compensating.

    ``probe`` ends with status 0 where it is there. ``run`` makes it, ``undo`` takes it away. ``before`` and ``after``
    say whether it is there. ``used`` ends with status 0 where somebody has put it to use since (a group that has
    members): it is then not taken away; none: that cannot be.
    """

    name: str
    before: bool
    after: bool
    run: tuple[str, ...]
    undo: tuple[str, ...]
    probe: tuple[str, ...]
    why: str
    used: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What the step is about."""
        return self.name


class Proof(NamedTuple):
    """Shows that a derived thing holds what it is made from.

    ``argv`` prints lines. For each ``(line, path)`` of ``lines`` that line must be among them where ``path`` is a
    file on the node, and must not be where it is absent.
    """

    argv: tuple[str, ...]
    lines: tuple[tuple[str, str], ...] = ()


class Derived(NamedTuple):
    """Something that is made from the rest and is not journaled: an initramfs, a boot menu, the applied udev rules.

    Undo means making it again. ``make`` are the programs in order, ``deadline_seconds`` the time for each.
    ``key`` tells one from another: ``initramfs 6.1.0-47-amd64``.
    """

    key: str
    make: tuple[tuple[str, ...], ...]
    why: str
    proof: Optional[Proof] = None
    deadline_seconds: float = 600.0


class Restart(NamedTuple):
    """A service of systemd that must be started anew for a change to take effect.

    ``is_safe``: a restart of it stops no workload, so that it is allowed while devices are in use. ``busy``: a program
    that ends with status 0 while a workload is there that a restart would stop, and with 1 while there is none (no
    program: there always is one).
    """

    service: str
    why: str
    is_safe: bool = False
    busy: tuple[str, ...] = ()


class Plan(NamedTuple):
    """Everything one call wants to do. Empty ``steps`` and ``derived``: nothing is to be done.

    ``reboot`` are the reasons why the node must boot anew before all is in effect (also where nothing is to be done
    any more, until it has). ``deferred`` is what this root cannot have done now, and why. ``blockers`` are the errors
    that stand in the way: a plan with one is never done, nor any part of it.
    """

    steps: tuple[PathStep | Setting | Command, ...] = ()
    derived: tuple[Derived, ...] = ()
    restarts: tuple[Restart, ...] = ()
    reboot: tuple[str, ...] = ()
    deferred: tuple[str, ...] = ()
    blockers: tuple[OpsError, ...] = ()


def together(plans: tuple[Plan, ...]) -> Plan:
    """One plan of several. A derived thing that more than one of them wants is made once, with all their proofs."""
    derived: dict[str, Derived] = {}
    for one in [one for plan in plans for one in plan.derived]:
        known = derived.get(one.key)
        if known is not None and known.proof is not None and one.proof is not None:
            one = one._replace(proof=one.proof._replace(lines=known.proof.lines + one.proof.lines))
        derived[one.key] = one
    restarts = {one.service: one for plan in plans for one in plan.restarts}
    return Plan(
        tuple(step for plan in plans for step in plan.steps),
        tuple(derived.values()),
        tuple(restarts.values()),
        tuple(dict.fromkeys(reason for plan in plans for reason in plan.reboot)),
        tuple(dict.fromkeys(reason for plan in plans for reason in plan.deferred)),
        tuple(blocker for plan in plans for blocker in plan.blockers),
    )


def attempted(decide: Callable[[], Plan]) -> Plan:
    """The plan that ``decide`` returns, or one with nothing but its typed error as a blocker."""
    try:
        return decide()
    except OpsError as error:
        return Plan(blockers=(error,))


def owned(module: str) -> str:
    """The first line of a file of ours: who wrote it, and what becomes of changes by hand."""
    return f"# Written by accelerator.ops ({module}). A change here is taken for a human's, and is kept.\n"


_VOLATILE = ("security.ima", "security.evm")
"""Extended attributes that speak of the old content and would be wrong for a new one (ima(7), evm, read 2026-12)."""


def digest(content: bytes) -> str:
    """The SHA-256 of a content, as 64 hex digits."""
    import hashlib

    return hashlib.sha256(content).hexdigest()


def file_step(
    path: str, found: Found, content: Optional[bytes], why: str, mode: int = 0o644, is_edit: bool = False
) -> tuple[PathStep, ...]:
    """The step that gives a path this content (None: no file there), or no step where it is so already.

    A file of ours gets ``mode`` and the owner of new files; an edited one keeps its own.
    """
    before = found.state
    if content is None:
        if before.kind == "absent":
            return ()
        return (PathStep(path, before, ABSENT, found.content, b"", why, is_edit),)
    is_file = before.kind == "file"
    keeps = is_edit and is_file
    uid, gid = (before.uid, before.gid) if keeps else found.owner
    kept = tuple(one for one in before.xattrs if one[0] not in _VOLATILE) if is_file else ()
    after = State("file", before.mode if keeps else mode, uid, gid, digest(content), "", kept)
    if before.is_same(after):
        return ()
    return (PathStep(path, before, after, found.content, content, why, is_edit),)


def rows(plan: Plan) -> list[dict[str, Any]]:
    """The plan as a result shows it: its steps in order, each with its undo class."""
    shown: list[dict[str, Any]] = []
    for step in plan.steps:
        if isinstance(step, PathStep):
            shown.append({"kind": "path", "subject": step.path, "change": _change(step), "undo": "exact"})
        elif isinstance(step, Setting):
            change = f"{step.before} -> {step.after}"
            shown.append({"kind": "setting", "subject": step.path, "change": change, "undo": "compensating"})
        else:
            change = "create" if step.after else "remove"
            shown.append({"kind": "command", "subject": step.name, "change": change, "undo": "compensating"})
        shown[-1]["why"] = step.why
    for derived, goes_with in _made(plan):
        change, why = ("make again", derived.why) if goes_with is None else ("remove", f"{goes_with}, its maker, goes")
        shown.append({"kind": "derived", "subject": derived.key, "change": change, "undo": "derived", "why": why})
    return shown


def _made(plan: Plan) -> Iterator[tuple[Derived, Optional[str]]]:
    """The derived things, each with the program that makes it where the plan removes that: it then goes too."""
    gone = [step.path for step in plan.steps if isinstance(step, PathStep) and step.after.kind == "absent"]
    for derived in plan.derived:
        words = {word for argv in derived.make for word in argv}
        yield derived, next((path for path in gone if path in words), None)


def _change(step: PathStep) -> str:
    if step.before.kind == "absent":
        return "create"
    return "remove" if step.after.kind == "absent" else "change"


def diffs(plan: Plan) -> list[Mapping[str, str]]:
    """What ``--diff`` shows, made from the steps themselves."""
    shown: list[Mapping[str, str]] = []
    for step in plan.steps:
        if isinstance(step, PathStep):
            before, after = _shown(step.before, step.old), _shown(step.after, step.new)
        elif isinstance(step, Setting):
            before, after = f"{step.before}\n", f"{step.after}\n"
        else:
            before, after = ("present\n" if one else "absent\n" for one in (step.before, step.after))
        headers = {"before_header": step.key, "after_header": step.key}
        shown.append({**headers, "before": before, "after": after})
    for derived, goes_with in _made(plan):
        headers = {"before_header": derived.key, "after_header": derived.key}
        after = f"made again: {derived.why}\n" if goes_with is None else f"removed: {goes_with}, its maker, goes\n"
        shown.append({**headers, "before": "", "after": after})
    return shown


def _shown(state: State, content: bytes) -> str:
    """A version as text: its attributes in one line, then its content."""
    if state.kind == "absent":
        return ""
    head = f"# {state.text().partition(' sha256')[0]}\n"
    if b"\0" in content:
        return f"{head}{len(content)} bytes, sha256 {state.sha256}\n"
    return head + content.decode("utf-8", "backslashreplace")
