# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KFD nodes and links of captured AMD machines, against what the captures hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.vendor.amd.kfd import (
    PCIE,
    XGMI,
    hops,
    read_links,
    topology,
)
from ansible_collections.accelerator.ops.tests.machines.conftest import Compare, CompareAll

_KINDS = {"PCIE": PCIE, "XGMI": XGMI}


def test_nodes_and_links(data: Path, trees: Callable[[str], Path], comparisons: CompareAll) -> None:
    """Each node's kind, address, render minor, hive; each link's ends, type and weight."""
    with comparisons(("KFD nodes", 47), ("KFD links", 1215)) as (nodes, links):
        paths = sorted((data / "truth" / "kfd").glob("*.json"))
        assert len(paths) >= 3, "three machines have a truth"
        for path in paths:
            truth = json.loads(path.read_text(encoding="utf-8"))["nodes"]
            host = Host(str(trees(path.stem)))
            ours, reason = topology(host)
            assert ours is not None, f"{path.stem}: {reason}"
            assert len(ours) == len(truth), path.stem
            for seen, known in zip(ours, truth):
                where = f"{path.stem} node {known['node']}"
                nodes.same(
                    where,
                    (
                        seen.node,
                        seen.is_gpu,
                        seen.cpu_cores,
                        seen.address,
                        seen.render_minor,
                        seen.hive_id,
                        seen.unique_id is not None,
                    ),
                    (
                        known["node"],
                        known["kind"] == "gpu",
                        known.get("cpu_cores_count", 0),
                        known.get("bdf"),
                        known.get("drm_render_minor"),
                        known.get("hive_id"),
                        known.get("unique_id") == "present",
                    ),
                )
                beyond = read_links(host, seen.node, "p2p_links")
                for mine, theirs in ((seen.links, known["io_links"]), (beyond, known["p2p_links"])):
                    assert len(mine) == len(theirs), where
                    by_peer = sorted(mine, key=lambda link: link.peer)
                    for link, (peer, kind, weight) in zip(by_peer, sorted(theirs)):
                        found = (link.node, link.peer, link.kind, link.weight)
                        links.same(where, found, (known["node"], peer, _KINDS.get(kind, kind), weight))


def test_hops_of_whole_devices(data: Path, trees: Callable[[str], Path], comparison: Compare) -> None:
    """On the machine without partitions, each XGMI link in a hive is one hop, and the two hives share none."""
    with comparison("XGMI hops", 32) as counted:
        ours, reason = topology(Host(str(trees("mi210-8gpu-xgmi-pcie"))))
        assert ours is not None, reason
        for node in ours:
            peers = {link.peer for link in node.links if link.kind == XGMI}
            if node.is_gpu:
                same_hive = {other.node for other in ours if other.hive_id == node.hive_id and other.node != node.node}
                counted.same(f"node {node.node}", peers, same_hive)
            for link in node.links:
                if link.kind == XGMI:
                    counted.same(f"link {link.node}-{link.peer}", hops(link.weight), 1)
