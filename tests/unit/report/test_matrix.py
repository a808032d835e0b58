# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fleet runs: versions, driver agreement, partitions, fabrics, tools."""

from __future__ import annotations

from typing import Any

from ansible_collections.accelerator.ops.plugins.module_utils.report.matrix import (
    agreement,
    asked,
    fabrics,
    partitions,
    tools,
    versions,
)
from ansible_collections.accelerator.ops.plugins.module_utils.report.page import render_page
from ansible_collections.accelerator.ops.plugins.module_utils.report.spread import compare
from ansible_collections.accelerator.ops.plugins.module_utils.report.survey import survey
from ansible_collections.accelerator.ops.plugins.module_utils.report.wiring import wire
from ansible_collections.accelerator.ops.tests.unit.report import fleet

Nodes = list[tuple[str, dict[str, Any]]]


def _three() -> Nodes:
    return [(name, fleet.tooled_node()) for name in ("a", "b", "c")]


def _row(nodes: Nodes, field: str, subject: str = "") -> dict[str, Any]:
    (row,) = [row for row in versions(nodes) if (row["field"], row["subject"]) == (field, subject)]
    return row


def _fabrics(nodes: Nodes) -> list[dict[str, Any]]:
    return fabrics(nodes, {name: wire(facts) for name, facts in nodes})


def test_versions_share_rows_and_unknown_has_its_reason() -> None:
    nodes = _three()
    nodes[1][1]["drivers"][0].update(user_space=None, unknown={"user_space": "nvml: no answer within 10 s"})
    nodes[2][1]["drivers"][0]["user_space"] = "580.105.08"
    assert _row(nodes, "user_space", "nvidia") == {
        "field": "user_space",
        "subject": "nvidia",
        "values": [{"value": "580.105.08", "nodes": ["c"]}, {"value": "580.95.05", "nodes": ["a"]}],
        "unknown": [{"reason": "nvml: no answer within 10 s", "nodes": ["b"]}],
    }
    assert _row(nodes, "driver_loaded", "nvidia")["values"] == [{"value": "580.95.05", "nodes": ["a", "b", "c"]}]
    assert _row(nodes, "cgroup")["values"] == [{"value": "2", "nodes": ["a", "b", "c"]}]


def test_fields_that_nobody_knows_are_said_once() -> None:
    nodes = _three()
    for _name, facts in nodes:
        why = dict.fromkeys(("user_space", "fabric_manager"), "none is asked")
        facts["drivers"][0].update(user_space=None, fabric_manager=None, unknown=why)
    page = render_page(survey([fleet.seen(name, facts) for name, facts in nodes], ""), "now", "en")
    assert page.count("User space, Fabric manager<br>") == 1


def test_section_that_is_unknown_gives_its_reason() -> None:
    (row,) = [row for row in versions([("e", fleet.empty_node())]) if row["field"] == "kernel"]
    assert (row["values"], row["unknown"]) == ([], [{"reason": "permission denied", "nodes": ["e"]}])


def test_driver_on_disk_is_that_of_the_kernel_that_runs_and_of_the_next() -> None:
    nodes = _three()
    assert "driver_next_boot" not in [row["field"] for row in versions(nodes)]
    facts = nodes[0][1]
    facts["kernel"]["next_boot"] = "6.8.0-90-generic"
    facts["drivers"][0]["on_disk"].append({"kernel": "6.8.0-90-generic", "version": "590.1"})
    assert _row(nodes, "driver_on_disk", "nvidia")["values"] == [{"value": "580.95.05", "nodes": ["a", "b", "c"]}]
    assert _row(nodes, "driver_next_boot", "nvidia")["values"] == [
        {"value": "580.95.05", "nodes": ["b", "c"]},
        {"value": "590.1", "nodes": ["a"]},
    ]
    facts["drivers"][0]["on_disk"] = []
    assert _row(nodes, "driver_on_disk", "nvidia")["values"][1] == {"value": "–", "nodes": ["a"]}


