# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Entries of the Boot Loader Specification, and the kernel release that an image names."""

from __future__ import annotations

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import boot_entry
from ansible_collections.accelerator.ops.plugins.module_utils.codec.boot_entry import Kernel, Snippet

MACHINE = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"


@pytest.mark.parametrize(
    ("image", "version", "release"),
    [
        ("/boot/vmlinuz-6.1.0-50-amd64", None, "6.1.0-50-amd64"),
        ("/vmlinuz-5.14.0-427.59.1.el9_4.x86_64+rt", "7.7", "5.14.0-427.59.1.el9_4.x86_64+rt"),
        # OSTree: the key is the place in its list
        ("/ostree/rhcos-cf4e/vmlinuz-5.14.0-427.59.1.el9_4.x86_64", "1", "5.14.0-427.59.1.el9_4.x86_64"),
        (f"/{MACHINE}/6.10.4-200.fc40.x86_64/linux", None, "6.10.4-200.fc40.x86_64"),
        ("/vmlinuz-linux", "6.10.4-arch2-1", "6.10.4-arch2-1"),
        ("/boot/vmlinuz-6.8.0-40-generic.efi.signed", None, "6.8.0-40-generic"),
        ("/vmlinuz-linux", None, None),
        ("/vmlinuz", "1", None),
        ("/boot/vmlinuz-0-rescue-0a1b", "0-rescue-0a1b", None),
    ],
)
def test_release_of(image, version, release):
    assert boot_entry.release_of(Kernel(image, version)) == release


def test_read_snippet():
    text = "# a comment\ntitle\tFedora Linux\nversion 6.1\nlinux /vmlinuz-6.1\nlinux /second\n\noptions a=b c\nempty\n"
    assert boot_entry.read_snippet("x.conf", text) == Snippet(
        "x", {"title": "Fedora Linux", "version": "6.1", "linux": "/vmlinuz-6.1", "options": "a=b c", "empty": ""}
    )
