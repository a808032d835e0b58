# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the boxes back out of a page, and says which ones overlap."""

from __future__ import annotations

from html.parser import HTMLParser
from itertools import combinations
from typing import NamedTuple, Optional


class Box(NamedTuple):
    picture: int
    name: str
    x: float
    y: float
    width: float
    height: float


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.boxes: list[Box] = []
        self.text: list[str] = []
        self.picture = 0
        self._in_title = False
        self._title = ""
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Optional[str]]]) -> None:
        values = {key: value or "" for key, value in attrs}
        self.text += [value for key, value in values.items() if key in ("title", "aria-label")]
        self._in_style = tag == "style"
        if tag == "svg":
            self.picture += 1
        elif tag == "title":
            self._in_title, self._title = True, ""
        elif tag == "rect" and "box" in values.get("class", "").split():
            x, y, width, height = (float(values[key]) for key in ("x", "y", "width", "height"))
            self.boxes.append(Box(self.picture, self._title, x, y, width, height))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title += data
        if not self._in_style:
            self.text.append(data)


def boxes_of(page: str) -> list[Box]:
    """Every box of every picture of a page."""
    reader = _Reader()
    reader.feed(page)
    return reader.boxes


def text_of(page: str) -> str:
    """What a reader of the page can see or point at."""
    reader = _Reader()
    reader.feed(page)
    return "\n".join(reader.text)


def overlaps(boxes: list[Box]) -> list[tuple[str, str]]:
    """Pairs of boxes of one picture that share area, unless one lies wholly in the other."""
    found = []
    for one, two in combinations(boxes, 2):
        if one.picture != two.picture:
            continue
        is_apart = (
            one.x + one.width <= two.x
            or two.x + two.width <= one.x
            or one.y + one.height <= two.y
            or two.y + two.height <= one.y
        )
        if not is_apart and not _holds(one, two) and not _holds(two, one):
            found.append((one.name, two.name))
    return found


def _holds(outer: Box, inner: Box) -> bool:
    return (
        outer.x < inner.x
        and outer.y < inner.y
        and outer.x + outer.width > inner.x + inner.width
        and outer.y + outer.height > inner.y + inner.height
    )
