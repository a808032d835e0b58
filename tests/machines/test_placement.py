# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Placement on every machine there is: against looking at every set, and against the matrix of ``nvidia-smi topo -m``.

What the kernel does not tell of fabrics is taken from where a capture has it (NCCL and RCCL files, KFD, the matrix).
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any, Callable, Optional

from ansible_collections.accelerator.ops.plugins.module_utils.codec.sysfs import cpus_of_list, list_of_cpus
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.topology.distance import KINDS
from ansible_collections.accelerator.ops.plugins.module_utils.topology.placement import best_sets, wiring
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.placement import advise
from ansible_collections.accelerator.ops.plugins.module_utils.vendor.amd.kfd import XGMI, hops, topology
from ansible_collections.accelerator.ops.tests.machines import convert_hwloc, convert_nccl
from ansible_collections.accelerator.ops.tests.machines.conftest import Compare, Comparison
from ansible_collections.accelerator.ops.tests.machines.unpack import sources
from ansible_collections.accelerator.ops.tests.unit.topology.every_set import EverySet

_SETS = 2_000  # of larger numbers only the largest is compared: 16 choose 8 is 12,870
_LIMIT = 3


def compare(where: str, facts: dict[str, Any], counted: Comparison) -> None:
    """The best sets of each size, among all devices and as advised, with those that looking at every set finds."""
    rows = facts["devices"] or [], facts["links"] or [], facts["distances"] or [], facts["numa_nodes"] or []
    wired, every = wiring(*rows), EverySet(*rows)
    ids = [row["id"] for row in rows[0]]
    for count in range(1, len(ids) + 1):
        if comb(len(ids), count) > _SETS and (count != len(ids) // 2 or len(ids) > 16):
            continue
        best = every.best(count, _LIMIT)
        ours = [tuple(wired.ids[place] for place in places) for places in best_sets(wired, count, _LIMIT)]
        counted.same(f"{where}, {count} of {len(ids)}", ours, best)
        told = advise(facts, count, ids, _LIMIT)["placements"]
        counted.same(f"{where}, {count} of {len(ids)} advised", [tuple(row["devices"]) for row in told], best)


def test_models(models: dict[str, Path], comparison: Compare) -> None:
    """Every machine model that ships with the collection."""
    with comparison("placements on models", 16) as counted:
        for name, root in models.items():
            compare(name, observe(Host(str(root))), counted)


def test_captures(data: Path, trees: Callable[[str], Path], comparison: Compare) -> None:
    """Every captured tree."""
    with comparison("placements on captured trees", 60) as counted:
        for name in sorted(sources(data)):
            compare(name, observe(Host(str(trees(name)))), counted)


def test_hwloc_files(data: Path, tmp_path: Path, comparison: Compare) -> None:
    """Every hwloc file."""
    with comparison("placements on hwloc files", 90) as counted:
        for number, path in enumerate(sorted((data / "hwloc-xml").rglob("*.xml"))):
            convert_hwloc.convert(path, tmp_path / str(number))
            compare(path.stem, observe(Host(str(tmp_path / str(number)))), counted)


def test_nccl_files(data: Path, tmp_path: Path, comparison: Compare) -> None:
    """Every NCCL and RCCL file, without its fabric as the kernel would show it, and with it."""
    fabrics = 0
    with comparison("placements on NCCL/RCCL files", 1000) as counted:
        for path in sorted((data / "nccl-topo").glob("*.xml")):
            convert_nccl.convert(path, tmp_path / path.stem)
            facts = observe(Host(str(tmp_path / path.stem)))
            compare(path.stem, facts, counted)
            links = list(_links_of_xml(ET.parse(path).getroot()))
            if links:
                fabrics += 1
                compare(f"{path.stem} with links", {**facts, "links": links}, counted)
    assert fabrics >= 30


def _links_of_xml(top: ET.Element) -> Iterator[dict[str, Any]]:
    """Rows as in the facts: XGMI from GPU to GPU, NVLink through the switches that both ends reach."""
    direct: dict[frozenset[str], int] = {}
    switched: dict[str, Counter[str]] = {}
    for function in top.iter("pci"):
        for link in (*function.iterfind("gpu/xgmi"), *function.iterfind("gpu/nvlink")):
            ends = function.attrib["busid"].lower(), link.attrib["target"].lower()
            if link.attrib["tclass"].startswith("0x0680"):
                switched.setdefault(ends[0], Counter())[ends[1]] += int(link.attrib["count"])
            else:
                direct[frozenset(ends)] = int(link.attrib["count"])
    for pair, count in direct.items():
        a, b = sorted(pair)
        yield {"a": a, "b": b, "kind": "xgmi", "hops": 1, "count": count, "state": None, "unknown": {}}
    for a, b in combinations(sorted(switched), 2):
        count = sum((switched[a] & switched[b]).values())
        yield {"a": a, "b": b, "kind": "nvlink", "hops": 2, "count": count, "state": None, "unknown": {}}


def test_xgmi_of_kfd(data: Path, trees: Callable[[str], Path], comparison: Compare) -> None:
    """The fabrics that captures of KFD have: four devices of the machine with two hives are one hive."""
    with comparison("placements on KFD captures", 8) as counted:
        for name in ("mi210-8gpu-xgmi-pcie", "mi25-vega10-1gpu", "mi308x-cpx-8gpu-32part"):
            nodes, reason = topology(Host(str(trees(name))))
            assert nodes is not None, reason
            address = {node.node: node.parent_address for node in nodes if node.is_gpu}
            links = {}
            for link in (link for node in nodes for link in node.links if link.kind == XGMI):
                ends = sorted({str(address[link.node]), str(address[link.peer])})
                if len(ends) == 2:
                    links[ends[0], ends[1]] = hops(link.weight)
            rows = [{"id": one, "numa_node": None, "sriov": None} for one in sorted({str(a) for a in address.values()})]
            told = [{"a": a, "b": b, "kind": "xgmi", "hops": far, "count": None} for (a, b), far in links.items()]
            wired, every = wiring(rows, told, [], []), EverySet(rows, told, [], [])
            for count in range(1, len(rows) + 1):
                ours = [tuple(wired.ids[place] for place in places) for places in best_sets(wired, count, _LIMIT)]
                counted.same(f"{name} {count}", ours, every.best(count, _LIMIT))
            if name.startswith("mi210"):
                hives = {node.parent_address: node.hive_id for node in nodes if node.is_gpu}
                (four,) = best_sets(wired, 4, 1)
                counted.same(f"{name} hives", len({hives[wired.ids[place]] for place in four}), 1)


_WORDS = {word.upper(): word for word in KINDS}
_END = re.compile(r"(GPU|NIC)\d+\Z")


class Matrix:
    """What ``nvidia-smi topo -m`` printed: a word for each pair, CPUs and NUMA affinity for each GPU."""

    def __init__(self, text: str) -> None:
        lines = text.splitlines()
        head = [word for word in lines[0].split() if _END.match(word)]
        self.gpus = [name for name in head if name.startswith("GPU")]
        self.nics = [name for name in head if name.startswith("NIC")]
        self.words: dict[frozenset[str], str] = {}
        self.cpus: dict[str, str] = {}
        self.nodes: dict[str, int] = {}
        for line in lines[1:]:
            name, *cells = line.split() or [""]
            if name not in head or len(cells) < len(head):
                if self.cpus and not line.strip():
                    break  # a legend, or another matrix, follows
                continue
            for other, word in zip(head, cells):
                if other != name:
                    assert self.words.setdefault(frozenset((name, other)), word) == word, f"{name} {other}"
            if name in self.gpus:
                self.cpus[name] = cells[len(head)]
                # the first is the node of its CPUs; the others are memory of GPUs
                self.nodes[name] = int(re.split("[-,]", cells[len(head) + 1])[0])

    def word(self, a: str, b: str) -> Optional[str]:
        return self.words.get(frozenset((a, b)))

    def links(self, a: str, b: str) -> int:
        word = self.word(a, b) or ""
        return int(word[2:]) if word.startswith("NV") else 0

    def facts(self) -> dict[str, Any]:
        """The parts of the facts document that the matrix tells; where it says NV# it hides the distance."""
        hidden = {"kind": "the matrix tells the fabric instead"}
        links, near = [], []
        for a, b in combinations([*self.gpus, *self.nics], 2):
            word = self.word(a, b)
            if self.links(a, b):
                links.append({"a": a, "b": b, "kind": "nvlink", "hops": None, "count": self.links(a, b), "unknown": {}})
                near.append({"a": a, "b": b, "kind": None, "unknown": hidden})
            elif word is not None:
                near.append({"a": a, "b": b, "kind": _WORDS[word], "unknown": {}})
        known = {frozenset((row["a"], row["b"])): row["kind"] for row in near}
        devices = []
        for name in self.gpus:
            cut = {} if name in self.cpus else dict.fromkeys(("cpus", "numa_node"), "the matrix is cut short")
            far = {nic: str(known[frozenset((name, nic))]) for nic in self.nics if frozenset((name, nic)) in known}
            least = min((KINDS.index(kind) for kind in far.values()), default=0)
            devices.append(
                {
                    "id": name,
                    "kind": "gpu",
                    "maker": "nvidia",
                    "model": None,
                    "integrated": None,
                    "pci": None,
                    "sriov": None,
                    "numa_node": self.nodes.get(name),
                    "cpus": self.cpus.get(name),
                    "nearest": {"nics": [nic for nic in far if KINDS.index(far[nic]) == least]},
                    "unknown": cut,
                }
            )
        return {
            "devices": devices,
            "links": links,
            "distances": near,
            "numa_nodes": None,
            "unknown": {"numa_nodes": "no part of the matrix"},
        }


def test_matrices(data: Path, comparison: Compare) -> None:
    """What is told of each chosen set, and that it is the best, by the words of the matrix alone."""
    with comparison("values of placements from nvidia-smi topo -m", 1100) as counted:
        paths = sorted((data / "nvidia-smi" / "topo").glob("*.txt"))
        assert len(paths) >= 5
        for path in paths:
            matrix = Matrix(path.read_text(encoding="utf-8"))
            facts = matrix.facts()
            compare(path.stem, facts, counted)
            for count in range(1, len(matrix.gpus) + 1):
                for row in advise(facts, count, None, _LIMIT)["placements"]:
                    _compare_row(f"{path.stem} {' '.join(row['devices'])}", matrix, row, counted)
                chosen = advise(facts, count, None, 1)["placements"][0]["devices"]
                most = max(_strength(matrix, ids) for ids in combinations(matrix.gpus, count))
                counted.same(f"{path.stem} {count} strongest", _strength(matrix, chosen), most)


def _strength(matrix: Matrix, ids: Sequence[str]) -> tuple[int, int]:
    """Linked pairs and links of a set."""
    counts = [matrix.links(a, b) for a, b in combinations(ids, 2)]
    return sum(1 for count in counts if count), sum(counts)


def _compare_row(where: str, matrix: Matrix, row: dict[str, Any], counted: Comparison) -> None:
    ids = row["devices"]
    fabric = row["fabric"]["linked_pairs"], row["fabric"]["links"]
    counted.same(f"{where} fabric", fabric, _strength(matrix, ids))
    words = Counter(_WORDS.get(matrix.word(a, b) or "") for a, b in combinations(ids, 2))
    unknown = words.pop(None, 0)
    counted.same(f"{where} pairs", (row["distance"]["pairs"], row["distance"]["unknown_pairs"]), (dict(words), unknown))
    worst = None if unknown else max(words, key=lambda kind: KINDS.index(str(kind)), default=None)
    counted.same(f"{where} worst", row["distance"]["worst"], worst)
    if worst is None:
        counted.same(f"{where} says so", "distance.worst" in row["unknown"], True)
    is_whole = set(ids) <= matrix.cpus.keys()
    cpus = {number for one in ids if is_whole for number in cpus_of_list(matrix.cpus[one])}
    counted.same(f"{where} cpus", row["cpus"], list_of_cpus(cpus) if is_whole else None)
    nodes = sorted({matrix.nodes[one] for one in ids}) if is_whole else None
    counted.same(f"{where} nodes", (row["numa"]["nodes"], row["memory_nodes"]), (nodes, nodes))
    for nic in row["nics"]:
        told = {_WORDS[matrix.word(one, nic["id"]) or ""] for one in nic["devices"]}
        counted.same(f"{where} {nic['id']}", told, {nic["distance"]})
        nearer = [
            other
            for one in nic["devices"]
            for other in matrix.nics
            if KINDS.index(_WORDS[matrix.word(one, other) or ""]) < KINDS.index(nic["distance"])
        ]
        counted.same(f"{where} {nic['id']} is nearest", nearer, [])


def test_a_cut_matrix_is_not_guessed(data: Path) -> None:
    """Of the pair that the capture was cut before nothing is known: it is the last to be chosen."""
    matrix = Matrix((data / "nvidia-smi/topo/8xb200-snc4-8nic-head.topo-m.txt").read_text(encoding="utf-8"))
    facts = matrix.facts()
    for count in range(2, 8):
        (row,) = advise(facts, count, None, 1)["placements"]
        assert not {"GPU6", "GPU7"} <= set(row["devices"]), count
    (last,) = advise(facts, 8, None, 1)["placements"]
    assert last["fabric"]["linked_pairs"] == 27
    assert last["unknown"]["cpus"] == "GPU6: the matrix is cut short"
