# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between nodes: one field at a time, against what most nodes say.

A field is compared over the nodes that know it, like with like. What a model of device has is compared over
the nodes that have such devices; what a machine or its system has over the nodes with the same models of
devices, so that a login node does not differ from GPU nodes by having fewer CPUs. Systems of which there are
fewer than three of a kind are compared with each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional

from .wiring import Record, count_cpus, is_virtual, part, rows

_ENOUGH = 3  # nodes: of two that differ, neither is the majority
_OWN_WORDS = (
    "BOOT_IMAGE",
    "root",
    "initrd",
    "resume",
    "ip",
    "ifname",
    "hostname",
    "netroot",
    "nfsroot",
    "ro",
    "rw",
    "BOOTIF",
)
_NOT_SET = "–"
_MEMORY_TOLERANCE = 0.02  # kernels of equal machines reserve a little more or less memory


class Field(NamedTuple):
    """``name`` is a key of the table of texts (``field_…``); ``subject`` says of what, may be empty."""

    name: str
    subject: str


class Spread(NamedTuple):
    """The values of one field, most frequent first, each with its nodes; ``has_majority``: more than half agree."""

    field: Field
    values: tuple[tuple[str, tuple[str, ...]], ...]
    has_majority: bool


def compare(nodes: Sequence[tuple[str, Record]]) -> list[Spread]:
    """Every field in which ``(name, facts)`` nodes differ."""
    table: dict[Field, dict[str, str]] = {}
    sizes = Counter(machine_class(facts) for _name, facts in nodes)
    for name, facts in nodes:
        alike = machine_class(facts)
        for field, value in _fields(facts, alike if sizes[alike] >= _ENOUGH else "").items():
            table.setdefault(field, {})[name] = value
    _add_command_lines(nodes, table)
    _add_memory(nodes, table)
    found = []
    for field, values in table.items():
        if len(set(values.values())) < 2:
            continue
        counted = Counter(values.values())
        ranked = sorted(counted, key=lambda value: (-counted[value], value))
        groups = tuple((value, tuple(sorted(node for node in values if values[node] == value))) for value in ranked)
        found.append(Spread(field, groups, len(values) >= _ENOUGH and counted[ranked[0]] * 2 > len(values)))
    return sorted(
        found, key=lambda spread: (not spread.has_majority, _FIELDS.index(spread.field.name), spread.field.subject)
    )


_FIELDS = (
    *("device_count", "device_driver", "device_version", "driver_loaded", "fabric_manager", "firmware"),
    *("device_memory", "partition_mode", "acs", "sriov", "peer_memory", "fabric_links", "nic_count", "nic_driver"),
    *("storage_count", "cpus", "numa_nodes", "memory", "hugepages", "kernel", "next_boot", "command_line"),
    *("taint", "cgroup", "secure_boot", "lockdown", "module_signatures"),
)
"""The order of the rows: what a job notices first stands first."""


def machine_class(facts: Record) -> str:
    """The models of devices in a node, as a text; empty for a node without accelerators."""
    return ", ".join(sorted({model_of(device) for device in rows(facts, "devices") if not is_virtual(device)}))


def _fields(facts: Record, peers: str) -> dict[Field, str]:
    """The fields of a node; ``peers`` is the subject of what its system is compared under."""
    fields: dict[Field, str] = {}
    alike = machine_class(facts)
    kernel, security = part(facts, "kernel"), part(facts, "security")
    single = {
        "kernel": kernel.get("release"),
        "next_boot": kernel.get("next_boot"),
        "taint": part(kernel, "taint").get("flags") or part(kernel, "taint").get("value"),
        "cgroup": kernel.get("cgroup_version"),
        "secure_boot": security.get("secure_boot"),
        "lockdown": security.get("lockdown"),
        "module_signatures": security.get("module_signatures_enforced"),
    }
    for name, value in single.items():
        if value is not None:
            fields[Field(name, peers)] = show(value)
    _device_fields(facts, fields)
    _part_fields(facts, fields)
    for driver in rows(facts, "drivers"):
        subject = str(driver.get("name"))
        for name, value in (("driver_loaded", driver.get("loaded")), ("fabric_manager", driver.get("fabric_manager"))):
            if value is not None:
                fields[Field(name, subject)] = show(value)
    nodes = rows(facts, "numa_nodes")
    if nodes:
        fields[Field("numa_nodes", alike)] = str(len(nodes))
        cpus = [count_cpus(node.get("cpus")) for node in nodes]
        if None not in cpus:
            fields[Field("cpus", alike)] = str(sum(count or 0 for count in cpus))
    pages: Counter[int] = Counter()
    for node in nodes:
        for pool in node.get("hugepages") or ():
            if pool.get("total") is not None:
                pages[int(pool.get("size_kib") or 0)] += int(pool["total"])
    for size, total in sorted(pages.items()):
        fields[Field("hugepages", " · ".join(word for word in (size_text(size / 1024), alike) if word))] = str(total)
    return fields


