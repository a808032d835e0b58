# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what a kernel module file says of itself: its ``.modinfo`` section and the signer appended to it.

Only the few kilobytes that matter are read: a module with its tables can be 60 MB. Formats: the ELF
specification; ``include/linux/module_signature.h`` and ``scripts/sign-file.c`` of Linux 6.12 (read
2026-11); the signer is what modinfo of kmod 30 prints: of the issuer in the PKCS#7 message's first signer the common
name, or without one the last part of its name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple, Optional

ReadAt = Callable[[int, int], bytes]
"""``read_at(offset, length)``: up to ``length`` bytes. What it raises passes through."""

NO_VERSION = "the module file states no version"
NOT_SIGNED = "the module file is not signed"
MAX_UNPACKED_BYTES = 512 * 1024 * 1024

_MAGIC = b"~Module signature appended~\n"
_TRAILER = struct.Struct(">BBBBB3xI")  # algorithm, hash, id type, lengths of signer, key id and signature
_DAMAGED = "the module file is cut off or damaged"
_NO_DER = "the signature is damaged (DER)"
_MAX_SECTIONS = 65535
_MAX_NAMES = 4 * 1024 * 1024
_MAX_MODINFO = 1024 * 1024
_MAX_SIGNATURE = 64 * 1024
_COMMON_NAME = b"\x55\x04\x03"  # 2.5.4.3
_SIGNED_DATA = b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02"  # 1.2.840.113549.1.7.2
_ENCODINGS = {0x0C: "utf-8", 0x13: "ascii", 0x14: "latin-1", 0x16: "ascii", 0x1A: "ascii", 0x1E: "utf-16-be"}


class ModuleFile(NamedTuple):
    """What a module file says; for each None the reason stands in ``reasons`` under the field's name."""

    version: Optional[str]
    signer: Optional[str]
    reasons: dict[str, str]


def read_module(read_at: ReadAt, size: int) -> ModuleFile:
    """Version and signer of an uncompressed module of ``size`` bytes. Never raises for its content."""
    reasons: dict[str, str] = {}

    def seen(field: str, silent: str, ask: Callable[[], Optional[str]]) -> Optional[str]:
        value = None
        try:
            value = ask()
        except ValueError as error:
            silent = str(error)
        if value is None:
            reasons[field] = silent
        return value

    version = seen("version", NO_VERSION, lambda: modinfo(_section(read_at, size, b".modinfo"), "version"))
    return ModuleFile(version, seen("signer", NOT_SIGNED, lambda: _signer(read_at, size)), reasons)


def modinfo(content: bytes, key: str) -> str | None:
    """The first value of ``key`` among NUL-separated ``key=value``; ValueError where it is not UTF-8."""
    wanted = key.encode() + b"="
    for pair in content.split(b"\0"):
        if pair.startswith(wanted):
            try:
                return pair[len(wanted) :].decode("utf-8").strip()
            except UnicodeDecodeError:
                raise ValueError(f"{key} is not UTF-8 text") from None
    return None


def unpack(kind: str, read_at: ReadAt) -> bytes:
    """A whole compressed module (``gz``, ``xz`` or ``zst``).

    ValueError where it is damaged or too large, ImportError where this Python cannot unpack the kind.
    """
    # Imported here: the modules cost time, and a Python may be built without them.
    broken: tuple[type[Exception], ...]
    if kind == "gz":
        import zlib

        opened = zlib.decompressobj(31)
        broken = (zlib.error,)
    elif kind == "xz":
        import lzma

        opened = lzma.LZMADecompressor(memlimit=256 * 1024 * 1024)  # type: ignore[assignment]
        broken = (lzma.LZMAError,)
    else:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]  # Python 3.14

        opened = zstd.ZstdDecompressor()
        broken = (zstd.ZstdError,)
    content, offset = bytearray(), 0
    try:
        while not opened.eof:
            chunk = read_at(offset, 1 << 20)
            if not chunk:
                raise ValueError(f"the .{kind} file is cut off")
            offset += len(chunk)
            content += opened.decompress(chunk)
            if len(content) > MAX_UNPACKED_BYTES:
                raise ValueError(f"larger than {MAX_UNPACKED_BYTES} bytes when unpacked")
    except broken as error:
        raise ValueError(f"the .{kind} file is damaged ({error})") from None
    return bytes(content)


def within(content: bytes) -> ReadAt:
    """The reader of a file that is here whole."""
    return lambda offset, length: content[offset : offset + length]


def _piece(read_at: ReadAt, offset: int, length: int, size: int, what: str) -> bytes:
    if offset < 0 or offset + length > size:
        raise ValueError(f"{_DAMAGED} ({what})")
    content = read_at(offset, length)
    if len(content) != length:
        raise ValueError(f"{_DAMAGED} ({what})")
    return content


