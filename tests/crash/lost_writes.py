# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a power cut may leave: every state that the operations of a run allow, by how they were synced.

The model of the file system is a weak one. Written data, the size of a file, its mode, owner and attributes are on the
disk after an ``fsync`` of that file; a name that was made, replaced or removed in a folder is there after an ``fsync``
of that folder. Until then each may be there or not, whatever came before or after it, with three exceptions that hold
on every file system: a rename is there whole or not at all; of two changes to one name the later one is not there
without the earlier one; and what is on the disk stays there. Data that was not synced may be missing, cut in the
middle, or zeros. A symbolic link has its target as soon as its name is there, since there is no way to sync a link.
"""

from __future__ import annotations

import os
import random
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from ansible_collections.accelerator.ops.tests.crash import driver
from ansible_collections.accelerator.ops.tests.crash.node import OWN

ALL_UP_TO = 6
"""So many pending changes of names are tried in all combinations; of more, a part drawn by chance."""

_CALL = re.compile(r"^(\w+)\((.*)\)\s+= (\d+)(.*)$")
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(?:\.\.\.)?')


class Inode(NamedTuple):
    """A file, link or folder: ``mode`` with its type, and its content (of a folder: names to inodes)."""

    mode: int
    uid: int
    gid: int
    xattrs: tuple[tuple[str, bytes], ...]
    content: Union[bytes, str, None]


class Names(NamedTuple):
    """Names in a folder that change together: to an inode, or to nothing."""

    folder: int
    changes: tuple[tuple[str, Optional[int]], ...]


class Data(NamedTuple):
    """Bytes written to a file at an offset; None: it was cut or stretched to ``offset``."""

    inode: int
    offset: int
    content: Optional[bytes]


class Attribute(NamedTuple):
    """A change of mode, owner or an extended attribute."""

    inode: int
    changes: tuple[tuple[str, Any], ...]


Pending = Union[Names, Data, Attribute]
Sync = int
Tree = dict[str, Inode]
"""A state by path."""


class World:
    """Inodes, and for each folder its names: as they are on the disk."""

    def __init__(self) -> None:
        self.inodes: dict[int, Inode] = {}
        self.names: dict[int, dict[str, int]] = {}

    def copy(self) -> World:
        """Another one that can be changed."""
        other = World()
        other.inodes = dict(self.inodes)
        other.names = {folder: dict(names) for folder, names in self.names.items()}
        return other

    def add(self, inode: Inode) -> int:
        """A new inode's number."""
        number = len(self.inodes) + 1
        self.inodes[number] = inode
        if stat.S_ISDIR(inode.mode):
            self.names[number] = {}
        return number

    def do(self, one: Pending) -> None:
        """Let a change be there."""
        if isinstance(one, Names):
            names = self.names[one.folder]
            for name, inode in one.changes:
                names.pop(name, None)
                if inode is not None:
                    names[name] = inode
            return
        inode = self.inodes[one.inode]
        if isinstance(one, Attribute):
            self.inodes[one.inode] = _with(inode, one.changes)
            return
        assert isinstance(inode.content, bytes)
        content = inode.content
        if one.content is None:
            content = content[: one.offset].ljust(one.offset, b"\0")
        else:
            content = content.ljust(one.offset, b"\0")
            content = content[: one.offset] + one.content + content[one.offset + len(one.content) :]
        self.inodes[one.inode] = inode._replace(content=content)

    def tree(self, folder: int = 1, path: str = "") -> Iterator[tuple[str, Inode]]:
        """Everything that has a name."""
        for name, number in sorted(self.names[folder].items()):
            yield f"{path}/{name}", self.inodes[number]
            if number in self.names:
                yield from self.tree(number, f"{path}/{name}")

    def reached(self) -> set[int]:
        """The inodes that have a name."""
        found, pending = set(), [1]
        while pending:
            for number in self.names.get(pending.pop(), {}).values():
                found.add(number)
                pending.append(number)
        return found

    def at(self, path: str) -> Optional[int]:
        """The inode with a path, links not followed."""
        number = 1
        for part in [part for part in path.split("/") if part]:
            found = self.names.get(number, {}).get(part)
            if found is None:
                return None
            number = found
        return number


