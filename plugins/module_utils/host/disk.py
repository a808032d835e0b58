# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The writing half of the door: look at a path with all that belongs to it, and change it so that it lasts.

A new version is staged beside the path, whole and on the disk, before it takes the path's place in one step. All
functions raise OSError as the system gives it; who calls them says what that means.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from typing import Optional

from ..model.errors import InputError, ProbeError
from ..model.plan import ABSENT, Found, State, digest
from .door import KINDS, Host

_MAX_BYTES = 64 * 1024 * 1024  # configuration files are kilobytes; this only bounds what is held in memory


def writable(host: Host) -> None:
    """Raises InputError for a root that is a recording: it is one archive, and is only read."""
    if not os.path.isdir(host.root):
        raise InputError("change", f"root {host.root}", "a recording", "a folder", "lay it out, and name that folder")


def place(host: Host, path: str) -> str:
    """Where a path of the node lies on this machine, links above its last part resolved inside the root."""
    folder, _slash, leaf = path.rpartition("/")
    if leaf in ("", ".", ".."):
        raise InputError("change", path, "no name at its end", "a path of a file", "name the file")
    real = f"{host.real_path(folder or '/').rstrip('/')}/{leaf}"
    return real if host.is_live else host.root + real


def found(host: Host, path: str) -> Found:
    """What is at a path now, links not followed. Raises ProbeError where it cannot be told."""
    try:
        return _found(place(host, path))
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise ProbeError("read", path, why, "a file that can be read", "run as root") from None


def _found(real: str) -> Found:
    owner = (0, 0) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    try:
        handle = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return Found(ABSENT, b"", owner)
        seen = os.lstat(real)
        kind = KINDS.get(stat.S_IFMT(seen.st_mode), "other")
        if kind == "file":
            raise
        target = os.readlink(real) if kind == "link" else ""
        mode = 0o777 if kind == "link" else stat.S_IMODE(seen.st_mode)
        return Found(State(kind, mode, seen.st_uid, seen.st_gid, "", target, _xattrs(real)), b"", owner)
    try:
        seen = os.fstat(handle)
        kind = KINDS.get(stat.S_IFMT(seen.st_mode), "other")
        content = _whole(handle, seen.st_size) if kind == "file" else b""
        state = State(
            kind,
            stat.S_IMODE(seen.st_mode),
            seen.st_uid,
            seen.st_gid,
            digest(content) if kind == "file" else "",
            "",
            _xattrs(handle),
        )
        return Found(state, content, owner, seen.st_nlink if kind == "file" else 1)
    finally:
        os.close(handle)


def _whole(handle: int, size: int) -> bytes:
    if size > _MAX_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    chunks: list[bytes] = []
    while True:
        chunk = os.read(handle, 1 << 20)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)


def _xattrs(where: int | str) -> tuple[tuple[str, str], ...]:
    """Names and values, sorted. A file system that has none gives none."""
    follows = {} if isinstance(where, int) else {"follow_symlinks": False}
    try:
        names = sorted(os.listxattr(where, **follows))
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EPERM, errno.ENODATA):
            return ()
        raise
    found_values = []
    for name in names:
        value = os.getxattr(where, name, **follows)
        found_values.append((name, base64.b64encode(value).decode("ascii")))
    return tuple(found_values)


def stage(real: str, name: str, state: State, content: bytes) -> str:
    """Make the version ``state`` under the name ``name`` beside ``real``, whole and on the disk. Returns its place.

    What an earlier attempt left under that name is replaced.
    """
    made = os.path.join(os.path.dirname(real), name)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(made)
    if state.kind == "link":
        os.symlink(state.target, made)
        _own(made, state)
        return made
    handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(handle, left) :]
        _own(handle, state)
        os.fchmod(handle, state.mode)  # after the owner: a change of owner clears set-id bits
        os.fsync(handle)
    except OSError:
        os.unlink(made)  # half a file on a full disk would keep it full
        raise
    finally:
        os.close(handle)
    return made


_ACCESS_LIST = "system.posix_acl_access"


def _own(where: int | str, state: State) -> None:
    follows = {} if isinstance(where, int) else {"follow_symlinks": False}
    seen = os.stat(where, **follows)
    if (seen.st_uid, seen.st_gid) != (state.uid, state.gid):
        os.chown(where, state.uid, state.gid, **follows)
    for name, value in state.xattrs:
        os.setxattr(where, name, base64.b64decode(value), **follows)
    if state.kind != "link" and _ACCESS_LIST in dict(_xattrs(where)).keys() - dict(state.xattrs).keys():
        os.removexattr(where, _ACCESS_LIST)  # a folder with a default one gives it to all that is made in it


