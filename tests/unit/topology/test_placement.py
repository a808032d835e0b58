# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The best sets of devices: each rule alone, and all of them against looking at every set."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError
from ansible_collections.accelerator.ops.plugins.module_utils.topology import placement
from ansible_collections.accelerator.ops.plugins.module_utils.topology.placement import (
    FIELDS,
    best_sets,
    rank,
    wiring,
)
from ansible_collections.accelerator.ops.tests.unit.topology.every_set import EverySet


def device(name, node=0, physical=None):
    return {"id": name, "numa_node": node, "sriov": {"physical_function": physical} if physical else None}


def link(a, b, count=1, hops=1):
    return {"a": a, "b": b, "kind": "nvlink", "count": count, "hops": hops}


def distances(names, kinds, default="sys"):
    """A row for each pair: ``kinds`` by the pair's letters, ``default`` for the others; no row where it is ""."""
    rows = []
    for a, b in combinations(names, 2):
        kind = kinds.get(a + b, default)
        if kind != "":
            rows.append({"a": a, "b": b, "kind": kind, "unknown": {} if kind else {"kind": "nobody knows"}})
    return rows


def nodes(*rows):
    return [{"node": number, "distances": list(row) if row else None} for number, row in enumerate(rows)]


def chosen(names, count=2, links=(), kinds=None, default="sys", numa=None, rows=(), limit=1):
    """The best sets as letters."""
    devices = [device(name, (numa or {}).get(name, 0)) for name in names]
    wired = wiring(devices, links, distances(names, kinds or {}, default), rows)
    return ["".join(wired.ids[place] for place in places) for places in best_sets(wired, count, limit)]


def test_fabric_comes_before_distance():
    assert chosen("abcd", links=[link("c", "d")], kinds={"ab": "pix"}) == ["cd"]


def test_a_link_that_is_down_joins_nothing():
    assert chosen("abcd", links=[link("c", "d", count=0)], kinds={"ab": "pix"}) == ["ab"]


def test_fewer_hops_come_before_more_links():
    assert chosen("abcd", links=[link("a", "b", count=4, hops=2), link("c", "d", count=1, hops=1)]) == ["cd"]


def test_more_links_win():
    assert chosen("abcd", links=[link("a", "b", count=1), link("b", "d", count=2)]) == ["bd"]


def test_unknown_hops_and_links_are_worse():
    assert chosen("abcd", links=[link("a", "b", hops=None), link("c", "d", hops=3)]) == ["cd"]
    assert chosen("abcd", links=[link("a", "b", count=None), link("c", "d")]) == ["cd"]
    assert chosen("abcd", links=[link("c", "d", count=None, hops=None)], kinds={"ab": "pix"}) == ["cd"]


def test_the_whole_set_is_linked_before_one_strong_pair():
    links = [link("a", "b", count=9), link("b", "c"), link("c", "d"), link("b", "d")]
    assert chosen("abcd", 3, links=links) == ["bcd"]


@pytest.mark.parametrize(
    ("near", "far"),
    [("pix", "pxb"), ("pxb", "phb"), ("phb", "node"), ("node", "sys"), ("sys", None), ("sys", "")],
)
def test_nearer_wins_and_unknown_is_farthest(near, far):
    assert chosen("abcd", kinds={"cd": near}, default=far) == ["cd"]


def test_the_worst_pair_decides_before_the_best():
    near = {"ab": "pix", "ac": "pix", "bc": "sys", "bd": "node", "cd": "node", "ad": "node"}
    assert chosen("abcd", 3, kinds=near) == ["abd"]


def test_distance_comes_before_numa():
    assert chosen("abcd", kinds={"cd": "phb"}, numa={"d": 1}, rows=nodes([10, 20], [20, 10])) == ["cd"]


def test_fewer_numa_nodes_win_and_then_nearer_ones():
    assert chosen("abc", numa={"a": 0, "b": 1, "c": 1}) == ["bc"]
    near = nodes([10, 32, 12], [32, 10, 32], [12, 32, 10])
    assert chosen("abc", numa={"a": 0, "b": 1, "c": 2}, rows=near) == ["ac"]


def test_an_unknown_numa_node_or_distance_is_worse():
    assert chosen("abc", numa={"a": None, "b": 0, "c": 1}) == ["bc"]
    rows = nodes([10, 12, 254], None, [254, 12, 10])
    assert chosen("abc", numa={"a": 0, "b": 1, "c": 2}, rows=rows) == ["ac"]


def test_one_direction_of_a_numa_distance_is_not_enough():
    rows = nodes([10, 12], None)
    wired = wiring([device("a", 0), device("b", 1)], [], [], rows)
    assert wired.pairs[0, 1].numa is None


def test_equal_sets_come_by_id_whatever_the_order_of_the_rows():
    assert chosen("abcd", limit=9) == ["ab", "ac", "ad", "bc", "bd", "cd"]
    assert chosen("dcba", limit=2) == ["ab", "ac"]


