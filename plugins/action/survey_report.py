# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the report of a run out of what ``accelerator_facts`` and changing modules left in ``report_dir``."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any, Optional

from ansible.plugins.action import ActionBase

from ansible_collections.accelerator.ops.plugins.module_utils.report.changes import changes
from ansible_collections.accelerator.ops.plugins.module_utils.report.changes import totals as change_totals
from ansible_collections.accelerator.ops.plugins.module_utils.report.form import flaw
from ansible_collections.accelerator.ops.plugins.module_utils.report.page import render_json, render_page
from ansible_collections.accelerator.ops.plugins.module_utils.report.survey import (
    FAILED,
    MISSING,
    SEEN,
    UNREACHABLE,
    NodeReport,
    summary,
    survey,
)
from ansible_collections.accelerator.ops.plugins.module_utils.report.texts import LANGUAGES
from ansible_collections.accelerator.ops.plugins.plugin_utils.edge import one_line, outcome, plain
from ansible_collections.accelerator.ops.plugins.plugin_utils.report_dir import ReportDir, facts_name
from ansible_collections.accelerator.ops.plugins.plugin_utils.this_run import run_id

PAGE, DATA = "survey.html", "survey.json"

SPEC = {
    "report_dir": {"type": "path", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
    "language": {"type": "str", "default": "en", "choices": sorted(LANGUAGES)},
    "title": {"type": "str", "default": ""},
}


class ActionModule(ActionBase):
    """Writes in check mode too: the report is the answer, not a change to a node."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Optional[str] = None, task_vars: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        if result.get("skipped") or result.get("failed"):
            return result
        _checked, wish = self.validate_argument_spec(argument_spec=SPEC)
        result.update(outcome(lambda: report(plain(wish))))
        return result


def report(wish: dict[str, Any]) -> dict[str, Any]:
    """The files of the folder as one page: what the module returns. Raises OpsError."""
    folder, run = ReportDir(wish["report_dir"]), run_id()
    folder.claim()
    hosts = list(dict.fromkeys(wish["hosts"]))
    changed = changes({host: folder.changes(host, run) for host in hosts})
    seen = survey([_node(folder, host, run) for host in hosts], wish["title"], changed)
    time = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    is_changed = not _is_same(folder, seen, wish["language"])
    # the data last: where the two do not belong together, the next run sees that they are not what it would write
    page, data = folder.write_all(
        {PAGE: render_page(seen, time, wish["language"]), DATA: render_json(seen, {"id": run, "time": time})}
    )
    folder.sweep()
    folder.give_back()
    totals, done = summary(seen.document), change_totals(changed, len(hosts))
    # made here and not in the role: before ansible-core 2.19 a template turns a number into text
    stats = {f"survey_{name}": value for name, value in {"page": page, "data": data, **totals}.items()}
    change_stats = {f"changes_{name}": value for name, value in {"page": page, "data": data, **done}.items()}
    result = {"changed": is_changed, "page": page, "data": data, "summary": totals, "stats": stats}
    return {**result, "changes": done, "change_stats": change_stats}


def _node(folder: ReportDir, host: str, run: str) -> NodeReport:
    text = folder.read(facts_name(host))
    if text is None:
        return NodeReport(host, MISSING, "/", None, "")
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError) as error:
        return NodeReport(host, FAILED, "/", None, f"{folder.place(facts_name(host))} is no JSON ({error})")
    if not isinstance(entry, dict) or entry.get("host") != host:
        return NodeReport(host, FAILED, "/", None, f"{folder.place(facts_name(host))} is not about this host")
    if entry.get("run") != run:
        return NodeReport(host, MISSING, "/", None, "")
    root = _text(entry.get("root")) or "/"
    error = entry.get("error")
    if isinstance(error, dict):
        status = UNREACHABLE if error.get("code") == "unreachable" else FAILED
        return NodeReport(host, status, root, None, one_line(_text(error.get("message"))))
    found = flaw(entry.get("facts"))
    if found is not None:
        return NodeReport(host, FAILED, root, None, found)
    return NodeReport(host, SEEN, root, entry["facts"], "")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is_same(folder: ReportDir, seen: Any, language: str) -> bool:
    """Whether the files that are there say the same as the ones to be written, but for when."""
    old_data, old_page = folder.read(DATA), folder.read(PAGE)
    if old_data is None or old_page is None:
        return False
    try:
        run = json.loads(old_data)["run"]
        return old_data == render_json(seen, run) and old_page == render_page(seen, str(run["time"]), language)
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
