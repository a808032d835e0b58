# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which links are called degraded, and which are left alone."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.report.links import judge_links
from ansible_collections.accelerator.ops.tests.unit.report import fleet

PORT = "0000:10:01.0"
SLOT_SPEED = "reason_slot_speed"


def _facts(link: dict[str, Any], port_speed: float = 32.0, port_width: int = 16, **more: Any) -> dict[str, Any]:
    return fleet.document(
        devices=[fleet.device("0000:11:00.0", [PORT], 0, "gpu", fleet.GPU_H100, link=link, **more)],
        bridges=[fleet.bridge(PORT, None, "pci0000:10", 0, port_speed, port_width)],
    )


@pytest.mark.parametrize(
    ("link", "port", "expected"),
    [
        (fleet.link(32.0, 16), (32.0, 16), []),
        (fleet.link(32.0, 8, 32.0, 16), (32.0, 16), [("degraded", "×8", "×16", "reason_width")]),
        (fleet.link(2.5, 16, 32.0, 16), (32.0, 16), [("not_judged", "2.5 GT/s", "32 GT/s", "reason_speed")]),
        (fleet.link(32.0, 8, 32.0, 16, PORT), (32.0, 8), [("slot_limited", "×8", "×16", "reason_slot_width")]),
        (
            fleet.link(16.0, 16, 32.0, 16, PORT),
            (16.0, 16),
            [("slot_limited", "16 GT/s", "32 GT/s", "reason_slot_speed")],
        ),
        (fleet.link(32.0, 4, 32.0, 16, PORT), (32.0, 8), [("degraded", "×4", "×8", "reason_width")]),
        (
            fleet.link(8.0, 4, 32.0, 16, PORT),
            (16.0, 8),
            [("degraded", "×4", "×8", "reason_width"), ("not_judged", "8 GT/s", "16 GT/s", "reason_speed")],
        ),
    ],
)
def test_link_of_a_card(link: dict[str, Any], port: tuple[float, int], expected: list[tuple[str, ...]]) -> None:
    found = judge_links(_facts(link, *port))
    assert [(one.verdict, one.found, one.expected, one.reason) for one in found] == expected
    assert all((one.id, one.bridge) == ("0000:11:00.0", PORT) for one in found)


def test_width_is_not_judged_when_the_other_end_is_unknown() -> None:
    facts = _facts(fleet.link(32.0, 8, 32.0, 16), unknown={"link.limited_by": "permission denied"})
    assert [(one.verdict, one.reason) for one in judge_links(facts)] == [("not_judged", "reason_other_end")]


@pytest.mark.parametrize("path", [[], None])
def test_width_is_not_judged_without_a_port_above(path: list[str] | None) -> None:
    facts = _facts(fleet.link(32.0, 8, 32.0, 16))
    facts["devices"][0]["path"] = path
    assert [(one.verdict, one.reason) for one in judge_links(facts)] == [("not_judged", "reason_other_end")]


@pytest.mark.parametrize("missing", ["width", "max_width"])
def test_unknown_width_is_no_finding(missing: str) -> None:
    link = fleet.link(32.0, 8, 32.0, 16)
    link[missing] = None
    assert judge_links(_facts(link)) == []


def test_card_without_a_link_is_no_finding() -> None:
    facts = _facts(fleet.link(32.0, 16))
    facts["devices"][0]["link"] = None
    assert judge_links(facts) == []


def test_functions_of_a_card_are_one_finding_and_virtual_functions_none() -> None:
    facts = fleet.plain_node()
    for nic in facts["nics"]:
        nic["link"] = fleet.link(5.0, 1, 5.0, 4)
    assert [one.id for one in judge_links(facts)] == ["0000:02:00.0"]
    for nic in facts["nics"]:
        nic["sriov"]["physical_function"] = "0000:02:00.7"
    assert judge_links(facts) == []


def test_link_between_a_switch_and_its_port() -> None:
    facts = fleet.nvswitch_node()
    by_id = {bridge["id"]: bridge for bridge in facts["bridges"]}
    by_id["0000:11:00.0"]["link"]["width"] = 8
    assert [(one.verdict, one.id, one.bridge) for one in judge_links(facts)] == [
        ("degraded", "0000:11:00.0", "0000:10:01.0")
    ]
    # a port that looks down has no link to the bridge above it
    by_id["0000:11:00.0"]["link"]["width"] = 16
    by_id["0000:12:00.0"]["link"]["width"] = 8
    assert judge_links(facts) == []


def test_bridges_in_a_circle_end() -> None:
    one, two = "0000:01:00.0", "0000:02:00.0"
    circle = [fleet.bridge(one, two, "pci0000:00", 0), fleet.bridge(two, one, "pci0000:00", 0)]
    facts = fleet.document(bridges=circle)
    assert judge_links(facts) == []


def test_fabric_link_that_is_down() -> None:
    facts = fleet.cube_node()
    facts["links"][0]["state"] = "down"
    assert [(one.verdict, one.reason) for one in judge_links(facts)] == [("degraded", "reason_fabric")]
