# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CRI-O: a drop-in in ``/etc/crio/crio.conf.d``, whose files are read after ``crio.conf`` in the order of their names.

A later file's value wins, key by key; a handler (``crio.runtime.runtimes.<name>``) and a list are replaced as a whole.
CDI is always on. Source: crio.conf(5) and the configuration's source of CRI-O 1.30 to 1.36, read 2026-12. It has not
been tried on the daemon, which no package registry offers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

from ..codec import toml
from ..host import disk
from ..host.door import Host
from ..model.cdi import FOLDERS as CDI_FOLDERS
from ..model.errors import InputError, UnsupportedError
from ..model.plan import Found, Plan, Restart, file_step
from . import service as services
from .asked import VALIDATOR_KEYS, Asked, comments, remembered
from .kinds import KINDS, Version, has
from .others import masked, tables
from .running import Running
from .service import Service, told
from .values import EACH, LIST, table_at

KIND = KINDS["crio"]
ROOT = KIND.config
FOLDER = "/etc/crio/crio.conf.d"
OURS = f"{FOLDER}/90-accelerator-ops.conf"

_HANDLER_DEFAULT = "runc"
_OWN_TO_A_RUNTIME = ("runtime_path", "runtime_root", "runtime_config_path")
_ENABLE = "nri_enable_default_validator"


_FORM = {"crio": {"runtime": {"cdi_spec_dirs": LIST, "runtimes": {EACH: {}}}, "nri": {"default_validator": {}}}}


class Seen(NamedTuple):
    """CRI-O as it is here: its files but ours in the order of their reading, by path."""

    service: Optional[Service]
    binary: str
    version: Optional[Version]
    files: Mapping[str, Mapping[str, Any]]
    ours: Found
    problem: Optional[str] = None


def look(host: Host) -> Optional[Seen]:
    """What is found of CRI-O, or None where there is none. Raises ProbeError."""
    daemon = services.daemon(host, KIND)
    if daemon is None:
        return None
    service = daemon.service
    root = (service.flag("--config", "-c") if service is not None else None) or ROOT
    folder = (service.flag("--config-dir", "-d") if service is not None else None) or FOLDER
    files, problem = tables(host, [root, *(f"{FOLDER}/{name}" for name in host.list(FOLDER).value or ())], OURS, _FORM)
    if folder != FOLDER:
        problem = f"it reads {folder} in place of {FOLDER}"
    return Seen(*daemon, files, disk.found(host, OURS), problem)


def plan(seen: Seen, given: Asked) -> Plan:
    """What is to be done. Raises InputError, UnsupportedError, ConflictError."""
    if seen.problem is not None:
        expected = f"files that it reads, and drop-ins in {FOLDER}"
        raise InputError("configure", "crio", seen.problem, expected, "mend that, or leave it out of engines")
    asked = given.over(remembered(seen.ours))
    _supported(seen, asked)
    runtime, nri = _needed(seen, asked)
    content = None
    if runtime or nri:
        parts = {name: table for name, table in (("runtime", runtime), ("nri", nri)) if table}
        _may_win(seen, parts)
        content = (comments(asked) + toml.write({"crio": parts})).encode()
    steps = file_step(OURS, seen.ours, content, "what is asked of crio")
    is_running = seen.service is not None and seen.service.is_active
    # Each container has a monitor of its own, in a unit of its own, which outlives the daemon.
    restart = Restart("crio.service", "crio reads its configuration at its start", True)
    return Plan(steps, restarts=(restart,) if steps and is_running else ())


def _supported(seen: Seen, asked: Asked) -> None:
    if asked.cdi is False:
        step = "leave it out of engines, or set cdi to true"
        raise UnsupportedError("turn off", "CDI in crio", "it has no switch", "an engine with one", step)
    strange = sorted(set(asked.nri_validator or ()) - (set(VALIDATOR_KEYS) - {"reject_sysctl_adjustment"}))
    if strange:
        found = f"setting {', '.join(strange)}"
        raise InputError("set", "nri_validator of crio", found, "one that crio has", "leave it out")
    wants = (
        (bool(asked.cdi), "CDI", KIND.since.cdi),
        (bool(asked.nri), "NRI", KIND.since.nri),
        (bool(asked.nri_validator), "a validator of NRI", KIND.since.validator),
    )
    for is_wanted, what, since in wants:
        if is_wanted and has(seen.version, since) is False:
            step, expected = "update it, or leave crio out of engines", f"{told(since)} or later"
            raise UnsupportedError("turn on", f"{what} in crio", told(seen.version), expected, step)


