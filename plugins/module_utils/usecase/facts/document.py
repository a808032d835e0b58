# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of a node from sysfs and procfs: one document, whole without any tool and without root (docs/facts.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Optional

from ...host.door import Host
from ...model.pci import Function
from ...topology.distance import Endpoint, distances, nearest
from ...vendor.ids import maker_named
from . import cdi, devices, kernel, nics, numa, owners, pci, security, storage

SCHEMA = 1
_UNITS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
_KUBELET_TRACES = (
    *("/var/lib/kubelet", "/etc/kubernetes", "/var/lib/rancher", "/var/lib/k0s", "/var/snap/microk8s"),
    *("/home/kubernetes", "/etc/default/kubeletconfig.json"),
    *(f"{folder}/kubelet.service" for folder in _UNITS),
)
_NO_KUBELET = "no kubelet is here: no service, no process and no configuration of one"
_ENGINE_TRACES = (
    *("/etc/containerd", "/etc/crio", "/etc/docker", "/var/lib/rancher"),
    *("/usr/bin/containerd", "/usr/bin/crio", "/usr/bin/podman", "/usr/bin/dockerd"),
    *("/usr/local/bin/containerd", "/usr/local/bin/crio", "/usr/local/bin/podman", "/usr/local/bin/dockerd"),
    *(f"{folder}/{name}.service" for folder in _UNITS for name in ("containerd", "crio", "docker")),
)
"""Where none of these is, neither is what it belongs to: the code that looks closer is compiled only where it is."""

WISH: Mapping[str, Mapping[str, Any]] = {
    "root": {"type": "path", "default": "/"},
    "tools": {"type": "str", "choices": ["auto", "none"], "default": "auto"},
    "tool_deadline_seconds": {"type": "float", "default": 10},
}
"""The options of every module that looks at a node; their documentation is the fragment ``attributes.looks``."""


def seen(host: Host, wish: Mapping[str, Any]) -> dict[str, Any]:
    """The facts document of a node, as the options in ``WISH`` have it."""
    return observe(host, wish["tools"], wish["tool_deadline_seconds"])


def observe(host: Host, tools: str = "none", tool_deadline_seconds: float = 10.0) -> dict[str, Any]:
    """The facts document, schema 1. A section that could not be read is null, with its reason in ``unknown``.

    ``tools`` is ``auto`` (ask the tools of the makers that are here, each within its deadline) or ``none``. Tools
    speak of the running system, or of the one that was recorded: of another root none is asked.
    """
    functions, no_pci = pci.functions(host)
    unknown: dict[str, str] = {}
    document: dict[str, Any] = {"schema": SCHEMA, "sources": _sources(host)}
    document.update(_hardware(host, functions, no_pci, unknown))
    document["numa_nodes"], no_numa = numa.observe(host)
    unknown.update(no_numa)
    modules = _modules(document["devices"] or [])
    document["kernel"] = kernel.observe(host, tuple(modules))
    document["security"] = security.observe(host)
    document["drivers"] = kernel.drivers(document["kernel"], modules)
    for section, (found, reason) in _software(host, tools == "auto" and host.is_node, tool_deadline_seconds):
        document[section] = found
        if reason is not None:
            unknown[section] = reason
    if tools == "auto" and host.is_node and document["devices"]:
        from .tools import add  # where it is needed only

        add(host, document, unknown, tool_deadline_seconds)
    document["unknown"] = dict(sorted(unknown.items()))
    return document


def _sources(host: Host) -> list[dict[str, Any]]:
    rows = []
    for name, path in (("sysfs", "/sys"), ("procfs", "/proc")):
        names = host.list(path)
        reason = f"{path} {names.reason}" if names.value is None else None if names.value else f"{path} is empty"
        rows.append({"name": name, "status": "ok" if reason is None else "absent", "reason": reason})
    return rows


