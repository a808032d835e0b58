# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON and YAML as trees in which no scalar is decided yet."""

from __future__ import annotations

import sys

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import document
from ansible_collections.accelerator.ops.plugins.module_utils.codec.document import DocumentError, NoYamlError, Plain

GOOD = [
    ('{"a": [1, "1", true, null, 1e3]}', {"a": [Plain("1"), "1", Plain("true"), Plain("null"), Plain("1e3")]}),
    ("a: no\nb: 'no'\nc: 010\nd:\n- |\n  no\n", {"a": Plain("no"), "b": "no", "c": Plain("010"), "d": ["no\n"]}),
    ("a: &x {b: 1}\nc: *x\n", {"a": {"b": Plain("1")}, "c": {"b": Plain("1")}}),
    ("a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}\n", {"a": {"b": "1", "c": "2"}, "d": {"b": "3", "c": "2"}}),
    ("d: {<<: [{b: 1}, {b: 2, c: 4}]}\n", {"d": {"b": "1", "c": "4"}}),
    ("a: 1\n---\nb: 2\n", {"a": "1"}),
    ("\ufeff{}", {}),
    ("", None),
    ("# nothing\n", None),
    ("~", Plain("~")),
]


def kinds(tree):
    """Which scalars stand without quotes."""
    if isinstance(tree, dict):
        return {key: kinds(part) for key, part in tree.items()}
    return [kinds(part) for part in tree] if isinstance(tree, list) else type(tree).__name__


@pytest.mark.parametrize(("text", "expected"), GOOD)
def test_a_text_becomes_a_tree(text, expected):
    assert document.read(text) == expected


def test_quotes_are_told():
    for text, expected in GOOD[:2]:
        assert kinds(document.read(text)) == kinds(expected)


DEEP = (
    "[" * 5000 + "]" * 5000,
    *("[" * 200_000, '{"a":' * 200_000, "[" * 200_000 + "]" * 200_000, "- " * 100_000, "a: [" + "[" * 200_000),
)
"""In C the YAML ones would need more stack than there is, and take the interpreter along."""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, "a": 2}', "'a' stands twice"),
        ("a: 1\na: 2\n", "'a' stands twice"),
        ('{"a": "\\ud83d\\ude00"}', "escape of JSON"),
        ('{"a": "x\\/y"}', "escape of JSON"),
        ("a: [1\n", "expected"),
        ("a: \x07", "the character '\\x07'"),
        ("? [a]\n: 1\n", "a key that is no text"),
        ("a: {<<: 1}\n", "does not stand before a mapping"),
        ("&x [*x]\n", "."),
        *(pytest.param(text, ".", id=f"deep {number}") for number, text in enumerate(DEEP)),
    ],
)
def test_what_is_no_document_is_refused(text, reason):
    with pytest.raises(DocumentError, match=reason.replace("\\", "\\\\")):
        document.read(text)


def test_only_the_first_document_is_asked_how_deep_it_is():
    deep = "[" * 40 + "1" + "]" * 40
    assert document.read(f"a: {deep}\n---\n{'[' * 5000}\n")["a"][0]


def test_json_needs_no_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert document.read('{"a": 1}') == {"a": "1"}
    with pytest.raises(DocumentError):
        document.read('{"a": 1, "a": 2}')
    with pytest.raises(NoYamlError, match="PyYAML"):
        document.read("a: 1\n")


def test_what_stands_for_much_is_made_once():
    text = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(f'*{chr(97 + n)}' for _number in range(9))}]\n" for n in range(20)
    )
    tree = document.read(text)
    assert tree["u"][0] is tree["u"][8] is tree["t"]
