# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel section: what is loaded, what is on disk for this kernel and the next, and what could not be seen."""

from __future__ import annotations

import errno
import gzip
import lzma
import os
import re
import struct
import sys

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host import command
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import kernel

NOW, NEXT = "6.1.0-47-amd64", "6.1.0-50-amd64"
NOW_FOLDER, NEXT_FOLDER = f"/lib/modules/{NOW}", f"/lib/modules/{NEXT}"
NOT_SIGNED = "the module file is not signed"


def module(version=None, signer=None):
    """A module file; its signature is of the kind of old kernels, which names the signer in plain text."""
    modinfo = b"license=GPL\0" + (b"" if version is None else b"version=" + version.encode() + b"\0")
    names = b"\0.modinfo\0.shstrtab\0"
    headers = bytes(64) + struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0, 64, len(modinfo), 0, 0, 1, 0)
    headers += struct.pack("<IIQQQQIIQQ", 10, 3, 0, 0, 64 + len(modinfo), len(names), 0, 0, 1, 0)
    table = 64 + len(modinfo) + len(names)
    head = (
        b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, 3, 2)
    )
    end = b""
    if signer is not None:
        end = signer.encode() + struct.pack(">BBBBB3xI", 0, 0, 1, len(signer), 0, 0) + b"~Module signature appended~\n"
    return head + modinfo + names + headers + end


BASE = {
    "/proc/sys/kernel/osrelease": NOW + "\n",
    "/proc/cmdline": f"BOOT_IMAGE=/boot/vmlinuz-{NOW} root=/dev/sda1 quiet\n",
    "/proc/sys/kernel/tainted": "12289\n",
    "/proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
    "/proc/modules": "nvidia 56823808 0 - Live 0x0000000000000000 (POE)\namdgpu 1 0 - Live 0x0\n",
    "/boot/grub/grub.cfg": f"menuentry A {{\nlinux /boot/vmlinuz-{NEXT}\n}}\n",
    "/sys/module/nvidia/version": "580.95.05\n",
    "/sys/module/nvidia/initstate": "live\n",
    "/sys/module/amdgpu/initstate": "live\n",
    f"{NOW_FOLDER}/modules.dep": "updates/dkms/nvidia.ko:\nkernel/drivers/amdgpu.ko.xz: kernel/ttm.ko.xz\n",
    f"{NOW_FOLDER}/modules.builtin": "kernel/drivers/pci/vfio-pci.ko\n",
    f"{NOW_FOLDER}/modules.builtin.modinfo": b"vfio_pci.license=GPL\0vfio_pci.version=0.2\0",
    f"{NOW_FOLDER}/updates/dkms/nvidia.ko": module("580.95.05", "DKMS key"),
    f"{NOW_FOLDER}/kernel/drivers/amdgpu.ko.xz": lzma.compress(module(None, "Build time key"), check=lzma.CHECK_CRC32),
    f"{NEXT_FOLDER}/modules.dep": "updates/dkms/nvidia.ko.gz:\n",
    f"{NEXT_FOLDER}/modules.builtin": "",
    f"{NEXT_FOLDER}/updates/dkms/nvidia.ko.gz": gzip.compress(module("590.44"), mtime=0),
}


def without(*paths):
    return {path: content for path, content in BASE.items() if not path.startswith(paths)}


def one(host, name):
    (found,) = kernel.observe(host, [name])["modules"]
    assert found["name"] == name
    return found


def failing(pattern, number=errno.EIO):
    class Failing(Host):
        def _read_raw(self, place, limit, offset=0):
            if re.search(pattern, place):
                raise OSError(number, os.strerror(number))
            return super()._read_raw(place, limit, offset)

    return Failing


