# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makers' tools printed on real machines, against the truth beside the captures and a table written by hand.

Each capture is printed by a program that stands in for the tool, on a node whose PCI devices stand where the capture
has them; the facts of that node are compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.plugins.module_utils.vendor.amd import tool as amd
from ansible_collections.accelerator.ops.plugins.module_utils.vendor.intel import tool as intel
from ansible_collections.accelerator.ops.plugins.module_utils.vendor.nvidia import tool as nvidia
from ansible_collections.accelerator.ops.tests.fakes import tool_node
from ansible_collections.accelerator.ops.tests.machines.conftest import Compare

Seen = Callable[..., dict[str, Any]]


@pytest.fixture
def see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    """The facts of a new node with these PCI functions, whose tools answer so."""
    number = iter(range(1000))

    def facts(functions: Any, tools: Any) -> dict[str, Any]:
        folder = tmp_path / str(next(number))
        folder.mkdir()
        programs = tool_node.Programs(folder / "bin")
        for name, answers in tools.items():
            programs.install(name, answers)
        tool_node.sysfs(folder / "node", functions)
        return observe(tool_node.open_node(monkeypatch, folder / "node", programs), "auto", 20)

    return facts


def _value(text: object) -> object:
    """A word of the truth as the facts have it."""
    if text in (None, "N/A", "[N/A]"):
        return None
    plain = str(text)
    found = re.fullmatch(r"(\d+)(?:\.00)? (?:MiB|W)", plain)
    if found is not None:
        return int(found.group(1))
    return {"Yes": True, "No": False}.get(plain, int(plain) if plain.isdigit() else plain)


def _lower(text: object) -> object:
    value = _value(text)
    return value.lower() if isinstance(value, str) else value


def test_nvidia_smi(see: Seen, data: Path, comparison: Compare) -> None:
    gpus = 0
    with comparison("values of nvidia-smi", 22 * 11) as one:
        for path in sorted((data / "nvidia-smi").glob("*.xml")):
            truth = json.loads((data / "truth/nvidia-smi" / f"{path.stem}.json").read_text(encoding="utf-8"))
            text = path.read_text(encoding="utf-8")
            ids = re.findall(r"<pci_device_id>([0-9A-F]{4})10DE", text)
            functions = {
                f"{gpu['bus'][4:].lower()}": ("10de", ids[number].lower() if ids else "1b82", "030200")
                for number, gpu in enumerate(truth["gpus"])
            }
            facts = see(functions, {"nvidia-smi": {"-q -x": {"file": str(path)}}})
            devices = {device["id"]: device for device in facts["devices"]}
            one.same(f"{path.stem} devices", set(devices), set(functions))
            for gpu in truth["gpus"]:
                gpus += 1
                device = devices[gpu["bus"][4:].lower()]
                where = f"{path.stem} {device['id']}"
                health, fabric = device["memory_health"] or {}, device["fabric"]
                one.same(f"{where} memory", device["memory_mib"], _value(gpu["memory_total"]))
                one.same(f"{where} power", device["power_limit_watts"], _value(gpu["power_limit"]))
                one.same(f"{where} vbios", device["firmware"]["vbios"], _value(gpu["vbios"]))
                one.same(f"{where} gsp", device["firmware"]["gsp"], _value(gpu["gsp"]))
                one.same(f"{where} ecc", health.get("ecc_mode"), _lower(gpu["ecc_current"]))
                rows = list((health.get("remapped_rows") or dict.fromkeys("abcd")).values())
                one.same(f"{where} rows", rows, [_value(word) for word in gpu["remapped"]])
                one.same(f"{where} fabric", fabric["state"], _lower(gpu["fabric_state"]))
                if device["unknown"].get("fabric.clique", "").endswith("in no NVLink domain of several nodes"):
                    one.same(f"{where} clique of a lone node", gpu["fabric_clique"], "0")
                else:
                    clique = (fabric["clique"] or "").rpartition(".")[2] or None
                    one.same(f"{where} clique", clique, None if gpu["fabric_clique"] == "N/A" else gpu["fabric_clique"])
                migs = sorted(gpu["mig_devices"], key=lambda mig: (int(mig["gi"]), int(mig["ci"])))
                ours = [partition["memory_mib"] for partition in device["partitions"] or ()]
                one.same(f"{where} partitions", ours, [_value(mig["mem"]) for mig in migs])
                one.same(f"{where} uuid", (device["uuid"] or "")[:4], "GPU-")
                nulls = [key for key in ("memory_mib", "serial", "power_limit_watts") if device[key] is None]
                one.same(f"{where} reasons", [key for key in nulls if "nvidia-smi" not in device["unknown"][key]], [])
            loaded = [row["loaded"] for row in facts["drivers"] if row["name"] == "nvidia"]
            one.same(f"{path.stem} driver", loaded, [truth["driver"]])
    assert gpus == 22


