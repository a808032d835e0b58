# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recording opened again: one archive that is read whole, judged, and kept in memory. Nothing is unpacked on disk.

The small reader below takes tars in GNU's form, with files, folders and symbolic links, and refuses all else that a tar
can say. tarfile takes more, among it headers that keep it busy for ever (CVE-2025-8194).
"""

from __future__ import annotations

import errno
import json
import os
import stat
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn, Optional

from ..model.answer import NOT_RECORDED
from ..model.errors import InputError
from .door import MANIFEST

SCHEMA = 1
MAX_BYTES = 64 * 1024 * 1024  # unpacked
MAX_MEMBERS = 200_000
MAX_RATIO, _FREE_BYTES = 500, 4 * 1024 * 1024  # a recording of small files shrinks 10 to 60 times

_FORMATS = {
    "file": stat.S_IFREG | 0o644,
    "dir": stat.S_IFDIR | 0o755,
    "link": stat.S_IFLNK | 0o777,
    "char": stat.S_IFCHR | 0o600,
    "block": stat.S_IFBLK | 0o600,
    "fifo": stat.S_IFIFO | 0o644,
    "socket": stat.S_IFSOCK | 0o755,
    "hidden": 0,
}


class Stat(NamedTuple):
    """What ``lstat`` says, as far as facts ask."""

    st_mode: int
    st_uid: int
    st_gid: int
    st_rdev: int
    st_size: int
    st_mtime: Optional[float] = None


class Archive:
    """The four ways in which the door touches a node, answered from memory; each raises OSError as the node did.

    Raises InputError, in one line, for a file that is no recording or that asks for more than a recording needs.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._stats: dict[str, Stat] = {"/": Stat(_FORMATS["dir"], 0, 0, 0, 0)}
        self._contents: dict[str, bytes] = {}
        self._targets: dict[str, str] = {}
        self._names: dict[str, set[str]] = {"/": set()}
        self._unread: dict[str, str] = {}
        self._listed: set[str] = set()
        self._errors: dict[str, int] = {}
        self._take(_members(self._unpacked()))
        try:
            manifest = json.loads(self._contents.pop(MANIFEST))
            about = manifest.pop("recording")
            if about["schema"] != SCHEMA:
                self._refuse(f"a recording of schema {about['schema']}")
            if about["members"] != len(self._stats) - 2:  # less the root and the manifest
                self._refuse("an archive with members missing or added")
            self.is_node = bool(about["node"])
            self.is_masked = bool(about["masked"])
            self.answers = {tuple(map(str, row["argv"])): _answer(row) for row in about["commands"]}
            self._forget(MANIFEST)
            for place, entry in manifest.items():
                self._note(place, entry)
        except KeyError as error:
            is_foreign = error.args[0] in (MANIFEST, "recording")
            self._refuse(
                f"an archive without {MANIFEST} of a recording" if is_foreign else f"{MANIFEST} of another form"
            )
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            self._refuse(f"{MANIFEST} of another form")

    def look_at(self, place: str) -> Stat:
        """What is at a place."""
        return self._stats[self._known(place)]

    def names_in(self, place: str) -> list[str]:
        """What a folder lists."""
        self._known(place, opening=True)
        if place not in self._names:
            _fail(errno.ENOTDIR)
        if place not in self._listed:
            raise OSError(errno.ENODATA, NOT_RECORDED)
        return list(self._names[place])

    def known_in(self, place: str) -> list[str]:
        """The names below a folder that something is known of, whether or not it was listed."""
        return [name for name in self._names.get(place, ()) if f"{place.rstrip('/')}/{name}" not in self._unread]

    def target_of(self, place: str) -> str:
        """What a link says."""
        target = self._targets.get(self._known(place))
        return _fail(errno.EINVAL) if target is None else target

    def read(self, place: str, limit: int, offset: int) -> bytes:
        """Up to ``limit`` bytes of a file."""
        self._known(place, opening=True)
        if place in self._names:
            _fail(errno.EISDIR)
        if place in self._targets:
            _fail(errno.ELOOP)
        return self._contents.get(place, b"")[offset : offset + limit]

    def _known(self, place: str, opening: bool = False) -> str:
        if place in self._unread:
            raise OSError(errno.ENODATA, NOT_RECORDED)
        seen = self._stats.get(place)
        if place in self._errors and (opening or (seen is not None and not seen.st_mode)):
            number = self._errors[place]
            raise OSError(number or errno.ENODATA, os.strerror(number) if number else NOT_RECORDED)
        if seen is None:
            _fail(errno.ENOENT)
        return place

    def _refuse(self, found: str) -> NoReturn:
        raise InputError(
            "open",
            f"root {self._path}",
            found,
            "a folder or a recording",
            "name the root of a node's tree, or an archive that machine_recording made",
        )

    def _unpacked(self) -> bytes:
        try:
            with open(self._path, "rb") as handle:
                packed = handle.read(MAX_BYTES + 1)
        except OSError as error:
            self._refuse(os.strerror(error.errno or 0))
        if packed[:2] != b"\x1f\x8b":
            self._refuse("a file")
        opened = zlib.decompressobj(31)
        bound = min(MAX_BYTES, max(_FREE_BYTES, MAX_RATIO * len(packed)))
        try:
            content = opened.decompress(packed, bound + 1)
        except zlib.error:
            self._refuse("a damaged archive")
        if len(content) > bound:
            self._refuse(f"an archive that unpacks to more than {bound} bytes")
        if not opened.eof:
            self._refuse("an archive cut short")
        if opened.unused_data:
            self._refuse("an archive with something behind its end")
        return content

    def _take(self, members: Iterator[tuple[str, str, bytes, str]]) -> None:
        try:
            for name, kind, content, target in members:
                place = _place(name)
                if place == "/" and kind == "dir":
                    continue
                if place in self._stats:
                    raise ValueError(f"an archive with {place} twice or below no folder")
                if len(self._stats) > MAX_MEMBERS:
                    raise ValueError(f"an archive of more than {MAX_MEMBERS} members")
                if kind == "link" and _leads_outside(place, target):
                    raise ValueError(f"an archive with the link {place}, which leads outside")
                if (place.rpartition("/")[0] or "/") not in self._names:
                    raise ValueError(f"an archive with {place} below no folder")
                self._add(place, kind, len(content))
                if kind == "file":
                    self._contents[place] = content
                elif kind == "link":
                    self._targets[place] = target
        except ValueError as error:
            self._refuse(str(error))

    def _add(self, place: str, kind: str, size: int = 0) -> None:
        parent, _slash, leaf = place.rpartition("/")
        self._names[parent or "/"].add(leaf)
        self._stats[place] = Stat(_FORMATS[kind], 0, 0, 0, size)
        if kind == "dir":
            self._names[place] = set()

    def _forget(self, place: str) -> None:
        del self._stats[place]
        self._names["/"].discard(place[1:])

    def _note(self, place: str, entry: dict[str, Any]) -> None:
        """What the manifest says of a place: its real kind, owners, size, why it could not be read, names unread."""
        kind, parent = entry["kind"], place.rpartition("/")[0] or "/"
        if place not in self._stats:
            if kind != "hidden" or _place(place[1:]) != place or parent not in self._names:
                raise ValueError(place)
            self._add(place, kind)
        seen, form = self._stats[place], _FORMATS[kind]
        if (kind in ("dir", "link") or stat.S_ISDIR(seen.st_mode) or stat.S_ISLNK(seen.st_mode)) and (
            stat.S_IFMT(form) != stat.S_IFMT(seen.st_mode)
        ):
            raise ValueError(place)
        mode = stat.S_IFMT(form) | (int(entry.get("mode", stat.S_IMODE(form))) & 0o7777 if form else 0)
        device = os.makedev(int(entry.get("major", 0)), int(entry.get("minor", 0)))
        size = int(entry.get("size", seen.st_size))
        self._stats[place] = Stat(mode, int(entry.get("uid", 0)), int(entry.get("gid", 0)), device, size)
        if "error" in entry:
            known = entry["error"] == NOT_RECORDED
            self._errors[place] = 0 if known else int(getattr(errno, entry["error"]))
        if "unread" in entry:
            self._listed.add(place)
        for name in entry.get("unread", ()):
            _place(name)
            self._names[place].add(name)
            self._unread[f"{place.rstrip('/')}/{name}"] = name


