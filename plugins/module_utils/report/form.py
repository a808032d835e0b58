# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of a facts document, schema 1, as a table (docs/facts.md), and the first place where one departs from it.

The report reads documents of many nodes, and trusts their form once ``flaw`` has found none. The filter judges
expressions by the same table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Optional, Union

SCHEMA = 1


class Many(NamedTuple):
    """A list; ``of`` is the form of each item, None where it may be anything. No item is null."""

    of: Any


class Open(NamedTuple):
    """A mapping with keys of any name; ``of`` is the form of each value, None where it may be any scalar."""

    of: Any


TEXT, NUMBER, TRUTH, NOTHING = "string", "number", "boolean", "null"
Form = Union[None, str, Many, Open, Mapping[str, Any]]
"""The form of a value: a scalar's name as JMESPath has it, a list, a mapping, or None where it may be any scalar."""

_UNKNOWN = {"unknown": Open(TEXT)}
_PCI = dict.fromkeys(("vendor_id", "device_id", "subsystem_vendor_id", "subsystem_id", "class", "revision"), TEXT)
_LINK = {**dict.fromkeys(("speed_gts", "width", "max_speed_gts", "max_width"), NUMBER), "limited_by": TEXT}
_PLACE = {
    "numa_node": NUMBER,
    "cpus": TEXT,
    "pci": _PCI,
    "path": Many(TEXT),
    "link": _LINK,
}
"""Where a device, a NIC or a drive is in the machine."""
_BOUND = {
    "sriov": {"total": NUMBER, "configured": NUMBER, "physical_function": TEXT},
    "driver": {"name": TEXT, "version": TEXT},
}
_FILES = Many(
    {
        **dict.fromkeys(("path", "mode", "owner", "group"), TEXT),
        **dict.fromkeys(("major", "minor"), NUMBER),
        "shared": TRUTH,
    }
)

DEVICE: Mapping[str, Any] = {
    "id": TEXT,
    "kind": TEXT,
    "integrated": TRUTH,
    **dict.fromkeys(("maker", "model", "uuid", "serial"), TEXT),
    "memory_mib": NUMBER,
    **_PLACE,
    "aer": dict.fromkeys(("correctable", "nonfatal", "fatal"), NUMBER),
    "acs": TRUTH,
    "iommu_group": NUMBER,
    **_BOUND,
    "firmware": Open(TEXT),
    "partitions": Many(
        {
            **dict.fromkeys(("id", "kind", "uuid", "profile"), TEXT),
            "memory_mib": NUMBER,
            "nodes": _FILES,
            **_UNKNOWN,
        }
    ),
    "partition_mode": {"compute": TEXT, "memory": TEXT},
    "fabric": {"kind": TEXT, "state": TEXT, "clique": TEXT},
    "peer_memory": TEXT,
    "power_limit_watts": NUMBER,
    "memory_health": {
        "ecc_mode": TEXT,
        "remapped_rows": {
            **dict.fromkeys(("correctable", "uncorrectable"), NUMBER),
            **dict.fromkeys(("pending", "failure"), TRUTH),
        },
    },
    "tiles": NUMBER,
    "ports": Many({"port": NUMBER, "state": TEXT}),
    # what contradicts each other is of the field's own form
    "mismatch": Open({"kernel": None, "tool": None}),
    "nearest": {"nics": Many(TEXT), "storage": Many(TEXT)},
    "nodes": _FILES,
    **_UNKNOWN,
}
"""The form of a device. ``firmware``, ``mismatch`` and ``unknown`` are open: their keys are what a device has."""

