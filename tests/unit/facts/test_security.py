# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secure Boot, lockdown and signatures: a value only where the kernel or the firmware says so."""

from __future__ import annotations

import errno
import os

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import security

VARIABLES = "/sys/firmware/efi/efivars"
SECURE_BOOT = f"{VARIABLES}/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
LOCKDOWN = "/sys/kernel/security/lockdown"
SIGNATURES = "/sys/module/module/parameters/sig_enforce"


class Failing(Host):
    """Reading anything fails."""

    def _read_raw(self, place, limit, offset=0):
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_locked_down_node(node):
    seen = security.observe(
        node({SECURE_BOOT: b"\x06\0\0\0\x01", LOCKDOWN: "none [integrity] confidentiality\n", SIGNATURES: "Y\n"})
    )
    assert seen == {"secure_boot": True, "lockdown": "integrity", "module_signatures_enforced": True, "unknown": {}}


def test_an_open_node(node):
    seen = security.observe(
        node({SECURE_BOOT: b"\x06\0\0\0\0", LOCKDOWN: "[none] integrity confidentiality\n", SIGNATURES: "N\n"})
    )
    assert seen == {"secure_boot": False, "lockdown": "none", "module_signatures_enforced": False, "unknown": {}}


@pytest.mark.parametrize(
    ("files", "value", "reason"),
    [
        ({"/sys/firmware/acpi/tables/DSDT": b""}, False, None),
        ({"/sys/firmware/memmap/0/type": "x"}, False, None),
        ({"/sys/firmware/devicetree/base/model": "x"}, False, None),
        ({f"{VARIABLES}/Boot0000-8be4df61-93ca-11d2-aa0d-00e098032b8c": b""}, False, None),
        ({"/sys/kernel/x": ""}, None, "/sys/firmware: not there"),
        ({"/sys/firmware/dmi/tables/DMI": b""}, None, "/sys/firmware does not tell how the node was booted"),
        ({"/sys/firmware/efi/fw_platform_size": "64"}, None, f"{SECURE_BOOT}: not there"),
        ({SECURE_BOOT: b""}, None, "unexpected content "),
        ({SECURE_BOOT: b"\x06\0\0\0"}, None, "unexpected content 06000000"),
        ({SECURE_BOOT: b"\x06\0\0\0\x02"}, None, "unexpected content 0600000002"),
        ({SECURE_BOOT: b"\x06\0\0\0\x01\x01"}, None, "unexpected content 060000000101"),
        (
            {"/sys/firmware/devicetree/base/ibm,secure-boot": b"\0\0\0\x02"},
            None,
            "secure boot of this platform is not read (/sys/firmware/devicetree/base/ibm,secure-boot)",
        ),
    ],
)
def test_secure_boot(node, files, value, reason):
    seen = security.observe(node(files))
    assert (seen["secure_boot"], seen["unknown"].get("secure_boot")) == (value, reason)


def test_an_empty_firmware_folder_is_hidden_by_a_container_engine(node, tmp_path):
    host = node({"/sys/kernel/x": ""})
    (tmp_path / "node/sys/firmware").mkdir()
    seen = security.observe(host)
    assert (seen["secure_boot"], seen["unknown"]["secure_boot"]) == (None, "/sys/firmware: empty")


@pytest.mark.parametrize(
    ("path", "field", "content", "reason"),
    [
        (LOCKDOWN, "lockdown", "none integrity", "unexpected content 'none integrity'"),
        (LOCKDOWN, "lockdown", "[total] none", "unexpected content '[total] none'"),
        (LOCKDOWN, "lockdown", "[none] [integrity]", "unexpected content '[none] [integrity]'"),
        (LOCKDOWN, "lockdown", b"\xff", "not UTF-8 text"),
        (SIGNATURES, "module_signatures_enforced", "maybe", "unexpected content 'maybe'"),
        (SIGNATURES, "module_signatures_enforced", "", "unexpected content ''"),
    ],
)
def test_unexpected_content(node, path, field, content, reason):
    seen = security.observe(node({path: content}))
    assert (seen[field], seen["unknown"][field]) == (None, reason)


def test_files_that_cannot_be_read(node):
    files = {SECURE_BOOT: b"\x06\0\0\0\x01", LOCKDOWN: "[none]", SIGNATURES: "Y"}
    seen = security.observe(node(files, door=Failing))
    failed = "cannot be read (Input/output error)"
    assert seen == {
        "secure_boot": None,
        "lockdown": None,
        "module_signatures_enforced": None,
        "unknown": {
            "secure_boot": f"{SECURE_BOOT}: {failed}",
            "lockdown": failed,
            "module_signatures_enforced": failed,
        },
    }
