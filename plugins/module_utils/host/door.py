# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only door to a node. It opens on ``/``, on a tree that stands for a node, or on a recording, and never leaves it.

A recording is one archive, and is read in memory. Inside a tree, absolute links and ``..`` are resolved as the node
itself would resolve them (as after a chroot), so that a link to ``/etc`` in a tree can never read the machine that the
tree lies on.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING, Optional, Union

from ..model.answer import MISSING, NOT_RECORDED, Answer, Names, Status
from ..model.errors import InputError, ProbeError

if TYPE_CHECKING:
    from .recording import Archive, Stat

    Looked = Union[os.stat_result, Stat]

MANIFEST = "/.accelerator-manifest.json"
"""Owners, modes and special files of a tree that was laid out without root: ``{path: {kind, mode, ...}}``."""

_MAX_LINKS = 40  # as Linux: more links in one path is ELOOP
_MAX_BYTES = 4 * 1024 * 1024  # no sysfs or configuration file that facts are read from comes near
KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "dir",
    stat.S_IFLNK: "link",
    stat.S_IFCHR: "char",
    stat.S_IFBLK: "block",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
}


_NO_FILES = ("char", "block", "fifo", "socket")


def _opened(root: str) -> tuple[str, str]:
    """The real path of a root, and whether it is a ``dir`` or a ``file``. Raises InputError for all else."""
    found = "neither a folder nor a file"
    try:
        real = os.path.realpath(root)
        kind = KINDS.get(stat.S_IFMT(os.stat(real).st_mode), "")
        if kind in ("dir", "file"):
            return real, kind
    except ValueError:
        found = "a null byte in the path"
    except OSError as error:
        is_gone = error.errno in (errno.ENOENT, errno.ENOTDIR)
        found = "no such folder" if is_gone else os.strerror(error.errno or 0)
    raise InputError("open", f"root {root}", found, "a folder", "name the root of a node's tree")


def _why(error: OSError) -> str:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return MISSING
    if error.errno in (errno.EACCES, errno.EPERM):
        return "permission denied"
    if error.strerror == NOT_RECORDED:
        return NOT_RECORDED
    return f"cannot be read ({os.strerror(error.errno or 0)})"


