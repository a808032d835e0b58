# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a power cut leaves of a disk: QEMU itself writes the log, and this machine's files are the truth."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from machine import Entry, entries, flushes, play, survivors

_COMMANDS = ("write -P 0x11 0 64k", "write -P 0x22 512k 4k", "flush", "write -P 0x33 0 4k", "write -P 0x44 1M 8k")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of five operations, the third of them a flush; ``disk.raw`` beside it is what they made of a disk."""
    (tmp_path / "disk.raw").write_bytes(bytes(2 << 20))
    place = tmp_path / "writes.log"
    place.touch()
    options = f"driver=blklogwrites,file.driver=file,file.filename={tmp_path}/disk.raw,log.driver=file"
    commands = [word for command in _COMMANDS for word in ("-c", command)]
    subprocess.run(["qemu-io", "-t", "none", "--image-opts", *commands, f"{options},log.filename={place}"], check=True)
    return place


def test_the_log_tells_every_write_in_its_order(log: Path) -> None:
    told = [(entry.offset_bytes, len(entry.data), set(entry.data)) for entry in entries(log) if entry.data]
    assert told == [
        (0, 65536, {0x11}),
        (524288, 4096, {0x22}),
        (0, 4096, {0x33}),
        (1048576, 8192, {0x44}),
    ]
    assert [entry.is_flush for entry in entries(log)][2] is True
    assert flushes(log)[0] == sum(entry.is_flush for entry in entries(log)) >= 1


def test_flushes_are_counted_from_where_the_last_look_ended(log: Path) -> None:
    whole = log.read_bytes()
    total, end = flushes(log)
    assert flushes(log, end) == (0, end)
    log.write_bytes(whole[:20000])  # in the middle of the first write
    assert flushes(log) == (0, 512)
    log.write_bytes(whole)
    assert flushes(log, 512)[0] == total


def test_the_whole_log_makes_the_same_disk(log: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.raw"
    again.write_bytes(bytes(2 << 20))
    play(entries(log), again)
    assert again.read_bytes() == (tmp_path / "disk.raw").read_bytes()


def _write(number: int, **more: bool) -> Entry:
    return Entry(number * 4096, bytes([number]) * 4096, more.get("is_flush", False), more.get("is_fua", False))


def test_what_was_flushed_survives_and_what_was_not_may_not() -> None:
    flushed = [_write(1), _write(2), Entry(0, b"", True, False)]
    later = [_write(number) for number in range(3, 43)]
    for seed in range(20):
        kept = survivors([*flushed, *later], random.Random(seed))
        assert kept[:3] == flushed
        whole = [entry for entry in kept[3:] if entry in later]
        assert 0 < len(whole) < len(later), "some are kept, and some are not"
        assert any(0 < len(entry.data) < 4096 for entry in kept[3:]), "and some are torn"


def test_a_write_that_asked_for_it_is_kept() -> None:
    asked = _write(3, is_fua=True)
    assert all(asked in survivors([_write(1), asked, _write(2)], random.Random(seed)) for seed in range(20))
