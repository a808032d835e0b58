# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state folder on the node: what lies where, and how each piece is read and written.

``objects/<sha256>`` contents · ``journal/<id>.jsonl`` the open journal · ``generations/<n>/manifest.json`` ·
``generations/sealed`` and ``generations/gone-<n>`` while those are made one, or forgotten · ``current`` a link to the
newest generation, whose swap is the commit · ``forgotten.json`` what forgotten generations changed in all: their files
are still known as ours · ``due.json`` what must still be made or restarted · ``lock``.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

from ..host import disk
from ..host.door import Host
from ..host.lock import Lock
from ..model.errors import RecoveryError
from ..model.plan import digest
from . import history, record
from .history import Generation
from .record import Journal

STATE = "/var/lib/accelerator-ops"


_KINDS = {
    "": "dir",
    "objects": "dir",
    "journal": "dir",
    "generations": "dir",
    "current": "link",
    "forgotten.json": "file",
    "due.json": "file",
    "lock": "file",
}
"""What each thing of the folder is, where it is there."""

_NO_FILE = (errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENOTDIR, errno.ENXIO)


def damaged(what: str, found: str, next_step: str = f"restore {STATE} from a backup") -> RecoveryError:
    """The error for a state folder that somebody changed. Nothing on the node is touched then."""
    return RecoveryError("use", f"the state in {STATE}", f"{what}: {found}", "what was written there", next_step)


