# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module that is killed at any of its steps, and its recovery too: the node is as before, or as it was to become."""

from __future__ import annotations

import random

import pytest

from ansible_collections.accelerator.ops.tests.crash import bench, cases, kernel_calls
from ansible_collections.accelerator.ops.tests.crash.amount import IS_WHOLE, SEED, part

STEPS = {"write", "rename", "fsync", "symlink", "unlink", "mkdir", "rmdir", "fchmod", "fchown", "fsetxattr", "vfork"}
"""Kinds of steps that must be among those of the case BACK, at which everything is killed where all is tried."""

_SOME = cases.SMALL + (cases.MACHINES if IS_WHOLE else tuple(random.Random(SEED).sample(cases.MACHINES, 2)))


def _id(case: object) -> str:
    return case.name.replace(" ", "-") if isinstance(case, bench.Case) else "programs"


@pytest.mark.parametrize("case", _SOME, ids=_id)
def test_killed_at_each_step(case: bench.Case, chance: random.Random, tally) -> None:
    score = bench.Score()
    with bench.bench(case) as of:
        bench.kills(of, part(6), chance, score)
    tally.add("kills", score.tried)
    assert score.tried and not score.wrong, "\n".join(score.wrong)


def test_killed_while_several_tasks_are_taken_back(chance: random.Random, tally) -> None:
    """A rerun is not judged: what recovery has made a generation is not taken back by it."""
    case = cases.PUT_BACK._replace(calls=(*cases.TASKS.calls[:2], cases.PUT_BACK.calls[-1]))
    wrong = []
    with bench.bench(case) as of:
        of.do(case.calls)
        assert (of.node.listing(), of.node.is_derived_fresh()) == (of.wanted[0].listing, True)
        of.node.restore("old")
        steps, _log = kernel_calls.traced(of.node.base, of.requests)
        late = range(len(steps) // 2, len(steps))
        chosen = [late[place] for place in bench.spread(len(late), part(6), chance)]
        for number in chosen:
            of.node.restore("old")
            missed = kernel_calls.killed(of.node.base, of.requests, steps[number], number)
            where = f"step {number} of {len(steps)}, {kernel_calls.short(steps[number])}"
            wrong += [f"{where}: {one}" for one in ([missed] if missed else of.rescue(is_back=True))]
    tally.add("kills", len(chosen))
    assert not wrong, "\n".join(wrong)


def test_every_kind_of_step_is_among_them() -> None:
    with bench.bench(cases.BACK) as of:
        steps, _log = kernel_calls.traced(of.node.base, of.requests)
    assert not STEPS - {step.name for step in steps}


@pytest.mark.parametrize("case", cases.SMALL, ids=_id)
def test_killed_again_while_it_recovers(case: bench.Case, chance: random.Random, tally) -> None:
    score = bench.Score()
    with bench.bench(case) as of:
        bench.second_kills(of, 4 if IS_WHOLE else 1, 8 if IS_WHOLE else 2, chance, score)
    tally.add("kills, and kills of the recovery after them", score.tried)
    assert score.tried and not score.wrong, "\n".join(score.wrong)


@pytest.mark.parametrize(
    ("case", "programs"),
    [
        (cases.EVERYTHING, cases.PROGRAMS),
        (cases.BACK, ("groupdel", "derive")),
        (cases.FIRST_PREPARE[0], ("update-initramfs", "mkconfig")),
    ],
    ids=_id,
)
def test_killed_while_a_program_runs_that_goes_on(case: bench.Case, programs: tuple[str, ...], tally) -> None:
    score = bench.Score()
    with bench.bench(case) as of:
        bench.kills_inside_programs(of, programs, score)
    tally.add("kills while a program ran", score.tried)
    assert score.tried == 2 * len(programs) and not score.wrong, "\n".join(score.wrong)
