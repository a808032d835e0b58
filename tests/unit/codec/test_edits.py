# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One value in another's file: everything else stays, to the byte."""

from __future__ import annotations

import json

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import json_edit, toml_edit, unit

ENTRY = "/x/*.toml"

LISTS = [
    ("", 'imports = ["/x/*.toml"] # n\n'),
    ("version = 2\n[a]\n", 'version = 2\nimports = ["/x/*.toml"] # n\n[a]\n'),
    ("# c\n\n[a]\nimports = 1\n", '# c\n\nimports = ["/x/*.toml"] # n\n[a]\nimports = 1\n'),
    ("root='/x'\r\nversion = 2 # x\r\n", "root='/x'\r\nversion = 2 # x\r\nimports = [\"/x/*.toml\"] # n\r\n"),
    ("imports = []\nversion = 2", 'imports = ["/x/*.toml"]\nversion = 2'),
    ("imports = [ 'a' ] # 'b'", "imports = [ 'a', \"/x/*.toml\" ] # 'b'"),
    ('imports = [\n  "a", # "x"]\n  "b" # c\n]\n', 'imports = [\n  "a", # "x"]\n  "b", "/x/*.toml" # c\n]\n'),
    ('imports = [\n  "a",\n  "b", # c\n]\n', 'imports = [\n  "a",\n  "b", "/x/*.toml", # c\n]\n'),
    (
        't = """\nimports = [\n"""\nn = [\n[1],\n]\nimports = ["a"]\n[b]\n',
        't = """\nimports = [\n"""\nn = [\n[1],\n]\nimports = ["a", "/x/*.toml"]\n[b]\n',
    ),
]


@pytest.mark.parametrize(("text", "expected"), LISTS)
def test_an_entry_is_added_and_taken_out_again(text, expected):
    assert toml_edit.added(text, "imports", ENTRY, "n") == expected
    assert toml_edit.removed(expected, "imports", ENTRY, "n") == text


@pytest.mark.parametrize("text", ['imports = "a"\n', '"imports" = ["a"]\n', "'imports'=[]\n[a]\n"])
def test_a_list_in_another_form_is_left_alone(text):
    assert toml_edit.added(text, "imports", ENTRY, "n") is None


def test_an_entry_is_taken_out_from_between_others():
    text = 'imports = ["a", "/x/*.toml", "b"]\n'
    assert toml_edit.removed(text, "imports", ENTRY, "n") == 'imports = ["a", "b"]\n'
    assert toml_edit.removed('imports = ["/x/*.toml", "b"]\n', "imports", ENTRY, "n") == 'imports = ["b"]\n'


def test_what_is_no_toml_is_an_error():
    with pytest.raises(ValueError, match=r"\S"):
        toml_edit.added("[[", "imports", ENTRY, "n")


VALUES = [
    ("{}", ("a",), 1, '{\n    "a": 1\n}'),
    ('{"b": 1}', ("a", "c"), True, '{"b": 1, "a": {"c": true}}'),
    ('{"a": {}, "b": 2}', ("a", "c"), True, '{"a": {"c": true}, "b": 2}'),
    ('{\n\t"a": {"x": 1},\n\t"b": 2\n}\n', ("a", "c"), 3, '{\n\t"a": {"x": 1, "c": 3},\n\t"b": 2\n}\n'),
    ('{\r\n  "b": 2\r\n}', ("a", "c"), 3, '{\r\n  "b": 2,\r\n  "a": {\r\n    "c": 3\r\n  }\r\n}'),
    ('{\n  "a": {\n    "c": false,\n    "d": 1e3\n  }\n}\n', ("a", "c"), True, None),
    ('{ "a" : [1,\n2], "ü": "\\u00fc" }', ("b",), "ß", '{ "a" : [1,\n2], "ü": "\\u00fc", "b": "ß" }'),
]


@pytest.mark.parametrize(("text", "path", "value", "expected"), VALUES)
def test_a_value_is_set(text, path, value, expected):
    expected = text.replace("false", "true") if expected is None else expected
    new = json_edit.with_value(text, path, value)
    assert new == expected
    assert json_edit.with_value(new, path, value) == expected


def test_the_order_of_keys_stays():
    names = [f"k{number}" for number in range(50)]
    text = json.dumps({name: {"v": 1} for name in names}, indent=2)
    assert list(json.loads(json_edit.with_value(text, ("k7", "w"), 1))) == names


def test_what_is_no_object_is_left_alone():
    assert json_edit.with_value('{"a": [1]}', ("a", "c"), True) is None
    for text in ("[]", "{", '{"a": 1, "a": 2}', "// c\n{}", "[" * 100000):
        with pytest.raises(ValueError, match=r"\S"):
            json_edit.read(text)


def test_a_unit_and_its_drop_ins():
    main = (
        "[Unit]\nExecStart=no\n[Service]\n# ExecStart=no\nExecStart=-/bin/a \\\n  # between\n  --b 'c d'\nKillMode=x\n"
    )
    assert unit.directives([main], "Service") == {"ExecStart": ["-/bin/a    --b 'c d'"], "KillMode": ["x"]}
    assert unit.command_line("-/bin/a    --b 'c d'") == ("/bin/a", "--b", "c d")
    more = "[Service]\nExecStart=\nExecStart=/bin/b\n"
    assert unit.directives([main, more], "Service")["ExecStart"] == ["/bin/b"]
    assert unit.command_line("/bin/a 'b") == ()


def test_what_systemctl_shows():
    text = "ExecStart={ path=/a ; argv[]=/a -c d ; ignore_errors=no ; start_time=[n/a] }\nKillMode=process\n"
    assert unit.shown_properties(text) == {"ExecStart": "/a -c d", "KillMode": "process"}
    assert unit.shown_properties("LoadState=not-found\n")["ExecStart"] == ""


def test_variables_of_a_unit():
    files = {"/etc/default/x": "# OPTIONS=--no\nOPTIONS=--a 'b c' --d\nPLACE = \"/srv/x y\"\n'\n"}
    said = {"Environment": ["'OPTIONS=--early' LEVEL=2", "'"], "EnvironmentFile": ["-/etc/default/x", "-/none"]}

    def expanded(line):
        return unit.expanded(unit.command_line(line), said, lambda path: files.get(path, ""))

    assert expanded("/x $OPTIONS --level=${LEVEL} --at ${PLACE} a$LEVEL $UNSET ${UNSET}") == (
        *("/x", "--a", "b c", "--d", "--level=2", "--at", "/srv/x y", "a$LEVEL", ""),
    )
    assert expanded("/x $PLACE") == ("/x", "/srv/x", "y")
    assert unit.expanded(("/x", "-d"), said, files.__getitem__) == ("/x", "-d"), "a file was read for nothing"
