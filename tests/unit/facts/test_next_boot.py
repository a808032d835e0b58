# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which boot loader speaks for a node, and what it says."""

from __future__ import annotations

import errno
import os
import struct

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.next_boot import next_release

EFI = "/sys/firmware/efi/efivars"
GUID = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
HEAD = """
load_env
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
else
   set default="${saved_entry}"
fi
"""
MENU = f"""{HEAD}
menuentry A {{
  linux /boot/vmlinuz-6.2
}}
menuentry B {{
  linux /vmlinuz-6.1
}}
"""
FEDORA = f"{HEAD}blscfg\n"
ENVIRONMENT = "# GRUB Environment Block\nsaved_entry=1\n####"
SYSTEMD = {
    "/efi/loader/loader.conf": "default a-*\n",
    "/efi/loader/entries/a-6.1.conf": "linux /a/6.1/linux\n",
    "/boot/loader/entries/a-6.5.conf": "linux /a/6.5/linux\n",
    "/boot/loader/entries/z.conf": "linux /z/6.9/linux\n",
    "/boot/loader/entries/z.conf.bak": b"\xff",
}
STUB = "search.fs_uuid 1b2c root\nset prefix=($root)'/grub'\nconfigfile $prefix/grub.cfg\n"


def efi_text(name, text):
    return {f"{EFI}/{name}-{GUID}": b"\x06\0\0\0" + (text + "\0").encode("utf-16-le")}


def kernel_image(text):
    """The start of an x86 kernel image whose header says ``text``."""
    image = bytearray(0x400)
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", image, 0x20E, 0x100)
    return bytes(image[:0x300]) + text + bytes(50)


