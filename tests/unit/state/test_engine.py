# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transactions on a real folder: what is changed, what is kept, what is refused, and the way back."""

from __future__ import annotations

import errno
import json
import os
import stat

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils import runner
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import (
    ApplyError,
    BusyError,
    ConflictError,
    InputError,
    RecoveryError,
    VerifyError,
)
from ansible_collections.accelerator.ops.plugins.module_utils.model.plan import (
    ABSENT,
    Derived,
    Found,
    Plan,
    diffs,
    file_step,
    rows,
)
from ansible_collections.accelerator.ops.plugins.module_utils.state import apply
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import generation_info
from ansible_collections.accelerator.ops.tests.unit.state.conftest import decide, observe

A, B, C = "/etc/modprobe.d/accelerator-ops-a.conf", "/etc/b.conf", "/etc/c/d/e.conf"
STATE = "var/lib/accelerator-ops"


def info(node, to=None):
    return generation_info.observe(runner.Host(str(node.root)), to)


def test_a_change_is_foreseen_done_and_not_done_again(node):
    before = node.listing()
    foreseen = node.files({A: "one\n", C: "two\n"}, is_check=True)
    assert node.listing() == before
    assert not (node.root / STATE).exists()
    done = node.files({A: "one\n", C: "two\n"})
    assert (done.changed, done.results["plan"], done.results["diff"]) == (
        True,
        foreseen.results["plan"],
        foreseen.results["diff"],
    )
    assert done.results["generation"] == 1
    assert (node.root / C[1:]).read_text() == "two\n"
    again = node.files({A: "one\n", C: "two\n"})
    assert (again.changed, again.results["plan"], again.results["generation"]) == (False, [], None)


def test_nothing_to_do_leaves_nothing(node):
    (node.root / B[1:]).write_text("x")
    os.chmod(node.root / B[1:], 0o644)
    before = node.listing()
    assert not node.files({B: "x", A: None}).changed
    assert node.listing() == before
    assert not (node.root / STATE).exists()


def test_rollback_and_forward_again(node):
    zero = node.listing()
    node.files({A: "one"})
    one = node.listing()
    node.files({A: "two", B: "b"})
    two = node.listing()
    node.files({A: None, B: "b", C: "c"})
    three = node.listing()
    for to, expected, number in ((0, zero, 4), (3, three, 5), (1, one, 6), (2, two, 7), (0, zero, 8)):
        foreseen = node.generation(runner.rolled_back, is_check=True, to=to)
        done = node.generation(runner.rolled_back, to=to)
        assert node.listing() == expected
        assert done.results["generation"] == number
        assert (done.results["plan"], done.results["diff"]) == (foreseen.results["plan"], foreseen.results["diff"])
        assert not node.generation(runner.rolled_back, to=to).changed
    with pytest.raises(InputError, match="from 0 to 8"):
        node.generation(runner.rolled_back, to=9)


def test_owner_mode_attributes_and_links_come_back(node):
    path = node.root / B[1:]
    path.write_text("of a human")
    os.chmod(path, 0o600)
    if os.geteuid() == 0:
        os.chown(path, 12, 34)
    os.setxattr(path, "user.note", b"\x00\xff")
    (node.root / "etc/link").symlink_to("/nowhere")
    before = node.listing()
    node.files({B: "ours", "/etc/link": "ours"}, on_conflict="overwrite")
    assert path.read_text() == "ours"
    assert os.getxattr(path, "user.note") == b"\x00\xff"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    node.generation(runner.rolled_back, to=0)
    assert node.listing() == before


def test_a_file_of_a_human_is_refused_and_then_his_again(node):
    (node.root / B[1:]).write_text("of a human")
    before = node.listing()
    for is_check in (True, False):
        with pytest.raises(ConflictError, match=r"/etc/b\.conf") as error:
            node.files({A: "a", B: "ours"}, is_check=is_check)
        assert list(error.value.details["conflicts"]) == [B]
        assert node.listing() == before
    kept = node.files({A: "a", B: "ours"}, on_conflict="keep")
    assert [row["subject"] for row in kept.results["plan"]] == ["/etc/modprobe.d", A]
    node.files({B: "ours"}, on_conflict="overwrite")
    node.generation(runner.rolled_back, to=0)
    assert node.listing() == before
    with pytest.raises(ConflictError):  # what was put back is not ours
        node.files({B: "ours"})


