# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel calls of a module's process: which of them change something, and how to kill it at one of them.

strace writes them down in a first run. In a later run it injects SIGKILL as the chosen call is entered: the call then
has no effect (seen with strace 6.1 on Linux 6.18), so that each kill is before one step and after the one before it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from ansible_collections.accelerator.ops.tests.crash import driver
from ansible_collections.accelerator.ops.tests.crash.node import compiled

CHANGING = (
    *("openat", "creat", "lseek", "write", "pwrite64", "ftruncate", "fsync", "fdatasync"),
    *("rename", "renameat", "renameat2", "unlink", "unlinkat", "symlink", "symlinkat", "link", "linkat"),
    *("mkdir", "mkdirat", "rmdir", "chmod", "fchmod", "fchmodat", "chown", "lchown", "fchown", "fchownat"),
    *("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"),
)
PROGRAMS = ("fork", "vfork", "clone", "clone3", "kill")
"""How a program is started, and cleaned up after when it has ended."""

_CALL = re.compile(r"^(\w+)\((.*)\)\s+= (-?\d+|\?)(.*)$", re.DOTALL)
_MOMENT = re.compile(r"\b(\d+-[0-9a-f]{12})\b")


class Op(NamedTuple):
    """A kernel call of the work: its number among all of that name in the process, its arguments, what it returned."""

    name: str
    ordinal: int
    arguments: str
    result: str


def command(log: Path, more: Sequence[str], request: Path) -> list[str]:
    """The words that run a request under strace."""
    names = ",".join(f"?{name}" for name in (*CHANGING, *PROGRAMS))
    traced = ["strace", "-qq", "-o", str(log), "-e", "signal=none", "-e", f"trace={names}", *more]
    return [*traced, sys.executable, "-B", driver.__file__, str(request)]


def environment() -> dict[str, str]:
    """What the process sees: the same modules as this one, compiled once."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    paths = os.pathsep.join(one for one in sys.path if os.path.isdir(one))
    return {**kept, "PYTHONPATH": paths, "PYTHONPYCACHEPREFIX": compiled()}


def compile_all(folder: Path) -> None:
    """Compile once all that this process has learned to need: a run that compiles makes other calls than later ones."""
    request = folder / "request.json"
    names = [name for name in sys.modules if name.startswith("ansible")]
    request.write_text(json.dumps([{"do": "nothing", "modules": names}]))
    subprocess.run([sys.executable, driver.__file__, str(request)], env=environment(), check=True)


def traced(folder: Path, requests: Sequence[Mapping[str, Any]], more: Sequence[str] = ("-y",)) -> tuple[list[Op], str]:
    """Run requests to their end, and return what their work did, and the log. Raises CalledProcessError."""
    log, request = folder / "log", folder / "request.json"
    request.write_text(json.dumps(list(requests)))
    done = subprocess.run(command(log, more, request), env=environment(), capture_output=True, text=True, check=False)
    text = log.read_text(errors="surrogateescape")
    if done.returncode:
        raise AssertionError(f"the run itself failed: {done.stderr.strip()[-2000:]}")
    return ops(text), text


def ops(log: str) -> list[Op]:
    """The calls between the two marks that change something or have to do with a program."""
    found: list[Op] = []
    counted: Counter[str] = Counter()
    is_begun = False
    for line in log.splitlines():
        call = _CALL.match(line)
        name = call.group(1) if call else line.partition("(")[0]
        if not re.fullmatch(r"\w+", name):
            continue
        counted[name] += 1
        if driver.BEGIN in line or driver.END in line:
            is_begun = driver.BEGIN in line
            continue
        arguments, result = (call.group(2), call.group(3)) if call else (line, "?")
        is_reading = name == "lseek" or (name == "openat" and "O_CREAT" not in arguments)
        if is_begun and not is_reading and not result.startswith("-"):
            found.append(Op(name, counted[name], arguments, result))
    return found


def killed(folder: Path, requests: Sequence[Mapping[str, Any]], op: Op, number: int) -> Optional[str]:
    """Run requests and kill the process as it enters an operation. Returns None, or why that did not come to pass."""
    log, request = folder / "log", folder / "request.json"
    request.write_text(json.dumps(list(requests)))
    inject = f"inject={op.name}:signal=SIGKILL:when={op.ordinal}"
    done = subprocess.run(
        command(log, ["-e", inject], request), env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode != -signal.SIGKILL:
        return f"it was not killed at {op.name} {op.ordinal}: status {done.returncode}, {done.stderr.strip()[-500:]}"
    seen = ops(log.read_text(errors="surrogateescape"))
    if len(seen) != number + 1 or seen[-1].name != op.name:
        return f"it was killed elsewhere: after {len(seen) - 1} steps at {seen[-1].name if seen else '?'}"
    return None


def cut(folder: Path, requests: Sequence[Mapping[str, Any]]) -> bool:
    """Run requests without strace; a program that they start may kill them. Whether that happened."""
    request = folder / "request.json"
    request.write_text(json.dumps(list(requests)))
    argv = [sys.executable, "-B", driver.__file__, str(request)]
    return subprocess.run(argv, env=environment(), capture_output=True, check=False).returncode == -signal.SIGKILL


def short(op: Op) -> str:
    """An operation in one line, for people."""
    return f"{op.name}({_MOMENT.sub('J', op.arguments)[:160]})"
