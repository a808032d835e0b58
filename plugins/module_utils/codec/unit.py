# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of systemd: what their files say, and what ``systemctl show`` says of the loaded one.

Source: systemd.syntax(7), systemd.service(5) and systemd.exec(5) of systemd 252, read 2026-12.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Callable, Optional

_SHOWN = re.compile(r"path=(\S*) ; argv\[\]=(.*?) ; ignore_errors=")
_ALONE = re.compile(r"\$(\w+)\Z")
_WITHIN = re.compile(r"\$\{(\w+)\}")
_PREFIXES = "@-:+!|"  # of the first word of a command line


def lines(text: str) -> list[str]:
    """The lines of a unit file, each with those that it goes on in."""
    return [line.strip() for line in re.sub(r"\\\n(?:[ \t]*[#;][^\n]*\n)*", " ", text).splitlines()]


def directives(texts: Iterable[str], section: str) -> dict[str, list[str]]:
    """The assignments of one section of a unit file and its drop-ins, in their order.

    Every assignment is kept; an empty one forgets those before it, as systemd does with lists.
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        here = ""
        for line in lines(text):
            if line.startswith("[") and line.endswith("]"):
                here = line[1:-1]
            elif line and line[0] not in "#;" and here == section and "=" in line:
                name, _equals, value = (part.strip() for part in line.partition("="))
                if value:
                    found.setdefault(name, []).append(value)
                else:
                    found[name] = []
    return found


def command_line(value: str) -> tuple[str, ...]:
    """The words of an ``ExecStart``. Variables stay as they are written. Empty where the quotes do not fit."""
    return tuple(_split(value.lstrip(_PREFIXES)))


def expanded(words: tuple[str, ...], said: Mapping[str, Sequence[str]], read: Callable[[str], str]) -> tuple[str, ...]:
    """A command line with its variables replaced by those of its section and of the files that this names.

    ``$NAME`` as a word of its own becomes as many words as it has, ``${NAME}`` a part of its word. Files are read only
    where there is any.
    """
    if not any("$" in word for word in words):
        return words
    variables = _environment(said, read)
    found: list[str] = []
    for word in words:
        alone = _ALONE.match(word)
        if alone is not None:
            found.extend(_split(variables.get(alone.group(1), "")))
        else:
            found.append(_WITHIN.sub(lambda match: variables.get(match.group(1), ""), word))
    return tuple(found)


def _environment(said: Mapping[str, Sequence[str]], read: Callable[[str], str]) -> dict[str, str]:
    """Variables by name; those of files come last, and so win. There the value goes on to the end of its line."""
    pairs = [pair for line in said.get("Environment", ()) for pair in _split(line)]
    found = dict(pair.partition("=")[::2] for pair in pairs if "=" in pair)
    for path in said.get("EnvironmentFile", ()):
        for line in lines(read(path.lstrip("-"))):
            name, equals, value = line.partition("=")
            value = value.strip()
            if equals and name[:1] not in ("#", ";"):
                found[name.strip()] = " ".join(_split(value)) if value[:1] in ("'", '"') else value
    return found


def _split(text: str) -> list[str]:
    """Words, their quotes taken off; none where the quotes do not fit."""
    try:
        return shlex.split(text)
    except ValueError:
        return []


def flag(argv: Sequence[str], *names: str) -> Optional[str]:
    """The value of an option of a command line, given as one word or as two; the last one counts."""
    found = None
    for number, word in enumerate(argv):
        for name in names:
            if word == name and number + 1 < len(argv):
                found = argv[number + 1]
            elif word.startswith(name + "="):
                found = word[len(name) + 1 :]
    return found


def shown_properties(text: str) -> dict[str, str]:
    """What ``systemctl show --property=…`` prints, by name. ``ExecStart`` is made a plain command line."""
    found = dict(line.partition("=")[::2] for line in text.splitlines() if "=" in line)
    command = _SHOWN.search(found.get("ExecStart", ""))
    found["ExecStart"] = command.group(2) if command else ""
    return found
