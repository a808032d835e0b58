# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one path that every changing module takes, below the edge and above the use cases.

Observe, decide, judge what is not ours, show; check mode stops here; journal, apply, observe again, decide again must
be empty; commit. What is shown, foreseen and done are the same steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import wraps
from typing import Any, Callable, Optional

from .host import command, disk, services
from .host.door import Host
from .model.call import Call, Outcome
from .model.errors import ApplyError, ConflictError, InputError, OpsError, VerifyError, joined
from .model.plan import ABSENT, PathStep, Plan, Restart, diffs, rows
from .state import apply
from .state.engine import Caller, Engine, anonymous, unwritable

SHARED: Mapping[str, Mapping[str, Any]] = {
    "root": {"type": "path", "default": "/"},
    "commit": {"type": "str", "choices": ["now", "later"], "default": "now"},
    "on_conflict": {"type": "str", "choices": ["refuse", "overwrite", "keep"], "default": "refuse"},
    "restart": {"type": "str", "choices": ["never", "if_idle", "always"], "default": "if_idle"},
    "run": {"type": "str"},
    "dead_run": {"type": "str"},
    "report_dir": {"type": "path"},
}
"""The options of every changing module; their documentation is the fragment ``attributes.changes``."""


Observe = Callable[[Host, Mapping[str, Any]], Any]
Decide = Callable[[Any, Mapping[str, Any]], Plan]
_SHOW_SECONDS = 20.0


