# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an angry operator does to a node, and to the state folder by hand."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils import runner
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import (
    ApplyError,
    ConflictError,
    RecoveryError,
)
from ansible_collections.accelerator.ops.plugins.module_utils.model.plan import Command
from ansible_collections.accelerator.ops.plugins.module_utils.state import apply
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import generation_info

A, B, C = "/etc/a.conf", "/etc/b.conf", "/etc/c.conf"
STATE = "var/lib/accelerator-ops"


@pytest.fixture
def changed(node):
    """A node with two generations."""
    node.files({A: "1"})
    node.files({B: "2"})
    return node


def replaced(path, kind):
    """Something of another kind at the path."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "dir":
        path.mkdir()
    elif kind == "link":
        (path.parent / "elsewhere").mkdir()
        path.symlink_to("elsewhere")
    elif kind == "file":
        path.write_text("x")
    elif kind == "socket":
        here = os.getcwd()
        os.chdir(path.parent)  # the name of a socket is short
        try:
            socket.socket(socket.AF_UNIX).bind(path.name)
        finally:
            os.chdir(here)


FILES = ("due.json", "lock", "forgotten.json", "generations/1/manifest.json", "generations/2/manifest.json")
FOLDERS = ("objects", "journal", "generations", "generations/2")


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in FILES for kind in ("fifo", "dir", "link", "socket")]
    + [(name, kind) for name in FOLDERS for kind in ("fifo", "file", "link")]
    + [("current", kind) for kind in ("fifo", "dir", "file", "link")],
)
def test_another_kind_of_thing_in_the_state_folder_is_told(changed, name, kind):
    replaced(changed.root / STATE / name, kind)
    before = changed.listing()
    for call in (
        lambda: changed.files({C: "3"}),
        lambda: changed.files({C: "3"}, is_check=True),
        lambda: changed.generation(runner.rolled_back, to=0),
        lambda: changed.generation(runner.recovered),
        lambda: changed.generation(runner.recovered, is_check=True),
        lambda: generation_info.observe(Host(str(changed.root)), None),
    ):
        with pytest.raises(RecoveryError, match=name.partition("/")[0]):
            call()
    assert changed.listing() == before


@pytest.mark.parametrize("kind", ["fifo", "dir", "link"])
def test_another_kind_of_thing_instead_of_a_content_is_told(node, kind):
    node.files({A: "1"})
    node.files({A: "2"})
    for path in list((node.root / STATE / "objects").iterdir()):
        replaced(path, kind)
        shutil.rmtree(path.parent / "elsewhere", ignore_errors=True)
    before = node.listing()
    with pytest.raises(RecoveryError, match="objects/"):
        node.generation(runner.rolled_back, to=1)
    assert node.listing() == before


def test_a_digit_that_is_no_number_is_no_generation(changed):
    (changed.root / STATE / "generations/²").mkdir()
    assert changed.files({C: "3"}).results["generation"] == 3


@pytest.mark.parametrize("name", ["", "objects", "generations", "due.json", "lock"])
@pytest.mark.parametrize(("mode", "owner"), [(0o777, 0), (0o700, 1234)])
def test_a_state_that_others_can_write_is_not_believed(changed, name, mode, owner):
    path = changed.root / STATE / name
    if name == "due.json":
        path.write_text("{}")
    if owner and os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    if owner:
        os.chown(path, owner, owner)
    os.chmod(path, mode)
    before = changed.listing()
    for is_check in (True, False):
        with pytest.raises(RecoveryError, match="changed by others"):
            changed.files({C: "3"}, is_check=is_check)
    assert changed.listing() == before


@pytest.mark.parametrize("is_there", [True, False])
def test_a_state_folder_that_is_a_link_stays_inside_the_root(node, is_there):
    outside = node.root.parent / "outside"
    outside.mkdir()
    inside = node.root / str(outside).lstrip("/")
    if is_there:
        inside.mkdir(parents=True, mode=0o700)
    (node.root / STATE).symlink_to(outside)
    assert node.files({A: "1"}).results["generation"] == 1
    assert list(outside.iterdir()) == []
    assert (inside / "current").is_symlink()


@pytest.mark.parametrize("kind", ["fifo", "socket", "dir"])
def test_what_cannot_be_put_back_is_not_overwritten(node, kind):
    replaced(node.root / A[1:], kind)
    before = node.listing()
    for is_check in (True, False):
        with pytest.raises(ConflictError, match="could not be put back"):
            node.files({A: "1", B: "2"}, on_conflict="overwrite", is_check=is_check)
    assert node.listing() == before
    assert not node.generation(runner.recovered).changed


@pytest.mark.parametrize("kind", ["file", "fifo", "link"])
def test_no_folder_where_one_must_be_is_told_before_anything_is_begun(node, kind):
    if kind == "link":
        (node.root / "etc/m").symlink_to("/nowhere/at/all")
    else:
        replaced(node.root / "etc/m", kind)
    before = node.listing()
    for is_check in (True, False):
        with pytest.raises(ConflictError, match="expected a folder"):
            node.files({"/etc/m/a.conf": "1"}, is_check=is_check)
    assert node.listing() == before
    assert node.files({A: "1"}).results["generation"] == 1


def test_what_forgotten_generations_made_is_still_ours(node):
    zero = node.listing()
    for path in (A, B, C):
        node.files({path: "1"})
    for count in (2, 1):
        node.generation(runner.pruned, keep=count)
    assert node.files({A: "2"}).changed
    node.generation(runner.rolled_back, to=3)
    assert node.files({A: None, B: None, C: None}).changed  # also what was put back is ours
    assert node.listing() == zero


@pytest.mark.parametrize("keep", [1, 2])
def test_check_mode_foresees_what_sealing_does(changed, keep):
    changed.generation(runner.pruned, keep=keep)
    assert changed.generation(runner.sealed, is_check=True).changed
    assert changed.generation(runner.sealed).changed
    assert not changed.generation(runner.sealed, is_check=True).changed


@pytest.mark.parametrize("state", [runner.committed, runner.recovered])
def test_check_mode_foresees_what_becomes_of_a_journal_of_a_run_that_is_over(node, state):
    node.files({A: "1"}, commit="later", run="over")
    assert node.generation(state, is_check=True, run="next", dead_run="over").changed
    assert node.generation(state, run="next", dead_run="over").results["generation"] == 1


def test_a_name_of_a_run_that_is_no_text_is_taken(node):
    assert node.files({A: "1"}, run="\udcff\n" + "x" * 5000).changed


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system of its own")
def test_a_full_disk_leaves_the_node_as_before_or_says_what_is_done(node, tmp_path):
    lefts = set()
    for free in range(10):
        root = tmp_path / str(free)
        root.mkdir()
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=400k,nr_inodes=60", "none", root], check=False
        ).returncode:
            pytest.skip("no right to mount")
        try:
            lefts.add(_full(type(node)(root), free))
        finally:
            subprocess.run(["umount", "-l", root], check=True)
    assert lefts == {"as before", "done, not committed", "committed"}


def _full(node, free):
    """How a change was left that was made with so many files free, after looking whether that is so."""
    for folder in ("etc", "var/lib"):
        (node.root / folder).mkdir(parents=True)
    zero = node.listing()
    node.files({A: "1", B: "2"})
    before, number = node.listing(), 0
    while os.statvfs(node.root).f_ffree > free:
        (node.root / f"full-{number}").touch()
        number += 1
    left = "committed"
    try:
        node.files({B: None} if free < 4 else {A: "4", C: "3"})
    except ApplyError as error:
        left = str(error.details["left"])
    for one in range(number):
        (node.root / f"full-{one}").unlink()
    assert (node.listing() == before) == (left == "as before")
    assert node.generation(runner.recovered).results["generation"] == (2 if left == "done, not committed" else None)
    node.generation(runner.rolled_back, to=0)
    assert node.listing() == zero
    return left


def test_a_task_may_run_in_the_background(node, tmp_path):
    pytest.importorskip("ansible", reason="Ansible starts the module")
    line = f"localhost ansible_connection=local ansible_python_interpreter={sys.executable}\n"
    (tmp_path / "inventory").write_text(line)
    argv = [
        "-m",
        "ansible",
        "adhoc",
        "localhost",
        "-i",
        str(tmp_path / "inventory"),
        "-B",
        "60",
        "-P",
        "1",
        "--one-line",
    ]
    module = ["-m", "accelerator.ops.kernel_config", "-a", f"root={node.root} blacklist=nouveau"]
    environment = {**os.environ, "ANSIBLE_ASYNC_DIR": str(tmp_path / "jobs")}
    ran = subprocess.run([sys.executable, *argv, *module], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (node.root / "etc/modprobe.d/accelerator-ops-blacklist.conf").is_file()


def test_a_group_that_has_members_by_now_stays() -> None:
    made = Command("group x", False, True, ("false",), ("false",), ("true",), "a test", ("true",))
    assert apply.back(Host("/"), [made], "refuse") == []
    unused = made._replace(used=("false",))
    assert apply.back(Host("/"), [unused], "refuse") == [unused._replace(before=True, after=False)]
    never = made._replace(used=())
    assert apply.back(Host("/"), [never], "refuse") == [never._replace(before=True, after=False)]
