# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner of the checks: what it counts, what it chooses, and that it can fail."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "run"))

import checks
import interpreters
import surroundings
import this_machine


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        (0, "....\n4 passed in 0.10s\n", (4, 0, 0)),
        (0, "3 passed, 1 skipped in 0.10s\n", (3, 0, 1)),
        (1, "2 failed, 3 passed in 61.20s (0:01:01)\n", (3, 2, 0)),
        (1, "1 failed, 2 passed, 3 skipped, 1 warning, 4 errors in 0.10s\n", (2, 5, 3)),
        (5, "no tests ran in 0.01s\n", (0, 1, 0)),
        (2, "!!! Interrupted: 3 errors during collection !!!\n3 errors in 0.62s\n", (0, 3, 0)),
        (-9, "", (0, 1, 0)),
    ],
)
def test_the_closing_line_of_pytest_is_read(status: int, text: str, expected: tuple[int, int, int]) -> None:
    assert checks.pytest_outcome(status, text)[:3] == expected


def test_a_failed_layer_fails_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    good, bad, absent = checks.Outcome(1, 0), checks.Outcome(1, 1), checks.Outcome(0, 0, not_run="no podman")
    assert checks.report({"a": (good, 1.0), "b": (absent, 0.0)}) == 0
    assert checks.report({"a": (good, 1.0), "b": (bad, 1.0)}) == 1
    assert checks.report({"a": (absent, 0.0)}) == 1
    assert "layers: 1 passed, 0 failed, 1 skipped" in capsys.readouterr().out


def test_a_layer_that_cannot_be_set_up_fails(capsys: pytest.CaptureFixture[str]) -> None:
    def layer(_house: object) -> checks.Outcome:
        raise surroundings.SetupError("cannot install x: no network")

    outcome, _seconds = checks.timed("x", layer, None)  # type: ignore[arg-type]
    assert outcome.failed == 1
    assert "cannot install x: no network" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("versions", "cores"),
    [
        ([(3, 11)], ["2.16", "2.17", "2.18", "2.19"]),
        ([(3, 13)], ["2.18", "2.19", "2.20", "2.21"]),
        ([(3, 9)], []),
        ([(3, 9), (3, 10), (3, 14)], ["2.16", "2.17", "2.20", "2.21"]),
    ],
)
def test_the_cores_follow_from_the_pythons(versions: list[tuple[int, int]], cores: list[str]) -> None:
    found = {version: interpreters.Interpreter(version, "/usr/bin/python3") for version in versions}
    assert interpreters.runnable_cores(found) == cores


def test_every_core_is_pinned() -> None:
    for core in interpreters.CORES:
        text = (surroundings.REQUIREMENTS / f"core-{core}.txt").read_text(encoding="ascii")
        assert text.startswith(f"ansible-core=={core}.")
        assert core in checks.COMMUNITY_PACKAGES


def test_requirements_are_pinned_versions_only() -> None:
    for file in surroundings.REQUIREMENTS.glob("*.txt"):
        for line in file.read_text(encoding="ascii").split():
            name, _equal, version = line.partition("==")
            assert name and version.replace(".", "").isdigit(), f"{file.name}: {line}"


def test_no_interpreter_is_a_shim() -> None:
    assert [python.path for python in interpreters.find().values() if "/shims/" in python.path] == []


def test_folders_that_may_not_be_entered_are_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    inside = tmp_path / "versions" / "3.11.0" / "bin"
    inside.mkdir(parents=True)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert inside in interpreters._folders()
    monkeypatch.setenv("PYENV_ROOT", str(inside / "python3.11" / "not-a-folder"))
    assert interpreters.find() != {}


def test_named_data_must_be_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ACCELERATOR_OPS_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(surroundings.SetupError, match="is no folder"):
        surroundings.data_folder()
    monkeypatch.setenv("ACCELERATOR_OPS_DATA", str(tmp_path))
    assert surroundings.data_folder() == tmp_path.resolve()


def test_shims_and_foreign_settings_do_not_reach_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/opt/pyenv/shims:/usr/bin")
    monkeypatch.setenv("ANSIBLE_STRATEGY", "free")
    monkeypatch.setenv("PYTHONPATH", "/opt/lib")
    env = surroundings.environment()
    assert "/opt/pyenv/shims" not in env["PATH"].split(":")
    assert "ANSIBLE_STRATEGY" not in env
    assert "PYTHONPATH" not in env


def test_a_survey_without_a_page_is_a_flaw(tmp_path: Path) -> None:
    assert this_machine.flaws(tmp_path, ["self"]) == ["there is no page"]


def test_a_null_without_a_reason_is_a_flaw(tmp_path: Path) -> None:
    facts = {section: [] for section in (*this_machine.SECTIONS, *this_machine.LATER, "bridges")}
    facts.update(schema=1, unknown={}, kernel={"release": os.uname().release})
    (tmp_path / "facts").mkdir()
    (tmp_path / "survey.html").write_text("", encoding="utf-8")
    place = tmp_path / "facts" / "self.json"
    place.write_text(json.dumps({"facts": facts}), encoding="utf-8")
    assert this_machine.flaws(tmp_path, ["self"]) == []
    place.write_text(json.dumps({"facts": {**facts, "nics": None}}), encoding="utf-8")
    assert this_machine.flaws(tmp_path, ["self"]) == ["self: nics is null without a reason"]
    place.write_text(json.dumps({"error": {"code": "probe"}}), encoding="utf-8")
    assert this_machine.flaws(tmp_path, ["self"]) != []


def test_layers_beside_each_other_keep_their_order_and_their_lines_apart(capsys: pytest.CaptureFixture[str]) -> None:
    def layer(word: str):
        def says(_house: object) -> checks.Outcome:
            status, text = checks.run(["echo", word], dict(os.environ))
            assert (status, text) == (0, f"{word}\n")
            return checks.Outcome(len(word), 0)

        return says

    words = ("a", "bb", "ccc")
    outcomes = checks.in_lanes({word: layer(word) for word in words}, None)  # type: ignore[arg-type]
    assert [outcome.passed for outcome, _seconds in outcomes] == [1, 2, 3]
    lines = capsys.readouterr().out.splitlines()
    assert {"a | a", "bb | bb", "ccc | ccc"} <= set(lines) or os.cpu_count() == 1
