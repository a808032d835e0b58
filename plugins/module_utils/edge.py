# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The edge to Ansible: parameters in, result out, a typed error as one line. No decision is made here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from ansible.module_utils.basic import AnsibleModule

from .model.errors import OpsError
from .runner import Outcome


def run(argument_spec: Mapping[str, Any], work: Callable[[Mapping[str, Any]], Outcome]) -> None:
    """Run ``work`` with the module's parameters, and leave with its outcome or with its error."""
    module = AnsibleModule(argument_spec=dict(argument_spec), supports_check_mode=True)
    try:
        outcome = work(module.params)
    except OpsError as error:
        module.fail_json(msg=str(error), error=error.as_dict())
        return
    module.exit_json(changed=outcome.changed, **outcome.results)