def swap(made: str, real: str) -> None:
    """Give a staged version its path, in one step. Lasting only after ``sync_folders``."""
    os.replace(made, real)


def remove(real: str) -> None:
    """Remove a file or link, if it is there. Lasting only after ``sync_folders``."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(real)


def make_folder(real: str, state: State) -> None:
    """Make one folder with its mode and owner, if it is not there. Its name lasts only after ``sync_folders``."""
    try:
        os.mkdir(real, 0o700)
    except FileExistsError:
        if not os.path.isdir(real):
            raise
        return
    _own(real, state)
    os.chmod(real, state.mode)
    sync_folders([real])


def remove_folder(real: str) -> bool:
    """Remove a folder that is empty. False where something is in it: then it stays."""
    try:
        os.rmdir(real)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def sync_folders(folders: Iterable[str]) -> None:
    """Make what changed in folders last: names that were made, replaced or removed in them. One may be gone itself."""
    for folder in sorted(set(folders)):
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            continue
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def set_value(host: Host, path: str, value: str) -> None:
    """Write a value of the running kernel. Raises OSError, InputError for another root than the running one."""
    if not host.is_live:
        raise InputError("set", path, f"root {host.root}", "the running system", "run it on the node")
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(handle, value.encode() + b"\n")
    finally:
        os.close(handle)


# What follows takes real places on this machine: the state folder of the collection is kept with it.


def content_of(real: str) -> Optional[bytes]:
    """A whole file, or None where there is none. What is no file is an OSError: a FIFO would be waited for."""
    try:
        handle = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode):
            raise OSError(errno.EINVAL, "not a file", real)
        return _whole(handle, seen.st_size)
    finally:
        os.close(handle)


def names_in(real: str) -> tuple[str, ...]:
    """The sorted names in a folder; none where there is no folder."""
    try:
        return tuple(sorted(os.listdir(real)))
    except (FileNotFoundError, NotADirectoryError):
        return ()


def status_of(real: str) -> Optional[tuple[str, int, int]]:
    """Kind, mode and owner of a path, links not followed, or None where nothing is."""
    try:
        seen = os.lstat(real)
    except FileNotFoundError:
        return None
    return KINDS.get(stat.S_IFMT(seen.st_mode), "other"), stat.S_IMODE(seen.st_mode), seen.st_uid


def is_trusted(owner: int) -> bool:
    """Whether what a user owns may be believed: this process's own user, and root."""
    return owner in (0, os.geteuid())


def put(real: str, content: bytes, lasts: bool = True, mode: int = 0o600) -> None:
    """Write a file whole or not at all. ``lasts`` false: the caller syncs its folder."""
    made = stage(real, unfinished(os.path.basename(real)), _OURS._replace(mode=mode), content)
    try:
        swap(made, real)
    except OSError:
        os.unlink(made)
        raise
    if lasts:
        sync_folders([os.path.dirname(real)])


def unfinished(name: str) -> str:
    """What ``put`` calls a file of that name until it is whole; a crash may leave it."""
    return f".{name}.tmp"


_OURS = State("file", 0o600, os.geteuid(), os.getegid())


def append(real: str, content: bytes, length: int) -> None:
    """Add to a file after its first ``length`` bytes (what a crash left behind them is cut off), and make it last."""
    is_new = not os.path.lexists(real)
    handle = os.open(real, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.ftruncate(handle, length)
        os.lseek(handle, length, os.SEEK_SET)
        left = memoryview(content)
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
    finally:
        os.close(handle)
    if is_new:
        sync_folders([os.path.dirname(real)])


def point(real: str, target: str) -> None:
    """Make a link say ``target``, in one step and lasting."""
    made = stage(real, unfinished(os.path.basename(real)), _OURS._replace(kind="link", target=target), b"")
    swap(made, real)
    sync_folders([os.path.dirname(real)])


def target_of(real: str) -> Optional[str]:
    """What a link says, or None where there is none."""
    try:
        return os.readlink(real)
    except FileNotFoundError:
        return None


def make_folders(real: str, mode: int = 0o755) -> None:
    """Make a folder and those above it that are missing, lasting; the last one with ``mode``."""
    if os.path.isdir(real):
        return
    parent = os.path.dirname(real)
    make_folders(parent)
    with contextlib.suppress(FileExistsError):
        os.mkdir(real, mode)
        os.chmod(real, mode)
    sync_folders([parent])


def remove_tree(real: str) -> None:
    """Remove a folder of ours with the files in it (one level), and make that last."""
    for name in names_in(real):
        remove(f"{real}/{name}")
    if remove_folder(real):
        sync_folders([os.path.dirname(real)])
