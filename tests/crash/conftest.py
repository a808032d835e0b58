# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much the crash tests try, by which chance, and what they tried in all."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter

import pytest

from ansible_collections.accelerator.ops.tests.crash.amount import IS_WHOLE, SEED

_LACKING = "it needs root and strace"


class Tally:
    """What was tried in all, by name."""

    def __init__(self) -> None:
        self.counted: Counter[str] = Counter()

    def add(self, name: str, count: int) -> None:
        """So many more."""
        self.counted[name] += count

    def lines(self) -> list[str]:
        """For the end of the run."""
        return [f"{name}: {count}" for name, count in sorted(self.counted.items())]


_TALLY = Tally()


@pytest.fixture
def tally() -> Tally:
    """The tally of this run."""
    return _TALLY


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Chance of its own for each test, from the seed of the run."""
    return random.Random(f"{SEED} {request.node.name}")


@pytest.fixture(autouse=True)
def able() -> None:
    """Skip where processes cannot be traced and killed, or owners cannot be given."""
    if os.geteuid() != 0 or shutil.which("strace") is None:
        pytest.skip(_LACKING)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process of pytest-xdist gives its tally to the one that started it."""
    given = getattr(session.config, "workeroutput", None)
    if given is not None:
        given["tally"] = dict(_TALLY.counted)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    """And that one adds it to its own."""
    _TALLY.counted.update(getattr(node, "workeroutput", {}).get("tally", {}))


def pytest_terminal_summary(terminalreporter) -> None:
    """What was tried, and how to have the same again."""
    terminalreporter.write_line(f"crash tests: {'all' if IS_WHOLE else 'a part'}, ACCELERATOR_OPS_SEED={SEED}")
    for line in _TALLY.lines():
        terminalreporter.write_line(f"  {line}")
