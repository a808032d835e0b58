# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How containerd makes one configuration of a root file and its imports, and what must be added to it. Pure.

Up to 1.7 a later file replaces a whole plugin table; from 2.0 on tables are merged key by key, a later file's value
wins, and its lists replace earlier ones. The names of the plugins follow each file's version. Source: LoadConfig in
containerd 1.6.20, 1.7.35, 2.0.5, 2.2.9, 2.3.4 and 2.4.2, read and tried 2026-12.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from ..codec import toml
from ..model.cdi import FOLDERS
from .asked import Asked, comments
from .kinds import KINDS, Version, has
from .values import EACH, LIST, table_at

MERGES: Version = (2, 0, 0)
CDI_ALWAYS: Version = (2, 4, 0)
"""From here on ``enable_cdi`` is an unknown key, which the daemon passes over with a warning."""

_SINCE = KINDS["containerd"].since
MIGRATES_EACH: Version = (2, 3, 0)
"""From here on each file is brought to the newest version before it is merged, so that files may differ in it."""

RUNC = "io.containerd.runc.v2"

_OWN_RUNC: Mapping[str, Any] = {
    "runtime_type": RUNC,
    "sandbox_mode": "podsandbox",
    "options": {
        **dict.fromkeys(("BinaryName", "CriuImagePath", "CriuPath", "CriuWorkPath", "Root", "ShimCgroup"), ""),
        **dict.fromkeys(("NoNewKeyring", "NoPivotRoot", "SystemdCgroup"), False),
        **dict.fromkeys(("IoGid", "IoUid"), 0),
    },
}
"""The handler that containerd up to 1.7 has by itself, and loses as soon as any other is configured."""

CRI, NRI = "cri", "nri"
_IDS = {
    CRI: {1: "cri", 2: "io.containerd.grpc.v1.cri", 3: "io.containerd.cri.v1.runtime"},
    NRI: {1: "nri", 2: "io.containerd.nri.v1.nri", 3: "io.containerd.nri.v1.nri"},
}
_CRI_NAMES = ("cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime")

FORM = {
    "version": ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0),
    "plugins": {
        **{name: {"cdi_spec_dirs": LIST, "containerd": {"runtimes": {EACH: {}}}} for name in _CRI_NAMES},
        **{name: {"default_validator": {}} for name in _IDS[NRI].values()},
    },
}
"""What a file must be for all that is done here with it (``values.unfit``)."""

Tables = dict[str, dict[str, Any]]
"""Tables of plugins by ``CRI`` and ``NRI``."""


class Document(NamedTuple):
    """A file of the configuration, as it was read. ``version`` is 1 where the root says none."""

    path: str
    table: Mapping[str, Any]
    version: int


def version_of(table: Mapping[str, Any], otherwise: int) -> int:
    """The version that a file says; a root without one has 1, an import without one its root's."""
    said = table.get("version", 0)
    return said if isinstance(said, int) and said > 0 else otherwise


def newest_config(daemon: Version) -> int:
    """The highest version of files that a daemon knows. 1.6 passes over a higher one without a word."""
    return 2 if daemon < MERGES else 3 if daemon < MIGRATES_EACH else 4


def taken_as(version: int, daemon: Optional[Version]) -> int:
    """The version that a daemon takes a file of a version for.

    2.0 to 2.2 rename the plugins of version 1 and then call the file version 3: what they are configured by has other
    names there, so that their settings are lost.
    """
    is_lost = version == 1 and daemon is not None and MERGES <= daemon < MIGRATES_EACH
    return 3 if is_lost else version


def is_merging(daemon: Optional[Version], version: int) -> bool:
    """Whether tables are merged. Of an unknown daemon the version of the root tells, as 3 came with merging."""
    return daemon >= MERGES if daemon is not None else version >= 3


