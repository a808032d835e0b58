# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tasks left about changes, as rows and as a section of the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.report.changes import changes, totals
from ansible_collections.accelerator.ops.plugins.module_utils.report.page import render_page
from ansible_collections.accelerator.ops.plugins.module_utils.report.survey import survey
from ansible_collections.accelerator.ops.tests.unit.report import fleet

STEP = {"kind": "path", "subject": "/etc/a.conf", "change": "create", "undo": "exact", "why": "as wished"}
DUE = {"service": "kubelet.service", "reason": "huge pages", "restart_due": True, "restart_allowed": True}


def done(**more: Any) -> dict[str, Any]:
    empty = {"plan": [], "generation": None, "deferred": [], "restart": [], "reboot_reasons": []}
    return {**empty, "is_done": True, "is_check": False, "root": "/", "module": "node_config", **more}


PREPARED = [done(plan=[STEP], restart=[DUE], reboot_reasons=["nouveau is loaded"]), done(generation=3)]
REFUSED = [
    {
        **done(is_done=False, message="cannot change this node: 2 things"),
        "error": {"details": {"blockers": [{"message": "one <b>"}, {"message": "two"}]}},
    }
]


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (PREPARED, {"status": "done", "changed": True, "generation": 3, "restart": [], "blockers": []}),
        (PREPARED, {"reboot": ["nouveau is loaded"], "plan": [STEP]}),
        ([done()], {"status": "done", "changed": False, "generation": None}),
        # what another run left open became a generation in this one
        ([done(), done(generation=2)], {"changed": True, "generation": 2}),
        # the handler has not done it: still due after the last task
        (
            [done(plan=[STEP], restart=[DUE]), done(restart=[DUE])],
            {"restart": [{"service": "kubelet.service", "reason": "huge pages"}]},
        ),
        # a service that did not come up runs with what it had before
        (
            [done(plan=[STEP], restart=[DUE]), {**done(is_done=False), "error": {"details": {"restart": []}}}],
            {"status": "failed", "changed": True, "restart": []},
        ),
        # in check mode the last task knows of nothing that the first foresaw
        (
            [done(is_check=True, plan=[STEP], restart=[DUE]), done(is_check=True)],
            {"is_check": True, "restart": [{"service": "kubelet.service", "reason": "huge pages"}]},
        ),
        ([done(deferred=["a", "b"]), done(deferred=["b"])], {"deferred": ["a", "b"]}),
        (REFUSED, {"status": "failed", "changed": False, "blockers": ["one <b>", "two"]}),
        ([{"is_done": False, "message": "killed"}], {"blockers": ["killed"], "message": "killed", "root": "/"}),
        # of a form that is not ours
        ([{"is_done": True, "plan": 7, "restart": [1], "deferred": {"a": 1}, "generation": "x"}], {"changed": False}),
        ([7, None, {"is_done": True}], {"status": "done"}),
        ([{"is_done": False, "error": {"details": {"blockers": "x"}}, "message": 1}], {"blockers": [""]}),
    ],
)
def test_results_of_a_node(results: list[Any], expected: Mapping[str, Any]) -> None:
    (row,) = changes({"a": results})
    assert {key: row[key] for key in expected} == expected


def test_nodes_are_in_order_and_counted() -> None:
    rows = changes({"n10": PREPARED, "n2": REFUSED, "n1": [], "n3": [done(deferred=["x"])]})
    assert [row["node"] for row in rows] == ["n2", "n3", "n10"]
    assert totals(rows, 5) == {
        "nodes_total": 5,
        "nodes_not_reached": 2,
        "nodes_changed": 1,
        "nodes_failed": 1,
        "nodes_to_reboot": 1,
        "restarts_due": 0,
        "deferred": 1,
        "blockers": 2,
    }


def test_a_run_that_only_looked_has_no_section() -> None:
    assert 'id="changes"' not in render_page(survey([], "", changes({})), "now", "en")


@pytest.mark.parametrize(("language", "heading"), [("en", "What was changed"), ("de", "Was geändert wurde")])
def test_the_page_shows_each_outcome_once(language: str, heading: str) -> None:
    nodes = [fleet.seen(name, fleet.nvswitch_node()) for name in ("a1", "a2", "b")]
    rows = changes({"a1": PREPARED, "a2": PREPARED, "b": REFUSED})
    page = render_page(survey(nodes, "", rows), "now", language)
    section = re.search(r'<section id="changes">.*?</section>', page, re.DOTALL)
    assert section is not None
    text = section.group()
    assert heading in text
    assert text.count("<tr>") == 3  # the head, two nodes that are alike, and one that is not
    assert "/etc/a.conf" in text
    assert "one &lt;b&gt;<br>two" in text
    assert "nouveau is loaded" in text
