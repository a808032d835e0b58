# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TOML 1.0: read what engines are configured with, write the files that are ours.

Python has ``tomllib`` from 3.11 on; older nodes (EL 9, Ubuntu 22.04) have the strict reader below, which agrees with
``tomllib`` on what is a document and on what it says. Source: https://toml.io/en/v1.0.0, read 2026-12.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta, timezone
from typing import Any, Callable, Optional

_BLANK = re.compile(r"[ \t]*")
_VOID = re.compile(r"(?:[ \t\n]|#[^\n\x00-\x08\x0b-\x1f\x7f]*(?=\n|\Z))*")  # between the values of an array
_LINE_END = re.compile(r"[ \t]*(?:#[^\n\x00-\x08\x0b-\x1f\x7f]*)?(?:\n|\Z)")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LITERAL = re.compile(r"'([^'\n\x00-\x08\x0b-\x1f\x7f]*)'")
_LITERAL_LINES = re.compile(r"'''\n?((?:'{0,2}[^'\x00-\x08\x0b-\x1f\x7f])*'{0,2})'''")
_BASIC = re.compile(r'"((?:[^"\\\n\x00-\x08\x0b-\x1f\x7f]|\\[^\n])*)"')
_BASIC_LINES = re.compile(r'"""\n?((?:"{0,2}(?:[^"\\\x00-\x08\x0b-\x1f\x7f]|\\[\s\S]))*"{0,2})"""')
_ESCAPE = re.compile(r"\\(?:([btnfr\"\\])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([ \t]*\n[ \t\n]*)|([\s\S]))")
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}
_DAY = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")
_HOUR = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{1,6})[0-9]*)?")
_OFFSET = re.compile(r"[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9])")
_PREFIXED = re.compile(r"0(?:x[0-9A-Fa-f](?:_?[0-9A-Fa-f])*|o[0-7](?:_?[0-7])*|b[01](?:_?[01])*)")
_NUMBER = re.compile(
    r"[+-]?(?:0|[1-9](?:_?[0-9])*)((?:\.[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?)|[+-]?(?:inf|nan)"
)
_WORDS = {"true": True, "false": False}

_BY_HEADER, _BY_DOTTED_KEY, _INLINE = "named by a header", "made by dotted keys", "written inline"


def read(text: str) -> dict[str, Any]:
    """What a document says: tables are dicts, arrays lists, times as in ``datetime``. ValueError where it is none."""
    try:
        import tomllib
    except ImportError:  # Python 3.9 and 3.10
        parse: Callable[[str], dict[str, Any]] = read_strictly
    else:
        parse = tomllib.loads
    try:
        return parse(text)
    except RecursionError:
        raise ValueError("the document is nested too deeply") from None


def read_strictly(text: str) -> dict[str, Any]:
    """As ``read``, by the reader of this file. ValueError with the line, RecursionError for absurd nesting."""
    return _Reader(text.replace("\r\n", "\n")).document()


