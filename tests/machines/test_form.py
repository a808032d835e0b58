# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every facts document that the collection makes has the form that the report asks for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.report.form import flaw
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.tests.machines.conftest import Compare
from ansible_collections.accelerator.ops.tests.machines.unpack import sources


def _flaw_of(root: Path | str, tools: str = "none") -> str | None:
    return flaw(json.loads(json.dumps(observe(Host(str(root)), tools))))


def test_models(models: dict[str, Path], comparison: Compare) -> None:
    with comparison("documents of models with the form of the schema", 10) as one:
        for name, root in models.items():
            one.same(name, _flaw_of(root), None)


def test_captures(data: Path, trees: Callable[[str], Path], comparison: Compare) -> None:
    with comparison("documents of captures with the form of the schema", 50) as one:
        for name in sources(data):
            one.same(name, _flaw_of(trees(name)), None)


@pytest.mark.skipif(not sys.platform.startswith("linux") or not os.path.isdir("/sys"), reason="no sysfs here")
def test_this_machine_and_its_tools() -> None:
    assert _flaw_of("/", "auto") is None
