# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lint finds in specs: each file in ``tests/cases/cdi_lint`` is one case.

A file in ``healthy`` is a whole node: ``specs`` by path (``spec`` as a mapping, or ``text``; other fields as in
SpecFile), ``node`` as in Observed, and what is found nevertheless (``expect``). A case has ``what`` (one line),
``base`` (a healthy node), ``changes`` in it (mappings are merged, all else replaces, null takes away), and ``expect``:
the findings beside those of the healthy node, in order; ``reason``, ``next_step`` and ``evidence`` where they matter
(a reason is a part of the text).
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from ansible_collections.accelerator.ops.plugins.module_utils.codec import cdi_lint
from ansible_collections.accelerator.ops.plugins.module_utils.codec.cdi_lint import (
    Driver,
    Expected,
    File,
    Finding,
    Observed,
    SpecFile,
)
from ansible_collections.accelerator.ops.plugins.module_utils.model.cdi import Engine

FOLDER = Path(__file__).resolve().parents[2] / "cases" / "cdi_lint"
CASES = sorted(FOLDER.glob("*.yml"))
HEALTHY = sorted((FOLDER / "healthy").glob("*.yml"))


def load(path):
    """A case. A mode with 0o is no number to YAML 1.1."""
    text = re.sub(r"\b0o([0-7]+)\b", lambda number: str(int(number[1], 8)), path.read_text(encoding="utf-8"))
    return yaml.safe_load(text)


def merged(base, changes):
    if not isinstance(base, dict) or not isinstance(changes, dict):
        return changes
    both = {
        name: merged(base.get(name), changes[name]) if name in changes else base[name] for name in (*base, *changes)
    }
    return {name: value for name, value in both.items() if value is not None}


def tuples(value):
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def build(case):
    files = []
    for path, fields in case["specs"].items():
        text = json.dumps(fields["spec"]) if "spec" in fields else fields.get("text")
        rest = {name: value for name, value in fields.items() if name not in ("spec", "text")}
        files.append(SpecFile(path, text, **rest))
    node = dict(case.get("node", {}))
    node["files"] = {path: File(**one) for path, one in node.get("files", {}).items()}
    for name, kind in (("engines", Engine), ("drivers", Driver), ("expected", Expected)):
        node[name] = tuple(kind(**{field: tuples(value) for field, value in one.items()}) for one in node.get(name, ()))
    return files, Observed(**node)


def check(found, expected):
    assert [(one.check, one.verdict, one.subject) for one in found] == [
        (one["check"], one["verdict"], one["subject"]) for one in expected
    ], found
    for one, wanted in zip(found, expected):
        assert wanted.get("reason", "") in one.reason
        assert wanted.get("next_step", one.next_step) == one.next_step
        assert tuples(wanted.get("evidence", list(one.evidence))) == one.evidence


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_a_healthy_node(path):
    case = load(path)
    files, node = build(case)
    check(cdi_lint.lint(files, node), case["expect"])
    # Nothing of a healthy node is left unlooked at.
    assert set(cdi_lint.host_paths(files)) == set(node.files)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_case(path):
    case = load(path)
    base = load(FOLDER / "healthy" / f"{case['base']}.yml")
    files, node = build(merged({"specs": base["specs"], "node": base["node"]}, case["changes"]))
    usual = cdi_lint.lint(*build(base)) if case.get("keeps", True) else ()
    found = [one for one in cdi_lint.lint(files, node) if one not in usual]
    check(found, case["expect"])


def test_every_check_has_a_failing_case():
    """A rule without a case could be one that never fires."""
    source = Path(cdi_lint.__file__).read_text(encoding="utf-8")
    rules = set(re.findall(r'Finding\(\s*"(\w+)", "(\w+)"', source))
    assert len(rules) > 15
    shown = {(one["check"], one["verdict"]) for path in (*CASES, *HEALTHY) for one in load(path)["expect"]}
    assert rules - shown == set()


def test_what_is_not_known_is_no_finding():
    """A spec alone, on a node of which nothing is known."""
    files, _node = build(load(FOLDER / "healthy" / "nvidia.yml"))
    assert cdi_lint.lint(files, Observed()) == (
        Finding("owner", "info", "/var/run/cdi/nvidia.yaml", "NVIDIA Container Toolkit makes it"),
    )
