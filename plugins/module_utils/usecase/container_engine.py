# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Container engines: CDI and its folders, NRI, and handlers of runtimes, by drop-ins of our own where there are any."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

from ..engine import registry
from ..engine.asked import Asked
from ..engine.running import otherwise, unheard
from ..host.door import Host
from ..model.call import Call, Outcome
from ..model.errors import InputError, UnsupportedError
from ..model.plan import PathStep, Plan, attempted, together

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
    return Outcome(False, {"findings": [*checked(seen, call.wish), *unlike(host, seen, call.wish)]})


def checked(seen: Seen, wish: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What has come over our files, which remember what was asked, since they were made. Raises InputError."""
    _are_here(seen, wish["engines"])
    rows = []
    for name, one in seen.engines.items():
        if not registry.has_ours(one):
            continue
        plan = _plan(name, one, Asked(), wish)
        rows += [_finding("fail", error.subject, error.found, error.next_step) for error in plan.blockers]
        for step in plan.steps:
            if isinstance(step, PathStep):
                why = f"it is not what {name} needs now: the files that it builds on have changed since it was made"
                rows.append(_finding("warn", step.path, why, "make it again with state present"))
    return rows


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
    for option, table in (("nri_validator", wish["nri_validator"]), ("runtimes", runtimes)):
        _can_be_written(option, table or {})
    return Asked(
        wish["cdi"],
        None if folders is None else tuple(folders),
        wish["nri"],
        wish["nri_validator"],
        None if wish["runtimes"] is None else runtimes,
    )


def _can_be_written(option: str, table: Mapping[str, Any]) -> None:
    if not table:
        return
    from ..codec import toml  # where it is needed only

    try:
        toml.write({option: table})
    except ValueError as error:
        expected = "texts, numbers, true, false, lists and dictionaries"
        raise InputError("set", option, str(error), expected, f"correct {option}") from None


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
