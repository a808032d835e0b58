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
    """What a running daemon uses; None is unknown, with a reason under the same name in ``unknown``."""

    cdi: Optional[bool] = None
    cdi_spec_dirs: Optional[tuple[str, ...]] = None
    handlers: Optional[tuple[str, ...]] = None
    nri: Optional[bool] = None
    unknown: Mapping[str, str] = {}

    def told(self, why: str) -> Running:
        """The same with a reason for each that is unknown."""
        return self._replace(unknown={name: why for name, value in zip(self._fields, self) if value is None})


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


def from_crictl(info: str, has_socket: Optional[bool], is_always_on: bool) -> Running:
    """What ``crictl info`` prints of containerd. ``is_always_on``: a daemon that says nothing of CDI has it."""
    config = _object(_object(info).get("config"))
    cdi = config.get("enableCDI", True if is_always_on and config else None)
    runtimes = _object(config.get("containerd")).get("runtimes")
    found = Running(
        cdi if isinstance(cdi, bool) else None, _folders(config, "cdiSpecDirs"), _names(runtimes), has_socket
    )
    return found.told("crictl info does not say")


def from_docker(info: str) -> Running:
    """What ``docker info --format '{{json .}}'`` prints. The folders are empty where CDI is off."""
    said = _object(info)
    folders = _folders(said, "CDISpecDirs")
    cdi = None if folders is None else bool(folders)
    return Running(cdi, folders, _names(said.get("Runtimes"))).told("docker info does not say")


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
