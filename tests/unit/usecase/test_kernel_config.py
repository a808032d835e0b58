# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``kernel_config`` decides: each file in ``tests/cases/kernel_config`` is one case, Seen + Wish -> Plan.

A case has ``what`` (one line), ``seen`` (fields of Seen; ``found`` maps paths to texts), ``wish`` (options), and then
``plan`` (``steps`` as lines, ``files`` with their text below the header, ``derived``, ``restarts``, ``reboot``,
``deferred``; what is left out is empty) or ``error`` (``code``, and ``says``: parts of its one line).
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ansible_collections.accelerator.ops.plugins.module_utils.codec import modprobe
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError, OpsError
from ansible_collections.accelerator.ops.plugins.module_utils.model.plan import (
    Command,
    Found,
    PathStep,
    Setting,
    State,
    digest,
    rows,
)
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import kernel_config
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.kernel import seen as look
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.kernel import wish as wishes

CASES = sorted((Path(__file__).resolve().parents[2] / "cases" / "kernel_config").glob("*.yml"))


def found_file(path, text):
    """A file; one of ours need not repeat its first line in a case."""
    is_short = "accelerator-ops" in path and not text.startswith(modprobe.HEADER)
    content = (modprobe.HEADER * is_short + text).encode()
    return Found(State("file", 0o644, 0, 0, digest(content)), content)


def build_seen(fields):
    """Seen out of plain data. A field that Seen does not have is a TypeError."""
    done = dict(fields)
    done["found"] = {path: found_file(path, text) for path, text in done.get("found", {}).items()}
    done["modules"] = {name: look.Module(**one) for name, one in done.get("modules", {}).items()}
    for name in ("modprobe_files", "sysctl_files"):
        done[name] = tuple(look.Text(path, text) for path, text in done.get(name, {}).items())
    if "ramdisk" in done:
        done["ramdisk"] = look.Ramdisk(**done["ramdisk"])
    if "boot" in done:
        boot = dict(done["boot"])
        boot["defaults"] = tuple(look.Text(path, text) for path, text in boot.get("defaults", {}).items())
        boot["makes_menu"] = tuple(boot.get("makes_menu", ()))
        done["boot"] = look.Boot(**boot)
    for name in ("makers", "pages_kb"):
        if done.get(name) is not None:
            done[name] = tuple(done[name])
    return look.Seen(**done)


def shown(plan):
    """A plan in the form of a case file."""
    told = {
        "steps": [f"{row['subject']}: {row['change']}" for row in rows(plan._replace(derived=()))],
        "files": {
            step.path: None if step.after.kind == "absent" else step.new.decode().replace(modprobe.HEADER, "", 1)
            for step in plan.steps
            if isinstance(step, PathStep)
        },
        "derived": {one.key: [" ".join(argv) for argv in one.make] for one in plan.derived},
        "restarts": {one.service: one.is_safe for one in plan.restarts},
        "reboot": list(plan.reboot),
        "deferred": list(plan.deferred),
    }
    return {name: value for name, value in told.items() if value}


def after(seen, plan):
    """What a look would see after the plan was done."""
    found, values, modules = dict(seen.found), dict(seen.values), dict(seen.modules)
    for step in plan.steps:
        if isinstance(step, PathStep):
            assert step.before.is_same(seen.at(step.path).state)
            assert step.after.kind == "absent" or digest(step.new) == step.after.sha256
            found[step.path] = Found(step.after, step.new)
        elif isinstance(step, Setting):
            assert values[step.path].split() == step.before.split()
            values[step.path] = step.after
        else:
            assert isinstance(step, Command)
            name = step.run[-1]
            modules[name] = modules[name]._replace(is_loaded=True)
    return seen._replace(found=found, values=values, modules=modules)


def test_there_are_cases():
    assert len(CASES) >= 20


def blocker(seen, wish):
    """The first error that is in the way."""
    try:
        return kernel_config.decide(seen, wish).blockers[0]
    except OpsError as error:
        return error


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_case(path):
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {*case} - {"plan", "error"} == {"what", "seen", "wish"}
    assert {*case["wish"]} <= {*kernel_config.OPTIONS}
    seen = build_seen(case["seen"])
    if "error" in case:
        error = blocker(seen, case["wish"])
        assert error.code == case["error"]["code"]
        assert [part for part in case["error"]["says"] if part not in str(error)] == [], str(error)
        return
    plan = kernel_config.decide(seen, case["wish"])
    assert plan.blockers == ()
    assert shown(plan) == (case["plan"] or {})
    again = kernel_config.decide(after(seen, plan), case["wish"])
    assert shown(again._replace(reboot=(), deferred=())) == {}


