# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specs that stay right: a program on the node makes them, now, at each boot and when a driver changes.

The program and its units are files like any other; the specs are derived from the devices. So nothing is to be done
where the specs are what the program would make now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Optional

from ..codec import cdi
from ..engine import service
from ..host import disk
from ..host.door import Host
from ..model.call import Call, Outcome
from ..model.errors import ConflictError, InputError, OpsError, ProbeError, UnsupportedError
from ..model.plan import Derived, Found, PathStep, Plan, Proof, State, file_step
from ..vendor import cdi as vendor
from . import cdi_files, cdi_specs
from .cdi_files import LINKS, NAME, PROGRAM
from .cdi_specs import Asked, Look

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "makers": {"type": "list", "elements": "str"},
    "directory": {"type": "path", "default": "/etc/cdi"},
    "source": {"type": "str", "choices": ["auto", "maker", "own"], "default": "auto"},
    "groups": {"type": "bool", "default": False},
    "state": {"type": "str", "choices": ["present", "absent", "checked"], "default": "present"},
}

_LIMITS = """
podman podman 4.1=0.4.0 4.3=0.5.0 4.9=0.6.0 5.2=0.8.0 5.5=1.0.0 6.0=1.1.0
docker dockerd 25.0=0.6.0 27.0=0.7.0 28.0=0.8.0 28.3=1.0.0 29.7.2=1.1.0
crio crio 1.30=0.7.0 1.32=0.8.0 1.33=1.0.0 1.35=1.1.0
containerd containerd 1.7=0.5.0 1.7.34=0.8.0 2.0=0.8.0 2.0.11=1.0.0 2.2.7=1.1.0
"""
"""The engine's package and program, and from which version on it accepts which ``cdiVersion``, by the library that it
embeds. One that is older than its first row knows no CDI, or is not judged (CRI-O). Read in the engines' sources, 2026-11."""

_MAKE_SECONDS = 120.0
_UNITS_SECONDS = 60.0


class Engine(NamedTuple):
    """A container engine that is installed, and the highest ``cdiVersion`` that it accepts."""

    name: str
    version: str
    accepts: str


class Seen(NamedTuple):
    """What was found.

    ``looks`` is None where this root does not tell which devices there are. ``present`` are the spec files that are
    ours, ``python`` the interpreter for the program, ``program`` what it should be.
    """

    is_live: bool
    has_systemd: bool
    looks: Optional[tuple[Look, ...]]
    present: Mapping[str, Found]
    files: Mapping[str, Found]
    python: Optional[str]
    program: bytes
    engines: tuple[Engine, ...] = ()


def observe(host: Host, wish: Mapping[str, Any]) -> Seen:
    """Look at the devices, at what makers' generators print, at specs, at our program and units, and at the engines."""
    asked = cdi_specs.asked(wish)
    is_wanted = wish["state"] != "absent"
    paths = (PROGRAM, cdi_files.SERVICE, cdi_files.PATH, *LINKS)
    return Seen(
        host.is_live,
        host.is_live and host.exists("/run/systemd/system"),
        cdi_specs.look(host, asked) if is_wanted else None,
        cdi_specs.present(host, asked.directory),
        {path: disk.found(host, path) for path in paths},
        cdi_files.python(host),
        cdi_files.program(asked) if is_wanted else b"",
        tuple(_engines(host)) if is_wanted else (),
    )


def _engines(host: Host) -> Iterator[Engine]:
    for line in _LIMITS.strip().splitlines():
        package, program, *rows = line.split()
        place = service.program(host, program)
        known = None if place is None else service.version(host, place, (package,))
        limits = [row.split("=") for row in rows if known is not None]
        accepts = [version for first, version in limits if _numbers(first) <= (known or ())]
        if accepts:
            yield Engine(package, service.told(known), accepts[-1])


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def decide(seen: Seen, wish: Mapping[str, Any]) -> Plan:
    """What is to be done, with everything that stands in the way as blockers. Raises InputError."""
    asked = _asked(wish)
    if wish["state"] == "absent":
        return _plan(seen, asked, dict.fromkeys((PROGRAM, cdi_files.SERVICE, cdi_files.PATH)), {}, {})
    blockers = tuple(_blockers(seen, asked))
    if blockers:
        return Plan(blockers=blockers)
    files = {PROGRAM: seen.program, **cdi_files.units(seen.python or "")}
    wanted = None if seen.looks is None else cdi_specs.wanted(seen.looks, asked)
    return _plan(seen, asked, files, LINKS, wanted)


def _asked(wish: Mapping[str, Any]) -> Asked:
    asked = cdi_specs.asked(wish)
    strange = sorted(set(asked.makers or ()) - set(vendor.LOADERS))
    if strange:
        expected = f"some of {', '.join(vendor.LOADERS)}"
        raise InputError("make", "CDI specs", f"maker {', '.join(strange)}", expected, "correct makers")
    if not asked.directory.startswith("/"):
        raise InputError("make", "CDI specs", f"directory {asked.directory!r}", "an absolute path", "correct directory")
    return asked