def _software(
    host: Host, is_asking: bool, deadline_seconds: float
) -> Iterator[tuple[str, tuple[Optional[Any], Optional[str]]]]:
    """What gives devices to containers: each section with its value or the reason why there is none."""
    engines: Optional[list[dict[str, Any]]] = []
    if not host.exists("/etc"):
        engines = None
    elif any(host.exists(path) for path in _ENGINE_TRACES):
        from .engines import observe as observe_engines  # where it is needed only

        engines = observe_engines(host, is_asking, deadline_seconds)
    yield "engines", (engines, None if engines is not None else "/etc not there")
    named = [folder for row in engines or () for folder in row["cdi_spec_dirs"] or ()]
    yield "cdi", cdi.observe(host, named)
    kubelet: Optional[dict[str, Any]] = None
    if any(host.exists(path) for path in _KUBELET_TRACES):
        from .kubelet import observe as observe_kubelet  # where it is needed only

        kubelet = observe_kubelet(host, is_asking, deadline_seconds)
    yield "kubelet", (kubelet, None if kubelet is not None else _NO_KUBELET)
    yield "owners", owners.observe(host)


def _hardware(
    host: Host, functions: Optional[dict[str, Function]], no_pci: Optional[str], unknown: dict[str, str]
) -> dict[str, Any]:
    """Devices, NICs, storage, and what lies between them."""
    if functions is None:
        found: dict[str, Any] = dict.fromkeys(("devices", "bridges", "links", "distances", "storage"))
        unknown.update(dict.fromkeys(found, no_pci or ""))
        found["nics"], no_nics = nics.observe(host, {})
        unknown.update(no_nics)
        return found
    seen = devices.observe(host, functions)
    nic_rows, no_nics = nics.observe(host, functions)
    storage_rows, no_storage = storage.observe(host, functions)
    unknown.update(no_nics)
    unknown.update(no_storage)
    ends = _endpoints([*seen.rows, *(nic_rows or []), *(storage_rows or [])], functions)
    _add_nearest(seen.rows, ends, nic_rows, storage_rows)
    for reason in seen.links_unknown:
        kind, _colon, why = reason.partition(": ")
        unknown[f"links.{kind}"] = why
    for function in functions.values():
        if function.pci_class is None and function.id not in ends:
            unknown[f"devices.{function.id}"] = pci.NO_CLASS
    above = [functions[end.id] for end in ends.values()]
    return {
        "devices": seen.rows,
        "bridges": pci.bridges(host, above, functions),
        "links": seen.links,
        "distances": distances(tuple(ends.values())),
        "nics": nic_rows,
        "storage": storage_rows,
    }


def _endpoints(rows: list[dict[str, Any]], functions: Mapping[str, Function]) -> dict[str, Endpoint]:
    """The rows on PCI that a distance is told of: virtual functions are where their physical function is."""
    found = {}
    for row in rows:
        function = functions.get(row["id"])
        if function is not None and not (row.get("sriov") or {}).get("physical_function"):
            found[function.id] = Endpoint(function.id, function.root, function.bridges, row["numa_node"])
    return found


def _add_nearest(
    rows: list[dict[str, Any]],
    ends: Mapping[str, Endpoint],
    nic_rows: Optional[list[dict[str, Any]]],
    storage_rows: Optional[list[dict[str, Any]]],
) -> None:
    for row in rows:
        of = ends.get(row["id"]) or ends.get((row["sriov"] or {}).get("physical_function") or "")
        row["nearest"] = {}
        for key, others in (("nics", nic_rows), ("storage", storage_rows)):
            known = [ends[other["id"]] for other in others or () if other["id"] in ends and other["id"] != row["id"]]
            found = None if of is None or others is None else nearest(of, known)
            row["nearest"][key] = found
            if found is None:
                row["unknown"][f"nearest.{key}"] = "no distance is known"
        row["unknown"] = dict(sorted(row["unknown"].items()))


def _modules(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The kernel modules worth a look, with the maker they belong to: those of the makers that are here."""
    found: dict[str, str] = {}
    for name in sorted({row["maker"] for row in rows if row["maker"]}):
        maker = maker_named(name)
        if maker is not None:
            found.update(dict.fromkeys(maker.modules + maker.rivals, name))
    return found
