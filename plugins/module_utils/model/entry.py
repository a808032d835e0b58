# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An entry of a tree that is laid out."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """``kind`` is one of ``dir file link char block``.

    ``target`` of a link is relative to its folder. A device file keeps its numbers, mode and owners in the tree's
    manifest, so that laying it out needs no root.
    """

    kind: str
    content: bytes = b""
    target: str = ""
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    major: int = 0
    minor: int = 0
