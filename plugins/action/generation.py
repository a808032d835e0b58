# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs every changing module, and tells it which run of Ansible it belongs to (routed in ``meta/runtime.yml``).

All tasks of one ``ansible-playbook`` have the same parent process, and so share one journal on the node without a
variable. Only here can be told whether a run that left a journal open is over: its process was on this machine.
What each call did is left on the control host when ``report_dir`` is set.
"""

from __future__ import annotations

import os
from typing import Any, Optional

from ansible.plugins.action import ActionBase

from ansible_collections.accelerator.ops.plugins.plugin_utils import this_run
from ansible_collections.accelerator.ops.plugins.plugin_utils.edge import arguments, one_line, outcome, plain
from ansible_collections.accelerator.ops.plugins.plugin_utils.report_dir import ReportDir

_TOLD = (
    *("changed", "plan", "generation", "journal", "deferred", "restart", "reboot_required", "reboot_reasons"),
    *("taken_back", "error"),
)
"""What of a result is left for the report."""


class ActionModule(ActionBase):
    """Sets ``run`` where the task does not, and tries again with ``dead_run`` where the owner is found to be over."""

    TRANSFERS_FILES = False
    _supports_async = True

    def run(self, tmp: Optional[str] = None, task_vars: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        if result.get("skipped") or result.get("failed"):
            return result
        variables = task_vars or {}
        result.update(outcome(lambda: self._reported(variables)))
        return result

    def _reported(self, variables: dict[str, Any]) -> dict[str, Any]:
        """The call, with its result left for the report. A folder that cannot be used stops it before it is done."""
        given = arguments(self._task.args, variables, self._templar.template)
        named = given.pop("report_dir", None)
        if not named or self._task.async_val:
            return self._owned(given, variables)
        folder, host = ReportDir(str(named)), str(variables["inventory_hostname"])
        folder.claim()
        result = self._owned(given, variables)
        told = {name: plain(result[name]) for name in _TOLD if name in result}
        if result.get("failed") or result.get("unreachable"):
            told["message"] = one_line(str(result.get("msg") or "no message"))
        folder.add_change(
            host,
            {
                **told,
                "module": str(self._task.action).rpartition(".")[2],
                "root": str(given.get("root") or "/"),
                "is_check": bool(self._task.check_mode),
                "is_done": not (result.get("failed") or result.get("unreachable")),
            },
        )
        return result

    def _owned(self, given: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        """The call by this run, after what a run that is over has left."""
        given["run"] = given.get("run") or this_run.name(variables, os.environ)
        result = self._call(given, variables)
        owner = _owner(result)
        if owner is not None and not self._task.async_val and this_run.is_over(owner):
            result = self._call({**given, "dead_run": owner}, variables)
        return result

    def _call(self, given: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = self._execute_module(
            module_name=self._task.action,
            module_args=given,
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