def _with(inode: Inode, changes: Sequence[tuple[str, Any]]) -> Inode:
    for name, value in changes:
        if name == "mode":
            inode = inode._replace(mode=stat.S_IFMT(inode.mode) | value)
        elif name == "owner":
            inode = inode._replace(uid=value[0], gid=value[1])
        else:
            inode = inode._replace(xattrs=tuple(sorted({**dict(inode.xattrs), name: value}.items())))
    return inode


def world_of(root: Path) -> World:
    """What is below a root now, all of it on the disk."""
    world = World()
    top = world.add(Inode(stat.S_IFDIR | 0o755, 0, 0, (), None))
    for name in OWN:
        _read(world, top, name, root / name)
    return world


def _read(world: World, folder: int, name: str, place: Path) -> None:
    seen = os.lstat(place)
    content: Union[bytes, str, None] = None
    xattrs: tuple[tuple[str, bytes], ...] = ()
    if stat.S_ISLNK(seen.st_mode):
        content = os.readlink(place)
    else:
        xattrs = tuple(sorted((key, os.getxattr(place, key)) for key in os.listxattr(place)))
        content = place.read_bytes() if stat.S_ISREG(seen.st_mode) else None
    number = world.add(Inode(seen.st_mode, seen.st_uid, seen.st_gid, xattrs, content))
    world.names[folder][name] = number
    if stat.S_ISDIR(seen.st_mode):
        for inner in sorted(os.listdir(place)):
            _read(world, number, inner, place / inner)


def write(tree: Tree, root: Path) -> None:
    """Make a state on an empty root."""
    for path, inode in tree.items():
        place = root / path[1:]
        if stat.S_ISDIR(inode.mode):
            place.mkdir()
        elif stat.S_ISLNK(inode.mode):
            place.symlink_to(str(inode.content))
        else:
            place.write_bytes(inode.content if isinstance(inode.content, bytes) else b"")
        os.chown(place, inode.uid, inode.gid, follow_symlinks=False)
        for name, value in inode.xattrs:
            os.setxattr(place, name, value)
        if not stat.S_ISLNK(inode.mode):
            os.chmod(place, stat.S_IMODE(inode.mode))


