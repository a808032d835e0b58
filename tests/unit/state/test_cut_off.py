# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cut leaves in the state folder is finished by the next call. ``tests/crash`` cuts at every place."""

from __future__ import annotations

import os
import shutil
import struct

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils import runner
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import ConflictError
from ansible_collections.accelerator.ops.plugins.module_utils.state import apply
from ansible_collections.accelerator.ops.plugins.module_utils.state.store import Store
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import generation_info

A, B = "/etc/a.conf", "/etc/b.conf"
STATE = "var/lib/accelerator-ops"


def numbers(node):
    told = generation_info.observe(runner.Host(str(node.root)), None)
    return [one["generation"] for one in told["generations"]]


def test_sealing_that_was_cut_off_is_seen_as_done_and_finished(node):
    zero = node.listing()
    node.files({A: "1"})
    node.files({A: None, B: "b"})
    node.files({A: "3"})
    three = node.listing()
    kept = node.root.parent / "kept"
    shutil.copytree(node.root / STATE, kept, symlinks=True)
    node.generation(runner.sealed)
    sealed = (node.root / STATE / "generations/1/manifest.json").read_bytes()
    shutil.rmtree(node.root / STATE)
    shutil.copytree(kept, node.root / STATE, symlinks=True)
    (node.root / STATE / "generations/sealed").mkdir()
    (node.root / STATE / "generations/sealed/manifest.json").write_bytes(sealed)
    assert numbers(node) == [1]
    node.generation(runner.recovered)
    assert sorted(path.name for path in (node.root / STATE / "generations").iterdir()) == ["1"]
    assert (numbers(node), node.listing()) == ([1], three)
    node.generation(runner.rolled_back, to=0)
    assert node.listing() == zero


def test_forgetting_that_was_cut_off_is_finished(node):
    for text in "123":
        node.files({A: text})
    generations = node.root / STATE / "generations"
    (generations / "1").rename(generations / "gone-1")
    (generations / "gone-1/manifest.json").unlink()
    assert numbers(node) == [2, 3]
    node.generation(runner.recovered)
    assert sorted(path.name for path in generations.iterdir()) == ["2", "3"]


def test_half_written_pieces_of_the_state_go(node):
    node.files({A: "1"})
    left = [node.root / STATE / name for name in (".due.json.tmp", ".current.tmp", "objects/.0123.tmp")]
    for path in left:
        path.write_text("half")
    node.generation(runner.recovered)
    assert not [path for path in left if path.exists()]


def test_staged_versions_go_by_their_name(node):
    (node.root / "etc/sub").mkdir()
    host = runner.Host(str(node.root))
    mine = [f"etc/sub/{apply.staged_name('1-0', 3)}", f"etc/{apply.staged_name('1-0-back', 7)}"]
    theirs = [f"etc/{apply.staged_name('1-01', 0)}", "etc/.hidden.tmp"]
    for name in mine + theirs:
        (node.root / name).write_text("x")
    steps = [runner.PathStep(path, runner.ABSENT, runner.ABSENT, b"", b"", "") for path in (A, "/etc/sub/x", "/no/x")]
    apply.sweep(host, steps, "1-0")
    assert [name for name in mine + theirs if (node.root / name).exists()] == theirs


def test_a_path_that_changes_just_before_its_turn_stays_and_the_others_go_back(node, monkeypatch):
    node.files({A: "1", B: "1"})
    keep = Store.keep

    def keep_and_change(self, contents):
        keep(self, contents)
        (node.root / B[1:]).write_text("of a human")

    monkeypatch.setattr(Store, "keep", keep_and_change)
    with pytest.raises(ConflictError, match=r"b\.conf") as error:
        node.files({A: "2", B: "2"})
    assert error.value.details["left"] == "as before"
    assert (node.root / A[1:]).read_text() == "1"
    assert (node.root / B[1:]).read_text() == "of a human"
    assert os.listdir(node.root / STATE / "journal") == []


def test_a_journal_that_was_only_begun_is_nobodys(node):
    node.files({A: "1"}, commit="later")
    journal = next((node.root / STATE / "journal").iterdir())
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
    (node.root / A[1:]).unlink()
    foreseen = node.files({B: "b"}, is_check=True, run="another")
    assert node.files({B: "b"}, run="another").results["plan"] == foreseen.results["plan"]


def test_a_content_that_was_changed_is_kept_anew_when_it_is_needed(node):
    node.files({A: "1"})
    for one in (node.root / STATE / "objects").iterdir():
        one.write_text("rubbish")
    node.files({A: "2"})
    node.generation(runner.rolled_back, to=1)
    assert (node.root / A[1:]).read_text() == "1"


def cut_off_rollback(node, monkeypatch):
    """End a rollback where it would become a generation."""

    def cut(*_given):
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "commit", cut)
    with pytest.raises(KeyboardInterrupt):
        node.generation(runner.rolled_back, to=0)
    monkeypatch.undo()


def test_what_a_human_took_back_himself_is_settled_by_a_rollback_that_was_cut_off_too(node, monkeypatch):
    node.files({A: "1", B: "1"})
    (node.root / B[1:]).unlink()
    cut_off_rollback(node, monkeypatch)
    assert node.generation(runner.recovered).results["generation"] == 2
    assert not (node.root / A[1:]).exists()
    assert node.files({A: "2", B: "2"}).changed


@pytest.mark.parametrize("by_hand", [(B,), (A, B)])
def test_what_a_human_took_back_himself_is_not_put_back_with_what_a_rollback_did(node, monkeypatch, by_hand):
    node.files({A: "1", B: "1"})
    for path in by_hand:
        (node.root / path[1:]).unlink()
    before = node.listing()
    cut_off_rollback(node, monkeypatch)
    engine = runner.engine_of(node.call("generation"))
    with engine.begun():
        engine.join()
        engine.take_back("refuse")
    assert node.listing() == before


def test_what_is_put_back_takes_no_access_list_from_its_folder(node):
    path, folder = node.root / A[1:], node.root / "etc"
    path.write_text("of a human")
    before = node.listing()[A]
    # version 2; the owner may read and write, the group and user 12 read, all others nothing (acl(5))
    entries = ((1, 6, -1), (2, 4, 12), (4, 4, -1), (16, 4, -1), (32, 0, -1))
    value = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(folder, "system.posix_acl_default", value)
    except OSError:
        pytest.skip("this file system has no access lists")
    node.files({A: "ours"}, on_conflict="overwrite")
    node.generation(runner.rolled_back, to=0)
    assert node.listing()[A] == before
