# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The test machine as a node of Ansible: plays against it, and a full listing of what a change may touch."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from machine import Machine, flushes

FOLDERS = ("/etc", "/boot")

_PROGRAM = str(Path(sys.executable).parent / "ansible-playbook")
_UNKNOWN_SECONDS = 45.0
"""How long a play is taken to last before one was seen to its end."""
_FLUSHES = 80
_DEADLINE_SECONDS = 1200

_LISTING = r"""
import hashlib, json, os, stat, sys
def row(path):
    status = os.lstat(path)
    told = [oct(status.st_mode), status.st_uid, status.st_gid]
    told += [[name, os.getxattr(path, name, follow_symlinks=False).hex()]
             for name in sorted(os.listxattr(path, follow_symlinks=False))]
    if stat.S_ISLNK(status.st_mode):
        told.append(os.readlink(path))
    elif stat.S_ISREG(status.st_mode):
        told.append(hashlib.sha1(open(path, "rb").read()).hexdigest())
    return told
found = {}
for top in sys.argv[1:]:
    for folder, names, files in os.walk(top):
        for name in names + files:
            path = os.path.join(folder, name)
            if not path.startswith("/boot/grub/i386-pc/"):
                found[path] = row(path)
print(json.dumps(found))
"""

_TEMPLATE = "[nodes]\nguest\n\n[nodes:vars]\n{}\n"


class Play(NamedTuple):
    """A run of ansible-playbook that is over: its exit status, what it printed, its last result of each task."""

    status: int
    text: str
    seconds: float


def play_here(playbook: str, folder: Path, environment: Mapping[str, str], **given: Any) -> Play:
    """Run a playbook on this machine itself, for what lies in a folder of it."""
    given = {"accelerator_report_dir": str(folder / "report"), "ansible_python_interpreter": sys.executable, **given}
    command = [_PROGRAM, playbook, "-i", "golden,", "-c", "local", "-e", json.dumps(given)]
    start = time.monotonic()
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False
    )
    return Play(done.returncode, done.stdout + done.stderr, time.monotonic() - start)


class Guest:
    """The machine, with an inventory of it and a folder for plays."""

    def __init__(self, machine: Machine, environment: Mapping[str, str]) -> None:
        self.machine = machine
        self.folder = machine.folder
        self.seconds: dict[str, float] = {}
        self.environment = {
            **environment,
            "ANSIBLE_PIPELINING": "true",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.folder / "ssh"),
            "ANSIBLE_SSH_RETRIES": "0",
            "ANSIBLE_TIMEOUT": "60",
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
        }
        variables = {
            "ansible_host": "127.0.0.1",
            "ansible_port": machine.port,
            "ansible_user": "root",
            "ansible_ssh_private_key_file": machine.key,
            "ansible_ssh_common_args": "-F /dev/null -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
            "-o LogLevel=ERROR -o ServerAliveInterval=10 -o ServerAliveCountMax=12",
            "ansible_python_interpreter": "/usr/bin/python3",
        }
        self.inventory = self.folder / "inventory.ini"
        text = "\n".join(f"{name}={str(value)!r}" for name, value in variables.items())
        self.inventory.write_text(_TEMPLATE.format(text), encoding="utf-8")

    def command(self, playbook: str, **extra: Any) -> list[str]:
        """The command line of a play, by the collection's own playbook."""
        given = {"accelerator_report_dir": str(self.folder / "report"), **extra}
        return [_PROGRAM, playbook, "-i", str(self.inventory), "-e", json.dumps(given)]

    def begin(self, playbook: str, **extra: Any) -> subprocess.Popen[bytes]:
        """Start a play, in a process group of its own; its output goes to ``play.log``."""
        with (self.folder / "play.log").open("wb") as log:
            return subprocess.Popen(
                self.command(playbook, **extra),
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def play(self, playbook: str, deadline_seconds: float = _DEADLINE_SECONDS, **extra: Any) -> Play:
        """Run a play to its end."""
        start = time.monotonic()
        process = self.begin(playbook, **extra)
        try:
            process.wait(deadline_seconds)
        except subprocess.TimeoutExpired:
            self.end(process)
        text = (self.folder / "play.log").read_text(encoding="utf-8", errors="replace")
        seconds = self.seconds[playbook] = time.monotonic() - start
        print(f"{playbook}: {seconds:.0f} s, exit status {process.returncode}", file=sys.stderr, flush=True)
        return Play(process.returncode, text, seconds)

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a play and what it started."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def cut(self, playbook: str, drawn: random.Random, **extra: Any) -> str:
        """Start a play, and take the machine's power at a drawn moment of it. Says when, and what the disk lost.

        Half of the moments are drawn by the clock, half by the flushes of the disk since the play began: a run that
        makes things for minutes flushes for a second, and there it is decided what a power cut leaves.
        """
        by_clock = drawn.random() < 0.5
        seconds, wanted = drawn.uniform(1, self.seconds.get(playbook, _UNKNOWN_SECONDS)), drawn.randrange(1, _FLUSHES)
        log = self.folder / "writes.log"
        seen, (_earlier, at) = 0, flushes(log)
        start = time.monotonic()
        process = self.begin(playbook, **extra)
        while process.poll() is None and time.monotonic() - start < _DEADLINE_SECONDS:
            if not by_clock:
                more, at = flushes(log, at)
                seen += more
            if time.monotonic() - start >= seconds if by_clock else seen >= wanted:
                break
            time.sleep(0.02)
        was = "in it" if process.poll() is None else "after its end"
        lost = self.machine.power_cut(drawn)
        self.end(process)
        moment = f"after {time.monotonic() - start:.1f} s" if by_clock else f"at flush {seen} (drawn: {wanted})"
        return f"power cut {moment}, {was}: {lost}"

    def listing(self, *folders: str) -> dict[str, Any]:
        """Every path below the folders with type, mode, owner, extended attributes and content."""
        names = " ".join(map(shlex.quote, folders or FOLDERS))
        told = self.machine.text(f"python3 -c {shlex.quote(_LISTING)} {names}", deadline_seconds=300)
        found: dict[str, Any] = json.loads(told)
        return found


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What two listings do not have in common: path -> before and after."""
    return {
        path: (before.get(path), after.get(path))
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    }
