# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the small texts of a Linux kernel and its modules. A text that is not understood is a ValueError."""

from __future__ import annotations

import re
from collections.abc import Collection

# Documentation/admin-guide/tainted-kernels.rst and kernel/panic.c of Linux 6.15 (read 2026-12). Bit 0 is
# printed as G while it is clear; that letter says nothing is wrong and is left out.
TAINT_LETTERS = "PFSRMBUDAWCIOELKXTNJ"

_CGROUP_TYPES = {"cgroup": 1, "cgroup2": 2}
_RELEASE = re.compile(r"[0-9A-Za-z][\w.+~-]{0,63}\Z", re.ASCII)
_REMOVES = re.compile(r"\s(?:-[a-z]*r[a-z]*|--remove)(?:\s|\Z)")


def read_release(text: str) -> str:
    """A kernel release, fit to be a part of a path."""
    if not _RELEASE.match(text):
        raise ValueError("no kernel release")
    return text


def read_taint(text: str) -> dict[str, object]:
    """``{value, flags}`` of ``/proc/sys/kernel/tainted``; a bit that no letter is known for is ``bit20``."""
    if not (text.isascii() and text.isdigit() and len(text) < 21):
        raise ValueError("no taint value")
    value = int(text)
    flags = [
        TAINT_LETTERS[bit] if bit < len(TAINT_LETTERS) else f"bit{bit}"
        for bit in range(value.bit_length())
        if value >> bit & 1
    ]
    return {"value": value, "flags": flags}


def read_loaded(text: str) -> frozenset[str]:
    """The names in ``/proc/modules``; those that are just being unloaded are not loaded."""
    names = set()
    for line in text.splitlines():
        # name size use-count users state address
        fields = line.split()
        if len(fields) < 5 or not fields[1].isdigit():
            raise ValueError("no module list")
        if fields[4] != "Unloading":
            names.add(fields[0])
    return frozenset(names)


def same_name(name: str) -> str:
    """The name that the kernel uses for a module: dashes and underscores are equal."""
    return name.replace("-", "_")


def find_files(listing: str, names: Collection[str]) -> dict[str, str]:
    """Name to path for those of ``names`` that ``modules.dep`` or ``modules.builtin`` has."""
    found: dict[str, str] = {}
    for line in listing.splitlines():
        path = line.partition(":")[0].strip()
        name = same_name(path.rpartition("/")[2].partition(".")[0])
        if name in names:
            found.setdefault(name, path)
    return found


def find_stand_in(text: str, name: str) -> str | None:
    """The module that a ``modprobe.d`` file loads for ``name`` by ``alias`` or ``install … modprobe``, or None.

    Debian names NVIDIA's module ``nvidia-current`` and installs it in the place of ``nvidia``.
    """
    for line in text.replace("\\\n", " ").splitlines():
        words = line.split()
        if len(words) < 3 or same_name(words[1]) != name:
            continue
        if words[0] == "alias":
            return same_name(words[2])
        if words[0] == "install":
            # The last module that the command loads; options and shell variables are none.
            commands = re.split(r"[;&|]+", line.split(None, 2)[2])
            for command in reversed(commands):
                target = re.match(r"\s*(?:/\S*/)?modprobe((?:\s+-\S+)*)\s+([\w-]+)", command)
                if target and same_name(target.group(2)) != name and not _REMOVES.search(target.group(1)):
                    return same_name(target.group(2))
    return None


def read_cgroup_version(mounts: str) -> int | None:
    """1 or 2 from ``/proc/mounts``; 1 where both are mounted (hybrid: controllers are those of version 1)."""
    versions = set()
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 4:
            raise ValueError("no list of mounts")
        point = fields[1]
        if fields[2] in _CGROUP_TYPES and (point == "/sys/fs/cgroup" or point.startswith("/sys/fs/cgroup/")):
            versions.add(_CGROUP_TYPES[fields[2]])
    return min(versions, default=None)
