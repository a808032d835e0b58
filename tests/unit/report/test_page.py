# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page and the JSON file: everything is on it, nothing overlaps, nothing breaks out."""

from __future__ import annotations

import inspect
import json
import random
import re
import string
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.report import links as links_module
from ansible_collections.accelerator.ops.plugins.module_utils.report import page as page_module
from ansible_collections.accelerator.ops.plugins.module_utils.report import spread as spread_module
from ansible_collections.accelerator.ops.plugins.module_utils.report import survey as survey_module
from ansible_collections.accelerator.ops.plugins.module_utils.report.changes import changes
from ansible_collections.accelerator.ops.plugins.module_utils.report.markup import fold_names, natural, short_names
from ansible_collections.accelerator.ops.plugins.module_utils.report.page import render_json, render_page
from ansible_collections.accelerator.ops.plugins.module_utils.report.survey import (
    NodeReport,
    letters,
    summary,
    survey,
    unknown_of,
)
from ansible_collections.accelerator.ops.plugins.module_utils.report.texts import LANGUAGES
from ansible_collections.accelerator.ops.tests.unit.report import fleet
from ansible_collections.accelerator.ops.tests.unit.report.boxes import boxes_of, overlaps, text_of

FLEETS = {
    "small": fleet.small_fleet,
    "large": fleet.large_fleet,
    "many": lambda: [fleet.seen("many", fleet.many_functions_node())],
    "nothing": lambda: [fleet.seen("nothing", fleet.empty_node())],
    "nobody": list,
}


def _page(nodes: list[NodeReport], language: str = "en", title: str = "") -> str:
    return render_page(survey(nodes, title), "2026-12-01 08:00 UTC", language)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", FLEETS)
def test_boxes_do_not_overlap_and_every_device_is_there(name: str, language: str) -> None:
    nodes = FLEETS[name]()
    page = _page(nodes, language)
    boxes = boxes_of(page)
    assert overlaps(boxes) == []
    text = text_of(page)
    ids = [
        record["id"]
        for node in nodes
        for section in ("devices", "nics")
        for record in (node.facts or {}).get(section) or ()
    ]
    assert [one for one in ids if one not in text] == []
    assert all(node.name in text for node in nodes)
    devices = {"small": 28, "large": 16, "many": 32, "nothing": 0, "nobody": 0}[name]
    assert len(boxes) >= devices


def test_overlap_is_found() -> None:
    page = _page(fleet.small_fleet())
    boxes = boxes_of(page)
    card = next(box for box in boxes if "0000:13:00.0" in box.name)
    moved = [box._replace(y=box.y + 20) if box is card else box for box in boxes]
    assert overlaps(moved)


@pytest.mark.parametrize("name", FLEETS)
def test_same_input_same_bytes(name: str) -> None:
    nodes = FLEETS[name]()
    shuffled = FLEETS[name]()
    random.Random(7).shuffle(shuffled)
    assert _page(nodes) == _page(shuffled)
    run = {"id": "1-1", "time": "now"}
    assert render_json(survey(nodes, ""), run) == render_json(survey(shuffled, ""), run)


def test_random_machines_keep_their_boxes_apart() -> None:
    """Trees of any shape: switches in switches, cards on the root bus, unknown NUMA nodes."""
    dice = random.Random(20261201)
    for _round in range(60):
        facts = _random_facts(dice)
        page = _page([fleet.seen("n", facts)])
        assert overlaps(boxes_of(page)) == []
        text = text_of(page)
        assert all(record["id"] in text for section in ("devices", "nics", "storage") for record in facts[section])


def _random_facts(dice: random.Random) -> fleet.Facts:
    bridges: list[fleet.Facts] = []
    paths: list[list[str]] = [[]]
    for number in range(dice.randrange(0, 24)):
        path = [*dice.choice(paths), f"0000:{number + 1:02x}:00.0"]
        bridges.append(fleet.bridge(path[-1], path[-2] if len(path) > 1 else None, "pci0000:00", None))
        paths.append(path)
    devices, nics, disks = [], [], []
    for number in range(dice.randrange(1, 30)):
        name = f"0000:{0x40 + number:02x}:00.0"
        path, node = dice.choice([*paths, None]), dice.choice([None, 0, 1, 2, 7])
        kind = dice.randrange(3)
        if kind == 0:
            devices.append(fleet.device(name, path, node, dice.choice(["gpu", "npu", "accelerator"]), fleet.GPU_H100))
        elif kind == 1:
            nics.append(fleet.nic(name, path, node, "X" * dice.randrange(1, 60), 100))
        else:
            disks.append(fleet.disk(name, path, node, number))
    ids = [device["id"] for device in devices]
    links = [
        link
        for link in fleet.mesh(ids, "xgmi", dice.choice([None, 1, 9]), 1)
        if dice.random() < dice.choice([0.3, 1.0])
    ]
    nodes = [fleet.numa(node, "0-3", 1000, [10]) for node in range(dice.randrange(0, 9))]
    return fleet.document(devices=devices, nics=nics, storage=disks, bridges=bridges, links=links, numa_nodes=nodes)


