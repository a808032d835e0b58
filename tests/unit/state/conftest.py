# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small use case (files with their contents) run through the real runner on a real folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable, Optional

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils import runner
from ansible_collections.accelerator.ops.plugins.module_utils.host import disk
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.call import Call, Outcome
from ansible_collections.accelerator.ops.plugins.module_utils.model.plan import Plan, file_step
from ansible_collections.accelerator.ops.tests.listing import entries

OPTIONS = {name: row.get("default") for name, row in runner.SHARED.items()}


class Node:
    """A root folder that stands for a node, and the calls of modules on it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def call(self, what: str, is_check: bool = False, **options: Any) -> Call:
        """How a module is called."""
        return Call(what, {**OPTIONS, "root": str(self.root), "run": "a", **options}, is_check, True)

    def files(self, wanted: Mapping[str, Optional[str]], is_check: bool = False, **options: Any) -> Outcome:
        """Give files these contents (None: no file there)."""
        return runner.change(self.call("files", is_check, files=wanted, **options), observe, decide)

    def generation(self, state: Callable[[Call], Outcome], is_check: bool = False, **options: Any) -> Outcome:
        """What the module generation does."""
        return state(self.call("generation", is_check, **{"to": None, "keep": 20, **options}))

    def listing(self) -> dict[str, tuple[Any, ...]]:
        """Everything on the node but the state folder: type, mode, owner, extended attributes, content."""
        return dict(entries(self.root, "/var/lib/accelerator-ops"))


def observe(host: Host, wish: Mapping[str, Any]) -> dict[str, Any]:
    return {path: disk.found(host, path) for path in wish["files"]}


def decide(seen: Mapping[str, Any], wish: Mapping[str, Any]) -> Plan:
    steps = []
    for path, text in wish["files"].items():
        steps += file_step(path, seen[path], None if text is None else text.encode(), "as wished")
    return Plan(tuple(steps))


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """A node with an /etc, and nothing of ours on it."""
    root = tmp_path / "node"
    (root / "etc").mkdir(parents=True)
    (root / "var/lib").mkdir(parents=True)
    return Node(root)
