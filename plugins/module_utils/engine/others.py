# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of others that an engine reads beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

from ..codec import toml
from ..host.door import Host
from ..model.answer import MISSING, NOT_RECORDED
from ..model.errors import ConflictError
from .values import unfit


def tables(
    host: Host, paths: Iterable[str], ours: str, form: Mapping[str, Any]
) -> tuple[dict[str, Mapping[str, Any]], Optional[str]]:
    """The TOML files of a form that are there, by path in this order, without ours; and what is wrong with the first
    bad one."""
    files: dict[str, Mapping[str, Any]] = {}
    problem = None
    for path in paths:
        text, reason = (None, MISSING) if path == ours else host.read(path)
        if text is None:
            status, _reason = host.status(path)
            if reason not in (MISSING, NOT_RECORDED) and status is not None and status.kind == "file":
                problem = problem or f"{path} cannot be read: {reason}"
            continue
        try:
            table = toml.read(text)
        except ValueError as error:
            problem = problem or f"{path} is no TOML ({error})"
            continue
        wrong = unfit(table, form)
        if wrong is None:
            files[path] = table
        else:
            problem = problem or f"in {path} {wrong}"
    return files, problem


def masked(engine: str, keys: Mapping[str, Sequence[str]], ours: str) -> ConflictError:
    """Files that are read after ours say otherwise of these keys, by path (at least one)."""
    path = next(iter(keys))
    found = f"{path} is read later and says otherwise of {', '.join(keys[path])}"
    step = f"take that out of it, or give it a name that is read before {ours.rpartition('/')[2]}"
    return ConflictError("configure", engine, found, "a drop-in that is read last", step, {"masked": dict(keys)})
