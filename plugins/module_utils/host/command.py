# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs on the node: one at a time, with a deadline, and only where the root is the live one or its recording."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Optional

from .door import Host

if TYPE_CHECKING:
    import subprocess  # loaded where a program is run only

MAX_OUTPUT_BYTES = 4 * 1024 * 1024

_FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_LOOK_SECONDS = 0.05  # how soon an ended program is noticed whose own child keeps its output open
_SOON_SECONDS = 0.002  # and one that has closed its output: most end then
_GONE_SECONDS = 0.5  # a killed program is gone at once, but for one that a driver holds in the kernel


class Ran(NamedTuple):
    """How a program ended.

    ``status`` is its exit status (negative: the signal that ended it), None where it was not started
    or had to be stopped. ``stdout`` is its text, empty where ``reason`` is about the output.
    ``reason`` is None only when it ended by itself, in time, with status 0 and UTF-8 output. ``last`` is the last line
    of its error output where it failed: what it says of its failure, after all that it says of its work.
    """

    status: Optional[int]
    stdout: str
    reason: Optional[str]
    last: str = ""


def find(host: Host, name: str) -> Optional[str]:
    """The path of the program that ``run`` starts by this name, or None where it is not installed."""
    return next((place for place in (f"{folder}/{name}" for folder in _FOLDERS) if host.exists(place)), None)


def run(host: Host, argv: Sequence[str], deadline_seconds: float, keep: Sequence[int] = ()) -> Ran:
    """Run ``argv`` without a shell: no input, C locale, at most ``MAX_OUTPUT_BYTES`` of output.

    At the deadline, and also when the program ends, its whole process group is killed, so that no
    child stays behind (a child that opened a session of its own escapes that, but is not waited for).
    On a recording nothing runs: what the program said then is said again. ``keep`` are open files that
    it inherits: a lock among them is held until it has ended too.
    """
    known = tuple(argv)
    if known in host.answers:
        ran = Ran(*host.answers[known])
    elif host.is_live:
        ran = _run(argv, deadline_seconds, keep)
    elif host.is_node:
        return Ran(None, "", f"{argv[0]} was not run when this node was recorded")
    else:
        return Ran(None, "", f"{argv[0]} is not run: the root is not the running system")
    host.ran[known] = ran[:3]
    return ran


def _run(argv: Sequence[str], deadline_seconds: float, keep: Sequence[int]) -> Ran:
    import subprocess

    name = argv[0]
    environment = {"PATH": ":".join(_FOLDERS), "LC_ALL": "C", "LANG": "C", "HOME": "/", "TERM": "dumb"}
    try:
        process = subprocess.Popen(  # pylint: disable=ansible-bad-function
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd="/",
            start_new_session=True,
            pass_fds=tuple(keep),
        )
    except OSError as error:
        if error.errno == errno.ENOENT:
            return Ran(None, "", f"{name} is not installed")
        return Ran(None, "", f"{name} cannot be started ({os.strerror(error.errno or 0)})")
    status: Optional[int] = None
    try:
        output, errors, stopped = _collect(process, deadline_seconds)
    finally:
        # Not reaped yet, so the group number cannot have passed to a stranger.
        with contextlib.suppress(ProcessLookupError):  # it and all its children are gone
            os.killpg(process.pid, signal.SIGKILL)
        try:
            status = process.wait(_GONE_SECONDS)
        except subprocess.TimeoutExpired:
            stopped = f"was stopped after {deadline_seconds:g} s, and hangs in the kernel"
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    if stopped is not None or status is None:
        return Ran(None, "", f"{name} {stopped}")
    try:
        text = output.decode("utf-8")
    except UnicodeDecodeError:
        return Ran(status, "", f"{name} printed text that is not UTF-8")
    if status == 0:
        return Ran(0, text, None)
    ended = f"exit status {status}" if status > 0 else f"signal {abs(status)}"
    said = errors.decode("utf-8", "replace").strip().splitlines()
    if not said:
        return Ran(status, text, f"{name} failed with {ended}")
    return Ran(status, text, f"{name} failed with {ended}: {said[0][:200]}", said[-1][:200])


def _collect(process: subprocess.Popen[bytes], deadline_seconds: float) -> tuple[bytes, bytes, str | None]:
    """Output, error output, and why the program has to be stopped (None: it ended by itself, unreaped)."""
    import selectors

    deadline = time.monotonic() + deadline_seconds
    output, errors = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        if process.stdout is not None:
            selector.register(process.stdout, selectors.EVENT_READ, output)
        if process.stderr is not None:
            selector.register(process.stderr, selectors.EVENT_READ, errors)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return bytes(output), bytes(errors), f"was stopped after {deadline_seconds:g} s"
            # Asked before the look at the pipes: what it wrote before its end is then all there.
            has_ended = _has_ended(process.pid)
            pause = _LOOK_SECONDS if selector.get_map() else _SOON_SECONDS
            ready = selector.select(0 if has_ended else min(left, pause))
            for key, _events in ready:
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.data is output:
                    output += chunk
                elif len(errors) < 65536:
                    errors += chunk
            if len(output) > MAX_OUTPUT_BYTES:
                return b"", bytes(errors), f"was stopped: more than {MAX_OUTPUT_BYTES} bytes of output"
            if has_ended and not ready:
                return bytes(output), bytes(errors), None


def _has_ended(pid: int) -> bool:
    """Whether the child is a zombie now; it stays one, so that its number stays ours."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
