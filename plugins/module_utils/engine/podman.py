# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Podman: a drop-in of ``containers.conf``, with no more in it than the installed version knows. There is no daemon.

CDI is always on. Source: containers.conf(5) and the release notes of Podman 4.1 to 6.0, read 2026-12; tried on 4.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

from ..codec import toml
from ..host import disk
from ..host.door import Host
from ..model.cdi import FOLDERS as CDI_FOLDERS
from ..model.errors import InputError, UnsupportedError
from ..model.plan import Found, Plan, file_step
from . import service as services
from .asked import Asked, comments, remembered
from .kinds import KINDS, Version, has
from .others import masked, tables
from .service import told
from .values import table_at

KIND = KINDS["podman"]
FOLDER = f"{KIND.config}.d"
OURS = f"{FOLDER}/accelerator-ops.conf"

_EARLIER = ("/usr/share/containers/containers.conf", KIND.config)
_FORM = {"engine": {"cdi_spec_dirs": ("a list", lambda value: isinstance(value, list)), "runtimes": {}}}
"""A list may end with the table ``{append=true}``."""


class Seen(NamedTuple):
    """Podman as it is here: its files but ours in the order of their reading, by path."""

    binary: str
    version: Optional[Version]
    files: Mapping[str, Mapping[str, Any]]
    ours: Found
    problem: Optional[str] = None


def look(host: Host) -> Optional[Seen]:
    """What is found of Podman, or None where there is none. Raises ProbeError."""
    program = services.daemon(host, KIND)
    if program is None:
        return None
    names = [f"{FOLDER}/{name}" for name in host.list(FOLDER).value or () if name.endswith(".conf")]
    files, problem = tables(host, [*_EARLIER, *names], OURS, _FORM)
    return Seen(program.binary, program.version, files, disk.found(host, OURS), problem)


def plan(seen: Seen, given: Asked) -> Plan:
    """What is to be done. Raises InputError, UnsupportedError, ConflictError."""
    if seen.problem is not None:
        step = "mend that, or leave it out of engines"
        raise InputError("configure", "podman", seen.problem, "files that podman reads", step)
    asked = given.over(remembered(seen.ours))
    _supported(seen, asked)
    table = _needed(seen, asked)
    content = None
    if table:
        _may_win(seen, table)
        content = (comments(asked) + toml.write({"engine": table})).encode()
    return Plan(file_step(OURS, seen.ours, content, "what is asked of podman"))


def _supported(seen: Seen, asked: Asked) -> None:
    if asked.cdi is False:
        step = "leave it out of engines, or set cdi to true"
        raise UnsupportedError("turn off", "CDI in podman", "it has no switch", "an engine with one", step)
    is_other = bool(asked.cdi_spec_dirs) and asked.cdi_spec_dirs != CDI_FOLDERS
    wants = (
        (bool(asked.cdi), "use CDI in", KIND.since.cdi),
        (is_other, "choose the CDI folders of", KIND.since.dirs),
    )
    for is_wanted, what, since in wants:
        if is_wanted and has(seen.version, since) is False:
            step = "update it, or leave podman out of engines"
            raise UnsupportedError(what, "podman", told(seen.version), f"{told(since)} or later", step)
    for name, wanted in (asked.runtimes or {}).items():
        if not wanted.get("binary") or wanted.get("type") or wanted.get("options"):
            step = "give it a binary alone, or leave podman out of engines"
            raise UnsupportedError("add", f"handler {name} to podman", "a type or options", "a program", step)


def _effective(files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for table in files.values():
        here = table_at(table, "engine")
        made = {**made, **here, "runtimes": {**made.get("runtimes", {}), **here.get("runtimes", {})}}
    return made


def _needed(seen: Seen, asked: Asked) -> dict[str, Any]:
    """What must be set in ``engine``."""
    engine = _effective(seen.files)
    table: dict[str, Any] = {}
    if asked.cdi_spec_dirs and tuple(engine.get("cdi_spec_dirs", CDI_FOLDERS)) != asked.cdi_spec_dirs:
        table["cdi_spec_dirs"] = list(asked.cdi_spec_dirs)
    known = engine.get("runtimes", {})
    wanted = {name: [one["binary"]] for name, one in (asked.runtimes or {}).items()}
    runtimes = {name: programs for name, programs in wanted.items() if known.get(name) != programs}
    if runtimes:
        table["runtimes"] = runtimes
    return table


def _may_win(seen: Seen, ours: Mapping[str, Any]) -> None:
    for path, table in seen.files.items():
        if not path.startswith(f"{FOLDER}/") or path < OURS:
            continue
        here = table_at(table, "engine")
        keys = [name for name in ours.get("runtimes", {}) if name in here.get("runtimes", {})]
        keys += [key for key in ours if key != "runtimes" and key in here]
        if keys:
            raise masked("podman", {path: keys}, OURS)


def ask(host: Host, seen: Seen) -> None:
    """There is no daemon to be asked."""
