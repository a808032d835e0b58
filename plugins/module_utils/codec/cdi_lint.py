# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the CDI specs of a node, whoever made them: pure rules over the files and what was seen beside.

Nothing is concluded from what is not known: a rule whose facts are missing is silent. ``host_paths`` says which files
of the host are to be looked at first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Optional

from ..model.cdi import ENDINGS, OURS, Engine
from . import cdi
from .cdi import Device, Spec, SpecError
from .document import DocumentError, NoYamlError, read

ABSENT = "absent"

_LONGEST_CLASS = 63  # schema.json of the specification; no loader looks at it


class File(NamedTuple):
    """A file of the host, links followed. ``kind`` is one of ``file dir char block fifo socket absent``."""

    kind: str
    mode: int = 0o644
    major: int = 0
    minor: int = 0


class SpecFile(NamedTuple):
    """A file in a folder of specs: its text, or the reason why it was not read; when it was last written.

    ``owner`` is the tool that makes it, where that is known. ``kind`` is one of those of ``File``.
    """

    path: str
    text: Optional[str]
    reason: str = ""
    mode: int = 0o644
    folder_mode: int = 0o755
    changed_seconds: Optional[float] = None
    owner: Optional[str] = None
    kind: str = "file"

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def is_read(self) -> bool:
        """Whether loaders read files of this name."""
        return self.path.endswith(ENDINGS)


class Driver(NamedTuple):
    """A loaded driver of devices of these kinds.

    ``libraries`` are the starts of names of files that bear the driver's version (``libcuda.so.``),
    ``changed_seconds`` is when its module was written: packages keep the time of their making, so it was installed
    then or later.
    """

    name: str
    kinds: tuple[str, ...]
    version: Optional[str] = None
    libraries: tuple[str, ...] = ()
    changed_seconds: Optional[float] = None


class Expected(NamedTuple):
    """What specs of a kind should have: all names of each device and partition, and the device files of every one."""

    kind: str
    units: tuple[tuple[str, ...], ...] = ()
    nodes: tuple[str, ...] = ()


class Observed(NamedTuple):
    """What was seen on the node beside the specs.

    A path that ``files`` does not have was not looked at. ``majors`` are the numbers in ``/proc/devices`` with the
    names of their drivers, for ``char`` and for ``block``; None: not known. ``next_step`` is that of a missing spec.
    """

    files: Mapping[str, File] = {}
    majors: Optional[Mapping[str, Mapping[int, str]]] = None
    engines: tuple[Engine, ...] = ()
    drivers: tuple[Driver, ...] = ()
    expected: tuple[Expected, ...] = ()
    next_step: str = "make one, with cdi_spec"


class Finding(NamedTuple):
    """A verdict (``info``, ``warn``, ``fail`` or ``unknown``) of one check on one subject."""

    check: str
    verdict: str
    subject: str
    reason: str
    next_step: str = ""
    evidence: tuple[str, ...] = ()


class _Read(NamedTuple):
    """A file and what loaders make of it, the newest and those of the engines here; ``unknown``: why that is not known.

    Each has a spec of it or an error.
    """

    file: SpecFile
    specs: Mapping[str, Spec] = {}
    errors: Mapping[str, SpecError] = {}
    unknown: Optional[str] = None

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def spec(self) -> Optional[Spec]:
        """As the newest loader takes it, or else the first here that does."""
        return next(iter(self.specs.values()), None)


def host_paths(files: Iterable[SpecFile]) -> tuple[str, ...]:
    """The files of the host that these specs name."""
    specs = [one.spec for one in map(_look, files) if one.spec is not None]
    return tuple(sorted({path for spec in specs for path, _role in _named_paths(spec)}))


def lint(files: Iterable[SpecFile], node: Observed) -> tuple[Finding, ...]:
    """What is wrong with these specs on this node, in the order of their paths, then of the checks."""
    reads = [_look(file, node.engines) for file in sorted(files, key=lambda file: file.path)]
    found: list[Finding] = []
    for one in reads:
        for rule in (_loading, _mode):
            found.extend(rule(one, node))
        if one.spec is not None and one.file.is_read:
            for rule_of_spec in (_version, _paths, _numbers, _libraries, _age, _owner, _nodes):
                found.extend(rule_of_spec(one, one.spec, node))
    found.extend(_names(reads, node))
    found.extend(_owners(reads))
    found.extend(_drift(reads, node))
    return tuple(found)


