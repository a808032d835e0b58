# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specs that stay right: a program on the node makes them, now, at each boot and when a driver changes.

The program and its units are files like any other; the specs are derived from the devices. So nothing is to be done
where the specs are what the program would make now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from ..codec import cdi
from ..engine import service
from ..engine.cdi_loader import embedded_loader
from ..host import disk
from ..host.door import Host
from ..model.call import Call, Outcome
from ..model.cdi import OURS, Engine
from ..model.errors import ConflictError, InputError, OpsError, ProbeError, UnsupportedError
from ..model.plan import ABSENT, Derived, Found, PathStep, Plan, Proof, State, file_step
from ..vendor import cdi as vendor
from ..vendor.permissions import known
from . import cdi_files, cdi_record, cdi_specs
from .cdi_files import LINKS, NAME, PROGRAM
from .cdi_record import Record
from .cdi_specs import Asked, Look
from .facts import engines, owners

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "makers": {"type": "list", "elements": "str"},
    "directory": {"type": "path", "default": "/etc/cdi"},
    "source": {"type": "str", "choices": ["auto", "maker", "own"], "default": "auto"},
    "groups": {"type": "bool", "default": False},
    "state": {"type": "str", "choices": ["present", "absent", "checked"], "default": "present"},
}

_MAKE_SECONDS = 120.0
_UNITS_SECONDS = 60.0


class Seen(NamedTuple):
    """What was found.

    ``looks`` is None where this root does not tell which devices there are. ``present`` is what is called as a spec of
    ours, ``ours`` those of it that the program made, by its ``record``. ``python`` is the interpreter for the program,
    ``program`` what it should be. ``has_folder``: the folder of specs is there; ``obstacle``: why it cannot be.
    ``left`` is the folder of the program where it holds nothing else, and is to go with it.
    """

    is_live: bool
    has_systemd: bool
    looks: Optional[tuple[Look, ...]]
    present: Mapping[str, Found]
    files: Mapping[str, Found]
    python: Optional[str]
    program: bytes
    engines: tuple[Engine, ...] = ()
    has_folder: bool = True
    left: Found = Found()
    ours: frozenset[str] = frozenset()
    record: Record = Record()
    obstacle: Optional[str] = None


def observe(host: Host, wish: Mapping[str, Any]) -> Seen:
    """Look at the devices, at what makers' generators print, at specs, at our program and units, and at the engines."""
    asked = cdi_specs.asked(wish)
    is_wanted = wish["state"] != "absent"
    paths = (PROGRAM, cdi_files.SERVICE, cdi_files.PATH, *LINKS)
    record = cdi_record.read(host)
    present = cdi_specs.present(host, asked.directory, record)
    return Seen(
        host.is_live,
        host.is_live and host.exists("/run/systemd/system"),
        cdi_specs.look(host, asked) if is_wanted else None,
        present,
        {path: disk.found(host, path) for path in paths},
        cdi_files.python(host),
        cdi_files.program(asked) if is_wanted else b"",
        tuple(_engines(host)) if is_wanted else (),
        host.exists(asked.directory),
        Found() if is_wanted else _left(host),
        cdi_specs.ours(host, present, record),
        record,
        cdi_specs.obstacle(host, asked.directory) if is_wanted else None,
    )


def _left(host: Host) -> Found:
    """The folder of the program, where nothing of others is in it."""
    names = host.list(cdi_files.FOLDER).value
    is_ours = names is not None and set(names) <= {PROGRAM.rpartition("/")[2]}
    return disk.found(host, cdi_files.FOLDER) if is_ours else Found()


def _engines(host: Host) -> Iterator[Engine]:
    """Those that have CDI. What is known of the ones in k3s and rke2 is not when they got which library."""
    for one in engines.here(host):
        if one.kind.embedded is not None or one.program is None:
            continue
        known = service.version(host, one.program, one.kind.packages)
        loader = None if known is None else embedded_loader(one.name, known)
        if loader is not None:
            folders = engines.read(host, one, known).dirs or ()
            yield Engine(one.name, service.told(known), loader, folders, one.kind.is_rootless)


