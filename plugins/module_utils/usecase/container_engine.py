# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Container engines: CDI and its folders, NRI, and handlers of runtimes, by drop-ins of our own where there are any."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

from ..engine import registry
from ..engine.asked import OWNED, Asked
from ..engine.running import otherwise, unheard
from ..host.door import Host
from ..model.call import Call, Outcome
from ..model.errors import InputError, ProbeError, UnsupportedError
from ..model.plan import PathStep, Plan, State, attempted, together
from ..state.engine import Caller, Engine
from ..state.store import STATE

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "engines": {"type": "list", "elements": "str"},
    "cdi": {"type": "bool", "default": True},
    "cdi_spec_dirs": {"type": "list", "elements": "path"},
    "nri": {"type": "bool"},
    "nri_validator": {"type": "dict"},
    "runtimes": {"type": "dict"},
    "imports": {"type": "str", "choices": ["edit", "refuse"], "default": "edit"},
}

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}\Z")
_KEYS = ("binary", "type", "options")


class Seen(NamedTuple):
    """The engines that are looked at, by name."""

    engines: Mapping[str, Any]


def observe(host: Host, wish: Mapping[str, Any]) -> Seen:
    """Look at the named engines, or at all. Raises ProbeError."""
    if wish["engines"] is None:
        return Seen(registry.here(host))
    known = [name for name in dict.fromkeys(wish["engines"]) if name in registry.KNOWN]
    found = {name: registry.look(host, name) for name in known}
    return Seen({name: seen for name, seen in found.items() if seen is not None})


def decide(seen: Seen, wish: Mapping[str, Any]) -> Plan:
    """What is to be done. Raises InputError, UnsupportedError; what stands in the way of one engine is a blocker."""
    asked = _asked(wish)
    named = wish["engines"]
    _are_here(seen, named)
    if asked.nri and not any(registry.has_nri(name) for name in seen.engines):
        found = f"{', '.join(seen.engines) or 'no engine'} here"
        raise UnsupportedError("turn on", "NRI", found, "containerd or CRI-O", "leave nri out")
    return together(tuple(_plan(name, one, asked, wish) for name, one in seen.engines.items()))


def _plan(name: str, seen: Any, asked: Asked, wish: Mapping[str, Any]) -> Plan:
    return attempted(lambda: registry.plan(name, seen, asked, wish["imports"], wish["engines"] is not None))


def look(call: Call) -> Optional[Outcome]:
    """The findings of a call that only wants our files checked; None for one that may change something."""
    if call.wish["state"] != "checked":
        return None
    host = Host(call.wish["root"])
    seen = observe(host, call.wish)
    left = _left(host)
    return Outcome(False, {"findings": [*checked(seen, call.wish, left), *unlike(host, seen, call.wish)]})


def _left(host: Host) -> dict[str, State]:
    """How this collection last left each path, by its own record. Raises ProbeError, RecoveryError."""
    try:
        engine = Engine(host, Caller("container_engine", "", ""))
        engine.journal = engine.store.journal()
        known = engine.known().values()
    except OSError as error:
        found, expected = error.strerror or str(error), "a folder that can be read"
        raise ProbeError("read", STATE, found, expected, "run as root") from None
    return {step.path: step.after for step in known if isinstance(step, PathStep) and step.is_ours}


def checked(seen: Seen, wish: Mapping[str, Any], left: Mapping[str, State]) -> list[dict[str, Any]]:
    """What has come over our files, which remember what was asked, since they were made and left so.

    Raises InputError.
    """
    _are_here(seen, wish["engines"])
    rows = []
    for name, one in seen.engines.items():
        path = registry.ours_path(name, one)
        cause = None if path is None else _cause(one, left.get(path))
        if cause is not None:
            rows.append(_finding(cause[0], path or "", cause[1], cause[2]))
        if not registry.has_ours(one):
            continue
        plan = _plan(name, one, Asked(), wish)
        for error in plan.blockers:
            verdict = "unknown" if isinstance(error, ProbeError) else "fail"
            rows.append(_finding(verdict, error.subject, error.found, error.next_step))
        for step in plan.steps:
            if isinstance(step, PathStep) and not (cause is not None and step.path == path):
                why = f"it is not what {name} needs now: the files that it builds on have changed since it was made"
                rows.append(_finding("warn", step.path, why, "make it again with state present"))
    return rows


def _cause(seen: Any, left: Optional[State]) -> Optional[tuple[str, str, str]]:
    """What others did to our own file: the verdict, what it is, and the next step. None where it is as it was left."""
    found = seen.ours
    again = "make it again with state present and on_conflict overwrite"
    if left is not None and found.state.is_same(left):
        return None
    if found.state.kind == "absent":
        is_gone = registry.is_missed(seen) if left is None else left.kind == "file"
        return ("fail", "it was made, and somebody has removed it since", again) if is_gone else None
    if found.state.kind != "file" or not found.content.startswith(OWNED.encode()):
        why = f"something of others has the name of our file: {found.state.text()}"
        return "fail", why, f"give it another name, or {again}"
    if left is not None and left.kind == "file":
        why = f"somebody has changed it since it was made: {found.state.text()}, expected {left.text()}, as it was left"
        return "warn", why, f"move the change to a file of its own, then {again}"
    return None


