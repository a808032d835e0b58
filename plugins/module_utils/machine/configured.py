# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a tree has what gives devices to containers: owners, CDI specs, a kubelet, container engines.

A model takes the files that facts are read from, and of what is only looked for that it is there.
"""

from __future__ import annotations

import re

from ..host.door import Host
from .reading import names

OWNED = (
    *("/run/nvidia/driver/usr/bin", "/run/nvidia/validations", "/usr/local/nvidia/toolkit"),
    *("/etc/systemd/system/nvidia-cdi-refresh.path", "/usr/lib/systemd/system/nvidia-cdi-refresh.path"),
    *("/lib/systemd/system/nvidia-cdi-refresh.path", "/etc/containerd/conf.d/99-nvidia.toml"),
    *("/etc/crio/crio.conf.d/99-nvidia.toml", "/etc/crio/conf.d/99-nvidia.toml"),
    *("/etc/modprobe.d/blacklist-amdgpu-by-operator.conf", "/run/habana/driver", "/home/kubernetes/bin/nvidia"),
    *("/etc/dgx-release", "/run/ostree-booted", "/var/lib/accelerator-ops/current"),
    *("/etc/containerd/conf.d/90-accelerator-ops.toml", "/etc/crio/crio.conf.d/90-accelerator-ops.conf"),
    "/etc/containers/containers.conf.d/accelerator-ops.conf",
)
"""What says by being there that something has an owner."""

RELEASES = ("/etc/os-release", "/usr/lib/os-release")

_UNITS = (
    *("/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system"),
    *("/usr/lib/systemd/system", "/lib/systemd/system"),
)
_KUBELETS = (
    *("kubelet.service", "k3s.service", "k3s-agent.service", "rke2-server.service", "rke2-agent.service"),
    *("k0sworker.service", "k0scontroller.service", "snap.microk8s.daemon-kubelite.service"),
)
_KUBELET_FILES = (
    *("/var/lib/kubelet/config.yaml", "/etc/kubernetes/kubelet/config.json", "/etc/kubernetes/kubelet-config.yaml"),
    *("/etc/kubernetes/kubelet/kubelet-config.json", "/etc/default/kubeletconfig.json"),
    *("/home/kubernetes/kubelet-config.yaml", "/var/lib/kubelet/kubeadm-flags.env"),
    *("/etc/default/kubelet", "/etc/sysconfig/kubelet"),
)
_KUBELET_FOLDERS = (
    *("/etc/kubernetes/kubelet/config.json.d", "/etc/kubernetes/kubelet.conf.d"),
    *("/var/lib/rancher/k3s/agent/etc/kubelet.conf.d", "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d"),
)
_SOCKETS = ("/var/lib/kubelet/device-plugins", "/var/lib/kubelet/plugins_registry")
_NAMED = re.compile(r"(?<=[=\0\s\"'])/[\w./-]+")
_ID = re.compile(rb"^ID=.*", re.MULTILINE)
_SPECS = ("/etc/cdi", "/var/run/cdi")
_ENGINE_FILES = (
    *("/etc/containerd/config.toml", "/etc/crio/crio.conf", "/etc/containers/containers.conf"),
    *("/usr/share/containers/containers.conf", "/etc/docker/daemon.json"),
)
_ENGINE_FOLDERS = (
    *("/etc/containerd/conf.d", "/etc/crio/crio.conf.d", "/etc/containers/containers.conf.d"),
    "/usr/share/containers/containers.conf.d",
)


def scope(host: Host) -> tuple[set[str], set[str], list[str]]:
    """Files, links and folders of a tree that those facts are read from."""
    files = {path for path in RELEASES if host.exists(path)}
    folders = ["/etc"]
    files |= _kubelet(host, folders) | _engines(host, folders)
    files |= {path for path in OWNED if host.resolve(path).value == path and host.list(path).value is None}
    links = {path for path in OWNED if host.resolve(path).value in (None, path)} - files
    links.update({"/var/run"} if host.exists(_SPECS[1]) else ())
    return files, links, folders


def kept(path: str, content: bytes) -> bytes:
    """What a model takes of a file: of os-release which system it is, and no more."""
    if path in RELEASES:
        found = _ID.search(content)
        return b"" if found is None else found.group() + b"\n"
    return b"" if path in OWNED and not path.startswith(_ENGINE_FOLDERS) else content


def _kubelet(host: Host, folders: list[str]) -> set[str]:
    files = {path for path in _KUBELET_FILES if host.exists(path)}
    for folder in _KUBELET_FOLDERS:
        if host.exists(folder):
            folders.append(folder)
            files.update(f"{folder}/{name}" for name in names(host, folder) if name.endswith(".conf"))
    for name in _KUBELETS:
        files |= _unit(host, name)
    if not files:
        return files
    for top in ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd"):
        for folder in names(host, top):
            if folder.endswith(".slice"):
                folders.append(f"{top}/{folder}")
                for name in _KUBELETS:
                    files |= _processes(host, f"{top}/{folder}/{name}/cgroup.procs")
    for path in sorted(files):
        files.update(one for one in _NAMED.findall(host.read(path).value or "") if one.endswith((".yaml", ".json")))
    for folder in _SOCKETS:
        sockets = [f"{folder}/{name}" for name in names(host, folder) if name.endswith(".sock")]
        folders.extend(sockets or [folder])
    return files


def _engines(host: Host, folders: list[str]) -> set[str]:
    """Files of container engines, and CDI specs under their real paths: ``/var/run`` leads elsewhere."""
    files = {path for path in _ENGINE_FILES if host.exists(path)}
    for folder in _ENGINE_FOLDERS:
        files.update(f"{folder}/{name}" for name in names(host, folder) if name.endswith((".toml", ".conf")))
    for folder in _SPECS:
        real = host.resolve(folder).value
        if real is not None:
            folders.append(real)
            files.update(f"{real}/{name}" for name in names(host, real) if name.endswith((".json", ".yaml")))
    return files


def _unit(host: Host, name: str) -> set[str]:
    """The files of a unit and of its drop-ins, each under one name."""
    found: set[str] = set()
    for folder in _UNITS:
        if host.resolve(folder).value == folder:
            found.update({f"{folder}/{name}"} if host.exists(f"{folder}/{name}") else ())
            drop_ins = names(host, f"{folder}/{name}.d")
            found.update(f"{folder}/{name}.d/{one}" for one in drop_ins if one.endswith(".conf"))
    return found


def _processes(host: Host, path: str) -> set[str]:
    """The file with the numbers of a service's processes, and their command lines."""
    numbers = (host.read(path).value or "").split()
    return {path, *(f"/proc/{number}/cmdline" for number in numbers[:64])} if numbers else set()
