# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``engines`` section of the facts: what runs containers here, and whether it takes devices by CDI and NRI.

The files are read as each engine reads them (``engine/``); the command line of the process that runs, or of its unit,
says which. Defaults that hang on the engine's version are told only where that is known. Source of the defaults:
containerd's releases.md and NRI.md, crio.conf(5), containers.conf(5), the reference of dockerd; read 2026-12.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, Optional

from ...codec import unit
from ...engine import containerd_merge as rules
from ...engine import kinds, service
from ...engine.kinds import KINDS, Kind, has
from ...engine.values import table_at, texts
from ...host import command
from ...host.door import Host
from ...model.answer import MISSING, Book
from ...model.cdi import FOLDERS
from . import units

_MOST_FILES = 200  # a file that imports itself under ever new names


class Read(NamedTuple):
    """What the files of an engine say, and the reason for each field that is None; under "" for all others."""

    cdi: Optional[bool]
    dirs: Optional[tuple[str, ...]]
    nri: Optional[bool]
    config_version: Optional[int]
    reasons: Mapping[str, str]


Version = Optional[kinds.Version]


class Here(NamedTuple):
    """An engine that is here: where its program is, with which words it runs or its unit starts it.

    ``is_running`` is None where that is not known, and ``why`` says why.
    """

    name: str
    kind: Kind
    program: Optional[str]
    argv: tuple[str, ...]
    is_running: Optional[bool]
    why: Optional[str]

    @property
    def config_path(self) -> str:
        """The file that it reads first."""
        return unit.flag(self.argv, *_CONFIG_FLAGS) or self.kind.config


def observe(host: Host, is_asking: bool, deadline_seconds: float) -> list[dict[str, Any]]:
    """A row for each engine that is here (docs/facts.md). Programs are run only where ``is_asking``."""
    return [_Row(host, one).told(is_asking, deadline_seconds) for one in here(host)]


def read(host: Host, engine: Here, version: Version) -> Read:
    """What the files of an engine say, as it reads them."""
    folder = unit.flag(engine.argv, *_FOLDER_FLAGS) or f"{engine.kind.config}.d"
    return _READERS[engine.name](host, engine.config_path, folder, version)


def here(host: Host) -> Iterator[Here]:
    """The engines that are here, each as it runs, or else as its unit would start it."""
    names = tuple(name for kind in KINDS.values() for name in kind.services)
    running, no_groups = units.processes(host, names)
    for name, kind in KINDS.items():
        place = kind.place(host)
        numbers = [(running or {}).get(service, ()) for service in kind.services]
        argv = next((words for words in (units.command_of(host, one, (kind.program,)) for one in numbers) if words), ())
        is_running = None if running is None or not kind.services else bool(argv)
        own = argv or _of_unit(host, kind)
        # containers.conf is there with every tool of that family: only the program tells that it is here
        if place or own or (kind.services and host.exists(kind.config)):
            program = own[0] if own and own[0].startswith("/") else place
            why = no_groups if kind.services else "it has no service that runs by itself"
            yield Here(name, kind, program, own, is_running, why)


def _of_unit(host: Host, kind: Kind) -> tuple[str, ...]:
    """The command line that a unit gives the program; one that holds the engine within tells nothing of it."""
    services = (units.installed(host, service) for service in kind.services)
    lines = (service.argv for service in services if service is not None and service.argv)
    return next((argv for argv in lines if argv[0].rpartition("/")[2] == kind.program), ())


