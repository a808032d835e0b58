# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``security`` section of the facts: what decides whether a kernel module may be loaded."""

from __future__ import annotations

import re
from typing import Any

from ...host.door import Host
from ...model.answer import MISSING, Book

# EFI global variable GUID, UEFI specification 2.10 chapter 3.3 (read 2026-11).
_EFI_VARIABLES = "/sys/firmware/efi/efivars"
_SECURE_BOOT = f"{_EFI_VARIABLES}/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
# A kernel that was booted by EFI shows ``efi`` beside these. ``dmi`` is not among them: captures hold it alone.
_FIRMWARE_TABLES = ("acpi", "devicetree", "memmap")
_OTHER_SECURE_BOOT = (
    "/sys/firmware/devicetree/base/ibm,secure-boot",  # OpenPOWER
    "/sys/firmware/ipl/secure",  # IBM Z
)
_SWITCHES = {"Y": True, "N": False, "1": True, "0": False}
_LOCKDOWN_LEVELS = ("none", "integrity", "confidentiality")


def observe(host: Host) -> dict[str, Any]:
    """The ``security`` section (docs/facts.md).

    ``secure_boot`` false also means: not booted by EFI, or by firmware that cannot. ``lockdown`` is
    ``none``, ``integrity`` or ``confidentiality``.
    """
    book = Book()
    secure_boot, reason = _secure_boot(host)
    if reason is not None:
        book.miss("secure_boot", reason)
    return {
        "secure_boot": secure_boot,
        "lockdown": book.take("lockdown", host.read("/sys/kernel/security/lockdown"), _read_lockdown),
        "module_signatures_enforced": book.take(
            "module_signatures_enforced", host.read("/sys/module/module/parameters/sig_enforce"), _read_switch
        ),
        "unknown": book.unknown,
    }


def _secure_boot(host: Host) -> tuple[bool | None, str | None]:
    firmware = host.list("/sys/firmware")
    if not firmware.value:
        # Container engines hide the folder behind an empty one.
        return None, f"/sys/firmware: {firmware.reason or 'empty'}"
    for place in _OTHER_SECURE_BOOT:
        if host.exists(place):
            return None, f"secure boot of this platform is not read ({place})"
    if "efi" not in firmware.value:
        if any(table in firmware.value for table in _FIRMWARE_TABLES):
            return False, None
        return None, "/sys/firmware does not tell how the node was booted"
    content, reason = host.read_bytes(_SECURE_BOOT, 64)
    if content is None:
        if reason == MISSING and host.list(_EFI_VARIABLES).value:
            return False, None  # other variables are there: this firmware does not know Secure Boot
        return None, f"{_SECURE_BOOT}: {reason}"
    # Four bytes of attributes, then the value.
    if len(content) != 5 or content[4] > 1:
        return None, f"unexpected content {content[:8].hex()}"
    return content[4] == 1, None


def _read_lockdown(text: str) -> str:
    chosen = re.findall(r"\[(\w+)\]", text)
    if len(chosen) != 1 or chosen[0] not in _LOCKDOWN_LEVELS:
        raise ValueError("no lockdown levels")
    return str(chosen[0])


def _read_switch(text: str) -> bool:
    if text not in _SWITCHES:
        raise ValueError("neither Y nor N")
    return _SWITCHES[text]