@pytest.mark.parametrize("by_hand", ["edit", "delete", "mode", "owner", "link", "folder"])
def test_what_a_human_did_to_our_file_is_found_shown_and_kept(node, by_hand):
    if by_hand == "owner" and os.geteuid() != 0:
        pytest.skip("needs root")
    node.files({B: "ours"})
    path = node.root / B[1:]
    if by_hand == "edit":
        path.write_text("his")
    elif by_hand == "mode":
        os.chmod(path, 0o600)
    elif by_hand == "owner":
        os.chown(path, 1, 1)
    else:
        path.unlink()
        if by_hand == "link":
            path.symlink_to("/dev/null")
        elif by_hand == "folder":
            path.mkdir()
    before = node.listing()
    with pytest.raises(ConflictError, match=r"b\.conf"):
        node.files({B: "newer"})
    assert node.listing() == before
    assert [row["subject"] for row in info(node)["changed_since"]] == [B]
    if by_hand == "delete":  # as it was before the first generation
        assert not node.generation(runner.rolled_back, to=0).changed
        assert node.listing() == before
        assert node.files({B: "newer"}).changed
        return
    assert [row["subject"] for row in info(node, 0)["rollback"]["conflicts"]] == [B]
    with pytest.raises(ConflictError, match=r"b\.conf"):
        node.generation(runner.rolled_back, to=0)
    assert node.listing() == before


@pytest.mark.parametrize("by_hand", [(A,), (A, B), (B, C), (A, B, C)])
def test_what_a_human_took_back_himself_is_settled_by_a_rollback_to_before_it(node, by_hand):
    zero = node.listing()
    node.files({A: "a"})
    node.files({B: "b", C: "c"})
    two = node.listing()
    for path in by_hand:
        (node.root / path[1:]).unlink()
    with pytest.raises(ConflictError, match="as it was left"):
        node.files({A: "newer", B: "newer", C: "newer"})
    foreseen = node.generation(runner.rolled_back, is_check=True, to=0)
    done = node.generation(runner.rolled_back, to=0)
    assert (done.changed, done.results["generation"]) == (foreseen.changed, 3)
    assert (node.listing(), info(node)["changed_since"]) == (zero, [])
    again = node.generation(runner.rolled_back, to=0)
    assert (again.changed, again.results["generation"]) == (False, None)
    node.generation(runner.pruned, keep=2)
    node.generation(runner.rolled_back, to=2)
    assert node.listing() == two
    node.files({A: "newer", B: "newer", C: "newer"})
    assert [(node.root / path[1:]).read_text() for path in (A, B, C)] == ["newer"] * 3


def test_the_plan_of_a_rollback_tells_what_becomes_of_derived_things(node):
    stale, other = Derived("specs", (("sh", "-c", "x", A),), "a spec is not there"), Derived("image", (("mk",),), "new")

    def decide_both(seen, wish):
        return decide(seen, wish)._replace(derived=(stale, other))

    runner.change(node.call("files", files={A: "a"}), observe, decide_both)
    runner.change(node.call("files", files={A: "b"}), observe, decide_both)
    engine = runner.engine_of(node.call("generation"))
    for to, specs in (
        (0, ("remove", f"{A}, its maker, goes")),
        (1, ("make again", "what it is made from is as it was then")),
    ):
        plan = engine.way_back(to, "refuse")
        told = {row["subject"]: (row["change"], row["why"]) for row in rows(plan)}
        assert told["specs"] == specs
        assert told["image"] == ("make again", "what it is made from is as it was then")
        assert "a spec is not there" not in str(diffs(plan))
        assert ("removed: " in str(diffs(plan))) == (to == 0)


