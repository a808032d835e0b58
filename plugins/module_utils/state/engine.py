# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transactions on one node: begin, apply, commit, recover, go back. The order of its writes is what keeps the promise.

Intent before effect, and each lasting before the next: contents, what becomes due, the intents of a whole plan in
one line, the new versions beside their paths, their swap, the folders, the derived things, the look whether all is so,
and then that it is done. A crash at any place leaves a journal from which ``recover`` goes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Optional

from ..host import disk, lock
from ..host.door import Host
from ..model.errors import ApplyError, BusyError, ConflictError, InputError, OpsError, RecoveryError, VerifyError
from ..model.plan import Derived, PathStep, Plan, Restart, digest
from . import apply, history, record
from .history import Generation
from .record import Batch, Journal, Step
from .store import STATE, Store

LEASE_SECONDS = 7200.0
"""A journal of a run that was not seen for so long is anybody's."""


class Caller(NamedTuple):
    """Who calls: the name of the module, the run that it belongs to, and a run that is known to have ended."""

    what: str
    run: str
    dead_run: str


class Engine:
    """The state of one node's root, for one call of a module."""

    def __init__(self, host: Host, caller: Caller) -> None:
        self.host, self._caller = host, caller
        self.store = Store(host)
        self.run = caller.run
        self.journal: Optional[Journal] = None
        self.had_half = False
        self._is_done = False
        self.taken_back: list[str] = []

    # To begin

    @contextmanager
    def begun(self, on_conflict: str = "refuse") -> Iterator[None]:
        """Hold the lock, and first take back what a crash left."""
        self.store.make()
        owner = {"run": self.run, "what": self._caller.what, "process": lock.process(), "at": lock.stamp()}
        held = self.store.lock.take(owner)
        if held is not None:
            raise _busy(str(held.get("run")), {"owner": dict(held)}, str(held.get("at")))
        try:
            self._recover(on_conflict)
            yield
        except OSError as error:
            raise self._unwritten(error) from None
        finally:
            self.store.lock.release()

    def _unwritten(self, error: OSError) -> ApplyError:
        """The error for state that could not be written: it says how the node was left."""
        journal = None if self.journal is None else self.journal.id
        told = unwritable(error)
        if not self._is_done:
            is_half = self.journal is not None and bool(self.journal.unfinished)
            told.details = {"left": "half done" if is_half else "as before", "journal": journal}
            return told
        return ApplyError(
            "commit in",
            STATE,
            f"{told.found} (all steps are done, and stay so in the open journal {journal})",
            told.expected,
            "see that the file system has room and is writable, then run again: it goes on from there",
            {"left": "done, not committed", "journal": journal},
        )

    def _recover(self, on_conflict: str) -> None:
        """Take back what a crash left half done, and finish what it left committed."""
        self.store.tidy()
        self.journal = self.store.journal()
        if self.journal is None:
            self.store.end_journals()
            return
        if self._is_committed(self.journal):
            self.store.end_journals()
            self.journal = None
            return
        self.had_half = bool(self.journal.unfinished)
        self._take_back(self.journal.unfinished, on_conflict)
        if self.journal is not None and not self.journal.batches:
            self.store.end_journals()
            self.journal = None

    def _is_committed(self, journal: Journal) -> bool:
        generations = self.store.generations()
        return bool(generations) and generations[-1].journal == journal.id

    def join(self) -> None:
        """Make the open journal this run's: its own, that of a run that has ended, or of one that is long gone."""
        journal = self.journal
        if journal is None or journal.run == self.run:
            return
        if not self.may_adopt(journal):
            raise _open(journal)
        self._write([{"t": "owner", "run": self.run, **_moment()}])

    def may_adopt(self, journal: Journal) -> bool:
        """Whether a clean journal of another run is anybody's by now."""
        if not journal.run or journal.run == self._caller.dead_run:
            return True
        if journal.run.startswith(_HERE) and lock.is_over(journal.run[len(_HERE) :]):
            return True
        return lock.now().since(journal.boot, journal.seconds) >= LEASE_SECONDS

    def peek(self) -> None:
        """For check mode, which writes nothing: raise what a real run would raise now."""
        self.journal = self.store.journal()
        if self.journal is not None and (self._is_committed(self.journal) or not self.journal.batches):
            self.journal = None
        if self.journal is None:
            return
        if self.journal.unfinished:
            raise RecoveryError(
                "foresee",
                "what a run would do",
                f"journal {self.journal.id} of a run that was cut off",
                "no half-done changes",
                "run the module generation with state: recovered (a real run takes them back by itself first)",
            )
        if self.journal.run != self.run and not self.may_adopt(self.journal):
            raise _open(self.journal)

    def foresee_recovery(self) -> tuple[tuple[Batch, ...], bool]:
        """For check mode: what recovery would take back, and whether it would make a generation of the rest."""
        journal = self.store.journal()
        if journal is None or self._is_committed(journal):
            return (), False
        done = [batch for batch in journal.batches if batch.number in journal.done]
        is_free = journal.run == self.run or self.may_adopt(journal)
        return journal.unfinished, is_free and bool(history.net(done))

    # What is known

    def known(self) -> dict[str, Step]:
        """The last step known of each thing that this collection changed here."""
        batches = self.journal.batches if self.journal is not None else ()
        return history.known((*self.store.forgotten(), *self.store.generations()), batches)

    def due(self, with_failed: bool = False) -> tuple[Derived, ...]:
        """Derived things that must be made again; ``with_failed``: those too that could not be made when it was tried.

        Those wait for a call that wants them itself, or for recovery: they are in nobody else's way.
        """
        rows = self.store.due()
        found = [rows[key] for key in sorted(rows) if "derived" in rows[key]]
        return tuple(record.to_derived(row["derived"]) for row in found if with_failed or "failed" not in row)

    def due_restarts(self) -> dict[str, tuple[Restart, str, float]]:
        """Services that must be started anew: why, and the moment by the boot's clock after which that counts."""
        found = self.store.due()
        return {
            row["restart"]["service"]: (record.to_restart(row["restart"]), row["boot"], row["seconds"])
            for row in (found[key] for key in sorted(found))
            if "restart" in row
        }

    def settle_restart(self, service: str) -> None:
        """A service was seen to be started anew."""
        self._undue([f"service {service}"])

    # To change

    def apply(self, plan: Plan, verify: Callable[[], None], settled: tuple[Step, ...] = ()) -> None:
        """Do a plan: journaled, applied, proven, and seen by ``verify``. On any error all of it is taken back.

        ``settled`` are steps that somebody else has done already: with the plan they become known.
        """
        number = 0 if self.journal is None else self.journal.next_batch
        batch = Batch(number, self._caller.what, plan.steps, plan.derived, plan.restarts)
        contents = [one for step in plan.steps if isinstance(step, PathStep) for one in _contents(step)]
        self.store.keep(contents)
        due = self.store.due()
        self._add_due(plan.derived, plan.restarts)
        self._write([record.batch_row(batch)])
        try:
            apply.do(self.host, plan.steps, self._mark(number), self.store.content, self._keep)
            if self.host.is_live:
                self._make(plan.derived)
            verify()
            self._held()
            rows = [record.step_row(step) for step in settled]
            self._write([{"t": "done", "batch": number, "settled": rows, **_moment()}])
            self._is_done = True
        except (OpsError, OSError) as error:
            raise self._failed(batch, error, due) from None
        if self.host.is_live:  # not before it is done: what is taken back is made again only where it is still due
            self._undue([one.key for one in plan.derived])

    def take_back(self, on_conflict: str) -> None:
        """Undo all that the open journal has done, its newest first. Raises ConflictError, ApplyError."""
        batches = () if self.journal is None else self.journal.batches
        for batch in batches:
            self._add_due(batch.derived, batch.restarts)
        self._write([{"t": "undo", "batch": batch.number, **_moment()} for batch in batches])
        self._take_back(batches, on_conflict)
        self.store.end_journals()
        self.journal = None

    def make_due(self, with_failed: bool = False) -> bool:
        """Make again what is due, on a live node: what another root needs is made when it runs. False: nothing is."""
        due = self.due(with_failed) if self.host.is_live else ()
        self._make(due)
        self._undue([one.key for one in due])
        return bool(due)

    def _held(self) -> None:
        if not self.store.lock.is_held():
            raise BusyError(
                "keep",
                f"the lock in {STATE}",
                "its file was removed or replaced while this run had it",
                "the lock that was taken",
                "see who removed it, and run again",
            )

    def _failed(self, batch: Batch, error: OpsError | OSError, due: Mapping[str, Any]) -> OpsError:
        """Take a batch back after an error; the error then says how the node was left. ``due`` is what was before."""
        if isinstance(error, OSError):
            error = apply.failed(_place(error), error)
        try:
            # a path that was found to be another one was not touched: it stays so, and the others go back
            self._take_back((batch,), "keep" if isinstance(error, ConflictError) else "refuse")
            if not batch.steps:  # nothing was changed that could have made anything stale
                self._undue([key for key in self.store.due() if key not in due])
            if self.journal is not None and not self.journal.batches:
                self.store.end_journals()
                self.journal = None
            error.details = {**error.details, "left": "as before", "due": sorted(self.store.due())}
            return error
        except (OpsError, OSError) as second:
            journal = None if self.journal is None else self.journal.id
            details: dict[str, object] = {"first": str(error), "journal": journal, "left": "half done"}
            if isinstance(second, OSError):
                second = apply.failed(_place(second), second)
            return RecoveryError(
                "take back",
                second.subject,
                f"{second.found} (after: {error})",
                "the node as before",
                "mend that, then run the module generation with state: recovered",
                details,
            )

    def _take_back(self, batches: Sequence[Batch], on_conflict: str) -> None:
        """Undo batches, the last first, from what is there now; it can be cut off at any place and done again."""
        for batch in reversed(batches):
            mark = self._mark(batch.number)
            apply.sweep(self.host, batch.steps, mark)
            needed = apply.back(self.host, batch.steps, on_conflict, is_half_done=True)
            apply.do(self.host, needed, f"{mark}-back", self.store.content, self._keep)
            self._write([{"t": "undone", "batch": batch.number, **_moment()}])
            self.taken_back += [step.key for step in needed]
        stale = {one.key for batch in batches if batch.steps for one in batch.derived}
        for one in self.due(with_failed=True):
            if one.key in stale and self.host.is_live:
                with suppress(OpsError):  # it stays due: all else is as before
                    self._make([one])
                    self._undue([one.key])

    def _make(self, derived: Sequence[Derived]) -> None:
        """Make derived things. One that is due and cannot be made is noted as such."""
        for one in derived:
            try:
                apply.make(self.host, one, self._keep)
            except OpsError as error:
                due = self.store.due()
                if one.key in due:
                    self.store.set_due({**due, one.key: {**due[one.key], "failed": str(error)}})
                raise

    @property
    def _keep(self) -> tuple[int, ...]:
        """Open files that programs inherit: the lock is held until they have ended."""
        return (self.store.lock.handle,)

    def _mark(self, number: int) -> str:
        journal = "0" if self.journal is None else self.journal.id
        return f"{journal}-{number}"

    # To commit

    def commit(self) -> Optional[int]:
        """Make the open journal a generation, after a second look at all of it. None where nothing has changed."""
        journal = self.journal
        if journal is None:
            return None
        self._held()
        steps = history.net(journal.batches)
        self.make_due()
        wrong = apply.unlike(self.host, [step for step in steps if not _is_folder(step)])
        if wrong:
            first = next(iter(wrong))
            ours = next(history.state_after(step) for step in steps if step.key == first)
            raise VerifyError(
                "commit",
                f"journal {journal.id}",
                f"{first} is {wrong[first]}",
                ours,
                "see who changed it, and run again",
                {"differs": dict(wrong), "journal": journal.id},
            )
        number = None
        if steps:
            number = self.store.current() + 1
            self.store.commit(self._becoming(journal, number))
        self.store.end_journals()
        self.journal = None
        return number

    def release(self) -> bool:
        """Give the open journal to whoever comes next. False where there is none."""
        if self.journal is None or not self.journal.run:
            return False
        self._write([{"t": "owner", "run": "", **_moment()}])
        return True

    # Back to a generation

    def generations(self) -> tuple[Generation, ...]:
        """All that is kept, oldest first; what an open journal has done counts as the one that it will be."""
        found = self.store.generations()
        if self.journal is None:
            return found
        return (*found, self._becoming(self.journal, self.store.current() + 1))

    def _becoming(self, journal: Journal, number: int) -> Generation:
        batches = [batch for batch in journal.batches if batch.number in journal.done]
        gathered = [Generation(0, "", "", "", (), (), one.derived, one.restarts) for one in batches]
        what = tuple(dict.fromkeys(batch.what for batch in batches))
        steps = history.net(batches)
        return Generation(number, journal.id, journal.run, lock.stamp(), what, steps, *history.touched(gathered))

    def way_back(self, number: int, on_conflict: str) -> Plan:
        """The plan that leads to generation ``number``. Raises InputError, ConflictError."""
        generations = self.generations()
        oldest, newest = (generations[0].number - 1, generations[-1].number) if generations else (0, 0)
        if not oldest <= number <= newest:
            expected = f"a number from {oldest} to {newest}"
            raise InputError("go back to", f"generation {number}", "no such generation", expected, "choose one")
        needed = apply.back(self.host, history.since(generations, number, self.store.forgotten()), on_conflict)
        if not needed:
            return Plan()
        derived, restarts = history.touched(one for one in generations if one.number > number)
        derived = tuple(one._replace(why="what it is made from is as it was then") for one in derived)
        return Plan(tuple(self._with_contents(step) for step in needed), derived, restarts)

    def settled(self, number: int) -> tuple[Step, ...]:
        """What somebody else has brought back to generation ``number`` already, and is not known to be so."""
        steps = history.since(self.generations(), number, self.store.forgotten())
        # another root does not tell what its kernel has
        return apply.settled(self.host, [one for one in steps if isinstance(one, PathStep) or self.host.is_live])

    def _with_contents(self, step: Step) -> Step:
        if not isinstance(step, PathStep):
            return step
        seen = disk.found(self.host, step.path)
        new = self.store.content(step.after.sha256) if step.after.kind == "file" else b""
        return step._replace(old=seen.content, new=new, why="as it was then")

    def prune(self, keep: int) -> list[int]:
        """Forget all generations but the newest ``keep``; the way back to those forgotten is gone."""
        generations = self.store.generations()
        gone = generations[: max(0, len(generations) - keep)]
        self.store.forget_generations(gone)
        named: set[str] = set()
        for one in self.store.generations():
            named |= history.objects_of(one.steps)
        for batch in self.journal.batches if self.journal is not None else ():
            named |= history.objects_of((*batch.steps, *batch.settled))
        self.store.drop_objects(named)
        return [one.number for one in gone]

    def is_sealed(self) -> bool:
        """Whether all that was changed is one generation, numbered 1, or nothing is."""
        return [one.number for one in self.generations()] in ([], [1])

    def seal(self) -> bool:
        """Make all generations one, numbered 1: the root becomes an image. False: it was so."""
        if not self.is_sealed():
            self.store.seal(history.squashed(self.store.generations()))
            return True
        return False

    # Lines and dues

    def _write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        if self.journal is None:
            self.store.end_journals()
            first = {"t": "begin", "run": self.run, "at": lock.stamp(), **_moment()}
            # by itself: of two lines in one write a power cut could leave the second alone, as nobody else could
            self.journal = self.store.write_journal(_name(self.store.current(), self.run), [first], None)
        self.journal = self.store.write_journal(self.journal.id, rows, self.journal)

    def _add_due(self, derived: Sequence[Derived], restarts: Sequence[Restart]) -> None:
        if not derived and not restarts:
            return
        due = self.store.due()
        moment = _moment()
        for one in derived:
            due[one.key] = {"derived": record.derived_row(one), **moment}
        for each in restarts:
            due[f"service {each.service}"] = {"restart": each._asdict(), **moment}
        self.store.set_due(due)

    def _undue(self, keys: Sequence[str]) -> None:
        due = self.store.due()
        if due.keys() & set(keys):
            self.store.set_due({key: row for key, row in due.items() if key not in keys})


