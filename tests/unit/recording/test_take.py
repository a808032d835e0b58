# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node, its recording, and the recording of that: the same facts, and no secret in any byte."""

from __future__ import annotations

import base64
import gzip
import lzma
import re

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host import command
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.host.recorder import Recorder
from ansible_collections.accelerator.ops.plugins.module_utils.machine import module_image
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.recording import record, take

RELEASE = "6.1.0-1-amd64"
GPU, NIC = "pci0000:16/0000:16:01.0/0000:17:00.0", "pci0000:16/0000:16:02.0/0000:18:00.0"

SECRETS = {
    "uuid": "4a6b1c2d-0e1f-4a5b-8c7d-9e8f7a6b5c4d",
    "machine id": "f0e1d2c3b4a5968778695a4b3c2d1e0f",
    "partition": "1a2b3c4d-02",
    "mac": "b8:59:9f:0a:1b:2c",
    "bare mac": "b8599f0a1b2c",
    "guid": "b859:9f03:000a:1b2c",
    "ipv4": "10.20.30.40",
    "ipv6": "2a02:908:1::7",
    "serial": "S64DNX0R123456",
    "unique id": "8cf0b4d1e2a34f56",
    "unique id in decimal": str(0x8CF0B4D1E2A34F56),
    "host": "heron-17",
    "domain": "nest.corp.example.org",
    "user": "tmueller",
    "full name": "Tamara",
    "password": "hunter22",
    "token": "Zm9vYmFyMTIzNDU2Nzg5MAxY",
}
"""One of each kind, all of them in the tree below and in what a program says."""

EVERYTHING = " ".join(f"{word}" for kind, word in SECRETS.items() if kind not in ("partition", "full name", "token"))


def pci(place, vendor, device, kind, **more):
    address = place.rpartition("/")[2]
    files = {
        f"/sys/bus/pci/devices/{address}": ("link", f"../../../devices/{place}"),
        **{f"/sys/devices/{place}/{name}": text for name, text in {
            "vendor": f"0x{vendor}\n", "device": f"0x{device}\n", "class": f"0x{kind}\n", "uevent": "",
            "numa_node": "0\n",
        }.items()},
    }  # fmt: skip
    files.update({f"/sys/devices/{place}/{name}": content for name, content in more.items()})
    return files


@pytest.fixture
def planted(node):
    """A node with an AMD GPU, a NIC called by its address, a drive, and every secret in several places."""
    drive = "pci0000:16/0000:16:03.0/0000:19:00.0"
    files = {
        **pci(GPU, "1002", "74a1", "038000"),
        **pci(NIC, "15b3", "1021", "020000"),
        **pci(drive, "144d", "a824", "010802"),
        f"/sys/devices/{GPU}/unique_id": SECRETS["unique id"] + "\n",
        f"/sys/devices/{GPU}/serial_number": SECRETS["serial"] + "\n",
        f"/sys/devices/{GPU}/product_name": f"Model of {SECRETS['host']}\n",
        f"/sys/devices/{GPU}/vbios_version": f"1.2.3.4 {EVERYTHING}\n",
        f"/sys/devices/{GPU}/driver": ("link", "../../../../bus/pci/drivers/amdgpu"),
        f"/sys/devices/{NIC}/net/enx{SECRETS['bare mac']}/operstate": "up\n",
        f"/sys/devices/{NIC}/net/enx{SECRETS['bare mac']}/mtu": "9000\n",
        f"/sys/class/net/enx{SECRETS['bare mac']}": ("link", f"../../devices/{NIC}/net/enx{SECRETS['bare mac']}"),
        f"/sys/class/net/{SECRETS['host']}": ("link", f"../../devices/virtual/net/{SECRETS['host']}"),
        f"/sys/devices/virtual/net/{SECRETS['host']}/operstate": "up\n",
        f"/sys/devices/{drive}/nvme/nvme0/model": f"SAMSUNG {SECRETS['serial']}\n",
        "/sys/class/nvme/nvme0": ("link", f"../../devices/{drive}/nvme/nvme0"),
        f"/sys/module/{SECRETS['user']}/version": "1\n",
        "/sys/module/amdgpu/version": "6.8.5\n",
        "/sys/class/kfd/kfd/topology/nodes/0/properties": "simd_count 0\ncpu_cores_count 8\n",
        "/sys/class/kfd/kfd/topology/nodes/1/properties": "simd_count 304\ncpu_cores_count 0\ndomain 0\n"
        f"location_id 5888\nunique_id {SECRETS['unique id in decimal']}\nhive_id 10155654370236190999\n",
        "/proc/sys/kernel/osrelease": RELEASE + "\n",
        "/proc/sys/kernel/hostname": f"{SECRETS['host']}.{SECRETS['domain']}\n",
        "/proc/modules": "",
        "/proc/cmdline": f"BOOT_IMAGE=/boot/vmlinuz-{RELEASE} root=PARTUUID={SECRETS['partition']} ro "
        f"rd.lvm.lv=vg_{SECRETS['host']}/root join={SECRETS['token']} a.password={SECRETS['password']} "
        f"ip={SECRETS['ipv4']}::::{SECRETS['host']}:eth0:none x={SECRETS['uuid']} y=[{SECRETS['ipv6']}] "
        f"ks=https://{SECRETS['user']}:{SECRETS['password']}@{SECRETS['host']}.{SECRETS['domain']}/ "
        f"BOOTIF={SECRETS['mac']}\n",
        "/etc/hostname": SECRETS["host"] + "\n",
        "/etc/passwd": f"root:x:0:0::/root:/bin/sh\n"
        f"{SECRETS['user']}:x:1000:1000:{SECRETS['full name']} M:/home/x:/bin/sh\n",
        "/etc/group": f"render:x:109:{SECRETS['user']}\n",
        "/dev/kfd": "",
        "/boot/grub/grub.cfg": f"menuentry 'a' {{\nsearch --fs-uuid {SECRETS['uuid']}\n"
        f"linux /{SECRETS['machine id']}/vmlinuz-{RELEASE} root=UUID={SECRETS['uuid']} {EVERYTHING}\n}}\n",
        f"/boot/{SECRETS['machine id']}/vmlinuz-{RELEASE}": "",
        f"/lib/modules/{RELEASE}/modules.dep": "extra/amdgpu.ko.xz:\n",
        f"/lib/modules/{RELEASE}/extra/amdgpu.ko.xz": module_image.image(
            "amdgpu.ko.xz", RELEASE, "6.8.5", f"{SECRETS['host']} Secure Boot Module Signature key"
        ),
    }  # fmt: skip
    return lambda door=Host: node(files, door)