def test_what_a_human_took_back_himself_stays_known_where_the_rollback_does_not_reach_it(node):
    node.files({A: "a"})
    node.files({B: "b"})
    (node.root / A[1:]).unlink()
    node.generation(runner.rolled_back, to=1)
    with pytest.raises(ConflictError, match="as it was left"):
        node.files({A: "newer"})


def test_an_error_names_the_path_that_it_is_about(node, monkeypatch):
    def refuse(handle, *_owner, **_more):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), handle)

    (node.root / B[1:]).write_text("of a human")
    monkeypatch.setattr(os, "fchmod", refuse)  # what a file of another account does
    with pytest.raises(ApplyError) as caught:
        engine = runner.engine_of(node.call("files"))
        step = file_step(B, runner.disk.found(engine.host, B), b"ours", "a test")[0]
        apply.do(engine.host, [step], "1-0", lambda sha256: b"ours", ())
    assert str(caught.value).startswith(f"cannot change {B}: Operation not permitted, expected")


def test_a_conflict_in_the_middle_generation_stops_before_anything(node):
    node.files({A: "a"})
    node.files({B: "b"})
    node.files({C: "c"})
    (node.root / B[1:]).write_text("his")
    before = node.listing()
    with pytest.raises(ConflictError, match=r"b\.conf") as error:
        node.generation(runner.rolled_back, to=0)
    versions = error.value.details["conflicts"][B]
    assert {*versions} == {"found", "before", "after"}
    assert node.listing() == before
    node.generation(runner.rolled_back, to=0, on_conflict="keep")
    assert (node.root / B[1:]).read_text() == "his"
    assert not (node.root / A[1:]).exists()
    node.generation(runner.rolled_back, to=3, on_conflict="keep")
    assert (node.root / A[1:]).read_text() == "a"
    node.generation(runner.rolled_back, to=0, on_conflict="overwrite")
    assert not (node.root / B[1:]).exists()
    node.generation(runner.rolled_back, to=5)
    assert (node.root / B[1:]).read_text() == "his"


def test_tasks_of_one_run_share_a_journal(node):
    first = node.files({A: "a"}, commit="later")
    second = node.files({B: "b"}, commit="later")
    assert first.results["journal"] == second.results["journal"]
    assert first.results["generation"] is None
    done = node.generation(runner.committed)
    assert (done.changed, done.results["generation"], done.results["journal"]) == (True, 1, None)
    assert not node.generation(runner.committed).changed
    assert len(info(node)["generations"][0]["changes"]) == 3


def test_of_what_a_run_did_and_undid_only_the_folder_is_left(node):
    node.files({A: "a"}, commit="later")
    node.files({A: None}, commit="later")
    done = node.generation(runner.committed)
    changes = info(node)["generations"]
    assert [row["subject"] for one in changes for row in one["changes"]] == ["/etc/modprobe.d"]
    assert done.results["generation"] == 1


def test_what_a_run_has_done_is_taken_back_without_a_generation(node):
    node.files({A: "earlier"})
    before = node.listing()
    node.files({A: "a", B: "b"}, commit="later")
    node.files({A: "later", B: None, C: "c"}, commit="later")
    engine = runner.engine_of(node.call("generation"))
    with engine.begun():
        engine.join()
        engine.take_back("refuse")
    assert node.listing() == before
    assert (info(node)["journal"], info(node)["current"]) == (None, 1)


@pytest.mark.parametrize("batches", [0, 1])
def test_taking_back_that_was_cut_off_is_finished(node, monkeypatch, batches):
    before = node.listing()
    node.files({A: "a"}, commit="later")
    node.files({A: "later", C: "c"}, commit="later")
    do, left = apply.do, [None] * batches

    def cut(*given):
        do(*given)
        if not left:
            raise KeyboardInterrupt
        left.pop()

    monkeypatch.setattr(apply, "do", cut)
    engine = runner.engine_of(node.call("generation"))
    with pytest.raises(KeyboardInterrupt), engine.begun():
        engine.join()
        engine.take_back("refuse")
    monkeypatch.undo()
    node.generation(runner.recovered, run="b", dead_run="a")
    assert node.listing() == before
    assert (info(node)["journal"], info(node)["current"]) == (None, 0)


