# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change that is cut off, and the judge: recovery ends in exactly one of the wanted states, a rerun in the new."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Optional

from ansible_collections.accelerator.ops.plugins.module_utils.host import tree
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import generation_info
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models
from ansible_collections.accelerator.ops.tests.crash import driver, kernel_calls
from ansible_collections.accelerator.ops.tests.crash import lost_writes as lost_writes_model
from ansible_collections.accelerator.ops.tests.crash.machine_node import Machine
from ansible_collections.accelerator.ops.tests.crash.node import (
    Difference,
    Failed,
    Listing,
    Node,
    differences,
    remove,
    scratch,
)

RUN, RESCUE = "the run that is cut off", "the one that recovers"


class Case(NamedTuple):
    """What is cut off: the calls that make the node what it was before, and those that are killed.

    ``set_up`` puts on the node what is not of our making. ``is_live``: settings, programs and derived things too.
    ``machine``: the machine model whose devices a live node has.
    ``between`` are calls that lead from the old state to others in which recovery may end as well.
    """

    name: str
    set_up: Callable[[Node], None]
    earlier: tuple[Mapping[str, Any], ...]
    calls: tuple[Mapping[str, Any], ...]
    is_live: bool = False
    between: tuple[Mapping[str, Any], ...] = ()
    machine: str = ""


class Wanted(NamedTuple):
    """A state in which recovery may end: what is on the node, and what is known of its generations."""

    listing: Listing
    told: Mapping[str, Any]


