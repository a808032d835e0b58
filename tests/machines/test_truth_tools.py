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

from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
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
