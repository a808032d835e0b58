# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks prepare and rollback on a tree: done as foreseen, not done twice, given back, or not done at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from ansible.plugins.filter import core, mathstuff
from ansible.plugins.test import core as core_tests

from ansible_collections.accelerator.ops.plugins.module_utils.usecase import cdi_files
from ansible_collections.accelerator.ops.tests.prepare.conftest import HERE, STATE, Ran, Tree

PREPARE, ROLLBACK = "accelerator.ops.prepare", "accelerator.ops.rollback"
OPTIONS = "/etc/modprobe.d/accelerator-ops-options.conf"
BLACKLIST = "/etc/modprobe.d/accelerator-ops-blacklist.conf"
RULES = "/etc/udev/rules.d/70-accelerator-ops.rules"
WISH: dict[str, Any] = {
    "accelerator_makers": "amd, intel",
    "accelerator_kernel": {"blacklist": ["nouveau"], "sysctl": {"vm.swappiness": 1}},
    "accelerator_modules_load": "amdgpu",
}
SHOWN = ("task", "status", "changed", "plan", "diff", "deferred", "restart", "reboot_required", "reboot_reasons")


def shown(ran: Ran) -> list[dict[str, Any]]:
    return [{key: row.get(key) for key in SHOWN} for row in ran.tasks if "survey_report" not in row["action"]]


def test_what_is_foreseen_is_done_and_given_back(tree: Tree) -> None:
    before = tree.listing(but="")
    foreseen = tree.play(PREPARE, "--check", "--diff", **WISH)
    assert foreseen.status == 0, foreseen.output
    assert tree.listing(but="") == before  # not even a folder for the state
    assert len(foreseen.of("node_config")["plan"]) > 3

    done = tree.play(PREPARE, "--diff", **WISH)
    assert done.status == 0, done.output
    assert shown(done) == shown(foreseen)
    assert done.modules() == ["accelerator_facts", "node_config", "generation"]
    assert "amd" not in (tree.read(BLACKLIST) or "") and "nouveau" in (tree.read(BLACKLIST) or "")
    assert "0x1002" in (tree.read(RULES) or "") and "0x8086" in (tree.read(RULES) or "")
    after = tree.listing()

    again = tree.play(PREPARE, "--diff", **WISH)
    assert again.status == 0, again.output
    assert again.modules() == ["accelerator_facts", "node_config", "generation"]
    assert [row["task"] for row in again.tasks if row.get("changed")] == []
    assert len(tree.generations()) == 1
    assert not (tree.root / f"{STATE[1:]}/lock").exists()  # an image: sealed

    foreseen = tree.play(ROLLBACK, "--check", "--diff")
    back = tree.play(ROLLBACK, "--diff")
    assert back.status == 0, back.output
    assert tree.listing() == {key: row for key, row in before.items() if not key.startswith(STATE)}
    only_real = "See that all is as it was"
    assert [row for row in shown(back) if only_real not in row["task"]] == [
        row for row in shown(foreseen) if only_real not in row["task"]
    ]
    returned = tree.play(ROLLBACK)
    assert returned.status == 0, returned.output
    assert tree.listing() == after
    assert len(tree.generations()) == 3


ENGINES = {
    "/usr/lib/systemd/system/containerd.service": "[Service]\nExecStart=/usr/bin/containerd\nKillMode=process\n",
    "/usr/bin/containerd": "",
    "/etc/containerd/config.toml": "# mine\nversion = 2 # two\n[plugins]\n",
    "/usr/bin/podman": "",
    "/usr/bin/dockerd": "",
    "/etc/docker/daemon.json": '{\n  "debug": true\n}\n',
    "/usr/bin/python3.11": "",
}
PARTS = {
    "kernel": (BLACKLIST, OPTIONS),
    "permissions": (RULES,),
    "engines": (
        "/etc/containerd/config.toml",
        "/etc/containerd/conf.d/90-accelerator-ops.toml",
        "/etc/containers/containers.conf.d/accelerator-ops.conf",
        "/etc/docker/daemon.json",
    ),
    "cdi": (cdi_files.PROGRAM, cdi_files.SERVICE, cdi_files.PATH, *cdi_files.LINKS),
}


def test_all_parts_are_given_back_and_come_again(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "amd-mi300x-8gpu")
    for path, text in ENGINES.items():
        tree.write(path, text)
    (tree.root / "usr/bin/python3").symlink_to("python3.11")
    before = tree.listing()
    wish = {"accelerator_kernel": {"blacklist": ["nouveau"], "module_options": {"amdgpu": {"gttsize": 4096}}}}
    done = tree.play(PREPARE, **wish, accelerator_engines={"runtimes": {"ops": {"binary": "/usr/bin/ops"}}})
    assert done.status == 0, done.output
    steps = {row["subject"] for row in done.of("node_config")["plan"]}
    for name, paths in PARTS.items():
        assert set(paths) <= steps, name
    assert [one for one in done.of("node_config")["deferred"] if one.startswith("CDI specs: ")]
    after = tree.listing()
    assert {path for path in after if before.get(path) != after[path]} >= {
        one for part in PARTS.values() for one in part
    }

    back = tree.play(ROLLBACK, accelerator_generation=0)
    assert back.status == 0, back.output
    assert tree.listing() == before
    forward = tree.play(ROLLBACK, accelerator_generation=1)
    assert forward.status == 0, forward.output
    assert tree.listing() == after


