# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No secret of a kubelet's or an engine's configuration is in a masked recording, and what facts hang on is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import document, toml
from ansible_collections.accelerator.ops.plugins.module_utils.codec.mask_configuration import UnreadableError, reduced
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.host.recorder import Recorder
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.recording import take

SECRETS = (
    *("hunter22", "s3cr3tToken", "dXNlcjpwYXNz", "svc-pull", "registry.corp.example", "proxy.corp.example"),
    *("team-blue", "i-0123456789abcdef0", "gpu-node-77", "Bearer", "east-lab", "reg5000"),
)

KUBELET = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
cgroupDriver: systemd
clusterDomain: east-lab.corp.example
providerID: aws:///east-lab/i-0123456789abcdef0
staticPodURLHeader:
  Authorization:
  - Bearer s3cr3tToken
registerWithTaints:
- key: team-blue
"""
CONTAINERD = """\
version = 2
imports = ["/etc/containerd/conf.d/*.toml"]
[plugins."io.containerd.grpc.v1.cri"]
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/srv/cdi"]
  sandbox_image = "registry.corp.example/pause:3.9"
  [plugins."io.containerd.grpc.v1.cri".registry.configs."registry.corp.example:5000".auth]
    username = "svc-pull"
    password = "hunter22"
    auth = "dXNlcjpwYXNz"
  [plugins."io.containerd.grpc.v1.cri".registry.mirrors."reg5000.corp"]
    endpoint = ["https://registry.corp.example:5000"]
"""
UNIT = """\
[Unit]
Description=kubelet of gpu-node-77
[Service]
Environment="HTTPS_PROXY=http://svc-pull:hunter22@proxy.corp.example:3128" "ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStartPre=/bin/sh -c 'echo hunter22'
ExecStart=/usr/bin/kubelet --hostname-override=gpu-node-77 \\
  --node-labels team=team-blue $ARGS $KUBELET_KUBEADM_ARGS
