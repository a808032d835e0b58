# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section *devices*: every accelerator with what PCI, its class folders and its maker's driver tell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional

from ...codec import sysfs
from ...host.door import Host
from ...model.answer import MISSING, Answer, Book
from ...model.device import NEEDS_TOOL, Told
from ...model.pci import Function
from ...vendor.ids import OFF_PCI_DRIVERS, is_device, kind_of, maker_of, model_of
from ...vendor.probes import probe_of
from . import pci

_CLASS_FOLDERS = ("drm", "accel", "habanalabs", "tenstorrent")
"""Folders below a device that hold its device files (Linux 6.18; tenstorrent tt-kmd 2)."""
_DRIVERS_TELL = (
    *("integrated", "uuid", "serial", "memory_mib", "firmware", "partitions", "partition_mode", "fabric"),
    "peer_memory",
)
_TOOLS_TELL = ("power_limit_watts", "memory_health", "tiles", "ports")
"""Fields that no kernel interface fills: makers' tools do."""


class Devices(NamedTuple):
    """The rows, the links that makers told, and why links may be missing."""

    rows: list[dict[str, Any]]
    links: list[dict[str, Any]]
    links_unknown: list[str]


def observe(host: Host, functions: Mapping[str, Function]) -> Devices:
    """All accelerators on PCI by address, then those off PCI by path."""
    chosen = [function for function in functions.values() if is_device(function)]
    makers = sorted({maker.name for maker in map(maker_of, chosen) if maker is not None})
    told: dict[str, Told] = {}
    for name in makers:
        probe = probe_of(name)
        if probe is not None:
            told[name] = probe(host, [one for one in chosen if _maker_name(one) == name], functions)
    files = Files(host)
    rows = [_row(host, function, functions, told.get(_maker_name(function) or ""), files) for function in chosen]
    rows += _off_pci(host, files)
    links = [row for one in told.values() for row in one.links]
    return Devices(rows, links, [one.links_unknown for one in told.values() if one.links_unknown])


def _maker_name(function: Function) -> Optional[str]:
    maker = maker_of(function)
    return None if maker is None else maker.name


def _row(
    host: Host, function: Function, functions: Mapping[str, Function], told: Optional[Told], files: Files
) -> dict[str, Any]:
    book = Book()
    shared = pci.shared_fields(host, function, functions, book)
    row: dict[str, Any] = {
        "id": function.id,
        "kind": kind_of(function),
        **_identity(function, book),
        **_silent(),
        **shared,
        "aer": pci.aer(host, function.place, book),
        "acs": pci.acs(host, function, functions, book),
        "iommu_group": _iommu_group(host, function.place, book),
    }
    own: Sequence[str] = ()
    common: Sequence[str] = ()
    if told is not None:
        row.update(told.fields[function.id])
        book.unknown.update(told.unknown[function.id])
        own, common = told.nodes[function.id], told.shared_nodes
    for key in _silent():
        if row[key] is None:
            book.unknown.setdefault(key, "this maker's driver is not asked" if told is None else NEEDS_TOOL)
    if row["model"] is not None:
        book.unknown.pop("model", None)
    row["nodes"] = files.nodes(function.place, own, common, book)
    _name_partition_nodes(row, files)
    row["mismatch"] = {}
    row["unknown"] = dict(sorted(book.unknown.items()))
    return row


def _identity(function: Function, book: Book) -> dict[str, Any]:
    maker = maker_of(function)
    if maker is None:
        book.miss("maker", f"vendor {function.vendor_id} is in no table")
    model = model_of(function)
    if model is None:
        book.miss("model", f"device {function.vendor_id}:{function.device_id} is in no table")
    return {"maker": None if maker is None else maker.name, "model": model}


def _silent() -> dict[str, Any]:
    """The fields that only a maker's driver can fill, before it is asked."""
    return dict.fromkeys((*_DRIVERS_TELL, *_TOOLS_TELL))


def _iommu_group(host: Host, place: str, book: Book) -> int | None:
    group = host.resolve(f"{place}/iommu_group")
    if group.value is None:
        book.miss("iommu_group", "in no IOMMU group" if group.reason == MISSING else group.reason or "")
        return None
    # A copy that followed the links has a folder of this very name, which tells no number.
    return book.take("iommu_group", Answer(group.value.rpartition("/")[2], None), sysfs.integer)


