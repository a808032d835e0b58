# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What boot loaders share: entries of the Boot Loader Specification, and which kernel release an entry starts.

Sources, read 2026-11: UAPI Group, Boot Loader Specification; its keys are those of Fedora's and systemd's
entries, of which only the few that name a kernel matter here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, Optional


class Undecidable(Exception):
    """The configuration does not say what starts next; the text says why."""


class Snippet(NamedTuple):
    """A Boot Loader Specification entry: file name without ``.conf``, and its keys (the first of each)."""

    id: str
    fields: Mapping[str, str]


class Kernel(NamedTuple):
    """What an entry starts: the image's path as the loader sees it, and the release if a key names it."""

    image: str
    version: Optional[str]


DEVICE = re.compile(r"\A\([^)]*\)")  # ($root)/vmlinuz: which release it is does not hang on the device
_RELEASE = re.compile(r"\d+\.\d+[\w.+~-]*\Z")
IMAGE = re.compile(r"(?:vmlinu[xz]|kernel|bzImage|Image)-(\d+\.\d+[\w.+~-]*?)(?:\.efi)?(?:\.signed)?\Z")


def release_of(kernel: Kernel) -> str | None:
    """The kernel release that the image's path or else the entry's version names, or None.

    ``/boot/vmlinuz-6.1.0-1`` and ``/<token>/6.1.0-1/linux`` name one; ``/vmlinuz`` does not.
    """
    folder, _slash, name = kernel.image.rpartition("/")
    named = IMAGE.match(name)
    if named:
        return named.group(1)
    parent = folder.rpartition("/")[2]
    if _RELEASE.match(parent):
        return parent
    # Only as the last resort: OSTree numbers its entries in this key.
    if kernel.version is not None and _RELEASE.match(kernel.version):
        return kernel.version
    return None


def read_snippet(name: str, text: str) -> Snippet:
    """The entry in a file ``<name>`` of ``loader/entries``."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, *value = line.split(None, 1) or [""]
        if key and not key.startswith("#"):
            fields.setdefault(key, value[0].strip() if value else "")
    return Snippet(name[: -len(".conf")] if name.endswith(".conf") else name, fields)


def snippet_kernel(snippet: Snippet) -> Kernel | None:
    """What a snippet starts; None for an EFI program, which tells no release."""
    image = snippet.fields.get("linux")
    return Kernel(DEVICE.sub("", image), snippet.fields.get("version")) if image else None
