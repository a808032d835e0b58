# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Entries of the Boot Loader Specification, their order, and the one that systemd-boot starts.

Sources, read 2026-11: UAPI Group, Boot Loader Specification and Version Format Specification; systemd 257,
``loader.conf(5)`` and ``src/boot/boot.c``; ``blscfg.c`` of Fedora's GRUB 2.06.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
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
IMAGE = re.compile(r"(?:vmlinu[xz]|kernel|bzImage|Image)-(\d+\.\d+[\w.+~-]*?)(?:\.efi)?(?:\.signed)?\Z")
_RELEASE = re.compile(r"\d+\.\d+[\w.+~-]*\Z")
_TRIES = re.compile(r"\+(\d+)(?:-\d+)?\Z")
_VERSION_PART = re.compile(r"(?P<digits>[0-9]+)|(?P<letters>[A-Za-z]+)|[~^.-]")


def release_of(kernel: Kernel) -> str | None:
    """The kernel release that the image's path or else the entry's version names, or None.

    ``/boot/vmlinuz-6.1.0-1`` and ``/<token>/6.1.0-1/linux`` name one; ``/vmlinuz`` does not.
    """
    folder, _slash, name = kernel.image.rpartition("/")
    named = IMAGE.match(name)
    if named:
        return named.group(1)
    # The version only as the last resort: OSTree numbers its entries in this key.
    return next((one for one in (folder.rpartition("/")[2], kernel.version or "") if _RELEASE.match(one)), None)


def read_snippet(name: str, text: str) -> Snippet:
    """The entry in a file ``<name>.conf`` of ``loader/entries``."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, *value = line.split(None, 1) or [""]
        if key and not key.startswith("#"):
            fields.setdefault(key, value[0].strip() if value else "")
    return Snippet(name[: -len(".conf")], fields)


def snippet_kernel(snippet: Snippet) -> Kernel | None:
    """What a snippet starts; None for an EFI program, which tells no release."""
    image = snippet.fields.get("linux")
    return Kernel(DEVICE.sub("", image), snippet.fields.get("version")) if image else None


def version_key(text: str, marks: str) -> list[tuple[int, int | str]]:
    """A sort key for versions, oldest first: of rpm (GRUB's blscfg) with ``~`` for marks, of UAPI with ``~-^.``.

    Characters that are no marks only part what stands on their two sides.
    """
    key: list[tuple[int, int | str]] = []
    for part in _VERSION_PART.finditer(text):
        if part["digits"]:
            key.append((5, int(part["digits"])))
        elif part["letters"]:
            key.append((4, part["letters"]))
        elif part.group() in marks:
            key.append(({"~": -1, "-": 1, "^": 2, ".": 3}[part.group()], ""))
    return [*key, (0, "")]


def systemd_kernel(
    wishes: Sequence[str], loader_conf: str, snippets: Sequence[Snippet], has_unified_images: bool, saved: str
) -> Kernel | None:
    """What systemd-boot starts next; None for an EFI program.

    ``wishes`` are the EFI variables that come before ``loader.conf``, strongest first; ``saved`` is the
    one behind ``@saved``. Unified kernel images take part in the order but are not read, so with them
    only a pattern that an entry of a text file matches decides.
    """
    patterns = [wish.lower() for wish in wishes]
    for line in loader_conf.splitlines():
        words = line.lower().split(None, 1)
        if words[:1] == ["default"] and len(words) == 2:
            patterns.append(saved.lower() if words[1].strip() == "@saved" else words[1].strip())
    ordered = _systemd_order([one for one in snippets if "linux" in one.fields or "efi" in one.fields])
    for pattern in filter(None, patterns):
        if has_unified_images and not pattern.endswith(".conf"):
            raise Undecidable(f"systemd-boot may choose a unified kernel image for {pattern!r}, which is not read")
        for one in ordered:
            if fnmatch.fnmatchcase(_file_name(one), pattern):
                return snippet_kernel(one)
    if has_unified_images:
        raise Undecidable("systemd-boot sorts unified kernel images among its entries, which are not read")
    if not ordered:
        raise Undecidable("systemd-boot has no entries")
    return snippet_kernel(ordered[0])


def _file_name(snippet: Snippet) -> str:
    return _TRIES.sub("", snippet.id).lower() + ".conf"


def _systemd_order(snippets: Sequence[Snippet]) -> list[Snippet]:
    """As the menu has them: with tries left, by sort key (those without one last), newest first."""

    def age(text: str) -> list[tuple[int, int | str]]:
        if re.search(r"[~^.-][^0-9A-Za-z]", text):
            raise Undecidable(f"systemd-boot sorts by {text!r}, a version of unusual form")
        return version_key(text, "~-^.")

    def group(one: Snippet) -> tuple[bool, bool, str, str]:
        tries, sort_key = _TRIES.search(one.id), one.fields.get("sort-key")
        is_spent = tries is not None and int(tries.group(1)) == 0
        return is_spent, sort_key is None, sort_key or "", one.fields.get("machine-id", "") if sort_key else ""

    ordered = sorted(snippets, key=lambda one: age(_file_name(one)), reverse=True)
    ordered.sort(key=lambda one: age(one.fields.get("version", "") if "sort-key" in one.fields else ""), reverse=True)
    return sorted(ordered, key=group)