def test_the_whole_section(node):
    assert kernel.observe(node(BASE), ["vfio-pci", "nvidia", "amdgpu", "nvidia"]) == {
        "release": NOW,
        "next_boot": NEXT,
        "command_line": f"BOOT_IMAGE=/boot/vmlinuz-{NOW} root=/dev/sda1 quiet",
        "taint": {"value": 12289, "flags": ["P", "O", "E"]},
        "cgroup_version": 2,
        "modules": [
            {
                "name": "amdgpu",
                "loaded": True,
                "version": None,
                "on_disk": [
                    {
                        "kernel": NOW,
                        "path": f"{NOW_FOLDER}/kernel/drivers/amdgpu.ko.xz",
                        "version": None,
                        "signer": "Build time key",
                    }
                ],
                "unknown": {
                    "version": "the module states no version",
                    "on_disk.0.version": "the module file states no version",
                },
            },
            {
                "name": "nvidia",
                "loaded": True,
                "version": "580.95.05",
                "on_disk": [
                    {
                        "kernel": NOW,
                        "path": f"{NOW_FOLDER}/updates/dkms/nvidia.ko",
                        "version": "580.95.05",
                        "signer": "DKMS key",
                    },
                    {
                        "kernel": NEXT,
                        "path": f"{NEXT_FOLDER}/updates/dkms/nvidia.ko.gz",
                        "version": "590.44",
                        "signer": None,
                    },
                ],
                "unknown": {"on_disk.1.signer": NOT_SIGNED},
            },
            {
                "name": "vfio_pci",
                "loaded": True,
                "version": None,
                "on_disk": [{"kernel": NOW, "path": None, "version": "0.2", "signer": None}],
                "unknown": {
                    "version": "the module states no version",
                    "on_disk.0.path": "built into the kernel",
                    "on_disk.0.signer": "built into the kernel",
                },
            },
        ],
        "unknown": {},
    }


def test_an_empty_root(node):
    section = kernel.observe(node({"/etc/hostname": "x"}), ["nvidia"])
    assert [section[key] for key in ("release", "next_boot", "command_line", "taint", "cgroup_version")] == [None] * 5
    assert section["unknown"] == {
        "release": "not there",
        "next_boot": "no configuration of GRUB or systemd-boot in /boot, /efi or /boot/efi",
        "command_line": "not there",
        "taint": "not there",
        "cgroup_version": "not there",
    }
    assert section["modules"] == [
        {
            "name": "nvidia",
            "loaded": None,
            "version": None,
            "on_disk": None,
            "unknown": {
                "loaded": "/proc/modules: not there",
                "version": "/proc/modules: not there",
                "on_disk": "the release of no kernel is known",
            },
        }
    ]


@pytest.mark.parametrize(
    ("files", "value", "reason"),
    [
        ({"/sys/fs/cgroup/cgroup.controllers": "cpu io"}, 2, None),
        ({"/proc/mounts": "tmpfs /sys/fs/cgroup tmpfs ro 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw 0 0"}, 1, None),
        ({"/proc/mounts": "proc /proc proc rw 0 0"}, None, "no cgroup file system is mounted at /sys/fs/cgroup"),
        ({"/proc/mounts": "nonsense"}, None, "unexpected content 'nonsense'"),
        ({"/proc/mounts": b"\xff"}, None, "not UTF-8 text"),
    ],
)
def test_cgroup_version(node, files, value, reason):
    section = kernel.observe(node(files), [])
    assert (section["cgroup_version"], section["unknown"].get("cgroup_version")) == (value, reason)


@pytest.mark.parametrize(
    ("path", "field", "content", "reason"),
    [
        ("/proc/sys/kernel/osrelease", "release", "../../etc", "unexpected content '../../etc'"),
        ("/proc/sys/kernel/osrelease", "release", b"\xff", "not UTF-8 text"),
        ("/proc/sys/kernel/tainted", "taint", "yes", "unexpected content 'yes'"),
        ("/proc/cmdline", "command_line", b"\xff", "not UTF-8 text"),
    ],
)
def test_unexpected_content(node, path, field, content, reason):
    section = kernel.observe(node({**BASE, path: content}), [])
    assert (section[field], section["unknown"]) == (None, {field: reason})