def _blockers(seen: Seen, asked: Asked) -> Iterator[OpsError]:
    if seen.python is None:
        yield UnsupportedError(
            "make", "CDI specs", "no Python 3.9 or newer of the system's own", "/usr/bin/python3", "install python3"
        )
    for one in seen.looks or ():
        subject = f"the CDI spec of {one.maker}"
        if one.holder is not None:
            step = f"leave {one.maker} out of makers, or turn that off ({one.holder.switch})"
            found = f"{one.holder.name} makes it here (seen at {one.holder.seen_at})"
            yield ConflictError("make", subject, found, "one owner", step, {"owner": one.holder.name})
        elif one.foreign:
            kind = one.needs[0].kind
            step = f"remove it and what makes it, or leave {one.maker} out of makers"
            found = f"{', '.join(one.foreign)} with the same kind {kind}"
            yield ConflictError("make", subject, found, "one file for each kind", step, {"paths": list(one.foreign)})
        elif one.failure is not None:
            is_absent = one.failure.endswith("is not installed")
            error: type[OpsError] = UnsupportedError if is_absent else ProbeError
            yield error("make", subject, one.failure, f"a spec by {one.generator}", "mend that, or set source to own")
    for path, there in seen.present.items():
        if there.state.kind not in ("file", "absent"):
            yield ConflictError("make", path, f"a {there.state.kind}", "a file or none", "remove it")
    yield from _too_new(seen, asked)


def _too_new(seen: Seen, asked: Asked) -> Iterator[OpsError]:
    """Engines that would not take a spec."""
    for path, spec in cdi_specs.specs(seen.looks or (), asked).items():
        for engine in seen.engines:
            if not cdi.is_at_least(engine.accepts, spec.version):
                found = f"{engine.name} {engine.version} accepts at most {engine.accepts}"
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
    derived, deferred = [], []
    has_units = any(step.path != PROGRAM for step in steps)
    if has_units and seen.has_systemd:
        derived.append(Derived(f"units {NAME}", (("/bin/sh", "-c", _UNITS),), "units changed", None, _UNITS_SECONDS))
    elif has_units and seen.is_live:
        deferred.append(f"{NAME}.path: systemd does not run here, and starts it when it does")
    if wanted is None:
        deferred.append("CDI specs: this root does not tell which devices there are; they make themselves at boot")
    else:
        derived += _specs(seen, asked, wanted)
    return Plan(tuple(steps), tuple(derived), deferred=tuple(deferred))


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


def _specs(seen: Seen, asked: Asked, wanted: Mapping[str, str]) -> Iterator[Derived]:
    """The specs, where one is not what it should be."""
    wrong = [path for path, text in wanted.items() if not cdi_specs.is_right(seen.present.get(path, Found()), text)]
    over = [path for path in seen.present if path not in wanted]
    if not wrong and not over:
        return
    paths = tuple(dict.fromkeys((*wanted, *seen.present)))
    why = f"{wrong[0]} {_lack(seen, wrong[0])}" if wrong else f"{over[0]} is over"
    python = seen.python or "/usr/bin/python3"
    make = ("/bin/sh", "-c", _MAKE, python, PROGRAM, *paths)
    proof = Proof(("/bin/sh", "-c", _CHECK, python, PROGRAM), tuple((path, path) for path in paths))
    yield Derived("CDI specs", (make,), why, proof, _MAKE_SECONDS)


def _lack(seen: Seen, path: str) -> str:
    found = seen.present.get(path, Found()).state.kind
    return "is not there" if found == "absent" else "is not what the devices are now"


_MAKE = """\
if test -e "$1"; then exec "$0" -I "$1" make; fi
shift
rm -f -- "$@\""""
_CHECK = 'if test -e "$1"; then exec "$0" -I "$1" check; fi'
"""The program tells; where it was taken back, so are the specs."""


def look(call: Call) -> Optional[Outcome]:
    """The findings of a call that only wants the specs checked; None for one that may change something."""
    if call.wish["state"] != "checked":
        return None
    return Outcome(False, {"findings": checked(Host(call.wish["root"]), call.wish)})


def checked(host: Host, wish: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is wrong with the specs on this node, one row each, without changing anything. Raises InputError."""
    asked = _asked(wish)
    seen = observe(host, wish)
    rows = [_finding("fail", one.subject, one.found, one.next_step) for one in _blockers(seen, asked)]
    if seen.looks is None:
        return [*rows, _finding("unknown", "CDI specs", "this root does not tell which devices there are", "")]
    wanted = cdi_specs.wanted(seen.looks, asked)
    for one in _specs(seen, asked, wanted):
        rows.append(_finding("fail", one.key, one.why, "make them again with state present"))
    for look in seen.looks:
        rows += [_finding("warn", look.maker, f"{path} is not there", "see its driver") for path in look.missing]
        notes = [note for needs in look.needs for note in needs.notes if needs.units]
        rows += [_finding("info", look.maker, note, "") for note in notes]
    return rows


def _finding(verdict: str, subject: str, reason: str, next_step: str) -> dict[str, Any]:
    return {"check": "cdi", "verdict": verdict, "subject": subject, "reason": reason, "next_step": next_step}
