# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``cdi`` section of the facts: the folders that specs are read from, and the specs in them.

Engines read the files of a folder that end in ``.json`` or ``.yaml``, none below it, by default from ``/etc/cdi`` and
``/var/run/cdi`` (container-device-interface, pkg/cdi/spec-dirs.go and default-cache.go, read 2026-12).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Optional

from ...host.door import Host
from ...model.answer import MISSING
from ...model.cdi import ENDINGS, FOLDERS


def observe(host: Host, configured: Iterable[str] = ()) -> tuple[Optional[dict[str, Any]], Optional[str]]:
    """The section (docs/facts.md), or None and the reason. ``configured`` are the folders that engines name."""
    if not host.exists("/etc"):
        return None, "/etc not there"
    directories = list(dict.fromkeys((*FOLDERS, *configured)))
    specs: list[dict[str, Any]] = []
    unknown: dict[str, str] = {}
    seen = set()
    for number, folder in enumerate(directories):
        names = host.list(folder)
        if names.value is None:
            if names.reason != MISSING:
                unknown[f"directories.{number}"] = f"{folder} {names.reason}"
            continue
        real = host.resolve(folder).value
        if real not in seen:
            seen.add(real)
            specs.extend(_spec(host, f"{folder}/{name}") for name in names.value if name.endswith(ENDINGS))
    return {"directories": directories, "specs": specs, "unknown": unknown}, None


def _spec(host: Host, path: str) -> dict[str, Any]:
    """One file, as the newest loader takes it."""
    from ...codec.cdi import SpecError, parse  # where it is needed only
    from ...codec.document import NoYamlError

    status, no_status = host.status(path)
    mode = None if status is None else f"{status.mode:04o}"
    row: dict[str, Any] = {"path": path, "kind": None, "version": None, "devices": None, "mode": mode}
    row.update({"valid": None, "error": None})
    unknown = {} if no_status is None else {"mode": no_status}
    answer = host.read(path)
    why = answer.reason
    if answer.value is not None:
        try:
            spec = parse(answer.value)
        except NoYamlError as error:
            why = str(error)
        except SpecError as error:
            row.update({"valid": False, "error": str(error)[:300]})
            why = "no loader takes the file"
        else:
            row.update({"valid": True, "kind": spec.kind, "version": spec.version})
            row["devices"] = [device.name for device in spec.devices]
    for field in ("kind", "version", "devices", "valid"):
        if row[field] is None:
            unknown[field] = why or ""
    return {**row, "unknown": dict(sorted(unknown.items()))}
