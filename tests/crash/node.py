# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder that stands for a node, put back to what it was as often as needed, and what is on it.

A live one is entered with chroot: programs and Python are those of this machine, bound read-only below it; all else is
its own. The mounts are this process's alone and end with it.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.accelerator.ops.tests.listing import entry

STATE = "/var/lib/accelerator-ops"
OWN = ("etc", "var", "run", "boot", "sys", "srv")
"""The folders at the top of a node that belong to it."""

_CLONE_NEWNS = 0x00020000
_PROGRAM = """#!/bin/sh
# NAME ARGUMENTS: runs NAME. Where /run/kill-NAME is there, the module that started this is killed before or after.
mark="/run/kill-${1##*/}"
when=$(cat "$mark" 2>/dev/null)
rm -f "$mark"
if [ "$when" = before ]; then kill -9 "$PPID"; sleep 0.2; fi
"$@"
status=$?
if [ "$when" = after ]; then kill -9 "$PPID"; fi
exit "$status"
"""
DERIVE = """#!/bin/sh
# Makes a file from others, as an initramfs is made: IMAGE, or the one that is named by -o.
out=IMAGE
if [ "$1" = -o ]; then out=$2; fi
for one in /etc/modprobe.d/*.conf; do
  if [ -e "$one" ]; then echo "$one"; cat "$one"; fi
done > "$out.new"
mv "$out.new" "$out"
"""
NO_SYNC = "#!/bin/sh\nexit 0\n"
"""In place of the program sync, which would wait for all that others write on this machine."""
ASIDE = ("/boot/derived", "/etc/group-", "/etc/gshadow-", "/etc/.pwd.lock", "/run/kill-")
"""What may differ afterwards: derived things, and what programs of the system keep for themselves."""

Listing = dict[str, tuple[Any, ...]]


def scratch() -> Path:
    """A folder in memory where one can be had that keeps extended attributes, else one on the disk."""
    for parent in ("/dev/shm", None):
        try:
            folder = Path(tempfile.mkdtemp(prefix="accelerator-ops-crash-", dir=parent))
        except OSError:
            continue
        try:
            os.setxattr(folder, "user.try", b"1")
            (folder / "try").write_text("#!/bin/sh\nexit 0\n")
            (folder / "try").chmod(0o700)
            subprocess.run([str(folder / "try")], check=True)
            (folder / "try").unlink()
            return folder
        except (OSError, subprocess.CalledProcessError):
            shutil.rmtree(folder)
    raise OSError("no folder for the crash tests keeps extended attributes")