def test_modules_that_no_device_is_bound_to_are_left_out() -> None:
    nodes = _three()
    nodes[0][1]["drivers"].append(fleet.driver("nouveau", "nvidia", None))
    assert {row["subject"] for row in versions(nodes) if row["field"] == "driver_loaded"} == {"nvidia"}


def test_firmware_of_one_device_of_eight() -> None:
    nodes = _three()
    nodes[0][1]["devices"][5]["firmware"]["vbios"] = "96.1"
    nodes[1][1]["devices"][5]["firmware"]["vbios"] = None
    assert _row(nodes, "firmware", "H100 SXM5 80GB vbios")["values"] == [
        {"value": "7 × 96.00.74.00.01, 1 × 96.1", "nodes": ["a"]},
        {"value": "7 × 96.00.74.00.01, 1 × ?", "nodes": ["b"]},
        {"value": "96.00.74.00.01", "nodes": ["c"]},
    ]


def test_agreement_says_mismatch_agreement_and_unknown() -> None:
    nodes = _three()
    nodes[0][1]["drivers"][0]["mismatch"] = {"loaded": "580.95.05", "user_space": "590.1"}
    nodes[1][1]["drivers"][0]["unknown"]["mismatch"] = "no loaded version (not loaded)"
    nodes[2][1]["devices"][3]["mismatch"] = {"numa_node": {"kernel": 0, "tool": 1}}
    nodes[2][1]["devices"][4]["mismatch"] = {"numa_node": {"kernel": 0, "tool": 1}}
    found = agreement(nodes)
    assert found["mismatches"] == [
        {
            "subject": "nvidia",
            "field": "",
            "values": [{"side": "loaded", "value": "580.95.05"}, {"side": "user_space", "value": "590.1"}],
            "count": 1,
            "nodes": ["a"],
        },
        {
            "subject": "H100 SXM5 80GB",
            "field": "numa_node",
            "values": [{"side": "kernel", "value": "0"}, {"side": "tool", "value": "1"}],
            "count": 2,
            "nodes": ["c"],
        },
    ]
    assert found["unknown"] == [{"subject": "nvidia", "reason": "no loaded version (not loaded)", "nodes": ["b"]}]
    assert found["agrees"] == [{"subject": "nvidia", "nodes": ["c"]}]


def test_partitions_by_model_mode_and_profile() -> None:
    nodes = [*_three(), ("x", fleet.xgmi_node())]
    for name, facts in nodes[:2]:
        facts["devices"][0]["partitions"] = [fleet.mig(place, "3g.40gb", 40448) for place in range(2)]
        facts["devices"][0]["unknown"]["partition_mode.compute"] = f"this maker has no mode {name}"
    for place, device in enumerate(nodes[2][1]["devices"][:2]):
        device.update(partitions=None)
        device["unknown"]["partitions"] = f"/proc/gpu{place}/mig not there"
    rows = {(row["model"], str(row["partitions"])): row for row in partitions(nodes)}
    divided = [row for row in partitions(nodes) if row["partitions"] == {"3g.40gb": 2}]
    assert [(row["devices"], row["nodes"]) for row in divided] == [(1, ["a"]), (1, ["b"])]
    assert rows["H100 SXM5 80GB", "{}"]["devices"] == 7 + 7 + 6
    unknown = rows["H100 SXM5 80GB", "None"]
    assert (unknown["unknown"], unknown["devices"]) == ({"partitions": "/proc/gpu#/mig not there"}, 2)
    assert (rows["Instinct MI300X", "{}"]["mode"], rows["Instinct MI300X", "{}"]["devices"]) == ("SPX NPS1", 8)


