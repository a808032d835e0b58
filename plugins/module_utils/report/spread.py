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
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from .markup import natural
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
NOT_SET = "–"  # looked, and there is none
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
    classes = {name: machine_class(facts) for name, facts in nodes}
    sizes = Counter(classes.values())
    for name, facts in nodes:
        alike = classes[name]
        for field, value in _fields(facts, alike, alike if sizes[alike] >= _ENOUGH else "").items():
            table.setdefault(field, {})[name] = value
    _add_command_lines(nodes, classes, table)
    _add_memory(nodes, classes, table)
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
    *("device_count", "device_driver", "device_version", "driver_loaded", "driver_on_disk", "driver_next_boot"),
    *("user_space", "fabric_manager", "driver_agrees", "firmware", "device_memory", "partition_mode", "partitions"),
    *("fabric_state", "fabric_clique", "fabric_links", "ecc_mode", "remapped_rows", "power_limit"),
    *("acs", "sriov", "peer_memory", "nic_count", "nic_driver"),
    *("storage_count", "cpus", "numa_nodes", "memory", "hugepages", "kernel", "next_boot", "command_line"),
    *("taint", "cgroup", "secure_boot", "lockdown", "module_signatures"),
)
"""The order of the rows: what a job notices first stands first."""


def machine_class(facts: Record) -> str:
    """The models of devices in a node, as a text; empty for a node without accelerators."""
    return ", ".join(sorted({model_of(device) for device in rows(facts, "devices") if not is_virtual(device)}))


def _fields(facts: Record, alike: str, peers: str) -> dict[Field, str]:
    """The fields of a node of class ``alike``; ``peers`` is the subject of what its system is compared under."""
    fields: dict[Field, str] = {}
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
    _part_fields(facts, alike, fields)
    for driver in rows(facts, "drivers"):
        subject, is_judged = str(driver.get("name")), "mismatch" not in part(driver, "unknown")
        said: dict[str, Any] = {
            "driver_loaded": driver.get("loaded"),
            "driver_on_disk": on_disk(driver, kernel.get("release")),
            "driver_next_boot": on_disk(driver, kernel.get("next_boot")),
            "user_space": driver.get("user_space"),
            "fabric_manager": driver.get("fabric_manager"),
            "driver_agrees": not driver.get("mismatch") if is_judged and driver.get("loaded") is not None else None,
        }
        for name, value in said.items():
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
    for model, devices in by_model(facts).items():
        fields[Field("device_count", model)] = str(len(devices))
        wanted: dict[str, list[Any]] = {
            "device_driver": [part(device, "driver").get("name") for device in devices],
            "device_version": [part(device, "driver").get("version") for device in devices],
            "device_memory": [device.get("memory_mib") for device in devices],
            "acs": [device.get("acs") for device in devices],
            "sriov": [part(device, "sriov").get("configured") for device in devices],
            "peer_memory": [device.get("peer_memory") for device in devices],
            "partition_mode": [partition_mode(device) for device in devices],
            "partitions": [profiles_text(device) for device in devices],
            "fabric_state": [part(device, "fabric").get("state") for device in devices],
            "fabric_clique": [part(device, "fabric").get("clique") for device in devices],
            "ecc_mode": [part(device, "memory_health").get("ecc_mode") for device in devices],
            "remapped_rows": [_remapped(device) for device in devices],
            "power_limit": [device.get("power_limit_watts") for device in devices],
        }
        for name, values in wanted.items():
            text = together(values)
            if text is not None:
                fields[Field(name, model)] = text
        for item in sorted({item for device in devices for item in part(device, "firmware")}):
            text = together([part(device, "firmware").get(item) for device in devices])
            if text is not None:
                fields[Field("firmware", f"{model} {item}")] = text
    kinds: dict[str, list[Any]] = {}
    for link in rows(facts, "links"):
        kinds.setdefault(str(link.get("kind")), []).append(link.get("count"))
    for kind, counts in kinds.items():
        text = together(counts)
        if text is not None:
            fields[Field("fabric_links", kind)] = text


def by_model(facts: Record) -> dict[str, list[Record]]:
    """The devices of a node by model, virtual functions aside."""
    groups: dict[str, list[Record]] = {}
    for device in rows(facts, "devices"):
        if not is_virtual(device):
            groups.setdefault(model_of(device), []).append(device)
    return groups


