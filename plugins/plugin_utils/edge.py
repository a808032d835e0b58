# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The edge of plugins that run on the control host: a typed error becomes a failed result, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import OpsError

_LONGEST_LINE = 400


def outcome(work: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """What ``work`` returns, or its typed error as the result of a failed task."""
    try:
        return dict(work())
    except OpsError as error:
        return {"failed": True, "msg": str(error), "error": error.as_dict()}


def arguments(task: Mapping[str, Any], variables: Mapping[str, Any], template: Callable[[Any], Any]) -> dict[str, Any]:
    """The options of a task. Where it names no root, that is the host's ``accelerator_root``, if it has one.

    Such a host stands for another machine: without this, a task that forgets it acts on the control host.
    """
    named = dict(task)
    if named.get("root") is None and variables.get("accelerator_root") is not None:
        named["root"] = template(variables["accelerator_root"])
    return named


def plain(value: Any) -> Any:
    """A value of Ansible as plain JSON data: its strings and mappings carry more than their text."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, str):
        return str.__str__(value)
    return value


def one_line(message: str) -> str:
    """An error of Ansible in one line that a table can show."""
    text = " ".join(message.split())
    return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1]}…"
