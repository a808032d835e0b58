# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one place where text becomes HTML or SVG, and how lists of host names are written short."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape


def safe(value: object) -> str:
    """Text for HTML and SVG: escaped, and without signs that no document may hold."""
    return escape("".join(sign if sign.isprintable() else "\ufffd" for sign in str(value)), quote=True)


def tag(name: str, content: str = "", kind: str = "", **attributes: object) -> str:
    """An element. ``content`` is markup already; ``kind`` is its class; empty attributes are left out."""
    named = {"class": kind, **attributes}
    text = "".join(f' {key}="{safe(value)}"' for key, value in named.items() if value not in ("", None))
    return f"<{name}{text}>{content}</{name}>"


def natural(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """A sort key under which node2 stands before node10."""
    pieces = re.split(r"([0-9]{1,300})", name)  # Python reads no numbers of thousands of digits
    return [(0, int(piece), "") if place % 2 else (1, 0, piece) for place, piece in enumerate(pieces)], name


def fold_names(names: Iterable[str]) -> list[str]:
    """``node01, node02, node03, node04`` as ``node[01-04]``: from four on, where width and rest are equal."""
    runs: list[tuple[str, str, list[str]]] = []
    for name in sorted(names, key=natural):
        found = re.fullmatch(r"(.*?)([0-9]{1,300})([^0-9]*)", name, re.DOTALL)
        head, number, tail = (found[1], found[2], found[3]) if found else (name, "", "")
        if runs and number and runs[-1][2] and runs[-1][0] == head and runs[-1][1] == tail:
            last = runs[-1][2][-1]
            is_same_width = len(number) == len(last) or not (number[0] == "0" or last[0] == "0")
            if int(number) == int(last) + 1 and is_same_width:
                runs[-1][2].append(number)
                continue
        runs.append((head, tail, [number] if number else []))
    folded = []
    for head, tail, numbers in runs:
        if len(numbers) >= 4:
            folded.append(f"{head}[{numbers[0]}-{numbers[-1]}]{tail}")
        else:
            folded += [f"{head}{number}{tail}" for number in numbers] or [head]
    return folded


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Host names without their domain, where that is still clear: for the tiles."""
    heads = [name.partition(".")[0] for name in names]
    is_clear = len(set(heads)) == len(names) and not any(head.isdecimal() or not head for head in heads)
    return dict(zip(names, heads if is_clear else names))
