# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Docker: keys of ``daemon.json``, which has no drop-ins. All other keys stay as they are, in their order.

CDI is opt-in from 25.0 on (``features.cdi``) and on by itself from 28.2. Source: dockerd's reference and release notes
to 29, read 2026-12.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

from ..codec import json_edit
from ..host import command, disk
from ..host.door import Host
from ..model.cdi import FOLDERS
from ..model.errors import ConflictError, InputError, UnsupportedError
from ..model.plan import Found, Plan, Restart, file_step
from . import service as services
from .asked import Asked
from .kinds import KINDS, Version, has
from .running import Running, from_docker
from .service import ASK_SECONDS, SHIMS, Service, told
from .values import EACH, LIST, table_at, texts, unfit

KIND = KINDS["docker"]
CONFIG = KIND.config
VALIDATES_SINCE: Version = (23, 0, 0)

_FLAGS = {"features": "--feature", "cdi-spec-dirs": "--cdi-spec-dir"}
"""The daemon refuses to start where such a key of its file is an option of its command line too."""
_FORM = {"features": {}, "cdi-spec-dirs": LIST, "runtimes": {EACH: {}}}


class Seen(NamedTuple):
    """Docker as it is here. ``is_live_restore``: the daemon that runs leaves containers running when it ends.

    ``refusal`` is what ``dockerd --validate`` says against the file, ``silence`` why the program gives no answer.
    """

    service: Optional[Service]
    binary: str
    version: Optional[Version]
    path: str
    found: Found
    is_live_restore: bool = False
    refusal: Optional[str] = None
    silence: Optional[str] = None


def look(host: Host) -> Optional[Seen]:
    """What is found of Docker, or None where there is none. Raises ProbeError."""
    daemon = services.daemon(host, KIND)
    if daemon is None:
        return None
    service, binary, version = daemon
    path = (service.flag("--config-file") if service is not None else None) or CONFIG
    found = disk.found(host, path)
    silence, refusal = services.silence(host, binary), None
    if silence is None and found.state.kind == "file" and version is not None and version >= VALIDATES_SINCE:
        argv = (binary, *_options(service), "--validate", "--config-file", path)
        ran = command.run(host, argv, ASK_SECONDS)
        silence, refusal = services.silence(host, *argv), ran.reason if ran.status else None
    is_live_restore = False
    if service is not None and service.is_active:
        ran = command.run(host, ("docker", "info", "--format", "{{.LiveRestoreEnabled}}"), ASK_SECONDS)
        is_live_restore = ran.stdout.strip() == "true"
    return Seen(service, binary, version, path, found, is_live_restore, refusal, silence)


def _options(service: Optional[Service]) -> tuple[str, ...]:
    """The options of the unit, since some of them and some keys of the file exclude each other."""
    words = iter(service.argv[1:] if service is not None else ())
    kept = []
    for word in words:
        if word == "--config-file":
            next(words, None)
        elif not word.startswith("--config-file="):
            kept.append(word)
    return tuple(kept)


def plan(seen: Seen, given: Asked) -> Plan:
    """What is to be done. Raises ProbeError, InputError, UnsupportedError, ConflictError."""
    _usable(seen, given)
    try:
        text = seen.found.text() if seen.found.state.kind == "file" else "{}\n"
        config = json_edit.read(text) if text.strip() else {}
    except ValueError as error:
        found, step = f"{seen.path} is no JSON ({error})", "mend that, or leave it out of engines"
        raise InputError("configure", "docker", found, "a JSON object", step) from None
    wrong = unfit(config, _FORM)
    if wrong is not None:
        step = "mend that, or leave it out of engines"
        raise InputError("configure", "docker", f"in {seen.path} {wrong}", "a file that dockerd takes", step)
    new = text if text.strip() else "{}\n"
    for path, value in _needed(seen, config, given):
        _not_a_flag(seen, path[0])
        edited = json_edit.with_value(new, path, value)
        if edited is None:
            found = f"{'.'.join(path)} of {seen.path} is no object"
            raise ConflictError("edit", seen.path, found, "objects", "write it by hand")
        new = edited
    if new == text or (seen.found.state.kind != "file" and new == "{}\n"):
        return Plan()
    if seen.found.state.kind not in ("file", "absent"):
        found = f"a {seen.found.state.kind}"
        raise ConflictError("edit", seen.path, found, "a file", "have the keys where it is made")
    steps = file_step(seen.path, seen.found, new.encode(), "what is asked of docker", is_edit=True)
    is_running = seen.service is not None and seen.service.is_active
    why = "docker reads its configuration at its start"
    why += "" if seen.is_live_restore else ", and without live-restore that ends every container"
    restart = Restart("docker.service", why, seen.is_live_restore, () if seen.is_live_restore else SHIMS)
    return Plan(steps, restarts=(restart,) if is_running else ())


