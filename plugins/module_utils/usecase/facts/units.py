# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services of systemd as their files and control groups show them: no program is asked.

Source: systemd.unit(5) and systemd.exec(5) of systemd 252, the kernel's cgroup-v2 document; read 2026-12.
"""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple, Optional

from ...codec import unit
from ...host.door import Host

_FOLDERS = (
    *("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system"),
    *("/usr/lib/systemd/system", "/lib/systemd/system"),
)
_GROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd")  # cgroup v2; v1, where systemd has a hierarchy of its own
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+)\Z)")
_MAX_PROCESSES = 64


class Service(NamedTuple):
    """A service: the words of its last ``ExecStart``, variables replaced. Empty where they cannot be told."""

    name: str
    argv: tuple[str, ...]


def flag(argv: tuple[str, ...], name: str) -> Optional[str]:
    """The value of an option of a command line, given as one word or as two; the last one counts."""
    found = None
    for number, word in enumerate(argv):
        if word == name and number + 1 < len(argv):
            found = argv[number + 1]
        elif word.startswith(name + "="):
            found = word[len(name) + 1 :]
    return found


def installed(host: Host, name: str) -> Optional[Service]:
    """A service whose unit is there, drop-ins and environment files read."""
    texts = _texts(host, name)
    if not texts:
        return None
    said = unit.directives(texts, "Service")
    words = unit.command_line((said.get("ExecStart") or [""])[-1])
    if any("$" in word for word in words):
        words = _expanded(words, _environment(host, said))
    return Service(name, words)


def _texts(host: Host, name: str) -> list[str]:
    """The unit's file in force and its drop-ins; of several drop-ins with one name only the first folder's counts."""
    main = next((text for text in (host.read(f"{folder}/{name}").value for folder in _FOLDERS) if text), None)
    if main is None:
        return []
    places: dict[str, str] = {}
    for folder in _FOLDERS:
        for drop_in in host.list(f"{folder}/{name}.d").value or ():
            if drop_in.endswith(".conf"):
                places.setdefault(drop_in, f"{folder}/{name}.d/{drop_in}")
    return [main, *(host.read(places[drop_in]).value or "" for drop_in in sorted(places))]


def _environment(host: Host, said: dict[str, list[str]]) -> dict[str, str]:
    """Variables by name; those of files come last, and so win."""
    lines = list(said.get("Environment", ()))
    for path in said.get("EnvironmentFile", ()):
        lines.extend((host.read(path.lstrip("-")).value or "").splitlines())
    found: dict[str, str] = {}
    for line in lines:
        if line.lstrip().startswith(("#", ";")):
            continue
        try:
            pairs = shlex.split(line)
        except ValueError:
            continue
        found.update(pair.partition("=")[::2] for pair in pairs if "=" in pair)
    return found


def _expanded(words: tuple[str, ...], variables: dict[str, str]) -> tuple[str, ...]:
    """``$NAME`` as a word of its own becomes as many words as it has, ``${NAME}`` a part of its word."""
    found: list[str] = []
    for word in words:
        alone = re.fullmatch(r"\$(\w+)", word)
        if alone is not None:
            found.extend(variables.get(alone.group(1), "").split())
        else:
            found.append(_VARIABLE.sub(lambda match: variables.get(match.group(1) or match.group(2), ""), word))
    return tuple(found)


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
