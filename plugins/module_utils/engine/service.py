# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service and the program of an engine: from the running daemon's own unit, and on another root from its files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, Optional

from ..codec import unit
from ..host import command
from ..host.door import Host
from ..host.drop_ins import unit_texts
from ..model.errors import ProbeError
from .kinds import Kind, Version

_PROPERTIES = "LoadState,ActiveState,ExecStart,KillMode"
ASK_SECONDS = 10.0
"""How long a program has for an answer that takes it a second at most."""

_NUMBERS = re.compile(r"(?:^|[\s:])v?([0-9]+)\.([0-9]+)(?:\.([0-9]+))?")
_MAX_STATUS_BYTES = 64 * 1024 * 1024

SHIMS = ("sh", "-c", "cat /proc/[0-9]*/comm 2>/dev/null | grep -qx containerd-shim")
"""Ends with status 0 where a container of containerd or Docker runs: each has a shim, whose name is cut to that."""


class Service(NamedTuple):
    """A unit: the words of its command line, variables replaced, what its end kills, and whether it runs."""

    name: str
    argv: tuple[str, ...]
    kill_mode: str
    is_active: bool

    def flag(self, *names: str) -> Optional[str]:
        """The value of an option of the command line."""
        return unit.flag(self.argv, *names)


class Daemon(NamedTuple):
    """An engine that is here: its service, its program, and its version, None where that is unknown."""

    service: Optional[Service]
    binary: str
    version: Optional[Version]


def daemon(host: Host, kind: Kind) -> Optional[Daemon]:
    """The service of an engine, and the program that this runs, or else that is installed. None where neither is."""
    service = find(host, kind.services)
    own = service.argv[0] if service is not None and service.argv and kind.embedded is None else None
    binary = own or kind.place(host) or (kind.embedded if service is not None else None)
    return None if binary is None else Daemon(service, binary, version(host, binary, kind.packages))


def find(host: Host, names: Iterable[str]) -> Optional[Service]:
    """The first of some services that runs, else the first that is there."""
    services = [one for one in (_service(host, name) for name in names) if one is not None]
    return next((one for one in services if one.is_active), services[0] if services else None)


def _service(host: Host, name: str) -> Optional[Service]:
    ran = command.run(host, ("systemctl", "show", name, f"--property={_PROPERTIES}"), ASK_SECONDS)
    shown = unit.shown_properties(ran.stdout) if ran.reason is None else {}
    is_loaded = shown.get("LoadState") == "loaded"
    texts = unit_texts(host, name)
    if not texts and not is_loaded:
        return None
    said = unit.directives(texts, "Service")
    line = shown["ExecStart"] if is_loaded else (said.get("ExecStart") or [""])[-1]
    argv = unit.expanded(unit.command_line(line), said, lambda path: host.read(path).value or "")
    kill_mode = shown.get("KillMode", "") if is_loaded else (said.get("KillMode") or ["control-group"])[-1]
    return Service(name, argv, kill_mode, is_loaded and shown.get("ActiveState") == "active")


def version(host: Host, binary: str, packages: Iterable[str]) -> Optional[Version]:
    """What the program says of itself, asked once in a look at a node; where it cannot be asked, what dpkg says of its
    package. None: unknown."""
    argv = (binary, "--version")
    ran = command.Ran(*host.ran[argv]) if argv in host.ran else command.run(host, argv, ASK_SECONDS)
    if ran.reason is None:
        return version_in(ran.stdout)
    content, _reason = host.read_bytes("/var/lib/dpkg/status", _MAX_STATUS_BYTES)
    status = (content or b"").decode("utf-8", "replace")
    for package in packages:
        row = re.search(rf"^Package: {re.escape(package)}\nStatus: \S+ \S+ installed\n(?:\S.*\n| .*\n)*", status, re.M)
        said = re.search(r"^Version: (.*)$", row.group(), re.M) if row else None
        if said:
            return version_in(said.group(1))
    return None


def silence(host: Host, binary: str, *arguments: str) -> Optional[str]:
    """Why a program of the running system that was asked gave no answer at all; None where it gave one."""
    ran = host.ran.get((binary, *(arguments or ("--version",))))
    is_mute = host.is_live and ran is not None and ran[0] is None and host.exists(binary)
    return ran[2] if is_mute and ran is not None else None


def answers(engine: str, silence: Optional[str]) -> None:
    """Raises ProbeError where an engine's program gave no answer: nothing is known of its configuration then."""
    if silence is not None:
        step = "see why it hangs or does not start, or leave it out of engines"
        raise ProbeError("ask", engine, silence, "an answer of its program", step)


def version_in(text: str) -> Optional[Version]:
    """The first version that stands in a text."""
    found = _NUMBERS.search(text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def told(known: Optional[Version]) -> str:
    """A version as text."""
    return "of unknown version" if known is None else ".".join(map(str, known))
