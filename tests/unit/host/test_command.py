# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs are stopped in time, with their children, and every ending has a reason."""

from __future__ import annotations

import os
import sys
import time

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host import command
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host


def python(code, deadline_seconds=20):
    return command.run(Host("/"), [sys.executable, "-c", code], deadline_seconds)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as status:
            return status.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except FileNotFoundError:
        return False


def wait_for_end(pid):
    deadline = time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < deadline:
        os.sched_yield()
    return not is_alive(pid)


def test_output_and_surroundings():
    ran = python("import os,sys; print(os.environ['LC_ALL'], repr(sys.stdin.read()), os.getcwd())")
    assert ran == command.Ran(0, "C '' /\n", None)


def test_failure_names_status_and_first_line():
    ran = python("import sys; print('half'); sys.exit('no such module\\nsecond line')")
    assert ran.status == 1
    assert ran.stdout == "half\n"
    assert ran.reason == f"{sys.executable} failed with exit status 1: no such module"


def test_death_by_signal():
    ran = python("import os,signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert (ran.status, ran.reason) == (-9, f"{sys.executable} failed with signal 9")


def test_hanging_program_is_killed():
    begin = time.monotonic()
    ran = python("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()", 0.5)
    assert (ran.status, ran.stdout) == (None, "")
    assert ran.reason == f"{sys.executable} was stopped after 0.5 s"
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("ending", ["signal.pause()", "pass"])
def test_child_of_child_is_killed(tmp_path, ending):
    note = tmp_path / "pid"
    ran = python(
        "import os,signal\n"
        "child = os.fork()\n"
        "if not child: signal.pause()\n"
        f"open({str(note)!r}, 'w').write(str(child))\n"
        "print('here', flush=True)\n"
        f"{ending}\n",
        3,
    )
    assert (ran.reason is None) is (ending == "pass")
    assert ran.stdout == ("here\n" if ending == "pass" else "")
    assert wait_for_end(int(note.read_text()))


def test_child_with_its_own_session_is_not_waited_for(tmp_path):
    note = tmp_path / "pid"
    begin = time.monotonic()
    ran = python(
        "import os,signal\n"
        "ready, tell = os.pipe()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os.setsid(); os.write(tell, b'x'); signal.alarm(20); signal.pause()\n"
        "os.read(ready, 1)\n"
        f"open({str(note)!r}, 'w').write(str(child))\n"
        "print('done', flush=True)\n",
        15,
    )
    escaped = int(note.read_text())
    os.kill(escaped, 9)
    assert ran == command.Ran(0, "done\n", None)
    assert time.monotonic() - begin < 10


def test_huge_output_is_cut_off():
    ran = python("import sys\nwhile True: sys.stdout.write('x' * 65536)")
    assert ran.stdout == ""
    assert ran.reason == f"{sys.executable} was stopped: more than 4194304 bytes of output"


def test_huge_error_output_does_not_block():
    ran = python("import sys; sys.stderr.write('e' * 2000000); print('end')")
    assert ran == command.Ran(0, "end\n", None)


def test_output_that_is_not_utf8():
    ran = python("import os; os.write(1, b'\\xff\\xfe')")
    assert ran == command.Ran(0, "", f"{sys.executable} printed text that is not UTF-8")


def test_missing_program():
    ran = command.run(Host("/"), ["/nowhere/modinfo"], 5)
    assert ran == command.Ran(None, "", "/nowhere/modinfo is not installed")


def test_program_that_is_no_program(tmp_path):
    (tmp_path / "tool").write_text("")
    ran = command.run(Host("/"), [str(tmp_path / "tool")], 5)
    assert ran == command.Ran(None, "", f"{tmp_path}/tool cannot be started (Permission denied)")


def test_refused_off_the_live_root(tmp_path):
    ran = command.run(Host(str(tmp_path)), ["/bin/true"], 5)
    assert ran == command.Ran(None, "", "/bin/true is not run: the root is not the running system")