def test_text_of_a_node_is_never_markup() -> None:
    evil = "<script>alert(1)</script>\"'&\x00\u202e\ud800"
    facts = fleet.nvswitch_node()
    facts["devices"][0].update(model=evil, driver={"name": evil, "version": evil}, firmware={evil: evil})
    facts["nics"][0]["model"] = evil
    facts["storage"][0]["names"] = [evil]
    facts["kernel"]["release"] = evil
    facts["unknown"][evil] = evil
    page = _page([fleet.seen(evil, facts, evil), fleet.lost("x", "failed", evil)], title=evil)
    assert "<script" not in page
    assert "\x00" not in page
    page.encode("utf-8")
    for picture in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(picture)


@pytest.mark.parametrize("language", LANGUAGES)
def test_page_asks_for_nothing(language: str) -> None:
    page = _page(fleet.large_fleet(), language)
    assert re.findall(r"(?:https?:)?//[a-z]", page) == []
    assert re.findall(r"<(?:script|img|iframe|object|embed|audio|video)\b", page) == []
    assert re.findall(r"url\(|@import", page) == []
    assert re.findall(r'(?:href|src)="(?!data:,")', page) == []


def _placeholders(text: str) -> set[str]:
    return {name for _text, name, _form, _kind in string.Formatter().parse(text) if name is not None}


def test_tables_of_texts_have_the_same_keys_and_places() -> None:
    english = LANGUAGES["en"]
    for table in LANGUAGES.values():
        assert table.keys() == english.keys()
        assert [key for key in table if _placeholders(table[key]) != _placeholders(english[key])] == []


class _Asked(dict[str, str]):
    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__(texts)
        self.asked: set[str] = set()

    def __getitem__(self, key: str) -> str:
        self.asked.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)


