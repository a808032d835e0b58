# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a recording or a tree down as a machine model, on the control host."""

from __future__ import annotations

from typing import Any, Optional
from urllib.parse import quote

from ansible.plugins.action import ActionBase

from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models
from ansible_collections.accelerator.ops.plugins.plugin_utils.destination import Destination
from ansible_collections.accelerator.ops.plugins.plugin_utils.edge import outcome, plain

SPEC = {
    "src": {"type": "path", "required": True},
    "dest": {"type": "path", "required": True},
    "name": {"type": "str", "required": True},
}


class ActionModule(ActionBase):
    """In check mode the model is made, and the difference told, and no file is written."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Optional[str] = None, task_vars: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        if result.get("skipped") or result.get("failed"):
            return result
        _checked, wish = self.validate_argument_spec(argument_spec=SPEC)
        result.update(outcome(lambda: _write(plain(wish), self._task.check_mode)))
        if not self._task.diff:
            result.pop("diff", None)
        return result


def _write(wish: dict[str, Any], is_check: bool) -> dict[str, Any]:
    dest = Destination(wish["dest"], quote(wish["name"], safe="", errors="surrogatepass") + ".yml", "model")
    text = machine_models.written_down(wish["src"], wish["name"])
    found = machine_models.parse(text, dest.path)
    old = dest.read()
    changed = old != text.encode("utf-8")
    if changed and not is_check:
        dest.write(text.encode("utf-8"))
    diff = {"before": (old or b"").decode("utf-8", "replace"), "after": text}
    headers = {"before_header": dest.path, "after_header": dest.path}
    return {"changed": changed, "dest": dest.path, "functions": len(found.functions), "diff": {**diff, **headers}}