def _table(files: Mapping[str, Mapping[str, Any]], part: str) -> dict[str, Any]:
    """``crio.<part>`` of all files; handlers by name, the last file's each."""
    made: dict[str, Any] = {}
    for table in files.values():
        here = table_at(table_at(table, "crio"), part)
        runtimes = {**made.get("runtimes", {}), **here.get("runtimes", {})}
        validator = {**made.get("default_validator", {}), **here.get("default_validator", {})}
        made.update(here)
        made.update({"runtimes": runtimes, "default_validator": validator})
    return made


def _needed(seen: Seen, asked: Asked) -> tuple[dict[str, Any], dict[str, Any]]:
    """What must be set in ``crio.runtime`` and ``crio.nri``."""
    is_runtime, is_nri = _table(seen.files, "runtime"), _table(seen.files, "nri")
    runtime: dict[str, Any] = {}
    nri: dict[str, Any] = {}
    if asked.cdi_spec_dirs and tuple(is_runtime.get("cdi_spec_dirs", CDI_FOLDERS)) != asked.cdi_spec_dirs:
        runtime["cdi_spec_dirs"] = list(asked.cdi_spec_dirs)
    known = is_runtime.get("runtimes", {})
    handlers = {name: _handler(known, name, wanted) for name, wanted in (asked.runtimes or {}).items()}
    handlers = {name: entry for name, entry in handlers.items() if known.get(name) != entry}
    if handlers:
        runtime["runtimes"] = handlers
    is_on = is_nri.get("enable_nri", has(seen.version, KIND.since.nri_on))
    if asked.nri is not None and is_on is not asked.nri:
        nri["enable_nri"] = asked.nri
    validator = {_validator_key(key): value for key, value in (asked.nri_validator or {}).items()}
    if any(is_nri.get("default_validator", {}).get(key) != value for key, value in validator.items()):
        nri["default_validator"] = validator
    return runtime, nri


def _validator_key(key: str) -> str:
    return _ENABLE if key == "enable" else f"nri_validator_{key}"


def _handler(known: Mapping[str, Any], name: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """A handler as it must be: the monitor's settings of runc's, its own, and what is asked."""
    runc = {key: value for key, value in known.get(_HANDLER_DEFAULT, {}).items() if key not in _OWN_TO_A_RUNTIME}
    asked = {"runtime_type": wanted.get("type") or "oci", **(wanted.get("options") or {})}
    entry = {**runc, **known.get(name, {}), **asked}
    if wanted.get("binary"):
        entry["runtime_path"] = wanted["binary"]
    return entry


def _may_win(seen: Seen, parts: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises ConflictError where a file that is read after ours sets the same otherwise."""
    later = {path: table for path, table in seen.files.items() if path.startswith(f"{FOLDER}/") and path > OURS}
    for path, table in later.items():
        for part, ours in parts.items():
            here = table_at(table_at(table, "crio"), part)
            keys = [f"{part}.{key}" for key in ours if key in here and not _agrees(ours[key], here[key])]
            if keys:
                raise masked("crio", {path: keys}, OURS)


def _agrees(ours: Any, theirs: Any) -> bool:
    """Whether a later value leaves ours as it is: of two tables only what is in both counts."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        return all(_agrees(ours[key], theirs[key]) for key in ours if key in theirs)
    return bool(ours == theirs)


def ask(host: Host, seen: Seen) -> Optional[Running]:
    """Of the running daemon only NRI can be told, by its socket. None where none runs."""
    if seen.service is None or not seen.service.is_active:
        return None
    status, _reason = host.status(str(_table(seen.files, "nri").get("nri_listen") or "/var/run/nri/nri.sock"))
    found = Running(nri=status is not None and status.kind == "socket")
    return found.told("the daemon is not asked for it", "look at what crio status config prints")
