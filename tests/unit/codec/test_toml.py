# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TOML: what is a document and what it says, as Python's own reader has it, and what we write."""

from __future__ import annotations

import datetime
import math
import random
import sys

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import toml

SEED = 20261201
UTC = datetime.timezone.utc

GOOD = [
    ("", {}),
    ("# only a comment", {}),
    ("a = 1\r\nb = 2\r\n", {"a": 1, "b": 2}),
    ('version = 3\n[plugins."io.containerd.cri.v1.runtime"]\n  enable_cdi = true', None),
    ("a.b.c = 1\na.b.d = 2", {"a": {"b": {"c": 1, "d": 2}}}),
    ("[a.b.c]\n[a]\nx = 1", {"a": {"b": {"c": {}}, "x": 1}}),
    ("[a]\nb.c = 1\n[a.b.d]", {"a": {"b": {"c": 1, "d": {}}}}),
    ("[a.b.c]\n[a]\nb.d = 1", {"a": {"b": {"c": {}, "d": 1}}}),
    ("[[a]]\n[a.b]\n[[a]]\n[a.b]\nc = 1", {"a": [{"b": {}}, {"b": {"c": 1}}]}),
    ("[[a.b]]\n[a.b.c]\n[[a.b]]", {"a": {"b": [{"c": {}}, {}]}}),
    ("a = {b.c = 1, b.d = {}, 'e f' = [1,\n#c\n2,]}", {"a": {"b": {"c": 1, "d": {}}, "e f": [1, 2]}}),
    ('"" = 1\n"a.b" = 2\n\'"\' = 3', {"": 1, "a.b": 2, '"': 3}),
    (r'a = "\b\t\n\f\r\"\\\u00e4\U0001F600"', {"a": '\b\t\n\f\r"\\ä😀'}),
    ('a = """\n  x\\\n\n   y""z"""""', {"a": '  xy""z""'}),
    ("a = '''\n\\x''y''''", {"a": "\\x''y'"}),
    ("a = 0x_f", "line 1"),
    ("a = [0xFF, 0o17, 0b1_0, 1_000, -0, +3]", {"a": [255, 15, 2, 1000, 0, 3]}),
    ("a = [1.5, 1e3, -2.5E-1, 1_0.0_1, inf, -inf]", {"a": [1.5, 1000.0, -0.25, 10.01, math.inf, -math.inf]}),
    ("a = 1979-05-27T07:32:01.1234567Z", {"a": datetime.datetime(1979, 5, 27, 7, 32, 1, 123456, UTC)}),
    ("a = [1979-05-27 07:32:00, 1979-05-27, 07:32:00]", None),
    ("a = 2000-02-29 00:00:00-02:30 # leap", None),
]

BAD = [
    *("a", "a =", "= 1", "a = 1 b = 2", "a = 1\na = 2", "a b = 1", "a..b = 1", "é = 1", "\ufeffa = 1"),
    *("a = 01", "a = 1__0", "a = _1", "a = 0X1", "a = +0x1", "a = 1.", "a = .5", "a = 1e", "a = Inf", "a = True"),
    *('a = "x', "a = 'x\n'", 'a = "\\x"', 'a = "\\ud800"', 'a = "\\U00110000"', 'a = """x\\ y"""', 'a = """x""""""'),
    *("a = 1979-02-30", "a = 1979-05-27T25:00:00", "a = 07:32", "a = 1979-05-27T07:32", "a = 07:60:00"),
    *("[a", "[]", "[a]]", "[[a]", "[ [a]]", "[a]\n[a]", "[a] b = 1", "a = 1\n[a]", "a = 1\n[a.b]"),
    *("[a]\nb.c = 1\n[a.b]", "[a.b]\n[a]\nb.c = 1", "a.b = 1\n[a]", "[a.b.c]\n[a]\nb.d = 1\n[a.b]"),
    *("[[a]]\n[a]", "[a]\n[[a]]", "a = []\n[[a]]", "a = [{}]\n[a.b]", "[[a.b]]\n[a]\nb.c = 1", "a = {}\n[a.b]"),
    *("a = {}\na.b = 1", "a = {b = 1,}", "a = {b = 1\n}", "a = {,}", "a = {b = 1, b = 2}", "a = {b = {}, b.c = 1}"),
    *("a = [1 2]", "a = [,]", "a = [1", "a = 1 # \x01", "a = '\x7f'", "a = 1\rb = 2", "a = ]", "a.b = 1\na.b.c = 1"),
]


