# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Container engines through the one path of all changes: check mode, a second run, a human's hand, and back again."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils import runner
from ansible_collections.accelerator.ops.plugins.module_utils.model.call import Call
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import (
    ConflictError,
    ProbeError,
    RecoveryError,
)
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import container_engine as usecase
from ansible_collections.accelerator.ops.tests.listing import entries
from ansible_collections.accelerator.ops.tests.unit.state.conftest import Node

WISH = {name: spec.get("default") for name, spec in usecase.OPTIONS.items()}
DROP_IN = "/etc/containerd/conf.d/90-accelerator-ops.toml"
PODMAN = "etc/containers/containers.conf.d/accelerator-ops.conf"
FILES = {
    "usr/lib/systemd/system/containerd.service": "[Service]\nExecStart=/usr/bin/containerd\nKillMode=process\n",
    "usr/bin/containerd": "",
    "usr/bin/podman": "",
    "usr/bin/dockerd": "",
    "etc/containerd/config.toml": "# mine\nversion = 2 # two\n[plugins]\n",
    "etc/docker/daemon.json": '{\n  "debug": true\n}\n',
}


def laid(root):
    for path, text in FILES.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    (root / "var/lib").mkdir(parents=True, exist_ok=True)
    return root


@pytest.fixture
def node(tmp_path):
    return Node(laid(tmp_path / "node"))


def run(node, is_check=False, **wish):
    call = node.call("container_engine", is_check, **{**WISH, "runtimes": {"ops": {"binary": "/usr/bin/ops"}}, **wish})
    return runner.change(call, usecase.observe, usecase.decide)


def test_there_and_back(node):
    before = node.listing()
    foreseen = run(node, is_check=True)
    assert node.listing() == before
    done = run(node)
    assert done.results["plan"] == foreseen.results["plan"]
    subjects = [row["subject"] for row in done.results["plan"] if row["kind"] == "path"]
    assert DROP_IN in subjects and "/etc/containerd/config.toml" in subjects and "/etc/docker/daemon.json" in subjects
    assert run(node).changed is False
    node.generation(runner.rolled_back, to=0)
    assert node.listing() == before


def test_a_humans_change_of_our_file_is_kept(node):
    run(node)
    place = node.root / DROP_IN.lstrip("/")
    place.write_text(place.read_text(encoding="utf-8") + "oom_score = -1\n", encoding="utf-8")
    with pytest.raises(ConflictError, match=r"90-accelerator-ops\.toml"):
        run(node)
    assert "oom_score" in place.read_text(encoding="utf-8")


def test_a_humans_change_of_the_root_file_is_followed(node):
    run(node)
    root_file = node.root / "etc/containerd/config.toml"
    added = '[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "a"\n'
    root_file.write_text(root_file.read_text(encoding="utf-8") + added, encoding="utf-8")
    again = run(node)
    assert [row["subject"] for row in again.results["plan"]] == [DROP_IN]
    assert 'sandbox_image = "a"' in (node.root / DROP_IN.lstrip("/")).read_text(encoding="utf-8")


def findings(node):
    wish = {**WISH, "root": str(node.root), "state": "checked"}
    return usecase.look(Call("container_engine", wish, False, False)).results["findings"]


def test_what_comes_over_our_files_later_is_a_finding(node):
    assert findings(node) == []
    run(node)
    assert findings(node) == []
    root_file = node.root / "etc/containerd/config.toml"
    text = root_file.read_text(encoding="utf-8")
    root_file.write_text(text + '[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "a"\n', encoding="utf-8")
    (row,) = findings(node)
    assert (row["check"], row["verdict"], row["subject"]) == ("drift", "warn", DROP_IN)
    assert "the files that it builds on have changed" in row["reason"]
    run(node)
    assert findings(node) == []

    other = '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.ops]\nruntime_type = "io.containerd.other.v1"\n'
    (node.root / "etc/containerd/conf.d").joinpath("99-accelerator-ops.toml").write_text(f"version = 2\n{other}")
    (row,) = findings(node)
    assert (row["verdict"], row["subject"]) == ("fail", "containerd")
    assert "2 files with the same tables" in row["reason"]
    (node.root / "etc/containerd/conf.d/99-accelerator-ops.toml").unlink()

    (node.root / PODMAN).write_text((node.root / PODMAN).read_text().replace("/usr/bin/ops", "/usr/bin/other", 1))
    before = dict(entries(node.root))
    assert [row["subject"] for row in findings(node)] == [f"/{PODMAN}"]
    assert dict(entries(node.root)) == before


@pytest.mark.parametrize("path", [DROP_IN, f"/{PODMAN}"])
def test_what_others_did_to_our_file_is_named(node, path):
    run(node)
    place = node.root / path.lstrip("/")
    text = place.read_text(encoding="utf-8")

    def found():
        return [(row["verdict"], row["reason"]) for row in findings(node) if row["subject"] == path]

    place.write_text(text + "# by hand\n", encoding="utf-8")
    ((verdict, reason),) = found()
    assert (verdict, "somebody has changed it since it was made" in reason) == ("warn", True)
    place.write_text("version = 2\n", encoding="utf-8")
    ((verdict, reason),) = found()
    assert (verdict, "something of others has the name of our file" in reason) == ("fail", True)
    place.unlink()
    assert found() == [("fail", "it was made, and somebody has removed it since")]
    run(node, on_conflict="overwrite")
    assert found() == []
    node.generation(runner.rolled_back, to=0)
    assert found() == [], "it is not asked for any more"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("version = 2\n", encoding="utf-8")
    assert [verdict for verdict, _reason in found()] == ["fail"]


def test_without_a_record_the_import_of_our_drop_in_tells(node):
    run(node)
    shutil.rmtree(node.root / "var/lib/accelerator-ops")
    assert findings(node) == []
    (node.root / DROP_IN.lstrip("/")).unlink()
    ((subject, reason),) = [(row["subject"], row["reason"]) for row in findings(node)]
    assert (subject, reason) == (DROP_IN, "it was made, and somebody has removed it since")


def test_a_record_that_is_damaged_is_not_taken_for_none(node):
    run(node)
    (node.root / "var/lib/accelerator-ops/journal").rmdir()
    (node.root / "var/lib/accelerator-ops/journal").write_text("", encoding="utf-8")
    with pytest.raises(RecoveryError, match="journal: a file, not a dir"):
        findings(node)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else for a moment")
def test_a_record_that_only_root_can_read_is_not_taken_for_none():
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folder is closed to others
        os.chmod(folder, 0o755)
        node = Node(laid(Path(folder)))
        run(node)
        os.seteuid(65534)
        try:
            with pytest.raises(ProbeError, match="run as root"):
                findings(node)
        finally:
            os.seteuid(0)


def test_one_engine_in_the_way_stops_all(node):
    before = node.listing()
    (node.root / "etc/docker/daemon.json").write_text("{", encoding="utf-8")
    with pytest.raises(runner.InputError, match=r"daemon\.json is no JSON"):
        run(node)
    (node.root / "etc/docker/daemon.json").write_text(FILES["etc/docker/daemon.json"], encoding="utf-8")
    assert node.listing() == before


def test_no_service_runs_on_another_root(node):
    assert run(node).results["restart"] == []
