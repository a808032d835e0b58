# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The door on a recording: the answers of the node, and one clear line for every archive that is none."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import random
import tarfile

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host import command, recorder, recording
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import MANIFEST, Host
from ansible_collections.accelerator.ops.plugins.module_utils.host.recorder import Recorder, pack
from ansible_collections.accelerator.ops.plugins.module_utils.model.answer import Answer, Names
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError
from ansible_collections.accelerator.ops.plugins.module_utils.model.recorded import Item, Recorded, Said


class Broken(Recorder):
    """A node on which the paths with ``eio`` in them fail."""

    def _read_raw(self, place, limit, offset=0):
        return self._once(place, (offset, limit), lambda: self._fail(place, limit, offset))

    def _fail(self, place, limit, offset):
        if "eio" in place:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return Host._read_raw(self, place, limit, offset)


def look(host):
    """Every way of looking at every path of the tree, and at some that are not there."""
    found = []
    for path in (
        "/sys",
        "/sys/a",
        "/sys/a/value",
        "/sys/to_a",
        "/sys/to_a/value",
        "/sys/nowhere",
        "/sys/loop",
        "/no/x",
    ):
        found += [
            host.list(path),
            host.read(path),
            host.resolve(path),
            host.link(path),
            host.status(path),
            host.size(path),
        ]
        found += [host.exists(path), host.read_bytes(path, 2, 1), host.read_bytes(path, 3)]
    found += [host.link("/"), host.read("/"), host.resolve("/"), host.status("/")]
    found += [host.read("/sys/eio"), host.status("/sys/eio"), host.read("/sys/bytes"), host.read("/sys/a/out")]
    found += [host.status("/dev/null0"), host.read("/sys/away/value"), host.resolve("/sys/away")]
    return found


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "node"
    (root / "sys/a").mkdir(parents=True)
    (root / "dev").mkdir()
    (root / "sys/a/value").write_text("12345\n")
    (root / "sys/a/value").chmod(0o640)
    (root / "sys/eio").write_text("x")
    (root / "sys/bytes").write_bytes(b"\xff\0\xfe")
    (root / "sys/unread").write_text("nobody looks")
    (root / "dev/null0").write_text("")
    (root / "sys/to_a").symlink_to("/sys/a")
    (root / "sys/nowhere").symlink_to("nothing")
    (root / "sys/loop").symlink_to("loop")
    (root / "sys/a/out").symlink_to("../../../../../etc/passwd")
    (root / "sys/away").symlink_to("../" * 9 + "sys/a")
    (root / ("sys/" + "long" * 30)).mkdir()
    (root / ("sys/" + "long" * 30) / ("name" * 40)).symlink_to("x" * 150)
    entry = {"/dev/null0": {"kind": "char", "mode": 438, "uid": 0, "gid": 44, "major": 1, "minor": 3}}
    (root / MANIFEST.lstrip("/")).write_text(json.dumps(entry))
    return root


def written(tmp_path, archive, name="node.tar.gz"):
    (tmp_path / name).write_bytes(archive)
    return str(tmp_path / name)


def test_a_recording_answers_as_the_node_did(tree, tmp_path):
    host = Broken(str(tree))
    long = f"/sys/{'long' * 30}/{'name' * 40}"
    seen = [*look(host), host.link(long)]
    archive = pack(host.recorded())
    again = Recorder(written(tmp_path, archive))
    assert [*look(again), again.link(long)] == seen
    assert not again.is_live
    assert pack(again.recorded()) == archive, "and is recorded again with the same bytes"


def test_what_was_not_looked_at_is_not_recorded(tree, tmp_path):
    host = Recorder(str(tree))
    host.list("/sys")
    host.exists("/sys/a/value")
    again = Host(written(tmp_path, pack(host.recorded())))
    assert again.list("/sys").value == host.list("/sys").value
    assert again.read("/sys/unread") == Answer(None, "not recorded")
    assert again.resolve("/sys/unread") == Answer(None, "not recorded")
    assert again.list("/sys/a") == Names(None, "not recorded")
    assert again.read("/sys/a/value") == Answer(None, "not recorded")
    assert again.exists("/sys/a/value")
    assert again.read("/etc/hostname") == Answer(None, "not there")


def test_nothing_but_what_was_read_is_in_it(tree):
    host = Recorder(str(tree))
    host.read("/sys/a/value")
    assert host.recorded().items == {
        "/sys": Item("dir"),
        "/sys/a": Item("dir"),
        "/sys/a/value": Item("file", b"12345\n"),
    }