def _fail(number: int) -> NoReturn:
    raise OSError(number, os.strerror(number))


def _answer(row: dict[str, Any]) -> tuple[Optional[int], str, Optional[str]]:
    status, reason = row["status"], row["reason"]
    return None if status is None else int(status), str(row["stdout"]), None if reason is None else str(reason)


def _place(name: str) -> str:
    """A member's place on the node; ValueError for a name that leads outside."""
    name = name[2:] if name.startswith("./") else name
    parts = name.rstrip("/").split("/")
    if parts == [""] and name != "/":
        return "/"
    if any(part in ("", ".", "..") for part in parts) or "\0" in name:
        raise ValueError(f"an archive with the member {name!r}, which leads outside")
    return "/" + "/".join(parts)


def _leads_outside(place: str, target: str) -> bool:
    """Whether a link climbs above the root. An absolute one is a place on the node, and is resolved there."""
    depth = 0 if target.startswith("/") else place.count("/") - 1
    for part in target.split("/"):
        depth += -1 if part == ".." else part not in ("", ".")
        if depth < 0:
            return True
    return not target or "\0" in target


def _members(content: bytes) -> Iterator[tuple[str, str, bytes, str]]:
    """Name, kind, content and link target of each member of a tar. ValueError for what a recording never holds."""
    at, ended = 0, False
    longer: dict[str, bytes] = {}
    while at + 512 <= len(content):
        head = content[at : at + 512]
        at += 512
        if not any(head):
            ended = True
            break
        if sum(head) - sum(head[148:156]) + 8 * 32 != _octal(head[148:156]):
            raise ValueError("a damaged archive (a header's checksum is wrong)")
        size, kind = _octal(head[124:136]), head[156:157]
        body = content[at : at + size]
        at += (size + 511) // 512 * 512
        if at > len(content):
            raise ValueError("an archive cut short")
        if kind in (b"L", b"K"):
            longer["path" if kind == b"L" else "linkpath"] = body.rstrip(b"\0")
            continue
        name = longer.get("path", head[:100].split(b"\0")[0])
        target = longer.get("linkpath", head[157:257].split(b"\0")[0])
        longer = {}
        shape = {b"0": "file", b"\0": "file", b"5": "dir", b"2": "link"}.get(kind)
        if shape is None or (size and shape != "file"):
            raise ValueError("an archive with a member that is no file, folder or symbolic link")
        yield os.fsdecode(name), shape, body, os.fsdecode(target)
    if not ended:
        raise ValueError("an archive cut short")


def _octal(field: bytes) -> int:
    digits = field.strip(b" \0")
    if not digits or digits.strip(b"01234567"):
        raise ValueError("a damaged archive (a number is none)")
    return int(digits, 8)
