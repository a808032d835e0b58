# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cache of the dynamic linker, ``/etc/ld.so.cache``: which file a program gets for a library's name.

Source: ``sysdeps/generic/dl-cache.h`` of glibc 2.36, whose form ``ldconfig`` writes since 2.2. Read 2026-12.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_OLD = b"ld.so-1.7.0\0"
_NEW = b"glibc-ld.so.cache1.1"
_HEADER = struct.Struct("II")  # number of entries and length of the texts, after the new magic
_ENTRY = struct.Struct("iIIIQ")  # flags, place of the name, place of the path, two that say when it is chosen
_HEADER_BYTES, _OLD_HEADER_BYTES, _OLD_ENTRY_BYTES = 48, 16, 12
_WIDE = (0x0300, 0x0500, 0x0A00)
"""What flags have for 64 bits: x86-64, PowerPC and AArch64."""


class Library(NamedTuple):
    """A name (``libcuda.so.1``) and the path that the linker has for it; ``is_64_bit`` by its kind of machine."""

    name: str
    path: str
    is_64_bit: bool


def parse(content: bytes) -> tuple[Library, ...]:
    """All entries in the order of the file: of several with one name the linker takes the first that fits.

    Raises ValueError for content of another form, and for one that ``ldconfig`` of glibc before 2.2 wrote.
    """
    start = _start(content)
    count, _length = _HEADER.unpack_from(content, start + len(_NEW))
    first = start + _HEADER_BYTES
    if first + count * _ENTRY.size > len(content):
        raise ValueError("it ends before its entries do")
    found = []
    for number in range(count):
        flags, name, path, _system, _capabilities = _ENTRY.unpack_from(content, first + number * _ENTRY.size)
        is_64_bit = flags & 0xFF00 in _WIDE
        found.append(Library(_text(content, start + name), _text(content, start + path), is_64_bit))
    return tuple(found)


def _start(content: bytes) -> int:
    """Where the new form begins: at once, or after a part in the old form."""
    start = 0
    if content.startswith(_OLD) and len(content) >= _OLD_HEADER_BYTES:
        (count,) = struct.unpack_from("I", content, len(_OLD))
        start = (_OLD_HEADER_BYTES + count * _OLD_ENTRY_BYTES + 7) & ~7  # aligned to the widest number in an entry
    if not content.startswith(_NEW, start) or len(content) < start + _HEADER_BYTES:
        raise ValueError("no cache of the dynamic linker of glibc 2.2 or newer")
    return start


def _text(content: bytes, start: int) -> str:
    end = content.find(b"\0", start)
    if not 0 <= start < len(content) or end < 0:
        raise ValueError("a name beyond its end")
    return content[start:end].decode("utf-8", "surrogateescape")