def test_a_task_that_names_no_root_has_that_of_its_host(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "amd-mi300x-8gpu")
    done = tree.play(str(HERE / "plays" / "no_root.yml"))
    assert "nouveau" in (tree.read(BLACKLIST) or ""), done.output
    assert done.of("placement_info")["status"] == "ok", "this machine has no eight devices"
    here, named = (row for row in done.tasks if row["action"] == "accelerator.ops.generation_info")
    assert here["status"] == "ok" and "/nowhere" in named["msg"]


def test_engines_are_asked_before_the_commit(tree: Tree) -> None:
    verify = str(HERE / "plays" / "verify.yml")
    refused = tree.play(verify, accelerator_engines={"engines": ["docker"]})
    assert refused.status != 0
    assert "no docker here" in refused.of("container_engine")["msg"]
    assert refused.modules() == ["container_engine"]
    done = tree.play(verify, accelerator_engines={})
    assert done.status == 0, done.output
    assert done.modules() == ["container_engine", "generation"]


@pytest.mark.parametrize(
    ("verdict", "check", "service", "is_failed"),
    [
        ("fail", "running", "docker.service", True),
        ("fail", "running", "containerd.service", False),
        ("unknown", "running", "docker.service", False),
        ("fail", "drift", "docker.service", False),
    ],
)
def test_only_what_an_engine_that_was_started_anew_does_otherwise_fails(
    verdict: str, check: str, service: str, is_failed: bool
) -> None:
    environment = jinja2.Environment(autoescape=False)
    environment.filters.update(core.FilterModule().filters() | mathstuff.FilterModule().filters())
    environment.tests.update(core_tests.TestModule().tests())
    asked = yaml.safe_load((HERE.parents[1] / "roles/prepare/tasks/verify.yml").read_text())[0]
    found = {"check": check, "verdict": verdict, "evidence": [service]}
    known = {"__prepare_engines": {"findings": [found]}, "__prepare_restarted": ["docker.service"]}
    assert environment.compile_expression(asked["failed_when"])(**known) is is_failed


def test_nothing_to_go_back_to_is_no_fault(tree: Tree) -> None:
    before = tree.listing(but="")
    ran = tree.play(ROLLBACK)
    assert ran.status == 0, ran.output
    assert tree.listing(but="") == before


@pytest.mark.parametrize("mode", [(), ("--check", "--diff")])
def test_all_that_is_in_the_way_is_one_list_and_nothing_is_changed(tree: Tree, mode: tuple[str, ...]) -> None:
    tree.write(BLACKLIST, "# mine\n")
    tree.write(OPTIONS, "# mine too\n")
    before = tree.listing(but="")
    wish = {
        "accelerator_makers": "amd,nobody",  # no such maker
        "accelerator_kernel": {"blacklist": ["nouveau"], "module_options": {"amdgpu": {"x": 1}}},
    }
    ran = tree.play(PREPARE, *mode, **wish)
    assert ran.status != 0
    assert tree.listing(but="") == before
    failed = ran.of("node_config")
    assert ran.modules() == ["accelerator_facts", "node_config"]
    assert failed["msg"].startswith("cannot change this node: 4 things stand in the way, expected none; mend all")
    blockers = failed["error"]["details"]["blockers"]
    assert [(one["code"], one["subject"]) for one in blockers] == [
        ("input", "device permissions"),
        ("input", "CDI specs"),
        ("conflict", OPTIONS),
        ("conflict", BLACKLIST),
    ]
    assert set(failed["error"]["details"]["conflicts"]) == {OPTIONS, BLACKLIST}
    page = (tree.report / "survey.html").read_text()
    assert "# mine" not in page and "nobody" in page and OPTIONS in page
    left = json.loads((tree.report / "changes" / "tree.json").read_text())["changes"]
    assert [row["is_done"] for row in left] == [False]


def test_a_file_of_a_human_is_kept_or_taken_over_as_told(tree: Tree) -> None:
    wish = {
        "accelerator_device_permissions": False,
        "accelerator_kernel": {"blacklist": ["nouveau"], "sysctl": {"a.b": 1}},
    }
    tree.write(BLACKLIST, "# mine\n")
    before = tree.listing()
    kept = tree.play(PREPARE, **wish, accelerator_on_conflict="keep", accelerator_seal=False)
    assert kept.status == 0, kept.output
    assert tree.read(BLACKLIST) == "# mine\n"
    taken = tree.play(PREPARE, **wish, accelerator_on_conflict="overwrite", accelerator_seal=False)
    assert taken.status == 0, taken.output
    assert "nouveau" in (tree.read(BLACKLIST) or "")
    back = tree.play(ROLLBACK, accelerator_generation=0)
    assert back.status == 0, back.output
    assert tree.listing() == before


def test_scalars_of_a_survey_are_enough(tree: Tree) -> None:
    wish = {
        "accelerator_makers": "amd",
        "accelerator_group": "video",
        "accelerator_mode": "0640",
        "accelerator_blacklist_rivals": "never",
        "accelerator_modules_load": "amdgpu, vfio-pci",
        "accelerator_seal": "false",
        "accelerator_device_permissions": "true",
        "accelerator_hugepages_2m": "",
    }
    ran = tree.play(PREPARE, **wish)
    assert ran.status == 0, ran.output
    assert 'GROUP:="video", MODE:="0640"' in (tree.read(RULES) or "")
    load = (tree.read("/etc/modules-load.d/accelerator-ops.conf") or "").splitlines()
    assert [line for line in load if not line.startswith("#")] == ["amdgpu", "vfio_pci"]
    assert os.path.exists(f"{tree.root}{STATE}/lock")


def test_a_wrong_variable_is_said_before_anything_is_looked_at(tree: Tree) -> None:
    ran = tree.play(PREPARE, accelerator_restart="sometimes")
    assert ran.status != 0
    assert ran.modules() == []
    assert "sometimes" in ran.output
