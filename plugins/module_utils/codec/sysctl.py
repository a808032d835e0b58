# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of ``sysctl.d``: keys, values, and what each line sets. Source: sysctl.d(5) of systemd 257, read 2026-12."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, Optional

from .modprobe import HEADER, decimal, is_same_number

_PATH = re.compile(r"[A-Za-z0-9_.:@+-]+(?:/[A-Za-z0-9_.:@+-]+)+\Z")


class Line(NamedTuple):
    """One assignment of a file; ``path`` is the key with slashes, as below ``/proc/sys``."""

    number: int
    path: str
    value: str


def path_of(key: str) -> Optional[str]:
    """The path below ``/proc/sys`` of a key with dots or slashes, None for what is no key.

    The separator that comes first is the one: ``net.ipv4.conf.eth0/1.mtu`` and ``net/ipv4/conf/eth0.1/mtu`` are one.
    """
    path = _slashed(key)
    return path if _PATH.match(path) and not any(set(part) == {"."} for part in path.split("/")) else None


def _slashed(key: str) -> str:
    first = re.search(r"[./]", key)
    return key.translate({ord("."): "/", ord("/"): "."}) if first and first.group() == "." else key


def key_of(path: str) -> str:
    """The usual form of a key, with dots; the one with slashes where a part of it holds a dot."""
    return path if "." in path else path.replace("/", ".")


def plain(value: str) -> str:
    """A value with its white space made even: the kernel parts the numbers of one key by tabs."""
    return " ".join(value.split())


def is_same(shown: str, wished: str) -> bool:
    """Whether the kernel shows what was asked for: it shows numbers in decimal, whatever form they were given in."""
    one, other = shown.split(), wished.split()
    return len(one) == len(other) and all(is_same_number(a, b) for a, b in zip(one, other))


def as_shown(wished: str, shown: str) -> str:
    """A wished value in the form that the kernel will show, by what it shows now: numbers in decimal."""
    if not all(re.match(r"-?[0-9]+\Z", word) for word in shown.split()):
        return wished
    return " ".join(decimal(word) for word in wished.split())


def text(values: Mapping[str, str]) -> str:
    """A file that sets these values, by path, sorted."""
    return HEADER + "".join(f"{key_of(path)} = {value}\n" for path, value in sorted(values.items()))


def read(content: str) -> tuple[Line, ...]:
    """The assignments of a file. Patterns are left out: an explicit key wins over them, whichever is read later."""
    found = []
    for number, line in enumerate(content.splitlines(), 1):
        key, equals, value = line.strip().partition("=")
        if key[:1] in ("", "#", ";") or not equals:
            continue
        path = _slashed(key.strip().lstrip("-").strip())
        if not re.search(r"[*?\[]", path):
            found.append(Line(number, path, plain(value)))
    return tuple(found)