def _section(read_at: ReadAt, size: int, wanted: bytes) -> bytes:
    start = read_at(0, 64)
    if start[:4] != b"\x7fELF":
        raise ValueError("the module file is no ELF file")
    if len(start) < 52 or start[4] not in (1, 2) or start[5] not in (1, 2):
        raise ValueError(f"{_DAMAGED} (ELF header)")
    order, is_wide = "<>"[start[5] - 1], start[4] == 2
    try:
        # e_shoff, then e_shentsize, e_shnum, e_shstrndx
        (table,) = struct.unpack_from(order + "IQ"[is_wide], start, 40 if is_wide else 32)
        entry, count, names_index = struct.unpack_from(order + "HHH", start, 58 if is_wide else 46)
    except struct.error:
        raise ValueError(f"{_DAMAGED} (ELF header)") from None
    # sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size
    header = struct.Struct(order + ("IIQQQQ" if is_wide else "IIIIII"))
    if entry < header.size or not 0 < count < _MAX_SECTIONS or names_index >= count:
        raise ValueError(f"{_DAMAGED} (section headers)")
    headers = _piece(read_at, table, entry * count, size, "section headers")
    sections = [header.unpack_from(headers, index * entry) for index in range(count)]
    _name, _type, _flags, _address, offset, length = sections[names_index]
    if length > _MAX_NAMES:
        raise ValueError(f"{_DAMAGED} (section names)")
    names = _piece(read_at, offset, length, size, "section names")
    for name, _type, _flags, _address, offset, length in sections:
        if names[name : name + len(wanted) + 1] == wanted + b"\0":
            if length > _MAX_MODINFO:
                raise ValueError(f"the module file is damaged ({wanted.decode()} of {length} bytes)")
            return _piece(read_at, offset, length, size, wanted.decode())
    raise ValueError(f"the module file has no {wanted.decode()} section")


def _signer(read_at: ReadAt, size: int) -> str | None:
    tail = len(_MAGIC) + _TRAILER.size
    if size < tail or read_at(size - len(_MAGIC), len(_MAGIC)) != _MAGIC:
        return None
    trailer = _piece(read_at, size - tail, _TRAILER.size, size, "signature")
    _algorithm, _hash, id_type, signer_length, key_id_length, signature_length = _TRAILER.unpack(trailer)
    end = size - tail - signature_length
    if id_type == 1:  # X.509, before Linux 4.3: the name stands in plain text before the key id
        name = _piece(read_at, end - key_id_length - signer_length, signer_length, size, "signature")
        return name.decode("utf-8", "replace") or None
    if id_type != 2:
        raise ValueError(f"the signature is of unknown type {id_type}")
    if signature_length > _MAX_SIGNATURE:
        raise ValueError(f"the signature is damaged ({signature_length} bytes)")
    return pkcs7_signer(_piece(read_at, end, signature_length, size, "signature"))


def pkcs7_signer(message: bytes) -> str:
    """The name of the first signer's issuer in a PKCS#7 message (DER). ValueError where there is none."""
    content_type, data = _children(_only(message, 0x30), 2)[:2]
    if content_type != (0x06, _SIGNED_DATA) or data[0] != 0xA0:
        raise ValueError("the signature is damaged (no PKCS#7 signed data)")
    signers = [body for tag, body in _children(_only(data[1], 0x30), 4) if tag == 0x31][1:]  # after the digests
    if not signers:
        raise ValueError("the signature is damaged (no signer)")
    signer = _children(signers[-1], 1)[0]
    tag, identity = _children(signer[1], 2)[1]
    if tag == 0x80:
        raise ValueError(f"the signature names only the key {identity.hex()}, no signer")
    issuer = _children(identity, 2)[0]
    name: tuple[int, bytes] | None = None
    for _tag, relative in _children(issuer[1], 0):
        for _inner_tag, attribute in _children(relative, 1):
            kind, name = _children(attribute, 2)[:2]
            if kind == (0x06, _COMMON_NAME):
                return _text(name)
    if name is None:
        raise ValueError("the signature names no signer")
    return _text(name)  # without a common name modinfo prints the last part, and so is it found elsewhere


def _text(value: tuple[int, bytes]) -> str:
    try:
        return value[1].decode(_ENCODINGS.get(value[0], "utf-8"))
    except UnicodeDecodeError:
        raise ValueError("the signature is damaged (name of the signer)") from None


def _only(content: bytes, tag: int) -> bytes:
    first = _children(content, 1)[0]
    if first[0] != tag:
        raise ValueError(_NO_DER)
    return first[1]


def _children(content: bytes, at_least: int) -> list[tuple[int, bytes]]:
    """The (tag, content) pairs of one DER level, at least so many of them. Single-byte tags, definite lengths."""
    found = []
    at = 0
    while at < len(content):
        tag, length = content[at], content[at + 1] if at + 1 < len(content) else -1
        at += 2
        if length >= 0x80:
            width = length & 0x7F
            length = int.from_bytes(content[at : at + width], "big") if 0 < width <= 4 else -1
            at += width
        if length < 0 or at + length > len(content):
            raise ValueError(_NO_DER)
        found.append((tag, content[at : at + length]))
        at += length
    if len(found) < at_least:
        raise ValueError(_NO_DER)
    return found
