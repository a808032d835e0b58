# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The door that remembers: every answer of a node as it was given, and one archive of them."""

from __future__ import annotations

import errno
import gzip
import io
import json
import stat
import tarfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar, Union

from ..model.answer import NOT_RECORDED, Status
from ..model.errors import InputError
from ..model.recorded import Item, Recorded, Said
from .door import KINDS, MANIFEST, Host
from .recording import MAX_BYTES, MAX_MEMBERS, SCHEMA

if TYPE_CHECKING:
    from .door import Looked

T = TypeVar("T")
_GONE = (errno.ENOENT, errno.ENOTDIR)


class _Seen:
    """The answers about one place, errors among them."""

    def __init__(self) -> None:
        self.answers: dict[object, Any] = {}
        self.numbers: dict[str, int] = {}
        self.kind: Optional[str] = None


class Recorder(Host):
    """A door whose second answer is its first: what it told, and what it keeps of it, are the same."""

    def __init__(self, root: str = "/") -> None:
        self._seen: dict[str, _Seen] = {}
        super().__init__(root)
        if self.is_live:
            self.answers = self.ran

    def status(self, path: str) -> tuple[Status | None, str | None]:
        found, reason = super().status(path)
        if found is not None:
            seen = self._at(self._inside(self.real_path(path)))
            seen.kind = found.kind
            seen.numbers.update({"mode": found.mode, "uid": found.uid, "gid": found.gid})
            if found.kind in ("char", "block"):
                seen.numbers.update({"major": found.major, "minor": found.minor})
        return found, reason

    def size(self, path: str) -> tuple[int | None, str | None]:
        found, reason = super().size(path)
        if found is not None:
            self._at(self._inside(self.real_path(path))).numbers["size"] = found
        return found, reason

    def recorded(self) -> Recorded:
        """All that was told so far."""
        items: dict[str, Item] = {}
        for place in sorted(self._seen):
            path = self._path(place)
            item = self._item(place, self._seen[place])
            if item is not None and path != MANIFEST:
                _add_parents(items, path)
                items[path] = item
        listed = [place for place in sorted(self._seen) if isinstance(self._seen[place].answers.get("names"), list)]
        for place in listed:
            self._add_names(items, place)
        items.pop("/", None) if items.get("/") == Item("dir") else None
        said = tuple(Said(argv, *ran) for argv, ran in self.ran.items())
        is_masked = self._archive is not None and self._archive.is_masked
        return Recorded(dict(sorted(items.items())), said, self.is_node, is_masked)

    def _add_names(self, items: dict[str, Item], place: str) -> None:
        path, unread = self._path(place), []
        for name in self._seen[place].answers["names"]:
            below = f"{path.rstrip('/')}/{name}"
            if below in items or below == MANIFEST:
                continue
            seen = self._seen.get(self._inside(below))
            gone = seen is not None and any(isinstance(one, OSError) and one.errno in _GONE for one in _all(seen))
            if gone:
                items[below] = Item("hidden", error="ENOENT")
            else:
                unread.append(name)
        items[path] = items[path]._replace(unread=tuple(sorted(unread)))

    def _item(self, place: str, seen: _Seen) -> Item | None:
        """What stands there, or None where nothing does."""
        target = seen.answers.get("target")
        if isinstance(target, str):
            return Item("link", target=_clamped(self._path(place), target))
        reads = {key: value for key, value in seen.answers.items() if isinstance(key, tuple)}
        failed = [one for one in [*reads.values(), seen.answers.get("names")] if isinstance(one, OSError)]
        failed = [one for one in failed if one.errno not in (*_GONE, errno.ELOOP, errno.EISDIR)]
        looks = [seen.answers.get("look"), target]
        hidden = [one for one in looks if isinstance(one, OSError) and one.errno not in (*_GONE, errno.EINVAL)]
        kind = seen.kind or self._kind(place, seen)
        if any(one.strerror == NOT_RECORDED for one in [*failed, *hidden]):
            return None
        if hidden:
            return Item("hidden", error=_name(hidden[0]))
        if kind is None:
            return Item("hidden", error=_name(failed[0])) if failed else None
        error = _name(failed[0]) if failed and (kind == "dir" or _all_failed(reads)) else None
        if kind == "file" and not reads:
            error = NOT_RECORDED
        content = _joined(reads) if kind != "dir" else b""
        numbers = dict(seen.numbers)
        if numbers.get("size") == len(content):
            del numbers["size"]
        return Item(kind, content, numbers=numbers, error=error)

    def _kind(self, place: str, seen: _Seen) -> str | None:
        look = seen.answers.get("look")
        if look is None:
            try:
                look = super()._look_at(place)
            except OSError:
                return "file" if any(isinstance(one, bytes) for one in seen.answers.values()) else None
        return None if isinstance(look, OSError) else KINDS.get(stat.S_IFMT(look.st_mode))

    def _at(self, place: str) -> _Seen:
        return self._seen.setdefault(place, _Seen())

    def _path(self, place: str) -> str:
        return place[len(self._inside("")) :] or "/"

    def _once(self, place: str, key: object, ask: Callable[[], T]) -> T:
        answers = self._at(place).answers
        if key not in answers:
            try:
                answers[key] = ask()
            except OSError as error:
                answers[key] = error
        known: Union[T, OSError] = answers[key]
        if isinstance(known, OSError):
            raise OSError(known.errno, known.strerror)
        return known

    def _look_at(self, place: str) -> Looked:
        return self._once(place, "look", lambda: super(Recorder, self)._look_at(place))

    def _names_in(self, place: str) -> Sequence[str]:
        return self._once(place, "names", lambda: super(Recorder, self)._names_in(place))

    def _target_of(self, place: str) -> str:
        return self._once(place, "target", lambda: super(Recorder, self)._target_of(place))

    def _read_raw(self, place: str, limit: int, offset: int = 0) -> bytes:
        return self._once(place, (offset, limit), lambda: super(Recorder, self)._read_raw(place, limit, offset))


