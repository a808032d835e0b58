# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``kubelet`` section of the facts: the kubelet's configuration in force, as far as files and arguments tell it.

An argument beats the file of ``--config``, a drop-in of ``--config-dir`` beats that file, and of two drop-ins the later
name wins (kubernetes.io, "Set Kubelet Parameters Via A Configuration File", read 2026-12). Defaults differ by version
and by feature gate, and are not guessed.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Optional

from ...codec import document, unit
from ...host.door import Host
from ...model.answer import MISSING, Answer, Book
from . import units

_OWN = "kubelet.service"
_SERVICES = (
    _OWN,
    *("k3s.service", "k3s-agent.service", "rke2-server.service", "rke2-agent.service"),
    *("k0sworker.service", "k0scontroller.service", "snap.microk8s.daemon-kubelite.service"),
)
"""The services that are a kubelet, or have one in them."""

_PROGRAMS = ("kubelet", "hyperkube")
_PLACES = (
    ("/var/lib/kubelet/config.yaml", ""),  # kubeadm
    ("/etc/kubernetes/kubelet/config.json", "/etc/kubernetes/kubelet/config.json.d"),  # EKS, nodeadm
    ("/etc/kubernetes/kubelet/kubelet-config.json", ""),  # EKS on Amazon Linux 2
    ("/etc/kubernetes/kubelet-config.yaml", ""),  # kubespray
    ("/etc/default/kubeletconfig.json", ""),  # AKS
    ("/home/kubernetes/kubelet-config.yaml", ""),  # GKE
    ("", "/var/lib/rancher/k3s/agent/etc/kubelet.conf.d"),
    ("", "/var/lib/rancher/rke2/agent/etc/kubelet.conf.d"),
)
"""The file and the folder of drop-ins where installers put them (their documents and sources, read 2026-12-01)."""

_ROOTS = ("/var/lib/kubelet", "/var/lib/k0s/kubelet", "/var/snap/microk8s/common/var/lib/kubelet")
_FIELDS = {
    "cgroup_driver": ("--cgroup-driver", "cgroupDriver"),
    "cpu_manager_policy": ("--cpu-manager-policy", "cpuManagerPolicy"),
    "memory_manager_policy": ("--memory-manager-policy", "memoryManagerPolicy"),
    "topology_manager_policy": ("--topology-manager-policy", "topologyManagerPolicy"),
    "topology_manager_scope": ("--topology-manager-scope", "topologyManagerScope"),
    "container_runtime_endpoint": ("--container-runtime-endpoint", "containerRuntimeEndpoint"),
}
"""The facts that are settings, each with its argument and its key in the file (kubelet.config.k8s.io/v1beta1)."""

_KIND = "KubeletConfiguration"
_VERSION = re.compile(r"\bv(\d+\.\d+\.\d+[\w.+-]*)", re.ASCII)
_DEPTH = 4


class _Settings(NamedTuple):
    """What the files set, by their keys; ``reason``: why that is not known, ``where`` it was looked for."""

    values: dict[str, Any]
    reason: Optional[str]
    where: str


def observe(host: Host, is_asking: bool, deadline_seconds: float) -> Optional[dict[str, Any]]:
    """The section (docs/facts.md), or None where no kubelet is. Programs are run only where ``is_asking``."""
    running, no_groups = units.processes(host, _SERVICES)
    name, argv = _arguments(host, running or {})
    path, folder = unit.flag(argv, "--config"), unit.flag(argv, "--config-dir")
    if path is None and folder is None:
        path, folder = _usual(host)
    if name is None and path is None and folder is None:
        return None
    book = Book()
    section: dict[str, Any] = {"version": _version(host, argv, is_asking, deadline_seconds, book)}
    section["running"] = book.miss("running", no_groups or "") if running is None else bool(running)
    section["config_path"] = path or book.miss("config_path", _unnamed("file", name))
    section["config_dir"] = folder or book.miss("config_dir", _unnamed("folder of drop-ins", name))
    settings = _settings(host, path, folder)
    for field, (option, key) in _FIELDS.items():
        section[field] = unit.flag(argv, option) or book.take(field, _setting(settings, key, name), str)
    root = unit.flag(argv, "--root-dir") or next((one for one in _ROOTS if host.exists(one)), _ROOTS[0])
    for field, below in (("device_plugins", "device-plugins"), ("registered_plugins", "plugins_registry")):
        section[field] = _sockets(host, f"{root}/{below}", field, book)
    return {**section, "unknown": book.unknown}