FACTS: Mapping[str, Any] = {
    "schema": NUMBER,
    "sources": Many(dict.fromkeys(("name", "status", "reason"), TEXT)),
    "devices": Many(DEVICE),
    "bridges": Many(
        {
            **dict.fromkeys(("id", "parent", "root"), TEXT),
            "numa_node": NUMBER,
            "pci": _PCI,
            "link": _LINK,
            **_UNKNOWN,
        }
    ),
    "links": Many({**dict.fromkeys(("a", "b", "kind", "state"), TEXT), "hops": NUMBER, "count": NUMBER, **_UNKNOWN}),
    "distances": Many({**dict.fromkeys(("a", "b", "kind"), TEXT), **_UNKNOWN}),
    "nics": Many(
        {
            **dict.fromkeys(("id", "maker", "model"), TEXT),
            **_PLACE,
            **_BOUND,
            "netdevs": Many(
                {
                    **dict.fromkeys(("name", "state", "bond"), TEXT),
                    **dict.fromkeys(("mtu", "speed_mbps"), NUMBER),
                    "vlans": Many({"name": TEXT, "id": NUMBER}),
                }
            ),
            "rdma": Many(
                {**dict.fromkeys(("name", "protocol", "state"), TEXT), **dict.fromkeys(("port", "rate_gbps"), NUMBER)}
            ),
            **_UNKNOWN,
        }
    ),
    "storage": Many(
        {"id": TEXT, "names": Many(TEXT), "model": TEXT, "size_mib": NUMBER, **_PLACE, **_UNKNOWN},
    ),
    "numa_nodes": Many(
        {
            "node": NUMBER,
            "cpus": TEXT,
            "memory_mib": NUMBER,
            "hugepages": Many(dict.fromkeys(("size_kib", "total", "free"), NUMBER)),
            "distances": Many(NUMBER),
            **_UNKNOWN,
        }
    ),
    "kernel": {
        **dict.fromkeys(("release", "next_boot", "command_line"), TEXT),
        "taint": {"value": NUMBER, "flags": Many(TEXT)},
        "cgroup_version": NUMBER,
        "modules": Many(
            {
                "name": TEXT,
                "loaded": TRUTH,
                "version": TEXT,
                "on_disk": Many(dict.fromkeys(("kernel", "path", "version", "signer"), TEXT)),
                **_UNKNOWN,
            }
        ),
        **_UNKNOWN,
    },
    "security": {"secure_boot": TRUTH, "lockdown": TEXT, "module_signatures_enforced": TRUTH, **_UNKNOWN},
    "drivers": Many(
        {
            **dict.fromkeys(("name", "maker", "loaded", "user_space", "fabric_manager"), TEXT),
            "on_disk": Many({"kernel": TEXT, "version": TEXT}),
            "mismatch": Open(TEXT),
            **_UNKNOWN,
        }
    ),
    **dict.fromkeys(("engines", "cdi", "kubelet", "owners"), NOTHING),
    **_UNKNOWN,
}
"""The form of the document. A key that is not in the table is in no document of this schema."""

NEVER_NULL = frozenset(
    (
        *("sources", "sources.name", "sources.status", "unknown"),
        *("devices.id", "devices.kind", "devices.unknown", "devices.partitions.unknown", "devices.nodes.path"),
        *("bridges.id", "bridges.root", "bridges.unknown"),
        *("links.a", "links.b", "links.kind", "links.unknown", "distances.a", "distances.b", "distances.unknown"),
        *("nics.id", "nics.netdevs.name", "nics.netdevs.vlans.name", "nics.rdma.name", "nics.unknown"),
        *("storage.id", "storage.unknown"),
        *("numa_nodes.node", "numa_nodes.unknown", "numa_nodes.hugepages.size_kib"),
        *("kernel.modules.name", "kernel.modules.unknown", "kernel.unknown", "security.unknown"),
        *("drivers.name", "drivers.maker", "drivers.unknown"),
    )
)
"""Dotted paths, without positions in lists, of what every record has; all else may be null or, in a record, left out.
Each section is there, if only as null."""

ONE_OF = {"devices.kind": ("gpu", "npu", "accelerator")}
"""Texts that are one of a few, by dotted path."""

_REASONS = ("unknown", "mismatch")
_SPOKEN = {
    TEXT: "text",
    NUMBER: "a number",
    TRUTH: "true or false",
    NOTHING: "null",
    None: "text, a number, or true or false",
}
_LARGEST = 2**64  # exclusive; nothing that a kernel counts is wider than 64 bits
_LONGEST_SHOWN = 120


