# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel command line: its arguments, and the files that boot loaders take it from.

Sources, read 2026-12: ``next_arg`` and ``parameq`` of Linux 6.18 (``lib/cmdline.c``, ``kernel/params.c``),
``mm/hugetlb.c``; ``grub-mkconfig`` of Debian and Ubuntu (GRUB 2.06, 2.12); UAPI Group, Boot Loader Specification.
An argument is text without the quotes that hold it together: ``dyndbg=file a.c +p``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Optional

from .modprobe import HEADER, WORDS

_PLAIN = re.compile(r"[A-Za-z0-9_.,:=/@+!%*~^ -]+\Z")
_ADDING = ("console", "earlycon", "memmap", "modprobe.blacklist", "pci", "rd.driver.blacklist", "rd.driver.pre")
"""Keys that may stand several times and all count; of others the kernel takes the last."""

Group = tuple[str, ...]
"""Arguments that belong together and stand side by side: one, or a size of huge pages and their number."""

DEFAULTS = ("GRUB_CMDLINE_LINUX", "GRUB_CMDLINE_LINUX_DEFAULT")
"""The variables that make the command line of an ordinary menu entry, in their order on it."""

_ASSIGNS = re.compile(rf"(\s*)(?:export\s+)?({'|'.join(DEFAULTS)})(\+?=)(.*)\Z")
_PIECE = re.compile(r"""'([^']*)'|"((?:[^"\\`]|\\.)*)"|((?:[^\s'"\\`;&|<>()#]|\\.)+)""")
_VARIABLE = re.compile(r"\\(.)|\$(?:\{(\w+)\}|(\w+))|(\$)")
_OWN = "# argument: "


def arguments(text: str) -> tuple[str, ...]:
    """The arguments of a command line, each without its quotes."""
    return tuple(word.replace('"', "") for word in WORDS.findall(text))


def is_argument(argument: str) -> bool:
    """Whether an argument can be written for every boot loader: none of its characters means something to one."""
    return _PLAIN.match(argument) is not None and argument == " ".join(argument.split()) and argument[0] not in " =-"


def written(argument: str) -> str:
    """An argument as the kernel reads it whole, with quotes where it holds a space."""
    if " " not in argument:
        return argument
    key, equals, value = argument.partition("=")
    return f'{key}="{value}"' if equals and " " not in key else f'"{argument}"'


def line_of(groups: Iterable[Group]) -> str:
    """Groups as a part of a command line."""
    return " ".join(written(argument) for group in groups for argument in group)


def key_of(argument: str) -> str:
    """What an argument is about; dashes and underscores are equal to the kernel."""
    return argument.partition("=")[0].replace("-", "_")


def pages_group(size: str, count: int) -> Group:
    """The two arguments that reserve huge pages of a size."""
    return (f"hugepagesz={size}", f"hugepages={count}")


def is_pages(group: Group) -> bool:
    """Whether a group reserves huge pages."""
    return len(group) > 1


def grouped(words: Sequence[str]) -> tuple[Group, ...]:
    """Arguments in groups: a number of huge pages goes with the size before it."""
    groups: list[Group] = []
    for word in words:
        if key_of(word) == "hugepages" and groups and len(groups[-1]) == 1 and key_of(groups[-1][0]) == "hugepagesz":
            groups[-1] = (*groups[-1], word)
        else:
            groups.append((word,))
    return tuple(groups)


def lacking(line: str, wanted: Sequence[Group]) -> tuple[Group, ...]:
    """The wanted groups that a command line has not, or has with another value after them."""
    words = arguments(line)
    singles = {argument for group in wanted if not is_pages(group) for argument in group}
    return tuple(group for group in wanted if not _has(words, group, singles))


def _has(words: Sequence[str], group: Group, singles: set[str]) -> bool:
    if is_pages(group):
        return group in grouped(words)
    argument = group[0]
    key = key_of(argument)
    if argument not in words:
        return False
    if key in _ADDING:
        return True
    last = len(words) - 1 - words[::-1].index(argument)
    return all(key_of(word) != key or word in singles for word in words[last + 1 :])


def other_pages(line: str, wanted: Sequence[Group]) -> Optional[Group]:
    """A group of the line that reserves another number of pages of a wanted size: the kernel takes the first."""
    sizes = {group[0]: group for group in wanted if is_pages(group)}
    for group in grouped(arguments(line)):
        if is_pages(group) and group != sizes.get(group[0], group):
            return group
    return None


