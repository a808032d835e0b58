# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What systemd-boot starts next, and that nothing is guessed where its configuration does not say."""

from __future__ import annotations

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import boot_entry
from ansible_collections.accelerator.ops.plugins.module_utils.codec.boot_entry import Snippet, Undecidable, release_of

# The example of the UAPI Group's version format specification, lowest first.
UAPI_ORDER = [
    *("122.1", "123~rc1-1", "123", "123-a", "123-a.1", "123-1", "123-1.1"),
    *("123^post1", "123.a-1", "123.1-1", "123a-1", "124-1"),
]


def test_order_of_versions():
    # systemd-analyze compare-versions of systemd 252 agreed on 4,000 random pairs (2026-12).
    keys = [boot_entry.version_key(one, "~-^.") for one in UAPI_ORDER]
    assert all(one < two for one, two in zip(keys, keys[1:]))


@pytest.mark.parametrize(("one", "two"), [("rc", "0"), ("0_110", "2"), ("0+10^", "01"), (".0_01", ".01_")])
def test_order_of_odd_versions(one, two):
    assert boot_entry.version_key(one, "~-^.") < boot_entry.version_key(two, "~-^.")


@pytest.mark.parametrize("version", ["~_12^", "^.", "^-", "1~~", "1..2"])
def test_versions_that_are_not_compared(version):
    """Where marks meet, systemd's order hangs on where its loop stands."""
    snippets = [Snippet("a", {"linux": "/t/6.1/linux", "version": version, "sort-key": "a"})]
    with pytest.raises(Undecidable, match="a version of unusual form"):
        boot_entry.systemd_kernel([], "", snippets, False, "")


SYSTEMD = [
    Snippet("a-6.1", {"linux": "/t/6.1/linux", "version": "6.1", "sort-key": "a", "machine-id": "m"}),
    Snippet("a-6.10+3", {"linux": "/t/6.10/linux", "version": "6.10", "sort-key": "a", "machine-id": "m"}),
    Snippet("a-6.11+0-3", {"linux": "/t/6.11/linux", "version": "6.11", "sort-key": "a", "machine-id": "m"}),
    Snippet("z-6.12", {"linux": "/t/6.12/linux", "version": "6.12"}),
    Snippet("empty", {"title": "neither kernel nor program", "sort-key": "0"}),
    Snippet("shell", {"efi": "/shell.efi", "sort-key": "zz"}),
]


@pytest.mark.parametrize(
    ("wishes", "loader_conf", "saved", "release"),
    [
        ([], "", None, "6.10"),  # 6.11 has failed too often, entries without a sort key come later
        ([], "timeout 3\ndefault  a-6.1.conf\n", None, "6.1"),
        ([], "default A-6.1*.conf", None, "6.10"),
        ([], "default z-*", None, "6.12"),
        ([], "default gone*\n#default z-*", None, "6.10"),
        ([], "default @saved", "z-6.12.conf", "6.12"),
        ([], "default @saved", None, "6.10"),
        (["z-6.12.conf"], "default a-6.1.conf", None, "6.12"),
        (["gone.conf", "a-6.1.conf"], "default z-*", None, "6.1"),
    ],
)
def test_systemd_boot(wishes, loader_conf, saved, release):
    kernel = boot_entry.systemd_kernel(wishes, loader_conf, SYSTEMD, False, saved or "")
    assert release_of(kernel) == release


def test_systemd_boot_default_that_is_no_kernel():
    assert boot_entry.systemd_kernel(["shell.conf"], "", SYSTEMD, False, "") is None


@pytest.mark.parametrize(
    ("wishes", "snippets", "has_unified_images", "reason"),
    [
        ([], [], False, "systemd-boot has no entries"),
        ([], SYSTEMD, True, "systemd-boot sorts unified kernel images among its entries, which are not read"),
        (["a-*"], SYSTEMD, True, "systemd-boot may choose a unified kernel image for 'a-*', which is not read"),
        (
            ["arch.efi"],
            SYSTEMD,
            True,
            "systemd-boot may choose a unified kernel image for 'arch.efi', which is not read",
        ),
    ],
)
def test_systemd_boot_that_cannot_be_decided(wishes, snippets, has_unified_images, reason):
    with pytest.raises(Undecidable) as caught:
        boot_entry.systemd_kernel(wishes, "", snippets, has_unified_images, "")
    assert str(caught.value) == reason


def test_systemd_boot_text_entry_beside_unified_images():
    kernel = boot_entry.systemd_kernel(["a-6.1.conf"], "", SYSTEMD, True, "")
    assert release_of(kernel) == "6.1"
