# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which entry GRUB starts next, from a grub.cfg as grub-mkconfig writes it.

This is no interpreter. It knows the forms that ``util/grub.d`` of GRUB 2.12 has with the patches of Debian, Ubuntu,
Fedora, RHEL and SUSE (read 2026-11), line by line; what has another form is refused with the reason. An entry within
a condition may or may not be there: an answer that hangs on it is refused too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Optional

from ..model.answer import MISSING, Answer
from .boot_entry import DEVICE, IMAGE, Kernel, Snippet, Undecidable, snippet_kernel, version_key

_HEADER = re.compile(
    r'if \[ "\$\{next_entry\}" \] ?; then\s+set default="\$\{next_entry\}"\n(?:(?!.*default=).*\n)*?'
    r'\s*else\s+set default="(\$\{saved_entry\}|[^"$\\]*)"\s+fi\n'
)
_COUNTER = re.compile(  # of Fedora and RHEL: after too many failed starts, the second entry
    r'if \[ -n "\$\{boot_counter\}" -a "\$\{boot_success\}" = "0" \]; then\s+(?:#.*\s+)*'
    r'if +\[ "\$\{boot_counter\}" = "0" -o "\$\{boot_counter\}" = "-1" \]; then\s+set default=1\n'
)
_SETS_DEFAULT = re.compile(r"(?:^|[\s;])default=|[\s=]default$|^(?:eval|for|while|until)\s")
_SETS_WISH = re.compile(r"\b(?:next|saved)_entry=(.*)")
_WISHES = ("", '"${prev_entry}"', '"${prev_saved_entry}"', '"${chosen}"')
_ENVIRONMENTS = ("load_env", "load_env -f ${config_directory}/grubenv", 'load_env -f "${env_block}"')
_IF, _FI = (re.compile(rf"(?:^|[;\s]){word}(?=[;\s]|\Z)") for word in ("if", "fi"))
_OPENS = re.compile(r"(menuentry|submenu|function)\s+(.*)\{\Z")
_WORD = re.compile(r"'((?:[^']|'\\'')*)'|\"([^\"$\\]*)\"|([^\s'\"$\\]+)|\S+")
_KERNEL = re.compile(r"(?:^|[\s;])(linux(?:16|efi)?|module2?|source|configfile)\s+(?:--\w+\s+)*([^\s;]+)")
_SOURCE = re.compile(r"(?:^|[\s;])(?:source|configfile|\.)\s+([^\s;]+)")
_BESIDE = re.compile(r"\A\$(\{)?(?:prefix|config_directory)(?(1)\})")
_MENU = re.compile(r"\b(?:menuentry|submenu)\s")
_MATTERS = re.compile("menuentry|default|_entry|source|configfile|blscfg|eval")
_SNAPSHOTS = '"/.snapshots/grub-snapshot.cfg"'  # of SUSE: one submenu and nothing else


class Entry(NamedTuple):
    """A menu entry: its title and id (none where unknown), what it starts (None: unknown), a submenu's entries."""

    names: Sequence[str]
    is_certain: bool
    kernels: list[Optional[Kernel]]
    entries: Optional[list[Entry]]


_UNREAD = Entry((), False, [], None)


def next_kernel(
    text: str, folder: str, read: Callable[[str], Answer], snippets: Callable[[], Sequence[Snippet]]
) -> Kernel:
    """What the grub.cfg in ``folder`` starts without a key press. Raises Undecidable, ValueError.

    ``read`` gives the files beside it, ``snippets`` the entries that ``blscfg`` lists.
    """
    entries = _entries(text, folder, read, snippets)
    environment = read(f"{folder}/grubenv")
    if environment.value is None and environment.reason != MISSING:
        raise Undecidable(f"{folder}/grubenv: {environment.reason}")
    wish = _wish(text, {} if environment.value is None else read_environment(environment.value))
    for part in re.split(r"(?<!>)>(?!>)", wish):
        entry = _choose(entries, part.replace(">>", ">").strip())
        if entry.entries is None:
            return _only_kernel(entry)
        entries = entry.entries
    raise Undecidable(f"the default of GRUB is the submenu {entry.names[0]!r}, which waits for a key")


def _wish(text: str, variables: Mapping[str, str]) -> str:
    header = _HEADER.search(text)
    if header is None:
        return ""
    if variables.get("env_block"):
        raise Undecidable("grub.cfg reads an environment block that is not beside it")
    has_failed = variables.get("boot_counter") in ("0", "-1") and variables.get("boot_success") == "0"
    if has_failed and _COUNTER.search(text):
        return "1"
    is_again = variables.get("initrdfail") == "1" and 'set next_entry="${prev_entry}"' in text  # Ubuntu
    wish = variables.get("prev_entry" if is_again else "next_entry")
    return wish or (variables.get("saved_entry", "") if header[1].startswith("$") else header[1])


