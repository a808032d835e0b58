# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One call of a module in a process of its own: ``python driver.py REQUEST.json``. It is what gets killed.

A request is ``{"do", "what", "use_case", "wish", "chroot"}``: ``do`` names a function of the runner, ``use_case`` the
module that observes and decides. ``chroot`` is the folder that the process makes its ``/``, so that the root is live;
null leaves it where it is.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ansible_collections.accelerator.ops.plugins.module_utils import runner
from ansible_collections.accelerator.ops.plugins.module_utils.model.call import Call, Outcome

BEGIN, END = "/begin-of-the-work", "/end-of-the-work"
"""Files that are looked for and not there: they mark in a log where the work begins and ends."""

_COLLECTION = "ansible_collections.accelerator.ops"


def perform(request: Mapping[str, Any]) -> Outcome:
    """Do what is asked, and return what the module would."""
    defaults = {name: row.get("default") for name, row in runner.SHARED.items()}
    call = Call(request["what"], {**defaults, "to": None, "keep": 20, **request["wish"]}, False, True)
    if request["do"] != "change":
        return getattr(runner, request["do"])(call)
    use_case = import_module(f"{_COLLECTION}.{request['use_case']}")
    return runner.change(call, use_case.observe, use_case.decide)


def main() -> int:
    """Exit status 0, or 1 with the error in one line."""
    gc.disable()
    with open(sys.argv[1], encoding="utf-8") as source:
        requests = json.load(source)
    for request in requests:
        if "use_case" in request:
            import_module(f"{_COLLECTION}.{request['use_case']}")
    if requests[0]["do"] == "nothing":
        return 0
    chroot = requests[0]["chroot"]
    if chroot is not None:
        os.chroot(chroot)
        os.chdir("/")
    _mark(BEGIN)
    for request in requests:
        perform(request)
    _mark(END)
    return 0


def _mark(name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.open(name, os.O_RDONLY)


if __name__ == "__main__":
    sys.exit(main())