class Run:
    """The operations of a run, read from its log, on what was there before."""

    def __init__(self, before: World, root: Path, log: str) -> None:
        self.before, self._root = before, str(root)
        self.seen = before.copy()  # as the run itself sees it
        self.born: dict[int, Inode] = {}
        self.done: list[Union[Pending, Sync]] = []
        self._files: dict[int, tuple[int, int]] = {}
        is_begun = False
        for line in log.splitlines():
            call = _CALL.match(line)
            if call is None:
                is_begun = is_begun or _hex(driver.BEGIN) in line
                continue
            if is_begun:
                self._read(call.group(1), call.group(2), int(call.group(3)))

    def _add(self, one: Pending) -> None:
        self.done.append(one)
        self.seen.do(one)

    def _new(self, path: str, inode: Inode) -> int:
        number = self.seen.add(inode)
        self.born[number] = inode
        folder, _slash, name = path.rpartition("/")
        self._add(Names(self._at(folder), ((name, number),)))
        return number

    def _at(self, path: str) -> int:
        number = self.seen.at(path)
        if number is None:
            raise AssertionError(f"the log speaks of {path}, which is not there")
        return number

    def _inside(self, path: str) -> Optional[str]:
        if path == self._root:
            return ""
        inner = path[len(self._root) :] if path.startswith(f"{self._root}/") else None
        return inner if inner is not None and inner.split("/")[1] in OWN else None

    def _read(self, name: str, arguments: str, result: int) -> None:
        texts = [bytes.fromhex(one.replace("\\x", "")) for one in _STRING.findall(arguments)]
        rest = _STRING.sub("", arguments)
        numbers = [int(one, 8 if one.startswith("0") else 10) for one in re.findall(r"(?:, )(-?\d+)\b", rest)]
        if name in ("openat", "creat"):
            self._open(os.fsdecode(texts[0]), arguments, result, numbers)
        elif re.match(r"\d+", arguments):
            self._to_file(name, int(re.match(r"\d+", arguments).group()), texts, numbers, result)  # type: ignore[union-attr]
        elif texts:
            paths = [self._inside(os.fsdecode(one)) for one in texts]
            self._to_path(name, os.fsdecode(texts[0]), paths, texts, numbers)

    def _open(self, path: str, arguments: str, handle: int, numbers: Sequence[int]) -> None:
        inner = self._inside(path)
        self._files.pop(handle, None)
        if inner is None:
            return
        number = self.seen.at(inner)
        if number is None:
            assert "O_CREAT" in arguments, path
            number = self._new(inner, Inode(stat.S_IFREG | numbers[-1], os.geteuid(), os.getegid(), (), b""))
        elif "O_TRUNC" in arguments:
            self._add(Data(number, 0, None))
        self._files[handle] = (number, 0)

    def _to_file(self, name: str, handle: int, texts: Sequence[bytes], numbers: Sequence[int], result: int) -> None:
        if handle not in self._files:
            return
        inode, offset = self._files[handle]
        if name == "write":
            self._add(Data(inode, offset, texts[0][:result]))
            self._files[handle] = (inode, offset + result)
        elif name == "pwrite64":
            self._add(Data(inode, numbers[-1], texts[0][:result]))
        elif name == "lseek":
            self._files[handle] = (inode, result)
        elif name == "ftruncate":
            self._add(Data(inode, numbers[0], None))
        elif name in ("fsync", "fdatasync"):
            self.done.append(inode)
        elif name == "fchmod":
            self._add(Attribute(inode, (("mode", numbers[0]),)))
        elif name == "fchown":
            self._add(Attribute(inode, (("owner", (numbers[0], numbers[1])),)))
        elif name == "fsetxattr":
            self._add(Attribute(inode, ((os.fsdecode(texts[0]), texts[1]),)))
        else:
            raise AssertionError(f"a call that the model does not know: {name}")

    def _to_path(
        self,
        name: str,
        first: str,
        paths: Sequence[Optional[str]],
        texts: Sequence[bytes],
        numbers: Sequence[int],
    ) -> None:
        if name == "symlink":
            if paths[1] is not None:
                inode = Inode(stat.S_IFLNK | 0o777, os.geteuid(), os.getegid(), (), first)
                self._new(paths[1], inode)
            return
        path = paths[0]
        if path is None:
            return
        folder, _slash, leaf = path.rpartition("/")
        if name == "mkdir":
            self._new(path, Inode(stat.S_IFDIR | numbers[-1], os.geteuid(), os.getegid(), (), None))
        elif name in ("unlink", "rmdir"):
            self._add(Names(self._at(folder), ((leaf, None),)))
        elif name == "rename":
            assert paths[1] is not None
            goal, _slash, there = paths[1].rpartition("/")
            assert goal == folder, "a rename from one folder to another is not in the model"
            self._add(Names(self._at(folder), ((leaf, None), (there, self._at(path)))))
        elif name == "chmod":
            self._add(Attribute(self._at(path), (("mode", numbers[0]),)))
        elif name in ("chown", "lchown"):
            self._add(Attribute(self._at(path), (("owner", (numbers[0], numbers[1])),)))
        elif name in ("setxattr", "lsetxattr"):
            self._add(Attribute(self._at(path), ((os.fsdecode(texts[1]), texts[2]),)))
        else:
            raise AssertionError(f"a call that the model does not know: {name}")