class Host:
    """A node seen through its root folder.

    ``is_live`` is true only for ``/``: there the running kernel answers and commands may run.
    ``read_paths`` holds every path that was asked for. ``ran`` holds what programs said in this run (``command.run``),
    ``answers`` what they said when a node was recorded: in both ``{argv: (status, stdout, reason)}``.
    """

    def __init__(self, root: str = "/") -> None:
        if not root:
            raise InputError("open", "root ''", "an empty path", "a folder", "name the root of a node's tree")
        self.root, kind = _opened(root)
        self.is_live = self.root == "/"
        self.read_paths: set[str] = set()
        self.ran: dict[tuple[str, ...], tuple[Optional[int], str, Optional[str]]] = {}
        self.answers: dict[tuple[str, ...], tuple[Optional[int], str, Optional[str]]] = {}
        self._archive: Optional[Archive] = None
        self._real: dict[str, str] = {"/": "/"}
        self._manifest: Optional[dict[str, Status]] = None
        if kind == "file":
            from .recording import Archive  # compiled only where a root is a file

            self._archive = Archive(self.root)
            self.answers = self._archive.answers

    @property
    def is_node(self) -> bool:
        """Whether this is the running system or the recording of one: folders are whole, and programs answer."""
        return self.is_live or (self._archive is not None and self._archive.is_node)

    def read(self, path: str) -> Answer:
        """The text of a file, without white space around it. Undecodable bytes are a reason, not a value."""
        content, reason = self.read_bytes(path)
        if content is None:
            return Answer(None, reason)
        if len(content) >= _MAX_BYTES:
            return Answer(None, f"larger than {_MAX_BYTES // 1048576} MiB")
        try:
            return Answer(content.decode("utf-8").strip("\0 \t\r\n"), None)
        except UnicodeDecodeError:
            return Answer(None, "not UTF-8 text")

    def read_bytes(self, path: str, limit: int = _MAX_BYTES, offset: int = 0) -> tuple[bytes | None, str | None]:
        """Up to ``limit`` bytes of a file from ``offset`` on, or None and the reason."""
        self.read_paths.add(path)
        folder, _slash, leaf = path.rpartition("/")
        try:
            # Most paths end in no link: asking the kernel to refuse one costs a third of looking at each first.
            if leaf not in ("", ".", ".."):
                place = self._inside(f"{self.real_path(folder).rstrip('/')}/{leaf}" if folder else path)
                try:
                    return self._read_raw(place, limit, offset), None
                except OSError as error:
                    if error.errno != errno.ELOOP:
                        raise
            return self._read_raw(self._inside(self.real_path(path)), limit, offset), None
        except OSError as error:
            return None, _why(error)

    def size(self, path: str) -> tuple[int | None, str | None]:
        """The size of a file in bytes, links followed, or None and the reason."""
        self.read_paths.add(path)
        try:
            return self._look_at(self._inside(self.real_path(path))).st_size, None
        except OSError as error:
            return None, _why(error)

    def changed_seconds(self, path: str) -> Optional[float]:
        """When a file was last written, links followed; None where that is not known: no recording holds it."""
        self.read_paths.add(path)
        try:
            return self._look_at(self._inside(self.real_path(path))).st_mtime
        except OSError:
            return None

    def list(self, path: str) -> Names:
        """The sorted names in a folder."""
        self.read_paths.add(path)
        try:
            return Names(tuple(sorted(self._names_in(self._inside(self.real_path(path))))), None)
        except OSError as error:
            return Names(None, _why(error))

    def resolve(self, path: str) -> Answer:
        """Where a path leads on the node, all links followed."""
        self.read_paths.add(path)
        try:
            real = self.real_path(path)
            self._look_at(self._inside(real))
        except OSError as error:
            return Answer(None, _why(error))
        return Answer(real, None)

    def link(self, path: str) -> Answer:
        """What a link says, whether or not it leads anywhere: its bare target."""
        self.read_paths.add(path)
        folder, _slash, leaf = path.rpartition("/")
        try:
            return Answer(self._target_of(self._inside(f"{self.real_path(folder or '/').rstrip('/')}/{leaf}")), None)
        except OSError as error:
            return Answer(None, "not a link" if error.errno == errno.EINVAL else _why(error))

    def exists(self, path: str) -> bool:
        """Whether the path is there (a file that may not be read is)."""
        return self.resolve(path).value is not None

    def status(self, path: str) -> tuple[Status | None, str | None]:
        """Type, mode, owner and device number of a path, links followed; a tree's manifest speaks first."""
        self.read_paths.add(path)
        try:
            real = self.real_path(path)
            noted = self._noted(real)
            if noted is not None:
                return noted, None
            seen = self._look_at(self._inside(real))
        except OSError as error:
            return None, _why(error)
        return Status(
            KINDS.get(stat.S_IFMT(seen.st_mode), "file"),
            stat.S_IMODE(seen.st_mode),
            seen.st_uid,
            seen.st_gid,
            os.major(seen.st_rdev),
            os.minor(seen.st_rdev),
        ), None

    def real_path(self, path: str) -> str:
        """Resolve links in ``path`` inside the root; the last part need not exist. Raises OSError on a loop."""
        known = self._real.get(path)
        if known is not None:
            return known
        folder, _slash, leaf = path.rpartition("/")
        start = self._real.get(folder, "") if leaf != ".." else ""
        pending = [part for part in reversed((leaf if start else path).split("/")) if part not in ("", ".")]
        done, links = ("" if start == "/" else start), 0
        while pending:
            part = pending.pop()
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            here = f"{done}/{part}"
            known = self._real.get(here)
            if known is None:
                try:
                    target = self._target_of(self._inside(here))
                except OSError as error:
                    if error.errno not in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR):
                        raise
                    if pending:  # only folders are worth remembering: each leaf is read once
                        self._real[here] = here
                    done = here
                    continue
                links += 1
                if links > _MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                if target.startswith("/"):
                    done = ""
                pending.extend(part for part in reversed(target.split("/")) if part not in ("", "."))
                continue
            done = known
        self._real[path] = done or "/"
        return done or "/"

    def _inside(self, real: str) -> str:
        return real if self.is_live or self._archive is not None else self.root + real

    # The four methods below are all that touches the node. Each raises OSError.

    def _look_at(self, place: str) -> Looked:
        return os.lstat(place) if self._archive is None else self._archive.look_at(place)

    def _names_in(self, place: str) -> Sequence[str]:
        return os.listdir(place) if self._archive is None else self._archive.names_in(place)

    def _target_of(self, place: str) -> str:
        return os.readlink(place) if self._archive is None else self._archive.target_of(place)

    def _read_raw(self, place: str, limit: int, offset: int = 0) -> bytes:
        """The one place that reads bytes. Never blocks on a FIFO, and opens no device that lies in a tree."""
        if self._archive is not None:
            return self._archive.read(place, limit, offset)
        if not self.is_live and KINDS.get(stat.S_IFMT(os.lstat(place).st_mode)) in _NO_FILES:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            if offset:
                os.lseek(handle, offset, os.SEEK_SET)
            chunks = []
            left = limit
            while left > 0:
                chunk = os.read(handle, min(left, 65536))
                if not chunk:
                    break
                chunks.append(chunk)
                if len(chunk) < min(left, 4096) and not place.startswith("/proc/"):
                    break  # the end: only procfs gives less than a page where more follows
                left -= len(chunk)
            return b"".join(chunks)
        finally:
            os.close(handle)

    def _noted(self, real: str) -> Status | None:
        if self.is_live or self._archive is not None:
            return None
        if self._manifest is None:
            self._manifest = self._read_manifest()
        return self._manifest.get(real)

    def _read_manifest(self) -> dict[str, Status]:
        content, _reason = self.read_bytes(MANIFEST)
        if content is None:
            return {}
        try:
            return {path: _status(entry) for path, entry in json.loads(content).items()}
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            raise ProbeError(
                "read",
                self.root + MANIFEST,
                "content of another form",
                "the manifest of a laid-out tree",
                "lay the tree out again",
            ) from None


def _status(entry: dict[str, int | str]) -> Status:
    """A manifest's entry; what it does not name is an ordinary file of root."""

    def number(key: str, default: int = 0) -> int:
        return int(entry.get(key, default))

    kind = str(entry.get("kind", "file"))
    return Status(kind, number("mode", 0o644), number("uid"), number("gid"), number("major"), number("minor"))