class _Row:
    """An engine that is here."""

    def __init__(self, host: Host, engine: Here) -> None:
        self.host = host
        self.engine = engine
        self.book = Book()

    def told(self, is_asking: bool, deadline: float) -> dict[str, Any]:
        """The row."""
        version = self._version(is_asking, deadline)
        path = self.engine.config_path
        said = read(self.host, self.engine, version)
        if self.engine.is_running is None:
            self.book.miss("running", self.engine.why or "")
        fields: dict[str, Any] = {"config_version": said.config_version, "cdi_enabled": said.cdi}
        fields.update({"nri_enabled": said.nri, "cdi_spec_dirs": None if said.dirs is None else list(said.dirs)})
        for field, value in fields.items():
            if value is None:
                self.book.miss(field, said.reasons.get(field) or said.reasons.get("", ""))
        is_there = self.host.exists(path)
        return {
            "name": self.engine.name,
            "version": None if version is None else ".".join(map(str, version)),
            "running": self.engine.is_running,
            "config_path": path if is_there else self.book.miss("config_path", f"{path} {MISSING}"),
            **fields,
            "unknown": dict(sorted(self.book.unknown.items())),
        }

    def _version(self, is_asking: bool, deadline: float) -> Version:
        program = self.engine.program
        if program is None:
            self.book.miss("version", "where its program is is not known")
            return None
        if not is_asking:
            self.book.miss("version", f"{program} is not asked")
            return None
        ran = command.run(self.host, (program, "--version"), deadline)
        found = service.version_in(ran.stdout) if ran.reason is None else None
        if found is None:
            self.book.miss("version", ran.reason or f"{program} printed {ran.stdout[:40]!r}")
        return found


_CONFIG_FLAGS = ("--config", "-c", "--config-file")
_FOLDER_FLAGS = ("--config-dir", "-d")


def _toml(host: Host, path: str) -> tuple[dict[str, Any], Optional[str]]:
    """A file's table, empty where it is not there; and why it cannot be told."""
    from ...codec import toml  # where it is needed only

    answer = host.read(path)
    if answer.value is None:
        return {}, None if answer.reason == MISSING else f"{path} {answer.reason}"
    try:
        return toml.read(answer.value), None
    except ValueError as error:
        what = "a template" if "{{" in answer.value or "{%" in answer.value else "no TOML"
        return {}, f"{path} is {what} ({error})"[:300]


def _unread(reason: str, config_version: Optional[int] = None) -> Read:
    return Read(None, None, None, config_version, {"": reason})


def _containerd(host: Host, path: str, _folder: str, version: Version) -> Read:
    documents, reason = _documents(host, path, version)
    if reason is not None:
        return _unread(reason)
    config_version = documents[0].version if documents else None
    reasons = {"config_version": f"{path} {MISSING}"}
    if rules.is_cri_off(documents):
        return _unread("the plugin cri is disabled", config_version)
    tables = rules.effective(documents, version, config_version or 2)
    cri, nri = tables[rules.CRI], tables[rules.NRI]
    is_new = version >= rules.MERGES if version is not None else True if (config_version or 0) > 2 else None
    if has(version, KINDS["containerd"].since.cdi) is False:
        return Read(False, (), False, config_version, reasons)
    unset = f"not set in {path}, and the version that has the default is unknown"
    reasons.update(cdi_enabled=unset, nri_enabled=unset, cdi_spec_dirs=f"cdi_spec_dirs is no list of texts in {path}")
    is_always = version is not None and version >= rules.CDI_ALWAYS
    disabled = nri.get("disable", None if is_new is None else not is_new)
    return Read(
        True if is_always else _truth(cri.get("enable_cdi", is_new)),
        texts(cri.get("cdi_spec_dirs", FOLDERS)),
        None if _truth(disabled) is None else not disabled,
        config_version,
        reasons,
    )


def _documents(host: Host, root: str, daemon: Version) -> tuple[list[rules.Document], Optional[str]]:
    """The root file and what it imports, in the order of their reading; why that is not known."""
    found: list[rules.Document] = []
    pending = [root]
    seen: set[str] = set()
    while pending and len(seen) < _MOST_FILES:
        path = pending.pop(0)
        if path in seen:
            continue
        seen.add(path)
        table, reason = _toml(host, path)
        if reason is not None:
            return found, reason
        if table:
            version = rules.taken_as(rules.version_of(table, found[0].version if found else 1), daemon)
            found.append(rules.Document(path, table, version))
        imports = table.get("imports")
        for pattern in imports if isinstance(imports, list) else ():
            if isinstance(pattern, str):
                whole = pattern if pattern.startswith("/") else f"{path.rpartition('/')[0]}/{pattern}"
                pending.extend(_matches(host, whole))
    return found, None


