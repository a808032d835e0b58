# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small use case in which every class of step occurs, for the crash tests.

The wish: ``files`` {path: text or null}, ``edits`` {path: line to add}, ``links`` {path: target}, ``settings``
{path: value}, ``groups`` {name: whether it is there}, ``derived`` {key: argv}, ``restarts`` [service], and ``alone``
{key: argv}: derived things that are made although no file changes. Programs run through ``PROGRAM``, which can kill
the module that started it (see ``node.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.accelerator.ops.plugins.module_utils.host import command, disk
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.plan import (
    Command,
    Derived,
    PathStep,
    Plan,
    Proof,
    Restart,
    Setting,
    State,
    file_step,
)

PROGRAM = "/srv/program"
DERIVED = "/boot/derived"


def observe(host: Host, wish: Mapping[str, Any]) -> dict[str, Any]:
    """What is there of each thing that is wished for."""
    paths = [*wish.get("files", ()), *wish.get("edits", ()), *wish.get("links", ())]
    groups = wish.get("groups", {})
    return {
        "found": {path: disk.found(host, path) for path in paths},
        "settings": {path: host.read(path).value for path in wish.get("settings", ())},
        "groups": {name: command.run(host, _probe(name), 10.0).reason is None for name in groups},
    }


def decide(seen: Mapping[str, Any], wish: Mapping[str, Any]) -> Plan:
    """The steps from what is there to what is wished for."""
    steps: list[Any] = []
    found = seen["found"]
    for path, text in wish.get("files", {}).items():
        steps += file_step(path, found[path], None if text is None else text.encode(), "as wished")
    for path, line in wish.get("edits", {}).items():
        if line not in found[path].text().splitlines():
            steps += file_step(path, found[path], found[path].content + f"{line}\n".encode(), "a line", is_edit=True)
    for path, target in wish.get("links", {}).items():
        after = State("link", 0o777, *found[path].owner, "", target)
        if not found[path].state.is_same(after):
            steps.append(PathStep(path, found[path].state, after, found[path].content, b"", "a link"))
    steps += [
        Setting(path, seen["settings"][path] or "", value, "a value")
        for path, value in wish.get("settings", {}).items()
        if seen["settings"][path] != value
    ]
    steps += [_group(name, wanted) for name, wanted in wish.get("groups", {}).items() if seen["groups"][name] != wanted]
    lines = tuple((path, path) for path in wish.get("files", {}) if path.startswith("/etc/modprobe.d/"))
    proof = Proof(("cat", DERIVED), lines)
    alone = tuple(Derived(key, (tuple(argv),), "as wished", proof, 20.0) for key, argv in wish.get("alone", {}).items())
    if not any(isinstance(step, PathStep) for step in steps):
        return Plan(tuple(steps), alone)
    derived = [
        Derived(key, (tuple(argv),), "its sources change", proof, 20.0) for key, argv in wish.get("derived", {}).items()
    ]
    return Plan(tuple(steps), tuple(derived), tuple(Restart(one, "it reads them") for one in wish.get("restarts", ())))


def _probe(name: str) -> tuple[str, ...]:
    return ("grep", "-q", f"^{name}:", "/etc/group")


def _group(name: str, wanted: bool) -> Command:
    add, take = ((PROGRAM, word, name) for word in ("groupadd", "groupdel"))
    return Command(f"group {name}", not wanted, wanted, add, take, _probe(name), "a group")
