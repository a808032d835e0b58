# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The readers of what AMD's, Intel's and Gaudi's tools print, and of what all have in common."""

from __future__ import annotations

import json

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.vendor import tools
from ansible_collections.accelerator.ops.plugins.module_utils.vendor.amd import tool as amd
from ansible_collections.accelerator.ops.plugins.module_utils.vendor.habana import tool as habana
from ansible_collections.accelerator.ops.plugins.module_utils.vendor.intel import tool as intel
from ansible_collections.accelerator.ops.tests.fakes import tool_output as output

AMD_TEXT = """GPU: 0
    ASIC:
        MARKET_NAME: AMD Instinct MI350X
    BUS:
        BDF: 0000:05:00.0
    LIMIT:
        PPT0:
            SOCKET_POWER_LIMIT: 1000 W
    VRAM:
        SIZE: 288 GB

GPU: 1
    BUS:
        BDF: 0000:15:00.0
"""


def test_amd_text_is_read_like_json() -> None:
    cards = amd.read_cards(AMD_TEXT)
    assert sorted(cards) == ["0", "1"]
    assert amd.look(cards["0"], "bus.bdf") == "0000:05:00.0"
    assert amd.look(cards["0"], "limit.ppt0.socket_power_limit") == "1000 W"
    assert amd.look(cards["0"], "vram.size") == "288 GB"
    assert amd.look(cards["1"], "bus.bdf") == "0000:15:00.0"
    assert amd.look(cards["1"], "vram.size") is None


def test_amd_sizes_in_any_unit() -> None:
    sizes = {"196592 MB": 196592, "192 GB": 196608, "206141652992 B": 196592, "65536": 65536}
    for text, mib in sizes.items():
        book = tools.Book()
        card = {"vram": {"size": text}}
        told = tools.fields("amd-smi", amd._WANTED, lambda path, card=card: amd.look(card, path), book)  # type: ignore[misc]
        assert told["memory_mib"] == mib


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]x", '{"gpu_data": 5}', '[{"card": 1}]', '{"system": 3}', "null", "GPU: ", "[1, 2]", "[" * 100000],
)
def test_amd_refuses_other_forms(text: str) -> None:
    if text == "[]x":
        assert amd.read_cards(text) == {}
        return
    with pytest.raises((ValueError, TypeError, AttributeError, KeyError)):
        cards = amd.read_cards(text)
        assert cards["0"]["bus"]


def test_intel_json_and_table_say_the_same() -> None:
    ours, text = intel.read_device(output.intel_device(1)), intel.read_device(output.intel_text(1))
    assert ours["device_name"] == text["device_name"]
    assert ours["uuid"] == text["soc_uuid"]
    for read in (ours, text):
        told = tools.fields("xpu-smi", intel._WANTED, read.get, tools.Book())
        assert (told["memory_mib"], told["tiles"], told["serial"]) == (131072, 2, "LQAC00001")


@pytest.mark.parametrize("text", ["", "{}", "[]", "Error: no device", '{"errno": 7}', "| a table | of another kind |"])
def test_intel_refuses_other_forms(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        intel.read_device(text)


def test_gaudi_ports() -> None:
    assert habana.read_ports(output.HABANA_PORTS)[1] == {"port": 1, "state": "down"}
    assert habana.read_ports("no such option") == []


def test_a_table_gives_what_each_line_has() -> None:
    first, second = tools.read_table(output.HABANA)
    assert first == {"name": "HL-325", "bus": output.FIRST, "power": "900", "memory": "131072"}
    assert second["bus"] == output.SECOND
    cut = output.HABANA[: output.HABANA.index("264W")]
    assert list(tools.read_table(cut)) == [{"name": "HL-325", "bus": output.FIRST}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("0000:0b:00.0", "0000:0b:00.0"),
        ("00010000:E1:00.1", "10000:e1:00.1"),
        (" 0000:0b:00.0\n", "0000:0b:00.0"),
    ],
)
def test_addresses_as_the_kernel_prints_them(text: str, expected: str) -> None:
    assert tools.address(text) == expected


@pytest.mark.parametrize("text", ["", "N/A", None, "0:0:0", "0000:0b:00", "0000:0b:00.9", "../etc"])
def test_what_is_no_address(text: object) -> None:
    with pytest.raises(ValueError, match=r".*"):
        tools.address(text)


def test_numbers_with_their_units() -> None:
    assert [tools.number(text) for text in ("81559 MiB", "650.50 W", "700.00 W", "65536", 3)] == [
        *(81559, 650.5, 700, 65536, 3),
    ]
    for text in ("", "W", "-1 W", None, "1.2.3", "9" * 400 + " MiB"):
        with pytest.raises(ValueError, match=r".*"):
            tools.number(text)


def test_json_after_warnings() -> None:
    assert tools.read_json('WARNING: [a] sleeps\n\n{"a": [1]}\ntrailing') == {"a": [1]}
    assert tools.read_json(json.dumps([1])) == [1]
    for text in ("", "no json", "{", '{"a": ', "[" * 100000):
        with pytest.raises(ValueError, match=r".*"):
            tools.read_json(text)


def test_every_maker_with_a_tool_answers_on_a_bare_node(node) -> None:  # type: ignore[no-untyped-def]
    """Nothing installed: absent, with the name of the tool, and no value."""
    for maker in tools.LOADERS:
        ask = tools.tool_of(maker)
        assert ask is not None
        asked = tools.Tools(node({"/etc/hostname": "n"}), 1)
        heard = ask(asked, {})
        assert heard.values == {}
        assert "is not installed" in heard.silent
        assert {row["status"] for row in asked.sources} == {"absent"}
    assert tools.tool_of("tenstorrent") is None


def test_devices_that_no_tool_lists_are_not_missed(node) -> None:  # type: ignore[no-untyped-def]
    asked = tools.Tools(node({"/etc/hostname": "n"}), 1)
    rows = {
        "0000:c5:00.1": {"integrated": True},
        "0000:18:00.0": {"integrated": False, "driver": {"name": "vfio-pci"}},
        "0000:3b:00.0": {"integrated": False, "driver": {"name": "amdgpu"}},
    }
    asked.judge("amd-smi", rows, {"0000:3b:00.0": {}}, None)
    assert asked.sources[-1] == {"name": "amd-smi", "status": "ok", "reason": None}
    asked.judge("amd-smi", rows, {}, "amd-smi failed with exit status 1")
    reason = "amd-smi does not list 0000:3b:00.0; amd-smi failed with exit status 1"
    assert asked.sources[-1] == {"name": "amd-smi", "status": "partial", "reason": reason}