def test_a_change_by_hand_is_not_taken_back(node):
    node.files({A: "a"}, commit="later")
    (node.root / A[1:]).write_text("his")
    engine = runner.engine_of(node.call("generation"))
    with pytest.raises(ConflictError), engine.begun():
        engine.join()
        engine.take_back("refuse")
    assert (node.root / A[1:]).read_text() == "his"


def test_nothing_is_started_anew_on_another_root(node):
    assert not node.generation(runner.restarted, services=["a.service"]).changed
    node.files({A: "a"}, commit="later")
    done = node.generation(runner.restarted, services=None)
    assert (done.changed, done.results["restart"]) == (False, [])
    assert node.generation(runner.restarted, is_check=True, services=["a.service"]).changed
    assert not node.generation(runner.restarted, is_check=True, services=[]).changed


@pytest.mark.parametrize(
    ("status", "wish", "may"),
    [
        (0, "if_idle", False),
        (1, "if_idle", True),
        (2, "if_idle", False),  # it could not tell
        (None, "if_idle", False),
        (0, "always", True),
        (1, "never", False),
    ],
)
def test_what_would_end_a_workload_may_restart_while_there_is_none(node, status, wish, may):
    host = runner.Host(str(node.root))
    host.answers["busy",] = (status, "", None if status == 0 else "it failed")
    assert runner._may_restart(host, runner.Restart("a.service", "a test", busy=("busy",)), wish) is may
    assert runner._may_restart(host, runner.Restart("a.service", "a test"), wish) is (wish == "always")
    assert runner._may_restart(host, runner.Restart("a.service", "a test", True), wish) is (wish != "never")


def test_an_open_journal_of_another_run_is_busy(node):
    node.files({A: "a"}, commit="later")
    before = node.listing()
    for is_check in (True, False):
        with pytest.raises(BusyError, match="run a has it since") as error:
            node.files({B: "b"}, run="b", is_check=is_check)
        assert error.value.details["owner"]["run"] == "a"
    assert node.listing() == before
    node.files({B: "b"}, run="b", dead_run="a")
    assert [len(one["changes"]) for one in info(node)["generations"]] == [3]


def test_a_human_releases_what_is_open(node):
    node.files({A: "a"}, commit="later")
    assert node.generation(runner.released, run="b").changed
    assert not node.generation(runner.released, run="b").changed
    node.files({B: "b"}, run="b")
    assert info(node)["current"] == 1


def test_a_lease_that_is_over_lets_the_next_one_in(node, monkeypatch):
    node.files({A: "a"}, commit="later")
    from ansible_collections.accelerator.ops.plugins.module_utils.host import lock

    now = lock.now()
    monkeypatch.setattr(lock, "now", lambda: now._replace(seconds=now.seconds + 7100))
    with pytest.raises(BusyError):
        node.files({B: "b"}, run="b")
    monkeypatch.setattr(lock, "now", lambda: now._replace(boot="another", seconds=60.0))
    with pytest.raises(BusyError):
        node.files({B: "b"}, run="b")
    monkeypatch.setattr(lock, "now", lambda: now._replace(seconds=now.seconds + 7300))
    assert node.files({B: "b"}, run="b").changed


def test_a_failed_verification_takes_everything_back(node):
    before = node.listing()

    def observe(host, wish):
        return None

    def decide(_seen, wish):
        return Plan(file_step(B, Found(ABSENT, b"", (os.geteuid(), os.getegid())), b"never seen", "a test"))

    with pytest.raises(VerifyError, match=r"b\.conf"):
        runner.change(node.call("files"), observe, decide)
    assert node.listing() == before
    assert info(node)["journal"] is None


def test_a_file_with_two_names_is_refused(node):
    (node.root / B[1:]).write_text("x")
    os.link(node.root / B[1:], node.root / "etc/other")
    for is_check in (True, False):
        with pytest.raises(ConflictError, match="2 hard links"):
            node.files({B: "ours"}, on_conflict="overwrite", is_check=is_check)
    assert (node.root / "etc/other").read_text() == "x"


