# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node for tests of makers' tools: a tree in the place of sysfs, and fake programs that really run."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.vendor import tools

PROGRAM = Path(__file__).with_name("fake_tool.py")


class Node(Host):
    """Reads a tree as the running system, and finds programs in one folder only."""

    is_node = True

    def __init__(self, root: Path, programs: Path) -> None:
        super().__init__(str(root))
        self.is_live = True
        self.programs = programs

    def _inside(self, real: str) -> str:
        return real if real.startswith(str(self.programs)) else self.root + real


class Programs:
    """The folder of the fake programs of one node."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def install(self, name: str, answers: Mapping[str, Mapping[str, Any]]) -> None:
        """A program that answers by its arguments, as ``fake_tool.py`` describes."""
        place = self.folder / name
        source = PROGRAM.read_text(encoding="utf-8")
        place.write_text(f"#!{sys.executable} -IS\n{source}", encoding="utf-8")
        place.chmod(0o755)
        (self.folder / f"{name}.json").write_text(json.dumps(answers), encoding="utf-8")

    def runs(self, name: str) -> list[str]:
        """The arguments of each run so far; ``child`` is a child that it left."""
        log = self.folder / f"{name}.log"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [line.partition(" ")[2] for line in lines]

    def alive(self) -> list[int]:
        """Processes of the fake programs, and their children, that still run."""
        found = []
        for log in self.folder.glob("*.log"):
            for line in log.read_text(encoding="utf-8").splitlines():
                number = int(line.split()[0])
                if is_alive(number):
                    found.append(number)
        return found


def is_alive(number: int) -> bool:
    try:
        with open(f"/proc/{number}/stat", encoding="ascii") as status:
            return status.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def sysfs(root: Path, functions: Mapping[str, tuple[str, str, str]], more: Optional[Mapping[str, str]] = None) -> None:
    """Write PCI functions ``{address: (vendor, device, class)}`` behind a root port each, and further files."""
    listed = root / "sys/bus/pci/devices"
    listed.mkdir(parents=True)
    for number, (address, (vendor, device, pci_class)) in enumerate(sorted(functions.items())):
        domain = address.partition(":")[0]
        port = f"{domain}:00:{number + 1:02x}.0"
        base = f"devices/pci{domain}:00/{port}"
        for place, of, values in (
            (base, port, ("8086", "352a", "060400")),
            (f"{base}/{address}", address, (vendor, device, pci_class)),
        ):
            folder = root / "sys" / place
            folder.mkdir(parents=True, exist_ok=True)
            for name, value in zip(("vendor", "device", "class"), values):
                (folder / name).write_text(f"0x{value}\n", encoding="utf-8")
            (folder / "numa_node").write_text("0\n", encoding="utf-8")
            if not (listed / of).is_symlink():
                (listed / of).symlink_to(os.path.relpath(folder, listed))
    for path, content in {"/proc/sys/kernel/osrelease": "6.8.0-40-generic", **(more or {})}.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        if content.startswith("-> "):
            file.symlink_to(content[3:])
        else:
            file.write_text(content + "\n", encoding="utf-8")


def open_node(monkeypatch: Any, root: Path, programs: Programs) -> Node:
    """The node, with its programs as the only ones that tools are looked for among."""
    monkeypatch.setattr(tools, "FOLDERS", (str(programs.folder),))
    return Node(root, programs.folder)
