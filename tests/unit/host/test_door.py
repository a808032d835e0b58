# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The door: what it reads, what it says when it cannot, and that it never leaves its root."""

from __future__ import annotations

import errno
import os
import socket

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import MANIFEST, Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.answer import Answer
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError, ProbeError


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "node"
    (root / "sys/devices/pci0000:00/0000:00:01.0").mkdir(parents=True)
    (root / "sys/devices/pci0000:00/0000:00:01.0/vendor").write_text("0x10de\n")
    (root / "sys/bus/pci/devices").mkdir(parents=True)
    (root / "sys/bus/pci/devices/0000:00:01.0").symlink_to("../../../devices/pci0000:00/0000:00:01.0")
    (root / "etc").mkdir()
    (root / "etc/hostname").write_text("inside\n")
    (tmp_path / "outside").write_text("outside\n")
    return root


def test_reads_through_links(tree):
    host = Host(str(tree))
    assert host.read("/sys/bus/pci/devices/0000:00:01.0/vendor") == Answer("0x10de", None)
    assert host.resolve("/sys/bus/pci/devices/0000:00:01.0").value == "/sys/devices/pci0000:00/0000:00:01.0"
    assert host.list("/sys/bus/pci/devices").value == ("0000:00:01.0",)
    assert "/sys/bus/pci/devices/0000:00:01.0/vendor" in host.read_paths


@pytest.mark.parametrize(
    "target", ["/etc/hostname", "../../../../../../../../etc/hostname", "/../../etc/hostname", "//etc//./hostname"]
)
def test_a_link_stays_inside(tree, target):
    (tree / "escape").symlink_to(target)
    assert Host(str(tree)).read("/escape") == Answer("inside", None)


def test_a_link_to_the_file_beside_the_root_finds_nothing(tree):
    (tree / "escape").symlink_to("../outside")
    assert Host(str(tree)).read("/escape") == Answer(None, "not there")


def test_a_folder_link_to_the_real_root_stays_inside(tree):
    (tree / "all").symlink_to("/")
    assert Host(str(tree)).read("/all/etc/hostname").value == "inside"


def test_a_loop_is_a_reason(tree):
    (tree / "a").symlink_to("b")
    (tree / "b").symlink_to("a")
    assert "symbolic links" in Host(str(tree)).read("/a").reason


def test_undecodable_bytes_are_a_reason(tree):
    (tree / "etc/broken").write_bytes(b"\xff\xfe")
    assert Host(str(tree)).read("/etc/broken") == Answer(None, "not UTF-8 text")


def test_a_folder_read_as_a_file_is_a_reason(tree):
    answer = Host(str(tree)).read("/etc")
    assert answer.value is None
    assert "directory" in answer.reason


def test_a_pipe_does_not_block(tree):
    os.mkfifo(tree / "pipe")
    assert Host(str(tree)).read("/pipe").value is None


class Failing(Host):
    """A door whose reads end as a dying device's do."""

    error = errno.EIO

    def _read_raw(self, place, limit, offset=0):
        raise OSError(self.error, os.strerror(self.error))


@pytest.mark.parametrize(
    ("error", "words"),
    [(errno.EIO, "Input/output error"), (errno.EACCES, "permission denied"), (errno.ENODEV, "No such device")],
)
def test_an_error_is_a_reason(tree, error, words):
    host = Failing(str(tree))
    host.error = error
    assert words in host.read("/etc/hostname").reason


def test_status_prefers_the_manifest(tree):
    (tree / "dev").mkdir()
    (tree / "dev/nvidia0").write_text("")
    entry = '{"/dev/nvidia0": {"kind": "char", "mode": 438, "uid": 0, "gid": 44, "major": 195, "minor": 0}}'
    (tree / MANIFEST.lstrip("/")).write_text(entry)
    status, reason = Host(str(tree)).status("/dev/nvidia0")
    assert reason is None
    assert (status.kind, status.mode, status.gid, status.major, status.minor) == ("char", 0o666, 44, 195, 0)
    assert Host(str(tree)).status("/etc/hostname")[0].kind == "file"
    assert Host(str(tree)).status("/nothing") == (None, "not there")


@pytest.mark.parametrize("text", ["{", "[]", '{"/dev/x": 3}', '{"/etc/hostname": {"mode": "rw"}}', "\xff"])
def test_a_damaged_manifest_is_one_clear_error(tree, text):
    (tree / MANIFEST.lstrip("/")).write_bytes(text.encode("latin-1"))
    with pytest.raises(ProbeError, match="lay the tree out again"):
        Host(str(tree)).status("/etc/hostname")


def test_a_live_node_has_no_manifest():
    assert Host("/").is_live
    assert Host("/").status("/dev/null")[0].kind == "char"


@pytest.mark.parametrize(
    ("name", "words"), [("nowhere", "no such folder"), ("outside", "a file, expected a folder"), ("", "empty")]
)
def test_a_root_that_is_none(tree, name, words):
    root = str(tree.parent / name) if name else ""
    with pytest.raises(InputError, match=words) as caught:
        Host(root)
    assert caught.value.as_dict()["code"] == "input"


@pytest.mark.parametrize("kind", ["fifo", "socket"])
def test_a_root_that_is_neither_folder_nor_file_is_refused_and_never_waited_for(tmp_path, kind):
    place = tmp_path / kind
    if kind == "fifo":
        os.mkfifo(place)
    else:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(place))
    with pytest.raises(InputError, match="neither a folder nor a file"):
        Host(str(place))


def test_a_root_that_no_path_can_be(tmp_path):
    with pytest.raises(InputError, match="null byte"):
        Host("/srv/\0")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InputError, match="symbolic links"):
        Host(str(tmp_path / "a"))


def test_a_pipe_in_place_of_a_file_is_no_empty_file(tree):
    os.mkfifo(tree / "pipe")
    assert Host(str(tree)).read("/pipe") == Answer(None, "cannot be read (Invalid argument)")


@pytest.mark.parametrize("text", ['{"/dev/a": {"major": 1e999}}', "[" * 100000])
def test_a_manifest_that_no_number_or_stack_holds(tree, text):
    (tree / MANIFEST[1:]).write_text(text)
    with pytest.raises(ProbeError, match="another form"):
        Host(str(tree)).status("/etc")
