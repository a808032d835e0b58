# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""InfiniBand ports and drives of machines of which only a few sysfs files were kept, against their makers' inventory.

The inventories say what such a machine must have; the tests of their makers say of which dump how many ports are well.
No dump has the class of a function, so what the drivers show below it decides what it is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.tests.machines.conftest import CompareAll

_RATE_GBPS = 200.0  # "200 Gb/sec (4X HDR)" in the inventory

# Dump: its inventory, ports that are up at that rate, ports that are not (README.md of the data; None: no ports kept).
_DUMPS = {
    "gcm-learn_good": ("gcm-DGX_A100", (8, 0)),
    "gcm-learn_ib_intf_bad_rate": ("gcm-DGX_A100", (0, 8)),
    "gcm-learn_stuck_ib_intf": ("gcm-DGX_A100", (6, 2)),
    "gcm-compute_samsung980pro": ("gcm-DGX_A100", None),
    "gcm-cache_rome_good": ("gcm-cache_rome", None),
}


def test_ports_and_drives(data: Path, trees: Callable[[str], Path], comparisons: CompareAll) -> None:
    """Names and addresses of ports and drives; how many ports are active at the wanted rate."""
    with comparisons(("ports and drives of sysfs dumps", 50), ("port counts of sysfs dumps", 3)) as (parts, counts):
        for dump, (inventory, well) in _DUMPS.items():
            wanted = json.loads((data / "sysfs-json" / f"{inventory}.json").read_text(encoding="utf-8"))
            facts = observe(Host(str(trees(dump))))
            nics = {nic["id"]: nic for nic in facts["nics"]}
            drives = {drive["id"]: drive for drive in facts["storage"]}
            for address, part in wanted["pci"].items():
                name = part["dev"].rpartition("/")[2]
                if part["type"] == "ib" and well is not None:
                    seen = nics.get(address, {"netdevs": [], "rdma": []})
                    ours = [row["name"] for row in seen["netdevs"]], [row["name"] for row in seen["rdma"]]
                    truth = [name], [wanted["ib"]["interfaces"][name]["mlx"]]
                    parts.same(f"{dump} {address}", ours, truth)
                elif part["type"] == "nvme" and drives:
                    parts.same(f"{dump} {address}", drives.get(address, {"names": None})["names"], [name])
            if well is not None:
                ports = [_is_well(row) for nic in nics.values() for row in nic["rdma"]]
                counts.same(dump, (ports.count(True), ports.count(False)), well)


def _is_well(port: dict[str, Any]) -> bool:
    return port["protocol"] == "infiniband" and port["state"] == "active" and port["rate_gbps"] == _RATE_GBPS