def _look(file: SpecFile, engines: Sequence[Engine] = ()) -> _Read:
    if file.kind != "file":
        return _Read(file)
    if file.text is None:
        return _Read(file, unknown=file.reason or "it was not read")
    try:
        tree = read(file.text)
    except NoYamlError as error:
        return _Read(file, unknown=str(error))
    except DocumentError as error:
        return _Read(file, errors={cdi.NEWEST: SpecError(f"no YAML or JSON: {error}")})
    specs: dict[str, Spec] = {}
    errors: dict[str, SpecError] = {}
    for loader in dict.fromkeys((cdi.NEWEST, *(engine.loader for engine in _readers(file, engines)))):
        try:
            specs[loader] = cdi.from_tree(tree, loader)
        except SpecError as error:
            errors[loader] = error
    return _Read(file, specs, errors)


def _readers(file: SpecFile, engines: Iterable[Engine]) -> list[Engine]:
    return [engine for engine in engines if file.folder in engine.folders]


def _some(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _loading(one: _Read, node: Observed) -> Iterator[Finding]:
    """Does it load, here and elsewhere?"""
    file, readers = one.file, _readers(one.file, node.engines)
    if not file.is_read:
        step = f"give it one of the endings {', '.join(ENDINGS)}, or remove it"
        yield Finding("unread", "warn", file.path, "no engine reads a file of this name", step)
        return
    if file.kind != "file":
        verdict = "warn" if file.kind in ("dir", ABSENT) else "fail"  # who opens a FIFO waits for its writer
        what = "a link that leads nowhere" if file.kind == ABSENT else f"a {file.kind}, no file"
        yield Finding("unread", verdict, file.path, f"it is {what}", "remove it")
        return
    if node.engines and not readers:
        names = ", ".join(sorted({engine.name for engine in node.engines}))
        yield Finding("unread", "warn", file.path, f"none of {names} looks into {file.folder}", "move or remove it")
    if one.unknown is not None:
        yield Finding("schema", "unknown", file.path, one.unknown, "make it readable, and look again")
        return
    error = one.errors.get(cdi.NEWEST)
    if error is not None:
        is_taken = one.spec is not None and all(engine.loader in one.specs for engine in readers)
        reason = f"a new loader refuses it: {error}"
        yield Finding("schema", "warn" if is_taken else "fail", file.path, reason, "correct it, or make it again")
        return
    for engine in readers:
        yield from _in_engine(one, engine)


def _in_engine(one: _Read, engine: Engine) -> Iterator[Finding]:
    """A spec that the newest loader takes, as an engine here does."""
    who, newest = f"{engine.name} {engine.version}", one.specs[cdi.NEWEST]
    error = one.errors.get(engine.loader)
    if error is not None:
        highest, needed = cdi.accepted_version(engine.loader), cdi.needed_version(newest)
        stated = newest.version.lstrip("v")
        if not cdi.is_at_least(highest, stated):
            reason = f"{who} takes cdiVersion up to {highest}, not {stated}: its devices are unresolvable there"
            is_enough = cdi.is_at_least(highest, needed)
            step = f"make it with cdiVersion {needed}" if is_enough else f"update {engine.name}"
        else:
            reason, step = f"{who} {'goes down at it' if error.is_crash else 'refuses it'}: {error}", "make it again"
        yield Finding("engine", "fail", one.path, reason, step)
        return
    other = [name for name, newer in zip(one.specs[engine.loader].names, newest.names) if name != newer]
    if other:
        reason = f"{who} reads the name {other[0]}, newer engines another"
        yield Finding("engine", "warn", one.path, reason, "put names into quotes", tuple(other))


def _version(one: _Read, spec: Spec, node: Observed) -> Iterator[Finding]:
    needed, stated = cdi.needed_version(spec), spec.version.lstrip("v")
    if not cdi.is_at_least(stated, needed):
        reason = f"it states cdiVersion {stated} and has fields of {needed}; loaders look at the last device only"
        yield Finding("schema", "warn", one.path, reason, f"make it with cdiVersion {needed}")
    if len(spec.kind.partition("/")[2]) > _LONGEST_CLASS:
        reason = f"its class has more than {_LONGEST_CLASS} letters, which the schema forbids"
        yield Finding("schema", "warn", one.path, reason, "shorten its kind")


def _named_paths(spec: Spec) -> Iterator[tuple[str, str]]:
    """Each absolute path of the host in a spec, and what it is for: ``node``, ``mount`` or ``hook``."""
    for edits in spec.all_edits:
        pairs = [
            *((node.source, "node") for node in edits.nodes if node.type != "p"),
            *((mount.host_path, "mount") for mount in edits.mounts if mount.type in ("", "bind")),
            *((hook.path, "hook") for hook in edits.hooks),
        ]
        yield from ((path, role) for path, role in pairs if path.startswith("/"))


def _paths(one: _Read, spec: Spec, node: Observed) -> Iterator[Finding]:
    """Paths of the host that are not there, or not what they are for."""
    dead: dict[str, list[str]] = {"node": [], "mount": [], "hook": []}
    for path, role in dict.fromkeys(_named_paths(spec)):
        file = node.files.get(path)
        if file is None:
            continue
        if file.kind == ABSENT:
            dead[role].append(path)
        elif role == "node" and file.kind not in ("char", "block"):
            yield Finding("path", "fail", one.path, f"{path} is a {file.kind}, no device file", "make it again")
        elif role == "hook" and (file.kind != "file" or not file.mode & 0o111):
            yield Finding("path", "fail", one.path, f"the hook {path} is no program", "install it again")
        elif role == "hook" and file.mode & 0o002:
            yield Finding(
                "mode", "fail", one.path, f"everybody may change {path}, which root runs", "set its mode to 0755"
            )
    for role, what in (("node", "the device file"), ("mount", "the file"), ("hook", "the hook")):
        if dead[role]:
            reason = f"{what} {_some(dead[role])} of it is not there"
            yield Finding("path", "fail", one.path, reason, "make it again", tuple(dead[role]))


def _numbers(one: _Read, spec: Spec, node: Observed) -> Iterator[Finding]:
    """Device numbers against the files of the host, and those against the drivers."""
    told_nodes = {(one.source, one.type, one.major, one.minor): one for edits in spec.all_edits for one in edits.nodes}
    for told in told_nodes.values():
        path, file = told.source, node.files.get(told.source)
        if file is None or file.kind not in ("char", "block"):
            continue
        is_block = told.type == "b"
        if told.type in ("b", "c", "u") and is_block != (file.kind == "block"):
            yield Finding(
                "number", "fail", one.path, f"{path} is a {file.kind} device, not {told.type!r}", "make it again"
            )
        elif (told.major or told.minor) and (told.major, told.minor) != (file.major, file.minor):
            reason = f"{path} is {file.major}:{file.minor}, and {told.major}:{told.minor} in it"
            yield Finding("number", "fail", one.path, reason, "make it again")
        if node.majors is not None and file.major not in node.majors.get(file.kind, {}):
            reason = f"{path} has the number {file.major}, which no driver has"
            yield Finding("number", "fail", one.path, reason, "load the driver, remove the file, make it again")


def _libraries(one: _Read, spec: Spec, node: Observed) -> Iterator[Finding]:
    """Libraries of another version than the loaded driver."""
    for driver in node.drivers:
        if driver.version is None or spec.kind not in driver.kinds:
            continue
        other: dict[str, list[str]] = {}
        for path in dict.fromkeys(mount.host_path for edits in spec.all_edits for mount in edits.mounts):
            name = path.rpartition("/")[2]
            start = next((start for start in driver.libraries if name.startswith(start)), None)
            version = name[len(start) :] if start else ""
            if re.match(r"[0-9]+\.[0-9.]*[0-9]\Z", version) and version != driver.version:
                other.setdefault(version, []).append(path)
        for version, paths in other.items():
            reason = f"it has {_some(paths)} of version {version}, and {driver.name} {driver.version} is loaded"
            step = "load the driver that is installed (reboot), then make it again"
            yield Finding("library", "fail", one.path, reason, step, tuple(paths))


def _age(one: _Read, spec: Spec, node: Observed) -> Iterator[Finding]:
    for driver in node.drivers:
        written, installed = one.file.changed_seconds, driver.changed_seconds
        if one.file.owner == OURS or spec.kind not in driver.kinds:
            continue  # ours is compared with what it should be, and stays as it is where a newer driver needs the same
        if written is not None and installed is not None and written < installed:
            yield Finding("age", "warn", one.path, f"it is older than the driver {driver.name}", "make it again")


def _owner(one: _Read, spec: Spec, node: Observed) -> Iterator[Finding]:
    if one.file.owner not in (None, OURS):
        yield Finding("owner", "info", one.path, f"{one.file.owner} makes it")


def _nodes(one: _Read, spec: Spec, node: Observed) -> Iterator[Finding]:
    """Device files that every container with such a device needs."""
    for expected in node.expected:
        if expected.kind != spec.kind:
            continue
        shared = {part.path for part in spec.edits.nodes}
        for path in expected.nodes:
            without = [device.name for device in spec.devices if path not in shared and not _has(device, path)]
            file = node.files.get(path)
            if without and (file is None or file.kind != ABSENT):
                reason = f"it has no {path} for {_some(without)}"
                yield Finding("node", "fail", one.path, reason, "make it again", tuple(without))
            elif without:
                reason = f"{path} is not there yet, and so not in it"
                yield Finding("node", "warn", one.path, reason, "load the driver's module for it, then make it again")


def _has(device: Device, path: str) -> bool:
    return any(node.path == path for node in device.edits.nodes)


def _mode(one: _Read, node: Observed) -> Iterator[Finding]:
    """Who may read it, and who may change what root then runs."""
    file = one.file
    if file.kind != "file":
        return
    rootless = [engine for engine in _readers(file, node.engines) if engine.is_rootless]
    if file.is_read and rootless and (not file.mode & 0o004 or file.folder_mode & 0o005 != 0o005):
        who = " and ".join(engine.name for engine in rootless)
        shown = f"{file.mode:04o} in a folder of {file.folder_mode:04o}"
        yield Finding("mode", "warn", file.path, f"rootless {who} cannot read it ({shown})", "set its mode to 0644")
    if file.mode & 0o002 or (file.folder_mode & 0o1002) == 0o002:
        where = "it" if file.mode & 0o002 else file.folder
        yield Finding(
            "mode", "fail", file.path, f"everybody may change {where}, and root runs its hooks", "take that away"
        )


def _names(reads: Sequence[_Read], node: Observed) -> Iterator[Finding]:
    """Names in two files, as each engine reads them: in one folder both are lost, of two folders the later one wins."""
    told: dict[tuple[str, str, tuple[str, ...]], list[tuple[str, bool]]] = {}
    for engine in node.engines or (Engine("an engine", "", cdi.NEWEST),):
        mine = [one for one in reads if one.file.is_read and engine.loader in one.specs]
        folders = [
            {one.path: one.specs[engine.loader] for one in mine if one.file.folder == folder}
            for folder in engine.folders
        ]
        winners = cdi.resolve(folders)
        files = [(path, spec, folder) for folder in folders for path, spec in folder.items()]
        for number, (path, spec, folder) in enumerate(files):
            for other_path, other, _folder in files[number + 1 :]:
                winner = None if other_path in folder else other_path
                others = set(other.names)
                names = tuple(name for name in spec.names if name in others and winners[name] == winner)
                if names:
                    is_same = all(_given(spec, name) == _given(other, name) for name in names)
                    told.setdefault((path, other_path, names), []).append((engine.name, is_same))
    for (path, other_path, names), where in told.items():
        if path.rpartition("/")[0] == other_path.rpartition("/")[0]:
            reason = f"{_some(names)} stands in {other_path} too, and so resolves to nothing"
            yield Finding("duplicate", "fail", path, reason, "remove one of both files", names)
            continue
        is_same = all(is_same for _name, is_same in where)
        reason = f"{other_path} wins over it for {_some(names)} ({', '.join(dict(where))})"
        step = "remove one of both files" if is_same else "remove the one that is out of date"
        yield Finding("precedence", "info" if is_same else "warn", path, reason, step, names)


def _given(spec: Spec, name: str) -> object:
    device = next(device for device in spec.devices if f"{spec.kind}={device.name}" == name)
    return spec.edits, device.edits


def _owners(reads: Iterable[_Read]) -> Iterator[Finding]:
    """One kind that two tools make."""
    by_kind: dict[str, dict[str, str]] = {}
    for one in reads:
        if one.spec is not None and one.file.owner is not None:
            by_kind.setdefault(one.spec.kind, {}).setdefault(one.file.owner, one.path)
    for kind, paths in by_kind.items():
        if len(paths) > 1:
            reason = f"{' and '.join(paths)} each make specs of {kind}"
            step = "turn all of them off but one"
            files = tuple(paths.values())
            yield Finding("owner", "warn", files[0], reason, step, files)


def _drift(reads: Sequence[_Read], node: Observed) -> Iterator[Finding]:
    """Devices and partitions of the node against the names in its specs."""
    by_kind: dict[str, list[_Read]] = {}
    for one in reads:
        if one.spec is not None and one.file.is_read:
            by_kind.setdefault(one.spec.kind, []).append(one)
    is_all_known = all(one.unknown is None for one in reads)
    for expected in node.expected:
        mine = by_kind.get(expected.kind, [])
        if not mine:
            if expected.units and is_all_known:
                reason = "no spec has devices of this kind"
                yield Finding("drift", "fail", expected.kind, reason, node.next_step)
            continue
        named = {device.name for one in mine if one.spec is not None for device in one.spec.devices}
        for unit in expected.units if is_all_known else ():
            if not named.intersection(unit):
                reason = f"no spec has the device or partition {' or '.join(unit)}"
                yield Finding("drift", "fail", expected.kind, reason, "make its spec again", unit)
        known = {"all", *(name for unit in expected.units for name in unit)}
        for one in mine:
            gone = [device.name for device in one.spec.devices if device.name not in known] if one.spec else []
            if gone and expected.units:
                reason = f"it names {_some(gone)}, and nothing here is called so"
                yield Finding("drift", "warn", one.path, reason, "make it again", tuple(gone))
