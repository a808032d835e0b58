# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of ``modprobe.d`` and ``modules-load.d``: what we write in them, and what those of others say.

Sources, read 2026-12: modprobe.d(5) of kmod 30, modules-load.d(5) of systemd 257, ``next_arg`` of Linux 6.18
(``lib/cmdline.c``), by which the kernel takes the options of a module apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Optional

from ..model.plan import owned
from .kernel import same_name

HEADER = owned("kernel_config")

WORDS = re.compile(r'(?:"[^"]*"|[^\s"])+')
"""Words as the kernel parts them: quotes hold one together."""

_MODULE = re.compile(r"[A-Za-z0-9_-]+\Z")
_PARAMETER = re.compile(r"[A-Za-z0-9_.-]+\Z")
_NO = re.compile(r"\s*(?:exec\s+)?(?:/\S*/)?(?:false|true)(?:\s|\Z)")


class Option(NamedTuple):
    """One parameter of a module as a file sets it. ``value`` is None for a parameter without one."""

    line: int
    module: str
    parameter: str
    value: Optional[str]


class Refused(NamedTuple):
    """A module that a file keeps from being loaded: by its aliases, and where ``is_hard`` also by its name."""

    line: int
    module: str
    is_hard: bool


class Told(NamedTuple):
    """What one file says of options and refused modules. Names have underscores, as the kernel's."""

    options: tuple[Option, ...]
    refused: tuple[Refused, ...]


def is_module(name: str) -> bool:
    """Whether this may be the name of a kernel module."""
    return _MODULE.match(name) is not None


def is_parameter(name: str) -> bool:
    """Whether this may be the name of a module's parameter."""
    return _PARAMETER.match(name) is not None


def is_value(text: str) -> bool:
    """Whether a value reaches the kernel as it is: that reads no quote, modprobe no backslash and no tab."""
    return text.isprintable() and not re.search(r'["\\]', text)


def options_text(options: Mapping[str, Mapping[str, str]]) -> str:
    """A file with one ``options`` line a module, both sorted. Values fit ``is_value``."""
    lines = []
    for module, parameters in sorted(options.items()):
        words = [f"{name}={quoted(value)}" for name, value in sorted(parameters.items())]
        if words:
            lines.append(f"options {same_name(module)} {' '.join(words)}\n")
    return HEADER + "".join(lines)


def quoted(value: str) -> str:
    """A value as the kernel reads it whole: with quotes where it holds a space."""
    return f'"{value}"' if " " in value else value


def refused_text(names: Iterable[str], is_hard: bool) -> str:
    """A file that keeps modules from being loaded by their aliases, and with ``is_hard`` by their names too."""
    lines = []
    for name in sorted({same_name(one) for one in names}):
        lines.append(f"blacklist {name}\n")
        if is_hard:
            lines.append(f"install {name} /bin/false\n")
    return HEADER + "".join(lines)


def load_text(names: Iterable[str]) -> str:
    """A file of ``modules-load.d`` with one module a line, in the order given: they are loaded in it."""
    return HEADER + "".join(f"{name}\n" for name in names)


def read(text: str) -> Told:
    """What a file of ``modprobe.d`` says. Commands that say nothing of options and refusals are passed over."""
    options: list[Option] = []
    refused: dict[str, Refused] = {}
    for number, line in _lines(text):
        command, *rest = line.split(None, 2)
        if not rest:
            continue
        module = same_name(rest[0])
        if command == "options" and len(rest) == 2:
            options += [Option(number, module, *parameter) for parameter in _parameters(rest[1])]
        elif command == "blacklist":
            refused.setdefault(module, Refused(number, module, False))
        elif command == "install" and len(rest) == 2 and _NO.match(rest[1]):
            refused[module] = Refused(number, module, True)
    return Told(tuple(options), tuple(refused.values()))


def read_load(text: str) -> tuple[str, ...]:
    """The modules that a file of ``modules-load.d`` names, in its order."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and line[0] not in "#;")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Each command with the number of its first line; a backslash at the end of a line goes on with the next."""
    start, whole = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        start = start if whole else number
        if line.endswith("\\"):
            whole += line[:-1] + " "
            continue
        whole = (whole + line).strip()
        if whole and not whole.startswith("#"):
            yield start, whole
        whole = ""


def _parameters(text: str) -> Iterator[tuple[str, Optional[str]]]:
    for word in WORDS.findall(text):
        name, equals, value = word.partition("=")
        if len(value) > 1 and value[0] == '"' == value[-1]:
            value = value[1:-1]
        yield same_name(name), value if equals else None


def overruling(
    files: Iterable[tuple[str, str]], ours: str, wished: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, Option]]:
    """Options of others' files (path, text) that give a wished one another value, and are read after our file.

    Files are read in the order of their names, and of two values the kernel takes the later.
    """
    for path, text in files:
        if path.rpartition("/")[2] > ours.rpartition("/")[2]:
            for one in read(text).options:
                value = wished.get(one.module, {}).get(one.parameter)
                if value is not None and not is_same_value(one.value or "", value):
                    yield path, one


def is_same_value(shown: str, wished: str) -> bool:
    """Whether a parameter that ``/sys/module`` shows is the one that was asked for.

    The kernel shows a bool as Y or N and a number in decimal, whatever form it was given in; a signed parameter of
    -1 and an unsigned one of the same bits are two values.
    """
    flags = {"Y": ("1", "y", "yes", "on"), "N": ("0", "n", "no", "off")}
    if shown in flags:
        return wished.lower() in flags[shown]
    return is_same_number(shown, wished)


def is_same_number(shown: str, wished: str) -> bool:
    """Whether two texts are equal, or are one number, or one list of numbers, in two forms."""
    one, other = _numbers(shown), _numbers(wished)
    return shown == wished or (one is not None and one == other)


def decimal(text: str) -> str:
    """A number, or a list of them, in decimal; any other text as it is."""
    numbers = _numbers(text)
    return text if numbers is None else ",".join(map(str, numbers))


def _numbers(text: str) -> Optional[list[int]]:
    """A number or a list of them, as ``kstrtoint`` with base 0 reads each."""
    numbers = []
    for part in text.split(","):
        octal = re.match(r"([+-]?)0([0-7]+)\Z", part)
        try:
            numbers.append(int(octal[1] + octal[2], 8) if octal else int(part, 0))
        except ValueError:
            return None
    return numbers
