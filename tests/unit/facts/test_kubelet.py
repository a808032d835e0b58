# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet's settings: an argument before a drop-in before the file, and a reason for all that none of them says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import document, kubelet

UNIT = "/usr/lib/systemd/system/kubelet.service"
KUBEADM = f"{UNIT}.d/10-kubeadm.conf"
FILE = "/var/lib/kubelet/config.yaml"
GROUP = "/sys/fs/cgroup/system.slice/kubelet.service/cgroup.procs"
PROCESS = "/proc/1200/cmdline"


def text(**keys: Any) -> str:
    return json.dumps({"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1", **keys})


KUBEADM_FILES = {
    UNIT: "[Service]\nExecStart=/usr/bin/kubelet\n",
    KUBEADM: (
        '[Service]\nEnvironment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"\n'
        "EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\nEnvironmentFile=-/etc/default/kubelet\n"
        "ExecStart=\nExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS\n"
    ),
    "/var/lib/kubelet/kubeadm-flags.env": (
        'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///run/containerd/containerd.sock --node-ip=10.0.0.7"'
    ),
}


def seen(host: Any) -> dict[str, Any]:
    section = kubelet.observe(host, False, 1.0)
    assert section is not None
    return section


def test_a_node_made_by_kubeadm(grow: Any) -> None:
    host = grow(
        {
            **KUBEADM_FILES,
            FILE: "kind: KubeletConfiguration\ncgroupDriver: systemd\ncpuManagerPolicy: static\n",
            "/etc/default/kubelet": "# more\nKUBELET_EXTRA_ARGS=--topology-manager-policy=single-numa-node",
            GROUP: "1200",
            PROCESS: "",
            "/var/lib/kubelet/device-plugins/kubelet.sock": "",
            "/var/lib/kubelet/device-plugins/nvidia-gpu.sock": "",
            "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint": "",
        }
    )
    assert seen(host) == {
        "version": None,
        "running": True,
        "config_path": FILE,
        "config_dir": None,
        "cgroup_driver": "systemd",
        "cpu_manager_policy": "static",
        "memory_manager_policy": None,
        "topology_manager_policy": "single-numa-node",
        "topology_manager_scope": None,
        "container_runtime_endpoint": "unix:///run/containerd/containerd.sock",
        "device_plugins": ["nvidia-gpu.sock"],
        "registered_plugins": None,
        "unknown": {
            "version": "/usr/bin/kubelet is not asked",
            "config_dir": "kubelet.service names no folder of drop-ins, and none is at a usual place",
            "memory_manager_policy": f"not set in {FILE}",
            "topology_manager_scope": f"not set in {FILE}",
            "registered_plugins": "/var/lib/kubelet/plugins_registry not there",
        },
    }


def test_the_process_is_believed_before_the_unit(grow: Any) -> None:
    host = grow(
        {
            **KUBEADM_FILES,
            FILE: text(cgroupDriver="systemd"),
            "/srv/other.json": text(cgroupDriver="cgroupfs"),
            "/sys/fs/cgroup/runtime.slice/kubelet.service/cgroup.procs": "1199\n1200",
            "/proc/1199/cmdline": b"/bin/sh\0-c\0x\0",
            PROCESS: b"/usr/bin/kubelet\0--config\0/srv/other.json\0--cpu-manager-policy=none\0",
        }
    )
    section = seen(host)
    assert (section["config_path"], section["cgroup_driver"]) == ("/srv/other.json", "cgroupfs")
    assert section["cpu_manager_policy"] == "none"


@pytest.mark.parametrize(
    ("groups", "running", "reason"),
    [
        ({GROUP: "1200"}, True, None),
        ({"/sys/fs/cgroup/system.slice/kubelet.service/cgroup.procs": ""}, False, None),
        ({"/sys/fs/cgroup/system.slice/ssh.service/cgroup.procs": "7"}, False, None),
        ({"/sys/fs/cgroup/systemd/system.slice/kubelet.service/cgroup.procs": "7"}, True, None),
        ({"/sys/fs/cgroup/cgroup.controllers": "cpu"}, None, "/sys/fs/cgroup has no slices of systemd"),
        ({}, None, "/sys/fs/cgroup not there"),
    ],
)
def test_running(grow: Any, groups: dict[str, str], running: object, reason: object) -> None:
    section = seen(grow({FILE: text(), **groups}))
    assert (section["running"], section["unknown"].get("running")) == (running, reason)


