# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cache of the dynamic linker, made for tests."""

from __future__ import annotations

import struct


def made(entries, with_old_form=False):
    """The cache with ``(name, path, flags)`` in this order, with an empty part in the old form before it or not."""
    texts, rows = b"", []
    start = 48 + 24 * len(entries)
    for name, path, flags in entries:
        places = []
        for text in (name, path):
            places.append(start + len(texts))
            texts += text.encode() + b"\0"
        rows.append(struct.pack("iIIIQ", flags, *places, 0, 0))
    header = b"glibc-ld.so.cache1.1" + struct.pack("II20x", len(entries), len(texts))
    old = b"ld.so-1.7.0\0" + struct.pack("I", 1) + bytes(12) + bytes(4) if with_old_form else b""
    return old + header + b"".join(rows) + texts