def unlike(host: Host, seen: Seen, wish: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Daemons that run and show something else than is wanted, or not what: they are asked themselves.

    The evidence is the service. Raises InputError.
    """
    asked = _asked(wish)
    rows = []
    for name, one in seen.engines.items():
        wanted = registry.wanted(name, one, asked)
        heard = None if wanted is None else registry.ask(host, name, one)
        if wanted is None or heard is None:
            continue
        unit = (one.service.name,)
        left = otherwise(wanted, heard)
        if left:
            why, step = f"it runs, and shows otherwise: {', '.join(left)}", "start it anew: generation, state restarted"
            rows.append(_finding("fail", name, why, step, "running", unit))
        for reason, options in unheard(wanted, heard).items():
            why = f"whether it uses {', '.join(options)} as asked is not known: {reason}"
            rows.append(_finding("unknown", name, why, heard.next_step, "running", unit))
    return rows


def _finding(
    verdict: str, subject: str, reason: str, next_step: str, check: str = "drift", evidence: tuple[str, ...] = ()
) -> dict[str, Any]:
    row: dict[str, Any] = {"check": check, "verdict": verdict, "subject": subject, "reason": reason}
    return {**row, "next_step": next_step, "evidence": list(evidence)}


def _are_here(seen: Seen, named: Any) -> None:
    strange = sorted(set(named or ()) - set(registry.KNOWN))
    if strange:
        found, expected = f"engine {', '.join(strange)}", f"some of {', '.join(registry.KNOWN)}"
        raise InputError("configure", "container engines", found, expected, "correct engines")
    missing = [name for name in named or () if name not in seen.engines]
    if missing:
        found, step = f"no {', '.join(missing)} here", "install it, or leave it out of engines"
        raise InputError("configure", "container engines", found, "engines that are here", step)


def _asked(wish: Mapping[str, Any]) -> Asked:
    """The wish as the engines take it. Raises InputError."""
    folders = wish["cdi_spec_dirs"]
    for folder in folders or ():
        if not folder.startswith("/"):
            raise InputError("set", "cdi_spec_dirs", folder, "absolute paths", "write the whole path")
    runtimes = {name: _runtime(name, one) for name, one in (wish["runtimes"] or {}).items()}
    wants = (("cdi_spec_dirs", folders), ("nri_validator", wish["nri_validator"]), ("runtimes", runtimes))
    for option, value in wants:
        _can_be_written(option, value)
    return Asked(
        wish["cdi"],
        None if folders is None else tuple(folders),
        wish["nri"],
        wish["nri_validator"],
        None if wish["runtimes"] is None else runtimes,
    )


def _can_be_written(option: str, value: Any) -> None:
    if not value:
        return
    from ..codec import toml  # where it is needed only

    try:
        toml.write({option: value})
        _can_be_read(value)
    except ValueError as error:
        expected = "texts, numbers, true, false, lists and dictionaries"
        raise InputError("set", option, str(error), expected, f"correct {option}") from None


def _can_be_read(value: Any) -> None:
    """Raises ValueError for what a file can say and some engine does not take."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            if not key.isprintable() or ("'" in key and set(key) & set('"\\')):
                raise ValueError(f"a key with control characters, or a quote and what must be escaped: {key!r}")
            _can_be_read(below)
    elif isinstance(value, (list, tuple)):
        for below in value:
            _can_be_read(below)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"no finite number: {value}")


def _runtime(name: str, one: Any) -> dict[str, Any]:
    subject = f"runtime {name}"
    if not _NAME.match(str(name)):
        expected = "letters, digits, dots, dashes and underscores"
        raise InputError("add", "a runtime", f"the name {name!r}", expected, "give it another name")
    one = {} if one is None else one
    if not isinstance(one, Mapping) or set(one) - set(_KEYS):
        expected = f"a dictionary with some of {', '.join(_KEYS)}"
        raise InputError("add", subject, f"{one!r}", expected, "correct runtimes")
    given = {key: one[key] for key in _KEYS if one.get(key) is not None}
    if not given.get("binary") and not given.get("type"):
        raise InputError("add", subject, "neither a binary nor a type", "one of them", "say what runs it")
    if not str(given.get("binary", "/")).startswith("/"):
        raise InputError("add", subject, f"binary {given['binary']}", "an absolute path", "write the whole path")
    if not isinstance(given.get("type", ""), str):
        raise InputError("add", subject, f"type {given['type']!r}", "the name of a shim", "correct it")
    if not isinstance(given.get("options", {}), Mapping):
        raise InputError("add", subject, f"options {given['options']!r}", "a dictionary", "correct them")
    return given