def _device_fields(facts: Record, fields: dict[Field, str]) -> None:
    groups: dict[str, list[Record]] = {}
    for device in rows(facts, "devices"):
        if not is_virtual(device):
            groups.setdefault(model_of(device), []).append(device)
    for model, devices in groups.items():
        fields[Field("device_count", model)] = str(len(devices))
        wanted: dict[str, list[Any]] = {
            "device_driver": [part(device, "driver").get("name") for device in devices],
            "device_version": [part(device, "driver").get("version") for device in devices],
            "device_memory": [device.get("memory_mib") for device in devices],
            "acs": [device.get("acs") for device in devices],
            "sriov": [part(device, "sriov").get("configured") for device in devices],
            "peer_memory": [device.get("peer_memory") for device in devices],
            "partition_mode": [
                " ".join(str(mode) for _key, mode in sorted(part(device, "partition_mode").items()) if mode) or None
                for device in devices
            ],
        }
        for name, values in wanted.items():
            text = _together(values)
            if text is not None:
                fields[Field(name, model)] = text
        for item in sorted({item for device in devices for item in part(device, "firmware")}):
            text = _together([part(device, "firmware").get(item) for device in devices])
            if text is not None:
                fields[Field("firmware", f"{model} {item}")] = text
    kinds: dict[str, list[Any]] = {}
    for link in rows(facts, "links"):
        kinds.setdefault(str(link.get("kind")), []).append(link.get("count"))
    for kind, counts in kinds.items():
        text = _together(counts)
        if text is not None:
            fields[Field("fabric_links", kind)] = text


def _part_fields(facts: Record, fields: dict[Field, str]) -> None:
    nics: dict[str, list[Record]] = {}
    for nic in rows(facts, "nics"):
        if not is_virtual(nic):
            nics.setdefault(model_of(nic), []).append(nic)
    alike = machine_class(facts)
    for model, group in nics.items():
        subject = " · ".join(word for word in (model, alike) if word)
        fields[Field("nic_count", subject)] = str(len(group))
        text = _together(
            [
                " ".join(
                    str(one) for one in (part(nic, "driver").get("name"), part(nic, "driver").get("version")) if one
                )
                or None
                for nic in group
            ]
        )
        if text is not None:
            fields[Field("nic_driver", subject)] = text
    if facts.get("storage") is not None:
        fields[Field("storage_count", alike)] = str(len(rows(facts, "storage")))


def _together(values: Sequence[Any]) -> Optional[str]:
    """One text for the values of several devices; None when none is known."""
    counted = Counter(show(value) for value in values if value is not None)
    if not counted:
        return None
    if len(counted) == 1:
        return next(iter(counted))
    return ", ".join(f"{counted[text]} × {text}" for text in sorted(counted, key=lambda text: (-counted[text], text)))


def _add_command_lines(nodes: Sequence[tuple[str, Record]], table: dict[Field, dict[str, str]]) -> None:
    """Over nodes of one class: what most set, and for each other node what it has more (+) and less (-)."""
    classes: dict[str, dict[str, Sequence[str]]] = {}
    for name, facts in nodes:
        text = part(facts, "kernel").get("command_line")
        if text is not None:
            classes.setdefault(machine_class(facts), {})[name] = _words(str(text))
    for alike, lines in classes.items():
        counted = Counter(word for words in lines.values() for word in words)
        usual = sorted(word for word, count in counted.items() if count * 2 > len(lines))
        table[Field("command_line", alike)] = {name: _against(usual, words) for name, words in lines.items()}


def _against(usual: Sequence[str], words: Sequence[str]) -> str:
    if list(words) == list(usual):
        return " ".join(usual) or _NOT_SET
    more = [f"+{word}" for word in words if word not in usual]
    return " ".join(more + [f"-{word}" for word in usual if word not in words])


def _words(line: str) -> list[str]:
    """The words of a command line that are not each node's own, sorted, each once."""
    names = {word: word.partition("=")[0] for word in line.split()}
    return sorted(word for word, name in names.items() if name not in _OWN_WORDS and not name.startswith("rd."))


def _add_memory(nodes: Sequence[tuple[str, Record]], table: dict[Field, dict[str, str]]) -> None:
    classes: dict[str, dict[str, int]] = {}
    for name, facts in nodes:
        parts: list[Optional[int]] = [node.get("memory_mib") for node in rows(facts, "numa_nodes")]
        if parts and None not in parts:
            classes.setdefault(machine_class(facts), {})[name] = sum(size for size in parts if size is not None)
    for alike, sizes in classes.items():
        # nodes join the first group whose first member is within the tolerance, largest first
        leaders: list[int] = []
        values = table.setdefault(Field("memory", alike), {})
        for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
            leader = next((size for size in leaders if size - sizes[name] <= size * _MEMORY_TOLERANCE), None)
            if leader is None:
                leader = sizes[name]
                leaders.append(leader)
            values[name] = size_text(leader)


def model_of(record: Record) -> str:
    """The model, or the PCI ids where no table names one."""
    pci = part(record, "pci")
    if record.get("model"):
        return str(record["model"])
    if pci.get("vendor_id"):
        return f"[{pci.get('vendor_id')}:{pci.get('device_id') or '?'}]"
    return "?"


def size_text(mib: float) -> str:
    """A size for people: ``80 GiB``, ``1.5 TiB``."""
    for unit, size in (("TiB", 1024 * 1024), ("GiB", 1024)):
        if mib >= size:
            number = mib / size
            return f"{number:.0f} {unit}" if number >= 9.95 else f"{number:.1f} {unit}".replace(".0 ", " ")
    return f"{mib:.0f} MiB"


def show(value: Any) -> str:
    """A fact as text, the same in every language."""
    if value is True:
        return "yes"
    if value is False:
        return "no"
    if isinstance(value, (list, tuple)):
        return " ".join(show(one) for one in value)
    if isinstance(value, Mapping):
        return " ".join(f"{key}={show(value[key])}" for key in sorted(value))
    return str(value)
