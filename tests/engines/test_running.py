# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A containerd that runs: what it gives containers, when it is started anew, and what becomes of it where it fails."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.accelerator.ops.tests.engines.node import DROP_IN, ROOT_FILE, Node

FOLDER = "/opt/cdi"
"""No engine looks here by itself."""
ENGINE = {"engines": ["containerd"], "cdi_spec_dirs": [FOLDER], "nri": True}
NRI_SOCKET = "/var/run/nri/nri.sock"

NVIDIA = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"]
CASES = {
    "nvidia": (
        "nvidia-hgx-h100-8gpu",
        "nvidia.com/gpu=GPU-00000000-0000-4000-8000-000000000001",
        [*NVIDIA, "/dev/nvidia1", "/dev/dri/card2", "/dev/dri/renderD129"],
    ),
    "amd": ("amd-mi300x-8gpu", "amd.com/gpu=a000000000000002", ["/dev/kfd", "/dev/dri/card2", "/dev/dri/renderD136"]),
    "intel": ("intel-max1550-4gpu", "intel.com/gpu=0000-42-00-0-0x0bd6", ["/dev/dri/card2", "/dev/dri/renderD129"]),
    "habana": ("habana-gaudi2-8", "intel.com/gaudi=0000:4d:00.0", ["/dev/accel/accel7", "/dev/accel/accel_controlD7"]),
}
ALWAYS = ("nvidia",)
"""The maker that ``make test`` has; with ACCELERATOR_OPS_WHOLE it is all of them."""


@pytest.fixture
def booted(tmp_path: Path) -> Iterator[Callable[..., Node]]:
    """Makes the node of a test."""
    nodes: list[Node] = []

    def made(model: str, kill_mode: str = "process") -> Node:
        nodes.append(Node(tmp_path, model, kill_mode))
        nodes[-1].boot()
        return nodes[-1]

    yield made
    for node in nodes:
        node.end()


def due(result: dict[str, Any]) -> list[tuple[str, bool]]:
    """The services that are due, and whether each may be started anew now."""
    return [(row["service"], row["restart_allowed"]) for row in result["restart"]]


def findings(node: Node) -> list[str]:
    """In what the daemon that runs is not as asked."""
    rows = node.module("container_engine", state="checked")["findings"]
    return [row["reason"] for row in rows if row["check"] == "running"]


@pytest.mark.parametrize("maker", CASES)
def test_containers_get_the_right_devices(booted: Callable[..., Node], maker: str) -> None:
    if maker not in ALWAYS and not os.environ.get("ACCELERATOR_OPS_WHOLE"):
        pytest.skip(f"{maker} is tried by make test-all")
    model, device, paths = CASES[maker]
    node = booted(model)
    wanted = {path: node.numbers[path] for path in paths}
    plain = node.pod("plain")
    assert node.info()["cdiSpecDirs"] == ["/etc/cdi", "/var/run/cdi"]
    assert node.run("test", "-S", NRI_SOCKET).returncode != 0

    assert due(node.module("container_engine", **ENGINE)) == [("containerd.service", True)]
    assert node.module("cdi_spec", directory=FOLDER)["changed"]
    refused = node.run("crictl", *node.asked("early", device))
    assert "unresolvable CDI devices" in refused.stderr  # the daemon that runs has not read it yet

    before, process = node.started(), node.process(plain)
    done = node.module("generation", state="restarted")
    assert (done["changed"], done["restart"]) == (True, [])
    assert node.started()[0] != before[0]
    assert node.process(plain) == process  # the container went on
    assert node.info()["cdiSpecDirs"] == [FOLDER]
    assert findings(node) == []

    assert node.devices(plain) == {}
    assert node.devices(node.pod("by-name", device)) == wanted
    node.must("systemd-run", "--unit=nri-plugin", "/usr/local/bin/nri-plugin")
    node.until("sh", "-c", "journalctl --unit=containerd | grep -q 'plugin.*give-device.*connected'")
    assert node.devices(node.pod("by-nri", annotations={"accelerator.ops/device": device})) == wanted
    assert node.devices(node.pod("no-device")) == {}


def test_a_busy_engine_is_started_anew_when_it_is_idle(booted: Callable[..., Node]) -> None:
    node = booted("habana-gaudi2-8", "control-group")  # a restart would end every container
    container = node.pod("work")
    before, process = node.started(), node.process(container)
    for _again in range(2):
        assert due(node.module("container_engine", **ENGINE)) == [("containerd.service", False)]
        assert node.module("generation", state="restarted")["changed"] is False
    assert due(node.module("generation")) == [("containerd.service", False)]
    assert (node.started(), node.process(container)) == (before, process)
    (shown,) = findings(node)
    assert shown == "it runs, and shows otherwise: its CDI folders are /etc/cdi, /var/run/cdi, NRI is off"
    assert node.info()["cdiSpecDirs"] == ["/etc/cdi", "/var/run/cdi"]

    node.must("crictl", "rmp", "--all", "--force")
    idle = node.module("container_engine", **ENGINE)
    assert (idle["changed"], due(idle)) == (False, [("containerd.service", True)])
    assert node.module("generation", state="restarted", services=[])["changed"] is False
    assert node.module("generation", state="restarted")["changed"] is True
    assert node.info()["cdiSpecDirs"] == [FOLDER]
    assert node.run("test", "-S", NRI_SOCKET).returncode == 0
    assert findings(node) == []
    assert due(node.module("container_engine", **ENGINE)) == []


def test_a_daemon_that_does_not_come_up_is_put_back(booted: Callable[..., Node]) -> None:
    node = booted("habana-gaudi2-8")
    # what a daemon takes when it is asked, and does not start with: a socket where none can be
    node.must("sed", "-i", 's|^disable = true|&\\nsocket_path = "/proc/nri.sock"|', ROOT_FILE)
    text = node.must("cat", ROOT_FILE)
    node.must("systemctl", "restart", "containerd.service")
    container = node.pod("work")
    before, process = node.started(), node.process(container)

    assert due(node.module("container_engine", commit="later", **ENGINE)) == [("containerd.service", True)]
    told = node.module("generation", state="restarted")
    assert told["failed"], told
    assert "/proc/nri.sock" in told["msg"]
    assert told["error"]["details"]["left"] == "as before"
    assert node.must("cat", ROOT_FILE) == text
    assert node.run("test", "-e", DROP_IN).returncode != 0
    assert node.must("systemctl", "is-active", "containerd.service") == "active"
    assert node.started() != before
    assert node.process(container) == process
    assert node.info()["cdiSpecDirs"] == ["/etc/cdi", "/var/run/cdi"]
    assert due(node.module("generation")) == []
