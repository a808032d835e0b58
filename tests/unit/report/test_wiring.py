# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tree of a node, and when two nodes are wired alike."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.report.wiring import (
    ACCELERATORS,
    Switch,
    cards_of,
    count_cpus,
    switches_of,
    wire,
)
from ansible_collections.accelerator.ops.tests.unit.report import fleet

Facts = dict[str, Any]


def test_switch_has_its_cards_in_order() -> None:
    wiring = wire(fleet.nvswitch_node())
    assert [domain.node for domain in wiring.domains] == [0, 1]
    roots = wiring.domains[0].roots
    assert [root.name for root in roots] == ["pci0000:10", "pci0000:30", "pci0000:90"]
    switch = roots[0].children[0]
    assert isinstance(switch, Switch)
    assert (switch.id, switch.via) == ("0000:11:00.0", ("0000:10:01.0",))
    assert [card.kind for card in cards_of(switch)] == ["gpu", "gpu", "nic", "nic", "storage", "storage"]
    assert cards_of(switch)[0].via == ("0000:12:00.0",)


def test_functions_of_a_nic_are_one_card() -> None:
    card = cards_of(wire(fleet.plain_node()).domains[0].roots[0])[1]
    assert {one.ids for one in cards_of(wire(fleet.plain_node()).domains[0])} >= {("0000:02:00.0", "0000:02:00.1")}
    assert card.kind == "storage"


def test_every_function_is_drawn_once() -> None:
    for make in (fleet.nvswitch_node, fleet.xgmi_node, fleet.gaudi_node, fleet.cube_node, fleet.many_functions_node):
        facts = make()
        drawn = [
            one for domain in wire(facts).domains for card in cards_of(domain) for one in (*card.ids, *card.virtual)
        ]
        expected = [record["id"] for section in ("devices", "nics", "storage") for record in facts[section]]
        assert sorted(drawn) == sorted(expected)


def test_many_equal_nics_are_folded_and_devices_never() -> None:
    facts = fleet.document(
        devices=[fleet.device(f"0000:00:{place:02x}.0", [], 0, "gpu", fleet.GPU_H100) for place in range(20)],
        nics=[fleet.nic(f"0000:00:{place:02x}.1", [], 0, "Virtio", 10) for place in range(20)],
    )
    cards = [card for domain in wire(facts).domains for card in cards_of(domain)]
    assert sum(card.kind in ACCELERATORS for card in cards) == 20
    assert [(card.fold, len(card.ids)) for card in cards if card.kind == "nic"] == [(20, 20)]


def test_path_that_is_unknown_is_not_the_root_bus() -> None:
    names = [root.name for domain in wire(fleet.cube_node()).domains for root in domain.roots]
    assert names == [None, None]
    on_bus = fleet.document(devices=[fleet.device("0000:00:02.0", [], 0, "gpu", fleet.GPU_H100)])
    assert [root.name for domain in wire(on_bus).domains for root in domain.roots] == ["pci0000:00"]


def test_device_off_pci_stands_at_no_root() -> None:
    facts = fleet.document(devices=[fleet.device("platform/npu0", None, 0, "npu", fleet.GAUDI, pci=None)])
    assert [root.name for domain in wire(facts).domains for root in domain.roots] == [""]


def _addresses(facts: Facts) -> None:
    text = repr(facts).replace("'0000:", "'0001:").replace("pci0000:", "pci0001:")
    facts.clear()
    facts.update(eval(text))


def _volatile(facts: Facts) -> None:
    facts["devices"][0]["link"].update(speed_gts=2.5, width=1)
    facts["devices"][1].update(serial="123", uuid="GPU-1", driver={"name": None, "version": None})
    facts["numa_nodes"][0]["memory_mib"] -= 3
    facts["storage"][0]["model"] = "Another"
    facts["links"][0]["count"] = 4


def _device_lost(facts: Facts) -> None:
    facts["devices"].pop()


def _model(facts: Facts) -> None:
    facts["devices"][0]["model"] = "H200"


def _nic_moved(facts: Facts) -> None:
    facts["nics"][0]["path"] = facts["nics"][-1]["path"]


def _slot(facts: Facts) -> None:
    facts["devices"][0]["link"]["max_width"] = 8


def _numa(facts: Facts) -> None:
    for record in (*facts["devices"], *facts["nics"], *facts["storage"]):
        record["numa_node"] = 0


def _links(facts: Facts) -> None:
    facts["links"].pop()


@pytest.mark.parametrize("change", [_addresses, _volatile])
def test_same_wiring(change: Callable[[Facts], None]) -> None:
    facts = copy.deepcopy(fleet.nvswitch_node())
    change(facts)
    assert wire(facts).signature == wire(fleet.nvswitch_node()).signature


@pytest.mark.parametrize("change", [_device_lost, _model, _nic_moved, _slot, _numa, _links])
def test_other_wiring(change: Callable[[Facts], None]) -> None:
    facts = copy.deepcopy(fleet.nvswitch_node())
    change(facts)
    assert wire(facts).signature != wire(fleet.nvswitch_node()).signature


def test_order_of_the_facts_does_not_matter() -> None:
    facts = fleet.nvswitch_node()
    for section in ("devices", "nics", "storage", "bridges", "links", "numa_nodes"):
        facts[section].reverse()
    assert wire(facts) == wire(fleet.nvswitch_node())


def test_fabric_is_complete_only_when_every_pair_is_joined() -> None:
    assert [(fabric.kind, fabric.is_complete) for fabric in wire(fleet.xgmi_node()).fabrics] == [("xgmi", True)]
    assert [(fabric.kind, fabric.is_complete) for fabric in wire(fleet.cube_node()).fabrics] == [("nvlink", False)]


def test_fabric_that_devices_name_without_links() -> None:
    facts = fleet.nvswitch_node()
    facts["links"] = []
    assert wire(facts).fabrics == ()
    for device in facts["devices"][:4]:
        device["fabric"] = {"kind": "nvlink", "state": None, "clique": None}
    (fabric,) = wire(facts).fabrics
    assert (fabric.kind, len(fabric.members), fabric.links, fabric.is_complete) == ("nvlink", 4, (), False)


def test_switches_of_a_node() -> None:
    assert sum(len(switches_of(domain)) for domain in wire(fleet.nvswitch_node()).domains) == 4


@pytest.mark.parametrize(("text", "count"), [("0-3,8", 5), ("", 0), ("7", 1), (None, None), ("all", None)])
def test_count_cpus(text: str | None, count: int | None) -> None:
    assert count_cpus(text) == count
