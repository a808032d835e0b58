# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the modules that only read, and leaves facts on the control host when ``report_dir`` is set (routed in
``meta/runtime.yml``).

The facts of many hosts reach the report as files: ``hostvars`` of a thousand hosts in one task are slow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.accelerator.ops.plugins.plugin_utils.edge import arguments, one_line, outcome, plain
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
        given = arguments(self._task.args, variables, self._templar.template)
        named = given.get("report_dir")
        if not named:
            return self._execute_module(module_args=given, task_vars=variables)
        folder, host = ReportDir(str(named)), str(variables["inventory_hostname"])
        root = str(given.get("root") or "/")
        folder.claim()
        # what an earlier run left must not outlive a controller that dies in the next lines
        folder.remove(facts_name(host))
        try:
            result: dict[str, Any] = self._execute_module(module_args=given, task_vars=variables)
        except AnsibleError as error:
            code = "unreachable" if isinstance(error, AnsibleConnectionFailure) else "probe"
            folder.write_host(host, {"root": root, "error": {"code": code, "message": one_line(str(error))}})
            raise
        folder.write_host(host, {"root": root, **_entry(result)})
        return result


def _entry(result: dict[str, Any]) -> dict[str, Any]:
    """What a result says of the node: its facts, or why there are none."""
    if result.get("unreachable"):
        return {"error": {"code": "unreachable", "message": _why(result)}}
    facts = result.get("ansible_facts")
    if not result.get("failed") and isinstance(facts, Mapping) and "accelerators" in facts:
        return {"facts": plain(facts["accelerators"])}
    detail = result.get("error")
    told = plain(detail) if isinstance(detail, Mapping) else {}
    message = _why(result) if result.get("failed") else "the module returned no facts"
    return {"error": {**told, "code": str(told.get("code") or "probe"), "message": message}}


def _why(result: dict[str, Any]) -> str:
    """Why a task failed, in one line: its message, and the last words of a module that broke or was killed."""
    message = " ".join(str(result.get("msg") or "").split())
    if not message:
        # from ansible-core 2.19 on a module that broke has no message yet, and a summary for its exception
        broken = result.get("exception")
        event = getattr(broken, "event", None)
        message = _last(broken) if event is None else " ".join(str(getattr(event, "msg", "")).split())
    words = _last(result.get("module_stderr"))
    return (
        one_line("; ".join(part for part in (message, words if words not in message else "") if part)) or "no message"
    )


def _last(text: object) -> str:
    """The last line of a text: of a traceback it names the error."""
    lines = text.split("\n") if isinstance(text, str) else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