class Store:
    """The state folder of one root. Its functions raise OSError, and RecoveryError for what is damaged."""

    def __init__(self, host: Host) -> None:
        # a human may have put a link in its place, to another disk; it leads inside the root, as on the node itself
        self._base = disk.place(host, host.real_path(STATE))
        self.lock = Lock(f"{self._base}/lock")
        self._judge()

    def _judge(self) -> None:
        """Raise RecoveryError where something here is of another kind, or where somebody else could write to it."""
        for name, wanted in _KINDS.items():
            status = disk.status_of(f"{self._base}/{name}".rstrip("/"))
            if status is None:
                continue
            kind, mode, owner = status
            if kind != wanted:
                raise damaged(name or "the folder", f"a {kind}, not a {wanted}")
            if not disk.is_trusted(owner) or (kind != "link" and mode & 0o022):
                found = f"{kind} {mode:04o} of user {owner}: it can be changed by others than root"
                step = "see what they changed, and give it back: chown -R root:root, chmod -R go-w"
                raise damaged(name or "the folder", found, step)

    def _content(self, name: str) -> Optional[bytes]:
        try:
            return disk.content_of(f"{self._base}/{name}")
        except OSError as error:
            if error.errno in _NO_FILE:
                raise damaged(name, "not a file") from None
            raise

    def is_there(self) -> bool:
        """Whether there is a state folder at all."""
        return bool(disk.names_in(self._base))

    def make(self) -> None:
        """Make what is missing of the folder."""
        disk.make_folders(self._base, 0o700)
        for name in ("objects", "journal", "generations"):
            disk.make_folders(f"{self._base}/{name}", 0o700)
        # also where all is there: a run that was cut off may have made it, and not have made it last
        disk.sync_folders([self._base, self._base.rpartition("/")[0]])

    # Objects

    def keep(self, contents: Iterable[bytes]) -> None:
        """Store contents under their digests; those that are there already stay, unless somebody changed them."""
        folder = f"{self._base}/objects"
        there = set(disk.names_in(folder))
        for name, content in {digest(content): content for content in contents}.items():
            if name not in there or self._content(f"objects/{name}") != content:
                disk.put(f"{folder}/{name}", content, lasts=False)
        disk.sync_folders(
            [folder]
        )  # also for those that were there: a run that was cut off may have left them unsynced

    def content(self, sha256: str) -> bytes:
        """A stored content."""
        content = self._content(f"objects/{sha256}")
        if content is None or digest(content) != sha256:
            found = "not there" if content is None else "its content is another one"
            raise damaged(f"objects/{sha256}", found)
        return content

    def drop_objects(self, but: set[str]) -> int:
        """Remove contents that nothing names any more. Returns how many."""
        folder = f"{self._base}/objects"
        dropped = [name for name in disk.names_in(folder) if name not in but]
        for name in dropped:
            disk.remove(f"{folder}/{name}")
        disk.sync_folders([folder])
        return len(dropped)

    # The journal

    def journal(self) -> Optional[Journal]:
        """The open journal, or None. One whose first line is torn was never begun."""
        names = [name for name in disk.names_in(f"{self._base}/journal") if name.endswith(".jsonl")]
        if len(names) > 1:
            raise damaged("journal", f"{len(names)} journals")
        for name in names:
            content = self._content(f"journal/{name}") or b""
            try:
                return record.read(name[: -len(".jsonl")], content)
            except ValueError as error:
                raise damaged(f"journal/{name}", str(error)) from None
        return None

    def write_journal(self, name: str, rows: Iterable[Mapping[str, Any]], after: Optional[Journal]) -> Journal:
        """Add lines to a journal (None: begin it), lasting, and return it as it is then."""
        length, checksum = (0, "") if after is None else (after.length, after.checksum)
        real = f"{self._base}/journal/{name}.jsonl"
        disk.append(real, record.lines(rows, checksum), length)
        journal = self.journal()
        if journal is None:
            raise damaged(f"journal/{name}.jsonl", "it vanished while it was written")
        return journal

    def end_journals(self) -> None:
        """Remove the open journal, and what a crash left of one that was never begun."""
        folder = f"{self._base}/journal"
        for name in disk.names_in(folder):
            disk.remove(f"{folder}/{name}")
        disk.sync_folders([folder])

    # Generations

    def current(self) -> int:
        """The number of the newest generation, 0 before the first."""
        if self._sealed() is not None:
            return 1
        target = disk.target_of(f"{self._base}/current")
        if target is None:
            return 0
        number = target.rpartition("/")[2]
        if not _is_number(number):
            raise damaged("current", f"it leads to {target}")
        return int(number)

    def generations(self) -> tuple[Generation, ...]:
        """All committed generations that are kept, oldest first, without a gap up to the current one."""
        sealed = self._sealed()
        if sealed is not None:
            return (self._opened("generations/sealed/manifest.json", sealed),)
        current = self.current()
        self._later(current)
        there = sorted(int(name) for name in disk.names_in(f"{self._base}/generations") if _is_number(name))
        numbers = [number for number in there if number <= current]
        if current and (not numbers or numbers != list(range(numbers[0], current + 1))):
            raise damaged("generations", f"numbers {numbers} up to current {current}")
        return tuple(self._generation(number) for number in numbers)

    def _generation(self, number: int) -> Generation:
        name = _manifest(number)
        content = self._content(name)
        if content is None:
            raise damaged(name, "not there")
        found = self._opened(name, content)
        if found.number != number:
            raise damaged(name, f"it says that it is generation {found.number}")
        return found

    def commit(self, generation: Generation) -> None:
        """Write a generation and make it the current one. The swap of the link is the commit."""
        folder = f"{self._base}/generations/{generation.number}"
        disk.make_folders(folder, 0o700)
        disk.put(f"{folder}/manifest.json", history.manifest(generation))
        disk.point(f"{self._base}/current", f"generations/{generation.number}")

    @staticmethod
    def _opened(name: str, content: bytes) -> Generation:
        try:
            return history.read_manifest(content)
        except ValueError as error:
            raise damaged(name, str(error)) from None

    def forgotten(self) -> tuple[Generation, ...]:
        """What the forgotten generations changed, as one; none where nothing was forgotten."""
        content = self._content("forgotten.json")
        return () if content is None else (self._opened("forgotten.json", content),)

    def forget_generations(self, gone: Sequence[Generation]) -> None:
        """Remove generations, the oldest first. Each goes in one step: none is ever seen without its manifest.

        What they changed is noted before, and stays known as ours.
        """
        if gone:
            all_gone = history.squashed((*self.forgotten(), *gone))
            disk.put(f"{self._base}/forgotten.json", history.manifest(all_gone))
        for number in [one.number for one in gone]:
            going = f"{self._base}/generations/gone-{number}"
            disk.swap(f"{self._base}/generations/{number}", going)
            disk.sync_folders([f"{self._base}/generations"])
            disk.remove_tree(going)

    def seal(self, generation: Generation) -> None:
        """Make ``generation``, numbered 1, the only one. Its manifest beside the others hides them: the commit."""
        disk.make_folders(f"{self._base}/generations/sealed", 0o700)
        disk.put(f"{self._base}/generations/sealed/manifest.json", history.manifest(generation))
        self._end_sealing()

    def _sealed(self) -> Optional[bytes]:
        """The manifest that hides all others, where sealing was cut off."""
        return self._content("generations/sealed/manifest.json")

    def _end_sealing(self) -> None:
        manifest = self._sealed()
        if manifest is not None:
            for name in disk.names_in(f"{self._base}/generations"):
                if _is_number(name):
                    disk.remove_tree(f"{self._base}/generations/{name}")
            self.commit(self._opened("generations/sealed/manifest.json", manifest))
        disk.remove_tree(f"{self._base}/generations/sealed")

    def tidy(self) -> None:
        """Finish what a crash cut off in this folder: sealing, forgetting, a generation that never became current."""
        if "sealed" in disk.names_in(f"{self._base}/generations"):
            self._end_sealing()
        later = [str(number) for number in self._later(self.current())]
        gone = [name for name in disk.names_in(f"{self._base}/generations") if name.startswith("gone-")]
        for name in later + gone:
            disk.remove_tree(f"{self._base}/generations/{name}")
        for folder in (self._base, f"{self._base}/objects"):
            for name in disk.names_in(folder):
                if name.startswith(".") and name.endswith(".tmp"):
                    disk.remove(f"{folder}/{name}")

    def _later(self, current: int) -> list[int]:
        """Generations after the current one. A crash leaves one, and its journal; others mean a change by hand."""
        later = [int(name) for name in disk.names_in(f"{self._base}/generations") if _is_number(name)]
        later = sorted(number for number in later if number > current)
        whole = [number for number in later if self._content(_manifest(number)) is not None]
        if whole and not self._is_explained(whole):
            raise damaged("current", f"generation {current or 'none'}, and generation {whole[-1]} is there")
        return later

    def _is_explained(self, whole: Sequence[int]) -> bool:
        journal = self._generation(whole[-1]).journal
        return len(whole) == 1 and self._content(f"journal/{journal}.jsonl") is not None

    # What is due

    def due(self) -> dict[str, dict[str, Any]]:
        """What must still be made (``derived``) or started anew (``restart``), by its key."""
        content = self._content("due.json")
        if content is None:
            return {}
        try:
            return dict(history.opened_row(content)["due"])
        except (ValueError, KeyError, TypeError) as error:
            raise damaged("due.json", str(error)) from None

    def set_due(self, due: Mapping[str, Mapping[str, Any]]) -> None:
        """Write down what is due, lasting."""
        plain = json.loads(json.dumps(due))
        disk.put(f"{self._base}/due.json", history.sealed_row({"schema": history.SCHEMA, "due": plain}))

    def forget_lock(self) -> None:
        """Remove the lock file (of a golden image: nobody has it)."""
        disk.remove(f"{self._base}/lock")
        disk.sync_folders([self._base])


def _manifest(number: int) -> str:
    return f"generations/{number}/manifest.json"


def _is_number(name: str) -> bool:
    return name.isdecimal() and name.isascii()