def test_virtual_functions_of_one_device_are_at_one_place():
    devices = [device("p", 0), device("q", 0), device("v", 0, "p"), device("w", 0, "p"), device("x", 0, "q")]
    wired = wiring(devices, [], distances("pq", {}, "phb"), [])
    assert wired.pairs[2, 3].distance == "same"
    assert wired.pairs[2, 4].distance == "phb"
    assert [wired.ids[place] for place in best_sets(wired, 2, 1)[0]] == ["p", "v"]


def test_an_unknown_distance_keeps_its_reason():
    wired = wiring([device(name) for name in "abc"], [], distances("abc", {"ab": None, "ac": ""}), [])
    assert wired.pairs[0, 1].reason == "nobody knows"
    assert wired.pairs[0, 2].reason == "the facts have no distance of them"


def test_one_and_all():
    assert chosen("abc", 1, limit=5) == ["a", "b", "c"]
    assert chosen("abc", 3, limit=5) == ["abc"]
    assert chosen("abc", 1, numa={"a": None}) == ["b"]


def test_rank_says_what_it_is():
    kinds = {"ab": "pix", "ac": None}
    devices = [device("a", 0), device("b", 1), device("c", None)]
    wired = wiring(
        devices, [link("a", "b", 2, 1), link("b", "c", None, None)], distances("abc", kinds), nodes([10, 21], [21, 10])
    )
    found = dict(zip(FIELDS, rank(wired, (0, 1, 2))))
    assert found == {
        "pairs without a known link": 1,
        "pairs of unknown hops": 1,
        "hops": 1,
        "links missing": 4,
        "pairs of unknown distance": 1,
        "pairs sys": 1,
        "pairs node": 0,
        "pairs phb": 0,
        "pairs pxb": 0,
        "pairs pix": 1,
        "devices of unknown NUMA node": 1,
        "NUMA nodes": 2,
        "NUMA distance": 21 + 255 + 255,
    }


def machine(size, seed):
    """A machine such as none is built: everything at random, some of it unknown, some of it without a row."""
    pick = random.Random(seed)
    names = [f"{number:02d}" for number in range(size)]
    few = pick.random() < 0.5  # many equal sets
    devices = [device(name, pick.choice([0, 0, 1] if few else [None, 0, 1, 2])) for name in names]
    kinds = ["pix", "sys"] if few else ["pix", "pxb", "phb", "node", "sys", None]
    near, links = [], []
    for a, b in combinations(names, 2):
        if few or pick.random() < 0.9:
            near.append({"a": a, "b": b, "kind": pick.choice(kinds), "unknown": {}})
        for _row in range(pick.choice([0, 1, 1] if few else [0, 0, 1, 2])):
            links.append(link(a, b, pick.choice([1] if few else [None, 0, 1, 2, 6]), pick.choice([None, 1, 2])))
    table = [[10 if a == b else pick.choice([12, 21, 32]) for a in range(3)] for b in range(3)]
    return devices, links, near, nodes(*table[: pick.choice([2, 3])])


@pytest.mark.parametrize("seed", range(40))
def test_any_machine_against_every_set(seed):
    size = 3 + seed % 7
    rows = machine(size, seed)
    wired, every = wiring(*rows), EverySet(*rows)
    compared = 0
    for count in range(1, size + 1):
        for limit in (1, 3, 200):
            ours = [tuple(wired.ids[place] for place in places) for places in best_sets(wired, count, limit)]
            assert ours == every.best(count, limit), (count, limit)
            compared += len(ours)
    assert compared >= size


@pytest.mark.parametrize("seed", [1, 2])
def test_sixteen_choose_eight_against_every_set(seed):
    rows = machine(16, seed)
    wired = wiring(*rows)
    ours = [tuple(wired.ids[place] for place in places) for places in best_sets(wired, 8, 5)]
    assert ours == EverySet(*rows).best(8, 5)


def test_too_many_sets_are_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(placement, "MOST_STEPS", 50)
    wired = wiring(*machine(16, 3))
    with pytest.raises(InputError) as refused:
        best_sets(wired, 8, 1)
    assert str(refused.value) == (
        "cannot choose 8 of 16 devices: more than 50 partial sets to look at, expected fewer; "
        "name fewer devices to choose from"
    )


def test_many_equal_devices_are_no_burden():
    """64 virtual functions on 8 devices: four thousand million sets, of which few need a look."""
    devices = [device(f"{number:02d}", 0, f"p{number % 8}") for number in range(64)]
    near = distances([f"p{number}" for number in range(8)], {}, "phb")
    wired = wiring(devices, [], near, [])
    assert [wired.ids[place] for place in best_sets(wired, 8, 1)[0]] == [f"{8 * row:02d}" for row in range(8)]
