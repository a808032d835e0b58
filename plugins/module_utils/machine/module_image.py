# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel module's file with the two things that are read from it: its .modinfo section and who signed it.

The image is an ELF64 object without code. The signature is a PKCS #7 message in the kernel's trailer that names the
signer; its signature bytes are zero: nothing was signed, and nothing may be verified with it.
Forms: include/linux/module_signature.h of Linux 6.12 (2024-11-17); RFC 5652 (2009-09) section 5; ELF-64 1.5.
"""

from __future__ import annotations

import gzip
import lzma
import struct
from typing import Optional

_MAGIC = b"~Module signature appended~\n"
_PKCS7 = 2  # enum pkey_id_type
_X86_64 = 62  # e_machine, whatever the processor of the model is: nothing reads it
_OID_SIGNED_DATA = bytes.fromhex("2a864886f70d010702")
_OID_DATA = bytes.fromhex("2a864886f70d010701")
_OID_SHA512 = bytes.fromhex("608648016503040203")
_OID_RSA = bytes.fromhex("2a864886f70d010101")
_OID_COMMON_NAME = bytes.fromhex("550403")


def image(path: str, release: str, version: Optional[str], signer: Optional[str]) -> bytes:
    """The content of the module file at ``path`` (its suffix .gz or .xz compresses it) for a kernel release."""
    name = path.rpartition("/")[2].split(".")[0].replace("-", "_")
    fields = [("name", name), ("vermagic", f"{release} SMP mod_unload modversions ")]
    if version is not None:
        fields.insert(0, ("version", version))
    content = _elf(b"".join(f"{key}={value}".encode() + b"\0" for key, value in fields))
    if signer is not None:
        content += _trailer(_signed_data(signer))
    if path.endswith(".gz"):
        return gzip.compress(content, mtime=0)
    if path.endswith(".xz"):
        return lzma.compress(content, check=lzma.CHECK_CRC32)  # the kernel's decoder knows no CRC64
    return content


def _elf(modinfo: bytes) -> bytes:
    names = b"\0.modinfo\0.shstrtab\0"
    start = 64
    table = (start + len(modinfo) + len(names) + 7) // 8 * 8
    header = b"\x7fELF" + bytes((2, 1, 1, 0)) + bytes(8)
    header += struct.pack("<HHIQQQIHHHHHH", 1, _X86_64, 1, 0, 0, table, 0, 64, 0, 0, 64, 3, 2)
    body = (modinfo + names).ljust(table - start, b"\0")
    sections = bytes(64)
    sections += struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0, start, len(modinfo), 0, 0, 1, 0)
    sections += struct.pack("<IIQQQQIIQQ", 10, 3, 0, 0, start + len(modinfo), len(names), 0, 0, 1, 0)
    return header + body + sections


def _trailer(signature: bytes) -> bytes:
    return signature + struct.pack(">BBBBB3xI", 0, 0, _PKCS7, 0, 0, len(signature)) + _MAGIC


def _der(tag: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    if len(body) < 128:
        return bytes((tag, len(body))) + body
    length = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes((tag, 128 | len(length))) + length + body


def _signed_data(signer: str) -> bytes:
    common_name = _der(0x30, _der(0x06, _OID_COMMON_NAME), _der(0x0C, signer.encode("utf-8")))
    issuer = _der(0x30, _der(0x31, common_name))
    digest = _der(0x30, _der(0x06, _OID_SHA512), _der(0x05))
    signer_info = _der(
        0x30,
        _der(0x02, b"\x01"),
        _der(0x30, issuer, _der(0x02, b"\x01")),
        digest,
        _der(0x30, _der(0x06, _OID_RSA), _der(0x05)),
        _der(0x04, bytes(256)),
    )
    signed = _der(
        0x30,
        _der(0x02, b"\x01"),
        _der(0x31, digest),
        _der(0x30, _der(0x06, _OID_DATA)),
        _der(0x31, signer_info),
    )
    return _der(0x30, _der(0x06, _OID_SIGNED_DATA), _der(0xA0, signed))
