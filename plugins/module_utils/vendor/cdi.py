# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The registry of the aspect *cdi*: what a device of a maker needs in a container, and by which names it is called.

A maker's aspect is made of rows of the section *devices* of the facts. A maker without a line has no kind that is
known, and gets no spec.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Callable, NamedTuple, Optional

from ..codec.cdi import Hook, Mount
from ..host.door import Host
from ..model.device import Row
from ..model.owner import Owner


class Unit(NamedTuple):
    """A device or a partition: its names, stable ones first, and the device files of it alone."""

    names: tuple[str, ...]
    nodes: tuple[str, ...]


class Needs(NamedTuple):
    """What devices of one kind need in a container.

    ``shared`` are device files for each of them, ``required`` those that it cannot work without. ``gids`` are the
    groups by path of those files that a group may open. ``missing`` are device files that belong to them and are not
    there, ``again`` the programs of the maker that make such. ``notes`` say what else a container goes without,
    ``failure`` why it cannot be told what they need.
    """

    kind: str
    units: tuple[Unit, ...]
    shared: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()
    hooks: tuple[Hook, ...] = ()
    gids: Mapping[str, int] = {}
    missing: tuple[str, ...] = ()
    again: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    failure: Optional[str] = None


def nobody(host: Host) -> Optional[Owner]:
    """For makers of whom no such tool is known."""
    return None


class Aspect(NamedTuple):
    """A maker's kinds, the first being the usual one, and how its devices come into containers.

    ``generator`` is the maker's program with its arguments: it prints a spec of the first kind as JSON. ``module`` is
    the kernel module whose version all files must have that begin with one of ``libraries``.
    """

    kinds: tuple[str, ...]
    needs: Callable[[Host, Sequence[Row]], tuple[Needs, ...]]
    generator: tuple[str, ...] = ()
    owner: Callable[[Host], Optional[Owner]] = nobody
    module: str = ""
    libraries: tuple[str, ...] = ()


def _nvidia() -> Aspect:
    from .nvidia.cdi import aspect

    return aspect()


def _amd() -> Aspect:
    from .amd.cdi import aspect

    return aspect()


def _intel() -> Aspect:
    from .intel.cdi import aspect

    return aspect()


def _habana() -> Aspect:
    from .habana.cdi import aspect

    return aspect()


_PLAIN = {
    # the name of its devices in its device plugin for Kubernetes, read 2026-12-01
    "qualcomm": "qualcomm.com/qaic",
    # its device plugin names each board by itself, read 2026-12-01: its domain, and the word of the facts
    "tenstorrent": "tenstorrent.com/accelerator",
}
"""Makers whose containers bring all but the device files, by their kind."""


def _plain(kind: str) -> Aspect:
    """Device files alone, as the kernel tells which belong to a device."""

    def needs(host: Host, rows: Sequence[Row]) -> tuple[Needs, ...]:
        driven = [row for row in rows if is_driven(row)]
        found = tuple(unit for index, row in enumerate(driven) for unit in units(row, str(index), [row["uuid"]]))
        return (with_groups(host, Needs(kind, found, shared_nodes(driven), missing=missing_nodes(driven))),)

    return Aspect((kind,), needs)


LOADERS: dict[str, Callable[[], Aspect]] = {
    "nvidia": _nvidia,
    "amd": _amd,
    "intel": _intel,
    "habana": _habana,
    **{maker: partial(_plain, kind) for maker, kind in _PLAIN.items()},
}


# What makers' aspects share.


def is_driven(row: Row) -> bool:
    """Whether a driver of the node has the device, and not a virtual machine's (vfio-pci), nor none."""
    name = (row["driver"] or {}).get("name")
    return bool(name) and not str(name).startswith("vfio")


def own_nodes(row: Row) -> tuple[str, ...]:
    """The device files of this device alone."""
    return tuple(node["path"] for node in row["nodes"] or () if not node["shared"])


def shared_nodes(rows: Sequence[Row]) -> tuple[str, ...]:
    """The device files that the devices share."""
    return tuple(dict.fromkeys(node["path"] for row in rows for node in row["nodes"] or () if node["shared"]))


def missing_nodes(rows: Sequence[Row]) -> tuple[str, ...]:
    """Device files that the kernel or the maker's driver names and that are not there; a driver without any at all."""
    found = []
    for row in rows:
        unknowns = [row["unknown"], *(one["unknown"] for one in row["partitions"] or ())]
        named = [key[len("nodes.") :] for one in unknowns for key in one if key.startswith("nodes./dev/")]
        found += named or ([f"device files of {row['id']}"] if not own_nodes(row) else [])
    return tuple(dict.fromkeys(found))


def units(row: Row, index: str, names: Sequence[Optional[str]], beside: Sequence[str] = ()) -> tuple[Unit, ...]:
    """A device as a whole and each of its partitions.

    ``names`` are the maker's stable ones, ``beside`` the device files of the device that each partition needs too. A
    whole device has the device files of its partitions.
    """
    nodes = own_nodes(row)
    partitions = row["partitions"] or ()
    parts = [tuple(node["path"] for node in one["nodes"] or ()) for one in partitions]
    whole = tuple(dict.fromkeys((*nodes, *(path for part in parts for path in part))))
    found = [Unit(_names(*names, row["id"], index), whole)] if whole else []
    for number, (one, part) in enumerate(zip(partitions, parts)):
        if part:
            found.append(Unit(_names(one["uuid"], f"{index}:{number}"), (*beside, *part)))
    return tuple(found)


def _names(*names: Optional[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))


def gids(host: Host, paths: Sequence[str]) -> dict[str, int]:
    """The group of each device file, root's and those that everybody may open left out."""
    found = {}
    for path in paths:
        status, _reason = host.status(path)
        if status is not None and status.gid and status.mode & 0o006 != 0o006 and status.mode & 0o060:
            found[path] = status.gid
    return found


def with_groups(host: Host, needs: Needs) -> Needs:
    """The needs with the groups of all their device files."""
    paths = (*needs.shared, *(path for unit in needs.units for path in unit.nodes))
    return needs._replace(gids=gids(host, tuple(dict.fromkeys(paths))))


def address_name(row: Row) -> Optional[str]:
    """The id that Intel gives a device on PCI: ``0000-4d-00-0-0x0bd5`` (its resource drivers, read 2026-12)."""
    pci = row["pci"]
    if not pci or not pci["device_id"]:
        return None
    return f"{row['id'].replace(':', '-').replace('.', '-')}-0x{pci['device_id']}"