def test_the_second_answer_is_the_first(tree):
    host = Recorder(str(tree))
    assert host.read("/sys/a/value").value == "12345"
    (tree / "sys/a/value").write_text("99999\n")
    assert host.read("/sys/a/value").value == "12345"


def test_a_large_file_is_kept_as_far_as_it_was_read(tree, tmp_path):
    (tree / "big").write_bytes(b"head" + bytes(3_000_000) + b"tail")
    host = Recorder(str(tree))
    assert host.read_bytes("/big", 4) == (b"head", None)
    assert host.read_bytes("/big", 2, 10) == (b"\0\0", None)
    assert host.size("/big")[0] == 3_000_008
    item = host.recorded().items["/big"]
    assert (len(item.content), item.numbers) == (12, {"size": 3_000_008})
    assert Host(written(tmp_path, pack(host.recorded()))).size("/big") == (3_000_008, None)


def test_no_recording_tells_when_a_file_was_written(tree, tmp_path):
    os.utime(tree / "sys/a/value", (1000, 1000.5))
    host = Recorder(str(tree))
    assert host.changed_seconds("/sys/a/value") == 1000.5
    assert host.changed_seconds("/sys/none") is None
    assert Host(written(tmp_path, pack(host.recorded()))).changed_seconds("/sys/a/value") is None


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_permission_denied_is_recorded(tree, tmp_path):
    (tree / "sys/a").chmod(0)
    host = Recorder(str(tree))
    seen = look(host)
    (tree / "sys/a").chmod(0o755)
    assert look(Host(written(tmp_path, pack(host.recorded())))) == seen


def test_owners_and_modes_are_in_the_manifest(tree, tmp_path):
    host = Recorder(str(tree))
    expected = [host.status("/sys/a/value"), host.status("/dev/null0")]
    archive = pack(host.recorded())
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        for member in opened:
            assert (member.uid, member.gid, member.uname, member.mtime) == (0, 0, "", 0)
            assert member.isfile() or member.isdir()
    again = Host(written(tmp_path, archive))
    assert [again.status("/sys/a/value"), again.status("/dev/null0")] == expected


def test_programs_say_again_what_they_said(tmp_path):
    host = Recorder("/")
    first = command.run(host, ["/bin/sh", "-c", "echo $$; exit 3"], 5)
    assert first.status == 3
    assert command.run(host, ["/bin/sh", "-c", "echo $$; exit 3"], 5) == first, "a program is run once"
    missing = command.run(host, ["/nowhere/tool"], 5)
    again = Host(written(tmp_path, pack(host.recorded())))
    assert again.is_node
    assert command.run(again, ["/bin/sh", "-c", "echo $$; exit 3"], 5) == first
    assert command.run(again, ["/nowhere/tool"], 5) == missing
    other = command.run(again, ["/bin/true"], 5)
    assert (other.status, other.reason) == (None, "/bin/true was not run when this node was recorded")


def test_a_recorded_tree_is_no_node(tree, tmp_path):
    host = Recorder(str(tree))
    host.read("/sys/a/value")
    again = Host(written(tmp_path, pack(host.recorded())))
    assert not again.is_node
    assert command.run(again, ["/bin/true"], 5).reason == "/bin/true is not run: the root is not the running system"


def test_gnu_tar_may_have_packed_it_again(tree, tmp_path):
    host = Recorder(str(tree))
    host.list("/sys")
    seen = host.read("/sys/to_a/value")
    raw = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(pack(host.recorded()))) as old,
        tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as new,
    ):
        new.addfile(member("./", tarfile.DIRTYPE))
        for one in old:
            content = old.extractfile(one) if one.isfile() else None
            one.name, one.mtime, one.uid, one.uname = f"./{one.name}", 1_700_000_000, 1000, "me"
            new.addfile(one, content)
    assert Host(written(tmp_path, gzip.compress(raw.getvalue()))).read("/sys/to_a/value") == seen


# --- archives that are none ---------------------------------------------------------------------


def member(name, kind=tarfile.REGTYPE, target="", size=0):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, size
    return info


def manifest(members=0, **more):
    about = {"schema": 1, "members": members, "node": False, "masked": True, "commands": [], **more}
    return {"recording": about}


def archive(*members, first=None, form=tarfile.GNU_FORMAT):
    """A tar of a manifest and ``(TarInfo, content)`` pairs."""
    content = first if isinstance(first, bytes) else json.dumps(first or manifest(len(members))).encode()
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=form) as opened:
        opened.addfile(member(MANIFEST[1:], size=len(content)), io.BytesIO(content))
        for info, data in members:
            info.size = len(data)
            opened.addfile(info, io.BytesIO(data))
    return raw.getvalue()