@pytest.mark.parametrize(
    ("files", "release"),
    [
        ({"/boot/grub/grub.cfg": MENU}, "6.2"),
        ({"/boot/grub2/grub.cfg": MENU, "/boot/grub2/grubenv": ENVIRONMENT}, "6.1"),
        # RHEL 8: the files lie in the EFI partition, /boot/grub2 only links to one of them
        (
            {
                "/boot/efi/EFI/redhat/grub.cfg": MENU,
                "/boot/efi/EFI/redhat/grubenv": ENVIRONMENT,
                "/boot/grub2/grubenv": ("link", "../efi/EFI/redhat/grubenv"),
            },
            "6.1",
        ),
        ({"/boot/efi/EFI/debian/grub.cfg": STUB, "/boot/grub/grub.cfg": MENU}, "6.2"),
        ({"/boot/grub/grub.cfg": MENU, "/boot/grub2": ("link", "grub")}, "6.2"),
        (
            {
                "/boot/grub2/grub.cfg": FEDORA,
                "/boot/grub2/grubenv": ENVIRONMENT,
                "/boot/loader/entries/m-6.1.conf": "linux /vmlinuz-6.1\nversion 6.1\n",
                "/boot/loader/entries/m-6.10.conf": "linux /vmlinuz-6.10\nversion 6.10\n",
                "/boot/loader/entries/readme": "",
            },
            "6.1",
        ),
        (SYSTEMD, "6.5"),
        ({**SYSTEMD, **efi_text("LoaderEntryOneShot", "z.conf")}, "6.9"),
        ({**SYSTEMD, **efi_text("LoaderEntryDefault", "a-6.1.conf")}, "6.1"),
        ({**SYSTEMD, "/boot/grub/grub.cfg": MENU, **efi_text("LoaderInfo", "systemd-boot 257")}, "6.5"),
        ({**SYSTEMD, "/boot/grub/grub.cfg": MENU, **efi_text("LoaderInfo", "GRUB 2.12")}, "6.2"),
        # images that do not carry their release in their name: a link, or the header
        (
            {
                "/boot/grub/grub.cfg": "menuentry A {\nlinux /vmlinuz\n}",
                "/vmlinuz": ("link", "boot/vmlinuz-6.1.0-50-amd64"),
                "/boot/vmlinuz-6.1.0-50-amd64": b"",
            },
            "6.1.0-50-amd64",
        ),
        (
            {
                "/boot/grub/grub.cfg": "menuentry A {\nlinux /vmlinuz-linux\n}",
                "/boot/vmlinuz-linux": kernel_image(b"6.10.4-arch2-1 (linux@archlinux) #1 SMP\0"),
            },
            "6.10.4-arch2-1",
        ),
    ],
)
def test_next_release(node, files, release):
    assert next_release(node(files)) == (release, None)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"/lib/modules/6.1/modules.dep": ""}, "no configuration of GRUB or systemd-boot in /boot, /efi or /boot/efi"),
        (
            {"/boot/loader/entries/a.conf": "linux /vmlinuz-6.1"},
            "no configuration of GRUB or systemd-boot in /boot, /efi or /boot/efi",
        ),
        (
            {"/boot/efi/EFI/debian/grub.cfg": STUB},
            "no configuration of GRUB or systemd-boot in /boot, /efi or /boot/efi",
        ),
        (
            {**SYSTEMD, "/boot/grub/grub.cfg": MENU},
            "both GRUB (/boot/grub/grub.cfg) and systemd-boot (/efi/loader/loader.conf) are here",
        ),
        (
            {"/boot/grub/grub.cfg": MENU, "/boot/grub2/grub.cfg": MENU, "/boot/grub2/grubenv": ENVIRONMENT},
            "grub.cfg in /boot/grub2 and in /boot/grub start different kernels",
        ),
        ({"/boot/grub/grub.cfg": "menuentry 'A' {"}, "boot loader configuration: the last 'menuentry' is not closed"),
        ({"/boot/grub/grub.cfg": b"menuentry \xff"}, "/boot/grub/grub.cfg: not UTF-8 text"),
        ({"/boot/grub2/grub.cfg": FEDORA}, "GRUB has no menu entry"),
        (
            {"/boot/grub2/grub.cfg": FEDORA, "/boot/loader/entries/a.conf": b"\xff"},
            "/boot/loader/entries/a.conf: not UTF-8 text",
        ),
        (
            {"/boot/grub2/grub.cfg": MENU, "/boot/grub2/grubenv": "saved_entry=1"},
            "boot loader configuration: grubenv is no GRUB environment block",
        ),
        (
            {"/boot/grub/grub.cfg": "menuentry A {\nlinux /vmlinuz-linux\n}", "/boot/vmlinuz-linux": b"HdrS"},
            "the next kernel image /vmlinuz-linux does not tell its release",
        ),
        (
            {
                "/boot/grub/grub.cfg": "menuentry A {\nlinux /vmlinuz-linux\n}",
                "/boot/vmlinuz-linux": kernel_image(b"6.10.4-arch2-1 (x)"),
                "/vmlinuz-linux": kernel_image(b"6.9.1-arch2-1 (x)"),
            },
            "the next kernel image /vmlinuz-linux does not tell its release",
        ),
        (
            {**SYSTEMD, "/efi/EFI/Linux/arch.efi": b""},
            "systemd-boot may choose a unified kernel image for 'a-*', which is not read",
        ),
        (
            {**SYSTEMD, "/efi/loader/entries/s.conf": "efi /shell.efi", **efi_text("LoaderEntryOneShot", "s.conf")},
            "the default of systemd-boot is an EFI program, no Linux kernel",
        ),
        ({**SYSTEMD, "/efi/loader/loader.conf": b"\xff"}, "/efi/loader/loader.conf: not UTF-8 text"),
    ],
)
def test_next_release_that_is_unknown(node, files, reason):
    assert next_release(node(files)) == (None, reason)


@pytest.mark.parametrize("name", ["grub.cfg", "grubenv", "a.conf"])
def test_next_release_behind_a_failing_file(node, name):
    class Failing(Host):
        def _read_raw(self, place, limit, offset=0):
            if place.endswith(name):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return super()._read_raw(place, limit, offset)

    files = {"/boot/grub2/grub.cfg": FEDORA, "/boot/grub2/grubenv": ENVIRONMENT, "/boot/loader/entries/a.conf": ""}
    answer = next_release(node(files, door=Failing))
    assert answer.value is None
    assert answer.reason.endswith(f"/{name}: cannot be read (Input/output error)")


def test_next_release_as_an_unprivileged_user(node):
    """Fedora keeps /boot/grub2 for root alone."""

    class Unprivileged(Host):
        def _read_raw(self, place, limit, offset=0):
            if "/boot/grub2/" in place:
                raise OSError(errno.EACCES, os.strerror(errno.EACCES))
            return super()._read_raw(place, limit, offset)

    files = {"/boot/grub2/grub.cfg": FEDORA, "/boot/loader/entries/a.conf": ""}
    assert next_release(node(files, door=Unprivileged)) == (None, "/boot/grub2/grub.cfg: permission denied")