_HERE = "process "
"""How a run is called that has no name of its own: by the process on the node that began it."""


def anonymous() -> str:
    """A name for a call that belongs to no run."""
    return _HERE + lock.process()


def _name(parent: int, run: str) -> str:
    return f"{parent + 1}-{digest(f'{run} {_moment()}'.encode('utf-8', 'backslashreplace'))[:12]}"


def _moment() -> dict[str, Any]:
    now = lock.now()
    return {"boot": now.boot, "seconds": now.seconds}


def _contents(step: PathStep) -> list[bytes]:
    return [content for state, content in ((step.before, step.old), (step.after, step.new)) if state.kind == "file"]


def _is_folder(step: Step) -> bool:
    return isinstance(step, PathStep) and step.after.kind == "dir"


def _open(journal: Journal) -> BusyError:
    return _busy(journal.run, {"owner": {"run": journal.run, "at": journal.at}, "journal": journal.id}, journal.at)


def _busy(run: str, details: dict[str, object], at: str) -> BusyError:
    return BusyError(
        "change",
        "this node",
        f"run {run} has it since {at}",
        "no other run",
        "wait for it, or when it is surely over run the module generation with state: released",
        details,
    )


def _place(error: OSError) -> str:
    """The path that an error of the system is about, where it tells one: it may name an open file by its number."""
    return error.filename if isinstance(error.filename, str) else "the node"


def unwritable(error: OSError) -> ApplyError:
    """An error of the system, in keeping the state, as ours."""
    return ApplyError(
        "keep state in",
        STATE,
        error.strerror or str(error),
        "a folder that can be written",
        "run as root, and see that the file system has room and is writable",
    )