def _usable(seen: Seen, given: Asked) -> None:
    services.answers("docker", seen.silence)
    if seen.refusal is not None:
        step = "mend what it names"
        raise InputError("configure", "docker", seen.refusal, "a file that dockerd --validate takes", step)
    wants_cdi = bool(given.cdi or given.cdi_spec_dirs)
    if wants_cdi and has(seen.version, KIND.since.cdi) is False:
        step, expected = "update it, or leave docker out of engines", f"{told(KIND.since.cdi)} or later"
        raise UnsupportedError("turn on", "CDI in docker", told(seen.version), expected, step)


def _needed(seen: Seen, config: Mapping[str, Any], asked: Asked) -> list[tuple[tuple[str, ...], Any]]:
    """The keys that must be set, by their path, with their values."""
    found: list[tuple[tuple[str, ...], Any]] = []
    is_on = table_at(config, "features").get("cdi", has(seen.version, KIND.since.cdi_on))
    if asked.cdi is not None and is_on is not asked.cdi:
        found.append((("features", "cdi"), asked.cdi))
    if asked.cdi_spec_dirs and (texts(config.get("cdi-spec-dirs")) or FOLDERS) != asked.cdi_spec_dirs:
        found.append((("cdi-spec-dirs",), list(asked.cdi_spec_dirs)))
    known = table_at(config, "runtimes")
    for name, wanted in (asked.runtimes or {}).items():
        entry = _runtime(name, wanted)
        if any(table_at(known, name).get(key) != value for key, value in entry.items()):
            found.append((("runtimes", name), {**table_at(known, name), **entry}))
    return found


def _runtime(name: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """A runtime as Docker writes it: a program that stands for runc, or a shim by its type."""
    if wanted.get("type") is None and wanted.get("binary") and not wanted.get("options"):
        return {"path": wanted["binary"]}
    options = dict(wanted.get("options") or {})
    kind = wanted.get("type") or "io.containerd.runc.v2"
    if wanted.get("binary") and wanted.get("type") is not None and "runc" not in kind:
        return {"runtimeType": wanted["binary"], **({"options": options} if options else {})}
    if wanted.get("binary"):
        options = {"BinaryName": wanted["binary"], **options}
    return {"runtimeType": kind, **({"options": options} if options else {})}


def _not_a_flag(seen: Seen, key: str) -> None:
    words = seen.service.argv if seen.service is not None else ()
    flag = _FLAGS.get(key)
    if flag is not None and any(word == flag or word.startswith(flag + "=") for word in words):
        found, step = f"option {flag} in the unit of docker", "set it there, or take it out of the unit"
        raise ConflictError("configure", "docker", found, f"{key} in {seen.path} alone", step)


def ask(host: Host, seen: Seen) -> Optional[Running]:
    """Ask the running daemon (``docker info``), not its file. None where none runs."""
    if seen.service is None or not seen.service.is_active:
        return None
    ran = command.run(host, ("docker", "info", "--format", "{{json .}}"), ASK_SECONDS)
    if ran.reason is not None:
        return Running().told(ran.reason, "mend that docker info can be run here")
    return from_docker(ran.stdout)
