# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The run of Ansible that a worker belongs to, by a name that tells later whether it is over."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from typing import Any

from ansible_collections.accelerator.ops.plugins.module_utils.host.lock import started

_JOB_VARIABLES = ("awx_job_id", "tower_job_id")
_JOB = "job "


def name(variables: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """``job <id>`` under AWX, else ``<host>/<view> <process>-<start>`` of the process that started this worker.

    A job runs in a container of its own, whose process numbers say nothing outside of it.
    """
    for key in _JOB_VARIABLES:
        if variables.get(key):
            return f"{_JOB}{variables[key]}"
    if environment.get("JOB_ID"):
        return f"{_JOB}{environment['JOB_ID']}"
    return f"{_view()} {run_id()}"


def is_over(run: str) -> bool:
    """Whether a run has certainly ended. False where that cannot be told from here."""
    view, _space, told = run.rpartition(" ")
    if run.startswith(_JOB) or view != _view():
        return False
    return not goes_on(told)


def _view() -> str:
    """This machine, and a mark of its boot and of the process numbers seen here: only within these a number tells."""
    marks = []
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            marks.append(os.readlink(path) if os.path.islink(path) else _line(path))
        except OSError:
            marks.append("unknown")
    mark = hashlib.sha256(" ".join(marks).encode()).hexdigest()[:8]
    return f"{platform.node() or 'localhost'}/{mark}"


def _line(path: str) -> str:
    with open(path, encoding="ascii") as source:
        return source.read().strip()


def run_id() -> str:
    """The run that a worker of Ansible belongs to: the process that started it, and since when that runs.

    A process number alone may come again after a reboot. Where there is no ``/proc`` (a control host that is not
    Linux) the number is all there is.
    """
    parent = os.getppid()
    began = started(parent)
    return str(parent) if began is None else f"{parent}-{began}"


def goes_on(run: str) -> bool:
    """Whether a run of this machine is not over."""
    process, _dash, began = run.partition("-")
    if os.path.isdir("/proc/self"):
        return started(int(process)) == began
    try:
        os.kill(int(process), 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True