def _matches(host: Host, pattern: str) -> Iterator[str]:
    folder, _slash, leaf = pattern.rpartition("/")
    if not re.search(r"[*?\[]", pattern):
        yield pattern
    elif not re.search(r"[*?\[]", folder):
        yield from (f"{folder}/{name}" for name in host.list(folder).value or () if fnmatchcase(name, leaf))


def _layers(host: Host, paths: list[str], folder: str, ending: str) -> tuple[dict[str, Any], Optional[str]]:
    """Files and then the drop-ins of a folder, merged key by key."""
    drop_ins = [f"{folder}/{name}" for name in host.list(folder).value or () if name.endswith(ending)]
    whole: dict[str, Any] = {}
    for path in [*paths, *drop_ins]:
        table, reason = _toml(host, path)
        if reason is not None:
            return {}, reason
        whole = rules.merged(whole, table)
    return whole, None


def _crio(host: Host, path: str, folder: str, version: Version) -> Read:
    whole, reason = _layers(host, [path], folder, "")
    if reason is not None:
        return _unread(reason)
    top = whole.get("crio", {})
    runtime, nri = table_at(top, "runtime"), table_at(top, "nri")
    unset = f"not set in {path}, and the version that has the default is unknown"
    reasons = {
        "cdi_enabled": "on from 1.23 on, and the version is unknown",
        "nri_enabled": unset,
        "cdi_spec_dirs": f"cdi_spec_dirs is no list of texts in {path}",
        "config_version": "its configuration has no versions",
    }
    since = KINDS["crio"].since
    return Read(
        has(version, since.cdi_on),
        texts(runtime.get("cdi_spec_dirs", FOLDERS)),
        _truth(nri.get("enable_nri", has(version, since.nri_on))),
        None,
        reasons,
    )


def _podman(host: Host, path: str, folder: str, version: Version) -> Read:
    whole, reason = _layers(host, ["/usr/share/containers/containers.conf", path], folder, ".conf")
    if reason is not None:
        return _unread(reason)
    engine = table_at(whole, "engine")
    reasons = {
        "cdi_enabled": "on from 4.1 on, and the version is unknown",
        "cdi_spec_dirs": f"cdi_spec_dirs is no list of texts in {path}",
        "config_version": "its configuration has no versions",
    }
    since = KINDS["podman"].since
    dirs = FOLDERS if has(version, since.dirs) is False else engine.get("cdi_spec_dirs", FOLDERS)
    return Read(has(version, since.cdi_on), texts(dirs), False, None, reasons)


def _docker(host: Host, path: str, _folder: str, version: Version) -> Read:
    answer = host.read(path)
    if answer.value is None and answer.reason != MISSING:
        return _unread(f"{path} {answer.reason}")
    try:
        whole = json.loads(answer.value or "{}")
    except (ValueError, RecursionError) as error:
        return _unread(f"{path} is no JSON ({error})")
    unset = f"not set in {path}, and the version that has the default is unknown"
    reasons = {
        "cdi_enabled": unset,
        "cdi_spec_dirs": f"cdi-spec-dirs is no list of texts in {path}",
        "nri_enabled": "the NRI of this engine is not looked at",
        "config_version": "its configuration has no versions",
    }
    whole = whole if isinstance(whole, dict) else {}
    since = KINDS["docker"].since
    if has(version, since.cdi) is False:
        return Read(False, (), None, None, reasons)
    cdi = _truth(table_at(whole, "features").get("cdi", has(version, since.cdi_on)))
    return Read(cdi, texts(whole.get("cdi-spec-dirs", FOLDERS)), None, None, reasons)


def _truth(value: Any) -> Optional[bool]:
    return value if isinstance(value, bool) else None


_READERS = {
    **dict.fromkeys(("containerd", "k3s", "rke2"), _containerd),
    "crio": _crio,
    "podman": _podman,
    "docker": _docker,
}
