# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cache of the dynamic linker: as ``ldconfig`` of this machine reads its own, in the older form, and damaged."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec.linker_cache import Library, parse
from ansible_collections.accelerator.ops.tests.unit.codec.linker_cache_made import made

CACHE = Path("/etc/ld.so.cache")
ENTRIES = [("libcuda.so.1", "/usr/lib/libcuda.so.1", 0x0303), ("libz.so.1", "/lib32/libz.so.1", 0x0003)]
WANTED = (Library("libcuda.so.1", "/usr/lib/libcuda.so.1", True), Library("libz.so.1", "/lib32/libz.so.1", False))


@pytest.mark.skipif(not (CACHE.exists() and shutil.which("ldconfig", path="/sbin:/usr/sbin")), reason="needs glibc")
def test_ldconfig_says_the_same():
    program = shutil.which("ldconfig", path="/sbin:/usr/sbin")
    said = subprocess.run([program, "-p"], check=True, capture_output=True, text=True).stdout
    rows = re.findall(r"^\t(\S+) \((.*)\) => (.*)$", said, re.MULTILINE)
    assert rows
    found = parse(CACHE.read_bytes())
    assert [(one.name, one.path) for one in found] == [(name, path) for name, _kind, path in rows]
    assert [one.is_64_bit for one in found] == [
        re.search("x86-64|AArch64|64bit", kind) is not None for _name, kind, _path in rows
    ]


def test_both_forms():
    assert parse(made(ENTRIES)) == WANTED
    assert parse(made(ENTRIES, with_old_form=True)) == WANTED


@pytest.mark.parametrize(
    "content", [b"", b"glibc-ld.so.cache1.1", b"ld.so-1.7.0\0" + struct.pack("I", 0xFFFFFFFF), b"\x7fELF" + bytes(60)]
)
def test_other_content_is_refused(content):
    with pytest.raises(ValueError, match="no cache"):
        parse(content)


def test_no_cut_is_read_as_whole():
    whole = made(ENTRIES)
    for length in range(len(whole)):
        with pytest.raises(ValueError):
            parse(whole[:length])