def opened(tmp_path, archive, name="a.tar.gz"):
    (tmp_path / name).write_bytes(archive)
    return str(tmp_path / name)


def test_without_masking_facts_are_equal(planted, tmp_path):
    facts = observe(planted())
    assert facts["devices"][0]["uuid"] == SECRETS["unique id"], "the tree shows its secrets"
    assert SECRETS["host"] in str(facts["drivers"]) + str(facts["kernel"])
    first = take(planted(Recorder), False)
    assert observe(Host(opened(tmp_path, first.archive))) == facts
    second = take(Recorder(opened(tmp_path, first.archive)), False)
    assert second.archive == first.archive


def ask(host, said):
    """A node on which a program was asked too."""
    host.ran["/usr/bin/tool", "-i", SECRETS["uuid"]] = (0, said, None)
    host.ran["/usr/bin/other", SECRETS["serial"]] = (1, "", f"other failed with exit status 1: {EVERYTHING}")
    return host


def test_no_secret_is_left(planted, tmp_path):
    said = f"Serial Number: {SECRETS['serial']}\n{EVERYTHING}\n"
    plain = gzip.decompress(take(ask(planted(Recorder), said), False).archive)
    for kind in set(SECRETS) - {"guid"}:
        assert SECRETS[kind].encode() in plain, f"{kind} is planted"
    taken = take(ask(planted(Recorder), said), True)
    text = gzip.decompress(taken.archive).decode("latin-1").lower()
    text += gzip.decompress(taken.archive).replace(b"\0", b"").decode("latin-1").lower()
    left = [kind for kind, word in SECRETS.items() if word.lower() in text]
    assert left == []
    module = taken.recorded.items[f"/lib/modules/{RELEASE}/extra/amdgpu.ko.xz"].content
    assert b"masked-host-1 Secure Boot" in lzma.decompress(module)
    assert SECRETS["host"].encode() not in lzma.decompress(module)
    assert set(taken.masked) >= {"uuid", "mac", "ipv4", "ipv6", "serial", "number", "host", "domain", "user", "secret"}
    assert taken.left_out == []


def test_masked_facts_are_equal_but_for_masks(planted, tmp_path):
    facts = observe(planted())
    masked = take(planted(Recorder), True)
    seen = observe(Host(opened(tmp_path, masked.archive)))
    changed = list(differences(facts, seen))
    assert {path.split(".")[0] for path, _old, _new in changed} <= {"devices", "nics", "storage", "kernel"}
    shown = re.compile(r"masked-|acce1e0000|ACCEL0|00000000000|192\.0\.2\.|2001:db8::|0200000000")
    assert changed
    for path, old, new in changed:
        assert shown.search(str(new)), (path, old, new)
    assert seen["devices"][0]["uuid"] == "acce1e0000000001"
    assert seen["devices"][0]["fabric"]["clique"].startswith("acce1e")
    assert seen["drivers"] == facts["drivers"]
    assert seen["kernel"]["next_boot"] == RELEASE


def differences(one, two, path=""):
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        for key in one:
            yield from differences(one[key], two[key], f"{path}.{key}".lstrip("."))
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for at, (left, right) in enumerate(zip(one, two)):
            yield from differences(left, right, f"{path}.{at}")
    elif one != two:
        yield path, one, two


