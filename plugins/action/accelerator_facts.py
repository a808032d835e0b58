# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module of the same name, and leaves what it saw on the control host when ``report_dir`` is set.

The facts of many hosts reach the report as files: ``hostvars`` of a thousand hosts in one task are slow.
"""

from __future__ import annotations

from typing import Any, Optional

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.accelerator.ops.plugins.plugin_utils.edge import outcome, plain
from ansible_collections.accelerator.ops.plugins.plugin_utils.report_dir import ReportDir, facts_name


class ActionModule(ActionBase):
    """Writes in check mode too: the module only reads, and the report is about what is there."""

    TRANSFERS_FILES = False

    def run(self, tmp: Optional[str] = None, task_vars: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        if result.get("skipped") or result.get("failed"):
            return result
        variables = task_vars or {}
        result.update(outcome(lambda: self._look(variables)))
        return result

    def _look(self, variables: dict[str, Any]) -> dict[str, Any]:
        named = self._task.args.get("report_dir")
        if not named:
            return self._execute_module(task_vars=variables)
        folder, host = ReportDir(str(named)), str(variables["inventory_hostname"])
        root = str(self._task.args.get("root") or "/")
        # what an earlier run left must not outlive a controller that dies in the next lines
        folder.remove(facts_name(host))
        try:
            result: dict[str, Any] = self._execute_module(task_vars=variables)
        except AnsibleError as error:
            code = "unreachable" if isinstance(error, AnsibleConnectionFailure) else "probe"
            folder.write_host(host, {"root": root, "error": {"code": code, "message": _line(str(error))}})
            raise
        if result.get("unreachable"):
            entry: dict[str, Any] = {"error": {"code": "unreachable", "message": _line(result.get("msg"))}}
        elif result.get("failed"):
            detail = result.get("error") if isinstance(result.get("error"), dict) else {}
            entry = {
                "error": {
                    **plain(detail),
                    "code": str(detail.get("code") or "probe"),
                    "message": _line(result.get("msg")),
                }
            }
        else:
            entry = {"facts": plain(result["ansible_facts"]["accelerators"])}
        folder.write_host(host, {"root": root, **entry})
        return result


def _line(message: object) -> str:
    """An error of Ansible in one line that a table can show."""
    text = " ".join(str(message or "no message").split())
    return text if len(text) <= 400 else text[:399] + "…"
