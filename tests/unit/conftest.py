# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tests run where Ansible is not: those of the rooms that a managed node gets."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import Optional

import pytest

HAS_ANSIBLE = importlib.util.find_spec("ansible") is not None
_CONTROL_HOST = ("plugin_utils", "plugins.action", "plugins.inventory", "plugins.modules", "module_utils.edge")
_LEFT_OUT: list[str] = []


def _needs_ansible(path: Path) -> bool:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.split(".")[0] in ("ansible", "jinja2") or any(part in name for part in _CONTROL_HOST):
                return True
    return False


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> Optional[bool]:
    """Leave out the tests of the control host where there is no Ansible, and remember which."""
    if HAS_ANSIBLE or not collection_path.name.startswith("test_") or collection_path.suffix != ".py":
        return None
    if _needs_ansible(collection_path):
        _LEFT_OUT.append(collection_path.name)
        return True
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out: a quiet gap would read as a pass."""
    if _LEFT_OUT:
        terminalreporter.write_line(f"without Ansible, left out: {', '.join(sorted(_LEFT_OUT))}")