def plugin_id(part: str, version: int, daemon: Optional[Version]) -> str:
    """The name of a plugin's table in a file of a version."""
    if part == NRI and version == 1 and daemon is not None and daemon >= MERGES:
        version = 2  # a bare name that is not of version 1's own plugins is migrated to another plugin's
    return _IDS[part][min(version, 3)]


def tables_of(document: Document, daemon: Optional[Version]) -> Tables:
    """The tables of the two plugins in one file (those that are there)."""
    plugins = table_at(document.table, "plugins")
    ids = {part: plugin_id(part, document.version, daemon) for part in (CRI, NRI)}
    return {part: dict(plugins[name]) for part, name in ids.items() if isinstance(plugins.get(name), Mapping)}


def effective(documents: Iterable[Document], daemon: Optional[Version], version: int) -> Tables:
    """The tables that the daemon makes of these files in this order. Defaults of the daemon are not in it."""
    made: Tables = {CRI: {}, NRI: {}}
    for document in documents:
        for part, table in tables_of(document, daemon).items():
            made[part] = merged(made[part], table) if is_merging(daemon, version) else table
    return made


def merged(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Two tables as containerd 2 merges them."""
    made = dict(base)
    for name, value in more.items():
        known = made.get(name)
        is_table = isinstance(known, Mapping) and isinstance(value, Mapping)
        made[name] = merged(known, value) if is_table else value  # type: ignore[arg-type]
    return made


def is_cri_off(documents: Iterable[Document]) -> bool:
    """Whether the plugin that serves Kubernetes is switched off, as it is where containerd serves Docker alone."""
    lists = [document.table.get("disabled_plugins") for document in documents]
    return any(name in _CRI_NAMES for names in lists if isinstance(names, list) for name in names)


def needed(asked: Asked, tables: Tables, daemon: Optional[Version], version: int) -> Tables:
    """What must be set in the two plugins so that all that is asked is so. Empty parts are left out."""
    cri, nri = tables[CRI], tables[NRI]
    set_cri: dict[str, Any] = {}
    set_nri: dict[str, Any] = {}
    is_new = daemon >= MERGES if daemon is not None else (True if version >= 3 else None)
    has_switch = daemon is None or daemon < CDI_ALWAYS
    if asked.cdi is not None and has_switch and cri.get("enable_cdi", is_new) is not asked.cdi:
        set_cri["enable_cdi"] = asked.cdi
    if asked.cdi_spec_dirs and tuple(cri.get("cdi_spec_dirs", FOLDERS)) != asked.cdi_spec_dirs:
        set_cri["cdi_spec_dirs"] = list(asked.cdi_spec_dirs)
    if asked.nri is not None and nri.get("disable", None if is_new is None else not is_new) is not (not asked.nri):
        set_nri["disable"] = not asked.nri
    validator = dict(asked.nri_validator or {})
    if validator and not _is_within(validator, nri.get("default_validator", {})):
        set_nri["default_validator"] = validator
    known = table_at(table_at(cri, "containerd"), "runtimes")
    is_losing = bool(asked.runtimes) and not known and not is_merging(daemon, version)
    known = {"runc": _OWN_RUNC} if is_losing else known
    handlers = {name: _handler(known, name, wanted) for name, wanted in (asked.runtimes or {}).items()}
    handlers = {name: entry for name, entry in handlers.items() if not _is_within(entry, known.get(name, {}))}
    if handlers:
        set_cri["containerd"] = {"runtimes": {**known, **handlers} if is_losing else handlers}
    return {part: table for part, table in ((CRI, set_cri), (NRI, set_nri)) if table}


def _handler(known: Mapping[str, Any], name: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """A handler as it must be: what runc's has, over that what it has itself, over that what is asked."""
    kind = wanted.get("type") or known.get(name, {}).get("runtime_type") or RUNC
    runc = known.get("runc", {})
    # Options of runc's shim mean nothing to another shim, whose own options have their own names.
    entry = merged(runc, known.get(name, {})) if kind == RUNC else dict(known.get(name, {}))
    asked: dict[str, Any] = {"runtime_type": kind}
    options = dict(wanted.get("options") or {})
    if wanted.get("binary") and kind == RUNC:
        options = {"BinaryName": wanted["binary"], **options}
    elif wanted.get("binary"):
        asked["runtime_path"] = wanted["binary"]
    if options:
        asked["options"] = options
    return merged(entry, asked)


def _is_within(part: Any, whole: Any) -> bool:
    """Whether all that ``part`` says is so in ``whole``."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(key in whole and _is_within(part[key], whole[key]) for key in part)
    return bool(part == whole)


def paths(table: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The dotted names of all values in a table."""
    for name, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from paths(value, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def overruled(
    changes: Tables, later: Sequence[Document], daemon: Optional[Version], version: int
) -> dict[str, list[str]]:
    """What files that are read after ours would make of the changes: ``{path of the file: [keys]}``."""
    found: dict[str, list[str]] = {}
    for document in later:
        for part, table in tables_of(document, daemon).items():
            change = changes.get(part)
            if change is None:
                continue
            if is_merging(daemon, version):
                both = set(paths(change)) & set(paths(table))
                keys = [key for key in sorted(both) if _at(change, key) != _at(table, key)]
            else:
                keys = sorted(paths(change))
            if keys:
                found.setdefault(document.path, []).extend(keys)
    return found


def _at(table: Mapping[str, Any], key: str) -> Any:
    """The value of a dotted name as ``paths`` gives it; names with dots in them are found too."""
    for name, value in table.items():
        if key == name:
            return value
        if key.startswith(f"{name}.") and isinstance(value, Mapping):
            found = _at(value, key[len(name) + 1 :])
            if found is not None:
                return found
    return None


def drop_in(asked: Asked, changes: Tables, earlier: Sequence[Document], daemon: Optional[Version], version: int) -> str:
    """Our file. Where tables are not merged it holds the whole table that it stands in for, and says whose."""
    plugins: dict[str, Any] = {}
    notes: list[str] = []
    for part, change in changes.items():
        name = plugin_id(part, version, daemon)
        table = change
        if not is_merging(daemon, version):
            below = [document for document in earlier if part in tables_of(document, daemon)]
            if below:
                whole = tables_of(below[-1], daemon)[part]
                table = merged(whole, change)
                notes.append(f'plugins."{name}" of {below[-1].path}')
        plugins[name] = table
    if notes:
        notes.insert(
            0, "containerd up to 1.7 takes a plugin's whole table from the last file that has one. Here stand in"
        )
        notes[1:] = [f"  for {note}" for note in notes[1:]]
    return comments(asked, notes) + toml.write({"version": version, "plugins": plugins})


def lacking(asked: Asked, dump: Mapping[str, Any], daemon: Optional[Version]) -> list[str]:
    """What is asked and is not so in the configuration that the daemon itself says it makes (``config dump``)."""
    tables = tables_of(Document("", dump, version_of(dump, 1)), daemon)
    wanted: Tables = {CRI: {}, NRI: {}}
    if asked.cdi is not None and has(daemon, _SINCE.cdi) and not has(daemon, CDI_ALWAYS):
        wanted[CRI]["enable_cdi"] = asked.cdi
    if asked.cdi_spec_dirs:
        wanted[CRI]["cdi_spec_dirs"] = list(asked.cdi_spec_dirs)
    handlers = {name: _handler({}, name, one) for name, one in (asked.runtimes or {}).items()}
    wanted[CRI]["containerd"] = {"runtimes": handlers} if handlers else {}
    if asked.nri is not None and has(daemon, _SINCE.nri):
        wanted[NRI]["disable"] = not asked.nri
    wanted[NRI]["default_validator"] = dict(asked.nri_validator or {})
    found = []
    for part, table in wanted.items():
        shown = tables.get(part, {})
        found += [f"{part}: {key}" for key in paths(table) if _at(table, key) not in ({}, _at(shown, key))]
    return found
