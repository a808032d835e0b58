# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of udev: what we write is read back as it was, and what others wrote is understood as udev does."""

from __future__ import annotations

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import udev
from ansible_collections.accelerator.ops.plugins.module_utils.codec.udev import Pair, Rule

RULES = [
    Rule((Pair("SUBSYSTEM", "==", "drm"), Pair("ATTRS{vendor}", "==", "0x1002|0x1022"), Pair("GROUP", ":=", "render"))),
    Rule((Pair("ACTION", "!=", "remove"), Pair("TAG", "+=", "a"), Pair("TAG", "-=", "b"), Pair("MODE", "=", "0660"))),
]


def only(line):
    rules = udev.parse(line)
    assert len(rules) == 1
    return rules[0]


def test_what_is_written_is_read_back():
    text = udev.render(["Ours.", ""], RULES)
    assert text.startswith('# Ours.\n#\nSUBSYSTEM=="drm", ATTRS{vendor}=="0x1002|0x1022", GROUP:="render"\n')
    assert udev.parse(text) == RULES
    assert udev.render(["Ours.", ""], udev.parse(text)) == text


@pytest.mark.parametrize("value", ['a"b', "a\\", "a\nb", "a\0"])
def test_a_value_that_udev_would_read_otherwise_is_refused(value):
    with pytest.raises(ValueError, match="no value"):
        udev.render([], [Rule((Pair("GROUP", "=", value),))])


@pytest.mark.parametrize("pair", [Pair("group", "=", "a"), Pair("GROUP", "===", "a"), Pair("ATTRS{a b}", "==", "a")])
def test_a_pair_that_is_none_is_refused(pair):
    with pytest.raises(ValueError, match="no pair"):
        udev.render([], [Rule((pair,))])


@pytest.mark.parametrize("comment", ["a\nb", "a\\"])
def test_a_comment_is_one_line(comment):
    with pytest.raises(ValueError, match="comment"):
        udev.render([comment], [])


def test_a_rule_without_a_pair_is_refused():
    with pytest.raises(ValueError, match="without a pair"):
        udev.render([], [Rule(())])


@pytest.mark.parametrize("line", ['GROUP="a" x', "GROUP=a", 'GROUP="a', 'GROUP "a"', '="a"', 'GROUP=="a",, MODE="0"'])
def test_a_line_that_is_no_rule_is_named(line):
    with pytest.raises(ValueError, match="line 2"):
        udev.parse(f"# fine\n{line}\n")


def test_forms_that_others_use_are_read():
    """As in the rules of systemd and the makers: no commas, spaces around operators, escapes, long rules on lines."""
    assert only('KERNEL == "kfd" , MODE= "0660",').pairs == (Pair("KERNEL", "==", "kfd"), Pair("MODE", "=", "0660"))
    assert only('KERNEL=="kfd" GROUP="a"').assigned("GROUP") == "a"
    assert only('PROGRAM=="/bin/sh -c \'echo \\"a\\"\'", GROUP="b"').assigned("GROUP") == "b"
    assert only('ENV{A}==e"a\\n", GROUP="b"').assigned("GROUP") == "b"
    assert only('KERNEL=="a", \\\n  GROUP="b"').assigned("GROUP") == "b"


def test_only_rules_that_give_something_are_assignments_and_have_their_first_line():
    text = 'GROUP=="a", TAG+="b"\n# GROUP="c"\n\nbroken GROUP="d\nKERNEL=="a", \\\nMODE="0666"\nGROUP:="e"\n'
    found = udev.assignments(text)
    assert [(line, rule.assigned("GROUP"), rule.assigned("MODE")) for line, rule in found] == [
        (5, None, "0666"),
        (7, "e", None),
    ]
    assert [rule.is_final("GROUP") for _line, rule in found] == [False, True]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ('SUBSYSTEM=="drm", MODE="0666"', True),
        ('KERNEL=="renderD*", MODE="0666"', True),
        ('SUBSYSTEM=="drm|accel", KERNEL!="card*", MODE="0666"', True),
        ('SUBSYSTEM=="drm", ATTRS{vendor}=="0x10de", MODE="0666"', True),
        ('SUBSYSTEM=="drm", ENV{SOMETHING}=="1", MODE="0666"', True),
        ('ACTION=="add|change", SUBSYSTEM=="drm", MODE="0666"', True),
        ('SUBSYSTEM=="block", MODE="0666"', False),
        ('SUBSYSTEM=="drm", KERNEL!="renderD*", MODE="0666"', False),
        ('SUBSYSTEM=="drm", KERNEL=="card[0-9]*", MODE="0666"', False),
        ('SUBSYSTEM=="drm", ATTRS{vendor}=="0x8086", MODE="0666"', False),
        ('SUBSYSTEM=="drm", ACTION=="remove", MODE="0666"', False),
        ('SUBSYSTEM!="block", MODE="0666"', False),
        ('ENV{SOMETHING}=="1", MODE="0666"', False),
    ],
)
def test_a_rule_may_be_about_a_device_file(rule, expected):
    assert udev.may_meet(only(rule), "drm", "renderD128", ("0x10de",)) is expected


def test_what_is_not_known_of_a_device_file_keeps_no_rule_from_it():
    assert udev.may_meet(only('KERNEL=="davinci*", SUBSYSTEM=="x", MODE="0666"'), "", "davinci0")
    assert udev.may_meet(only('SUBSYSTEM=="tenstorrent", KERNEL=="a", MODE="0666"'), "tenstorrent", "")
