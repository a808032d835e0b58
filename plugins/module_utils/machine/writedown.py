# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree written down as a machine model: the way back from ``layout``.

First all that a model has words for; then, compared with how that would be laid out, whatever facts could still be
read from (``difference``). The result gives the same facts as the tree, and for a laid-out model it is that model.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Optional

from ..host.door import Host
from . import difference, layout, layout_pci, writedown_pci, writedown_system
from .model import parse
from .reading import names
from .records import DeviceFile, Heading

_DEVICE_FOLDERS = (
    "",
    "/dri",
    "/accel",
    "/infiniband",
    "/vfio",
    "/nvidia-caps",
    "/nvidia-caps-imex-channels",
    "/tenstorrent",
)
_DEVICE_NAMES = re.compile(
    r"(dri|accel|infiniband|vfio|nvidia-caps|nvidia-caps-imex-channels|tenstorrent)/.+|"
    r"nvidia.*|kfd|nvme\d+(n\d+)?|hl\d+|hl_controlD\d+|neuron\d+"
)


def model(host: Host, heading: Heading, asked: Optional[Collection[str]] = None) -> dict[str, Any]:
    """The mapping of a model. ``heading`` says what no tree tells. Raises InputError where a tree cannot be said.

    Of a recording, ``asked`` are the real paths that facts are read from: of all others it cannot tell whether they are
    there, and the model takes them for what they usually are.
    """
    found = writedown_pci.find(host)
    mapping: dict[str, Any] = {"name": heading.name}
    if heading.title:
        mapping["title"] = heading.title
    if heading.sources:
        mapping["sources"] = [source._asdict() for source in heading.sources]
    if heading.notes:
        mapping["notes"] = heading.notes
    mapping.update(writedown_system.numa(host))
    mapping.update(writedown_pci.section(host, found, {}))
    mapping.update(writedown_system.platform(host))
    functions = parse(mapping).functions
    known = {netdev.name for function in functions for netdev in function.net}
    mapping.update(writedown_system.virtual_net(host, known))
    mapping.update(writedown_system.kfd(host, list(functions)))
    version = host.read("/proc/driver/nvidia/version").value
    if version:
        mapping["nvidia_version"] = version
    drivers = {function.driver.replace("-", "_") for function in functions if function.driver}
    mapping.update(writedown_system.kernel(host, drivers))
    files: dict[str, Any] = dict(writedown_system.built_in(host, drivers))
    if files:
        mapping["files"] = files
    mapping.update(writedown_system.security(host))
    absent = _device_files(host, mapping)
    _add_remainder(host, mapping, found, [path for path in absent if asked is None or path in asked], asked)
    return mapping


def _device_files(host: Host, mapping: dict[str, Any]) -> list[str]:
    """Add the device files that do not follow from the devices; returns those that are not there."""
    if host.list("/dev").value is None:
        mapping["udev"] = False
        return []
    seen: dict[str, DeviceFile] = {}
    numbers = {}
    for folder in _DEVICE_FOLDERS:
        for name in names(host, f"/dev{folder}"):
            path = f"/dev{folder}/{name}"
            status, _reason = host.status(path) if _DEVICE_NAMES.fullmatch(path[5:]) else (None, None)
            if status is not None and status.kind in ("char", "block"):
                numbers[path] = status
    mapping.update(
        writedown_system.owners(
            host, {status.uid for status in numbers.values()}, {status.gid for status in numbers.values()}
        )
    )
    machine = parse(mapping)
    users = {number: name for name, number in machine.users.items()}
    groups = {number: name for name, number in machine.groups.items()}
    for path, status in numbers.items():
        # A number that nobody has a name for stays a number.
        owner, group = users.get(status.uid, str(status.uid)), groups.get(status.gid, str(status.gid))
        seen[path] = DeviceFile(status.kind, status.major, status.minor, status.mode, owner, group)
    made = layout.all_device_files(machine)
    own = {
        path: f"{one.kind} {one.major} {one.minor} {one.mode:04o} {one.owner} {one.group}"
        for path, one in seen.items()
        if made.get(path) != one
    }
    if own:
        mapping["device_files"] = dict(sorted(own.items()))
    return [path for path in made if path not in seen]


def _add_remainder(
    host: Host,
    mapping: dict[str, Any],
    found: dict[str, writedown_pci.Found],
    absent: list[str],
    asked: Optional[Collection[str]],
) -> None:
    machine = parse(mapping)
    entries = layout.entries(machine)
    rest = difference.remainder(host, entries, layout_pci.places(machine), asked)
    if rest.attributes:
        mapping.update(writedown_pci.section(host, found, rest.attributes))
    rest.files.update(mapping.get("files", {}))
    for key, value in (("files", rest.files), ("symlinks", rest.symlinks), ("folders", rest.folders)):
        if value:
            mapping[key] = value
    if rest.absent or absent:
        mapping["absent"] = sorted({*rest.absent, *absent})