class Bench:
    """A case laid out on a node, with all states in which its recovery may end (the first is old, the last is new)."""

    def __init__(self, case: Case, node: Node) -> None:
        self.case, self.node = case, node
        case.set_up(node)
        self.history = [node.listing()]
        for row in case.earlier:
            self.do([row])
            self.history.append(node.listing())
        node.save("old")
        self.wanted = [self.wanted_now()]
        for row in case.between:
            self.do([row])
            self.wanted.append(self.wanted_now())
            node.restore("old")
        for row in case.calls:
            self.do([row])
            self.wanted.append(self._settled())
        self.node.restore("old")
        self.requests = self.asked(case.calls)
        kernel_calls.compile_all(node.base)

    def asked(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Calls of the case, on this node."""
        own = {"root": self.node.option}
        return [
            {"what": row["do"], **row, "wish": {"run": RUN, **row["wish"], **own}, "chroot": self.node.chroot}
            for row in rows
        ]

    def do(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Do calls to their end, and return what the node then knows of itself. Raises Failed."""
        requests, root = self.asked(rows), self.node.option

        def work() -> dict[str, Any]:
            for request in requests:
                driver.perform(request)
            return _told(root)

        return self.node.inside(work)

    def wanted_now(self) -> Wanted:
        """What is on the node, as a state to compare with."""
        return Wanted(self.node.listing(), self.do([]))

    def _settled(self) -> Wanted:
        """What is there once what is open is committed, without staying so."""
        self.node.save("on the way")
        self.do([RECOVER])
        wanted = self.wanted_now()
        self.node.restore("on the way")
        return wanted

    def rescue(self, is_back: bool = False, wanted: Sequence[Wanted] = ()) -> list[str]:
        """Recover, and tell all that is not as it must be then.

        Afterwards the calls are done anew, or (``is_back``) the node goes back before its first generation: that is
        judged too. ``wanted``: other states than those of the case.
        """
        try:
            told = self.do([RECOVER])
        except Failed as error:
            return [f"recovery failed: {error}"]
        wrong = self._unlike(wanted or self.wanted, told, "recovery", False)
        if wrong:
            return wrong
        try:
            return self._back(told) if is_back else self._again()
        except Failed as error:
            return [f"the {'way back' if is_back else 'rerun'} failed: {error}"]

    def _again(self) -> list[str]:
        return self._unlike([self.wanted[-1]], self.do([*self.case.calls, RECOVER]), "the rerun", True)

    def _back(self, told: Mapping[str, Any]) -> list[str]:
        oldest = min(told["generations"], default=1) - 1
        self.do([{"do": "rolled_back", "wish": {"run": RESCUE, "to": oldest}}])
        wrong = differences(self.node.listing(), self.history[oldest])
        wrong_there = [f"the way back to {oldest}: {_shown(one)}" for one in wrong[:4]]
        return wrong_there + ([] if self.node.is_derived_fresh() else ["after the way back the derived file is stale"])

    def _unlike(self, wanted: Sequence[Wanted], told: Mapping[str, Any], after: str, is_again: bool) -> list[str]:
        """What is not as in one of the wanted states. ``is_again``: other generations may have led there."""
        seen = self.node.listing()
        wrong = [f"{after} left {path}" for path in self.node.leftovers()]
        if not self.node.is_derived_fresh():
            wrong.append(f"after {after} the derived file is stale")
        matching = [one for one in wanted if one.listing == seen]
        if not matching:
            nearest = min((differences(seen, one.listing) for one in wanted), key=len)
            return [*wrong, f"{after} ended in another state: {'; '.join(_shown(one) for one in nearest[:4])}"]
        fitting = [one for one in matching if _fits(told, one.told, is_again, self.case.is_live)]
        if not fitting:
            wrong.append(f"after {after} it tells {told}, not {[one.told for one in matching]}")
        return wrong


RECOVER: Mapping[str, Any] = {"do": "recovered", "wish": {"run": RESCUE, "dead_run": RUN}}


def _fits(told: Mapping[str, Any], wanted: Mapping[str, Any], is_again: bool, is_live: bool) -> bool:
    """Whether a node tells what is wanted. A service may be due to be started anew although its files went back."""
    parts = ("changed", "journal") if is_again else ("changed", "journal", "current", "generations")
    more = set(told["due"]) - set(wanted["due"])
    return (
        all(told[part] == wanted[part] for part in parts)
        and _net(told["generations"]) == _net(wanted["generations"])
        and set(wanted["due"]) <= set(told["due"])
        and (not is_live or all(one.startswith("service ") for one in more))
    )


def _net(generations: Mapping[int, Sequence[tuple[str, str, str]]]) -> dict[str, tuple[str, str]]:
    """What generations changed in all."""
    net: dict[str, tuple[str, str]] = {}
    for number in sorted(generations):
        for subject, before, after in generations[number]:
            net[subject] = (net.get(subject, (before, ""))[0], after)
    return {subject: versions for subject, versions in net.items() if versions[0] != versions[1]}


def _told(root: str) -> dict[str, Any]:
    """What the node knows of itself: each generation's changes, what is due, what is unlike."""
    told = generation_info.observe(Host(root), None)
    return {
        "generations": {
            one["generation"]: [(row["subject"], row["before"], row["after"]) for row in one["changes"]]
            for one in told["generations"]
        },
        "due": sorted(row["subject"] for row in told["due"]),
        "changed": told["changed_since"],
        "journal": told["journal"],
        "current": told["current"],
    }


def _shown(one: Difference) -> str:
    return f"{one.path}: {_brief(one.seen)}, not {_brief(one.wanted)}"


def _brief(entry: Optional[tuple[Any, ...]]) -> str:
    if entry is None or len(entry) == 1:
        return "absent" if entry is None else str(entry[0])
    mode, uid, gid, xattrs, content = entry
    text = content[:40] if isinstance(content, (bytes, str)) else content
    return f"{mode:o} {uid}:{gid} {xattrs or ''} {text!r}"


@contextmanager
def bench(case: Case) -> Iterator[Bench]:
    """A bench on a node of its own."""
    base = scratch()
    node = Machine(base, _laid_out(case.machine, base / "machine")) if case.machine else Node(base, case.is_live)
    try:
        yield Bench(case, node)
    finally:
        remove(node)


def _laid_out(name: str, folder: Path) -> Path:
    """The tree of a shipped machine model."""
    model = machine_models.load(machine_models.find(name))
    tree.write(str(folder), layout.entries(model))
    return folder


def spread(count: int, most: Optional[int], chance: random.Random) -> list[int]:
    """All of ``count`` numbers, or as many as wished, drawn by chance."""
    return list(range(count)) if most is None or most >= count else sorted(chance.sample(range(count), most))


class Enough(Exception):
    """Something was wrong, and no more is asked."""


class Score:
    """How much was tried, and what was wrong. ``is_one_enough``: raises Enough at the first."""

    def __init__(self, is_one_enough: bool = False) -> None:
        self._is_one_enough = is_one_enough
        self.tried = 0
        self.wrong: list[str] = []

    def add(self, where: str, wrong: Sequence[str]) -> None:
        """One more."""
        self.tried += 1
        self.wrong += [f"{where}: {one}" for one in wrong]
        if wrong and self._is_one_enough:
            raise Enough


def kills(of: Bench, most: Optional[int], chance: random.Random, score: Score) -> None:
    """Kill at each step of a case, or at ``most`` of them."""
    steps, _log = kernel_calls.traced(of.node.base, of.requests)
    for number in spread(len(steps), most, chance):
        of.node.restore("old")
        where = f"{of.case.name}, step {number} of {len(steps)}, {kernel_calls.short(steps[number])}"
        missed = kernel_calls.killed(of.node.base, of.requests, steps[number], number)
        score.add(where, [missed] if missed else of.rescue(number % 3 == 2))


def second_kills(of: Bench, firsts: int, most: Optional[int], chance: random.Random, score: Score) -> None:
    """Kill at some steps of a case, and then its recovery at each step, or at ``most`` of them."""
    steps, _log = kernel_calls.traced(of.node.base, of.requests)
    of.node.restore("old")
    for first in spread(len(steps), firsts, chance):
        of.node.restore("old")
        missed = kernel_calls.killed(of.node.base, of.requests, steps[first], first)
        if missed:
            score.add(f"{of.case.name}, step {first}", [missed])
            continue
        of.node.save("cut")
        recovery = of.asked([RECOVER])
        more, _log = kernel_calls.traced(of.node.base, recovery)
        for number in spread(len(more), most, chance):
            of.node.restore("cut")
            where = (
                f"{of.case.name}, step {first}, {kernel_calls.short(steps[first])}, then step {number} of recovery, "
            )
            where += kernel_calls.short(more[number])
            missed = kernel_calls.killed(of.node.base, recovery, more[number], number)
            score.add(where, [missed] if missed else of.rescue(number % 3 == 2))


def kills_inside_programs(of: Bench, names: Sequence[str], score: Score) -> None:
    """Kill a module before and after a program that it started does its work; the program itself goes on."""
    for name in names:
        for when in ("before", "after"):
            of.node.restore("old")
            (of.node.root / "run" / f"kill-{name}").write_text(when)
            missed = [] if kernel_calls.cut(of.node.base, of.requests) else ["the program did not kill it"]
            score.add(f"{of.case.name}, {when} {name}", missed or of.rescue())


def lost_writes(of: Bench, most: Optional[int], chance: random.Random, score: Score) -> None:
    """Recover from every state that a power cut may leave of a case, or from ``most`` of them."""
    _lost(of, of.requests, "old", of.wanted, [of.wanted[-1]], of.case.name, most, chance, score)


def lost_writes_of_recovery(of: Bench, firsts: int, most: Optional[int], chance: random.Random, score: Score) -> None:
    """Kill a case at some steps, and let its recovery be ended by a power cut."""
    steps, _log = kernel_calls.traced(of.node.base, of.requests)
    for first in spread(len(steps), firsts, chance):
        of.node.restore("old")
        missed = kernel_calls.killed(of.node.base, of.requests, steps[first], first)
        name = f"{of.case.name}, step {first}, {kernel_calls.short(steps[first])}, then recovery"
        if missed:
            score.add(name, [missed])
            continue
        of.node.save("cut")
        of.do([RECOVER])
        ended = [of.wanted_now()]
        _lost(of, of.asked([RECOVER]), "cut", of.wanted, ended, name, most, chance, score)


def _lost(
    of: Bench,
    requests: Sequence[Mapping[str, Any]],
    start: str,
    on_the_way: Sequence[Wanted],
    at_the_end: Sequence[Wanted],
    name: str,
    most: Optional[int],
    chance: random.Random,
    score: Score,
) -> None:
    of.node.restore(start)
    before = lost_writes_model.world_of(of.node.root)
    _steps, log = kernel_calls.traced(of.node.base, requests, ("-xx", "-s", "4000000"))
    run = lost_writes_model.Run(before, of.node.root, log)
    really = dict(lost_writes_model.world_of(of.node.root).tree())
    if really != dict(run.seen.tree()):
        raise AssertionError("the log, done again, does not lead to what is there")
    seed = chance.random()
    is_end = [state.is_end for state in lost_writes_model.states(run, random.Random(seed))]
    chosen = {*spread(len(is_end), most, chance), *(number for number, one in enumerate(is_end) if one)}
    for number, state in enumerate(lost_writes_model.states(run, random.Random(seed))):
        if number not in chosen:
            continue
        of.node.clear()
        lost_writes_model.write(state.tree, of.node.root)
        wanted = at_the_end if state.is_end else on_the_way
        where = f"{name}, power cut after operation {state.after} of {len(run.done)}, {state.what}"
        score.add(where, of.rescue(number % 3 == 2, wanted))
