# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trees that are changed without touching the disk, and facts as flat paths to compare."""

from __future__ import annotations

import errno
import os
import tempfile
from typing import Any

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.answer import MISSING, Answer, Names, Status
from ansible_collections.accelerator.ops.plugins.module_utils.model.entry import Entry


class ChangedHost(Host):
    """A door that remembers every answer, so that thousands of observations of nearly the same tree stay cheap.

    ``changed`` holds the new contents of files by their real path.
    """

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.changed: dict[str, bytes] = {}
        self._memo: dict[tuple[Any, ...], Any] = {}
        self._places: dict[str, str] = {}

    def place(self, path: str) -> str:
        """The real path, links followed; the path itself where they lead in a circle."""
        if path not in self._places:
            try:
                self._places[path] = self.real_path(path)
            except OSError:
                self._places[path] = path
        return self._places[path]

    def read(self, path: str) -> Answer:
        if self.place(path) in self.changed:
            return super().read(path)
        key = ("read", path)
        if key not in self._memo:
            self._memo[key] = super().read(path)
        return self._memo[key]  # type: ignore[no-any-return]

    def read_bytes(self, path: str, limit: int = 1 << 22, offset: int = 0) -> tuple[bytes | None, str | None]:
        if self.place(path) in self.changed:
            return self.changed[self.place(path)][offset : offset + limit], None
        key = ("read_bytes", path, limit, offset)
        if key not in self._memo:
            self._memo[key] = super().read_bytes(path, limit, offset)
        return self._memo[key]  # type: ignore[no-any-return]

    def size(self, path: str) -> tuple[int | None, str | None]:
        if self.place(path) in self.changed:
            return len(self.changed[self.place(path)]), None
        return super().size(path)

    def list(self, path: str) -> Names:
        key = ("list", path)
        if key not in self._memo:
            self._memo[key] = super().list(path)
        return self._memo[key]  # type: ignore[no-any-return]

    def resolve(self, path: str) -> Answer:
        key = ("resolve", path)
        if key not in self._memo:
            self._memo[key] = super().resolve(path)
        return self._memo[key]  # type: ignore[no-any-return]

    def link(self, path: str) -> Answer:
        key = ("link", path)
        if key not in self._memo:
            self._memo[key] = super().link(path)
        return self._memo[key]  # type: ignore[no-any-return]

    def status(self, path: str) -> tuple[Status | None, str | None]:
        key = ("status", path)
        if key not in self._memo:
            self._memo[key] = super().status(path)
        return self._memo[key]  # type: ignore[no-any-return]


class EntriesHost(Host):
    """A door to a tree that was never laid out: the entries that it would be laid out from."""

    def __init__(self, entries: dict[str, Entry]) -> None:
        super().__init__(tempfile.gettempdir())
        self._entries = entries
        self._below: dict[str, list[str]] = {"/": []}
        for path, entry in entries.items():
            if entry.kind == "dir":
                self._below.setdefault(path, [])
            self._below.setdefault(path.rpartition("/")[0] or "/", []).append(path.rpartition("/")[2])

    def real_path(self, path: str) -> str:
        """As the door does it: links inside the tree are followed, the last part need not exist."""
        if path in self._real:
            return self._real[path]
        pending = [part for part in reversed(path.split("/")) if part not in ("", ".")]
        done, links = "", 0
        while pending:
            part = pending.pop()
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            here = self._entries.get(f"{done}/{part}")
            if here is not None and here.kind == "link":
                links += 1
                if links > 40:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                done = "" if here.target.startswith("/") else done
                pending.extend(step for step in reversed(here.target.split("/")) if step not in ("", "."))
            else:
                done = f"{done}/{part}"
        self._real[path] = done or "/"
        return done or "/"

    def read_bytes(self, path: str, limit: int = 1 << 22, offset: int = 0) -> tuple[bytes | None, str | None]:
        self.read_paths.add(path)
        entry = self._entries.get(self.real_path(path))
        if entry is None:
            return None, MISSING
        if entry.kind == "dir":
            return None, "cannot be read (Is a directory)"
        return entry.content[offset : offset + limit], None

    def size(self, path: str) -> tuple[int | None, str | None]:
        content, reason = self.read_bytes(path)
        return (None if content is None else len(content)), reason

    def list(self, path: str) -> Names:
        self.read_paths.add(path)
        names = self._below.get(self.real_path(path))
        return Names(None, MISSING) if names is None else Names(tuple(sorted(names)), None)

    def resolve(self, path: str) -> Answer:
        self.read_paths.add(path)
        real = self.real_path(path)
        is_there = real in self._entries or real in self._below
        return Answer(real, None) if is_there else Answer(None, MISSING)

    def link(self, path: str) -> Answer:
        self.read_paths.add(path)
        folder, _slash, leaf = path.rpartition("/")
        entry = self._entries.get(f"{self.real_path(folder or '/')}/{leaf}")
        if entry is None:
            return Answer(None, MISSING)
        return Answer(entry.target, None) if entry.kind == "link" else Answer(None, "not a link")

    def status(self, path: str) -> tuple[Status | None, str | None]:
        self.read_paths.add(path)
        entry = self._entries.get(self.real_path(path))
        if entry is None:
            return None, MISSING
        return Status(entry.kind, entry.mode, entry.uid, entry.gid, entry.major, entry.minor), None


def flat(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts as ``devices/0000:0f:00.0/link/width: value``; a row of a list goes by its id and not by its place.

    A reason of ``unknown`` stands at the path of the value that it explains, behind a ``?``.
    """
    found: dict[str, Any] = {}
    _flatten(facts, "", found)
    return found


def _flatten(value: Any, path: str, found: dict[str, Any]) -> None:
    if isinstance(value, dict):
        for key, below in value.items():
            if key != "unknown":
                _flatten(below, f"{path}/{key}" if path else str(key), found)
        for dotted, reason in (value.get("unknown") or {}).items():
            found[f"{path}/{_reason_path(value, dotted)}?".lstrip("/")] = reason
    elif isinstance(value, list) and (not value or isinstance(value[0], dict)):
        for item in value:
            _flatten(item, f"{path}/{_name(item)}", found)
        found[f"{path}/#"] = len(value)
    else:
        found[path] = value


def _name(row: dict[str, Any]) -> str:
    """What tells a row of a list from the others."""
    if "a" in row and "b" in row:
        return "|".join(str(row[key]) for key in ("a", "b", "kind") if key != "kind" or "hops" in row)
    if isinstance(row.get("id"), str):
        return str(row["id"])
    for key in ("name", "node", "size_kib", "path"):
        if row.get(key) is not None:
            return str(row[key])
    return str(row.get("kernel"))


def _reason_path(value: dict[str, Any], dotted: str) -> str:
    here: Any = value
    names = []
    parts = dotted.split(".")
    for position, part in enumerate(parts):
        if isinstance(here, dict) and part in here:
            names.append(part)
            here = here[part]
        elif isinstance(here, list) and part.isdigit() and int(part) < len(here) and isinstance(here[int(part)], dict):
            here = here[int(part)]
            names.append(_name(here))
        else:
            names.append(".".join(parts[position:]))
            break
    return "/".join(names)


def difference(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    """The paths whose value or reason is not the same; a reason counts for the value that it explains."""
    sections = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    was, is_now = (flat({name: facts[name] for name in sections if name in facts}) for facts in (before, after))
    paths = {path for path in {**was, **is_now} if was.get(path, _NONE) != is_now.get(path, _NONE)}
    return {path.rstrip("?") for path in paths}


_NONE = object()