@pytest.mark.parametrize(
    ("files", "loaded", "reasons"),
    [
        (without("/proc/modules"), None, {"loaded": "/proc/modules: not there", "version": "/proc/modules: not there"}),
        ({**BASE, "/proc/modules": "xe 1 0 - Live 0x0"}, False, {"version": "not loaded"}),
        ({**BASE, "/proc/modules": "xe 1 0 - Unloading 0x0"}, False, {"version": "not loaded"}),
        ({**BASE, "/proc/modules": "xe"}, None, {"loaded": "/proc/modules: unexpected content 'xe'"}),
    ],
)
def test_loaded_by_the_module_list(node, files, loaded, reasons):
    name = "amdgpu" if "xe" not in files.get("/proc/modules", "xe") else "nvidia"
    files = {path: content for path, content in files.items() if not path.startswith("/sys/module")}
    found = one(node(files), name)
    assert found["loaded"] is loaded
    assert found["version"] is None
    assert reasons.items() <= found["unknown"].items()


def test_loaded_but_its_folder_was_not_captured(node):
    found = one(node(without("/sys/module")), "nvidia")
    assert (found["loaded"], found["version"]) == (True, None)
    assert found["unknown"]["version"] == "/sys/module/nvidia: not there"


@pytest.mark.parametrize(
    ("files", "loaded"),
    [
        ({"/sys/module/xe/parameters/x": "1"}, True),  # built in: a folder, but no state
        ({"/sys/module/xe/initstate": "live\n"}, True),
        ({"/sys/module/xe/initstate": "coming\n"}, True),
        ({"/sys/module/xe/initstate": "going\n"}, False),
    ],
)
def test_loaded_by_its_folder(node, files, loaded):
    assert one(node({**BASE, **files}), "xe")["loaded"] is loaded


def test_without_a_module_list_only_the_running_kernel_may_say_that_a_module_is_not_there(node):
    host = node(without("/proc/modules"))
    host.is_live, host._inside = True, lambda real: host.root + real
    assert one(host, "xe")["loaded"] is False


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ({f"{NOW_FOLDER}/extra/nvidia/xe.ko": module("1")}, f"{NOW_FOLDER}/extra/nvidia/xe.ko"),
        ({f"{NOW_FOLDER}/updates/xe.ko": module("1")}, f"{NOW_FOLDER}/updates/xe.ko"),
        (
            {
                f"{NOW_FOLDER}/weak-updates/xe.ko": ("link", "/lib/modules/6.0/extra/xe.ko"),
                "/lib/modules/6.0/extra/xe.ko": module("1"),
            },
            f"{NOW_FOLDER}/weak-updates/xe.ko",
        ),
        (
            {f"{NOW_FOLDER}/modules.dep": "weak-updates/xe.ko:", f"{NOW_FOLDER}/weak-updates/xe.ko": module("1")},
            f"{NOW_FOLDER}/weak-updates/xe.ko",
        ),
        (
            {
                "/etc/modprobe.d/xe.conf": "install xe modprobe -i xe-current",
                f"{NOW_FOLDER}/modules.dep": "updates/dkms/xe-current.ko:",
                f"{NOW_FOLDER}/updates/dkms/xe-current.ko": module("1"),
            },
            f"{NOW_FOLDER}/updates/dkms/xe-current.ko",
        ),
    ],
)
def test_places_on_disk(node, files, path):
    found = one(node({**BASE, **files}), "xe")
    assert found["on_disk"] == [{"kernel": NOW, "path": path, "version": "1", "signer": None}]


def test_not_on_disk(node):
    found = one(node(BASE), "xe")
    assert (found["on_disk"], found["unknown"]) == ([], {"version": "not loaded"})


def test_modules_below_usr(node):
    files = {path.replace("/lib/", "/usr/lib/"): content for path, content in BASE.items()}
    assert one(node(files), "nvidia")["on_disk"][0]["path"] == f"/usr{NOW_FOLDER}/updates/dkms/nvidia.ko"


def test_folders_that_cannot_be_read(node):
    found = one(node(without("/lib/modules")), "nvidia")
    assert found["on_disk"] is None
    assert found["unknown"] == {"on_disk": f"{NOW_FOLDER}: not there; {NEXT_FOLDER}: not there"}