def flaw(facts: Any) -> Optional[str]:
    """The first place where this is no facts document of schema 1, in one line; None when it is one.

    ``devices.0.link is text, expected a mapping``.
    """
    if not isinstance(facts, Mapping):
        return f"the facts document is {_found(facts)}, expected a mapping"
    schema = facts.get("schema")
    if schema.__class__ is not int or schema != SCHEMA:
        shown = schema if schema.__class__ is int else _found(schema)
        return f"schema is {shown if len(str(shown)) <= 20 else 'a larger number'}, expected {SCHEMA}"
    missing = next((name for name in FACTS if name not in facts), None)
    if missing is not None:
        return f"{missing} is missing, expected {_expected(FACTS[missing])}"
    return _mapping_flaw(facts, FACTS, "", "")


def _mapping_flaw(value: Mapping[str, Any], form: Mapping[str, Any], place: str, path: str) -> Optional[str]:
    for key in value:
        if key not in form:
            return f"{_shown(place + str(key))} is in no document of schema {SCHEMA}"
    for key, inner in form.items():
        found = _flaw(value.get(key), inner, place + key, path + key)
        if found is not None:
            return found if key in value else f"{_shown(place + key)} is missing, expected {_expected(inner)}"
    return None


def _flaw(value: Any, form: Form, place: str, path: str) -> Optional[str]:
    if value is None:
        return _wrong(value, form, place) if path in NEVER_NULL else None
    if isinstance(form, Many):
        return _list_flaw(value, form, place, path) if value.__class__ is list else _wrong(value, form, place)
    if isinstance(form, (Open, Mapping)):
        if not isinstance(value, Mapping):
            return _wrong(value, form, place)
        if isinstance(form, Open):
            return _open_flaw(value, form, place, path)
        return _mapping_flaw(value, form, f"{place}.", f"{path}.")
    if not _is(value, form):
        return _wrong(value, form, place)
    if path in ONE_OF and value not in ONE_OF[path]:
        return f"{_shown(place)} is {_shown(repr(value))}, expected one of {', '.join(ONE_OF[path])}"
    return None


def _list_flaw(value: list[Any], form: Many, place: str, path: str) -> Optional[str]:
    for number, item in enumerate(value):
        at = f"{place}.{number}"
        found = _wrong(item, form.of, at) if item is None else _flaw(item, form.of, at, path)
        if found is not None:
            return found
    return None


def _open_flaw(value: Mapping[Any, Any], form: Open, place: str, path: str) -> Optional[str]:
    is_sure = place.endswith(_REASONS)
    for key, inner in value.items():
        at = f"{place}.{key}"
        found = _wrong(inner, form.of, at) if inner is None and is_sure else _flaw(inner, form.of, at, f"{path}.*")
        if found is not None:
            return found
    return None


def _is(value: Any, form: Optional[str]) -> bool:
    """Whether a value is the scalar; a number is finite and fits 64 bits."""
    if form is None:
        return any(_is(value, one) for one in (TEXT, NUMBER, TRUTH))
    if form == NUMBER:
        return value.__class__ in (int, float) and -_LARGEST < value < _LARGEST
    return (form == TEXT and isinstance(value, str)) or (form == TRUTH and value.__class__ is bool)


def _wrong(value: Any, form: Form, place: str) -> str:
    return f"{_shown(place)} is {_found(value)}, expected {_expected(form)}"


def _expected(form: Form) -> str:
    if form is None or isinstance(form, str):
        return _SPOKEN[form]
    return "a list" if isinstance(form, Many) else "a mapping"


def _found(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, (bool, str)):
        return "text" if isinstance(value, str) else "true or false"
    return "a number" if _is(value, NUMBER) else "a number that nothing counts to"


def _shown(place: str) -> str:
    """A place in one short line: names of open mappings may hold anything."""
    line = " ".join(place.split())
    return line if len(line) <= _LONGEST_SHOWN else f"{line[: _LONGEST_SHOWN - 1]}…"