"""
VARIABLES = """\
# hunter22
KUBELET_KUBEADM_ARGS="--cgroup-driver=systemd --node-labels=team-blue=yes --topology-manager-policy best-effort"
TOKEN=s3cr3tToken
"""
COMMAND = (
    "/usr/bin/kubelet\0--config=/var/lib/kubelet/config.yaml\0--provider-id=aws:///east-lab/i-0123456789abcdef0\0"
    "--node-labels\0team-blue\0--cpu-manager-policy\0static\0"
)
DOCKER = {
    "features": {"cdi": True},
    "cdi-spec-dirs": ["/srv/cdi"],
    "registry-mirrors": ["https://svc-pull:hunter22@registry.corp.example"],
    "labels": ["team=team-blue"],
    "proxies": {"https-proxy": "http://proxy.corp.example"},
    "exec-opts": ["native.cgroupdriver=systemd"],
}
SPEC = """\
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices: [{name: "0", containerEdits: {env: [API_TOKEN=s3cr3tToken, FOO=bar]}}]
"""
FILES = {
    "/etc/containerd/config.toml": CONTAINERD,
    "/etc/docker/daemon.json": json.dumps(DOCKER),
    "/etc/cdi/nvidia.yaml": SPEC,
    "/proc/77/cmdline": COMMAND,
    "/sys/fs/cgroup/system.slice/kubelet.service/cgroup.procs": "77\n",
    "/usr/lib/systemd/system/kubelet.service": UNIT,
    "/var/lib/kubelet/config.yaml": KUBELET,
    "/var/lib/kubelet/kubeadm-flags.env": VARIABLES,
}


def laid(folder: Path, files: dict[str, str]) -> str:
    for path, content in files.items():
        place = folder / path[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize("path", [path for path in FILES if not path.startswith(("/sys", "/etc/cdi"))])
def test_no_planted_secret_stays(path: str) -> None:
    noted: list[str] = []
    text = reduced(FILES[path], path, lambda secret: noted.append(secret) or "masked-value-7")
    assert [secret for secret in SECRETS if secret in text] == []
    assert reduced(text, path, str) == text, "what is masked is left as it is"
    assert all(any(secret in one for one in (FILES[path],)) for secret in noted)


def test_what_facts_hang_on_stays() -> None:
    def kept(path: str) -> str:
        return reduced(FILES[path], path, str)

    tree: Any = document.read(kept("/var/lib/kubelet/config.yaml"))
    assert (tree["kind"], tree["cpuManagerPolicy"], tree["cgroupDriver"]) == (
        "KubeletConfiguration",
        "static",
        "systemd",
    )
    table = toml.read(kept("/etc/containerd/config.toml"))
    cri = table["plugins"]["io.containerd.grpc.v1.cri"]
    assert (table["version"], table["imports"]) == (2, ["/etc/containerd/conf.d/*.toml"])
    assert (cri["enable_cdi"], cri["cdi_spec_dirs"]) == (True, ["/etc/cdi", "/srv/cdi"])
    docker = json.loads(kept("/etc/docker/daemon.json"))
    assert (docker["features"], docker["cdi-spec-dirs"]) == ({"cdi": True}, ["/srv/cdi"])
    assert "$ARGS $KUBELET_KUBEADM_ARGS" in kept("/usr/lib/systemd/system/kubelet.service")
    assert '"ARGS=--config=/var/lib/kubelet/config.yaml"' in kept("/usr/lib/systemd/system/kubelet.service")
    flags = kept("/var/lib/kubelet/kubeadm-flags.env")
    assert "--cgroup-driver=systemd" in flags and "--topology-manager-policy best-effort" in flags
    assert kept("/proc/77/cmdline").endswith("\0--cpu-manager-policy\0static\0")


def test_a_kubeconfig_in_the_place_of_a_configuration() -> None:
    text = "apiVersion: v1\nkind: Config\nusers:\n- name: svc-pull\n  user: {token: s3cr3tToken}\n"
    assert json.loads(reduced(text, "/etc/kubernetes/kubelet.conf", str)) == {"kind": "Config", "apiVersion": "v1"}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/etc/containerd/config.toml", "password = hunter22"),
        ("/etc/docker/daemon.json", '{"labels": ["team-blue"'),
        ("/etc/kubernetes/kubelet/config.json", "kind: KubeletConfiguration\npassword: {{ hunter22 }}: ["),
    ],
)
def test_what_cannot_be_read_is_left_out(tmp_path: Path, path: str, text: str) -> None:
    with pytest.raises(UnreadableError):
        reduced(text, path, str)


@pytest.mark.parametrize("path", ["/etc/passwd", "/boot/grub/grub.cfg", "/proc/modules", "/etc/default/grub"])
def test_any_other_file_is_left_as_it_is(path: str) -> None:
    assert reduced("kind of = text, password: x\n", path, str) == "kind of = text, password: x\n"


@pytest.mark.parametrize(
    "path", ["/etc/docker/daemon.json", "/etc/containerd/config.toml", "/var/lib/kubelet/config.yaml"]
)
def test_a_configuration_that_is_not_utf_8_is_left_out(tmp_path: Path, path: str) -> None:
    root = laid(tmp_path / "node", FILES)
    (tmp_path / "node" / path[1:]).write_bytes(FILES[path].encode() + b" # hunter22 \xff")
    taken = take(Recorder(root), True)
    assert taken.left_out == [path]
    assert b"hunter22" not in gzip.decompress(taken.archive)


def test_files_elsewhere_that_are_named(tmp_path: Path) -> None:
    """A configuration has no secret less because it lies at a place that nobody thought of."""
    files = {
        "/etc/hosts": "",
        "/etc/systemd/system/kubelet.service": (
            "[Service]\nEnvironmentFile=/srv/k/variables\nExecStart=/usr/bin/kubelet --config /srv/k/settings $X\n"
        ),
        "/srv/k/variables": "TOKEN=s3cr3tToken\nX=--cgroup-driver=systemd\nTEAM=team-blue\n",
        "/srv/k/settings": KUBELET,
        "/usr/lib/systemd/system/containerd.service": "[Service]\nExecStart=/usr/bin/containerd -c /srv/c/main\n",
        "/srv/c/main": CONTAINERD.replace("/etc/containerd/conf.d/*.toml", "/srv/c/more-*"),
        "/srv/c/more-1": CONTAINERD,
        "/etc/systemd/system/docker.service": "[Service]\nExecStart=/usr/bin/dockerd --config-file=/srv/d/docker\n",
        "/srv/d/docker": json.dumps(DOCKER),
    }
    root = laid(tmp_path / "node", files)
    taken = take(Recorder(root), True)
    (tmp_path / "masked.tar.gz").write_bytes(taken.archive)
    content = gzip.decompress(taken.archive).decode("latin-1")
    first, second = observe(Host(root)), observe(Host(str(tmp_path / "masked.tar.gz")))
    assert (first["kubelet"]["cgroup_driver"], first["kubelet"]["cpu_manager_policy"]) == ("systemd", "static")
    assert [row["config_path"] for row in first["engines"]] == ["/srv/c/main", "/srv/d/docker"]
    assert [secret for secret in SECRETS if secret in content] == []
    assert (second["kubelet"], second["engines"]) == (first["kubelet"], first["engines"])
    assert taken.left_out == []


def test_a_recorded_node(tmp_path: Path) -> None:
    root = laid(tmp_path / "node", FILES)
    taken = take(Recorder(root), True)
    (tmp_path / "masked.tar.gz").write_bytes(taken.archive)
    content = gzip.decompress(taken.archive).decode("latin-1")
    assert [secret for secret in SECRETS if secret in content] == []
    assert taken.left_out == []
    first, second = observe(Host(root)), observe(Host(str(tmp_path / "masked.tar.gz")))
    for section in ("engines", "cdi", "kubelet", "owners"):
        assert second[section] == first[section], section
    assert first["kubelet"]["cpu_manager_policy"] == "static"