def _entries(
    text: str, folder: str, read: Callable[[str], Answer], snippets: Callable[[], Sequence[Snippet]]
) -> list[Entry]:
    """The menu. Raises Undecidable where a line has a form that grub-mkconfig does not write and that matters."""
    menus: list[list[Entry]] = [[]]
    blocks: list[str] = []  # what the open blocks are: menuentry, submenu, function, if
    settings = 0
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if line.startswith(("#", "echo")) or not line:
            continue
        opens = _OPENS.match(line)
        if "menuentry" in blocks:
            menus[-1][-1].kernels.extend(_kernels(line))
        else:
            settings += bool(_SETS_DEFAULT.search(line))
            is_odd = line.startswith("load_env") and line not in _ENVIRONMENTS
            if is_odd or (not opens and _MENU.search(line)) or not {*_SETS_WISH.findall(line)} <= {*_WISHES}:
                raise Undecidable(f"line {number} of grub.cfg has a form that is not read")
            for path in _SOURCE.findall(line):
                if path == _SNAPSHOTS:
                    menus[-1].append(_UNREAD)
                else:
                    _refuse_what_matters(re.sub(_BESIDE, folder, path), folder, read)
        change = len(_IF.findall(line)) - len(_FI.findall(line))
        if line == "}" or change < 0:
            for end in ["}"] if line == "}" else ["fi"] * -change:
                if not blocks or (blocks[-1] == "if") != (end == "fi"):
                    raise ValueError(f"unexpected {end!r} in line {number}")
                if blocks.pop() == "submenu":
                    menus.pop()
        elif change > 0:
            blocks += ["if"] * change
        elif opens:
            is_certain = {*blocks} <= {"submenu"}
            blocks.append(opens[1])
            if opens[1] != "function":
                submenu: Optional[list[Entry]] = [] if opens[1] == "submenu" else None
                names = _names(opens[2])
                menus[-1].append(Entry(names, bool(names) and is_certain, [], submenu))
                menus += [submenu] if submenu is not None else []
        elif line == "blscfg":
            for snippet in sorted(snippets(), key=_grub_age, reverse=True):
                kernel = snippet_kernel(snippet)
                if kernel is not None:
                    names = (snippet.fields.get("title", snippet.id), snippet.id)
                    menus[-1].append(Entry(names, not blocks, [kernel], None))
        elif line == "uki":
            menus[-1].append(_UNREAD)
    if blocks:
        raise ValueError(f"the last {blocks[-1]!r} is not closed")
    if settings != 2 * bool(_HEADER.search(text)) + bool(_COUNTER.search(text)):
        raise Undecidable("grub.cfg sets its default in a form that is not read")
    return menus[0]


def _refuse_what_matters(path: str, folder: str, read: Callable[[str], Answer]) -> None:
    """A file that is read along may hold what grub2-setpassword writes, and no word of the menu."""
    beside = read(path) if path.startswith(folder) else Answer(None, "not beside it")
    if beside.reason != MISSING and (beside.value is None or _MATTERS.search(beside.value)):
        raise Undecidable(f"grub.cfg reads {path}: {beside.reason or 'what it does is not followed'}")


def _names(text: str) -> Sequence[str]:
    """Title and id of a menu entry, none where GRUB has to work them out."""
    words = list(_WORD.finditer(text))
    at = next((at for at, word in enumerate(words) if word.group() in ("--id", "$menuentry_id_option")), len(words))
    named = words[:1] + words[at + 1 : at + 2]
    if not all(word.lastindex for word in named):
        return ()
    return [word.group(word.lastindex or 0).replace("'\\''", "'") for word in named]


def _kernels(line: str) -> list[Optional[Kernel]]:
    """What a line of an entry starts. A module (of Xen) may be a kernel or an initial RAM disk."""
    found: list[Optional[Kernel]] = []
    for command, word in _KERNEL.findall(line):
        path = DEVICE.sub("", word)
        if command in ("source", "configfile") or re.search(r"[$'\"\\]", path):
            found.append(None)
        elif command.startswith("linux") or IMAGE.match(path.rpartition("/")[2]):
            found.append(Kernel(path, None))
    return found


def _choose(entries: Sequence[Entry], wish: str) -> Entry:
    if not entries:
        raise Undecidable("GRUB has no menu entry")
    number = int(wish) if re.match(r"[0-9]{1,9}\Z", wish) else None
    named = [entry for entry in entries if wish and number is None and wish in entry.names]
    # As GRUB does with a default that is not there: the first.
    before = named[:1] or entries[: number + 1 if number is not None and number < len(entries) else 1]
    may_be_unread = wish and number is None and not named and not all(entry.names for entry in entries)
    if may_be_unread or not all(entry.is_certain for entry in before):
        raise Undecidable("GRUB's menu depends on what only GRUB sees while booting")
    return before[-1]


def _only_kernel(entry: Entry) -> Kernel:
    kernels = [kernel for kernel in dict.fromkeys(entry.kernels) if kernel is not None]
    if None in entry.kernels:
        raise Undecidable("GRUB's entry names its kernel by what only GRUB sees while booting")
    if not kernels:
        raise Undecidable(f"GRUB's entry {entry.names[0]!r} starts no Linux kernel")
    if len(kernels) > 1:
        images = ", ".join(sorted(kernel.image for kernel in kernels))
        raise Undecidable(f"GRUB's entry {entry.names[0]!r} starts one of {images}")
    return kernels[0]


def read_environment(text: str) -> dict[str, str]:
    """The variables of a GRUB environment block (``grubenv``). ValueError without its first line."""
    first, *lines = text.splitlines() or [""]
    if not first.startswith("# GRUB Environment Block"):
        raise ValueError("grubenv is no GRUB environment block")
    pairs = [line.partition("=") for line in lines if "=" in line and not line.startswith("#")]
    return {name: re.sub(r"\\(.)", r"\1", value) for name, _equals, value in pairs}


def _grub_age(snippet: Snippet) -> list[list[tuple[int, int | str]]]:
    """Oldest first, by the parts of ``name-version-release`` in the file name."""
    return [version_key(part, "~") for part in snippet.id.rsplit("-", 2)]
