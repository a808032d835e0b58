# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lint of CDI specs has to know of a node: the specs of everybody, and what they speak of as it is now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Optional

from ..codec import cdi_lint
from ..codec.cdi_lint import Driver, Expected, File, Finding, Observed, SpecFile
from ..host.door import Host
from ..model.answer import MISSING
from ..model.cdi import FOLDERS, Engine
from ..vendor.cdi import LOADERS
from . import cdi_specs
from .cdi_specs import Look
from .facts import kernel, owners

_KINDS = ("file", "dir", "char", "block", "fifo", "socket")


def observe(
    host: Host, directory: str, looks: Sequence[Look], engines: tuple[Engine, ...], next_step: str
) -> tuple[Finding, ...]:
    """The findings of the lint over all specs of this node. ``next_step`` is that of a spec which is not there."""
    folders = (directory, *(folder for engine in engines for folder in engine.folders))
    engines = tuple(_with_our_names(host, engines, (*FOLDERS, *folders)))
    files = tuple(_spec_files(host, folders))
    paths = {*cdi_lint.host_paths(files), *(path for one in looks for needs in one.needs for path in needs.required)}
    seen = {path: file for path, file in ((path, _file(host, path)) for path in sorted(paths)) if file is not None}
    majors = _majors(host) if host.is_node else None
    expected = tuple(_expected(looks))
    return cdi_lint.lint(files, Observed(seen, majors, engines, tuple(_drivers(host)), expected, next_step))


def _with_our_names(host: Host, engines: Sequence[Engine], folders: Sequence[str]) -> Iterator[Engine]:
    """The engines that look into any folder. Of a folder with several names they have the first, as its files do."""
    names: dict[str, str] = {}
    real = {folder: host.resolve(folder).value or folder for folder in folders}
    for folder in folders:
        names.setdefault(real[folder], folder)
    for engine in engines:
        if engine.folders:
            yield engine._replace(folders=tuple(dict.fromkeys(names[real[folder]] for folder in engine.folders)))


def _spec_files(host: Host, folders: Sequence[str]) -> Iterator[SpecFile]:
    for path in cdi_specs.files(host, *folders):
        status, why = host.status(path)
        folder, _slash, name = path.rpartition("/")
        place, _reason = host.status(folder)
        if status is None and why == MISSING:
            yield SpecFile(path, None, kind=cdi_lint.ABSENT)
        elif status is not None and status.kind != "file":
            yield SpecFile(path, None, kind=status.kind)
        elif status is not None:
            answer = host.read(path)
            folder_mode = 0o755 if place is None else place.mode
            changed, owner = host.changed_seconds(path), owners.of_spec(name)
            yield SpecFile(path, answer.value, answer.reason or "", status.mode, folder_mode, changed, owner)


def _file(host: Host, path: str) -> Optional[File]:
    """A file as it is, links followed; None where it cannot be looked at."""
    status, reason = host.status(path)
    if status is None:
        return File(cdi_lint.ABSENT) if reason == MISSING else None
    return File(status.kind, status.mode, status.major, status.minor) if status.kind in _KINDS else None


def _majors(host: Host) -> Optional[dict[str, dict[int, str]]]:
    """The numbers of drivers in ``/proc/devices``."""
    text = host.read("/proc/devices").value
    if text is None:
        return None
    found: dict[str, dict[int, str]] = {"char": {}, "block": {}}
    here = found["char"]
    for line in text.splitlines():
        number, _space, name = line.strip().partition(" ")
        if line.startswith("Block"):
            here = found["block"]
        elif number.isdigit():
            here[int(number)] = name
    return found


def _drivers(host: Host) -> Iterator[Driver]:
    for load in LOADERS.values():
        aspect = load()
        if aspect.module:
            version = host.read(f"/sys/module/{aspect.module}/version").value
            if version:
                file = kernel.file_of(host, aspect.module)
                changed = None if file is None else host.changed_seconds(file)
                yield Driver(aspect.module, aspect.kinds, version, aspect.libraries, changed)


def _expected(looks: Sequence[Look]) -> Iterator[Expected]:
    for one in looks:
        for needs in one.needs:
            nodes = tuple(dict.fromkeys((*needs.shared, *needs.required))) if needs.units else ()
            yield Expected(needs.kind, tuple(unit.names for unit in needs.units), nodes)