@pytest.mark.parametrize(("text", "expected"), GOOD)
@pytest.mark.parametrize("read", [toml.read, toml.read_strictly])
def test_a_document_is_read(read, text, expected):
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            read(text)
    elif expected is None:
        assert read(text) == toml.read_strictly(text) != {}
    else:
        assert read(text) == expected


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_document_is_refused_by_both(text):
    for read in (toml.read, toml.read_strictly):
        with pytest.raises(ValueError):
            read(text)


def test_the_line_of_a_fault_is_named():
    with pytest.raises(ValueError, match=r"^line 3: b is there already$"):
        toml.read_strictly("[a]\nb = 1\nb = 2\n")


def test_absurd_nesting_is_no_crash():
    with pytest.raises(ValueError):
        toml.read("a = " + "[" * 100_000)


KEYS = ["a", "b", "c", "a-1", "_", '"q r"', "'l'", '""']
SCALARS = [
    *("1", "-17", "0", "+3", "1_000", "0xDEAD_beef", "0o17", "0b101", "1.5", "-0.0", "6e23", "1e-07", "inf", "-nan"),
    *(
        "true",
        "false",
        '"text"',
        '"\\u00e4\\t\\\\"',
        "'lit\\eral'",
        '"""\nlines\n  more\\\n   """',
        "'''a\n'b'''",
        '""',
    ),
    *("1979-05-27", "07:32:00.999", "1979-05-27T07:32:00Z", "1979-05-27 00:32:00.9-07:00", "1979-05-27t07:32:00"),
]


def _value(dice, depth=0):
    choice = dice.random()
    if depth < 3 and choice < 0.12:
        parts = [_value(dice, depth + 1) for _number in range(dice.randrange(4))]
        return (
            "["
            + dice.choice([", ", ",", ",\n  # c\n "]).join(parts)
            + dice.choice(["", ",", "\n"] if parts else [""])
            + "]"
        )
    if depth < 3 and choice < 0.24:
        return (
            "{" + ", ".join(f"{_key(dice)} = {_value(dice, depth + 1)}" for _number in range(dice.randrange(3))) + "}"
        )
    return dice.choice(SCALARS)


def _key(dice):
    return dice.choice([".", " . "]).join(dice.choice(KEYS) for _part in range(dice.choice([1, 1, 1, 2, 3])))


def _document(dice):
    """A document of few keys, so that about every second one says something twice or where it may not."""
    lines = []
    for _number in range(dice.randrange(1, 7)):
        choice = dice.random()
        if choice < 0.2:
            lines.append(f"[{_key(dice)}]")
        elif choice < 0.35:
            lines.append(f"[[{_key(dice)}]]")
        elif choice < 0.4:
            lines.append(dice.choice(["", "# comment", "  \t"]))
        else:
            lines.append(f"{dice.choice(['', '  '])}{_key(dice)} = {_value(dice)}{dice.choice(['', ' # c', ' '])}")
    return dice.choice(["\n", "\n", "\r\n"]).join(lines) + dice.choice(["\n", ""])


PIECES = [*"[]{}=.,#\"'\\\n\r\t :-+_0e", '"""', "'''", "\x00", "\x7f", "ä", "true", "\\u12", "1979-", "0x", "[[", "]]"]


def _damaged(dice, text):
    for _number in range(dice.randrange(1, 3)):
        place = dice.randrange(len(text) + 1)
        text = text[:place] + dice.choice(["", dice.choice(PIECES)]) + text[place + dice.randrange(2) :]
    return text


