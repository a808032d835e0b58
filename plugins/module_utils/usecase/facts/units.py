# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services of systemd as their files and control groups show them: no program is asked.

Source: systemd.unit(5) and systemd.exec(5) of systemd 252, the kernel's cgroup-v2 document; read 2026-12.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from ...codec import unit
from ...host.door import Host
from ...host.drop_ins import unit_texts

_GROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd")  # cgroup v2; v1, where systemd has a hierarchy of its own
_MAX_PROCESSES = 64


class Service(NamedTuple):
    """A service: the words of its last ``ExecStart``, variables replaced. Empty where they cannot be told."""

    name: str
    argv: tuple[str, ...]


def installed(host: Host, name: str) -> Optional[Service]:
    """A service whose unit is there, drop-ins and environment files read."""
    texts = unit_texts(host, name)
    if not texts:
        return None
    said = unit.directives(texts, "Service")
    words = unit.command_line((said.get("ExecStart") or [""])[-1])
    return Service(name, unit.expanded(words, said, lambda path: host.read(path).value or ""))


def processes(host: Host, names: tuple[str, ...]) -> tuple[Optional[dict[str, tuple[str, ...]]], Optional[str]]:
    """The process numbers of those services that run, by the service's name; None with the reason."""
    reason = ""
    for top in _GROUPS:
        listed = host.list(top)
        slices = [name for name in listed.value or () if name.endswith(".slice")]
        if slices:
            found = {}
            for name in names:
                for folder in slices:
                    numbers = host.read(f"{top}/{folder}/{name}/cgroup.procs").value
                    if numbers:
                        found[name] = tuple(numbers.split()[:_MAX_PROCESSES])
            return found, None
        reason = reason or (f"{top} {listed.reason}" if listed.reason else f"{top} has no slices of systemd")
    return None, reason


def command_of(host: Host, numbers: tuple[str, ...], programs: tuple[str, ...]) -> tuple[str, ...]:
    """The command line of the first process that is one of the programs; empty where none is."""
    for number in numbers:
        words = (host.read(f"/proc/{number}/cmdline").value or "").split("\0")
        if words[0].rpartition("/")[2] in programs:
            return tuple(words)
    return ()