def negative_size():
    """A header whose size is -512: readers that trust it read the same header for ever."""
    raw = bytearray(archive((member("a"), b"")))
    at = raw.index(b"a\0\0\0", 512)
    raw[at + 124 : at + 136] = b"\xff" * 10 + b"\xfe\0"
    raw[at + 148 : at + 156] = b" " * 8
    raw[at + 148 : at + 156] = f"{sum(raw[at : at + 512]):06o}\0 ".encode()
    return bytes(raw)


_GOOD = archive((member("sys", tarfile.DIRTYPE), b""), (member("sys/a"), b"1"))
_DIR, _FILE = (member("sys", tarfile.DIRTYPE), b""), (member("a"), b"1")

_KINDS, _FORM, _OUTSIDE = "no file, folder or symbolic link", "another form", "leads outside"


def noted(entry, *members):
    """The manifest's entries beside what it says of the recording."""
    return gzip.compress(archive(*members, first={**manifest(len(members)), **entry}))


def linked(target):
    return gzip.compress(archive((member("a", tarfile.SYMTYPE, target), b"")))


BAD = {
    "empty": (b"", "a file,"),
    "text": (b"hello\n", "a file,"),
    "a plain tar": (_GOOD, "a file,"),
    "gzip of text": (gzip.compress(b"hello" * 200), "a damaged archive"),
    "gzip of nothing": (gzip.compress(b""), "cut short"),
    "wrong gzip": (b"\x1f\x8b" + b"hello" * 50, "damaged archive"),
    "cut short": (gzip.compress(_GOOD)[:-30], "cut short"),
    "cut in its checksum": (gzip.compress(_GOOD)[:-2], "cut short"),
    "wrong checksum": (gzip.compress(_GOOD)[:-8] + b"\0" * 8, "damaged archive"),
    "something behind": (gzip.compress(_GOOD) + b"more", "behind its end"),
    "cut inside the tar": (gzip.compress(_GOOD[:1600]), "cut short"),
    "cut between members": (gzip.compress(_GOOD[: _GOOD.index(b"sys/a\0")]), "cut short"),
    "ended between members": (gzip.compress(_GOOD[: _GOOD.index(b"sys/a\0")] + bytes(1024)), "missing or added"),
    "no manifest": (gzip.compress(bytes(10240)), "without /.accelerator-manifest.json"),
    "dots": (gzip.compress(archive((member("../etc"), b"1"))), _OUTSIDE),
    "dots inside": (gzip.compress(archive(_DIR, (member("sys/../../etc"), b"1"))), _OUTSIDE),
    "absolute": (gzip.compress(archive((member("/etc"), b"1"))), _OUTSIDE),
    "empty name": (gzip.compress(archive((member(""), b"1"))), "cannot open"),
    "double slash": (gzip.compress(archive(_DIR, (member("sys//a"), b"1"))), _OUTSIDE),
    "link above the root": (linked("../etc/passwd"), _OUTSIDE),
    "link far above": (
        gzip.compress(archive(_DIR, (member("sys/a", tarfile.SYMTYPE, "x/../../../etc"), b""))), _OUTSIDE),
    "link without a target": (linked(""), _OUTSIDE),
    "below a link": (
        gzip.compress(archive((member("a", tarfile.SYMTYPE, "b"), b""), (member("a/c"), b"1"))), "below no folder"),
    "below a file": (gzip.compress(archive((member("a"), b"1"), (member("a/c"), b"1"))), "below no folder"),
    "below nothing": (gzip.compress(archive((member("a/c"), b"1"))), "below no folder"),
    "hard link": (gzip.compress(archive(_FILE, (member("b", tarfile.LNKTYPE, "a"), b""))), _KINDS),
    "device": (gzip.compress(archive((member("a", tarfile.CHRTYPE), b""))), _KINDS),
    "block device": (gzip.compress(archive((member("a", tarfile.BLKTYPE), b""))), _KINDS),
    "fifo": (gzip.compress(archive((member("a", tarfile.FIFOTYPE), b""))), _KINDS),
    "sparse": (gzip.compress(archive((member("a", tarfile.GNUTYPE_SPARSE), b""))), _KINDS),
    "pax": (gzip.compress(archive((member("ü" * 60), b"1"), form=tarfile.PAX_FORMAT)), _KINDS),
    "twice": (gzip.compress(archive((member("a"), b"1"), (member("a"), b"2"))), "twice"),
    "manifest twice": (gzip.compress(archive((member(MANIFEST[1:]), b"{}"))), "twice"),
    "negative size": (gzip.compress(negative_size()), "damaged archive"),
    "no JSON": (gzip.compress(archive(first=b"{")), _FORM),
    "deep JSON": (gzip.compress(archive(first=b"[" * 200_000)), _FORM),
    "a list": (gzip.compress(archive(first=b"[]")), _FORM),
    "another manifest": (gzip.compress(archive(first=b'{"/dev/x": {"kind": "char"}}')), "manifest.json of a recording"),
    "another schema": (gzip.compress(archive(first=manifest(schema=2))), "a recording of schema 2"),
    "too few members": (gzip.compress(archive(first=manifest(1))), "missing or added"),
    "no commands": (gzip.compress(archive(first=manifest(commands=None))), _FORM),
    "a command of another form": (gzip.compress(archive(first=manifest(commands=[{"argv": 3}]))), _FORM),
    "a note about nothing": (noted({"/x": {"kind": "char"}}), _FORM),
    "a note of another form": (noted({"/sys": 3}, _DIR), _FORM),
    "a folder noted as a file": (noted({"/sys": {"kind": "file"}}, _DIR), _FORM),
    "a number that is none": (
        noted({"/sys": {"kind": "dir", "uid": float("inf")}}, _DIR), _FORM),
    "a device number that none can be": (
        noted({"/a": {"kind": "char", "major": 2**70}}, _FILE), _FORM),
    "an error that is none": (
        noted({"/sys": {"kind": "dir", "error": "errorcode"}}, _DIR), _FORM),
    "an unread name with a path": (
        noted({"/sys": {"kind": "dir", "unread": ["../x"]}}, _DIR), _FORM),
    "a hidden name with a path": (
        noted({"/../x": {"kind": "hidden", "error": "EACCES"}}), _FORM),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_archive_is_one_clear_line(name, tmp_path):
    content, words = BAD[name]
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(InputError, match=words) as caught:
        Host(written(tmp_path, content))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    assert caught.value.as_dict()["code"] == "input"
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "node.tar.gz"]), "nothing is written"