def _name_partition_nodes(row: dict[str, Any], files: Files) -> None:
    for partition in row["partitions"] or ():
        book = Book()
        if "profile" not in partition:
            partition["profile"] = None
            partition["unknown"]["profile"] = NEEDS_TOOL
        partition["nodes"] = [node for path in partition["nodes"] for node in files.one(path, False, book)]
        partition["unknown"].update(book.unknown)


def _off_pci(host: Host, files: Files) -> list[dict[str, Any]]:
    """Devices of the accel subsystem whose parent is a platform device."""
    rows: dict[str, dict[str, Any]] = {}
    for name in host.list("/sys/class/accel").value or ():
        parent = host.resolve(f"/sys/class/accel/{name}/device").value
        bus = host.resolve(f"/sys/class/accel/{name}/device/subsystem").value
        if parent is None or bus is None or bus.endswith("/pci"):
            continue
        place = parent[len("/sys/devices/") :] if parent.startswith("/sys/devices/") else parent
        if place not in rows:
            rows[place] = _platform_row(host, place, parent, files)
    return [rows[place] for place in sorted(rows)]


def _platform_row(host: Host, place: str, parent: str, files: Files) -> dict[str, Any]:
    book = Book()
    driver = pci.driver(host, parent, book)
    maker = OFF_PCI_DRIVERS.get(driver["name"] or "")
    if maker is None:
        book.miss("maker", f"driver {driver['name']} is in no table")
    row: dict[str, Any] = {"id": place, "kind": "npu", "maker": maker, "model": None, **_silent(), "integrated": True}
    for key in ("model", *_silent()):
        if row[key] is None:
            book.miss(key, NEEDS_TOOL)
    for key in ("numa_node", "cpus", "pci", "path", "link", "sriov", "aer", "acs", "iommu_group"):
        row[key] = book.miss(key, "not on PCI")
    row["driver"] = driver
    row["nodes"] = files.nodes(parent, [], (), book)
    row["mismatch"] = {}
    row["unknown"] = dict(sorted(book.unknown.items()))
    return row


class Files:
    """Device files, with owners by name as the node's own passwd and group files have them."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._has_dev = host.list("/dev").value is not None
        self._names: dict[str, dict[int, str]] = {}

    def nodes(self, place: str, own: Sequence[str], shared: Sequence[str], book: Book) -> list[dict[str, Any]] | None:
        """The device files of the device at ``place``: by its class folders, then ``own`` and ``shared`` paths."""
        if not self._has_dev:
            book.miss("nodes", "this root has no /dev")
            return None
        paths = [f"/dev/{name}" for name in self._by_class(place)] + [*own]
        found = [node for path in sorted(set(paths)) for node in self.one(path, False, book)]
        return found + [node for path in shared if self._host.exists(path) for node in self.one(path, True, book)]

    def _by_class(self, place: str) -> list[str]:
        found = []
        for folder in _CLASS_FOLDERS:
            for name in self._host.list(f"{place}/{folder}").value or ():
                text = self._host.read(f"{place}/{folder}/{name}/uevent").value
                path = sysfs.uevent(text or "").get("DEVNAME")
                if path:
                    found.append(path)
        return found

    def one(self, path: str, shared: bool, book: Book) -> list[dict[str, Any]]:
        """The record of a device file, or none and the reason in the book."""
        status, reason = self._host.status(path)
        if status is None or status.kind not in ("char", "block"):
            book.miss(f"nodes.{path}", reason or f"a {status.kind if status else 'thing'}, not a device")
            return []
        return [
            {
                "path": path,
                "major": status.major,
                "minor": status.minor,
                "mode": f"{status.mode:04o}",
                "owner": self._name("/etc/passwd", status.uid),
                "group": self._name("/etc/group", status.gid),
                "shared": shared,
            }
        ]

    def _name(self, path: str, number: int) -> str:
        """The first name that a file of the form of ``/etc/passwd`` has for a number, else the number."""
        if path not in self._names:
            rows = [line.split(":") for line in (self._host.read(path).value or "").splitlines()]
            named = [(int(row[2]), row[0]) for row in rows if len(row) > 2 and re.match("[0-9]{1,10}\\Z", row[2])]
            self._names[path] = dict(reversed(named))
        return self._names[path].get(number, str(number))