class _Reader:
    """A place in a text. Every method leaves the place behind what it has read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.made: dict[int, str] = {}  # how each table or array came to be, by id: a table without an entry is implied
        self.section: list[int] = []  # tables that the section being read may still extend by dotted keys

    def fail(self, message: str) -> ValueError:
        return ValueError(f"line {self.text.count(chr(10), 0, self.place) + 1}: {message}")

    def take(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        found = pattern.match(self.text, self.place)
        if found is None:
            raise self.fail(f"expected {expected}")
        self.place = found.end()
        return found

    def skips(self, start: str) -> bool:
        is_there = self.text.startswith(start, self.place)
        self.place += len(start) if is_there else 0
        return is_there

    def blank(self) -> None:
        self.take(_BLANK, "space")

    def document(self) -> dict[str, Any]:
        root: dict[str, Any] = {}
        table = root
        while self.place < len(self.text):
            self.blank()
            if self.skips("[["):
                table = self.array_table(root, self.header("]]"))
            elif self.skips("["):
                table = self.header_table(root, self.header("]"))
            elif self.place < len(self.text) and self.text[self.place] not in "#\n":
                self.pair(table)
            self.take(_LINE_END, "the end of the line")
        return root

    def header(self, end: str) -> list[str]:
        self.section = []
        self.blank()
        key = self.key()
        if not self.skips(end):
            raise self.fail(f"expected {end}")
        return key

    def header_table(self, root: dict[str, Any], key: Sequence[str]) -> dict[str, Any]:
        parent = self.descend(root, key[:-1])
        table = parent.setdefault(key[-1], {})
        if not isinstance(table, dict) or id(table) in self.made:
            raise self.fail(f"{'.'.join(key)} is there already")
        self.made[id(table)] = _BY_HEADER
        return table

    def array_table(self, root: dict[str, Any], key: Sequence[str]) -> dict[str, Any]:
        parent = self.descend(root, key[:-1])
        array = parent.setdefault(key[-1], [])
        if not isinstance(array, list) or id(array) in self.made:
            raise self.fail(f"{'.'.join(key)} is there already, and no array of tables")
        table: dict[str, Any] = {}
        array.append(table)
        self.made[id(table)] = _BY_HEADER
        return table

    def descend(self, table: dict[str, Any], key: Sequence[str]) -> dict[str, Any]:
        """The table that a header means by the part before its last name."""
        for name in key:
            step = table.setdefault(name, {})
            if isinstance(step, list) and id(step) not in self.made:
                step = step[-1]
            if not isinstance(step, dict) or self.made.get(id(step)) == _INLINE:
                raise self.fail(f"{name} is there already, and no table that can be added to")
            table = step
        return table

    def pair(self, table: dict[str, Any]) -> None:
        *path, name = self.key()
        if not self.skips("="):
            raise self.fail("expected =")
        self.blank()
        value = self.value()
        for part in path:
            step = table.setdefault(part, {})
            if not isinstance(step, dict) or (id(step) in self.made and id(step) not in self.section):
                raise self.fail(f"{part} is there already, and no table that dotted keys can add to")
            if id(step) not in self.made:
                self.made[id(step)] = _BY_DOTTED_KEY
                self.section.append(id(step))
            table = step
        if name in table:
            raise self.fail(f"{name} is there already")
        if isinstance(value, (dict, list)):
            self.made[id(value)] = _INLINE
        table[name] = value

    def key(self) -> list[str]:
        parts = []
        while True:
            if self.text.startswith('"', self.place):
                parts.append(self.unescaped(self.take(_BASIC, "a quoted key")[1]))
            elif self.text.startswith("'", self.place):
                parts.append(self.take(_LITERAL, "a quoted key")[1])
            else:
                parts.append(self.take(_BARE_KEY, "a key")[0])
            self.blank()
            if not self.skips("."):
                return parts
            self.blank()

    def value(self) -> Any:
        first = self.text[self.place : self.place + 1]
        if first == '"':
            if self.text.startswith('"""', self.place):
                return self.unescaped(self.take(_BASIC_LINES, "a text that ends")[1], True)
            return self.unescaped(self.take(_BASIC, "a text that ends in its line")[1])
        if first == "'":
            if self.text.startswith("'''", self.place):
                return self.take(_LITERAL_LINES, "a text that ends")[1]
            return self.take(_LITERAL, "a text that ends in its line")[1]
        if first == "[":
            return self.array()
        if first == "{":
            return self.inline_table()
        for word, meant in _WORDS.items():
            if self.skips(word):
                return meant
        if _DAY.match(self.text, self.place) or _HOUR.match(self.text, self.place):
            return self.moment()
        return self.number()

    def array(self) -> list[Any]:
        self.place += 1
        values: list[Any] = []
        self.take(_VOID, "a value")
        while not self.skips("]"):
            values.append(self.value())
            self.take(_VOID, "a comma")
            if self.skips(","):
                self.take(_VOID, "a value")
            elif not self.text.startswith("]", self.place):
                raise self.fail("expected , or ]")
        return values

    def inline_table(self) -> dict[str, Any]:
        self.place += 1
        outer, self.section = self.section, []
        table: dict[str, Any] = {}
        self.blank()
        if not self.skips("}"):
            while True:
                self.pair(table)
                self.blank()
                if self.skips("}"):
                    break
                if not self.skips(","):
                    raise self.fail("expected , or }")
                self.blank()
        self.section = outer
        return table

    def moment(self) -> date | time | datetime:
        day = _DAY.match(self.text, self.place)
        if day is None:
            return time(*self.clock(self.take(_HOUR, "a time")))
        self.place = day.end()
        numbers = [int(part) for part in day.groups()]
        hour = (
            _HOUR.match(self.text, self.place + 1) if self.text[self.place : self.place + 1] in tuple("Tt ") else None
        )
        try:
            if hour is None:
                return date(*numbers)
            self.place = hour.end()
            return datetime(numbers[0], numbers[1], numbers[2], *self.clock(hour), tzinfo=self.offset())
        except ValueError as error:
            raise self.fail(str(error)) from None

    def clock(self, hour: re.Match[str]) -> tuple[int, int, int, int]:
        return int(hour[1]), int(hour[2]), int(hour[3]), int((hour[4] or "0").ljust(6, "0"))

    def offset(self) -> Optional[timezone]:
        zone = _OFFSET.match(self.text, self.place)
        if zone is None:
            return None
        self.place = zone.end()
        if zone[1] is None:
            return timezone.utc
        return timezone(int(zone[1] + "1") * timedelta(hours=int(zone[2]), minutes=int(zone[3])))

    def number(self) -> int | float:
        prefixed = _PREFIXED.match(self.text, self.place)
        if prefixed is not None:
            self.place = prefixed.end()
            return int(prefixed[0], 0)
        number = self.take(_NUMBER, "a value")
        return float(number[0]) if number[1] or number[1] is None else int(number[0])

    def unescaped(self, text: str, has_lines: bool = False) -> str:
        def meant(escape: re.Match[str]) -> str:
            if escape[1]:
                return _ESCAPED[escape[1]]
            if escape[4] and has_lines:
                return ""
            code = int(escape[2] or escape[3] or "-1", 16)
            if 0 <= code < 0xD800 or 0xE000 <= code < 0x110000:
                return chr(code)
            raise self.fail(f"a text has no escape {escape[0][:10]!r}")

        return _ESCAPE.sub(meant, text) if "\\" in text else text


