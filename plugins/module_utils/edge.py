# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The edge to Ansible: parameters in, result out, a typed error as one line. No decision is made here.

What only reads needs nothing else; a change goes on through ``runner``, which only changing modules bring along.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any, Callable

from ansible.module_utils.basic import AnsibleModule

from .host.door import Host
from .model.call import Call, Outcome
from .model.errors import OpsError

# A module is a short process that ends before garbage matters: not looking for it while the rest of the code loads
# saves 20 of 110 ms (measured 2026-12, CPython 3.11 and 3.13).
gc.disable()


def run(argument_spec: Mapping[str, Any], work: Callable[[Mapping[str, Any]], Outcome]) -> None:
    """Run ``work`` with the module's parameters, and leave with its outcome or with its error."""
    run_call(argument_spec, lambda call: work(call.wish))


def run_call(argument_spec: Mapping[str, Any], work: Callable[[Call], Outcome]) -> None:
    """Run ``work`` with how the module was called, and leave with its outcome or with its error."""
    module = AnsibleModule(argument_spec=dict(argument_spec), supports_check_mode=True)
    try:
        outcome = work(Call(module._name.rpartition(".")[2], module.params, module.check_mode, module._diff))
    except OpsError as error:
        module.fail_json(**_utf8({"msg": str(error), "error": error.as_dict()}))
        return
    module.exit_json(changed=outcome.changed, **_utf8(outcome.results))


def look(root: str, observe: Callable[[Host], Mapping[str, Any]]) -> Outcome:
    """Open the node at ``root`` and return what ``observe`` sees. Raises a typed error for a root that is none."""
    return Outcome(False, observe(Host(root)))


def _utf8(value: Any) -> Any:
    """The result, with bytes of names that are not UTF-8 as ``\\xff``: for one of them Ansible refuses the whole."""
    if isinstance(value, str):
        return value if value.isascii() else _text(value)
    if isinstance(value, Mapping):
        return {_utf8(key): _utf8(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_utf8(inner) for inner in value]
    return value


def _text(value: str) -> str:
    try:
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half a character out of a tool's JSON
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
