# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Accelerators and NICs of captured machines, against what the catalogue of the captures says is in each.

The catalogue counts everything with a display or accelerator class, and everything with a network class (an InfiniBand
adapter of class 0c06 is a NIC for us, and not there), by id.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, Callable

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.tests.machines.conftest import CompareAll
from ansible_collections.accelerator.ops.tests.machines.convert_hwloc import convert

_COUNT = re.compile(r"(\d+)x (?:\S+ )?([0-9a-f]{4}:[0-9a-f]{4})")
_LISTED = re.compile(r"\('([0-9a-f:.]+)', '0x([0-9a-f]{6})', '0x([0-9a-f]{4})', '0x([0-9a-f]{4})'")

# Displays that manage a server or stand for a virtual screen: Matrox, ASPEED, bochs, virtio; and AMD's ES1000.
_SCREENS = re.compile(r"102b:|1a03:|1234:|1af4:|1002:515e")


def test_catalogue(data: Path, trees: Callable[[str], Path], tmp_path: Path, comparisons: CompareAll) -> None:
    """By id and number on hwloc files and trees made from them; by address on captures that list them so."""
    rows = {row["file"]: row for row in json.loads((data / "CATALOG.json").read_text(encoding="utf-8"))}
    with comparisons(("machines by id and number", 55), ("accelerators by address", 3)) as (counts, addresses):
        for file, row in rows.items():
            kind, _slash, name = file.partition("/")
            content = str(row["devices"])
            if kind == "hwloc-xml":
                convert(data / file, tmp_path / Path(name).stem)
                facts = observe(Host(str(tmp_path / Path(name).stem)))
            elif kind == "derived-sysfs" or "accel/display" in content:
                facts = observe(Host(str(trees(name.partition(".tar")[0]))))
            else:
                continue
            if "accel/display" in content:
                listed = [
                    (address, f"{vendor}:{device}") for address, _class, vendor, device in _LISTED.findall(content)
                ]
                wanted = {address for address, ids in listed if not _SCREENS.match(ids)}
                if facts["devices"] is not None:
                    addresses.same(file, {device["id"] for device in facts["devices"]}, wanted)
                continue
            accelerators, _nic, nics = content.partition("NIC ")
            counts.same(f"{file} devices", _ours(facts["devices"]), _wanted(accelerators))
            if nics:
                by_class = [nic for nic in facts["nics"] if nic["pci"]["class"].startswith("02")]
                counts.same(f"{file} NICs", _ours(by_class), _wanted(nics))


def _wanted(text: str) -> Counter[str]:
    return Counter({ids: int(number) for number, ids in _COUNT.findall(text) if not _SCREENS.match(ids)})


def _ours(rows: list[dict[str, Any]] | None) -> Counter[str]:
    return Counter(f"{row['pci']['vendor_id']}:{row['pci']['device_id']}" for row in rows or ())