def write(table: Mapping[str, Any]) -> str:
    """A document that says ``table``, in its order. ValueError for what TOML or other readers of it cannot say."""
    return "".join(_section(table, ())).lstrip("\n")


def _section(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    later = []
    for name, value in table.items():
        if isinstance(value, Mapping) or _is_tables(value):
            later.append((name, value))
        else:
            yield f"{_key(name)} = {_value(value)}\n"
    for name, value in later:
        below = (*path, name)
        header = ".".join(map(_key, below))
        if not isinstance(value, Mapping):
            for entry in value:
                yield f"\n[[{header}]]\n"
                yield from _section(entry, below)
            continue
        if not value or not all(isinstance(part, Mapping) or _is_tables(part) for part in value.values()):
            yield f"\n[{header}]\n"
        yield from _section(value, below)


def _is_tables(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _key(name: Any) -> str:
    if not isinstance(name, str):
        raise ValueError(f"no key: {name!r}")
    if set(name) & set('"\\') and _LITERAL.fullmatch(f"'{name}'"):
        return f"'{name}'"  # the reader of containerd up to 1.7 knows no escapes in the keys of a header
    return name if _BARE_KEY.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    """A text in quotes. Everything that a reader could take for something else is escaped."""
    return '"' + "".join(map(_character, text)) + '"'


def _character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    code = ord(character)
    if 0xD800 <= code < 0xE000:
        raise ValueError(f"no character of a text: {character!r}")
    if character.isprintable():
        return character
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"a number of more than 64 bits: {value}")
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (date, time)):
        return _moment(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(name)} = {_value(part)}" for name, part in value.items()) + "}"
    raise ValueError(f"no value of TOML: {value!r}")


def _moment(value: date | time) -> str:
    offset = value.utcoffset() if isinstance(value, (time, datetime)) else None
    if offset is not None and (isinstance(value, time) or offset % timedelta(minutes=1)):
        raise ValueError(f"no time of TOML: {value!r}")
    return value.isoformat()