def partition_mode(device: Record) -> Optional[str]:
    """``SPX NPS1``, or None where no mode is known."""
    mode = part(device, "partition_mode")
    return " ".join(str(mode[key]) for key in sorted(mode) if mode[key]) or None


def profiles(device: Record) -> Optional[dict[str, int]]:
    """How many partitions of each profile (of each kind where none is told) a device has; None where unknown."""
    if device.get("partitions") is None:
        return None
    counted = Counter(str(one.get("profile") or one.get("kind") or "?") for one in device["partitions"])
    return dict(sorted(counted.items(), key=lambda item: natural(item[0])))


def profiles_text(device: Record) -> Optional[str]:
    """``1g.10gb×1+3g.40gb×2``, or None where unknown."""
    found = profiles(device)
    if found is None:
        return None
    return "+".join(f"{profile}×{count}" for profile, count in found.items()) or NOT_SET


def on_disk(driver: Record, kernel: Optional[Any]) -> Optional[str]:
    """The version of a driver that is on disk for a kernel; None where it is unknown or there is none."""
    mine = [one for one in driver.get("on_disk") or () if kernel is not None and one.get("kernel") == kernel]
    return " ".join(sorted({str(one["version"]) for one in mine if one.get("version") is not None})) or None


def _remapped(device: Record) -> Optional[str]:
    """What of the remapped rows asks for a look: a remap that waits for a reset, or one that failed."""
    found = part(part(device, "memory_health"), "remapped_rows")
    said = [f"{key}={show(found[key])}" for key in ("pending", "failure") if found.get(key) is not None]
    return " ".join(said) or None


def _part_fields(facts: Record, alike: str, fields: dict[Field, str]) -> None:
    nics: dict[str, list[Record]] = {}
    for nic in rows(facts, "nics"):
        if not is_virtual(nic):
            nics.setdefault(model_of(nic), []).append(nic)
    for model, group in nics.items():
        subject = " · ".join(word for word in (model, alike) if word)
        fields[Field("nic_count", subject)] = str(len(group))
        text = together(
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


def together(values: Iterable[Any]) -> Optional[str]:
    """One text for the values of several devices; None when none is known."""
    counted = Counter(show(value) for value in values if value is not None)
    if not counted:
        return None
    if len(counted) == 1:
        return next(iter(counted))
    return ", ".join(f"{counted[text]} × {text}" for text in sorted(counted, key=lambda text: (-counted[text], text)))


def _add_command_lines(
    nodes: Sequence[tuple[str, Record]], classes: Mapping[str, str], table: dict[Field, dict[str, str]]
) -> None:
    """Over nodes of one class: what most set, and for each other node what it has more (+) and less (-)."""
    lines_of: dict[str, dict[str, Sequence[str]]] = {}
    for name, facts in nodes:
        text = part(facts, "kernel").get("command_line")
        if text is not None:
            lines_of.setdefault(classes[name], {})[name] = _words(str(text))
    for alike, lines in lines_of.items():
        counted = Counter(word for words in lines.values() for word in words)
        usual = sorted(word for word, count in counted.items() if count * 2 > len(lines))
        table[Field("command_line", alike)] = {name: _against(usual, words) for name, words in lines.items()}


def _against(usual: Sequence[str], words: Sequence[str]) -> str:
    if list(words) == list(usual):
        return " ".join(usual) or NOT_SET
    more = [f"+{word}" for word in words if word not in usual]
    return " ".join(more + [f"-{word}" for word in usual if word not in words])


def _words(line: str) -> list[str]:
    """The words of a command line that are not each node's own, sorted, each once."""
    names = {word: word.partition("=")[0] for word in line.split()}
    return sorted(word for word, name in names.items() if name not in _OWN_WORDS and not name.startswith("rd."))


def _add_memory(
    nodes: Sequence[tuple[str, Record]], classes: Mapping[str, str], table: dict[Field, dict[str, str]]
) -> None:
    sizes_of: dict[str, dict[str, int]] = {}
    for name, facts in nodes:
        parts: list[Optional[int]] = [node.get("memory_mib") for node in rows(facts, "numa_nodes")]
        if parts and None not in parts:
            sizes_of.setdefault(classes[name], {})[name] = sum(size for size in parts if size is not None)
    for alike, sizes in sizes_of.items():
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
