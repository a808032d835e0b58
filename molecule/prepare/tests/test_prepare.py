# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A container and the tree of an image: prepared as foreseen, brought back, and brought back from there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

PLACE = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"])
HOSTS = ("ops-prepare", "ops-image")
SHOWN = ("task", "status", "changed", "plan", "diff", "deferred", "restart", "reboot_required", "reboot_reasons")
OURS = ("node_config", "generation", "accelerator_facts", "systemd_service")


def listing(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PLACE / "listings" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def runs(name: str, mode: str) -> list[list[dict[str, Any]]]:
    """What the tasks of each run of a playbook returned, oldest run first."""
    files = sorted((PLACE / "runs").glob(f"*-{name}-{mode}.jsonl"))
    return [[json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] for file in files]


def shown(rows: list[dict[str, Any]], host: str) -> list[dict[str, Any]]:
    kept = [row for row in rows if row["host"] == host and row["action"].rpartition(".")[2] in OURS]
    return [{key: row.get(key) for key in SHOWN} for row in kept]


@pytest.mark.parametrize("host", HOSTS)
def test_check_mode_foresees_every_task(host: str) -> None:
    foreseen, done = runs("converge", "check")[-1], runs("converge", "real")[-2]
    assert shown(foreseen, host) == shown(done, host)
    (change,) = [row for row in done if row["host"] == host and row["action"].endswith(".node_config")]
    assert len(change["plan"]) >= 6
    assert len(change["diff"]) == len(change["plan"])


def test_every_kind_of_step_occurs() -> None:
    (change,) = [row for row in runs("converge", "real")[-2] if "plan" in row and row["host"] == "ops-prepare"][:1]
    assert {row["kind"] for row in change["plan"]} >= {"path", "setting", "command"}
    assert [row["service"] for row in change["restart"]] == ["kubelet.service"]


def test_every_part_occurs() -> None:
    (change,) = [row for row in runs("converge", "real")[-2] if "plan" in row and row["host"] == "ops-prepare"][:1]
    subjects = {row["subject"] for row in change["plan"]}
    assert {"/etc/docker/daemon.json", "/usr/local/lib/accelerator-ops/cdi.pyz"} <= subjects
    assert any(path.startswith("/etc/modprobe.d/") for path in subjects)
    assert any(path.startswith("/etc/udev/rules.d/") for path in subjects)


def test_nothing_is_done_twice() -> None:
    again = runs("converge", "real")[-1]
    assert [row["task"] for row in again if row.get("changed")] == []
    names = [row["action"] for row in again if row["host"] == "ops-prepare" and row["status"] != "skipped"]
    ours = [name.rpartition(".")[2] for name in names if name.startswith("accelerator.ops.")]
    assert ours[:3] == ["accelerator_facts", "node_config", "generation"]
    assert ours[3:] in ([], ["survey_report"])


def test_the_image_defers_what_needs_a_kernel() -> None:
    rows = [row for row in runs("converge", "real")[-2] if row["host"] == "ops-image"]
    (change,) = [row for row in rows if row["action"].endswith(".node_config")]
    assert {row["kind"] for row in change["plan"]} == {"path"}
    assert any("group accel" in one for one in change["deferred"])
    assert not any("image" in path and path.endswith("accelerator-ops/lock") for path in listing("prepared")["paths"])


def test_a_change_that_needs_it_restarts_the_kubelet() -> None:
    before, prepared, back, returned = (listing(name)["kubelet"] for name in ("before", "prepared", "back", "returned"))
    assert len({before, prepared, back, returned}) == 4


def test_rollback_gives_the_tree_as_before() -> None:
    before, prepared, back = (listing(name)["paths"] for name in ("before", "prepared", "back"))
    assert prepared != before
    assert {path: (before.get(path), back.get(path)) for path in before.keys() ^ back.keys()} == {}
    assert {path: (before[path], back[path]) for path in before if before[path] != back[path]} == {}


def test_a_second_rollback_returns() -> None:
    prepared, returned = (listing(name)["paths"] for name in ("prepared", "returned"))
    assert {path for path in prepared.keys() | returned.keys() if prepared.get(path) != returned.get(path)} == set()
