# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of a facts document: what is not of it is told by its place, and nothing of it ends the page."""

from __future__ import annotations

import copy
import json
import math
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.report.form import FACTS, Many, flaw
from ansible_collections.accelerator.ops.plugins.module_utils.report.page import render_json, render_page
from ansible_collections.accelerator.ops.plugins.module_utils.report.survey import SEEN, NodeReport, summary, survey
from ansible_collections.accelerator.ops.tests.unit.report import fleet

CHECKOUT = Path(__file__).resolve().parents[3]
ODD: tuple[Any, ...] = (
    *(None, "", "x", "0-5", "5-1", "\ud800", "<b>", 0, -1, 5.5, 10**30, True, [], {}, [None], [[1]], [{}], ["x"]),
    *({"x": "y"}, {"x": {"y": []}}, math.inf, math.nan),
)


def document() -> dict[str, Any]:
    return json.loads(json.dumps(fleet.nvswitch_node()))


def changed(where: str, value: Any) -> dict[str, Any]:
    """A document with another value at a dotted place."""
    facts = document()
    at: Any = facts
    *above, last = where.split(".")
    for key in above:
        at = at[int(key) if isinstance(at, list) else key]
    at[int(last) if isinstance(at, list) else last] = value
    return facts


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        (None, "the facts document is null, expected a mapping"),
        ("x", "the facts document is text, expected a mapping"),
        ({}, "schema is null, expected 1"),
        ({"schema": 2}, "schema is 2, expected 1"),
        ({"schema": True}, "schema is true or false, expected 1"),
        ({"schema": 1}, "sources is missing, expected a list"),
        ({**dict.fromkeys(FACTS), "schema": 1}, "sources is null, expected a list"),
        ({**document(), "drivers": "none"}, "drivers is text, expected a list"),
        ({name: one for name, one in document().items() if name != "nics"}, "nics is missing, expected a list"),
        (changed("devices.0.link", "x"), "devices.0.link is text, expected a mapping"),
        (changed("devices.0.unknown", "x"), "devices.0.unknown is text, expected a mapping"),
        (changed("devices.0.unknown", None), "devices.0.unknown is null, expected a mapping"),
        (changed("devices.0.unknown", {"a\nb": None}), "devices.0.unknown.a b is null, expected text"),
        (changed("devices.1.path", [[1]]), "devices.1.path.0 is a list, expected text"),
        (changed("devices.1.path", [None]), "devices.1.path.0 is null, expected text"),
        (changed("devices.1.kind", "car"), "devices.1.kind is 'car', expected one of gpu, npu, accelerator"),
        (changed("devices.0.id", None), "devices.0.id is null, expected text"),
        (changed("devices.0.memory_mib", True), "devices.0.memory_mib is true or false, expected a number"),
        (changed("devices.0.memory_mib", math.inf), "devices.0.memory_mib is a number that nothing counts to, "
         "expected a number"),
        (changed("devices.0.extra", 1), "devices.0.extra is in no document of schema 1"),
        (changed("kernel", [1]), "kernel is a list, expected a mapping"),
        (changed("engines", {}), "engines is a mapping, expected a list"),
    ],
)  # fmt: skip
def test_the_first_wrong_place_is_named(facts: Any, line: str) -> None:
    assert flaw(facts) == line


def test_documents_of_the_form_have_no_flaw() -> None:
    assert flaw(document()) is None
    assert flaw(json.loads(json.dumps(fleet.empty_node()))) is None


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*above, key)
        yield from places(one, (*above, key))


@pytest.mark.parametrize("seed", range(4))
def test_what_is_of_the_form_never_ends_the_page(seed: int) -> None:
    """Values are put in wrong places at random (the same in each run): each is a flaw, or the page shows it."""
    rng = random.Random(seed)
    start = [json.loads(json.dumps(node)) for node in (fleet.nvswitch_node(), fleet.empty_node())]
    shown = refused = 0
    for _round in range(150):
        facts = copy.deepcopy(rng.choice(start))
        for _change in range(rng.choice((1, 1, 2))):
            *above, last = rng.choice(list(places(facts)))
            at: Any = facts
            for key in above:
                at = at[key]
            if rng.random() < 0.1:
                del at[last]
            else:
                at[last] = copy.deepcopy(rng.choice(ODD))
        found = flaw(facts)
        if found is not None:
            assert "\n" not in found
            refused += 1
            continue
        seen = survey([NodeReport("a", SEEN, "/", facts, ""), NodeReport("b", SEEN, "/", start[0], "")], "")
        render_page(seen, "now", "en")
        render_json(seen, {"id": "1", "time": "now"})
        summary(seen.document)
        shown += 1
    assert shown >= 10
    assert refused >= 50


def test_every_documented_section_is_in_the_form() -> None:
    text = (CHECKOUT / "docs" / "facts.md").read_text(encoding="utf-8").partition("## A device")[0]
    told = {
        name
        for line in text.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    assert set(FACTS) == told
    assert isinstance(FACTS["devices"], Many)
