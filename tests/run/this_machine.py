# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The survey of this very machine on one core: as the person who runs it, and, for root, as ``nobody`` too."""

from __future__ import annotations

import json
import os
import pwd
import shutil
from pathlib import Path
from typing import Any

from surroundings import LOCAL

SECTIONS = ("devices", "links", "distances", "numa_nodes", "nics", "storage", "kernel", "security", "drivers")
LATER = ("engines", "cdi", "kubelet", "owners")
_SAME = ("devices", "nics", "storage", "bridges")


def inventory(core: str) -> tuple[Path, Path, list[str]]:
    """An inventory of this machine, the folder for its report, and the names of its hosts."""
    place = LOCAL / f"survey-{core}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    python = next(path for path in ("/usr/bin/python3", shutil.which("python3") or "") if path)
    hosts: dict[str, Any] = {"self": {}}
    if os.getuid() == 0 and _has_nobody():
        hosts["nobody"] = {
            "ansible_become": True,
            "ansible_become_method": "su",
            "ansible_become_user": "nobody",
            "ansible_become_flags": "-s /bin/sh",
        }
    shared = {"ansible_connection": "local", "ansible_python_interpreter": python}
    file = place / "hosts.json"
    file.write_text(json.dumps({"all": {"hosts": hosts, "vars": shared}}), encoding="utf-8")
    return file, place / "report", list(hosts)


def flaws(report: Path, hosts: list[str]) -> list[str]:
    """What is wrong with the report, one line each."""
    if not (report / "survey.html").is_file():
        return ["there is no page"]
    facts = {}
    for host in hosts:
        entry = json.loads((report / "facts" / f"{host}.json").read_text(encoding="utf-8"))
        if "facts" not in entry:
            return [f"{host}: {entry.get('error')}"]
        facts[host] = entry["facts"]
    found = []
    for host, seen in facts.items():
        if seen["schema"] != 1:
            found.append(f"{host}: schema is {seen['schema']}")
        found += [
            f"{host}: {section} is null without a reason"
            for section in (*SECTIONS, *LATER)
            if seen[section] is None and not seen["unknown"].get(section)
        ]
        if seen["kernel"]["release"] != os.uname().release:
            found.append(f"{host}: the kernel is {seen['kernel']['release']}, not {os.uname().release}")
        own, other = _ids(facts[hosts[0]]), _ids(seen)
        if own != other:
            found.append(f"{host} sees {other}, {hosts[0]} sees {own}")
    return found


def _ids(facts: dict[str, Any]) -> dict[str, list[str]]:
    return {section: [each["id"] for each in facts[section] or []] for section in _SAME}


def _has_nobody() -> bool:
    try:
        pwd.getpwnam("nobody")
    except KeyError:
        return False
    return shutil.which("su") is not None
