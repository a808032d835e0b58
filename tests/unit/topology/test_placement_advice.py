# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a chosen set: from a facts document to the rows of ``placement_info``."""

from __future__ import annotations

from itertools import combinations

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError, ProbeError
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.placement import advise


def device(name, node=0, model="x", **more):
    row = {
        "id": name,
        "kind": "gpu",
        "maker": "nvidia",
        "model": model,
        "integrated": False,
        "pci": {"vendor_id": "10de", "device_id": model},
        "sriov": None,
        "numa_node": node,
        "cpus": None if node is None else f"{node * 4}-{node * 4 + 3}",
        "nearest": {"nics": [f"nic{node or 0}"], "storage": []},
        "unknown": {} if node is not None else {"numa_node": "platform reports none", "cpus": "not there"},
    }
    row.update(more)
    return row


def document(devices, links=(), kind="node", **more):
    names = [row["id"] for row in devices] + ["nic0", "nic1"]
    facts = {
        "devices": devices,
        "links": list(links),
        "distances": [{"a": a, "b": b, "kind": kind, "unknown": {}} for a, b in combinations(names, 2)],
        "numa_nodes": [
            {"node": 0, "cpus": "0-3", "memory_mib": 100, "distances": [10, 21]},
            {"node": 1, "cpus": "4-7", "memory_mib": 100, "distances": [21, 10]},
        ],
        "unknown": {"engines": "not looked at", "links.xgmi": "no KFD"},
    }
    facts.update(more)
    return facts


def link(a, b, count=2, hops=1):
    return {"a": a, "b": b, "kind": "nvlink", "count": count, "hops": hops}


def first(facts, count=2, named=None, limit=1):
    return advise(facts, count, named, limit)["placements"][0]


def test_a_whole_row():
    facts = document([device("a"), device("b", 1), device("c", 1)], [link("b", "c"), link("a", "c", 1)])
    assert advise(facts, 2, None, 1) == {
        "placements": [
            {
                "devices": ["b", "c"],
                "fabric": {
                    "kinds": ["nvlink"],
                    "pairs": 1,
                    "linked_pairs": 1,
                    "links": 2,
                    "fewest_links": 2,
                    "most_hops": 1,
                },
                "distance": {"worst": "node", "pairs": {"node": 1}, "unknown_pairs": 0},
                "numa": {"nodes": [1], "farthest": None},
                "cpus": "4-7",
                "memory_nodes": [1],
                "nics": [{"id": "nic1", "distance": "node", "devices": ["b", "c"]}],
                "why": [
                    "fabric: 1 of 1 pairs linked by nvlink, 2 links, at most 1 hop",
                    "distance: 1 node",
                    "NUMA: 1 node",
                    "better than the next set by links: 2, next 1",
                ],
                "unknown": {"numa.farthest": "one NUMA node"},
            }
        ],
        "candidates": ["a", "b", "c"],
        "unknown": {"links.xgmi": "no KFD"},
    }


def test_two_numa_nodes():
    row = first(document([device("a"), device("b", 1)]))
    assert row["numa"] == {"nodes": [0, 1], "farthest": 21}
    assert row["cpus"] == "0-7"
    assert row["memory_nodes"] == [0, 1]
    assert row["nics"] == [
        {"id": "nic0", "distance": "node", "devices": ["a"]},
        {"id": "nic1", "distance": "node", "devices": ["b"]},
    ]
    assert row["why"][-2:] == ["NUMA: 2 nodes, at most 21 apart", "there is no other set"]


def test_unknown_numa_distance_says_so():
    facts = document([device("a"), device("b", 1)], numa_nodes=None)
    row = first(facts)
    assert row["numa"] == {"nodes": [0, 1], "farthest": None}
    assert row["unknown"]["numa.farthest"] == "the distance of two of the NUMA nodes is unknown"
    assert row["memory_nodes"] == [0, 1]


def test_an_unknown_numa_node_says_so():
    row = first(document([device("a", None), device("b")]))
    assert (row["numa"]["nodes"], row["cpus"], row["memory_nodes"]) == (None, None, None)
    assert row["unknown"]["numa.nodes"] == "a: platform reports none"
    assert row["unknown"]["cpus"] == "a: not there"
    assert row["unknown"]["memory_nodes"] == "a: platform reports none"
    assert "NUMA: unknown" in row["why"]