def test_no_text_is_left_over(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = _Asked(LANGUAGES["en"])
    monkeypatch.setattr(page_module, "LANGUAGES", {"en": texts})
    odd = fleet.document(
        devices=[
            fleet.device("platform/npu", None, None, "accelerator", fleet.GAUDI, pci=None, partitions=[{}, {}]),
            fleet.device("0000:00:02.0", [], None, "gpu", fleet.GPU_H100, integrated=True, driver={"name": None}),
        ],
        numa_nodes=[fleet.numa(0, "", 16, [10]), fleet.numa(1, "", 0, [10])],
        kernel={"unknown": {}},
    )
    odd["devices"][0]["fabric"] = odd["devices"][1]["fabric"] = {"kind": "scaleup", "state": None, "clique": None}
    odd["devices"][1]["link"] = fleet.link(16.0, 8, 32.0, 16, "0000:00:01.0")
    odd["bridges"].append(fleet.bridge("0000:00:01.0", None, "pci0000:00", None, 16.0, 8))
    sides = dict.fromkeys(("loaded", "on_disk", "next_boot", "user_space", "fabric_manager", "tool"), "1")
    odd["drivers"] = [fleet.driver("nvidia", "nvidia", "1", mismatch=sides)]
    odd["devices"][1]["mismatch"] = {"numa_node": {"kernel": 0, "tool": 1}}
    odd["sources"] = [{"name": status, "status": status, "reason": None} for status in ("ok", "partial", "absent")]
    full = fleet.document(devices=None, numa_nodes=None, unknown={})
    odd_fleet = [fleet.seen("odd", odd), fleet.seen("full", full, "/tree"), fleet.lost("lost", "missing", "")]
    for nodes in (*(make() for make in FLEETS.values()), odd_fleet):
        render_page(survey(nodes, ""), "now", "en")
    step = {"plan": [{"subject": "/etc/a.conf"}]}
    left = {"a": [{"is_done": True, **step}], "b": [{"is_done": True}], "c": [{"is_done": False}]}
    for is_check in (False, True):
        rows = changes({name: [{**one, "is_check": is_check} for one in results] for name, results in left.items()})
        render_page(survey([], "", rows), "now", "en")
    clean = fleet.document()
    clean["unknown"] = {}
    render_page(survey([fleet.seen("clean", clean)], ""), "now", "en")
    source = "".join(inspect.getsource(module) for module in (links_module, spread_module, survey_module))
    # names of fields and reasons are made where a difference or a link is found: there each stands in quotes
    made = {key for key in texts if key.startswith("reason_") and f'"{key}"' in source}
    made |= {key for key in texts if key.startswith("field_") and f'"{key[6:]}"' in source}
    assert set(texts) - texts.asked - made == set()


def test_totals_of_the_large_fleet() -> None:
    document = survey(fleet.large_fleet(), "").document
    assert summary(document) == {
        "nodes_total": 30,
        "nodes_seen": 29,
        "nodes_failed": 0,
        "nodes_unreachable": 1,
        "nodes_missing": 0,
        "devices_total": 224,
        "makers": "160 × NVIDIA H100 SXM5 80GB, 64 × AMD Instinct MI300X",
        "topologies_total": 3,
        "differing_nodes": 8,
        "degraded_links": 2,
        "unknown_values": document["totals"]["unknown_values"],
    }
    assert [(entry["name"], len(entry["nodes"])) for entry in document["topologies"]] == [("A", 20), ("B", 8), ("C", 1)]
    rows = {row["field"]: row["values"][1]["nodes"] for row in document["differences"]}
    assert rows["device_version"] == ["hgx07.cluster.example"]
    assert rows["kernel"] == rows["command_line"] == ["hgx13.cluster.example"]
    degraded = [(link["node"], link["id"]) for link in document["links"] if link["verdict"] == "degraded"]
    assert degraded == [
        ("hgx11.cluster.example", "0000:33:00.0"),
        ("hgx18.cluster.example", "0000:13:00.0 – 0000:73:00.0"),
    ]


def test_degraded_link_is_drawn_on_the_picture_of_its_topology() -> None:
    page = _page(fleet.large_fleet())
    flaws = re.findall(r'<title>([^<]*)</title><line class="edge flaw"', page)
    assert len(flaws) == 1
    assert "0000:33:00.0" in flaws[0]
    assert "on hgx11.cluster.example: found ×8, expected ×16" in flaws[0]


def test_lost_nodes_say_why() -> None:
    text = text_of(_page(fleet.small_fleet()))
    assert "cannot open root /nowhere" in text
    assert "Connection timed out" in text


def test_unknown_values_are_grouped_by_reason() -> None:
    rows = {row["reason"]: row for row in survey(fleet.small_fleet(), "").document["unknown"]}
    assert {"path": "devices[].numa_node", "count": 2} in rows["platform reports none"]["paths"]
    assert rows["platform reports none"]["nodes"] == ["gaudi-1"]
    assert ("kernel.modules[].version", "why") in unknown_of(
        fleet.document(kernel={"modules": [{"name": "m", "unknown": {"version": "why"}}], "unknown": {}})
    )


def test_json_is_the_document_and_its_run() -> None:
    data = json.loads(render_json(survey(fleet.small_fleet(), "T"), {"id": "1", "time": "now"}))
    assert data["run"] == {"id": "1", "time": "now"}
    assert data["schema"] == 1
    assert [node["name"] for node in data["nodes"]] == [
        "gaudi-1",
        "hgx01",
        "hgx02",
        "hgx03",
        "login",
        "mi300-a",
        "old-ring",
    ]


def test_names_are_folded() -> None:
    assert fold_names(["n2", "n1", "n3", "n4", "m"]) == ["m", "n[1-4]"]
    assert fold_names(["n08", "n09", "n10", "n11", "n13"]) == ["n[08-11]", "n13"]
    assert fold_names(["n1", "n2", "n3"]) == ["n1", "n2", "n3"]
    assert fold_names(["a1.x", "a2.x", "a3.x", "a4.y"]) == ["a1.x", "a2.x", "a3.x", "a4.y"]
    assert fold_names([f"n{number}" for number in range(8, 12)]) == ["n[8-11]"]
    assert sorted(["n10", "n9", "x²"], key=natural) == ["n9", "n10", "x²"]
    longest = ["9" * 5000, "8" * 5000]
    assert sorted(longest, key=natural) == longest[::-1]
    assert sorted(fold_names(longest)) == longest[::-1]


def test_short_names_stay_clear() -> None:
    assert short_names(["a.x", "b.x"]) == {"a.x": "a", "b.x": "b"}
    assert short_names(["a.x", "a.y"]) == {"a.x": "a.x", "a.y": "a.y"}
    assert short_names(["10.0.0.1"]) == {"10.0.0.1": "10.0.0.1"}


def test_letters() -> None:
    assert [letters(index) for index in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]
