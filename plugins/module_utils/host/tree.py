# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lay a tree out in an empty folder. Needs no root: device files are empty files that the manifest explains."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ..model.entry import Entry
from ..model.errors import InputError
from .door import MANIFEST


def write(root: str, entries: Mapping[str, Entry]) -> None:
    """Write the entries (absolute path of the tree to entry) below ``root``, which must be new or empty.

    Raises InputError when ``root`` holds something, is a file, or cannot be made.
    """
    try:
        os.makedirs(root, exist_ok=True)
        if os.listdir(root):
            raise InputError("lay out", root, "it is not empty", "a new or empty folder", "name another folder")
        noted = {}
        for path in sorted(entries):
            entry = entries[path]
            place = root + path
            if entry.kind == "dir":
                os.makedirs(place, exist_ok=True)
            elif entry.kind == "link":
                os.symlink(entry.target, place)
            else:
                with open(place, "xb") as handle:
                    handle.write(entry.content)
            if entry.kind in ("char", "block"):
                noted[path] = {
                    "kind": entry.kind,
                    "mode": entry.mode,
                    "uid": entry.uid,
                    "gid": entry.gid,
                    "major": entry.major,
                    "minor": entry.minor,
                }
        with open(root + MANIFEST, "x", encoding="utf-8") as handle:
            json.dump(noted, handle, indent=1, sort_keys=True)
            handle.write("\n")
    except OSError as error:
        raise InputError(
            "lay out", root, str(error.strerror or error), "a folder that can be written", "name another folder"
        ) from None
