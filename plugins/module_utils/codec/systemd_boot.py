# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which entry systemd-boot starts next.

Sources, read 2026-11: UAPI Group, Version Format Specification; systemd 257, ``loader.conf(5)``,
``systemd-boot(7)`` and the order in ``src/boot/boot.c``.
"""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Sequence

from .boot_entry import Kernel, Snippet, Undecidable, snippet_kernel

_UAPI_DROPPED = re.compile(r"\A[^0-9A-Za-z~\-^.]+")
_TRIES = re.compile(r"\+(\d+)(?:-\d+)?\Z")


def next_kernel(
    wishes: Sequence[str], loader_conf: str, snippets: Sequence[Snippet], has_unified_images: bool, saved: str | None
) -> Kernel | None:
    """What systemd-boot starts next; None for an EFI program.

    ``wishes`` are the EFI variables that come before ``loader.conf``, strongest first; ``saved`` is the
    one behind ``@saved``. Unified kernel images take part in the order but are not read, so with them
    only a pattern that an entry of a text file matches decides.
    """
    bootable = [one for one in snippets if "linux" in one.fields or "efi" in one.fields]
    ordered = sorted(bootable, key=functools.cmp_to_key(_systemd_order))
    patterns = list(wishes)
    for line in loader_conf.splitlines():
        key, *value = line.split(None, 1) or [""]
        if key == "default" and value:
            if value[0].strip().lower() != "@saved":
                patterns.append(value[0].strip())
            elif saved is not None:
                patterns.append(saved)
    for pattern in patterns:
        matching = [one for one in ordered if fnmatch.fnmatchcase(_systemd_id(one), pattern.lower())]
        may_be_unified = has_unified_images and not pattern.lower().endswith(".conf")
        if matching and not may_be_unified:
            return snippet_kernel(matching[0])
        if may_be_unified:
            raise Undecidable(f"systemd-boot may choose a unified kernel image for {pattern!r}, which is not read")
    if has_unified_images:
        raise Undecidable("systemd-boot sorts unified kernel images among its entries, which are not read")
    if not ordered:
        raise Undecidable("systemd-boot has no entries")
    return snippet_kernel(ordered[0])


def _systemd_id(snippet: Snippet) -> str:
    return _TRIES.sub("", snippet.id).lower() + ".conf"


def _systemd_order(one: Snippet, two: Snippet) -> int:
    spent = [_is_spent(one), _is_spent(two)]
    if spent[0] != spent[1]:
        return 1 if spent[0] else -1
    sort_keys = [one.fields.get("sort-key"), two.fields.get("sort-key")]
    if (sort_keys[0] is None) != (sort_keys[1] is None):
        return 1 if sort_keys[0] is None else -1
    if sort_keys[0] is not None:
        for key in ("sort-key", "machine-id"):
            left, right = one.fields.get(key, ""), two.fields.get(key, "")
            if left != right:
                return 1 if left > right else -1
        order = compare_uapi(one.fields.get("version", ""), two.fields.get("version", ""))
        if order:
            return -order
    return -compare_uapi(_systemd_id(one), _systemd_id(two))


def _is_spent(snippet: Snippet) -> bool:
    tries = _TRIES.search(snippet.id)
    return tries is not None and int(tries.group(1)) == 0


def compare_uapi(one: str, two: str) -> int:
    """-1, 0 or 1 as the UAPI version format, which systemd-boot sorts entries by."""
    left, right = one, two
    while True:
        # Other characters only part what stands on their two sides.
        left, right = _UAPI_DROPPED.sub("", left), _UAPI_DROPPED.sub("", right)
        for mark in "~-^.":
            if mark == "-" and not (left and right):
                return _sign(len(left) - len(right))
            if mark in (left[:1], right[:1]):
                if left[:1] != right[:1]:
                    return -1 if left.startswith(mark) else 1
                left, right = left[1:], right[1:]
        pattern = r"\d*" if left[:1].isdigit() or right[:1].isdigit() else r"[A-Za-z]*"
        first, second = re.match(pattern, left), re.match(pattern, right)
        head, other = first.group() if first else "", second.group() if second else ""
        left, right = left[len(head) :], right[len(other) :]
        if pattern == r"\d*":
            # Any number is newer than letters, 0 too.
            order = _sign(int(head or -1) - int(other or -1))
        else:
            order = (head > other) - (head < other)
        if order:
            return order


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
