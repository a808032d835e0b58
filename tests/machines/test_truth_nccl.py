# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far GPUs and NICs are from one another, against the trees of NCCL and RCCL topology files."""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.tests.machines.conftest import CompareAll
from ansible_collections.accelerator.ops.tests.machines.convert_nccl import convert

# One element per switch and no root port: the XML cannot tell one root complex from one NUMA node.
_WORDS = {"PIX": ("pix",), "PXB": ("pxb",), "PHB_OR_NODE": ("phb", "node"), "SYS": ("sys",)}


def test_relations(data: Path, tmp_path: Path, comparisons: CompareAll) -> None:
    """Every pair that a file relates is in our distances with the same word, and every end where the file has it."""
    with comparisons(("NCCL/RCCL pairs", 2358), ("GPUs and NICs from NCCL/RCCL files", 483)) as (pairs, ends):
        for path in sorted((data / "truth" / "nccl-topo").glob("*.json")):
            truth = json.loads(path.read_text(encoding="utf-8"))
            convert(data / "nccl-topo" / f"{path.stem}.xml", tmp_path / path.stem)
            facts = observe(Host(str(tmp_path / path.stem)))
            kinds = {frozenset((row["a"], row["b"])): row["kind"] for row in facts["distances"]}
            for pair, word in truth["relations"].items():
                pairs.one_of(f"{path.stem} {pair}", kinds.get(frozenset(pair.split("|"))), _WORDS[word])
            for section, known in (("devices", truth["gpus"]), ("nics", truth["nics"])):
                seen = {item["id"]: item for item in facts[section]}
                ends.disagreements.extend(
                    f"{path.stem}: {extra} in {section}" for extra in set(seen) - {end["busid"] for end in known}
                )
                for end in known:
                    ours = seen.get(end["busid"])
                    where = f"{path.stem} {end['busid']}"
                    ends.same(
                        where,
                        ours
                        and (
                            ours["numa_node"],
                            ours["pci"]["class"],
                            ours["pci"]["vendor_id"],
                            ours["pci"]["device_id"],
                        ),
                        (
                            int(end["numa"]),
                            end["cls"][2:],
                            *((end.get(key) or "0x")[2:] or None for key in ("vendor", "device")),
                        ),
                    )
