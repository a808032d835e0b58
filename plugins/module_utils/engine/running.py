# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a running daemon answers, as opposed to what its files say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

from .asked import Asked


class Running(NamedTuple):
    """What a running daemon uses; None is unknown, with a reason under the same name in ``unknown``.

    ``next_step`` is how to come to know it.
    """

    cdi: Optional[bool] = None
    cdi_spec_dirs: Optional[tuple[str, ...]] = None
    handlers: Optional[tuple[str, ...]] = None
    nri: Optional[bool] = None
    unknown: Mapping[str, str] = {}
    next_step: str = ""

    def told(self, why: str, next_step: str) -> Running:
        """The same with a reason for each that is unknown."""
        unknown = {name: why for name, value in zip(self._fields, self) if value is None}
        return self._replace(unknown=unknown, next_step=next_step if unknown else "")


def otherwise(asked: Asked, heard: Running) -> list[str]:
    """In what a running daemon is not as asked. What is unknown is not among it."""
    found = []
    if asked.cdi is not None and heard.cdi not in (None, asked.cdi):
        found.append(f"CDI is {'on' if heard.cdi else 'off'}")
    if asked.cdi_spec_dirs and heard.cdi_spec_dirs not in (None, asked.cdi_spec_dirs):
        found.append(f"its CDI folders are {', '.join(heard.cdi_spec_dirs or ())}")
    if asked.nri and heard.nri is False:
        found.append("NRI is off")
    if heard.handlers is not None:
        found += [f"no handler {name}" for name in sorted(set(asked.runtimes or ()) - set(heard.handlers))]
    return found


def unheard(asked: Asked, heard: Running) -> dict[str, list[str]]:
    """What is asked and is not known of a running daemon: the names of the options, by the reason."""
    wanted = {"cdi": asked.cdi is not None, "cdi_spec_dirs": bool(asked.cdi_spec_dirs), "nri": bool(asked.nri)}
    wanted["runtimes"] = bool(asked.runtimes)
    found: dict[str, list[str]] = {}
    for name, is_asked in wanted.items():
        field = "handlers" if name == "runtimes" else name
        if is_asked and getattr(heard, field) is None:
            found.setdefault(heard.unknown.get(field, ""), []).append(name)
    return found


def from_crictl(info: str, has_socket: Optional[bool], is_always_on: bool) -> Running:
    """What ``crictl info`` prints of containerd. ``is_always_on``: a daemon that says nothing of CDI has it."""
    config = _object(_object(info).get("config"))
    cdi = config.get("enableCDI", True if is_always_on and config else None)
    runtimes = _object(config.get("containerd")).get("runtimes")
    found = Running(
        cdi if isinstance(cdi, bool) else None, _folders(config, "cdiSpecDirs"), _names(runtimes), has_socket
    )
    return found.told("crictl info does not say", "look at what crictl info prints")


def from_docker(info: str) -> Running:
    """What ``docker info --format '{{json .}}'`` prints. The folders are empty where CDI is off."""
    said = _object(info)
    folders = _folders(said, "CDISpecDirs")
    cdi = None if folders is None else bool(folders)
    found = Running(cdi, folders, _names(said.get("Runtimes")))
    return found.told("docker info does not say", "look at what docker info prints")


def _object(found: Any) -> Mapping[str, Any]:
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            return {}
    return found if isinstance(found, dict) else {}


def _folders(said: Mapping[str, Any], key: str) -> Optional[tuple[str, ...]]:
    folders = said.get(key)
    return tuple(map(str, folders)) if isinstance(folders, list) else None


def _names(found: Any) -> Optional[tuple[str, ...]]:
    return tuple(sorted(found)) if isinstance(found, dict) else None
