# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules files of udev: those that we write, and who else's rules give a device file its group or mode.

Source: udev(7) of systemd 252 to 257, and what ``udevadm test`` of 252 does (tried 2026-12).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

_PAIR = re.compile(
    r"""\s*([A-Z]+(?:\{[^{}"\s]+\})?)\s*(==|!=|\+=|-=|:=|=)\s*([ei]?)"((?:[^"\\\n]|\\.)*)"\s*(?:,|(?=\s)|$)"""
)
_KEY = re.compile(r'[A-Z]+(\{[^{}"\s]+\})?\Z')
_OPERATORS = ("==", "!=", "+=", "-=", ":=", "=")


class Pair(NamedTuple):
    """One comparison or assignment of a rule."""

    key: str
    operator: str
    value: str


class Rule(NamedTuple):
    """One rule: its pairs in order."""

    pairs: tuple[Pair, ...]

    def assigned(self, key: str) -> str | None:
        """The value that the rule gives to ``key``; None where it gives none."""
        return next((pair.value for pair in self.pairs if pair.key == key and pair.operator in ("=", ":=")), None)

    def is_final(self, key: str) -> bool:
        """Whether no later rule can change what this one gives to ``key``."""
        return any(pair.key == key and pair.operator == ":=" for pair in self.pairs)


def render(comments: Sequence[str], rules: Iterable[Rule]) -> str:
    """A rules file. ValueError for what udev would read otherwise than it is meant."""
    lines = []
    for comment in comments:
        if "\n" in comment or comment.endswith("\\"):
            raise ValueError(f"no comment of one line: {comment!r}")
        lines.append(f"# {comment}".rstrip())
    for rule in rules:
        if not rule.pairs:
            raise ValueError("a rule without a pair")
        lines.append(", ".join(map(_rendered, rule.pairs)))
    return "".join(f"{line}\n" for line in lines)


def _rendered(pair: Pair) -> str:
    if not _KEY.match(pair.key) or pair.operator not in _OPERATORS:
        raise ValueError(f"no pair of a rule: {pair}")
    # A backslash before a quote is an escape, one at the end of a line joins it to the next.
    if not pair.value.isprintable() or '"' in pair.value or "\\" in pair.value:
        raise ValueError(f"no value of a rule: {pair.value!r}")
    return f'{pair.key}{pair.operator}"{pair.value}"'


def parse(text: str) -> list[Rule]:
    """The rules of a file. ValueError, with the line's number, for a line that is not understood."""
    found = []
    for number, line in _lines(text):
        rule = _rule(line)
        if rule is None:
            raise ValueError(f"line {number} is no rule: {line[:60]!r}")
        found.append(rule)
    return found


def assignments(text: str) -> list[tuple[int, Rule]]:
    """The rules of anybody's file that give a group or a mode, by line. As udev does it, bad lines are passed over."""
    found = []
    for number, line in _lines(text):
        if "GROUP" in line or "MODE" in line:
            rule = _rule(line)
            if rule is not None and (rule.assigned("GROUP") is not None or rule.assigned("MODE") is not None):
                found.append((number, rule))
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Each rule's text on one line, with the number of its first. A comment is never continued."""
    begun, start = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        start = start if begun else number
        if line.endswith("\\"):
            begun += line[:-1]
            continue
        if (begun + line).strip():
            yield start, (begun + line).strip()
        begun = ""
    if begun.strip():
        yield start, begun.strip()


def _rule(line: str) -> Rule | None:
    pairs, place = [], 0
    while place < len(line):
        pair = _PAIR.match(line, place)
        if pair is None:
            return None
        pairs.append(Pair(pair.group(1), pair.group(2), pair.group(4)))
        place = pair.end()
    return Rule(tuple(pairs))


def fits(pattern: str, value: str) -> bool:
    """Whether a value fits a pattern as udev compares them: shell patterns, alternatives between bars."""
    return any(fnmatchcase(value, one) for one in pattern.split("|"))


def may_meet(rule: Rule, subsystem: str, kernel: str, vendors: Sequence[str] = ()) -> bool:
    """Whether a rule can apply to a device file that is there, as far as its text tells.

    ``vendors`` are the PCI vendors (``0x10de``) that the device is known to be one of; empty: not known. A rule that
    names neither subsystem nor kernel name is taken to be about something else.
    """
    known = {"SUBSYSTEM": [subsystem], "KERNEL": [kernel], "ACTION": ["add"], "ATTRS{vendor}": list(vendors)}
    is_about = False
    for pair in rule.pairs:
        values = [value for value in known.get(pair.key, ()) if value]
        if pair.operator not in ("==", "!=") or not values:
            continue
        if not any(fits(pair.value, value) == (pair.operator == "==") for value in values):
            return False
        is_about = is_about or (pair.key in ("SUBSYSTEM", "KERNEL") and pair.operator == "==")
    return is_about