def test_memory_of_a_node_without_comes_from_the_nearest():
    facts = document([device("a"), device("b")])
    facts["numa_nodes"] = [
        {"node": 0, "cpus": "0-3", "memory_mib": 0, "distances": [10, 21, 15]},
        {"node": 1, "cpus": "4-7", "memory_mib": 8, "distances": [21, 10, 21]},
        {"node": 2, "cpus": None, "memory_mib": 8, "distances": [15, 21, 10]},
    ]
    assert first(facts)["memory_nodes"] == [2]
    facts["numa_nodes"][0]["distances"] = None
    row = first(facts)
    assert row["memory_nodes"] is None
    assert row["unknown"]["memory_nodes"] == "NUMA node 0 has no memory, and which is nearest is unknown"


def test_an_unknown_distance_says_so():
    facts = document([device("a"), device("b")])
    facts["distances"][0].update(kind=None, unknown={"kind": "different root buses"})
    row = first(facts)
    assert row["distance"] == {"worst": None, "pairs": {}, "unknown_pairs": 1}
    assert row["unknown"]["distance.worst"] == "a|b: different root buses"
    assert "distance: 1 unknown" in row["why"]


def test_more_than_one_unknown_pair_is_counted():
    facts = document([device("a"), device("b"), device("c")], distances=None)
    for row in facts["devices"]:
        row["nearest"]["nics"] = []
    assert first(facts, 3)["unknown"]["distance.worst"] == "a|b and 2 more: the facts have no distance of them"


def test_links_that_nobody_told_are_unknown_and_not_none():
    facts = document([device("a"), device("b")], unknown={"links.nvlink": "no tool"})
    row = first(facts)
    assert row["fabric"] == {
        "kinds": None,
        "pairs": 1,
        "linked_pairs": None,
        "links": None,
        "fewest_links": None,
        "most_hops": None,
    }
    assert row["unknown"]["fabric.links"] == row["unknown"]["fabric.kinds"] == "links.nvlink: no tool"
    assert row["why"][0] == "fabric: unknown (links.nvlink: no tool)"
    facts["devices"] = [device("a", maker="amd"), device("b", maker="amd")]
    assert first(facts)["fabric"]["linked_pairs"] == 0
    facts["devices"] = [device("a", maker=None), device("b", maker=None)]
    assert first(facts)["fabric"]["linked_pairs"] is None
    facts.update(links=None, unknown={"links": "the PCI tree is not in this root"})
    assert first(facts)["unknown"]["fabric.linked_pairs"] == "links: the PCI tree is not in this root"


def test_links_without_count_or_hops_say_so():
    row = first(document([device("a"), device("b")], [link("a", "b", None, None)]))
    assert (row["fabric"]["linked_pairs"], row["fabric"]["links"], row["fabric"]["most_hops"]) == (1, None, None)
    assert row["unknown"]["fabric.links"] == "a|b: the links are not counted"
    assert row["unknown"]["fabric.most_hops"] == "a|b: the hops are not known"
    assert row["why"][0] == "fabric: 1 of 1 pairs linked by nvlink, links not counted, hops unknown"


def test_a_pair_that_is_not_linked_has_the_fewest_links():
    row = first(document([device("a"), device("b"), device("c")], [link("a", "b", 4)]), 3)
    assert (row["fabric"]["linked_pairs"], row["fabric"]["links"], row["fabric"]["fewest_links"]) == (1, 4, 0)


def test_unknown_nics_say_so():
    lost = device("b")
    lost["nearest"]["nics"] = None
    lost["unknown"]["nearest.nics"] = "no distance is known"
    row = first(document([device("a"), lost]))
    assert row["nics"] is None
    assert row["unknown"]["nics"] == "b: no distance is known"


def test_one_device():
    row = first(document([device("a"), device("b")]), 1)
    assert row["devices"] == ["a"]
    assert row["distance"]["worst"] is None
    assert row["unknown"]["distance.worst"] == "one device has no distance"
    assert row["why"] == ["NUMA: 1 node", "as good as the next set: the lower ids come first"]


