# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder on the control host where a run leaves the facts of each host, and its report.

``facts/<host>.json`` is written by the action plugin of ``accelerator_facts``, ``changes/<host>.json`` by that of all
changing modules. Each file names the run that it
belongs to, so that what an earlier run saw is never reported as seen now. ``.run.json`` names the run that has the
folder: two that write at once would take each other's facts.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import pwd
import re
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, BinaryIO, NamedTuple, Optional
from urllib.parse import quote

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import BusyError, InputError
from ansible_collections.accelerator.ops.plugins.plugin_utils import whole_file
from ansible_collections.accelerator.ops.plugins.plugin_utils.this_run import goes_on, run_id

_LONGEST = 200  # bytes of a file name; file systems take 255
_OWNER = ".run.json"
_LONGEST_OWNER = 4096  # bytes
_IDLE_SECONDS = 3600
_RUN = re.compile(r"[0-9]{1,10}(-[0-9]{1,20})?\Z")


class Owner(NamedTuple):
    """Who has a report folder: the run, the machine that it is on, its user, and since when."""

    run: str
    node: str
    user: str
    since: str


def _this_run() -> Owner:
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    return Owner(run_id(), os.uname().nodename, user, datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"))


def _owner_in(text: bytes) -> Optional[Owner]:
    """The owner that a file names; None for an empty one, and for one that a crash left torn."""
    try:
        owner = Owner(**json.loads(text))
    except (ValueError, TypeError, RecursionError):
        return None
    return owner if all(isinstance(one, str) for one in owner) and _RUN.match(owner.run) else None


def facts_name(host: str) -> str:
    """The file of a host's facts below the folder; any inventory name gives a safe and distinct one."""
    return f"facts/{_file_name(host)}"


def changes_name(host: str) -> str:
    """The file below the folder that says what was changed on a host."""
    return f"changes/{_file_name(host)}"


def _file_name(host: str) -> str:
    name = quote(host, safe="", errors="surrogatepass")
    if len(name) > _LONGEST:
        name = f"{name[: _LONGEST - 33]}~{hashlib.sha256(host.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
    return f"{name}.json"


def _replace(file: BinaryIO, content: bytes) -> None:
    file.seek(0)
    file.truncate()
    file.write(content)
    file.flush()


class ReportDir:
    """Reads and writes files of one report folder. Raises InputError where the folder cannot be used."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(os.path.expandvars(os.path.expanduser(path)))

    def place(self, name: str) -> str:
        """The full path of a file of the folder."""
        return os.path.join(self.path, name)

    def claim(self) -> None:
        """Take the folder for this run until its report is written or it is over.

        Raises BusyError where another run has it. A run of this machine has it no longer once its process is gone; one
        of another machine, of which that cannot be told, once it has not come by for an hour.
        """
        try:
            os.makedirs(self.path, exist_ok=True)
            with self._locked() as file:
                owner, mine = _owner_in(file.read(_LONGEST_OWNER)), _this_run()
                if owner is not None and owner[:2] != mine[:2]:
                    self._ask(owner, owner.node == mine.node, time.time() - os.fstat(file.fileno()).st_mtime)
                _replace(file, json.dumps(mine._asdict()).encode())
        except OSError as error:
            raise self._unusable("write", _OWNER, error) from None

    def give_back(self) -> None:
        """Let another run take the folder, if this one has it."""
        try:
            with self._locked() as file:
                owner = _owner_in(file.read(_LONGEST_OWNER))
                if owner is not None and owner[:2] == _this_run()[:2]:
                    _replace(file, b"")
        except OSError as error:
            raise self._unusable("write", _OWNER, error) from None

    @contextlib.contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        """The file that names the owner, for this process alone."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(self.place(_OWNER), flags, 0o666), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file

    def _ask(self, owner: Owner, is_here: bool, idle_seconds: float) -> None:
        """Raise BusyError unless the owner is over."""
        if not (goes_on(owner.run) if is_here else idle_seconds < _IDLE_SECONDS):
            return
        process = owner.run.partition("-")[0]
        wait = "wait until it is over" if is_here else f"wait until it is over, or remove {self.place(_OWNER)} if it is"
        raise BusyError(
            "use",
            f"report folder {self.path}",
            f"a run of {owner.user} has it (process {process} on {owner.node}, since {owner.since})",
            "a folder that no other run writes",
            f"{wait}, or set report_dir to another folder",
            {"user": owner.user, "process": int(process), "node": owner.node, "since": owner.since},
        )

    def read(self, name: str) -> Optional[str]:
        """The text of a file; None where there is none."""
        try:
            with open(self.place(name), encoding="utf-8", errors="replace", newline="") as source:
                return source.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable("read", name, error) from None

    def remove(self, name: str) -> None:
        """Remove a file that may be there."""
        try:
            os.unlink(self.place(name))
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._unusable("remove", name, error) from None

    def write(self, name: str, text: str) -> str:
        """Write a file: whole or not at all, and still there after a power cut. Returns its path."""
        return self.write_all({name: text})[0]

    def write_all(self, texts: Mapping[str, str]) -> list[str]:
        """Write files of one folder, none before there is room for all; they take their places in this order."""
        places = [self.place(name) for name in texts]
        try:
            os.makedirs(os.path.dirname(places[0]), exist_ok=True)
            contents = [text.encode("utf-8", "replace") for text in texts.values()]
            whole_file.write_all(list(zip(places, contents)), 0o666)
        except OSError as error:
            raise self._unusable("write", next(iter(texts)), error) from None
        return places

    def sweep(self) -> None:
        """Remove what killed runs left unfinished."""
        for folder in (self.path, self.place("facts"), self.place("changes")):
            whole_file.sweep(folder)

    def write_host(self, host: str, entry: dict[str, Any]) -> str:
        """Write what this run saw of a host."""
        return self.write(
            facts_name(host), json.dumps({"run": run_id(), "host": host, **entry}, indent=1, sort_keys=True) + "\n"
        )

    def add_change(self, host: str, change: Mapping[str, Any]) -> None:
        """Add what a task of this run did to a host, after what tasks before it did; of earlier runs nothing stays."""
        changes = [*self.changes(host, run_id()), change]
        entry = {"run": run_id(), "host": host, "changes": changes}
        self.write(changes_name(host), json.dumps(entry, indent=1, sort_keys=True) + "\n")

    def changes(self, host: str, run: str) -> list[Any]:
        """What tasks of a run did to a host, in order; nothing where there is no such file, or one of another run."""
        try:
            entry = json.loads(self.read(changes_name(host)) or "null")
        except (ValueError, RecursionError):
            return []
        if not isinstance(entry, dict) or (entry.get("host"), entry.get("run")) != (host, run):
            return []
        changes = entry.get("changes")
        return changes if isinstance(changes, list) else []

    def _unusable(self, verb: str, name: str, error: OSError) -> InputError:
        return InputError(
            verb,
            f"report file {self.place(name)}",
            os.strerror(error.errno or 0),
            "a folder on the control host that can be written",
            "set report_dir to one",
        )