def clear(work: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """``work``, with an error of the system in keeping the state as a typed one."""

    @wraps(work)
    def cleared(*given: Any) -> Outcome:
        try:
            return work(*given)
        except OSError as error:
            raise unwritable(error) from None

    return cleared


def engine_of(call: Call) -> Engine:
    """The state of the node that the call is about."""
    host = Host(call.wish["root"])
    disk.writable(host)
    run = call.wish["run"] or anonymous()
    return Engine(host, Caller(call.what, run, call.wish["dead_run"] or ""))


@clear
def change(call: Call, observe: Observe, decide: Decide) -> Outcome:
    """Bring a node to what ``decide`` wants of what ``observe`` sees. On an error the node is as before."""

    def wanted() -> Plan:
        host = Host(call.wish["root"])  # a new one: what the last one remembers of paths may be over
        return _feasible(decide(observe(host, call.wish), call.wish), host)

    engine = engine_of(call)
    if call.is_check or not engine.store.is_there():
        engine.peek()
        outcome, plan = _foreseen(engine, wanted(), call)
        # nothing to do and no state yet: nothing is made, not even the folder for it
        if call.is_check or not (plan.steps or plan.derived):
            return outcome
    with engine.begun():
        engine.join()
        wished = wanted()
        outcome, plan = _foreseen(engine, wished, call)
        if plan.steps or plan.derived:
            kept = {step.key for step in wished.steps} - {step.key for step in plan.steps}
            engine.apply(plan, lambda: _verify(wanted(), kept))
        number = engine.commit() if call.wish["commit"] == "now" else None
        journal = None if engine.journal is None else engine.journal.id
    return outcome._replace(results={**outcome.results, "generation": number, "journal": journal})


@clear
def rolled_back(call: Call) -> Outcome:
    """Bring a node back, or forward, to an earlier generation; that is a new generation itself."""
    engine, number = engine_of(call), call.wish["to"]
    if number is None:
        raise InputError("go back to", "a generation", "no number", "to: N", "see generation_info for the numbers")
    if call.is_check:
        engine.peek()
        return _going_back(engine, number, call)[0]
    with engine.begun():
        engine.join()
        outcome, made = _gone_back(engine, number, call)
        engine.make_due()
    return outcome._replace(results={**outcome.results, "generation": made})


def _gone_back(engine: Engine, number: int, call: Call) -> tuple[Outcome, Optional[int]]:
    """The node as it was in a generation, with what was open a generation too; the number of the new one."""
    engine.commit()
    outcome, plan = _going_back(engine, number, call)
    settled = engine.settled(number)
    if not (plan.steps or settled):
        return outcome, None
    kept = {step.key for step in engine.way_back(number, "overwrite").steps} - {step.key for step in plan.steps}
    engine.apply(plan, lambda: _verify(engine.way_back(number, "overwrite"), kept), settled)
    return outcome, engine.commit()


def _going_back(engine: Engine, number: int, call: Call) -> tuple[Outcome, Plan]:
    plan = _feasible(engine.way_back(number, call.wish["on_conflict"]), engine.host)
    plan = plan._replace(steps=apply.parents(engine.host, plan.steps))
    for step in plan.steps:
        if isinstance(step, PathStep):
            apply.check(engine.host, step)
    return _told(engine, plan, call), plan


@clear
def restarted(call: Call) -> Outcome:
    """Start anew what is due and may be. Where a service does not come up, the change that made it due is taken back,
    and it is started with what it had before."""
    engine, wish, named = engine_of(call), call.wish["restart"], call.wish["services"]

    def is_meant(row: Mapping[str, Any]) -> bool:
        return bool(row["restart_allowed"]) and (named is None or row["service"] in named)

    if call.is_check or not engine.store.is_there():
        engine.peek()
        due = restart_rows(engine, Plan(), wish)
        left = [row for row in due if not is_meant(row)]
        # what a real run would have made due by now is what the task names
        return Outcome(call.is_check and (bool(named) or len(left) < len(due)), {**_nothing(), "restart": left})
    done: list[str] = []
    with engine.begun():
        engine.join()
        for row in filter(is_meant, restart_rows(engine, Plan(), wish)):
            failure = services.restart(engine.host, row["service"])
            if failure is not None:
                raise _put_back(engine, row["service"], failure, done, call)
            engine.settle_restart(row["service"])
            done.append(row["service"])
        restarts = restart_rows(engine, Plan(), wish)
        journal = None if engine.journal is None else engine.journal.id
    return Outcome(bool(done), {**_nothing(), "journal": journal, "restart": restarts})


def _put_back(engine: Engine, service: str, failure: services.Failure, done: Sequence[str], call: Call) -> ApplyError:
    """Take back the change that a service does not start with. The error says how the node was left."""
    what, expected = "start anew", "that it runs"
    details: dict[str, object] = {"words": list(failure.words), "left": "changed", "restarted": list(done)}
    try:
        details["generation"] = _before(engine, service, call)
    except OpsError as error:
        is_half = engine.journal is not None and bool(engine.journal.unfinished)
        details["left"] = "half done" if is_half else "changed"
        step = "mend that, then run the module generation with state: recovered"
        found = f"{failure.reason} (and what was changed cannot be taken back: {error})"
        return ApplyError(what, service, found, expected, step, {**details, **error.details})
    failures = {one: services.restart(engine.host, one) for one in (service, *done)}
    for one, failed in failures.items():
        if failed is None:
            engine.settle_restart(one)
    again = failures[service]
    step = "what was changed is taken back, and it runs as before; mend what it says, and run again"
    if again is not None:
        details["words_then"] = list(again.words)
        step = f"what was changed is taken back, and it does not run then either ({again.reason})"
    due = sorted(engine.store.due())
    details.update({"left": "as before", "due": due, "restart": restart_rows(engine, Plan(), call.wish["restart"])})
    return ApplyError(what, service, failure.reason, expected, step, details)


def _before(engine: Engine, service: str, call: Call) -> Optional[int]:
    """The node as it was before a service was to be started anew; the generation that this made, where it did."""
    journal = engine.journal
    if journal is not None and _concerns([one for batch in journal.batches for one in batch.restarts], service):
        engine.take_back(call.wish["on_conflict"])
        return None
    numbers = [one.number for one in engine.generations() if _concerns(one.restarts, service)]
    if not numbers:
        raise InputError("take back", "the change", "no generation that is kept has it", "one", "see its journal")
    return _gone_back(engine, numbers[-1] - 1, call)[1]


def _concerns(restarts: Sequence[Restart], service: str) -> bool:
    return any(one.service == service for one in restarts)


@clear
def committed(call: Call) -> Outcome:
    """Make what the run has done a generation, after a second look at all of it."""
    engine = engine_of(call)
    if call.is_check or not engine.store.is_there():
        engine.peek()
        journal = engine.journal  # one that could not be joined has raised
        is_due = engine.host.is_live and bool(engine.due())
        return Outcome(
            journal is not None or is_due, {**_nothing(), "journal": None if journal is None else journal.id}
        )
    with engine.begun():
        is_open = engine.journal is not None
        engine.join()
        number = engine.commit()
        made = engine.make_due()
        restarts = restart_rows(engine, Plan(), call.wish["restart"])
    return Outcome(is_open or made, {**_nothing(), "generation": number, "restart": restarts})


@clear
def recovered(call: Call) -> Outcome:
    """Take back what a run that was cut off left half done, and finish what it had done."""
    engine = engine_of(call)
    if not engine.store.is_there():
        return Outcome(False, {**_nothing(), "taken_back": []})
    if call.is_check:
        engine.generations()
        halves, is_made = engine.foresee_recovery()
        is_changed = bool(halves) or is_made or (engine.host.is_live and bool(engine.due(with_failed=True)))
        return Outcome(is_changed, {**_nothing(), "taken_back": [step.key for one in halves for step in one.steps]})
    with engine.begun(call.wish["on_conflict"]):
        engine.generations()  # what is damaged is told here too
        number, is_left = None, False
        if engine.journal is not None:
            is_left = engine.journal.run != engine.run and not engine.may_adopt(engine.journal)
            if not is_left:
                engine.join()
                number = engine.commit()
        made = engine.make_due(with_failed=True)
        restarts = restart_rows(engine, Plan(), call.wish["restart"])
        journal_id = None if engine.journal is None else engine.journal.id
    results = {**_nothing(), "generation": number, "journal": journal_id, "restart": restarts}
    return Outcome(bool(engine.had_half or number or made), {**results, "taken_back": engine.taken_back})


@clear
def released(call: Call) -> Outcome:
    """Let the next run have what another one left open, whether or not that one is over."""
    engine = engine_of(call)
    if not engine.store.is_there():
        return Outcome(False, _nothing())
    if call.is_check:
        journal = engine.store.journal()
        return Outcome(journal is not None and bool(journal.run), _nothing())
    with engine.begun():
        return Outcome(engine.release(), _nothing())


@clear
def pruned(call: Call) -> Outcome:
    """Forget all generations but the newest ones."""
    engine, keep = engine_of(call), call.wish["keep"]
    if keep < 1:
        raise InputError("keep", f"{keep} generations", str(keep), "at least 1", "name how many to keep")
    if not engine.store.is_there():
        return Outcome(False, {**_nothing(), "pruned": []})
    if call.is_check:
        gone = [one.number for one in engine.store.generations()][:-keep]
    else:
        with engine.begun():
            gone = engine.prune(keep)
    return Outcome(bool(gone), {**_nothing(), "pruned": gone})


@clear
def sealed(call: Call) -> Outcome:
    """Make a root an image: one generation, no journal, no lock."""
    engine = engine_of(call)
    if not engine.store.is_there():
        return Outcome(False, _nothing())
    if call.is_check:
        engine.peek()
        return Outcome(engine.journal is not None or not engine.is_sealed(), _nothing())
    with engine.begun():
        engine.join()
        number = engine.commit()
        is_changed = engine.seal() or number is not None
        engine.store.forget_lock()
    return Outcome(is_changed, {**_nothing(), "generation": 1 if is_changed else None})


def _nothing() -> dict[str, Any]:
    """The results of a call that did nothing."""
    told: dict[str, Any] = {"plan": [], "generation": None, "journal": None, "deferred": [], "restart": []}
    return {**told, "reboot_required": False, "reboot_reasons": []}


def _feasible(plan: Plan, host: Host) -> Plan:
    """The plan in the order of its doing: files first. What needs a running kernel is deferred where there is none."""
    files = tuple(step for step in plan.steps if isinstance(step, PathStep))
    if host.is_live:
        return plan._replace(steps=files + tuple(step for step in plan.steps if not isinstance(step, PathStep)))
    later = [f"{step.key}: {step.why}" for step in plan.steps if not isinstance(step, PathStep)]
    later += [f"{one.key}: {one.why}" for one in plan.derived]
    later += [f"restart of {one.service}: {one.why}" for one in plan.restarts]
    deferred = tuple(dict.fromkeys([*plan.deferred, *later]))
    return plan._replace(steps=files, derived=plan.derived if files else (), reboot=(), deferred=deferred)


def _foreseen(engine: Engine, plan: Plan, call: Call) -> tuple[Outcome, Plan]:
    """What the call will do, and the plan of it without the paths that are left to others."""
    host = engine.host
    plan = judged(engine, plan, call.wish["on_conflict"])
    plan = plan._replace(steps=apply.parents(host, plan.steps))
    if host.is_live:
        wished = {one.key for one in plan.derived}
        plan = plan._replace(derived=plan.derived + tuple(one for one in engine.due() if one.key not in wished))
    outcome = _told(engine, plan, call)
    # what tasks before have left open is committed along with it
    is_commit = call.wish["commit"] == "now" and engine.journal is not None and bool(engine.journal.batches)
    return outcome._replace(changed=outcome.changed or is_commit), plan


def _told(engine: Engine, plan: Plan, call: Call) -> Outcome:
    """A plan as a result."""
    shown = plan if engine.host.is_live else plan._replace(derived=())
    results = {
        **_nothing(),
        "plan": rows(shown),
        "deferred": list(plan.deferred),
        "restart": restart_rows(engine, plan, call.wish["restart"]),
        "reboot_required": bool(plan.reboot),
        "reboot_reasons": list(plan.reboot),
    }
    if call.is_diff:
        results["diff"] = diffs(shown)
    return Outcome(bool(shown.steps or shown.derived), results)


def judged(engine: Engine, plan: Plan, on_conflict: str) -> Plan:
    """The plan without paths that are somebody else's and are to be kept.

    Raises one error of everything that stands in the way: the plan's blockers, files of others unless ``on_conflict``
    says what happens to them, and paths that cannot be replaced.
    """
    known = engine.known()
    foreign: dict[str, Mapping[str, str]] = {}
    blockers = list(plan.blockers)
    for step in plan.steps:
        if not isinstance(step, PathStep):
            continue
        if on_conflict != "overwrite" and not step.is_edit:
            last = known.get(step.path)
            ours = last.after if isinstance(last, PathStep) and (last.is_ours or last.after == ABSENT) else ABSENT
            if not step.before.is_same(ours):
                foreign[step.path] = {"found": step.before.text(), "ours": ours.text()}
                continue
        try:
            apply.check(engine.host, step)
        except ConflictError as error:
            blockers.append(error)
    if on_conflict == "refuse":
        blockers += [_is_foreign(path, versions) for path, versions in foreign.items()]
    if blockers:
        raise joined(blockers)
    return plan._replace(steps=tuple(step for step in plan.steps if step.key not in foreign))


def _is_foreign(path: str, versions: Mapping[str, str]) -> ConflictError:
    ours = "no file of others" if versions["ours"] == "absent" else f"{versions['ours']}, as it was left"
    return apply.conflict(path, versions["found"], ours, {"conflicts": {path: dict(versions)}})


def _verify(again: Plan, kept: set[str]) -> None:
    """Raise VerifyError where a second look still finds something to do, or what stands in the way now."""
    if again.blockers:
        raise joined(again.blockers)
    left = [step for step in again.steps if step.key not in kept]
    if left:
        step = left[0]
        raise VerifyError(
            "verify",
            step.key,
            apply.told(step.before),
            apply.told(step.after),
            "see what changes it, or whether the kernel cannot give it",
            {"left": rows(Plan(tuple(left)))},
        )
    if again.derived and not again.steps:
        one = again.derived[0]
        raise VerifyError("verify", one.key, "still to be made", "made", f"see why: {one.why}")


def restart_rows(engine: Engine, plan: Plan, wish: str) -> list[dict[str, Any]]:
    """Services that must be started anew: those of the plan, and those due that were not seen to be."""
    pending = {one.service: one for one in plan.restarts} if plan.steps else {}
    for service, (one, boot, seconds) in engine.due_restarts().items():
        if service in pending:
            continue
        if engine.host.is_live and services.is_started(engine.host, service, boot, seconds):
            if engine.store.lock.handle >= 0:
                engine.settle_restart(service)
            continue
        pending[service] = one
    return [
        {
            "service": one.service,
            "reason": one.why,
            "restart_due": True,
            "restart_allowed": engine.host.is_live and _may_restart(engine.host, one, wish),
        }
        for one in pending.values()
    ]


def _may_restart(host: Host, one: Restart, wish: str) -> bool:
    """Whether a service may be started anew now."""
    if wish != "if_idle" or one.is_safe:
        return wish != "never"
    return bool(one.busy) and command.run(host, one.busy, _SHOW_SECONDS).status == 1