def test_drop_ins_come_later_in_the_order_of_their_names(grow: Any) -> None:
    folder = "/etc/kubernetes/kubelet/config.json.d"
    host = grow(
        {
            "/etc/kubernetes/kubelet/config.json": text(cpuManagerPolicy="none", topologyManagerPolicy="none"),
            f"{folder}/40-nodeadm.conf": text(cpuManagerPolicy="static", memoryManagerPolicy="None"),
            f"{folder}/50-more/10-deep.conf": text(memoryManagerPolicy="Static"),
            f"{folder}/60-last.conf": text(topologyManagerScope="pod"),
            f"{folder}/70-not-read.json": text(topologyManagerScope="container"),
        }
    )
    section = seen(host)
    assert section["config_dir"] == folder
    names = ("cpu_manager_policy", "memory_manager_policy", "topology_manager_policy", "topology_manager_scope")
    assert [section[name] for name in names] == ["static", "Static", "none", "pod"]
    both = f"/etc/kubernetes/kubelet/config.json and {folder}"
    assert section["unknown"]["cgroup_driver"] == f"not set in {both}"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("kind: KubeletConfiguration\ncgroupDriver: ''", f"not set in {FILE}"),
        ("kind: KubeletConfiguration\ncgroupDriver: ~", f"not set in {FILE}"),
        ("kind: KubeletConfiguration\ncgroupDriver: [systemd]", f"cgroupDriver is no text in {FILE}"),
        ("kind: Config\nusers: []", f"{FILE}: kind Config, expected KubeletConfiguration"),
        ("- a list", f"{FILE}: kind None, expected KubeletConfiguration"),
        ("", f"{FILE}: kind None, expected KubeletConfiguration"),
        (b"\xff\xfe", f"{FILE} not UTF-8 text"),
    ],
)
def test_what_the_file_does_not_say(grow: Any, content: object, reason: str) -> None:
    section = seen(grow({FILE: content}))
    assert (section["cgroup_driver"], section["unknown"]["cgroup_driver"]) == (None, reason)


def test_a_file_that_is_no_yaml(grow: Any) -> None:
    reason = seen(grow({FILE: "kind: {{ kind }}\n{% if x %}"}))["unknown"]["cgroup_driver"]
    assert reason.startswith(f"{FILE}: ") and len(reason) <= 300


def test_yaml_without_its_package_is_unknown(grow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    section = seen(grow({FILE: "kind: KubeletConfiguration\n"}))
    assert section["config_path"] == FILE
    assert "PyYAML" in section["unknown"]["cgroup_driver"]
    assert seen(grow({FILE: text(cgroupDriver="systemd")}))["cgroup_driver"] == "systemd"


def test_a_file_that_is_named_and_not_there(grow: Any) -> None:
    section = seen(grow(KUBEADM_FILES))
    assert section["config_path"] == FILE
    assert section["unknown"]["cgroup_driver"] == f"{FILE} not there"


def test_a_kubelet_inside_another_service(grow: Any) -> None:
    folder = "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d"
    host = grow(
        {
            "/etc/systemd/system/k3s.service": "[Service]\nExecStart=/usr/local/bin/k3s server\n",
            f"{folder}/00-k3s-defaults.conf": text(cgroupDriver="systemd"),
            "/sys/fs/cgroup/system.slice/k3s.service/cgroup.procs": "9",
            "/proc/9/cmdline": b"/usr/local/bin/k3s server\0",
        }
    )
    section = seen(host)
    assert (section["running"], section["config_dir"], section["cgroup_driver"]) == (True, folder, "systemd")
    reason = section["unknown"]["cpu_manager_policy"]
    assert reason == f"not set in {folder}; arguments that k3s.service gives its kubelet are not read"


@pytest.mark.parametrize(
    "files",
    [{"/etc/hosts": ""}, {"/var/lib/kubelet/pods/x": ""}, {"/etc/kubernetes/manifests/x.yaml": "kind: Pod"}],
)
def test_no_kubelet(grow: Any, files: dict[str, str]) -> None:
    facts = document.observe(grow(files))
    assert facts["kubelet"] is None
    assert facts["unknown"]["kubelet"].startswith("no kubelet is here: ")


def test_a_kubeconfig_is_never_read(grow: Any) -> None:
    host = grow({**KUBEADM_FILES, FILE: text(), "/etc/kubernetes/kubelet.conf": "kind: Config\nusers: [secret]"})
    seen(host)
    assert "/etc/kubernetes/kubelet.conf" not in host.read_paths
