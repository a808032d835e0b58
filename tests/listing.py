# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything below a folder, as it is compared before and after a change."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Entry = tuple[Any, ...]
"""Type and mode, owner, group, extended attributes, and the content of a file or the target of a link."""


def entry(path: str) -> Entry:
    """What there is to compare of a path."""
    seen = os.lstat(path)
    names = os.listxattr(path, follow_symlinks=False)
    xattrs = {name: os.getxattr(path, name, follow_symlinks=False) for name in names}
    content: Any = os.readlink(path) if stat.S_ISLNK(seen.st_mode) else None
    if stat.S_ISREG(seen.st_mode):
        content = Path(path).read_bytes()
    return (seen.st_mode, seen.st_uid, seen.st_gid, xattrs, content)


def entries(root: Path, but: str = "") -> Iterator[tuple[str, Entry]]:
    """Each path below a root, as the root's own, without the one named ``but`` and what is in it."""
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if f"{folder}/{name}" != f"{root}{but}"]
        for name in [*names, *files]:
            path = os.path.join(folder, name)
            if path != f"{root}{but}":
                yield path[len(str(root)) :], entry(path)