def decide(seen: Seen, wish: Mapping[str, Any]) -> Plan:
    """What is to be done, with everything that stands in the way as blockers. Raises InputError."""
    asked = _asked(wish)
    if seen.record.reason is not None:
        found, expected = seen.record.reason, "what the program made"
        return Plan(blockers=(ProbeError("read", cdi_record.FILE, found, expected, "run as root"),))
    if wish["state"] == "absent":
        return _plan(seen, asked, dict.fromkeys((PROGRAM, cdi_files.SERVICE, cdi_files.PATH)), {}, {})
    if _is_nothing_here(seen, asked):
        return Plan()
    if seen.python is None and not seen.is_live:
        return Plan(deferred=(f"CDI specs: {cdi_files.NO_PYTHON}; install python3 there",))
    blockers = tuple(_blockers(seen, asked))
    if blockers:
        return Plan(blockers=blockers)
    files = {PROGRAM: seen.program, **cdi_files.units(seen.python or "")}
    wanted = None if seen.looks is None else cdi_specs.wanted(seen.looks, asked)
    return _plan(seen, asked, files, LINKS, wanted)


def _is_nothing_here(seen: Seen, asked: Asked) -> bool:
    """A node without a device to make a spec for, and nothing on it that was made for one."""
    is_clean = not seen.ours and all(found.state.kind == "absent" for found in seen.files.values())
    is_for_none = seen.looks == () if asked.makers is None else not set(asked.makers) & set(vendor.LOADERS)
    return is_for_none and is_clean


def _asked(wish: Mapping[str, Any]) -> Asked:
    asked = cdi_specs.asked(wish)
    strange = sorted(set(asked.makers or ()) - set(known()))  # one without a kind is none: it gets no spec
    if strange:
        expected, step = "names of makers that the facts use", "correct makers"
        raise InputError("make", "CDI specs", f"maker {', '.join(strange)}", expected, step)
    _root, *parts = asked.directory.split("/")
    is_plain = all(part not in ("", ".", "..") and part.strip() == part and part.isprintable() for part in parts)
    if not wish["directory"].startswith("/") or not is_plain or cdi_specs.is_kernels(asked.directory):
        expected = "an absolute path without . and .., outside of /dev, /proc and /sys"
        raise InputError("make", "CDI specs", f"directory {wish['directory']!r}", expected, "correct directory")
    return asked


def _blockers(seen: Seen, asked: Asked) -> Iterator[OpsError]:
    if seen.python is None:
        expected = "/usr/bin/python3 that leads to a python3.N"
        yield UnsupportedError(
            "make", "CDI specs", "no Python 3.9 or newer of the system's own", expected, "install python3"
        )
    for one in seen.looks or ():
        subject = f"the CDI spec of {one.maker}"
        if one.owner is not None:
            step = f"leave {one.maker} out of makers, or turn that off ({one.owner.switch})"
            found = f"{one.owner.name} makes it here (seen at {one.owner.seen_at})"
            yield ConflictError("make", subject, found, "one owner", step, {"owner": one.owner.name})
        elif one.foreign:
            kind = one.needs[0].kind
            step = f"remove it and what makes it, or leave {one.maker} out of makers"
            found = f"{', '.join(map(_with_owner, one.foreign))} with the same kind {kind}"
            yield ConflictError("make", subject, found, "one file for each kind", step, {"paths": list(one.foreign)})
        elif one.failure is not None:
            is_absent = one.failure.endswith("is not installed")
            error: type[OpsError] = UnsupportedError if is_absent else ProbeError
            expected = f"a spec by {one.generator}" if one.generator else "what it needs"
            step = "mend that, or set source to own" if one.generator else "mend that"
            yield error("make", subject, one.failure, expected, step)
    if seen.obstacle is not None and seen.looks:
        yield InputError("make", "CDI specs", seen.obstacle, "a folder", "mend it, or set directory")
    wanted = cdi_specs.wanted(seen.looks or (), asked)
    for path, what in cdi_specs.taken(wanted, seen.present, seen.ours).items():
        yield ConflictError("make", path, what, "a file that the program on the node made, or none", "move it away")
    yield from _too_new(seen, asked)


def _with_owner(path: str) -> str:
    owner = owners.of_spec(path.rpartition("/")[2])
    return path if owner in (None, OURS) else f"{path} of {owner}"