@pytest.mark.parametrize(
    "name", ["generations/1/manifest.json", "current", "current gone", "current back", "due.json", "journal/2-x.jsonl"]
)
def test_a_damaged_state_folder_is_refused_and_nothing_changes(node, name):
    node.files({A: "one"})
    node.files({A: "a"})
    place = node.root / STATE / name.split()[0]
    if name.startswith("current"):
        place.unlink()
        if "gone" not in name:
            place.symlink_to("generations/1" if "back" in name else "generations/7")
    elif name.startswith("journal"):
        place.write_text("".join(f"{'0' * 64} {json.dumps({'t': 'begin', 'at': str(one)})}\n" for one in range(2)))
    else:
        place.write_text('{"schema": 1, "checksum": "no"}')
    before = node.listing()
    with pytest.raises(RecoveryError, match="state in /var/lib/accelerator-ops"):
        node.files({A: "b"})
    with pytest.raises(RecoveryError):
        node.files({A: "b"}, is_check=True)
    assert node.listing() == before


def test_an_object_that_was_changed_is_not_put_back(node):
    node.files({A: "a"})
    node.files({A: "b"})
    for one in (node.root / STATE / "objects").iterdir():
        one.write_text("rubbish")
    before = node.listing()
    with pytest.raises(RecoveryError, match="objects/"):
        node.generation(runner.rolled_back, to=1)
    assert node.listing() == before


def test_prune_keeps_the_newest_and_their_contents(node):
    for text in ("1", "2", "3", "4"):
        node.files({A: text})
    assert node.generation(runner.pruned, keep=2, is_check=True).results["pruned"] == [1, 2]
    assert node.generation(runner.pruned, keep=2).results["pruned"] == [1, 2]
    assert not node.generation(runner.pruned, keep=2).changed
    assert len(list((node.root / STATE / "objects").iterdir())) == 3
    node.generation(runner.rolled_back, to=2)
    assert (node.root / A[1:]).read_text() == "2"
    with pytest.raises(InputError, match="from 2 to 5"):
        node.generation(runner.rolled_back, to=1)
    with pytest.raises(InputError):
        node.generation(runner.pruned, keep=0)


def test_a_sealed_root_has_one_generation_and_no_lock(node):
    zero = node.listing()
    node.files({A: "1"})
    node.files({A: "2", B: "b"}, commit="later")
    assert node.generation(runner.sealed).changed
    assert not node.generation(runner.sealed).changed
    names = {path.name for path in (node.root / STATE).iterdir()}
    assert "lock" not in names
    assert list((node.root / STATE / "journal").iterdir()) == []
    assert [one["generation"] for one in info(node)["generations"]] == [1]
    node.files({A: "3"})
    node.generation(runner.rolled_back, to=1)
    assert (node.root / A[1:]).read_text() == "2"
    node.generation(runner.rolled_back, to=0)
    assert node.listing() == zero


def test_a_folder_with_something_of_others_in_it_stays(node):
    node.files({C: "c"})
    (node.root / "etc/c/his").write_text("his")
    node.generation(runner.rolled_back, to=0)
    assert (node.root / "etc/c/his").read_text() == "his"
    assert not (node.root / "etc/c/d").exists()


def test_a_recording_cannot_be_changed(node, tmp_path):
    archive = tmp_path / "one.tar.gz"
    archive.write_bytes(b"")
    with pytest.raises((InputError, OSError)):
        runner.change(node.call("files", root=str(archive), files={}), lambda host, wish: {}, lambda seen, wish: Plan())


def test_a_folder_that_cannot_be_written_is_one_clear_line(node):
    if os.geteuid() == 0:
        (node.root / "var/lib/accelerator-ops").write_text("a file in the way")
        error, expected = RecoveryError, "a file, not a dir"
    else:
        os.chmod(node.root / "var/lib", 0o500)
        error, expected = ApplyError, "Permission denied"
    before = node.listing()
    with pytest.raises(error, match=expected):
        node.files({A: "a"})
    assert node.listing() == before