def test_fabrics_by_state_clique_and_links() -> None:
    nodes = [*_three(), ("x", fleet.xgmi_node())]
    for device in nodes[0][1]["devices"]:
        device["fabric"]["clique"] = "00000000-0000-4000-8000-000000000000.7"
    nodes[1][1]["links"][0]["count"] = 17
    found = {row["nodes"][0]: row for row in _fabrics(nodes)}
    assert found["a"]["clique"] == "00000000-0000-4000-8000-000000000000.7"
    assert found["b"]["links"] == "27 × 18, 1 × 17"
    assert found["c"] == {
        "kind": "nvlink",
        "devices": 8,
        "pairs": 28,
        "links": "18",
        "state": "completed",
        "clique": None,
        "unknown": {"clique": "in no NVLink domain of several nodes"},
        "nodes": ["c"],
    }
    assert (found["x"]["kind"], found["x"]["state"]) == ("xgmi", "active")


def test_device_that_is_alone_in_its_fabric_is_told() -> None:
    facts = fleet.tooled_node()
    facts["links"], facts["devices"] = [], facts["devices"][:1]
    (row,) = _fabrics([("a", facts)])
    assert (row["kind"], row["devices"], row["pairs"], row["state"]) == ("nvlink", 1, 0, "completed")


def test_tools_that_ran_are_named_under_the_heading() -> None:
    nodes = _three()
    nodes[0][1]["sources"][-1].update(status="failed", reason="no answer within 10 s")
    nodes[1][1]["sources"][-1].update(name="amd-smi", status="absent", reason="amd-smi is not installed")
    rows = tools(nodes)
    assert [(row["name"], row["status"], row["nodes"]) for row in rows] == [
        ("amd-smi", "absent", ["b"]),
        ("nvml", "failed", ["a"]),
        ("nvml", "ok", ["c"]),
    ]
    assert asked(rows) == ["nvml"]
    lone = [fleet.seen("a", nodes[1][1])]
    assert "without any tool" in render_page(survey(lone, ""), "now", "en")
    for name, facts in nodes:
        page = render_page(survey([fleet.seen(name, facts)], ""), "now", "en")
        assert ("without any tool" in page) is (name == "b")


def test_differences_cover_what_the_tables_show() -> None:
    def one(change: Any) -> set[str]:
        nodes = _three()
        change(nodes[1][1])
        found = compare(nodes)
        assert all(spread.has_majority and spread.values[1][1] == ("b",) for spread in found)
        return {spread.field.name for spread in found}

    def devices(**values: Any) -> Any:
        return lambda facts: [device.update(values) for device in facts["devices"]]

    def driver(**values: Any) -> Any:
        return lambda facts: facts["drivers"][0].update(values)

    assert one(driver(user_space="1")) == {"user_space"}
    assert one(driver(fabric_manager="1")) == {"fabric_manager"}
    assert one(driver(mismatch={"loaded": "1", "tool": "2"})) == {"driver_agrees"}
    disk = [{"kernel": "6.8.0-88-generic", "version": "1"}]
    assert one(driver(on_disk=disk)) == {"driver_on_disk", "driver_next_boot"}
    assert one(devices(partitions=[fleet.mig(0, "1g.10gb", 9984)])) == {"partitions"}
    assert one(devices(fabric={"kind": "nvlink", "state": "in progress", "clique": None})) == {"fabric_state"}
    assert one(devices(power_limit_watts=500)) == {"power_limit"}
    health = {"ecc_mode": "disabled", "remapped_rows": fleet.remapped(0)}
    assert one(devices(memory_health=health)) == {"ecc_mode"}
    health = {"ecc_mode": "enabled", "remapped_rows": fleet.remapped(3, True)}
    assert one(devices(memory_health=health)) == {"remapped_rows"}


def test_clique_of_one_node() -> None:
    nodes = _three()
    for name, facts in nodes:
        for device in facts["devices"]:
            device["fabric"]["clique"] = "u.2" if name == "c" else "u.1"
    assert [(spread.field.name, spread.values[1]) for spread in compare(nodes)] == [("fabric_clique", ("u.2", ("c",)))]
