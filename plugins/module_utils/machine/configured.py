# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a tree has what gives devices to containers: owners, CDI specs, a kubelet, container engines.

A model takes the files that facts are read from, and of what is only looked for that it is there.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from ..host.door import Host
from ..host.drop_ins import ABOVE
from ..model.cdi import ENDINGS, FOLDERS
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

_UNITS = tuple(f"{above}/systemd/system" for above in ABOVE)
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
_ENGINES = ("containerd.service", "crio.service", "docker.service")
_PROGRAMS = ("containerd", "crio", "podman", "dockerd", "kubelet", "hyperkube")
_PROGRAM_FOLDERS = (
    *("/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin"),
    *("/var/lib/rancher/k3s/data/current/bin", "/var/lib/rancher/rke2/bin"),
)
_EMBEDDED = ("/var/lib/rancher/k3s/agent/etc/containerd", "/var/lib/rancher/rke2/agent/etc/containerd")
_ENGINE_FILES = (
    *("/etc/containerd/config.toml", "/etc/crio/crio.conf", "/etc/containers/containers.conf"),
    *("/usr/share/containers/containers.conf", "/etc/docker/daemon.json"),
    *(f"{folder}/config.toml" for folder in _EMBEDDED),
)
_ENGINE_FOLDERS = (
    *("/etc/containerd/conf.d", "/etc/crio/crio.conf.d", "/etc/containers/containers.conf.d"),
    *(f"{folder}/{name}" for folder in _EMBEDDED for name in ("config.toml.d", "config-v3.toml.d")),
)
_NAMED = re.compile(r"(?<=[=\0\s\"'])/[\w./-]+\.(?:ya?ml|json|toml|conf)(?=[\0\s\"']|\Z)")
_LISTS = re.compile(r"(imports|cdi[-_]spec[-_]dirs)[\"']?\s*[=:]\s*\[([^\]]*)\]")
_QUOTED = re.compile(r"[\"'](/[^\"']+)[\"']")
_ID = re.compile(rb"^ID=.*", re.MULTILINE)


def scope(host: Host) -> tuple[set[str], set[str], list[str]]:
    """Files, links and folders of a tree that those facts are read from."""
    files = {path for path in RELEASES if host.exists(path)}
    folders = ["/etc"]
    kubelet, engines = _kubelet(host, folders), _engines(host)
    programs = {f"{folder}/{name}" for folder in _PROGRAM_FOLDERS for name in _PROGRAMS}
    programs = {path for path in programs if host.exists(path)}
    if kubelet or engines or programs:
        files |= kubelet | engines | _running(host, folders)
    files |= _named(host, files) | _specs(host, files, folders)
    files |= {path for path in OWNED if host.resolve(path).value == path and host.list(path).value is None}
    links = {path for path in OWNED if host.resolve(path).value in (None, path)} - files
    links |= programs | ({"/var/run"} if host.exists(FOLDERS[1]) else set())
    return files, links, folders


def kept(path: str, content: bytes) -> bytes:
    """What a model takes of a file: of os-release which system it is, and no more."""
    if path in RELEASES:
        found = _ID.search(content)
        return b"" if found is None else found.group() + b"\n"
    is_read = path.startswith((*_ENGINE_FOLDERS, "/etc/modprobe.d"))
    return b"" if path in OWNED and not is_read else content


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
    for folder in _SOCKETS:
        sockets = [f"{folder}/{name}" for name in names(host, folder) if name.endswith(".sock")]
        folders.extend(sockets or [folder])
    return files


def _engines(host: Host) -> set[str]:
    files = {path for path in _ENGINE_FILES if host.exists(path)}
    for folder in _ENGINE_FOLDERS:
        files.update(f"{folder}/{name}" for name in names(host, folder) if name.endswith((".toml", ".conf")))
    return files.union(*(_unit(host, name) for name in _ENGINES))


def _named(host: Host, files: set[str]) -> set[str]:
    """The files that others name, on a command line or among imports."""
    found = set()
    for path in files:
        text = host.read(path).value or ""
        found.update(_NAMED.findall(text))
        for key, said in _LISTS.findall(text):
            for pattern in _QUOTED.findall(said) if key == "imports" else ():
                folder, _slash, leaf = pattern.rpartition("/")
                found.update(f"{folder}/{name}" for name in names(host, folder) if fnmatchcase(name, leaf))
    return {path for path in found if host.exists(path)}


def _specs(host: Host, files: set[str], folders: list[str]) -> set[str]:
    """CDI specs under their real paths: ``/var/run`` leads elsewhere."""
    named = list(FOLDERS)
    for path in sorted(files):
        for key, said in _LISTS.findall(host.read(path).value or ""):
            named.extend(_QUOTED.findall(said) if key != "imports" else ())
    found: set[str] = set()
    for folder in named:
        real = host.resolve(folder).value
        if real is not None:
            folders.append(real)
            found.update(f"{real}/{name}" for name in names(host, real) if name.endswith(ENDINGS))
    return found


def _running(host: Host, folders: list[str]) -> set[str]:
    """The numbers of the processes of services, and the command lines of those that facts are read from."""
    found: set[str] = set()
    for top in ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd"):
        for folder in (name for name in names(host, top) if name.endswith(".slice")):
            folders.append(f"{top}/{folder}")
            for name in (*_KUBELETS, *_ENGINES):
                path = f"{top}/{folder}/{name}/cgroup.procs"
                numbers = (host.read(path).value or "").split()[:64]
                found.update({path} if numbers else ())
                found.update(f"/proc/{number}/cmdline" for number in numbers if _is_program(host, number))
    return found


def _is_program(host: Host, number: str) -> bool:
    words = (host.read(f"/proc/{number}/cmdline").value or "").split("\0")
    return words[0].rpartition("/")[2] in _PROGRAMS


def _unit(host: Host, name: str) -> set[str]:
    """The files of a unit and of its drop-ins, each under one name."""
    found: set[str] = set()
    for folder in _UNITS:
        if host.resolve(folder).value == folder:
            found.update({f"{folder}/{name}"} if host.exists(f"{folder}/{name}") else ())
            drop_ins = names(host, f"{folder}/{name}.d")
            found.update(f"{folder}/{name}.d/{one}" for one in drop_ins if one.endswith(".conf"))
    return found
