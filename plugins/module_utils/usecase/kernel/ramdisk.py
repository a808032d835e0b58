# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The initial RAM disk of the kernel that boots next: it holds copies of modprobe.d, and is made again after a change.

Sources, read 2026-12: update-initramfs(8) and lsinitramfs(8) of initramfs-tools 0.142, dracut(8) and lsinitrd(1) of
dracut 059. Only the image of that one kernel is made: the one before stays as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Optional

from ...codec.modprobe import HEADER
from ...host.door import Host
from ...model.errors import UnsupportedError
from ...model.plan import Derived, PathStep, Plan, Proof, file_step
from ..facts.next_boot import EFI_FOLDERS
from .seen import BLACKLIST_FILE, DRACUT_FILE, LOAD_FILE, OPTIONS_FILE, Ramdisk, Seen

_UPDATE = "/usr/sbin/update-initramfs"
_DRACUT = ("/usr/bin/dracut", "/usr/sbin/dracut")
_LISTERS = ("/usr/bin/lsinitramfs", "/usr/bin/lsinitrd")
_NAMES = ("initrd.img-{}", "initramfs-{}.img", "initrd-{}")
_ANY = re.compile(r"(?:initrd\.img-|initramfs-|initrd-)(\d+\.\d+[\w.+~-]*?)(?:\.img)?\Z")
_NO_NEXT = re.compile(r"kdump|rescue|fallback")

_COPIED = (OPTIONS_FILE, BLACKLIST_FILE)
_DRACUT_WHY = "an image of dracut that is made for any host has no file of /etc/modprobe.d unless it is named"

_LIST = 'out=$("$0" "$1") || exit 1; printf "%s\\n" "$out" | sed "s/^.* //; s,^\\./,,"'
"""Prints the paths in an image one a line: lsinitrd shows them as ``ls -l`` does, and links with their target."""


def find(host: Host, release: Optional[str], reason: str) -> Ramdisk:
    """The image of the kernel ``release`` and what makes it."""
    maker = next((path for path in (_UPDATE, *_DRACUT) if host.exists(path)), "")
    lister = next((path for path in _LISTERS if host.exists(path)), "")
    if release is not None:
        return Ramdisk(next(_images(host, release), None), maker, lister)
    found = [name for name in host.list("/boot").value or () if _ANY.match(name) and not _NO_NEXT.search(name)]
    return Ramdisk(None, maker, lister, f"which kernel boots next is not known ({reason})" if found else "")


def _images(host: Host, release: str) -> Iterator[str]:
    for name in _NAMES:
        path = f"/boot/{name.format(release)}"
        if host.exists(path):
            yield path
    for folder in EFI_FOLDERS:
        for token in host.list(folder).value or ():
            path = f"{folder}/{token}/{release}/initrd"
            if host.exists(path):
                yield path


def decide(seen: Seen, plan: Plan) -> Plan:
    """What makes the image again where a step of ``plan`` makes it stale."""
    ramdisk = seen.ramdisk
    is_dracut = ramdisk.maker in _DRACUT
    files = (*_COPIED, LOAD_FILE, DRACUT_FILE) if is_dracut else _COPIED
    after = {step.path: step.after.kind for step in plan.steps if isinstance(step, PathStep)}
    held = [path for path in _COPIED if after.get(path, seen.at(path).state.kind) == "file"]
    steps = file_step(DRACUT_FILE, seen.at(DRACUT_FILE), _dracut_text(held), _DRACUT_WHY) if is_dracut else ()
    changed = [path for path in (*after, *(step.path for step in steps)) if path in files]
    if not changed or (ramdisk.image is None and not ramdisk.reason):
        return Plan(steps)
    if ramdisk.image is None:
        raise _unsupported("the initial RAM disk", ramdisk.reason, "the image of one kernel")
    if not ramdisk.maker:
        raise _unsupported(ramdisk.image, "neither update-initramfs nor dracut is here", "a program that makes it")
    words = ("-f", ramdisk.image) if is_dracut else ("-u", "-k")
    make = (ramdisk.maker, *words, seen.next or "")
    proof = None
    if ramdisk.lister:
        lines = tuple((path.lstrip("/"), path) for path in _COPIED)
        proof = Proof(("sh", "-c", _LIST, ramdisk.lister, ramdisk.image), lines)
    why = f"it is made from {' and '.join(changed)}"
    return Plan(steps, (Derived(f"initramfs {seen.next}", (make,), why, proof),))


def _dracut_text(held: list[str]) -> Optional[bytes]:
    return f'{HEADER}install_optional_items+=" {" ".join(held)} "\n'.encode() if held else None


def _unsupported(subject: str, found: str, expected: str) -> UnsupportedError:
    return UnsupportedError("make again", subject, found, expected, "make it yourself, and set initramfs to never")