def with_arguments(line: str, add: Sequence[Group], drop: Sequence[Group]) -> str:
    """A command line without the dropped groups and with the added ones at its end; the rest stays as it is written."""
    words = WORDS.findall(line)
    plain = [word.replace('"', "") for word in words]
    for group in drop:
        size = len(group)
        for at in range(len(plain) - size, -1, -1):
            if tuple(plain[at : at + size]) == group:
                del plain[at : at + size], words[at : at + size]
    return " ".join([*words, *([line_of(add)] if add else [])])


# ── the drop-in of grub-mkconfig ────────────────────────────────────────────────────────────────────────────────────


def drop_in_text(groups: Sequence[Group]) -> str:
    """A file of ``/etc/default/grub.d`` that adds arguments to ordinary entries; recovery entries stay."""
    noted = "".join(f"{_OWN}{written(argument)}\n" for group in groups for argument in group)
    line = line_of(groups).replace('"', '\\"')
    return f'{HEADER}{noted}{DEFAULTS[1]}="${DEFAULTS[1]} {line}"\n'


def noted_groups(text: str) -> tuple[Group, ...]:
    """The arguments that a file of ours notes as added by us."""
    words = [word for line in text.splitlines() if line.startswith(_OWN) for word in arguments(line[len(_OWN) :])]
    return grouped(words)


def notes_text(groups: Sequence[Group]) -> str:
    """A file that only notes which arguments were added elsewhere by us."""
    return HEADER + "".join(f"{_OWN}{written(argument)}\n" for group in groups for argument in group)


class Default(NamedTuple):
    """The two variables after a file, and the last line that gave one a value without what it had before."""

    values: Mapping[str, str]
    replaced: Optional[tuple[str, int]]


def defaults(files: Iterable[tuple[str, str]]) -> Default:
    """What the files ``(path, text)`` that grub-mkconfig reads in turn make of its two variables.

    They are scripts. A value that only a shell could work out, or that is given under a condition, counts as empty:
    an argument of ours may then stand twice on the command line, which changes nothing.
    """
    values = dict.fromkeys(DEFAULTS, "")
    replaced = None
    for path, text in files:
        for number, line in enumerate(text.replace("\\\n", "  ").splitlines(), 1):
            match = _ASSIGNS.match(line)
            if match is None:
                continue
            indent, name, sign, source = match.groups()
            value = _value(source, values)
            if indent or value is None:
                continue
            keeps = sign == "+=" or re.search(rf"\$\{{?{name}\b", source)
            values[name] = values[name] + value if sign == "+=" else value
            if not keeps:
                replaced = (path, number)
    return Default(values, replaced)


def _value(source: str, values: Mapping[str, str]) -> Optional[str]:
    """The value of a shell word, None where it takes a shell to know it."""
    done, at = "", 0
    while at < len(source) and not source[at].isspace() and source[at] != ";":
        piece = _PIECE.match(source, at)
        if piece is None:
            return None
        at = piece.end()
        if piece[1] is not None:
            done += piece[1]
            continue
        expanded = _expanded(piece[2] if piece[2] is not None else piece[3], values)
        if expanded is None:
            return None
        done += expanded
    return done


def _expanded(text: str, values: Mapping[str, str]) -> Optional[str]:
    done, at = "", 0
    for match in _VARIABLE.finditer(text):
        done += text[at : match.start()]
        at = match.end()
        if match[1]:
            done += match[1] if match[1] in '"\\$`' else match[0]
        else:
            name = match[2] or match[3]
            if name not in values:
                return None
            done += values[name]
    return done + text[at:]


# ── entries of the Boot Loader Specification ────────────────────────────────────────────────────────────────────────


def entry_options(text: str, variables: Mapping[str, str]) -> str:
    """The command line of an entry. GRUB fills in variables (``$kernelopts`` of EL 8), empty where there is none."""
    line = " ".join(_options(row) or "" for row in text.splitlines())
    return re.sub(r"\$\{?(\w+)\}?", lambda match: variables.get(match[1], ""), line)


def _options(row: str) -> Optional[str]:
    key, *rest = row.split(None, 1) or [""]
    return (rest[0].strip() if rest else "") if key == "options" else None


def entry_text(text: str, add: Sequence[Group], drop: Sequence[Group]) -> str:
    """An entry without the dropped groups, and with the added ones at the end of its last ``options`` line."""
    rows = text.splitlines()
    places = [at for at, row in enumerate(rows) if _options(row) is not None]
    if not places and add:
        rows.append("options ")
        places = [len(rows) - 1]
    for at in places:
        before = _options(rows[at]) or ""
        after = with_arguments(before, add if at == places[-1] else (), drop)
        if after != " ".join(WORDS.findall(before)):
            rows[at] = f"options {after}".rstrip()
    return "\n".join(rows) + "\n"
