# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a power cut may leave of a run, or of a recovery, that was not synced: it is recovered as after a kill."""

from __future__ import annotations

import random
import stat
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.tests.crash import bench, cases, lost_writes
from ansible_collections.accelerator.ops.tests.crash.amount import IS_WHOLE, part
from ansible_collections.accelerator.ops.tests.crash.lost_writes import Attribute, Data, Inode, Names, Run, World

_SAMPLED = (cases.FILES, cases.FIRST_EVER, cases.FILES_BACK, cases.PRUNE, cases.SEAL)


def test_all_that_a_power_cut_may_leave(chance: random.Random, tally) -> None:
    score = bench.Score()
    with bench.bench(cases.FEW) as of:
        bench.lost_writes(of, part(40), chance, score)
    tally.add("states after a power cut", score.tried)
    assert score.tried >= 40
    assert not score.wrong, "\n".join(score.wrong)


@pytest.mark.parametrize("case", _SAMPLED, ids=[case.name.replace(" ", "-") for case in _SAMPLED])
def test_a_part_of_what_a_power_cut_may_leave_of_more(case: bench.Case, chance: random.Random, tally) -> None:
    score = bench.Score()
    with bench.bench(case) as of:
        bench.lost_writes(of, 150 if IS_WHOLE else 8, chance, score)
    tally.add("states after a power cut", score.tried)
    assert score.tried and not score.wrong, "\n".join(score.wrong)


def test_a_power_cut_ends_the_recovery(chance: random.Random, tally) -> None:
    score = bench.Score()
    with bench.bench(cases.FEW) as of:
        bench.lost_writes_of_recovery(of, 6 if IS_WHOLE else 1, 60 if IS_WHOLE else 8, chance, score)
    tally.add("states after a power cut of a recovery", score.tried)
    assert score.tried and not score.wrong, "\n".join(score.wrong)


def _run(*done: object) -> Run:
    """A run of these operations on a root with one empty file ``/a`` (inode 2) and a folder ``/b`` (inode 3)."""
    world = World()
    world.add(Inode(stat.S_IFDIR | 0o755, 0, 0, (), None))
    for name, inode in (
        ("a", Inode(stat.S_IFREG | 0o600, 0, 0, (), b"")),
        ("b", Inode(stat.S_IFDIR | 0o755, 0, 0, (), None)),
    ):
        world.names[1][name] = world.add(inode)
    run = Run(world, Path("/nowhere"), "")
    run.done = list(done)  # type: ignore[arg-type]
    return run


def _left(run: Run, is_end: bool) -> set[tuple[str, ...]]:
    """The states as texts: each path with what is in it."""
    found = set()
    for state in lost_writes.states(run, random.Random(1)):
        if state.is_end == is_end:
            texts = (f"{path}={one.content!r} {one.mode & 0o777:o}" for path, one in state.tree.items())
            found.add(tuple(text for text in texts if not text.startswith("/b=")))
    return found


def test_the_model_loses_data_until_it_is_synced() -> None:
    written = Data(2, 0, b"1234")
    assert {one[0] for one in _left(_run(written), True)} == {
        f"/a={content!r} 600" for content in (b"", b"1234", b"12", b"123", b"\0\0\0\0", b"12\0\0", b"\0\x0034")
    }
    assert _left(_run(written, 2), True) == {("/a=b'1234' 600",)}
    assert len(_left(_run(written, 3), True)) == 7  # the sync of something else helps nothing


def test_the_model_loses_names_one_by_one_and_a_rename_whole() -> None:
    moved, gone = Names(1, (("a", None), ("c", 2))), Names(1, (("c", None),))
    assert _left(_run(moved), True) == {("/a=b'' 600",), ("/c=b'' 600",)}
    assert _left(_run(moved, gone), True) == {("/a=b'' 600",), ("/c=b'' 600",), ()}
    assert _left(_run(moved, 1, gone), True) == {("/c=b'' 600",), ()}
    assert _left(_run(moved, gone, 1), True) == {()}


def test_the_model_loses_a_mode_until_it_is_synced() -> None:
    mode = Attribute(2, (("mode", 0o644),))
    assert _left(_run(mode), True) == {("/a=b'' 600",), ("/a=b'' 644",)}
    assert _left(_run(mode, 2), True) == {("/a=b'' 644",)}