def _hex(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


class State(NamedTuple):
    """What a power cut may leave after so many operations; ``is_end``: after the last one, when all was promised."""

    after: int
    tree: Tree
    is_end: bool
    what: str


def states(run: Run, chance: random.Random) -> Iterator[State]:
    """Every different state, with the first place in the run at which it can arise, and then those at its end."""
    known: set[int] = set()
    disk = run.before.copy()
    for number, inode in run.born.items():
        disk.inodes[number] = inode
        if stat.S_ISDIR(inode.mode):
            disk.names[number] = {}
    pending: list[Pending] = []
    for after in range(len(run.done) + 1):
        is_end = after == len(run.done)
        if is_end:
            known.clear()  # what was an honest state on the way is none any more
        for tree, what in _cuts(disk, pending, chance):
            mark = hash(frozenset(tree.items()))
            if mark not in known:
                known.add(mark)
                yield State(after, tree, is_end, what)
        if not is_end:
            _go_on(disk, pending, run.done[after])


def _go_on(disk: World, pending: list[Pending], one: Union[Pending, Sync]) -> None:
    """One operation later."""
    if not isinstance(one, int):
        pending.append(one)
        return
    synced = [each for each in pending if one == (each.folder if isinstance(each, Names) else each.inode)]
    for each in synced:
        disk.do(each)
    pending[:] = [each for each in pending if each not in synced]


def _cuts(disk: World, pending: Sequence[Pending], chance: random.Random) -> Iterator[tuple[Tree, str]]:
    """The states that pending operations allow."""
    names = [one for one in pending if isinstance(one, Names)]
    for chosen in _chosen(names, chance):
        world = disk.copy()
        for one in chosen:
            world.do(one)
        reached = world.reached()
        others = [one for one in pending if not isinstance(one, Names) and one.inode in reached]
        for kept, what in _others(others):
            last = world.copy()
            for each in kept:
                last.do(each)
            yield dict(last.tree()), f"{len(chosen)} of {len(names)} names, {what}"


def _chosen(names: Sequence[Names], chance: random.Random) -> Iterator[list[Names]]:
    """Which changes of names are there: none without those before it to the same name."""
    count = len(names)
    if count <= ALL_UP_TO:
        masks = set(range(1 << count))
    else:
        whole = (1 << count) - 1
        masks = {0, whole, *(1 << one for one in range(count)), *(whole ^ (1 << one) for one in range(count))}
        masks |= {(1 << one) - 1 for one in range(count)}
        masks |= {chance.getrandbits(count) for _number in range(1 << ALL_UP_TO)}
    closed = set()
    for mask in sorted(masks):
        kept: list[int] = []
        for number, one in enumerate(names):
            lacks = any(
                number_before not in kept and _meet(names[number_before], one) for number_before in range(number)
            )
            if mask >> number & 1 and not lacks:
                kept.append(number)
        closed.add(tuple(kept))
    for kept_numbers in sorted(closed):
        yield [names[number] for number in kept_numbers]


def _meet(one: Names, other: Names) -> bool:
    return one.folder == other.folder and bool(
        {name for name, _to in one.changes} & {name for name, _to in other.changes}
    )


def _others(others: Sequence[Union[Data, Attribute]]) -> Iterator[tuple[list[Union[Data, Attribute]], str]]:
    """Which data and attributes are there: all, none, and each file's by itself lost or spoilt in each way."""
    yield list(others), "all data"
    if not others:
        return
    yield [], "no data"
    for inode in sorted({one.inode for one in others}):
        mine = [one for one in others if one.inode == inode]
        rest = [one for one in others if one.inode != inode]
        yield rest, f"no data of {inode}"
        yield [one for one in others if isinstance(one, Attribute)], "attributes alone"
        for number, one in enumerate(mine):
            yield rest + mine[:number], f"data of {inode} up to {number}"
            if isinstance(one, Data) and one.content:
                for spoilt, how in _spoilt(one):
                    yield rest + mine[:number] + [spoilt], f"data of {inode} {how}"


def _spoilt(data: Data) -> Iterator[tuple[Data, str]]:
    """Data that was written in part: cut, its end missing, its beginning missing, all zeros; and cut at a block."""
    assert data.content is not None
    size = len(data.content)
    half = size // 2
    yield data._replace(content=data.content[:half]), "cut in the middle"
    yield data._replace(content=data.content[:-1]), "without its last byte"
    yield data._replace(content=b"\0" * size), "as zeros"
    yield data._replace(content=data.content[:half] + b"\0" * (size - half)), "with zeros at its end"
    yield data._replace(content=b"\0" * half + data.content[half:]), "with zeros at its beginning"
    for block in range(512, size, 4096):
        edge = block - data.offset % 512
        if 0 < edge < size:
            yield data._replace(content=data.content[:edge]), f"cut at {edge}"
            yield data._replace(content=b"\0" * edge + data.content[edge:]), f"with {edge} zeros at its beginning"
