# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One call of a module in a process of its own: ``python driver.py REQUEST.json``. It is what gets killed.

A request is ``{"do", "what", "use_case", "wish", "chroot"}``: ``do`` names a function of the runner, ``use_case`` the
module that observes and decides; or it names the ``module`` whose whole code runs, the edge to Ansible too. ``chroot``
is the folder that the process makes its ``/``, so that the root is live; null leaves it where it is.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ansible_collections.accelerator.ops.plugins.module_utils import runner
from ansible_collections.accelerator.ops.plugins.module_utils.model.call import Call, Outcome
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import ApplyError

BEGIN, END = "/begin-of-the-work", "/end-of-the-work"
"""Files that are looked for and not there: they mark in a log where the work begins and ends."""

_COLLECTION = "ansible_collections.accelerator.ops"


def perform(request: Mapping[str, Any]) -> Outcome:
    """Do what is asked, and return what the module would."""
    defaults = {name: row.get("default") for name, row in runner.SHARED.items()}
    if "module" in request:
        return _module(request)
    call = Call(request["what"], {**defaults, "to": None, "keep": 20, **request["wish"]}, False, True)
    if request["do"] == "put_back":
        return _put_back(call)
    if request["do"] != "change":
        return getattr(runner, request["do"])(call)
    use_case = import_module(f"{_COLLECTION}.{request['use_case']}")
    return runner.change(call, use_case.observe, use_case.decide)


def _put_back(call: Call) -> Outcome:
    """Start anew what is due, which cannot be without systemd: so what was changed is taken back."""
    try:
        runner.restarted(call)
    except ApplyError as error:
        assert error.details["left"] == "as before", error
        return Outcome(False, {})
    raise RuntimeError("a service was started anew")


def _module(request: Mapping[str, Any]) -> Outcome:
    """The module itself, as its process has it: what Ansible gives it, and the result that it prints."""
    from ansible.module_utils import basic

    module = import_module(f"{_COLLECTION}.plugins.modules.{request['module']}")
    asked = {"ANSIBLE_MODULE_ARGS": {**request["wish"], "_ansible_no_log": True}}
    basic._ANSIBLE_ARGS = json.dumps(asked).encode()
    if hasattr(basic, "_ANSIBLE_PROFILE"):  # since ansible-core 2.19
        basic._ANSIBLE_PROFILE = "legacy"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        module.main()
    result = json.loads(printed.getvalue())
    if result.get("failed"):
        raise RuntimeError(result["msg"])
    return Outcome(result["changed"], result)


def main() -> int:
    """Exit status 0, or 1 with the error in one line."""
    gc.disable()
    with open(sys.argv[1], encoding="utf-8") as source:
        requests = json.load(source)
    for request in requests:
        if "module" in request:
            import_module("ansible.module_utils.basic")
            import_module(f"{_COLLECTION}.plugins.modules.{request['module']}")
        if "use_case" in request:
            import_module(f"{_COLLECTION}.{request['use_case']}")
        for name in request.get("modules", ()):
            import_module(name)
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
