# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One exclusive lock on a file, held until the process ends; and the clocks that no one can set."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import select
import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Optional

_GONE = "gone"
_LOOK_SECONDS = 0.05
_ORPHAN_SECONDS = 120.0
"""A program that a killed module had started goes on and keeps its lock (making an initramfs takes a minute)."""


class Now(NamedTuple):
    """The boot that this machine is in, and seconds since then: no change of the wall clock moves them."""

    boot: str
    seconds: float

    def since(self, boot: str, seconds: float) -> float:
        """Seconds since a moment; since the boot where it lies in an earlier one."""
        return self.seconds - seconds if boot == self.boot else self.seconds


def now() -> Now:
    """The present moment by the boot's clock. Where the kernel has no boot id, the boot is the empty string."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as source:
            boot = source.read().strip()
    except OSError:
        boot = ""
    return Now(boot, time.monotonic())


def stamp() -> str:
    """The time of day in UTC, for humans only."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def process() -> str:
    """This process as ``boot/number/start``, so that it can be told later whether it still runs."""
    return f"{now().boot}/{os.getpid()}/{started(os.getpid()) or _GONE}"


def is_over(told: str) -> bool:
    """Whether the process that ``process`` told of, on this machine, has certainly ended."""
    boot, _slash, rest = told.partition("/")
    number, _slash, start = rest.partition("/")
    if boot != now().boot:
        return True
    return (started(int(number)) or _GONE) != start if number.isdecimal() else False


def started(number: int) -> Optional[str]:
    """When a process began, in ticks since the boot; None where it is over or there is no ``/proc``."""
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as stat:
            # the second field is the name in parentheses and may hold spaces; the state is field 3, the start field 22
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


@contextlib.contextmanager
def alone_in(real: str, deadline_seconds: float) -> Iterator[None]:
    """Be the only one of those that ask for this in a folder. Raises OSError, after the deadline too."""
    handle = os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        end = time.monotonic() + deadline_seconds
        while not _is_taken(handle):
            if time.monotonic() > end:
                raise OSError(errno.EAGAIN, "another run is still at work in it", real)
            select.select([], [], [], _LOOK_SECONDS)
        yield
    finally:
        os.close(handle)


def _is_taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Lock:
    """An exclusive lock on the file at ``real``. Programs that are given ``handle`` hold it too until they end."""

    def __init__(self, real: str) -> None:
        self._real = real
        self.handle = -1

    def take(self, owner: Mapping[str, Any]) -> Optional[Mapping[str, Any]]:
        """Take the lock and write who has it. Returns None, or the owner that has it. Raises OSError.

        Where its owner has ended and only a program that it started is left, that is waited for.
        """
        deadline = time.monotonic() + _ORPHAN_SECONDS
        while True:
            handle = os.open(self._real, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held = _read(handle)
                os.close(handle)
                if not is_over(str(held.get("process"))) or time.monotonic() > deadline:
                    return held
                select.select([], [], [], _LOOK_SECONDS)
                continue
            self.handle = handle
            if self.is_held():
                break
            os.close(handle)  # the file was removed between the two calls: lock the one that is there now
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(dict(owner)).encode(), 0)
        return None

    def is_held(self) -> bool:
        """Whether the locked file is still the one at its path: somebody may have removed it."""
        try:
            there, ours = os.stat(self._real), os.fstat(self.handle)
        except OSError:
            return False
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def release(self) -> None:
        """Give the lock back."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1


def _read(handle: int) -> Mapping[str, Any]:
    try:
        told = json.loads(os.pread(handle, 4096, 0) or b"{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
