# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of a journal: whole, torn at every byte, changed by hand; and steps as JSON and back."""

from __future__ import annotations

import json

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.model.plan import (
    ABSENT,
    Command,
    Derived,
    PathStep,
    Proof,
    Restart,
    Setting,
    State,
)
from ansible_collections.accelerator.ops.plugins.module_utils.state import record
from ansible_collections.accelerator.ops.plugins.module_utils.state.record import Batch

FILE = State("file", 0o640, 1, 2, "ab" * 32, "", (("user.x", "AP8="), ("security.selinux", "eA==")))
STEPS = (
    PathStep("/etc/a", ABSENT, FILE, b"", b"", "because", is_edit=True, is_ours=False),
    PathStep("/etc/l", FILE, State("link", 0o777, 0, 0, "", "/x"), b"", b"", "because"),
    Setting("/proc/sys/vm/nr_hugepages", "0", "8", "because"),
    Command("group x", False, True, ("groupadd", "x"), ("groupdel", "x"), ("getent", "group", "x"), "because"),
)
DERIVED = (
    Derived("initramfs 6.1", (("a", "b"), ("c",)), "because", Proof(("l", "i"), (("etc/a", "/etc/a"),)), 5.0),
    Derived("other", (("a",),), "because"),
)
BATCH = Batch(
    0,
    "files",
    STEPS,
    DERIVED,
    (Restart("kubelet.service", "because", True), Restart("x.service", "because", busy=("a", "b"))),
)
BEGIN = {"t": "begin", "run": "a", "at": "now", "boot": "b", "seconds": 1.5}
ROWS = [
    BEGIN,
    record.batch_row(BATCH),
    {"t": "done", "batch": 0, "boot": "b", "seconds": 2.5},
    record.batch_row(BATCH._replace(number=1)),
    {"t": "undone", "batch": 1},
    record.batch_row(BATCH._replace(number=2)),
    {"t": "done", "batch": 2, "settled": [record.step_row(STEPS[0])]},
    {"t": "undo", "batch": 2},
    {"t": "owner", "run": "c"},
]


def test_a_journal_is_read_as_it_was_written() -> None:
    journal = record.read("4-x", record.lines(ROWS, ""))
    assert journal is not None
    assert journal.batches == (BATCH, BATCH._replace(number=2, settled=STEPS[:1]))
    assert (journal.id, journal.run, journal.boot, journal.seconds) == ("4-x", "c", "b", 2.5)
    assert (journal.done, journal.next_batch) == (frozenset({0}), 3)
    assert [batch.number for batch in journal.unfinished] == [2]


def test_lines_can_be_added_after_a_torn_one() -> None:
    whole = record.lines(ROWS[:3], "")
    journal = record.read("x", whole + b"0123 torn")
    assert journal is not None
    assert (journal.length, len(whole)) == (len(whole), len(whole))
    again = record.read("x", whole + record.lines(ROWS[3:], journal.checksum))
    assert again is not None
    assert again.next_batch == 3


@pytest.mark.parametrize("end", [b"", b"\0" * 40, b"\0\n\0\n", b"\n\n", b"x" * 64 + b" {}\n"])
def test_a_journal_cut_at_any_byte_is_the_lines_before_the_cut(end: bytes) -> None:
    content = record.lines(ROWS, "")
    ends = [place + 1 for place, byte in enumerate(content) if byte == 10]
    for cut in range(len(content)):
        journal = record.read("x", content[:cut] + end)
        count = sum(1 for one in ends if one <= cut)
        if end == b"\n\n" and cut + 1 in ends:
            count += 1  # the line end was all that was missing
        assert (journal is None) == (count == 0)
        if journal is not None:
            assert journal.length == ends[count - 1]


def test_a_change_by_hand_is_found_in_every_line() -> None:
    content = record.lines(ROWS, "")
    pieces = content.splitlines(keepends=True)
    for number in range(len(pieces)):
        changed = [*pieces]
        changed[number] = pieces[number].replace(b'"t"', b'"T"')
        with pytest.raises(ValueError, match=f"line {number + 1} is damaged"):
            record.read("x", b"".join(changed))
        if number < len(pieces) - 1:
            with pytest.raises(ValueError, match=f"line {number + 1} is damaged"):
                record.read("x", b"".join(pieces[:number] + pieces[number + 1 :]))
    with pytest.raises(ValueError, match="damaged"):
        record.read("x", b"".join([pieces[0], pieces[2], pieces[1], *pieces[3:]]))


@pytest.mark.parametrize("row", [{"t": "new"}, {"t": "done"}, {"t": "intent", "batch": 0}, {"t": "undone", "batch": 7}])
def test_a_line_of_another_form_is_refused(row: dict) -> None:
    with pytest.raises(ValueError, match="not of the form"):
        record.read("x", record.lines([BEGIN, row], ""))


@pytest.mark.parametrize("step", STEPS)
def test_a_step_comes_back_from_json(step: record.Step) -> None:
    assert record.to_step(json.loads(json.dumps(record.step_row(step)))) == step


@pytest.mark.parametrize("derived", DERIVED)
def test_a_derived_thing_comes_back_from_json(derived: Derived) -> None:
    assert record.to_derived(json.loads(json.dumps(record.derived_row(derived)))) == derived
