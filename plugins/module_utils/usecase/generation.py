# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the module ``generation`` that belong to one of its states: with another one they would do nothing."""

from __future__ import annotations

from ..model.call import Call
from ..model.errors import InputError

_ONLY_WITH = {"to": "rolled_back", "services": "restarted"}


def sensible(call: Call) -> Call:
    """The call itself. Raises InputError where an option of it would be passed over."""
    state = call.wish["state"]
    for option, only in _ONLY_WITH.items():
        if call.wish.get(option) is not None and state != only:
            step = f"set state to {only}, or leave {option} out"
            raise InputError("use", f"option {option}", f"state {state}", f"state {only}", step)
    if call.wish["commit"] != "now":
        step = "leave commit out: what this module does is not left open"
        raise InputError("use", "option commit", call.wish["commit"], "now", step)
    return call
