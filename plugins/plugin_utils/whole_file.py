# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes files of the control host, and removes what runs that were killed left of theirs."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
import uuid
from collections.abc import Sequence

_STALE_SECONDS = 3600
"""No run writes one file, or lays one machine out, for so long. Whether a run still goes on cannot be asked: it may be
in another container or on another machine that has the folder too."""
_TEMPORARY = re.compile(r"\.accelerator-ops-[0-9a-f]{32}\.tmp\Z")


def temporary(folder: str) -> str:
    """A path in ``folder`` for what is not finished yet; ``sweep`` knows it by its name."""
    return os.path.join(folder, f".accelerator-ops-{uuid.uuid4().hex}.tmp")


def sweep(folder: str) -> None:
    """Remove unfinished files and folders that a killed run left in ``folder`` more than an hour ago.

    What cannot be looked at or removed stays.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        old = time.time() - _STALE_SECONDS
        for entry in [entry for entry in entries if _TEMPORARY.match(entry.name)]:
            with contextlib.suppress(OSError):
                if entry.stat(follow_symlinks=False).st_mtime >= old:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)


def write(path: str, content: bytes, mode: int) -> None:
    """Write a file whole or not at all, and still there after a power cut. Raises OSError.

    ``mode`` is that of a new file, less what the umask takes away.
    """
    write_all([(path, content)], mode)


def write_all(files: Sequence[tuple[str, bytes]], mode: int) -> None:
    """Write files of one folder, each whole, and none before there is room for all of them. Raises OSError.

    They take their places in the order given; a run that is killed between two leaves the later ones as they were.
    """
    unfinished: list[tuple[str, str]] = []
    try:
        for path, content in files:
            unfinished.append((temporary(os.path.dirname(path)), path))
            handle = os.open(unfinished[-1][0], os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            with os.fdopen(handle, "wb") as target:
                target.write(content)
                target.flush()
                os.fsync(target.fileno())
        for made, path in unfinished:
            os.replace(made, path)
    finally:
        for made, _path in unfinished:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(made)
    parent = os.open(os.path.dirname(files[0][0]), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(parent)
    finally:
        os.close(parent)
