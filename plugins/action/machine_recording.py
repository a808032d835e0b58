# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module of the same name and writes the archive that it returns to ``dest``, on the control host."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Optional
from urllib.parse import quote

from ansible.plugins.action import ActionBase

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import ProbeError
from ansible_collections.accelerator.ops.plugins.plugin_utils.destination import Destination
from ansible_collections.accelerator.ops.plugins.plugin_utils.edge import arguments, outcome


class ActionModule(ActionBase):
    """In check mode the node is read, and what would change is told."""

    TRANSFERS_FILES = False

    def run(self, tmp: Optional[str] = None, task_vars: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        if result.get("skipped") or result.get("failed"):
            return result
        variables = task_vars or {}
        result.update(outcome(lambda: self._record(variables)))
        return result

    def _record(self, variables: dict[str, Any]) -> dict[str, Any]:
        named = self._task.args.get("dest")
        # without one the module says what is missing
        in_folder = quote(str(variables["inventory_hostname"]), safe="", errors="surrogatepass") + ".tar.gz"
        dest = Destination(str(named), in_folder, "recording") if named else None
        given = arguments(self._task.args, variables, self._templar.template)
        result: dict[str, Any] = self._execute_module(module_args=given, task_vars=variables)
        text = result.pop("archive", None)
        if result.get("failed") or result.get("skipped") or result.get("unreachable") or dest is None:
            return result
        try:
            archive = base64.b64decode(str(text).encode("ascii"), validate=True)
        except (ValueError, binascii.Error):
            raise ProbeError(
                "record", dest.path, "no archive came back", "one", "look at the output with -vvv"
            ) from None
        changed = dest.read() != archive
        if changed and not self._task.check_mode:
            dest.write(archive)
        return {**result, "changed": changed, "dest": dest.path}