class Node:
    """A node below ``base``; ``is_live`` makes its root one that processes enter.

    ``derived`` are the programs that make derived files, each with its file: given ``-o PATH``, it makes it there.
    ``values`` are files that stand for values of the kernel: bound into a folder that is otherwise not the node's own.
    """

    own: tuple[str, ...] = OWN
    aside: tuple[str, ...] = ASIDE

    def __init__(self, base: Path, is_live: bool) -> None:
        self.base, self.is_live = base, is_live
        self.root = base / "root"
        self.derived: list[tuple[str, str]] = []
        self.values: dict[str, Path] = {}
        self._mounts: list[Path] = []
        for name in self.own:
            (self.root / name).mkdir(parents=True)
        (self.root / "var/lib").mkdir()
        (self.root / "etc/modprobe.d").mkdir()
        if is_live:
            self._dress()

    @property
    def chroot(self) -> str | None:
        """The folder to enter, for a request."""
        return str(self.root) if self.is_live else None

    @property
    def option(self) -> str:
        """The option ``root`` of a call."""
        return "/" if self.is_live else str(self.root)

    def _dress(self) -> None:
        program(self.root / "srv/program", _PROGRAM)
        program(self.root / "srv/derive", DERIVE.replace("IMAGE", "/boot/derived"))
        self.derived.append(("/srv/derive", "/boot/derived"))
        (self.root / "etc/group").write_text("root:x:0:\n")
        (self.root / "etc/gshadow").write_text("root:*::\n")
        (self.root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        _own_mounts()
        for name in ("bin", "sbin", "lib", "lib64"):
            if os.path.islink(f"/{name}"):
                (self.root / name).symlink_to(os.readlink(f"/{name}"))
        for path in visible():
            if path.lstrip("/").partition("/")[0] in self.own:
                raise OSError(f"{path} lies where the node has a folder of its own")
            self.bind(path)
        program(self.base / "sync", NO_SYNC)
        self.mount_at("/usr/bin/sync", "--bind", str(self.base / "sync"))

    def bind(self, path: str, source: str = "") -> None:
        """Show a folder of this machine (``source``, or the one with the same path) on the node, read-only."""
        place = self.mount_at(path, "--bind", source or path)
        if path not in ("/proc", "/dev"):
            _mount("-o", "remount,bind,ro", str(place))

    def mount_at(self, path: str, *words: str) -> Path:
        """Mount something on the node. Returns the place."""
        place = self.root / path.lstrip("/")
        if not place.exists():
            place.mkdir(parents=True)
        _mount(*words, str(place))
        self._mounts.append(place)
        return place

    def unmount(self) -> None:
        """Let go of all that is mounted below the root."""
        while self._mounts:
            subprocess.run(["umount", str(self._mounts[-1])], check=True)
            self._mounts.pop()

    def save(self, name: str) -> None:
        """Keep all that is on the node under a name."""
        goal = self.base / "saved" / name
        if goal.exists():
            shutil.rmtree(goal)
        self._copy(self.root, goal)
        (goal / "values").write_text(json.dumps({path: place.read_text() for path, place in self.values.items()}))

    def clear(self) -> None:
        """Remove all of its own."""
        for one in self.own:
            shutil.rmtree(self.root / one, ignore_errors=not (self.root / one).exists())

    def restore(self, name: str) -> None:
        """Put back what was kept."""
        self.clear()
        self._copy(self.base / "saved" / name, self.root)
        for path, text in json.loads((self.base / "saved" / name / "values").read_text()).items():
            self.values[path].write_text(text)

    def _copy(self, source: Path, goal: Path) -> None:
        goal.mkdir(parents=True, exist_ok=True)
        there = [one for one in self.own if (source / one).exists()]
        subprocess.run(["cp", "-a", "--parents", *there, str(goal)], cwd=source, check=True)

    def listing(self) -> Listing:
        """Everything on the node by path: type and mode, owner, extended attributes, content."""
        listing = {path: entry for path, entry in self._entries() if not path.startswith((STATE, *self.aside))}
        listing.update({path: (place.read_text().strip(),) for path, place in self.values.items()})
        return listing

    def _entries(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        for one in self.own:
            for folder, names, files in os.walk(self.root / one):
                for name in [".", *names, *files]:
                    path = os.path.normpath(os.path.join(folder, name))
                    if name != "." or folder == str(self.root / one):
                        yield path[len(str(self.root)) :], entry(path)

    def leftovers(self) -> list[str]:
        """Files that a crash left and recovery should have taken away."""
        return [
            path for path, _what in self._entries() if path.endswith(".tmp") or path.startswith(f"{STATE}/journal/")
        ]

    def is_derived_fresh(self) -> bool:
        """Whether each derived file is what its sources make now."""
        fresh = self.root / "run/kill-fresh"
        for argv, path in self.derived:
            subprocess.run(["chroot", str(self.root), argv, "-o", "/run/kill-fresh"], check=True)
            is_fresh = fresh.read_bytes() == (self.root / path[1:]).read_bytes()
            fresh.unlink()
            if not is_fresh:
                return False
        return True

    def inside(self, work: Callable[[], Any]) -> Any:
        """What ``work`` returns in a process on the node. Raises Failed with what it raised."""
        into, out = os.pipe()
        known = set(sys.modules)
        child = os.fork()
        if child == 0:
            try:
                os.close(into)
                self._answer(work, known, out)
            finally:
                os._exit(1)  # on Ctrl-C too: nothing of the parent's is done a second time
        os.close(out)
        with os.fdopen(into, "rb") as pipe:
            told = pipe.read()
        os.waitpid(child, 0)
        is_well, answer, learned = pickle.loads(told)
        for name in learned:
            import_module(name)  # so that the next child has it
        if not is_well:
            raise Failed(answer)
        return answer

    def _answer(self, work: Callable[[], Any], known: set[str], out: int) -> None:
        """Do the work on the node, and write to a pipe what came of it."""
        try:
            if self.is_live:
                os.chroot(self.root)
                os.chdir("/")
            answer = (True, work())
        except Exception as error:  # noqa: BLE001 - whatever it is, the parent has to hear of it
            answer = (False, "".join(traceback.format_exception_only(type(error), error)).strip())
        learned = [name for name in sys.modules if name.startswith("ansible") and name not in known]
        with os.fdopen(out, "wb") as pipe:
            pipe.write(pickle.dumps((*answer, learned)))


class Failed(Exception):
    """What a call on the node raised."""


class Difference(NamedTuple):
    """A path that is not as wanted."""

    path: str
    seen: Any
    wanted: Any


def differences(seen: Listing, wanted: Listing) -> list[Difference]:
    """Where two listings differ."""
    paths = sorted(seen.keys() | wanted.keys())
    return [Difference(path, seen.get(path), wanted.get(path)) for path in paths if seen.get(path) != wanted.get(path)]


def program(place: Path, text: str) -> None:
    """A script."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)


@functools.lru_cache(maxsize=1)
def compiled() -> str:
    """A folder with the compiled modules; it goes when this process ends."""
    folder = tempfile.mkdtemp(prefix="accelerator-ops-compiled-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def visible() -> list[str]:
    """The folders of this machine that a process on a live node needs."""
    wanted = {"/usr", "/proc", "/dev", sys.prefix, sys.base_prefix, compiled()}
    for place in [one for one in sys.path if os.path.isdir(one)]:
        wanted |= {place, os.path.realpath(place)}
        ours = os.path.join(place, "ansible_collections", "accelerator", "ops")
        if os.path.isdir(ours):
            wanted.add(os.path.realpath(ours))
    paths = sorted(os.path.abspath(one) for one in wanted)
    return [one for one in paths if not any(one.startswith(f"{above}/") for above in paths)]


def _own_mounts() -> None:
    """Once in this process: mounts that are made from here on are seen by it and its children alone."""
    if not _done:
        library = ctypes.CDLL(None, use_errno=True)
        if library.unshare(_CLONE_NEWNS):
            raise OSError(ctypes.get_errno(), "cannot have mounts of its own")
        _mount("--make-rprivate", "/")
        _done.append(True)


_done: list[bool] = []


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def remove(node: Node) -> None:
    """Let go of what is bound below a node, and remove it."""
    node.unmount()
    shutil.rmtree(node.base)
