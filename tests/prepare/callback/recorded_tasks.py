# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the result of each task of a run as one line of JSON, so that runs can be compared task by task.

Each run is a file of its own in the folder that RECORDED_TASKS names: ``<number>-<playbook>-<check or real>.jsonl``.
"""

from __future__ import annotations

import json
import os
from typing import Any, Optional

from ansible import context
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: recorded_tasks
type: notification
short_description: Write the result of each task as one line of JSON
description:
  - For tests that compare runs. Needs the environment variable E(RECORDED_TASKS).
"""


class CallbackModule(CallbackBase):
    """Notes what the tests look at, and leaves out what differs from run to run."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "recorded_tasks"

    def __init__(self) -> None:
        super().__init__()
        self._file: Optional[str] = None

    def v2_playbook_on_start(self, playbook: Any) -> None:
        folder = os.environ.get("RECORDED_TASKS")
        if not folder:
            return
        os.makedirs(folder, exist_ok=True)
        number = len(os.listdir(folder)) + 1
        name = os.path.basename(playbook._file_name).rpartition(".")[0]
        mode = "check" if context.CLIARGS.get("check") else "real"
        self._file = os.path.join(folder, f"{number:03}-{name}-{mode}.jsonl")
        with open(self._file, "x", encoding="utf-8"):
            pass

    def _note(self, status: str, result: Any) -> None:
        if self._file is None:
            return
        task = getattr(result, "task", None) or result._task
        host = getattr(result, "host", None) or result._host
        told = dict(getattr(result, "result", None) or result._result)
        kept = ("changed", "plan", "diff", "deferred", "restart", "reboot_required", "reboot_reasons", "generation")
        row = {key: told[key] for key in (*kept, "journal", "error", "msg") if key in told}
        row = {"status": status, "host": str(host), "task": task.get_name(), "action": task.action, **row}
        with open(self._file, "a", encoding="utf-8") as target:
            target.write(json.dumps(row, default=str) + "\n")

    def v2_runner_on_ok(self, result: Any) -> None:
        self._note("ok", result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        self._note("skipped", result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._note("failed", result)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._note("unreachable", result)
