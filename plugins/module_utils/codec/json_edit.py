# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Set one value in somebody else's JSON file, and touch nothing else: order, indentation and line ends stay.

The text that comes out is read again: where it does not say exactly what was meant, nothing comes out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

_SPACE = re.compile(r"[ \t\r\n]*")


class _Member(NamedTuple):
    """A member of an object: where its name begins, and where its value begins and ends."""

    start: int
    value: int
    end: int


def read(text: str) -> dict[str, Any]:
    """An object. ValueError where it is none, has a name twice, a number that JSON has not, or too many levels."""
    try:
        found = json.loads(text, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found


def _finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(f"{word} is no number of JSON")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _value in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)} is there twice")
    return found


def with_value(text: str, path: Sequence[str], value: Any) -> Optional[str]:
    """The text with ``value`` at ``path`` (names of objects from the top down, made where they are missing).

    None where it cannot be done safely. ValueError where the text is no object.
    """
    wanted = read(text)
    here = wanted
    for name in path[:-1]:
        below = here.setdefault(name, {})
        if not isinstance(below, dict):
            return None
        here = below
    here[path[-1]] = value
    new = _edited(text, _SPACE.match(text).end(), path, value, _unit(text))  # type: ignore[union-attr]
    try:
        return new if json.dumps(read(new)) == json.dumps(wanted) else None
    except ValueError:
        return None


def _unit(text: str) -> str:
    """What one level is indented by; empty for a text in one line."""
    found = re.search(r"\n([ \t]+)\"", text)
    return found.group(1) if found else ("    " if "\n" in text.strip() or text.strip() in ("{}", "") else "")


def _edited(text: str, place: int, path: Sequence[str], value: Any, unit: str) -> str:
    """``place`` is that of an object's opening brace."""
    members, end = _members(text, place)
    known = members.get(path[0])
    if known is not None and len(path) > 1:
        return _edited(text, known.value, path[1:], value, unit)
    for name in reversed(path[1:]):
        value = {name: value}
    line = _line_of(text, place)
    indent = re.match(r"[ \t]*", line).group()  # type: ignore[union-attr]
    if members and "\n" in text[place : next(iter(members.values())).start]:
        first = next(iter(members.values())).start
        indent = text[text.rfind("\n", 0, first) + 1 : first]
    elif unit:
        indent += unit
    ending = "\r\n" if "\r\n" in text else "\n"
    shown = _shown(value, indent, unit, ending)
    if known is not None:
        return text[: known.value] + shown + text[known.end :]
    member = f"{json.dumps(path[0], ensure_ascii=False)}: {shown}"
    if members:
        last = list(members.values())[-1].end
        is_spread = "\n" in text[place : next(iter(members.values())).start]
        return f"{text[:last]},{ending + indent if is_spread else ' '}{member}{text[last:]}"
    if not unit:
        return f"{text[: place + 1]}{member}{text[end:]}"
    outer = indent[: len(indent) - len(unit)]
    return f"{text[: place + 1]}{ending}{indent}{member}{ending}{outer}{text[end:]}"


def _shown(value: Any, indent: str, unit: str, ending: str) -> str:
    if not unit:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (ending + indent).join(lines)


def _line_of(text: str, place: int) -> str:
    return text[text.rfind("\n", 0, place) + 1 : place]


def _members(text: str, place: int) -> tuple[dict[str, _Member], int]:
    """The members of the object whose brace is at ``place``, and where its closing brace is."""
    decoder = json.JSONDecoder()
    found: dict[str, _Member] = {}
    here = _after_space(text, place + 1)
    while text[here] != "}":
        if text[here] == ",":
            here = _after_space(text, here + 1)
        name, end = decoder.raw_decode(text, here)
        value = _after_space(text, _after_space(text, end) + 1)
        _read, end = decoder.raw_decode(text, value)
        found[name] = _Member(here, value, end)
        here = _after_space(text, end)
    return found, here


def _after_space(text: str, place: int) -> int:
    return _SPACE.match(text, place).end()  # type: ignore[union-attr]
