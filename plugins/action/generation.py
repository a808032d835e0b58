# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs every changing module, and tells it which run of Ansible it belongs to (routed in ``meta/runtime.yml``).

All tasks of one ``ansible-playbook`` have the same parent process, and so share one journal on the node without a
variable. Only here can be told whether a run that left a journal open is over: its process was on this machine.
"""

from __future__ import annotations

import os
from typing import Any, Optional

from ansible.plugins.action import ActionBase

from ansible_collections.accelerator.ops.plugins.plugin_utils import this_run


class ActionModule(ActionBase):
    """Sets ``run`` where the task does not, and tries again with ``dead_run`` where the owner is found to be over."""

    TRANSFERS_FILES = False

    def run(self, tmp: Optional[str] = None, task_vars: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        if result.get("skipped") or result.get("failed"):
            return result
        variables = task_vars or {}
        arguments = {**self._task.args}
        arguments["run"] = arguments.get("run") or this_run.name(variables, os.environ)
        result.update(self._call(arguments, variables))
        owner = _owner(result)
        if owner is not None and not self._task.async_val and this_run.is_over(owner):
            result = self._call({**arguments, "dead_run": owner}, variables)
        return result

    def _call(self, arguments: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = self._execute_module(
            module_name=self._task.action,
            module_args=arguments,
            task_vars=variables,
            wrap_async=self._task.async_val,
        )
        return result


def _owner(result: dict[str, Any]) -> Optional[str]:
    """The run whose open journal stands in the way, where that is why the module failed."""
    error = result.get("error")
    if not result.get("failed") or not isinstance(error, dict) or error.get("code") != "busy":
        return None
    owner = (error.get("details") or {}).get("owner") or {}
    return str(owner["run"]) if "run" in owner and "process" not in owner else None
