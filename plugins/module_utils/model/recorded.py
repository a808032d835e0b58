# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a recording holds: what stood at each path that was looked at, and what programs said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Optional


class Item(NamedTuple):
    """What stood at a path. ``kind`` is one of ``file dir link char block fifo socket hidden`` (hidden: it cannot be
    looked at).

    ``content`` is what was read of a file, zeros where nothing was read before its last byte. ``numbers`` are those
    that were asked for: ``mode uid gid major minor size``. ``error`` names the errno of opening it (``EACCES``), or is
    NOT_RECORDED: it was not opened. ``unread`` are the names in a folder of which nothing is known but that they are
    there; None means that the folder was not listed.
    """

    kind: str
    content: bytes = b""
    target: str = ""
    numbers: Mapping[str, int] = {}
    error: Optional[str] = None
    unread: Optional[tuple[str, ...]] = None


class Said(NamedTuple):
    """What a program said; as ``command.Ran``, under its arguments."""

    argv: tuple[str, ...]
    status: Optional[int]
    stdout: str
    reason: Optional[str]


class Recorded(NamedTuple):
    """A node as it was seen: items by path, programs in the order they were asked.

    ``is_node``: of the running system, so that folders are whole and programs were asked.
    """

    items: Mapping[str, Item]
    said: tuple[Said, ...]
    is_node: bool
    is_masked: bool
