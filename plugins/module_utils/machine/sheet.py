# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sheet on which a tree is drawn up before anything is written."""

from __future__ import annotations

import posixpath
from typing import Union

from ..model.entry import Entry


class Sheet:
    """Collects the entries of a tree by path; folders above an entry come by themselves."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}

    def file(self, path: str, content: Union[str, bytes], mode: int = 0o444) -> None:
        """A file. A text without a line end gets one, as the kernel's own files have; bytes stay as they are."""
        if isinstance(content, str):
            content = (content if not content or content.endswith("\n") else content + "\n").encode("utf-8")
        self._put(path, Entry("file", content=content, mode=mode))

    def link(self, path: str, target: str) -> None:
        """A link, relative as the kernel makes them, to an absolute path of the tree."""
        self._put(path, Entry("link", target=posixpath.relpath(target, posixpath.dirname(path))))

    def folder(self, path: str) -> None:
        """A folder, which may stay empty."""
        if path not in ("", "/") and path not in self.entries:
            self._put(path, Entry("dir", mode=0o755))

    def special(self, path: str, kind: str, numbers: tuple[int, int], mode: int, owners: tuple[int, int]) -> None:
        """A device file: ``kind`` char or block, major and minor, mode, user and group number."""
        self._put(path, Entry(kind, b"", "", mode, owners[0], owners[1], numbers[0], numbers[1]))

    def _put(self, path: str, entry: Entry) -> None:
        self.folder(posixpath.dirname(path))
        self.entries[path] = entry