BAD = [
    ({"module_options": {"a b": {"x": 1}}}, "'a b', expected the name of a kernel module"),
    ({"module_options": {"a-b": {"x": 1}, "a_b": {"x": 2}}}, "the module twice"),
    ({"module_options": {"a": "x=1"}}, "a dictionary of parameters"),
    ({"module_options": {"a": {"x y": 1}}}, "the name of a parameter"),
    ({"module_options": {"a": {"x": 'a"b'}}}, "no quote, backslash or tab"),
    ({"module_options": {"a": {"x": "a\\b"}}}, "no quote, backslash or tab"),
    ({"module_options": {"a": {"x": "a\nb"}}}, "no line end"),
    ({"module_options": {"a": {"x": ""}}}, "an empty value"),
    ({"module_options": {"a": {"x": None}}}, "a text or a number"),
    ({"module_options": {"a": {"x": [1]}}}, "a text or a number"),
    ({"module_options": {"a": {"x": "y" * 1001}}}, "at most 1000"),
    ({"module_options": {"a": {"x-y": 1, "x_y": 2}}}, "x_y twice"),
    ({"blacklist": ["nouveau\ninstall x /bin/sh"]}, "the name of a kernel module"),
    ({"blacklist": [""]}, "the name of a kernel module"),
    ({"blacklist": ["a-b"], "modules_load": ["a_b"]}, "a_b, which blacklist names too"),
    ({"modules_load": ["../x"]}, "the name of a kernel module"),
    ({"sysctl": {"vm": 1}}, "a key such as vm.swappiness"),
    ({"sysctl": {"net.ipv4.conf.*.mtu": 1}}, "without patterns"),
    ({"sysctl": {"vm.x": "1\nvm.y = 2"}}, "no line end"),
    ({"sysctl": {"vm.x": "\x07"}}, "no control character"),
    ({"sysctl": {"vm.x": " "}}, "an empty value"),
    ({"sysctl": {"vm.x": 1, "vm/x": 2}}, "vm/x twice"),
    ({"sysctl": {"vm.nr_hugepages": 1}, "hugepages": {"2M": 1}}, "vm.nr_hugepages beside hugepages"),
    ({"hugepages": {"2M": -1}}, "a number of pages, 0 or more"),
    ({"hugepages": {"2M": True}}, "a number of pages"),
    ({"hugepages": {"2M": 1.5}}, "a number of pages"),
    ({"hugepages": {"2M": "²"}}, "a number of pages"),
    ({"hugepages": {"big": 1}}, "one such as 2M or 1G"),
    ({"hugepages": {"2M": 1, "2048K": 1}}, "twice"),
    ({"command_line": ["a b"]}, "which the kernel reads as 2 arguments"),
    ({"command_line": [""]}, "an empty value"),
    ({"command_line": ['a="b']}, "a quote that is not closed"),
    ({"command_line": ["a;b"]}, "boot loaders read other characters themselves"),
    ({"command_line": ["a=$(reboot)"]}, "boot loaders read other characters themselves"),
    ({"command_line": ["hugepages=4"]}, "give them in hugepages"),
]


@pytest.mark.parametrize(("wish", "expected"), BAD)
def test_a_wish_that_cannot_be_used_is_one_clear_line(wish, expected):
    with pytest.raises(InputError) as caught:
        kernel_config.decide(look.Seen(), wish)
    line = str(caught.value)
    assert expected in line
    assert line.startswith("cannot use ")
    assert "\n" not in line


def test_nothing_asked_is_nothing_looked_at(node):
    host = node({"/etc/modprobe.d/x.conf": "blacklist y\n"})
    seen = kernel_config.observe(host, {})
    assert host.read_paths == set()
    assert seen == look.Seen(is_live=False)
    assert kernel_config.decide(seen, {}) == kernel_config.Plan()


def test_defaults_of_the_options_are_those_of_a_wish():
    given = {name: one.get("default") for name, one in kernel_config.OPTIONS.items()}
    assert wishes.read(given) == wishes.Wish()
