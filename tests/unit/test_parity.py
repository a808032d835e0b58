# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What code takes, what documentation says and what defaults set must be the same: by name, type and literal default.

Compared: each module's ``SPEC`` with its ``DOCUMENTATION`` (fragments included), and each role's argument
specification with its ``defaults/main.yml`` and with the table of variables in its ``README.md``.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.accelerator.ops.plugins.doc_fragments.attributes import ModuleDocFragment

HERE = Path(__file__).resolve().parents[2]
PREFIX = "ansible_collections.accelerator.ops.plugins"
NOTHING = "-"
"""How a README table says that there is no default."""

_TRAITS = ("type", "default", "elements", "choices", "required", "aliases")


def modules() -> list[str]:
    """The names of all modules."""
    return sorted(path.stem for path in (HERE / "plugins" / "modules").glob("*.py"))


def roles() -> list[str]:
    """The names of all roles."""
    return sorted(path.name for path in (HERE / "roles").iterdir() if path.is_dir())


def traits(option: Mapping[str, Any]) -> dict[str, Any]:
    """What can be compared of one option, with Ansible's own defaults filled in."""
    found = {name: option.get(name) for name in _TRAITS}
    found["type"] = found["type"] or "str"
    found["required"] = bool(found["required"])
    found["aliases"] = sorted(found["aliases"] or [])
    found["choices"] = list(found["choices"]) if found["choices"] else None
    return found


def differences(left: Mapping[str, Any], right: Mapping[str, Any], names: tuple[str, str]) -> list[str]:
    """Where two sets of options differ, one line each; ``names`` say what the two are."""
    found = [f"{name} is not in {names[1]}" for name in left if name not in right]
    found += [f"{name} is not in {names[0]}" for name in right if name not in left]
    for name in left:
        if name not in right:
            continue
        ours, theirs = traits(left[name]), traits(right[name])
        found += [
            f"{name}: {trait} is {ours[trait]!r} in {names[0]}, {theirs[trait]!r} in {names[1]}"
            for trait in _TRAITS
            if not same(ours[trait], theirs[trait])
        ]
        parts = left[name].get("options") or {}, right[name].get("suboptions") or right[name].get("options") or {}
        found += [f"{name}: {line}" for line in differences(parts[0], parts[1], names)]
    return found


def same(left: Any, right: Any) -> bool:
    """Equal in value and in type: 1, 1.0, True and "1" all differ."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


def documented_options(documentation: str) -> dict[str, Any]:
    """The options of a module's documentation, with those of our fragments."""
    read = yaml.safe_load(documentation)
    options = {}
    for fragment in read.get("extends_documentation_fragment") or []:
        prefix = "accelerator.ops.attributes"
        if fragment.startswith(prefix):
            variant = fragment[len(prefix) + 1 :].upper() or "DOCUMENTATION"
            options.update(yaml.safe_load(getattr(ModuleDocFragment, variant)).get("options") or {})
    options.update(read.get("options") or {})
    return options


def spec_of(name: str) -> Mapping[str, Any]:
    """The argument specification of a module; the action plugin's where the module is only its documentation."""
    module = importlib.import_module(f"{PREFIX}.modules.{name}")
    if not hasattr(module, "SPEC"):
        module = importlib.import_module(f"{PREFIX}.action.{name}")
    spec: Mapping[str, Any] = module.SPEC
    return spec