def test_a_bomb_is_not_unpacked(tmp_path):
    bomb = gzip.compress(archive((member("a"), bytes(200 * 1024 * 1024))), 1)
    with pytest.raises(InputError, match="unpacks to more than"):
        Host(written(tmp_path, bomb))


def test_a_small_bomb_is_not_unpacked(tmp_path):
    bomb = gzip.compress(archive((member("a"), bytes(20 * 1024 * 1024))), 9)
    assert len(bomb) < 60_000
    with pytest.raises(InputError, match="unpacks to more than"):
        Host(written(tmp_path, bomb))


def test_too_many_members(tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "MAX_MEMBERS", 20)
    with pytest.raises(InputError, match="more than 20 members"):
        Host(written(tmp_path, gzip.compress(archive(*((member(f"m{at}"), b"") for at in range(30))))))


def test_a_recording_that_could_not_be_opened_is_not_made(monkeypatch):
    monkeypatch.setattr(recorder, "MAX_BYTES", 2 * 1024 * 1024)
    with pytest.raises(InputError, match="cannot record"):
        pack(Recorded({"/a": Item("file", bytes(2_000_000))}, (), False, False))


def test_random_damage_is_an_input_error_or_harmless(tmp_path):
    """Bytes changed in the unpacked tar, 400 times: an InputError, or a recording that still answers."""
    chance = random.Random(20261201)
    items = {"/sys": Item("dir", unread=("b",)), "/sys/a": Item("file", b"1"), "/sys/l": Item("link", target="a")}
    raw = gzip.decompress(pack(Recorded(items, (Said(("x",), 0, "y", None),), True, False)))
    refused = 0
    for _round in range(400):
        bad = bytearray(raw)
        for _change in range(chance.randint(1, 4)):
            bad[chance.randrange(len(bad) // 2)] = chance.randrange(256)
        try:
            host = Host(written(tmp_path, gzip.compress(bytes(bad), 1)))
        except InputError:
            refused += 1
            continue
        host.read("/sys/a")
        host.list("/sys")
    assert refused > 100


def test_a_recording_without_permission(tmp_path):
    if os.getuid() == 0:
        pytest.skip("root may read everything")
    path = written(tmp_path, gzip.compress(_GOOD))
    os.chmod(path, 0)
    with pytest.raises(InputError, match="Permission denied"):
        Host(path)
