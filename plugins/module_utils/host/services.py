# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services of systemd: whether one runs since a moment, and a start anew with its own words where it fails."""

from __future__ import annotations

import time
from typing import NamedTuple, Optional

from . import command
from .door import Host
from .lock import now

_ASK_SECONDS = 20.0
_RESTART_SECONDS = 600.0
_WATCH_SECONDS = 3.0
_WORDS = 20


class Failure(NamedTuple):
    """Why a service does not run: in one line, and what its programs said meanwhile, oldest first."""

    reason: str
    words: tuple[str, ...]


def is_started(host: Host, service: str, boot: str, seconds: float) -> bool:
    """Whether a service runs that was started after a moment by the boot's clock."""
    shown = _shown(host, service)
    started = shown.get("ActiveEnterTimestampMonotonic", "")
    if shown.get("ActiveState") != "active" or not started.isdigit():
        return False
    return boot != now().boot or int(started) / 1e6 > seconds


def restart(host: Host, service: str) -> Optional[Failure]:
    """Start a service anew, and see that it goes on to run. None, or why it does not."""
    since = time.time()
    command.run(host, ("systemctl", "reset-failed", service), _ASK_SECONDS)  # a limit of starts is no reason
    ran = command.run(host, ("systemctl", "restart", service), _RESTART_SECONDS)
    if ran.reason is None and _goes_on(host, service):
        return None
    words = _words(host, service, since)
    reason = words[-1] if words else ran.reason or "it ended at once, without a word"
    return Failure(reason, words)


def _goes_on(host: Host, service: str) -> bool:
    """Whether a service is active, and its process does not end soon: some say that they are ready before they are."""
    shown = _shown(host, service)
    pid = shown.get("MainPID", "0")
    if shown.get("ActiveState") != "active" or pid == "0":
        return shown.get("ActiveState") == "active"
    watch = command.run(host, ("tail", f"--pid={pid}", "--follow", "/dev/null"), _WATCH_SECONDS)
    return watch.status is None and _shown(host, service).get("MainPID") == pid


def _words(host: Host, service: str, since: float) -> tuple[str, ...]:
    """The last lines of what the programs of a service have said since a moment; those of systemd about it are not."""
    command.run(host, ("journalctl", "--sync"), _ASK_SECONDS)  # what was said last is on its way yet
    # without --lines, which together with --since means the first ones up to systemd 254
    argv = ("journalctl", f"_SYSTEMD_UNIT={service}", f"--since=@{since:.6f}", "--output=cat", "--no-pager", "--quiet")
    said = command.run(host, argv, _ASK_SECONDS).stdout
    return tuple(line[:1000] for line in said.splitlines() if line.strip())[-_WORDS:]


def _shown(host: Host, service: str) -> dict[str, str]:
    argv = ("systemctl", "show", service, "--property=ActiveState,ActiveEnterTimestampMonotonic,MainPID")
    ran = command.run(host, argv, _ASK_SECONDS)
    return dict(line.partition("=")[::2] for line in ran.stdout.splitlines())