def _arguments(host: Host, running: dict[str, tuple[str, ...]]) -> tuple[Optional[str], tuple[str, ...]]:
    """The service that has the kubelet, and its command line: that of the process, else that of the unit."""
    for name, numbers in running.items():
        words = units.command_of(host, numbers, _PROGRAMS)
        if words:
            return name, words
    for name in (*running, *_SERVICES):
        service = units.installed(host, name)
        if service is not None:
            return name, service.argv
    return next(iter(running), None), ()


def _usual(host: Host) -> tuple[Optional[str], Optional[str]]:
    """The file and the folder at the first usual place where either is."""
    for path, folder in _PLACES:
        if host.exists(path or folder):
            return path or None, folder if folder and host.exists(folder) else None
    return None, None


def _unnamed(what: str, name: Optional[str]) -> str:
    return f"{name or 'what is here'} names no {what}, and none is at a usual place"


def _version(host: Host, argv: tuple[str, ...], is_asking: bool, deadline_seconds: float, book: Book) -> Optional[str]:
    program = argv[0] if argv and argv[0].startswith("/") else ""
    if not program:
        return book.miss("version", "where its program is is not known")  # type: ignore[no-any-return]
    if not is_asking:
        return book.miss("version", f"{program} is not asked")  # type: ignore[no-any-return]
    from ...host import command  # where it is needed only: it brings subprocess along

    ran = command.run(host, (program, "--version"), deadline_seconds)
    found = _VERSION.search(ran.stdout) if ran.reason is None else None
    if found is not None:
        return found.group(1)
    return book.miss("version", ran.reason or f"{program} printed {ran.stdout[:40]!r}")  # type: ignore[no-any-return]


def _settings(host: Host, path: Optional[str], folder: Optional[str]) -> _Settings:
    values: dict[str, Any] = {}
    where = " and ".join(one for one in (path, folder) if one)
    drop_ins = [] if folder is None else _drop_ins(host, folder)
    for place in [*([path] if path else []), *drop_ins]:
        answer = host.read(place)
        if answer.value is None:
            return _Settings({}, f"{place} {answer.reason}", where)
        try:
            tree = document.read(answer.value)
        except ValueError as error:
            return _Settings({}, f"{place}: {error}"[:300], where)
        kind = tree.get("kind") if isinstance(tree, dict) else None
        if kind != _KIND or not isinstance(tree, dict):
            return _Settings({}, f"{place}: kind {kind!s:.40}, expected {_KIND}", where)
        values.update(tree)
    return _Settings(values, None, where)


def _drop_ins(host: Host, folder: str, depth: int = 0) -> list[str]:
    """The drop-ins in a folder and those below it, in the order in which they are read."""
    found = []
    for name in host.list(folder).value or ():
        if name.endswith(".conf"):
            found.append(f"{folder}/{name}")
        elif depth < _DEPTH and "." not in name:
            found.extend(_drop_ins(host, f"{folder}/{name}", depth + 1))
    return found


def _setting(settings: _Settings, key: str, name: Optional[str]) -> Answer:
    if settings.reason is not None:
        return Answer(None, settings.reason)
    if not settings.where:
        return Answer(None, f"{name} has neither the argument nor a file")
    value = settings.values.get(key)
    if value in (None, "") or document.is_null(value):
        also = "" if name in (None, _OWN) else f"; arguments that {name} gives its kubelet are not read"
        return Answer(None, f"not set in {settings.where}{also}")
    if not isinstance(value, str):
        return Answer(None, f"{key} is no text in {settings.where}")
    return Answer(str(value), None)


def _sockets(host: Host, folder: str, field: str, book: Book) -> Optional[list[str]]:
    """The sockets in a folder, the kubelet's own left out."""
    names = host.list(folder)
    if names.value is None:
        return book.miss(field, f"{folder} {names.reason or MISSING}")  # type: ignore[no-any-return]
    return [name for name in names.value if name.endswith(".sock") and name != "kubelet.sock"]
