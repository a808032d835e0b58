# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCI functions, NUMA nodes and interfaces of captured sysfs trees, against listings of what the captures hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.answer import Book
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.pci import functions, shared_fields
from ansible_collections.accelerator.ops.tests.machines.conftest import CompareAll
from ansible_collections.accelerator.ops.tests.machines.sysfs_tree import bits, cpulist

# The makers of hwloc copied one function's folder below two more bridges of this capture, each with another node; the
# listing took one of the copies, the link below /sys/bus/pci/devices leads to another.
_COPIED = {("fakepcilocalities", "0000:43:00.0"): {"numa_node": 1, "cpus": "1,5,9,13,17,21,25,29,33,37"}}


def _listings(data: Path) -> dict[str, dict[str, Any]]:
    found = {}
    for path in sorted((data / "truth" / "sysfs").glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict):
            found[path.stem] = content
    return found


def test_functions(data: Path, trees: Callable[[str], Path], comparisons: CompareAll) -> None:
    """Ids, class, NUMA node (-1 is unknown, with its reason) and, where the listing has them, the CPUs next to it."""
    with comparisons(("PCI functions from sysfs", 596), ("values of PCI functions from sysfs", 2785)) as (
        counted,
        values,
    ):
        for name, truth in _listings(data).items():
            host = Host(str(trees(name)))
            known, reason = functions(host)
            assert known is not None, f"{name}: {reason}"
            counted.disagreements.extend(
                f"{name}: {extra} is not in the capture" for extra in set(known) - set(truth["pci"])
            )
            for address, files in truth["pci"].items():
                where = f"{name} {address}"
                counted.same(where, address in known, True)
                if address not in known:
                    continue
                book = Book()
                ours = shared_fields(host, known[address], known, book)
                values.same(f"{where} vendor", ours["pci"]["vendor_id"], _hex(files["vendor"], 4))
                values.same(f"{where} device", ours["pci"]["device_id"], _hex(files["device"], 4))
                values.same(f"{where} class", ours["pci"]["class"], _hex(files["class"], 6))
                node = int(files["numa_node"])
                expected: dict[str, object] = {"numa_node": None if node == -1 else node}
                if "local_cpus" in files:
                    expected["cpus"] = cpulist(bits(files["local_cpus"])) or None
                expected.update(_COPIED.get((name, address), {}))
                for key, value in expected.items():
                    values.same(f"{where} {key}", ours[key], value)
                if node == -1:
                    values.same(f"{where} reason", book.unknown.get("numa_node"), "platform reports none")


def _hex(text: str, digits: int) -> str:
    return f"{int(text, 16):0{digits}x}"