def _name(error: OSError) -> str:
    return errno.errorcode[error.errno or errno.EIO]


def _all(seen: _Seen) -> list[Any]:
    return list(seen.answers.values())


def _all_failed(reads: dict[tuple[int, int], Any]) -> bool:
    return not any(isinstance(one, bytes) for one in reads.values())


def _joined(reads: dict[tuple[int, int], Any]) -> bytes:
    """The pieces of a file that were read, each at its place."""
    content = bytearray()
    for (offset, _limit), piece in sorted(reads.items()):
        if isinstance(piece, bytes) and piece:
            content.extend(bytes(max(0, offset + len(piece) - len(content))))
            content[offset : offset + len(piece)] = piece
    return bytes(content)


def _add_parents(items: dict[str, Item], path: str) -> None:
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        if path in items:
            return
        items[path] = Item("dir")


def _clamped(path: str, target: str) -> str:
    """A link that climbs above the root ends there; written so, an archive never has one that leads outside."""
    if target.startswith("/"):
        return target
    depth, parts = path.count("/") - 1, []
    for part in target.split("/"):
        if part == ".." and not depth:
            continue
        depth += -1 if part == ".." else part not in ("", ".")
        parts.append(part)
    return "/".join(parts) or "."


def pack(recorded: Recorded) -> bytes:
    """The archive: the same bytes for the same content. Raises InputError for one that the door would not open."""
    items = {path: item for path, item in recorded.items.items() if item.kind != "hidden" and path != "/"}
    size = sum(1024 + len(item.content) for item in items.values())
    if size > MAX_BYTES - 1024 * 1024 or len(items) >= MAX_MEMBERS:
        raise InputError(
            "record",
            "the node",
            f"{len(items)} files of {size} bytes",
            f"less than {MAX_BYTES} bytes",
            "tell the maintainers which file is that large",
        )
    about = {
        "schema": SCHEMA,
        "members": len(items),
        "node": recorded.is_node,
        "masked": recorded.is_masked,
        "commands": [said._asdict() for said in recorded.said],
    }
    manifest: dict[str, Any] = {"recording": about}
    manifest.update(
        {path: entry for path, entry in ((path, _entry(item)) for path, item in recorded.items.items()) if entry}
    )
    text = json.dumps(manifest, indent=1, sort_keys=True).encode("ascii") + b"\n"
    buffer = io.BytesIO()
    with tarfile.open(
        fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape"
    ) as archive:
        for path, item in sorted({**items, MANIFEST: Item("file", text)}.items()):
            _write(archive, path, item)
    return gzip.compress(buffer.getvalue(), 9, mtime=0)


def _entry(item: Item) -> dict[str, Any] | None:
    """What the manifest says of an item; None where the archive's member says it all."""
    if item.kind in ("file", "dir", "link") and not item.numbers and (item.error, item.unread) == (None, None):
        return None
    entry: dict[str, Any] = {"kind": item.kind, **item.numbers}
    if item.error is not None:
        entry["error"] = item.error
    if item.unread is not None:
        entry["unread"] = list(item.unread)
    return entry


def _write(archive: tarfile.TarFile, path: str, item: Item) -> None:
    member = tarfile.TarInfo(path[1:])
    if item.kind == "dir":
        member.type, member.mode = tarfile.DIRTYPE, 0o755
    elif item.kind == "link":
        member.type, member.mode, member.linkname = tarfile.SYMTYPE, 0o777, item.target
    else:
        member.size = len(item.content)
    archive.addfile(member, io.BytesIO(item.content))
