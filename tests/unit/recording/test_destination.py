# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a recording is written on the control host: whole or not at all, and one clear line where it cannot be."""

from __future__ import annotations

import base64
import errno
import os
import stat
from types import SimpleNamespace

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError, ProbeError

pytest.importorskip("ansible", reason="the action plugin runs on the control host, with ansible-core")

from ansible_collections.accelerator.ops.plugins.action import machine_recording


class Task:
    """As much of a task as the plugin looks at."""

    def __init__(self, args, check):
        self.args, self.check_mode = args, check


def run(dest, archive=b"archive", check=False, result=None, host="gpu-17"):
    plugin = machine_recording.ActionModule.__new__(machine_recording.ActionModule)
    plugin._task = Task({"dest": dest} if dest else {}, check)
    answer = {"archive": base64.b64encode(archive).decode(), "files": 3} if result is None else result
    plugin._execute_module = lambda **_given: dict(answer)
    plugin._templar = SimpleNamespace(template=None)  # no host here has a root
    return plugin._record({"inventory_hostname": host})


def test_a_file_is_written_for_its_owner_alone(tmp_path):
    dest = str(tmp_path / "a.tar.gz")
    assert run(dest) == {"changed": True, "dest": dest, "files": 3}
    assert (tmp_path / "a.tar.gz").read_bytes() == b"archive"
    assert stat.S_IMODE(os.stat(dest).st_mode) == 0o600
    assert os.listdir(tmp_path) == ["a.tar.gz"]
    assert run(dest)["changed"] is False
    assert run(dest, b"other")["changed"] is True
    assert (tmp_path / "a.tar.gz").read_bytes() == b"other"


@pytest.mark.parametrize(
    ("host", "name"), [("gpu-17", "gpu-17.tar.gz"), ("a/../b", "a%2F..%2Fb.tar.gz"), ("..", "...tar.gz")]
)
def test_in_a_folder_the_file_is_called_like_the_host(tmp_path, host, name):
    assert run(str(tmp_path), host=host)["dest"] == str(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("there", [b"archive", b"of somebody else"])
def test_a_link_to_a_file_is_replaced_and_never_followed(tmp_path, there):
    (tmp_path / "target").write_bytes(there)
    os.chmod(tmp_path / "target", 0o644)
    (tmp_path / "a").symlink_to("target")
    assert run(str(tmp_path / "a"))["changed"] is True
    assert not (tmp_path / "a").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"archive"
    assert (tmp_path / "target").read_bytes() == there
    assert stat.S_IMODE(os.stat(tmp_path / "target").st_mode) == 0o644
    assert run(str(tmp_path / "a"))["changed"] is False


def test_check_mode_writes_nothing(tmp_path):
    assert run(str(tmp_path / "a"), check=True)["changed"] is True
    assert os.listdir(tmp_path) == []


def test_a_failed_module_is_passed_on_and_writes_nothing(tmp_path):
    failed = {"failed": True, "msg": "cannot open"}
    assert run(str(tmp_path / "a"), result=failed) == failed
    assert run("", result=failed) == failed
    assert os.listdir(tmp_path) == []


def test_a_module_that_returns_no_archive(tmp_path):
    with pytest.raises(ProbeError, match="no archive came back"):
        run(str(tmp_path / "a"), result={"archive": "…"})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("dest", "words"), [
    ("missing/a.tar.gz", "no such folder"),
    ("missing/", "no such folder"),
    ("file/a.tar.gz", "is no folder"),
    ("pipe", "no file is there"),
])  # fmt: skip
def test_a_place_that_cannot_be_written_is_told_before_the_node_is_asked(tmp_path, dest, words):
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(InputError, match=words) as caught:
        run(f"{tmp_path}/{dest}", result={"failed": True, "msg": "the node was asked"})
    assert "\n" not in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(InputError, match="no right to write"):
        run(f"{tmp_path}/locked/a")


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_disk_that_gives_up_leaves_no_part(tmp_path, monkeypatch, call, error):
    """A full disk shows at the write or, on some file systems, only when it is asked to be durable."""
    (tmp_path / "a").write_bytes(b"old")

    def fail(*_arguments):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(InputError, match=os.strerror(error)) as caught:
        run(str(tmp_path / "a"))
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_device_is_no_destination():
    with pytest.raises(InputError, match="no file is there"):
        run("/dev/full")