def _too_new(seen: Seen, asked: Asked) -> Iterator[OpsError]:
    """Engines that would not take a spec."""
    for path, spec in cdi_specs.specs(seen.looks or (), asked).items():
        for engine in seen.engines:
            accepted = cdi.accepted_version(engine.loader)
            if not cdi.is_at_least(accepted, spec.version):
                found = f"{engine.name} {engine.version} accepts at most {accepted}"
                step = "leave groups off" if asked.groups else "update that engine"
                yield UnsupportedError("make", path, found, f"cdiVersion {spec.version}", step)


def _plan(
    seen: Seen,
    asked: Asked,
    files: Mapping[str, Optional[bytes]],
    links: Mapping[str, str],
    wanted: Optional[Mapping[str, str]],
) -> Plan:
    steps: list[PathStep] = []
    for path, content in files.items():
        steps += file_step(path, seen.files[path], content, "makes the CDI specs, at boot too")
    for path in LINKS:
        steps += _link(path, seen.files[path], links.get(path))
    if seen.left.state.kind == "dir":
        steps.append(PathStep(cdi_files.FOLDER, seen.left.state, ABSENT, b"", b"", "it is empty then", is_edit=True))
    derived: list[Derived] = []
    deferred = [f"{path}: it was not made by the program, or edited, and stays" for path in _left_alone(seen, files)]
    has_units = any(step.path != PROGRAM for step in steps)
    if has_units and seen.has_systemd:
        derived.append(Derived(f"units {NAME}", (("/bin/sh", "-c", _UNITS),), "units changed", None, _UNITS_SECONDS))
    elif has_units and seen.is_live:
        deferred.append(f"{NAME}.path: systemd does not run here, and starts it when it does")
    if wanted is None:
        deferred.append("CDI specs: this root does not tell which devices there are; they make themselves at boot")
    else:
        derived += _specs(seen, asked, wanted, is_last=files[PROGRAM] is None)
    return Plan(tuple(steps), tuple(derived), deferred=tuple(deferred))


def _left_alone(seen: Seen, files: Mapping[str, Optional[bytes]]) -> list[str]:
    """What is called as a spec of ours and stays when all of ours go."""
    return sorted(seen.present.keys() - seen.ours) if files[PROGRAM] is None else []


def _link(path: str, found: Found, target: Optional[str]) -> tuple[PathStep, ...]:
    uid, gid = found.owner
    after = State("absent") if target is None else State("link", 0o777, uid, gid, "", target)
    if found.state.is_same(after) or (found.state.kind == "link" and found.state.target == target):
        return ()
    return (PathStep(path, found.state, after, found.content, b"", "enables a unit"),)


_UNITS = f"""\
if test -e {cdi_files.PATH}; then
  systemctl daemon-reload && systemctl restart {NAME}.path
else
  systemctl stop {NAME}.path {NAME}.service
  systemctl daemon-reload
fi"""
"""What follows from the unit files, whichever way they have just changed: forward, or back."""


def _specs(seen: Seen, asked: Asked, wanted: Mapping[str, str], is_last: bool = False) -> Iterator[Derived]:
    """The specs, where one is not what it should be. ``is_last``: they go, and what the program wrote down of them."""
    wrong = cdi_specs.wrong(wanted, seen.present, seen.ours)
    why = [f"{path} {_lack(seen, path)}" for path in wrong]
    if wrong and not seen.has_folder:
        why.append(f"{asked.directory} is not there")
    why += [f"{path} is over" for path in cdi_specs.over(seen.looks or (), wanted, seen.ours)]
    if is_last and seen.record.is_there:
        why += [f"{path} is over when it is empty" for path in seen.record.folders]
        why.append(f"{cdi_record.FILE} is over")
    if not why:
        return
    paths = tuple(dict.fromkeys((*wanted, *sorted(seen.ours))))
    python = seen.python or "/usr/bin/python3"
    make = ("/bin/sh", "-c", _MAKE, python, PROGRAM, cdi_record.FILE)
    check = ("/bin/sh", "-c", _CHECK, python, PROGRAM, cdi_record.FILE, *paths)
    proof = Proof(check, tuple((path, path) for path in paths))
    yield Derived("CDI specs", (make,), "; ".join(why), proof, _MAKE_SECONDS)


def _lack(seen: Seen, path: str) -> str:
    found = seen.present.get(path, Found()).state.kind
    return "is not there" if found == "absent" else "is not what the devices are now"


