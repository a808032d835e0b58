# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One virtual machine: started, asked over ssh, rebooted, cut from its power, and gone at the end.

A reboot of the guest ends QEMU and a thread starts it again, so every boot is a cold one (warm resets of emulated
machines stall at times).

A power cut is an honest one. Killing QEMU loses the guest's page cache, but every write that the guest had handed to
its disk would survive in the page cache of this machine, and a real disk may lose or reorder all writes since the last
flush. So the guest writes into an overlay for one boot, and QEMU logs each write and flush beside it (its block driver
``blklogwrites``, the format of dm-log-writes). When the boot ends, the overlay is thrown away and the log is played
into the disk: all of it after a reboot; after a power cut up to the last flush, and of the later writes a drawn part.
"""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple, Optional

QEMU = "qemu-system-x86_64"
PROGRAMS = {QEMU: "qemu-system-x86", "qemu-img": "qemu-utils", "ssh": "openssh-client", "setpriv": "util-linux"}
"""What a machine is run with: program -> Debian package."""

DEVICES = ("edu", "virtio-gpu-pci")
"""Beside disk and network: a function without a driver (1234:11e8), and a display whose module udev loads."""

_SECTOR_BYTES = 512
_FLUSH, _FUA, _KNOWN_FLAGS = 1, 2, 3
_POLL_SECONDS = 0.5
_PROGRESS_SECONDS = 15


class MachineError(RuntimeError):
    """The machine did not do what it was told, or not in time: one line, and the end of its console."""


class Entry(NamedTuple):
    """One line of the log of a disk: where, what, and whether all before it was asked to be durable."""

    offset_bytes: int
    data: bytes
    is_flush: bool
    is_fua: bool


def why_not(accel: str = "tcg") -> Optional[str]:
    """Why QEMU cannot run a machine here, or None: an empty machine is started, and must say so at its monitor."""
    command = [QEMU, "-accel", accel, "-display", "none", "-nodefaults", "-no-user-config", "-monitor", "stdio"]
    try:
        done = subprocess.run(command, input="quit\n", capture_output=True, text=True, timeout=30, check=False)
    except FileNotFoundError:
        return f"there is no {QEMU}"
    except subprocess.TimeoutExpired:
        return f"{QEMU} -accel {accel} did not answer within 30 s"
    if done.returncode == 0 and "(qemu)" in done.stdout:
        return None
    last = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
    return f"{QEMU} -accel {accel}: {last}"


class Machine:
    """A machine on a private copy of a disk image. A context manager: nothing of it is left behind."""

    def __init__(
        self, image: Path, key: Path, folder: Path, accel: str = "tcg", devices: Sequence[str] = DEVICES
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.disk = folder / "disk.raw"
        self.key = folder / "key"
        self.console = folder / "console.log"
        self.port = _free_port()
        self.accel = accel
        self.devices = devices
        self.boots = 0
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._thread: Optional[threading.Thread] = None
        self._may_start_again = False
        self._failure: Optional[str] = None
        _must(["cp", "--sparse=always", "--reflink=auto", str(image), str(self.disk)])
        shutil.copyfile(key, self.key)
        self.key.chmod(0o600)

    def __enter__(self) -> Machine:
        self.start()
        return self

    def __exit__(
        self, _kind: Optional[type[BaseException]], _error: Optional[BaseException], _trace: Optional[TracebackType]
    ) -> None:
        self.kill()
        for name in ("disk.raw", "overlay.qcow2", "writes.log"):
            (self.folder / name).unlink(missing_ok=True)

    def start(self) -> None:
        """Switch it on; a reboot of the guest switches it on again, until ``power_off``, ``power_cut`` or ``kill``."""
        self._may_start_again = True
        self._thread = threading.Thread(target=self._supervise, daemon=True)
        self._thread.start()

    def _supervise(self) -> None:
        while self._may_start_again:
            try:
                self._boot_once()
            except (OSError, MachineError) as error:
                self._failure = str(error)
                return

    def _boot_once(self) -> None:
        """One boot, from the cold start until QEMU has ended; an end that nobody asked for is a reboot."""
        overlay, log = self.folder / "overlay.qcow2", self.folder / "writes.log"
        log.write_bytes(b"")
        _must(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(self.disk), str(overlay)])
        started = time.monotonic()
        with (self.folder / "qemu.log").open("ab") as messages:
            # not even a kill of this process leaves QEMU behind
            command = ["setpriv", "--pdeathsig", "KILL", *self._command(overlay, log)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages, start_new_session=True
            )
        self.boots += 1
        status = self._process.wait()
        if status == 0:
            play(entries(log), self.disk)
        elif status != -signal.SIGKILL or self._may_start_again:
            tail = (self.folder / "qemu.log").read_text(encoding="utf-8", errors="replace").strip()[-300:]
            raise MachineError(f"QEMU ended with {status} after {time.monotonic() - started:.0f} s: {tail}")
        overlay.unlink()

    def _command(self, overlay: Path, log: Path) -> list[str]:
        processor = "Nehalem" if self.accel == "tcg" else "host"
        command = [
            *(
                QEMU,
                "-no-user-config",
                "-nodefaults",
                "-machine",
                "q35,sata=off,smbus=off,i8042=off,vmport=off",
                "-m",
                "1024",
                "-smp",
                "2",
            ),
            *("-accel", self.accel, "-cpu", processor),
            *("-no-reboot", "-display", "none", "-monitor", "none"),
            *("-chardev", f"file,id=console,path={self.console},append=on", "-serial", "chardev:console"),
            *("-blockdev", f"driver=file,node-name=overlay-file,filename={overlay}"),
            *("-blockdev", "driver=qcow2,node-name=overlay,file=overlay-file"),
            *("-blockdev", f"driver=file,node-name=log,filename={log}"),
            *("-blockdev", "driver=blklogwrites,node-name=disk,file=overlay,log=log"),
            *("-device", "virtio-blk-pci,drive=disk,write-cache=on,discard=off,write-zeroes=off,bootindex=1"),
            *("-netdev", f"user,id=net,hostfwd=tcp:127.0.0.1:{self.port}-:22"),
            *("-device", "virtio-net-pci,netdev=net,romfile=", "-device", "virtio-rng-pci"),
        ]
        for device in self.devices:
            command += ["-device", device]
        return command

    def ssh_options(self) -> list[str]:
        """Options of ssh to this machine, for Ansible as well."""
        options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "BatchMode=yes"]
        options += ["ConnectTimeout=10", "ServerAliveInterval=10", "ServerAliveCountMax=6"]
        return ["-F", "/dev/null", "-i", str(self.key), "-p", str(self.port), *(w for o in options for w in ("-o", o))]

    def run(
        self, command: str, deadline_seconds: float = 300, is_checked: bool = True, given: Optional[bytes] = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a shell command as root in the guest. Raises MachineError when it fails (if checked) or takes longer."""
        try:
            done = subprocess.run(
                ["ssh", *self.ssh_options(), "root@127.0.0.1", command],
                input=given if given is not None else b"",
                capture_output=True,
                timeout=deadline_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise self._error(f"{command!r} did not end within {deadline_seconds:.0f} s") from None
        if is_checked and done.returncode:
            said = (done.stderr + done.stdout).decode(errors="replace").strip()[-2000:]
            raise MachineError(f"{command!r} in the guest ended with {done.returncode}: {said}")
        return done

    def text(self, command: str, deadline_seconds: float = 300) -> str:
        """What a command prints in the guest, without the space around it."""
        return self.run(command, deadline_seconds).stdout.decode(errors="surrogateescape").strip()

    def put(self, source: Path, goal: str) -> None:
        """Copy a file or a folder into the guest: ``goal`` is its full path there."""
        packed = subprocess.run(
            ["tar", "-C", str(source.parent), "--owner=0", "--group=0", "-cf", "-", source.name],
            capture_output=True,
            check=True,
        ).stdout
        parent, name = shlex.quote(os.path.dirname(goal)), shlex.quote(source.name)
        rename = "" if source.name == os.path.basename(goal) else f" && mv {parent}/{name} {shlex.quote(goal)}"
        self.run(f"mkdir -p {parent} && tar -C {parent} -xf -{rename}", given=packed)

    def boot_id(self) -> Optional[str]:
        """The kernel's name of this boot; None while the guest does not answer."""
        try:
            done = self.run("cat /proc/sys/kernel/random/boot_id", deadline_seconds=60, is_checked=False)
        except MachineError:
            return None
        return done.stdout.decode().strip() or None if done.returncode == 0 else None

    def wait_until_up(self, other_than: Optional[str] = None, deadline_seconds: float = 900) -> str:
        """Wait for ssh in a boot ``other_than`` the one named; returns its boot id. Tells how far it is."""
        start = told = time.monotonic()
        while True:
            found = self.boot_id()
            if found and found != other_than:
                return found
            now = time.monotonic()
            if self._failure:
                raise self._error(self._failure)
            if now - start > deadline_seconds:
                raise self._error(f"no answer from the guest within {deadline_seconds:.0f} s")
            if now - told > _PROGRESS_SECONDS:
                told = now
                print(f"boot {self.boots}, {now - start:.0f} s: {self._console_lines(1)}", file=sys.stderr, flush=True)
            time.sleep(_POLL_SECONDS)

    def reboot(self, deadline_seconds: float = 900) -> str:
        """Reboot in the guest's own way; returns the new boot id."""
        before = self.boot_id()
        self.run("systemctl reboot", is_checked=False)
        return self.wait_until_up(other_than=before, deadline_seconds=deadline_seconds)

    def power_off(self, deadline_seconds: float = 600) -> None:
        """Shut down in the guest's own way; its disk is as the guest left it."""
        self._may_start_again = False
        self.run("systemctl poweroff", is_checked=False)
        self._join(deadline_seconds)

    def power_cut(self, drawn: random.Random) -> str:
        """Take the power away now, and say what the disk lost. ``start`` switches the machine on again."""
        self.kill()
        log = list(entries(self.folder / "writes.log"))
        kept = survivors(log, drawn)
        play(kept, self.disk)
        return f"{sum(bool(entry.data) for entry in log)} writes, {len(log) - len(kept)} of them lost"

    def kill(self) -> None:
        """End QEMU at once. What was written since the start is not in the disk."""
        self._may_start_again = False
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._join(30)

    def _join(self, deadline_seconds: float) -> None:
        if self._thread is not None:
            self._thread.join(deadline_seconds)
            if self._thread.is_alive():
                raise self._error(f"the machine was still on after {deadline_seconds:.0f} s")
            self._thread = None
        if self._failure:
            raise self._error(self._failure)

    def _error(self, what: str) -> MachineError:
        return MachineError(f"{what}; the end of its console:\n{self._console_lines(15)}")

    def _console_lines(self, count: int) -> str:
        if not self.console.exists():
            return "(nothing on the console)"
        text = self.console.read_bytes()[-8000:].decode(errors="replace").replace("\x1b", "")
        return "\n".join([line.strip() for line in text.splitlines() if line.strip()][-count:])


def entries(log: Path) -> Iterator[Entry]:
    """What QEMU wrote into the log of a disk, in the order in which the disk took it."""
    with log.open("rb") as file:
        for place in _places(file, _SECTOR_BYTES):
            file.seek(place.data_at)
            yield Entry(place.offset_bytes, file.read(place.length), place.is_flush, place.is_fua)


def flushes(log: Path, at: int = _SECTOR_BYTES) -> tuple[int, int]:
    """How many flushes the log has from ``at`` on, and where the next look begins."""
    count = 0
    with log.open("rb") as file:
        for place in _places(file, at):
            count += place.is_flush
            at = place.data_at + place.length
    return count, at


class _Place(NamedTuple):
    offset_bytes: int
    data_at: int
    length: int
    is_flush: bool
    is_fua: bool


def _places(file: BinaryIO, at: int) -> Iterator[_Place]:
    """The entries of the log from ``at`` on.

    Layout (Linux, Documentation/admin-guide/device-mapper/log-writes.rst, and QEMU 7.2, block/blklogwrites.c): a
    super block in the first sector; then for each entry a sector that begins with sector, count of sectors, flags and
    length of data (little-endian, 64 bits each), and the data. The count of entries in the super block is not relied
    on: it is written only now and then. A gap that a kill left behind is stepped over: the place of an entry is taken
    before it is written.
    """
    end = os.fstat(file.fileno()).st_size
    while at + _SECTOR_BYTES <= end:
        file.seek(at)
        head = file.read(_SECTOR_BYTES)
        sector, count, flags, _length = struct.unpack_from("<QQQQ", head)
        length = count * _SECTOR_BYTES
        at += _SECTOR_BYTES
        if (count or flags) and flags <= _KNOWN_FLAGS and not any(head[32:]) and at + length <= end:
            yield _Place(sector * _SECTOR_BYTES, at, length, bool(flags & _FLUSH), bool(flags & _FUA))
            at += length


def survivors(log: Sequence[Entry], drawn: random.Random) -> list[Entry]:
    """What of the log is on the disk after a power cut.

    All up to the last flush; of the later writes about half, each whole or its first sectors only, as a disk with a
    volatile cache may leave them. A write that asked to be durable itself (FUA) is kept.
    """
    last_flush = max((place for place, entry in enumerate(log) if entry.is_flush), default=-1)
    kept = list(log[: last_flush + 1])
    for entry in log[last_flush + 1 :]:
        fate = drawn.choice(("lost", "lost", "kept", "torn"))
        if entry.is_fua or fate == "kept":
            kept.append(entry)
        elif fate == "torn":
            sectors = drawn.randrange(len(entry.data) // _SECTOR_BYTES + 1)
            kept.append(entry._replace(data=entry.data[: sectors * _SECTOR_BYTES]))
    return kept


def play(log: Sequence[Entry] | Iterator[Entry], disk: Path) -> None:
    """Write the entries into the disk, in their order."""
    with disk.open("r+b") as file:
        for entry in log:
            file.seek(entry.offset_bytes)
            file.write(entry.data)


def _free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        number: int = door.getsockname()[1]
        return number


def _must(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise MachineError(f"{command[0]}: {last}")
