# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Devices to select from."""

from __future__ import annotations

import copy

import pytest

REASON = "the maker's tool is not asked"

DEVICES = [
    {
        "id": "0000:01:00.0",
        "kind": "gpu",
        "maker": "amd",
        "model": "Instinct MI300X",
        "integrated": False,
        "serial": None,
        "memory_mib": 196608,
        "numa_node": 0,
        "pci": {"vendor_id": "1002", "device_id": "74a1", "revision": None},
        "path": ["0000:00:01.0"],
        "link": {"width": 16, "limited_by": None},
        "driver": {"name": "amdgpu", "version": None},
        "firmware": {"vbios": "113-A", "smc": "1.2"},
        "partitions": [
            {"id": "0:0", "kind": "xcp", "uuid": None, "memory_mib": 98304, "unknown": {"uuid": "KFD gives none"}},
            {"id": "0:1", "kind": "xcp", "uuid": None, "memory_mib": 98304, "unknown": {"uuid": "KFD gives none"}},
        ],
        "nodes": [{"path": "/dev/kfd", "major": 240, "shared": True}],
        "unknown": {"serial": "not there", "pci.revision": "not there", "driver.version": "built in"},
    },
    {
        "id": "0000:02:00.0",
        "kind": "gpu",
        "maker": "nvidia",
        "model": "H100",
        "integrated": False,
        "serial": "S2",
        "memory_mib": None,
        "numa_node": None,
        "pci": {"vendor_id": "10de", "device_id": "2330", "revision": "a1"},
        "path": [],
        "link": None,
        "driver": {"name": None, "version": None},
        "firmware": {"vbios": None},
        "partitions": [],
        "nodes": [],
        "unknown": {"memory_mib": REASON, "numa_node": "platform reports none", "link": "no link files"},
    },
    {
        "id": "platform/npu0",
        "kind": "npu",
        "maker": "intel",
        "model": "NPU",
        "integrated": True,
        "serial": None,
        "memory_mib": 16,
        "numa_node": 1,
        "pci": None,
        "path": None,
        "link": {"width": 1, "limited_by": "0000:00:02.0"},
        "driver": {"name": "intel_vpu", "version": "1"},
        "firmware": {},
        "partitions": None,
        "nodes": [],
        "unknown": {"serial": "not there", "pci": "off PCI", "path": "off PCI", "partitions": "no such thing"},
    },
]


@pytest.fixture
def devices():
    return copy.deepcopy(DEVICES)