def test_the_folder_of_the_next_kernel_cannot_be_read(node):
    found = one(node(without(NEXT_FOLDER)), "nvidia")
    assert found["on_disk"][1] == {"kernel": NEXT, "path": None, "version": None, "signer": None}
    assert found["unknown"] == {
        f"on_disk.1.{field}": f"{NEXT_FOLDER}: not there" for field in ("path", "version", "signer")
    }


def test_without_an_index_a_module_may_be_anywhere(node):
    found = one(node(without(f"{NOW_FOLDER}/modules.dep")), "xe")
    assert found["on_disk"][0]["path"] is None
    assert found["unknown"]["on_disk.0.path"] == f"{NOW_FOLDER}/modules.dep: not there"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the module file is no ELF file"),
        (module("580.95.05")[:150], "the module file is cut off or damaged (section headers)"),
        (module("1").replace(b"version=1", b"version=\xff"), "version is not UTF-8 text"),
    ],
)
def test_damaged_file(node, content, reason):
    found = one(node({**BASE, f"{NOW_FOLDER}/updates/dkms/nvidia.ko": content}), "nvidia")
    assert found["on_disk"][0]["version"] is None
    assert found["unknown"]["on_disk.0.version"] == reason


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("nvidia.ko.gz", gzip.compress(module("1"), mtime=0)[:-20], "the .gz file is cut off"),
        ("nvidia.ko.xz", b"\xff" * 100, "the .xz file is damaged (Input format not supported by decoder)"),
        ("nvidia.ko.lz4", b"", "a .lz4 file is not read"),
    ],
)
def test_damaged_packed_file(node, name, content, reason):
    files = {**BASE, f"{NOW_FOLDER}/modules.dep": f"updates/{name}:", f"{NOW_FOLDER}/updates/{name}": content}
    found = one(node(files), "nvidia")
    assert found["on_disk"][0] == {
        "kernel": NOW,
        "path": f"{NOW_FOLDER}/updates/{name}",
        "version": None,
        "signer": None,
    }
    assert found["unknown"]["on_disk.0.version"] == found["unknown"]["on_disk.0.signer"] == reason


def test_file_that_went_away(node):
    files = {**BASE, f"{NOW_FOLDER}/modules.dep": "updates/nvidia.ko:\nupdates/amdgpu.ko.xz:"}
    section = kernel.observe(node(files), ["nvidia", "amdgpu"])
    for found in section["modules"]:
        assert found["unknown"]["on_disk.0.version"] == "the module file: not there"


@pytest.mark.parametrize("name", ["nvidia", "amdgpu"])
def test_file_that_fails(node, name):
    found = one(node(BASE, door=failing(rf"/{name}\.ko")), name)
    assert found["on_disk"][0]["signer"] is None
    assert found["unknown"]["on_disk.0.signer"] == "the module file: cannot be read (Input/output error)"


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ENOENT])
def test_nothing_can_be_read(node, number):
    section = kernel.observe(node(BASE, door=failing(".", number)), ["nvidia", "amdgpu", "xe"])
    values = {key: value for key, value in section.items() if key not in ("modules", "unknown")}
    assert set(values.values()) == {None}
    assert section["unknown"].keys() == values.keys()
    for found in section["modules"]:
        assert {key for key, value in found.items() if value is None} <= found["unknown"].keys()


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python has Zstandard")
def test_packed_for_a_newer_python(node, monkeypatch):
    path = f"{NOW_FOLDER}/updates/nvidia.ko.zst"
    host = node({**BASE, f"{NOW_FOLDER}/modules.dep": "updates/nvidia.ko.zst:", path: b"\x28\xb5\x2f\xfd"})
    seen = one(host, "nvidia")
    assert seen["unknown"]["on_disk.0.version"] == "this Python cannot unpack .zst files"

    asked = []
    answers = [
        command.Ran(0, "filename=x\0license=NVIDIA\0version=580.95.05\0signer=Canonical\0", None),
        command.Ran(0, "filename=x\0license=NVIDIA\0", None),
        command.Ran(None, "", "modinfo is not installed"),
    ]

    def run(_host, argv, _deadline_seconds):
        asked.append(argv)
        return answers[len(asked) - 1]

    monkeypatch.setattr(command, "run", run)
    host.is_live, host._inside = True, lambda real: host.root + real
    rows = [one(host, "nvidia") for _answer in answers]
    assert asked == [["modinfo", "-0", path]] * 3
    assert rows[0]["on_disk"][0] == {"kernel": NOW, "path": path, "version": "580.95.05", "signer": "Canonical"}
    assert rows[1]["unknown"]["on_disk.0.version"] == "the module file states no version"
    assert rows[1]["unknown"]["on_disk.0.signer"] == NOT_SIGNED
    reason = "this Python cannot unpack .zst files, and modinfo is not installed"
    assert rows[2]["unknown"]["on_disk.0.version"] == reason


