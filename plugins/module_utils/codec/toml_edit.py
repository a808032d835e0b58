# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Add an entry to a list of somebody else's TOML file, or take it out, and touch nothing else: comments stay.

The text that comes out is read again: where it does not say exactly what was meant, nothing comes out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Optional

from . import toml

_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)
_HEADER = re.compile(r"[ \t]*\[")


def added(text: str, key: str, entry: str, note: str) -> Optional[str]:
    """The text with ``entry`` at the end of the list ``key`` of the top level; None where it cannot be done safely.

    A list that is not there becomes a line of its own, with ``note`` as its comment, below the line of ``version``
    or else before the first one that says something. ValueError where the text is no TOML.
    """
    table = toml.read(text)
    present = table.get(key)
    new: Optional[str]
    if present is None:
        new = _with_line(text, f'{key} = ["{entry}"] # {note}')
    elif not isinstance(present, list):
        return None
    else:
        new = _with_entry(text, key, entry, bool(present))
    return new if new is not None and _says(new, {**table, key: [*(present or ()), entry]}) else None


def removed(text: str, key: str, entry: str, note: str) -> Optional[str]:
    """The text without ``entry`` in the list ``key``, or without the line where ``added`` made that.

    None where it cannot be done safely. ValueError where the text is no TOML.
    """
    table = toml.read(text)
    lines = text.splitlines(keepends=True)
    own = [one for one in lines if one.rstrip("\r\n") != f'{key} = ["{entry}"] # {note}']
    if len(own) == len(lines) - 1:
        rest = {name: value for name, value in table.items() if name != key}
        return "".join(own) if _says("".join(own), rest) else None
    place = _list_of(text, key)
    if place is None:
        return None
    start, end = place
    word = re.escape(f'"{entry}"')
    inner = re.sub(rf"[ \t]*,[ \t]*{word}|{word}[ \t]*,[ \t]*|{word}", "", text[start:end], count=1)
    new = text[:start] + inner + text[end:]
    return new if _says(new, {**table, key: [one for one in table[key] if one != entry]}) else None


def _says(text: str, table: dict[str, Any]) -> bool:
    try:
        return toml.read(text) == table
    except ValueError:
        return False


def _with_line(text: str, line: str) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    place = next((number for number, one in enumerate(lines) if one.strip() and not one.lstrip().startswith("#")), 0)
    for number, one in enumerate(lines):
        if _HEADER.match(one):
            break
        if re.match(r"[ \t]*version[ \t]*=[ \t]*[0-9]+[ \t]*(#.*)?$", one.rstrip("\r\n")):
            place = number + 1
            if not one.endswith("\n"):
                lines[number] = one + end
            break
    return "".join([*lines[:place], line + end, *lines[place:]])


def _list_of(text: str, key: str) -> Optional[tuple[int, int]]:
    """Where the inside of a list of the top level begins and ends."""
    begin = re.compile(rf"[ \t]*{re.escape(key)}[ \t]*=[ \t]*\[")
    place = 0
    while place < len(text):
        found = begin.match(text, place)
        if found:
            end = _end_of_list(text, found.end())
            return None if end is None else (found.end(), end)
        if _HEADER.match(text, place):
            return None
        place = _next_line(text, place)
    return None


def _marks(text: str, place: int) -> Iterator[tuple[str, int]]:
    """What stands outside comments from a place on, and where it ends: each character, a quoted text as one."""
    while place < len(text):
        string = _STRING.match(text, place)
        if string:
            place = string.end()
            yield string.group(), place
        elif text[place] == "#":
            line_end = text.find("\n", place)
            place = len(text) if line_end < 0 else line_end
        else:
            place += 1
            yield text[place - 1], place


_DEPTHS = {"[": 1, "{": 1, "]": -1, "}": -1}


def _next_line(text: str, place: int) -> int:
    """The start of the line after the value that begins in this one (a text or a list may have several lines)."""
    depth = 0
    for mark, end in _marks(text, place):
        depth += _DEPTHS.get(mark, 0)
        if mark == "\n" and depth <= 0:
            return end
    return len(text)


def _end_of_list(text: str, place: int) -> Optional[int]:
    depth = 1
    for mark, end in _marks(text, place):
        depth += _DEPTHS.get(mark, 0)
        if depth == 0:
            return end - 1
    return None


def _with_entry(text: str, key: str, entry: str, has_others: bool) -> Optional[str]:
    place = _list_of(text, key)
    if place is None:
        return None
    start, end = place
    if not has_others:
        return f'{text[:start]}"{entry}"{text[start:]}'
    last, has_comma = start, False  # behind the last entry, or behind the comma that follows it
    for mark, here in _marks(text[:end], start):
        if mark[0] in ",\"'":
            last, has_comma = here, mark == ","
    return text[:last] + (f' "{entry}",' if has_comma else f', "{entry}"') + text[last:]
