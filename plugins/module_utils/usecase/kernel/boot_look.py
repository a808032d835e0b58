# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the kernel's command line comes from on this node: GRUB with drop-ins, or entries in text files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Optional

from ...codec import boot_entry
from ...codec.grub import read_environment
from ...host.door import Host
from ...model.answer import Answer
from ..facts.next_boot import EFI_FOLDERS, ENTRIES, GRUB_FOLDERS
from .seen import GRUB_FILE, NOTES_FILE, Boot, Text

_MKCONFIG = ("/usr/sbin/grub-mkconfig", "/usr/sbin/grub2-mkconfig", "/usr/bin/grub-mkconfig")
_DROP_INS = "default/grub.d"
_DEFAULTS = "/etc/default/grub"
_LATER = "/etc/kernel/cmdline"
_BLS = re.compile(r"^\s*blscfg\s*$", re.MULTILINE)


def find(host: Host, following: Answer) -> tuple[Boot, list[str]]:
    """The boot loader's files, and the paths that may be written for them."""
    menu = _menu(host)
    loader = next((folder for folder in EFI_FOLDERS if host.exists(f"{folder}/loader/loader.conf")), None)
    mkconfig = next((path for path in _MKCONFIG if host.exists(path)), None)
    if menu is not None and _BLS.search(menu.text):
        return _entries(host, following, ("/boot",), menu.path)
    if menu is not None and loader is not None:
        reason = f"both GRUB ({menu.path}) and systemd-boot ({loader}/loader/loader.conf) are here"
        return Boot(reason=reason), [GRUB_FILE, NOTES_FILE]
    if loader is not None:
        return _entries(host, following, tuple(dict.fromkeys((loader, "/boot"))), None)
    if mkconfig is not None and _DROP_INS in (host.read(mkconfig).value or ""):
        return _grub(host, menu, mkconfig), [GRUB_FILE]
    places = "no entries in /boot/loader, /boot/efi/loader or /efi/loader"
    reason = f"no grub-mkconfig that reads /etc/default/grub.d, and {places}"
    return Boot(reason=reason), [GRUB_FILE, NOTES_FILE]


def _menu(host: Host) -> Optional[Text]:
    """The grub.cfg with the menu; in the EFI partition a distribution keeps one that only points to it."""
    below = [f"/boot/efi/EFI/{name}" for name in host.list("/boot/efi/EFI").value or ()]
    for folder in (*GRUB_FOLDERS, *below):
        text = host.read(f"{folder}/grub.cfg").value
        if text is not None and ("menuentry" in text or _BLS.search(text)):
            return Text(f"{folder}/grub.cfg", text)
    return None


def _grub(host: Host, menu: Optional[Text], mkconfig: str) -> Boot:
    folder = f"{_DEFAULTS}.d"
    names = [name for name in host.list(folder).value or () if name.endswith(".cfg")]
    paths = [path for path in (_DEFAULTS, *(f"{folder}/{name}" for name in names)) if path != GRUB_FILE]
    if menu is None:
        return Boot("grub", defaults=tuple(_texts(host, paths)))
    return Boot("grub", "", menu.path, (mkconfig, "-o", menu.path), tuple(_texts(host, paths)))


def _texts(host: Host, paths: Sequence[str]) -> Iterator[Text]:
    for path in paths:
        content = host.read_bytes(path)[0]
        if content is not None:
            yield Text(path, content.decode("utf-8", "replace"))


def _entries(host: Host, following: Answer, folders: Sequence[str], menu: Optional[str]) -> tuple[Boot, list[str]]:
    if following.value is None:
        reason = f"which entry boots next is not known ({following.reason})"
        return Boot(reason=reason, menu=menu), [NOTES_FILE]
    found = []
    for folder in folders:
        for name in host.list(f"{folder}/{ENTRIES}").value or ():
            path = f"{folder}/{ENTRIES}/{name}"
            if name.endswith(".conf") and _release(host, name, path) == following.value:
                found.append(path)
    if len(found) != 1:
        told = " and ".join(found) or "none"
        reason = f"of the entries in {', '.join(f'{one}/{ENTRIES}' for one in folders)} {told} start {following.value}"
        return Boot(reason=reason, menu=menu), [NOTES_FILE]
    later = _LATER if host.exists(_LATER) else None
    variables = {}
    if menu is not None:
        block = host.read(f"{menu.rpartition('/')[0]}/grubenv").value
        variables = read_environment(block) if block and block.startswith("# GRUB Environment") else {}
    boot = Boot("entries", "", menu, entry=found[0], later=later, variables=variables)
    return boot, [NOTES_FILE, found[0], *([later] if later else [])]


def _release(host: Host, name: str, path: str) -> Optional[str]:
    text = host.read(path).value
    kernel = None if text is None else boot_entry.snippet_kernel(boot_entry.read_snippet(name, text))
    return None if kernel is None else boot_entry.release_of(kernel)
