# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether there is room for changes: rights, and the space of a file system."""

from __future__ import annotations

import os
from typing import NamedTuple, Optional

from .door import Host


class Room(NamedTuple):
    """The folder at ``path``, or the nearest above it that is there: what keeps this process from writing in it.

    ``free_kib`` and ``free_inodes`` are those that this process may use; None where the file system counts none.
    """

    path: str
    is_read_only: bool
    is_writable: bool
    free_kib: Optional[int]
    free_inodes: Optional[int]


def is_root() -> bool:
    """Whether this process runs as root."""
    return os.geteuid() == 0


def room(host: Host, path: str) -> Room:
    """The room for files below ``path``, whose last part may be missing. Raises OSError."""
    while path != "/" and not host.exists(path):
        path = path.rpartition("/")[0] or "/"
    real = _real(host, path)
    seen = os.statvfs(real)
    is_read_only = bool(seen.f_flag & os.ST_RDONLY)
    is_user = os.geteuid() != 0
    # A file system that makes its nodes as it goes (btrfs) counts none, and says 0 of 0.
    inodes = (seen.f_favail if is_user else seen.f_ffree) if seen.f_files else None
    blocks = (seen.f_bavail if is_user else seen.f_bfree) if seen.f_blocks else None
    return Room(
        path,
        is_read_only,
        os.access(real, os.W_OK | os.X_OK),
        None if blocks is None else blocks * seen.f_frsize // 1024,
        inodes,
    )


def _real(host: Host, path: str) -> str:
    real = host.real_path(path)
    return real if host.is_live else f"{host.root}{real}".rstrip("/")