def test_sets_are_of_one_model_unless_devices_are_named():
    facts = document([device("a"), device("b", model="y"), device("c")])
    assert first(facts)["devices"] == ["a", "c"]
    assert advise(facts, 2, None, 9)["candidates"] == ["a", "c"]
    assert len(advise(facts, 2, None, 9)["placements"]) == 1
    assert first(facts, 2, ["b", "a"])["devices"] == ["a", "b"]
    with pytest.raises(InputError, match="cannot place 3 devices: 2 of one model, expected at least 3; lower count"):
        first(facts, 3)


def test_sets_of_several_models_are_in_one_order():
    facts = document([device("a"), device("b"), device("y", 0, "y"), device("z", 0, "y")], [link("y", "z", 1)])
    told = advise(facts, 2, None, 9)["placements"]
    assert [row["devices"] for row in told] == [["y", "z"], ["a", "b"]]
    assert told[0]["why"][-1] == "better than the next set by pairs without a known link: 0, next 1"
    facts["links"].append(link("a", "b", 9))
    told = advise(facts, 2, None, 9)["placements"]
    assert [row["devices"] for row in told] == [["a", "b"], ["y", "z"]]
    assert told[0]["why"][-1] == "better than the next set by links: 9, next 1"


def test_parts_of_the_processor_and_virtual_functions_are_left_out():
    part = device("a", integrated=True)
    virtual = device("b", sriov={"physical_function": "c"})
    facts = document([part, virtual, device("c")])
    assert advise(facts, 1, None, 9)["candidates"] == ["c"]
    assert advise(document([part]), 1, None, 9)["candidates"] == ["a"]
    assert first(facts, 2, ["b", "c"])["distance"] == {"worst": "same", "pairs": {"same": 1}, "unknown_pairs": 0}


def test_ids_may_be_written_in_capitals():
    assert first(document([device("0a"), device("0b")]), 1, [" 0B"])["devices"] == ["0b"]


@pytest.mark.parametrize(
    ("count", "named", "limit", "line"),
    [
        (0, None, 1, "cannot use count 0: 0, expected 1 or more; set count to 1 or more"),
        (1, None, 0, "cannot use limit 0: 0, expected 1 or more; set limit to 1 or more"),
        (1, ["q"], 1, "cannot place device q: no such device, expected one of a, b; correct devices"),
        (1, ["a", "a"], 1, "cannot place device a: named twice, expected each once; correct devices"),
        (2, ["a"], 1, "cannot place 2 devices: 1 named, expected at least 2; lower count, or name more devices"),
        (1, [], 1, "cannot place 1 devices: 0 named, expected at least 1; lower count, or name more devices"),
    ],
)
def test_a_wish_that_cannot_be_met_is_one_line(count, named, limit, line):
    with pytest.raises(InputError) as refused:
        advise(document([device("a"), device("b")]), count, named, limit)
    assert str(refused.value) == line


def test_no_device_and_unknown_devices_differ():
    with pytest.raises(InputError, match="cannot place 1 devices: no device, expected at least 1"):
        advise(document([]), 1, None, 1)
    facts = document([])
    facts.update(devices=None, unknown={"devices": "/sys not there"})
    with pytest.raises(ProbeError, match="the devices are unknown: /sys not there, expected a root with /sys"):
        advise(facts, 1, None, 1)


def test_two_runs_are_equal_whatever_the_order():
    rows = [device(name, number % 2) for number, name in enumerate("abcdef")]
    links = [link("a", "b"), link("c", "d")]
    told = advise(document(rows, links), 3, None, 5)
    assert told == advise(document(rows, links), 3, None, 5)
    turned = document(rows, links[::-1])
    turned["devices"], turned["distances"] = rows[::-1], turned["distances"][::-1]
    for row in turned["links"]:
        row["a"], row["b"] = row["b"], row["a"]
    again = advise(turned, 3, None, 5)
    assert [row["devices"] for row in again["placements"]] == [row["devices"] for row in told["placements"]]
    assert again == told
