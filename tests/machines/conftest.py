# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the captured machines are, and the book of what was compared with them.

The captured files are read in place: ``ACCELERATOR_OPS_DATA`` names their folder, else ``../shared/data`` beside the
checkout. Where the folder is not there, the tests are skipped and the last lines of the run say what was not
compared; where the variable names a folder that is not there, they fail.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Callable

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host import tree
from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models
from ansible_collections.accelerator.ops.tests.machines.unpack import sources, unpack_one

CHECKOUT = Path(__file__).resolve().parents[2]
_KEY = "truth"
_FIRST = ("NCCL/RCCL pairs", "PCI functions from sysfs", "PCI functions from hwloc files", "KFD nodes", "KFD links")


def _data() -> Path:
    named = os.environ.get("ACCELERATOR_OPS_DATA")
    return Path(named) if named else CHECKOUT.parent / "shared" / "data"


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with the captured machines."""
    folder = _data()
    if not (folder / "README.md").is_file():
        if "ACCELERATOR_OPS_DATA" in os.environ:
            pytest.fail(f"ACCELERATOR_OPS_DATA names {folder}, and there are no captured machines")
        pytest.skip("the captured machines are not here (set ACCELERATOR_OPS_DATA)")
    return folder


@pytest.fixture(scope="session")
def trees(data: Path) -> Iterator[Callable[[str], Path]]:
    """The root of a capture's tree by its name, laid out when it is first asked for, and kept."""
    below = CHECKOUT / ".cache" / "machines"
    below.mkdir(parents=True, exist_ok=True)
    known = sources(data)

    def laid_out(name: str) -> Path:
        with (below / ".lock").open("w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return unpack_one(known[name], below / name, known[name].relative_to(data).as_posix())

    yield laid_out


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every machine model that ships with the collection, laid out: the root of each tree by the model's name."""
    folder = tmp_path_factory.mktemp("models")
    for name in machine_models.shipped():
        tree.write(str(folder / name), layout.entries(machine_models.load(machine_models.find(name))))
    return {name: folder / name for name in machine_models.shipped()}


class Comparison:
    """Values that were held against a truth. ``what`` stands in the last line of the run with their number."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.compared = 0
        self.disagreements: list[str] = []

    def same(self, where: str, ours: object, truth: object) -> None:
        """One more value."""
        self.compared += 1
        if ours != truth:
            self.disagreements.append(f"{where}: ours {ours!r}, truth {truth!r}")

    def one_of(self, where: str, ours: object, truths: tuple[object, ...]) -> None:
        """One more value, where the truth leaves more than one open."""
        self.compared += 1
        if ours not in truths:
            self.disagreements.append(f"{where}: ours {ours!r}, truth one of {truths!r}")

    def judge(self, floor: int) -> None:
        """All agree, and no fewer than ``floor`` were compared."""
        shown = "\n".join(self.disagreements[:40])
        assert not self.disagreements, f"{len(self.disagreements)} of {self.compared} {self.what} disagree:\n{shown}"
        assert self.compared >= floor, f"only {self.compared} {self.what} were compared, the floor is {floor}"


Compare = Callable[[str, int], AbstractContextManager[Comparison]]
CompareAll = Callable[..., AbstractContextManager[tuple[Comparison, ...]]]


@pytest.fixture
def comparisons(record_property: Callable[[str, object], None]) -> CompareAll:
    """``with comparisons((what, floor), …) as (one, …):`` holds values against a truth and judges them at the end."""

    @contextmanager
    def start(*wanted: tuple[str, int]) -> Iterator[tuple[Comparison, ...]]:
        opened = tuple(Comparison(what) for what, _floor in wanted)
        yield opened
        for one in opened:
            record_property(_KEY, (one.what, one.compared))
        for one, (_what, floor) in zip(opened, wanted):
            one.judge(floor)

    return start


@pytest.fixture
def comparison(comparisons: CompareAll) -> Compare:
    """``with comparison(what, floor) as one:``, for a single one."""

    @contextmanager
    def start(what: str, floor: int) -> Iterator[Comparison]:
        with comparisons((what, floor)) as (one,):
            yield one

    return start


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The line that says what was compared, and what was not."""
    counted: Counter[str] = Counter()
    missed = []
    for outcome, reports in terminalreporter.stats.items():
        for report in reports:
            if "tests/machines/" not in getattr(report, "nodeid", ""):
                continue
            when = getattr(report, "when", None)  # deselected tests have none
            if outcome == "skipped" and when in ("setup", "call"):
                reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
                missed.append(f"not compared: {report.nodeid.split('/')[-1]}: {reason.removeprefix('Skipped: ')}")
            if when == "call":
                for key, value in report.user_properties:
                    if key == _KEY:
                        counted[value[0]] += value[1]
    for line in missed:
        terminalreporter.write_line(line)
    if counted:
        order = sorted(counted, key=lambda what: (_FIRST.index(what) if what in _FIRST else len(_FIRST), what))
        terminalreporter.write_line("truth: " + ", ".join(f"{counted[what]} {what}" for what in order))
