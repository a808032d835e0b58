# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module of the same name and writes the archive that it returns to ``dest``, on the control host."""

from __future__ import annotations

import base64
import binascii
import os
from typing import Any, NoReturn, Optional
from urllib.parse import quote

from ansible.plugins.action import ActionBase

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError, ProbeError
from ansible_collections.accelerator.ops.plugins.plugin_utils import whole_file
from ansible_collections.accelerator.ops.plugins.plugin_utils.edge import outcome


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
        dest = _place(str(named), str(variables["inventory_hostname"])) if named else ""
        result: dict[str, Any] = self._execute_module(task_vars=variables)
        text = result.pop("archive", None)
        if result.get("failed") or result.get("skipped") or result.get("unreachable"):
            return result
        try:
            archive = base64.b64decode(str(text).encode("ascii"), validate=True)
        except (ValueError, binascii.Error):
            raise ProbeError("record", dest, "no archive came back", "one", "look at the output with -vvv") from None
        changed = not _holds(dest, archive)
        if changed and not self._task.check_mode:
            try:
                whole_file.write(dest, archive, 0o600)
            except OSError as error:
                _refuse(dest, os.strerror(error.errno or 0))
        return {**result, "changed": changed, "dest": dest}


def _place(named: str, host: str) -> str:
    """The file to write. Raises InputError, before the node is asked, where no file can be written there."""
    path = os.path.abspath(os.path.expandvars(os.path.expanduser(named)))
    if os.path.isdir(path) or named.endswith("/"):
        path = os.path.join(path, quote(host, safe="") + ".tar.gz")
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        _refuse(path, "no such folder" if not os.path.lexists(folder) else f"{folder} is no folder")
    if os.path.lexists(path) and not os.path.isfile(path):
        _refuse(path, "something that is no file is there")
    if not os.access(folder, os.W_OK | os.X_OK):
        _refuse(path, "no right to write there, or a read-only file system")
    return path


def _holds(dest: str, archive: bytes) -> bool:
    try:
        with open(dest, "rb") as there:
            return there.read(len(archive) + 1) == archive
    except OSError:
        return False  # then writing it says why


def _refuse(path: str, found: str) -> NoReturn:
    raise InputError(
        "write",
        f"recording {path}",
        found,
        "a folder on the control host that can be written",
        "set dest to a file in one",
    )