_MAKE = """\
if test -e "$1"; then
  "$0" -I "$1" make
  status=$?
  test $status = 73 || exit $status
  exit 0
fi
test -e "$2" || exit 0
while read -r sum path; do
  if test "$sum" = folder; then
    test -L "$path" || test ! -d "$path" || rmdir --ignore-fail-on-non-empty -- "$path" || exit
    continue
  fi
  rm -f -- "${path%/*}/.${path##*/}.tmp" || exit
  if test -f "$path" && test ! -L "$path" && test "$(sha256sum < "$path")" = "$sum  -"; then
    rm -f -- "$path" || exit
  fi
done < "$2"
rm -f -- "${2%/*}/.${2##*/}.tmp" "$2\""""
"""Run the program; where it was taken back, remove what it made and nobody has edited, by its record.

A file of a human in the place of a spec (status 73) stays, and is no failure of going back.
"""

_CHECK = """\
if test -e "$1"; then exec "$0" -I "$1" check --left; fi
test ! -e "$2" || exit
shift 2
for path; do test ! -e "$path" || printf '%s\\n' "$path"; done"""
"""The program tells; where it was taken back and its record is gone, what is there is nothing of ours."""


def look(call: Call) -> Optional[Outcome]:
    """The findings of a call that only wants the specs checked; None for one that may change something."""
    if call.wish["state"] != "checked":
        return None
    return Outcome(False, {"findings": checked(Host(call.wish["root"]), call.wish)})


def checked(host: Host, wish: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is wrong with all specs on this node, one row each, without changing anything. Raises InputError."""
    from ..codec.cdi_lint import Finding  # what only a check needs
    from . import cdi_checks

    asked = _asked(wish)
    seen = observe(host, wish)
    found: list[Finding] = []
    blockers = tuple(_blockers(seen._replace(python=seen.python or "none"), asked))  # whatever could make specs
    for blocker in blockers:
        # another owner is no fault of a spec, and after a failure it is not known whether it has one
        verdicts: tuple[tuple[type[OpsError], str], ...] = ((ConflictError, "warn"), (ProbeError, "unknown"))
        verdict = next((word for kind, word in verdicts if isinstance(blocker, kind)), "fail")
        found.append(Finding("spec", verdict, blocker.subject, blocker.found, blocker.next_step))
    step = _next_step(seen, blockers)
    if seen.record.reason is not None:
        found.append(Finding("spec", "unknown", cdi_record.FILE, seen.record.reason))
    if seen.looks is None:
        found.append(Finding("spec", "unknown", "CDI specs", "this root does not tell which devices there are"))
    else:
        wanted = cdi_specs.wanted(seen.looks, asked)
        for one in _specs(seen._replace(has_folder=True), asked, wanted):  # that it will be made is for a plan
            found.append(Finding("spec", "fail", one.key, one.why, step))
    found += [Finding("spec", "warn", path, "it is not as it was set up", "run state present") for path in _lost(seen)]
    for look_at in seen.looks or ():
        maker = look_at.maker
        found += [Finding("spec", "warn", maker, f"{path} is not there", "see its driver") for path in look_at.missing]
        notes = [note for needs in look_at.needs for note in needs.notes if needs.units]
        found += [Finding("spec", "info", maker, note) for note in notes]
    found += cdi_checks.observe(host, asked.directory, seen.looks or (), seen.engines, step)
    return [{**one._asdict(), "evidence": list(one.evidence)} for one in found]


def _lost(seen: Seen) -> list[str]:
    """What makes the specs and is not as this version writes it, where any of it is there or has made a spec."""
    is_set_up = any(one.state.kind != "absent" for one in seen.files.values()) or (seen.is_live and bool(seen.ours))
    if seen.python is None or not is_set_up:
        return []
    files = {PROGRAM: seen.program, **cdi_files.units(seen.python)}
    steps = [step for path, content in files.items() for step in file_step(path, seen.files[path], content, "")]
    return [one.path for one in (*steps, *(s for path in LINKS for s in _link(path, seen.files[path], LINKS[path])))]


def _next_step(seen: Seen, blockers: Sequence[OpsError]) -> str:
    """What to do where a spec is missing or stale, other than what ``present`` would refuse or defer."""
    if blockers:
        return f"first see what stands in the way of {blockers[0].subject}"
    if seen.python is None:
        return "install python3 in this root first"
    if not seen.is_live:
        return "run state present, and they are made at the next boot"
    return "make them again with state present"