def _judged(read, text):
    """What a reader makes of a text. ``repr`` tells 1 from 1.0 and True, has the order, and takes nan as equal."""
    try:
        return repr(read(text))
    except ValueError:
        return None


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is the judge, from Python 3.11 on")
@pytest.mark.parametrize("kind", ["whole", "damaged"])
def test_the_reader_agrees_with_tomllib(kind):
    import tomllib

    dice = random.Random(f"{SEED} {kind}")
    accepted = 0
    for _number in range(4000):
        text = _document(dice) if kind == "whole" else _damaged(dice, _document(dice))
        expected = _judged(tomllib.loads, text)
        assert _judged(toml.read_strictly, text) == expected, text
        accepted += expected is not None
    assert 800 < accepted < 3200, "both kinds must be there in number"


TABLE = {
    "version": 3,
    "imports": ["/etc/containerd/conf.d/*.toml"],
    "empty": {},
    "plugins": {
        "io.containerd.cri.v1.runtime": {
            "enable_cdi": True,
            "cdi_spec_dirs": ["/etc/cdi", "/var/run/cdi"],
            "containerd": {"runtimes": {"runc": {"options": {"SystemdCgroup": True, "BinaryName": ""}}}},
        }
    },
    'a "key"\n': {"tables": [{"x": 1, "y": {"z": [1, "two", 3.5]}}, {}], "mixed": [1, {"in": {"line": []}}]},
    "moments": [datetime.date(2026, 12, 1), datetime.datetime(2026, 12, 1, 1, 2, 3, 4, UTC), datetime.time(1, 2)],
    "floats": [1e16, -0.0, 1e-07, math.inf],
    "texts": ["tab\t", "quote\"'", "back\\slash", "ä\x85\u2028\x7f\x00", "😀", "two\nlines"],
}


def test_what_is_written_reads_the_same():
    text = toml.write(TABLE)
    assert repr(toml.read(text)) == repr(toml.read_strictly(text))
    assert toml.read(text) == TABLE
    assert toml.write(toml.read(text)) == text


def test_the_form_of_what_is_written():
    table = {"a": 1, "b": {"c d": {"e": [True]}}, "f": [{"g": "h"}, {}], "i": {}}
    assert toml.write(table) == 'a = 1\n\n[b."c d"]\ne = [true]\n\n[[f]]\ng = "h"\n\n[[f]]\n\n[i]\n'


def test_a_quote_in_a_key_is_written_as_every_reader_takes_it():
    """go-toml 1, which containerd up to 1.7 has, knows no escapes in the keys of a header (tests/engines)."""
    text = toml.write({'a"b': 1, "a'b": 2, "a\\b": 3})
    assert text.splitlines() == ["'a\"b' = 1", '"a\'b" = 2', "'a\\b' = 3"]


@pytest.mark.parametrize(
    "value", [None, b"x", {1: 2}, 2**63, "\ud800", datetime.time(1, tzinfo=UTC), {1, 2}, [None], object()]
)
def test_what_toml_cannot_say_is_refused(value):
    with pytest.raises(ValueError):
        toml.write({"a": value})


def test_what_was_read_is_written_so_that_both_read_it():
    dice = random.Random(f"{SEED} write")
    written = 0
    for _number in range(2000):
        try:
            table = toml.read_strictly(_document(dice))
        except ValueError:
            continue
        text = toml.write(table)
        for read in (toml.read, toml.read_strictly):
            # A table that holds tables only comes after the plain values: the order may differ, the value never.
            assert _sorted(read(text)) == _sorted(table), text
        assert toml.write(toml.read(text)) == text
        written += 1
    assert written > 400


def _sorted(value):
    if isinstance(value, dict):
        return repr(sorted((name, _sorted(part)) for name, part in value.items()))
    return repr([_sorted(part) for part in value]) if isinstance(value, list) else repr(value)
