# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of a facts document, schema 1, as a table (docs/facts.md), and the first place where one departs from it.

The report reads documents of many nodes, and trusts their form once ``flaw`` has found none. The filter judges
expressions by the same table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, NamedTuple, Optional, Union

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
    "engines": Many(
        {
            **dict.fromkeys(("name", "version", "config_path"), TEXT),
            **dict.fromkeys(("running", "cdi_enabled", "nri_enabled"), TRUTH),
            "config_version": NUMBER,
            "cdi_spec_dirs": Many(TEXT),
            **_UNKNOWN,
        }
    ),
    "cdi": {
        "directories": Many(TEXT),
        "specs": Many(
            {
                **dict.fromkeys(("path", "kind", "version", "mode", "error"), TEXT),
                "devices": Many(TEXT),
                "valid": TRUTH,
                **_UNKNOWN,
            }
        ),
        **_UNKNOWN,
    },
    "kubelet": {
        **dict.fromkeys(("version", "config_path", "config_dir", "cgroup_driver", "cpu_manager_policy"), TEXT),
        **dict.fromkeys(("memory_manager_policy", "topology_manager_policy", "topology_manager_scope"), TEXT),
        "running": TRUTH,
        "container_runtime_endpoint": TEXT,
        **dict.fromkeys(("device_plugins", "registered_plugins"), Many(TEXT)),
        **_UNKNOWN,
    },
    "owners": Many(dict.fromkeys(("subject", "owner", "evidence"), TEXT)),
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
        *("engines.name", "engines.unknown"),
        *("cdi.directories", "cdi.specs", "cdi.specs.path", "cdi.specs.unknown", "cdi.unknown"),
        *("kubelet.unknown", "owners.subject", "owners.owner", "owners.evidence"),
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

    ``devices.0.link is text, expected a mapping``. Takes about two milliseconds for a node with eight devices.
    """
    if facts.__class__ is not dict:
        return f"the facts document is {_found(facts)}, expected a mapping"
    schema = facts.get("schema")
    if schema.__class__ is not int or schema != SCHEMA:
        shown = schema if schema.__class__ is int else _found(schema)
        return f"schema is {shown if len(str(shown)) <= 20 else 'a larger number'}, expected {SCHEMA}"
    missing = next((name for name in FACTS if name not in facts), None)
    if missing is not None:
        return f"{missing} is missing, expected {_expected(FACTS[missing])}"
    wrong = _CHECK(facts)
    if wrong is None:
        return None
    *above, last = wrong
    return f"{_shown('.'.join(reversed(above)))} {last}"


Wrong = Optional[tuple[str, ...]]
"""A place, and what is wrong there as the last; the place is told from the inside to the outside."""
Check = Callable[[Any], Wrong]


def _check(form: Form, path: str, is_sure: bool) -> Check:
    """A function that judges values of a form. A fleet has millions: the table is walked once, and not for each."""
    check = (
        _list_check(form, path)
        if isinstance(form, Many)
        else _open_check(form, path)
        if isinstance(form, Open)
        else _mapping_check(form, path)
        if isinstance(form, Mapping)
        else _scalar_check(form, path)
    )

    def judge(value: Any) -> Wrong:
        if value is None:
            return _wrong(value, form) if is_sure else None
        return check(value)

    return judge


def _list_check(form: Many, path: str) -> Check:
    check = _check(form.of, path, True)

    def judge(value: Any) -> Wrong:
        if value.__class__ is not list:
            return _wrong(value, form)
        for number, item in enumerate(value):
            wrong = check(item)
            if wrong is not None:
                return _inside(str(number), wrong)
        return None

    return judge


def _open_check(form: Open, path: str) -> Check:
    check = _check(form.of, f"{path}.*", path.endswith(_REASONS))

    def judge(value: Any) -> Wrong:
        if value.__class__ is not dict:
            return _wrong(value, form)
        for key, inner in value.items():
            wrong = check(inner)
            if wrong is not None:
                return _inside(str(key), wrong)
        return None

    return judge


def _mapping_check(form: Mapping[str, Any], path: str) -> Check:
    prefix = f"{path}." if path else ""
    checks = {key: _check(inner, prefix + key, prefix + key in NEVER_NULL) for key, inner in form.items()}
    sure = tuple(key for key in form if prefix + key in NEVER_NULL)

    def judge(value: Any) -> Wrong:
        if value.__class__ is not dict:
            return _wrong(value, form)
        for key, inner in value.items():
            check = checks.get(key)
            if check is None:
                return str(key), f"is in no document of schema {SCHEMA}"
            wrong = check(inner)
            if wrong is not None:
                return _inside(key, wrong)
        for key in sure:
            if key not in value:
                return key, f"is missing, expected {_expected(form[key])}"
        return None

    return judge


def _scalar_check(form: Optional[str], path: str) -> Check:
    choices = ONE_OF.get(path)

    def judge(value: Any) -> Wrong:
        if not _is(value, form):
            return _wrong(value, form)
        if choices is not None and value not in choices:
            return (f"is {_shown(repr(value))}, expected one of {', '.join(choices)}",)
        return None

    return judge


def _inside(key: str, wrong: tuple[str, ...]) -> tuple[str, ...]:
    return (*wrong[:-1], key, wrong[-1])


def _is(value: Any, form: Optional[str]) -> bool:
    """Whether a value is the scalar; a number is finite and fits 64 bits."""
    if form == TEXT:
        return value.__class__ is str
    if form == NUMBER:
        return value.__class__ in (int, float) and -_LARGEST < value < _LARGEST
    if form is None:
        return any(_is(value, one) for one in (TEXT, NUMBER, TRUTH))
    return form == TRUTH and value.__class__ is bool


def _wrong(value: Any, form: Form) -> tuple[str, ...]:
    return (f"is {_found(value)}, expected {_expected(form)}",)


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


_CHECK = _check(FACTS, "", True)
