# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs from the majority."""

from __future__ import annotations

from typing import Any

from ansible_collections.accelerator.ops.plugins.module_utils.report.spread import Spread, compare, size_text
from ansible_collections.accelerator.ops.tests.unit.report import fleet


def _found(nodes: list[tuple[str, dict[str, Any]]]) -> dict[tuple[str, str], Spread]:
    return {tuple(spread.field): spread for spread in compare(nodes)}  # type: ignore[misc]


def _three() -> list[tuple[str, dict[str, Any]]]:
    return [(name, fleet.nvswitch_node()) for name in ("a", "b", "c")]


def test_equal_nodes_differ_in_nothing() -> None:
    assert compare(_three()) == []


def test_driver_version_of_one_node() -> None:
    nodes = _three()
    for device in nodes[1][1]["devices"]:
        device["driver"]["version"] = "570.1"
    (spread,) = compare(nodes)
    assert spread.field == ("device_version", "H100 SXM5 80GB")
    assert spread.has_majority
    assert spread.values == (("580.95.05", ("a", "c")), ("570.1", ("b",)))


def test_one_device_of_eight() -> None:
    nodes = _three()
    nodes[2][1]["devices"][3]["driver"]["name"] = "vfio-pci"
    assert compare(nodes)[0].values[1] == ("7 × nvidia, 1 × vfio-pci", ("c",))


def test_lost_device_and_lost_disk() -> None:
    nodes = _three()
    nodes[0][1]["devices"].pop()
    nodes[0][1]["storage"].pop()
    found = _found(nodes)
    assert found["device_count", "H100 SXM5 80GB"].values == (("8", ("b", "c")), ("7", ("a",)))
    assert found["storage_count", "H100 SXM5 80GB"].values == (("8", ("b", "c")), ("7", ("a",)))


def test_two_nodes_have_no_majority() -> None:
    nodes = _three()[:2]
    nodes[0][1]["kernel"]["release"] = "5.15"
    assert [spread.has_majority for spread in compare(nodes)] == [False]


def test_machines_of_another_kind_do_not_differ() -> None:
    nodes = [*_three(), ("login", fleet.plain_node()), ("amd", fleet.xgmi_node())]
    assert compare(nodes) == []


def test_systems_are_compared_with_their_like() -> None:
    others = [(name, fleet.xgmi_node()) for name in ("x", "y", "z")]
    for _name, facts in others:
        facts["kernel"]["release"] = "6.12"
        facts["nics"][0]["model"] = "ConnectX-7"
    assert compare([*_three(), *others]) == []
    others[0][1]["kernel"]["release"] = "6.11"
    (spread,) = compare([*_three(), *others])
    assert spread.field == ("kernel", "Instinct MI300X")
    assert spread.values == (("6.12", ("y", "z")), ("6.11", ("x",)))


def test_systems_that_are_alone_are_compared_with_each_other() -> None:
    alone = [("p", fleet.plain_node()), ("x", fleet.xgmi_node()), ("g", fleet.gaudi_node())]
    alone[2][1]["kernel"]["cgroup_version"] = 1
    (spread,) = compare(alone)
    assert spread.field == ("cgroup", "")
    assert spread.values == (("2", ("p", "x")), ("1", ("g",)))


def test_unknown_is_not_a_value() -> None:
    nodes = _three()
    nodes[0][1]["kernel"]["release"] = None
    nodes[0][1]["numa_nodes"] = None
    assert compare(nodes) == []


def test_words_of_the_command_line() -> None:
    nodes = _three()
    nodes[0][1]["kernel"]["command_line"] = "BOOT_IMAGE=/other root=UUID=1 pci=realloc quiet"
    (spread,) = compare(nodes)
    assert spread.field == ("command_line", "H100 SXM5 80GB")
    assert spread.values == (("iommu=pt pci=realloc", ("b", "c")), ("+quiet -iommu=pt", ("a",)))


def test_memory_has_a_tolerance() -> None:
    nodes = _three()
    nodes[0][1]["numa_nodes"][0]["memory_mib"] -= 4096
    assert compare(nodes) == []
    nodes[0][1]["numa_nodes"][0]["memory_mib"] -= 64 * 1024
    assert [spread.field.name for spread in compare(nodes)] == ["memory"]


def test_sizes() -> None:
    assert [size_text(mib) for mib in (512, 81559, 1536 * 1024, 98304)] == ["512 MiB", "80 GiB", "1.5 TiB", "96 GiB"]