def test_masking_twice_changes_nothing(planted, tmp_path):
    said = f"Serial Number: {SECRETS['serial']}\n{EVERYTHING}\n"
    first = take(ask(planted(Recorder), said), True)
    again = Recorder(opened(tmp_path, first.archive))
    again.ran.update(again.answers)
    second = take(again, True)
    assert second.archive == first.archive
    assert second.masked == {}


def test_masking_later_is_the_same(planted, tmp_path):
    plain = take(planted(Recorder), False)
    later = take(Recorder(opened(tmp_path, plain.archive)), True)
    at_once = take(planted(Recorder), True)
    names = ("/etc/group", "/etc/hostname", "/etc/passwd", "/proc/sys/kernel/hostname")
    assert {path: item for path, item in later.recorded.items.items() if path not in names} == {
        path: item for path, item in at_once.recorded.items.items() if path not in names
    }


def test_a_recording_has_the_same_bytes_every_time(planted):
    assert take(planted(Recorder), True).archive == take(planted(Recorder), True).archive


def version_on_disk(facts):
    (row,) = [row for row in facts["drivers"] if row["name"] == "amdgpu"]
    return row["on_disk"][0]["version"]


@pytest.mark.parametrize("kind", ["", ".gz", ".xz"])
def test_a_module_is_recorded_as_an_image(node, tmp_path, kind):
    """Neither the maker's program nor anything but version and signer is in the recording."""
    path = f"/lib/modules/{RELEASE}/extra/amdgpu.ko"
    image = module_image.image("amdgpu.ko", RELEASE, "6.8.5", "me")
    content = image[:64] + image[64:].replace(b"vermagic", b"verMAGIC")
    packed = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[kind](content)
    files = {
        **pci(GPU, "1002", "74a1", "038000"),
        "/proc/sys/kernel/osrelease": RELEASE,
        f"/lib/modules/{RELEASE}/modules.dep": f"extra/amdgpu.ko{kind}:\n",
        path + kind: packed,
    }
    host = node(files, Recorder)
    facts = observe(Host(host.root))
    taken = take(host, True)
    assert taken.recorded.items[path + kind].content not in (packed, b"")
    assert observe(Host(opened(tmp_path, taken.archive)))["kernel"] == facts["kernel"]
    assert version_on_disk(facts) == "6.8.5"


def test_a_damaged_packed_module_is_left_out_of_a_masked_recording(node, tmp_path):
    path = f"/lib/modules/{RELEASE}/extra/amdgpu.ko.xz"
    files = {
        **pci(GPU, "1002", "74a1", "038000"),
        "/proc/sys/kernel/osrelease": RELEASE,
        f"/lib/modules/{RELEASE}/modules.dep": "extra/amdgpu.ko.xz:\n",
        path: lzma.compress(b"no module")[:-9],
    }
    taken = take(node(files, Recorder), True)
    assert taken.left_out == [path]
    row = observe(Host(opened(tmp_path, taken.archive)))["kernel"]["modules"]
    assert "the module file: not recorded" in str(row)


def test_what_modinfo_said_is_asked_of_the_recording(node, tmp_path, monkeypatch):
    """Python before 3.14 cannot unpack Zstandard: the facts of a live node ask modinfo, and so do its recording's."""
    path = f"/lib/modules/{RELEASE}/extra/amdgpu.ko.zst"
    files = {
        **pci(GPU, "1002", "74a1", "038000"),
        "/proc/sys/kernel/osrelease": RELEASE,
        f"/lib/modules/{RELEASE}/modules.dep": "extra/amdgpu.ko.zst:\n",
        path: b"\x28\xb5\x2f\xfd packed",
    }

    def refuse(kind, read_at):
        raise ImportError(kind)

    module_files = (
        "ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.module_files.module_file.unpack"
    )
    monkeypatch.setattr(module_files, refuse)
    said = command.Ran(0, "version=6.8.5\0signer=me\0", None)
    monkeypatch.setattr(command, "_run", lambda argv, deadline, keep: said)
    host = node(files, Recorder)
    host.is_live, host._inside, host.answers = True, lambda real: host.root + real, host.ran
    facts = observe(host)
    assert version_on_disk(facts) == "6.8.5"
    taken = take(host, False)
    monkeypatch.undo()
    monkeypatch.setattr(module_files, refuse)
    assert observe(Host(opened(tmp_path, taken.archive))) == facts


def test_what_the_module_returns(planted):
    result = record(planted().root, True, 10.0)
    assert gzip.decompress(base64.b64decode(result.pop("archive")))
    assert result["commands"] == 0
    assert result["files"] > 20
    assert result["masked"]["user"] == 1
    assert sorted(result) == ["commands", "files", "left_out", "masked", "size_bytes"]
    assert record(planted().root, False, 10.0)["masked"] is None
