# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the survey saw of two containers, one as root, one as an account without any right.

A container sees the PCI devices of the machine that it runs on, but its ``/sys/firmware`` is masked, it has no boot
loader, and modules and device files are not its own: all of that must be unknown with a reason.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

NODES = ("ops-root", "ops-user")
REPORT = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"]) / "report"
ACCELERATOR_CLASSES = ("0x0302", "0x1200")


def _facts(node: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((REPORT / "facts" / f"{node}.json").read_text(encoding="utf-8"))["facts"]
    return facts


def _accelerators_here() -> set[str]:
    """Accelerators of the machine under the containers, by two classes that leave no doubt."""
    devices = Path("/sys/bus/pci/devices")
    if not devices.is_dir():
        return set()
    return {each.name for each in devices.iterdir() if (each / "class").read_text()[:6] in ACCELERATOR_CLASSES}


@pytest.mark.parametrize("node", NODES)
def test_devices_are_those_of_the_machine_or_none(node: str) -> None:
    devices = _facts(node)["devices"]
    assert isinstance(devices, list)
    assert _accelerators_here() <= {device["id"] for device in devices}
    if not _accelerators_here():
        assert [device for device in devices if device["kind"] != "gpu"] == []


@pytest.mark.parametrize("node", NODES)
def test_secure_boot_is_unknown_where_firmware_is_masked(node: str) -> None:
    security = _facts(node)["security"]
    assert security["secure_boot"] is None
    assert security["unknown"]["secure_boot"]


@pytest.mark.parametrize("node", NODES)
def test_the_kernel_is_that_of_the_machine(node: str) -> None:
    kernel = _facts(node)["kernel"]
    assert kernel["release"] == os.uname().release
    assert kernel["next_boot"] is None
    assert kernel["unknown"]["next_boot"]


@pytest.mark.parametrize("node", NODES)
def test_what_is_not_here_says_so(node: str) -> None:
    facts = _facts(node)
    assert facts["kubelet"] is None
    assert facts["unknown"]["kubelet"]
    assert (facts["engines"], facts["owners"]) == ([], [])
    assert facts["cdi"]["specs"] == []


def test_both_accounts_see_the_same_hardware() -> None:
    root, user = (_facts(node) for node in NODES)
    for section in ("devices", "nics", "storage", "bridges"):
        assert [each["id"] for each in root[section]] == [each["id"] for each in user[section]]
    assert root["numa_nodes"] == user["numa_nodes"]


def test_the_page_and_the_data_name_both_nodes() -> None:
    data = json.loads((REPORT / "survey.json").read_text(encoding="utf-8"))
    assert {(node["name"], node["status"]) for node in data["nodes"]} == {(node, "seen") for node in NODES}
    page = (REPORT / "survey.html").read_text(encoding="utf-8")
    assert all(node in page for node in NODES)


def test_nothing_is_left_on_the_node(host: Host) -> None:
    for place in ("/var/lib/accelerator-ops", "/accelerator-report", "/root/accelerator-report"):
        assert not host.file(place).exists
    assert host.run("find / -xdev -name 'AnsiballZ_*' -print -quit").stdout == ""