def _expected() -> dict[str, Any]:
    table: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("expected_tools.yml").read_text(encoding="utf-8"))
    return table


def _at(row: Any, path: str) -> Any:
    for part in path.split("."):
        row = None if row is None else row.get(part)
    return row


def test_captures_without_a_truth(see: Seen, data: Path, comparison: Compare) -> None:
    with comparison("values of makers' tools written by hand", 100) as one:
        for case in _expected()["facts"]:
            path = data / case["capture"]
            text = path.read_text(encoding="utf-8")
            if "inside" in case:
                text = json.dumps(json.loads(text)[case["inside"]])
            listed = [{"device_id": n, "pci_bdf_address": bus} for n, bus in enumerate(case["devices"])]
            answers = {"*": {"print": text}, "discovery -j": {"print": json.dumps({"device_list": listed})}}
            facts = see(dict.fromkeys(case["devices"], case["function"]), {case["tool"]: answers})
            devices = {device["id"]: device for device in facts["devices"]}
            for bus, fields in case["devices"].items():
                for field, value in fields.items():
                    one.same(f"{path.stem} {bus} {field}", _at(devices[bus], field), value)
                    if value is None:
                        reasons = [why for at, why in devices[bus]["unknown"].items() if field.startswith(at)]
                        one.same(
                            f"{path.stem} {bus} {field} reason", [why for why in reasons if "smi" in why] != [], True
                        )
            name, loaded = case["driver"]
            one.same(
                f"{path.stem} driver", [row["loaded"] for row in facts["drivers"] if row["name"] == name], [loaded]
            )
            one.same(f"{path.stem} links", len(facts["links"]), case["links"])


def test_readers(data: Path, comparison: Compare) -> None:
    expected = _expected()["readers"]
    with comparison("values of the readers of makers' tools", 140) as one:
        for case in expected["cards"]:
            cards = amd.read_cards((data / case["capture"]).read_text(encoding="utf-8"))
            one.same(f"{case['capture']} cards", sorted(cards), [str(number) for number in range(case["number"])])
            for number, card in cards.items():
                for field, value in case["fields"].items():
                    one.same(f"{case['capture']} {number} {field}", card[field], value)
                if "nodes" in case:
                    node = amd.look(card, "(topology) numa node")
                    one.same(f"{case['capture']} {number} node", int(str(node)), case["nodes"][int(number)])
        for case in expected["matrices"]:
            pairs = dict(nvidia.read_matrix((data / case["capture"]).read_text(encoding="utf-8")))
            one.same(f"{case['capture']} pairs", len(pairs), case["pairs"])
            for pair, count in pairs.items():
                one.same(f"{case['capture']} {pair}", count, case["count"])
        for case in expected["partitions"]:
            names = nvidia.read_names((data / case["capture"]).read_text(encoding="utf-8"))
            profiles = {number: profile for (_gpu, number), (profile, _uuid) in names.items()}
            one.same(case["capture"], profiles, case["profiles"])
        for capture in expected["refused"]:
            text = (data / capture).read_text(encoding="utf-8")
            for read in (nvidia.read_xml, amd.read_cards, intel.read_device):
                try:
                    found = read(text)
                except (ValueError, TypeError, AttributeError, KeyError):
                    found = None
                one.same(f"{capture} {read.__module__}", found, None)