ASKED_NONE = dict.fromkeys(("user_space", "fabric_manager"), "only the maker's tool tells it, and none is asked")


def test_drivers(node):
    section = kernel.observe(node(BASE), ["nvidia", "amdgpu"])
    assert kernel.drivers(section, {"nvidia": "nvidia", "amdgpu": "amd", "habanalabs": "habana"}) == [
        {
            "name": "amdgpu",
            "maker": "amd",
            "loaded": None,
            "on_disk": [{"kernel": NOW, "version": None}],
            "user_space": None,
            "fabric_manager": None,
            "mismatch": None,
            "unknown": {
                **ASKED_NONE,
                "loaded": "the module states no version",
                "on_disk.0.version": "the module file states no version",
                "mismatch": "no loaded version (the module states no version)",
            },
        },
        {
            "name": "habanalabs",
            "maker": "habana",
            "loaded": None,
            "on_disk": None,
            "user_space": None,
            "fabric_manager": None,
            "mismatch": None,
            "unknown": {
                **ASKED_NONE,
                "loaded": "the module was not looked for",
                "on_disk": "the module was not looked for",
                "mismatch": "the module was not looked for",
            },
        },
        {
            "name": "nvidia",
            "maker": "nvidia",
            "loaded": "580.95.05",
            "on_disk": [{"kernel": NOW, "version": "580.95.05"}, {"kernel": NEXT, "version": "590.44"}],
            "user_space": None,
            "fabric_manager": None,
            "mismatch": None,
            "unknown": ASKED_NONE,
        },
    ]


@pytest.mark.parametrize(
    ("files", "mismatch", "reason"),
    [
        (
            {f"{NOW_FOLDER}/updates/dkms/nvidia.ko": module("575.57.08")},
            {"loaded": "580.95.05", "on_disk": "575.57.08"},
            None,
        ),
        ({f"{NOW_FOLDER}/updates/dkms/nvidia.ko": module()}, None, "no version on disk for the running kernel"),
        ({f"{NOW_FOLDER}/modules.dep": ""}, None, "no version on disk for the running kernel"),
        ({"/proc/sys/kernel/osrelease": b"\xff"}, None, "no version on disk for the running kernel"),
    ],
)
def test_mismatch(node, files, mismatch, reason):
    base = without(f"{NOW_FOLDER}/updates") if f"{NOW_FOLDER}/modules.dep" in files else BASE
    section = kernel.observe(node({**base, **files}), ["nvidia"])
    (row,) = kernel.drivers(section, {"nvidia": "nvidia"})
    assert (row["mismatch"], row["unknown"].get("mismatch")) == (mismatch, reason)


def test_this_very_machine():
    section = kernel.observe(Host("/"), ["nvidia", "no_such_module"])
    assert section["release"] == os.uname().release
    assert [found["name"] for found in section["modules"]] == ["no_such_module", "nvidia"]
    assert section["modules"][0]["loaded"] in (False, None)
    assert all(section[key] is not None or key in section["unknown"] for key in section)