def default_differences(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """Where a role's argument specification and its defaults differ."""
    found = [f"{name} has a default, but is not in the argument spec" for name in defaults if name not in options]
    for name, option in options.items():
        if "default" in option and name not in defaults:
            found.append(f"{name} is not in defaults/main.yml")
        elif name in defaults and "default" not in option:
            found.append(f"{name} has no default in the argument spec")
        elif name in defaults and not same(option["default"], defaults[name]):
            found.append(
                f"{name}: default is {option['default']!r} in the spec, {defaults[name]!r} in defaults/main.yml"
            )
    return found


def entry_points(specs: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The options of all entry points of a role, and where one is not the same in two of them."""
    options: dict[str, Any] = {}
    found = []
    for entry, spec in specs.items():
        for name, option in (spec.get("options") or {}).items():
            if name in options:
                found += differences({name: options[name]}, {name: option}, ("another entry point", entry))
            options[name] = option
    return options, found


def readme_options(text: str) -> dict[str, dict[str, Any]]:
    """The rows of the table of variables: name, type, default, meaning. A default is a YAML literal in back quotes."""
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) < 4 or not re.fullmatch(r"`[a-z_0-9]+`", cells[0]):
            continue
        option: dict[str, Any] = {"type": cells[1].strip("`")}
        if cells[2] not in (NOTHING, "–", ""):
            option["default"] = yaml.safe_load(cells[2].strip("`"))
        found[cells[0].strip("`")] = option
    return found


def readme_differences(options: Mapping[str, Any], table: Mapping[str, Any]) -> list[str]:
    """Where a role's argument specification and the table in its README differ."""
    spoken = {
        name: {key: option[key] for key in ("type", "default") if key in option} for name, option in options.items()
    }
    return differences(spoken, table, ("the argument spec", "README.md"))


def test_there_is_something_to_compare() -> None:
    assert "accelerator_facts" in modules()
    assert "survey" in roles()


@pytest.mark.skipif(importlib.util.find_spec("ansible") is None, reason="a module is loaded with Ansible")
@pytest.mark.parametrize("name", modules())
def test_module_is_documented_as_it_is(name: str) -> None:
    documentation = importlib.import_module(f"{PREFIX}.modules.{name}").DOCUMENTATION
    names = ("the argument spec", "DOCUMENTATION")
    assert differences(spec_of(name), documented_options(documentation), names) == []


@pytest.mark.parametrize("name", modules())
def test_module_is_in_the_action_group(name: str) -> None:
    runtime = yaml.safe_load((HERE / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    assert name in runtime["action_groups"]["ops"]


@pytest.mark.parametrize("name", roles())
def test_role_is_documented_as_it_is(name: str) -> None:
    role = HERE / "roles" / name
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]
    options, found = entry_points(specs)
    defaults = yaml.safe_load((role / "defaults" / "main.yml").read_text(encoding="utf-8")) or {}
    table = readme_options((role / "README.md").read_text(encoding="utf-8"))
    found += default_differences(options, defaults) + readme_differences(options, table)
    found += [f"{option} does not begin with {name}_" for option in options if not option.startswith(f"{name}_")]
    assert found == []


_RIGHT = {"root": {"type": "path", "default": "/"}, "size_mib": {"type": "int", "default": 1}}


@pytest.mark.parametrize(
    ("documented", "expected"),
    [
        ({"root": {"type": "path", "default": "/"}}, "size_mib is not in"),
        ({**_RIGHT, "more": {"type": "str"}}, "more is not in"),
        ({**_RIGHT, "root": {"type": "str", "default": "/"}}, "root: type"),
        ({**_RIGHT, "root": {"type": "path", "default": "/mnt"}}, "root: default"),
        ({**_RIGHT, "root": {"type": "path", "default": "/", "required": True}}, "root: required"),
        ({**_RIGHT, "root": {"type": "path", "default": "/", "choices": ["/"]}}, "root: choices"),
        ({**_RIGHT, "size_mib": {"type": "int", "default": "1"}}, "size_mib: default"),
        ({**_RIGHT, "size_mib": {"type": "int", "default": True}}, "size_mib: default"),
        ({**_RIGHT, "root": {**_RIGHT["root"], "suboptions": {"a": {"type": "str"}}}}, "root: a is not in"),
    ],
)
def test_a_difference_is_found(documented: Mapping[str, Any], expected: str) -> None:
    assert differences(_RIGHT, _RIGHT, ("code", "text")) == []
    assert any(line.startswith(expected) for line in differences(_RIGHT, documented, ("code", "text")))


@pytest.mark.parametrize(
    ("defaults", "expected"),
    [
        ({"root": "/"}, "size_mib is not in defaults"),
        ({"root": "/", "size_mib": 1, "more": 2}, "more has a default"),
        ({"root": "/", "size_mib": "1"}, "size_mib: default"),
    ],
)
def test_a_different_default_is_found(defaults: Mapping[str, Any], expected: str) -> None:
    assert default_differences(_RIGHT, {"root": "/", "size_mib": 1}) == []
    assert any(line.startswith(expected) for line in default_differences(_RIGHT, defaults))


def test_different_entry_points_are_found() -> None:
    right = {"options": {"root": {"type": "path", "default": "/"}}}
    wrong = {"options": {"root": {"type": "path", "default": "/mnt"}}}
    assert entry_points({"main": right, "report": right}) == ({"root": {"type": "path", "default": "/"}}, [])
    assert entry_points({"main": right, "report": wrong})[1] != []


def test_a_default_without_a_spec_is_found() -> None:
    assert default_differences({"root": {"type": "path"}}, {"root": "/"}) == [
        "root has no default in the argument spec"
    ]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("| `root` | path | `/mnt` | The tree. |", "root: default"),
        ("| `root` | str | `/` | The tree. |", "root: type"),
        ("| `roots` | path | `/` | The tree. |", "root is not in"),
    ],
)
def test_a_different_table_is_found(row: str, expected: str) -> None:
    options = {"root": {"type": "path", "default": "/", "description": "The tree."}}
    assert readme_differences(options, readme_options("| `root` | path | `/` | The tree. |")) == []
    assert any(line.startswith(expected) for line in readme_differences(options, readme_options(row)))
