# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The PCI part of a model, written down from a tree: root buses, functions in their places, and types for the like."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple, Optional

from ..codec.pci_config import acs_redirects
from ..host.door import Host
from .layout_pci import AER_NAMES, AER_TOTALS, DEVICES
from .reading import hexadecimal, kept, names, natural, number, plain_number, target, text
from .records import BRIDGES, CLASSES, FLAT

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")
_ROOT = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_SHARED = ("id", "subsystem", "class", "revision", "link", "driver", "acs", "aer", "sriov")
"""What functions of one type have in common."""

_PARTS = ("net", "rdma", "nvme", "nvidia", "attributes")
"""What hangs on functions, and may be alike in part."""

_CLASS_NAMES = {number: name for name, number in CLASSES.items()}
_CONFIG_BYTES = 4096


class Found(NamedTuple):
    """``place`` is the real folder, ``above`` the root bus, its folder, and the functions between, outermost first."""

    place: str
    root: str
    root_place: str
    parents: tuple[str, ...]


def find(host: Host) -> dict[str, Found]:
    """Every PCI function of a tree, and those that only their folder above others shows."""
    found: dict[str, Found] = {}
    for address in names(host, DEVICES):
        place = host.resolve(f"{DEVICES}/{address}").value
        if place is None or not _ADDRESS.fullmatch(address):
            continue
        found[address] = _found(address, place)
    for one in list(found.values()):
        for depth, address in enumerate(one.parents):
            if address not in found:
                upper = one.place.partition(f"/{address}/")[0] + f"/{address}"
                found[address] = Found(upper, one.root, one.root_place, one.parents[:depth])
    return found


def _found(address: str, place: str) -> Found:
    parts = place.split("/")
    roots = [index for index, part in enumerate(parts) if _ROOT.fullmatch(part)]
    parents = tuple(parts[roots[-1] + 1 : -1]) if roots else ()
    if not roots or not all(_ADDRESS.fullmatch(parent) for parent in parents) or parts[-1] != address:
        return Found(place, FLAT, "", ())
    return Found(place, parts[roots[-1]], "/".join(parts[: roots[-1]]) or "/", parents)


def section(host: Host, found: dict[str, Found], attributes: dict[str, dict[str, str]]) -> dict[str, Any]:
    """The keys ``types`` and ``pci`` of a model; ``attributes`` are further files by function."""
    functions = {address: _function(host, address, one, found) for address, one in found.items()}
    for address, files in attributes.items():
        functions[address]["attributes"] = dict(sorted(files.items()))
    types, type_of = _types(functions)
    children: dict[Optional[str], list[str]] = {}
    for address in sorted(found, key=lambda name: (len(name), name)):
        one = found[address]
        children.setdefault(one.parents[-1] if one.parents else f" {one.root}", []).append(address)
    pci: dict[str, Any] = {}
    for root in sorted({one.root for one in found.values()}):
        bus: dict[str, Any] = {}
        root_place = next(one.root_place for one in found.values() if one.root == root)
        if root != FLAT and root_place != "/sys/devices":
            bus["place"] = root_place
        nodes = Counter(functions[address].get("numa") for address in children.get(f" {root}", ()))
        numa = nodes.most_common(1)[0][0]
        if numa is not None:
            bus["numa"] = numa
        domain = root[3:].split(":")[0] if root != FLAT else "0000"
        for address in children[f" {root}"]:
            key, value = _entry(address, numa, domain, functions, type_of, children, types)
            bus[key] = value
        pci[root] = bus
    return kept({"types": types or None, "pci": pci or None})


def _entry(
    address: str,
    numa: Optional[int],
    domain: str,
    functions: dict[str, dict[str, Any]],
    type_of: dict[str, str],
    children: dict[Optional[str], list[str]],
    types: dict[str, Any],
) -> tuple[str, dict[str, Any]]:
    """A line of the tree: its key, and what differs from its type and from the NUMA node above."""
    values = dict(functions[address])
    own_numa = values.pop("numa", None)
    kind = type_of.get(address)
    if kind is not None:
        values = {key: value for key, value in values.items() if types[kind].get(key, ...) != value}
    if own_numa != numa:
        values["numa"] = own_numa
    short = address[len(domain) + 1 :] if address.startswith(f"{domain}:") else address
    key = f"{short} {kind}" if kind is not None else short
    below = [
        _entry(child, own_numa, domain, functions, type_of, children, types) for child in children.get(address, ())
    ]
    if len(below) == 1 and not values:
        return f"{key} > {below[0][0]}", below[0][1]
    values.update(below)
    return key, values


def _types(functions: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], dict[str, str]]:
    """Types for functions that share ids and more, named after maker and device."""
    alike: dict[str, list[str]] = {}
    for address, values in functions.items():
        shared = {key: values[key] for key in _SHARED if key in values}
        if "id" in shared:
            alike.setdefault(repr(sorted(shared.items())), []).append(address)
    types: dict[str, Any] = {}
    type_of: dict[str, str] = {}
    for members in alike.values():
        if len(members) < 2:
            continue
        first = functions[members[0]]
        base = first["id"].replace(":", "-")
        name = next(name for name in (base, *(f"{base}.{count}" for count in range(2, 9999))) if name not in types)
        types[name] = {key: first[key] for key in _SHARED if key in first}
        type_of.update(dict.fromkeys(members, name))
        for key in _PARTS:
            _share(types[name], key, [functions[address] for address in members])
    return types, type_of


def _share(base: dict[str, Any], key: str, members: list[dict[str, Any]]) -> None:
    """Move to the type what all its functions say alike under ``key``; a lone name stays as itself."""
    parts = [member.get(key) for member in members]
    if not all(isinstance(part, dict) for part in parts):
        return
    first: dict[str, Any] = parts[0] or {}
    common = {
        name: value
        for name, value in first.items()
        if name != "name" and all(part is not None and part.get(name, ...) == value for part in parts)
    }
    if not common:
        return
    base[key] = common
    for member in members:
        rest = {name: value for name, value in member.pop(key).items() if name not in common}
        if rest:
            member[key] = rest["name"] if set(rest) == {"name"} else rest


def _function(host: Host, address: str, one: Found, found: dict[str, Found]) -> dict[str, Any]:
    place = one.place
    vendor, device = hexadecimal(host, f"{place}/vendor", 4), hexadecimal(host, f"{place}/device", 4)
    sub_vendor, sub_device = (hexadecimal(host, f"{place}/subsystem_{end}", 4) for end in ("vendor", "device"))
    pci_class = hexadecimal(host, f"{place}/class", 6)
    driver = host.link(f"{place}/driver").value or ""
    group = target(host, f"{place}/iommu_group") or ""
    physical = (target(host, f"{place}/physfn") or "").rpartition("/")[2]
    is_bridge = (pci_class or "")[:4] in BRIDGES
    has_below = any(address in other.parents for other in found.values())
    total, configured = plain_number(host, f"{place}/sriov_totalvfs"), plain_number(host, f"{place}/sriov_numvfs")
    config, _reason = host.read_bytes(f"{place}/config", _CONFIG_BYTES)
    return kept(
        {
            "id": f"{vendor}:{device}" if vendor and device else None,
            "subsystem": f"{sub_vendor}:{sub_device}" if sub_vendor and sub_device else None,
            "class": _CLASS_NAMES.get(pci_class or "", pci_class),
            "revision": hexadecimal(host, f"{place}/revision", 2),
            "numa": _numa(host, place),
            "link": _link(host, place),
            "driver": driver.rpartition("/")[2] or None,
            "iommu_group": int(group.rpartition("/")[2])
            if re.fullmatch(r"/sys/kernel/iommu_groups/\d+", group)
            else None,
            "sriov": {"total": total, "configured": configured}
            if total is not None and configured is not None
            else None,
            "vf_of": physical if physical in found else None,
            "aer": _aer(host, place),
            "acs": acs_redirects(config) if config is not None and vendor and device and pci_class else None,
            "empty": True if is_bridge and not has_below else None,
            "net": _net(host, place),
            "rdma": _rdma(host, place),
            "nvme": _nvme(host, place),
            "drm": drm(host, place),
            "accel": accel(host, place),
            "nvidia": _nvidia(host, address),
        }
    )


def _numa(host: Host, place: str) -> Optional[int]:
    numa = number(host, f"{place}/numa_node")
    return numa if numa is not None and -1 <= numa <= 4095 else None


def _link(host: Host, place: str) -> Optional[list[Any]]:
    values: list[Any] = []
    for end in ("current", "max"):
        speed, width = text(host, f"{place}/{end}_link_speed"), number(host, f"{place}/{end}_link_width")
        match = re.match(r"([0-9]+(?:\.[0-9]+)?) GT/s", speed or "")
        if width is None or width < 0 or (match is None and (speed or "").split(" ")[0] != "Unknown"):
            return None
        values += [float(match.group(1)) if match else None, width]
    values = [int(value) if isinstance(value, float) and value == int(value) else value for value in values]
    return values[:2] if values[:2] == values[2:] else values


def _aer(host: Host, place: str) -> Optional[dict[str, dict[str, int]]]:
    found: dict[str, dict[str, int]] = {}
    for severity, rows in AER_NAMES.items():
        content = text(host, f"{place}/aer_dev_{severity}")
        pairs = [line.split() for line in (content or "").splitlines()]
        if not pairs or not all(len(pair) == 2 and pair[1].isascii() and pair[1].isdigit() for pair in pairs):
            return None
        counts = {name: int(count) for name, count in pairs if int(count) and name != AER_TOTALS[severity]}
        if not set(counts) <= set(rows):
            return None
        if counts:
            found[severity] = counts
    return found


def _net(host: Host, place: str) -> Any:
    found: list[Any] = []
    for name in natural(names(host, f"{place}/net")):
        folder = f"{place}/net/{name}"
        found.append(
            {
                "name": name,
                **kept(
                    {
                        "mtu": plain_number(host, f"{folder}/mtu"),
                        "speed_mbps": number(host, f"{folder}/speed"),
                        "state": text(host, f"{folder}/operstate"),
                        "ifindex": plain_number(host, f"{folder}/ifindex"),
                    }
                ),
            }
        )
    return _one_or_all(found)


def _rdma(host: Host, place: str) -> Any:
    verbs = {
        text(host, f"{place}/infiniband_verbs/{name}/ibdev"): int(name[6:])
        for name in names(host, f"{place}/infiniband_verbs")
        if re.fullmatch(r"uverbs\d+", name)
    }
    found: list[Any] = []
    for name in natural(names(host, f"{place}/infiniband")):
        folder = f"{place}/infiniband/{name}"
        ports = [port for port in natural(names(host, f"{folder}/ports")) if port.isascii() and port.isdigit()]
        port = f"{folder}/ports/{ports[0]}" if ports else ""
        found.append(
            {
                "name": name,
                **({} if ports else {"port": None}),
                **kept(
                    {
                        "port": int(ports[0]) if ports and ports[0] != "1" else None,
                        "link_layer": text(host, f"{port}/link_layer"),
                        "state": _after_number(text(host, f"{port}/state")),
                        "rate": text(host, f"{port}/rate"),
                        "node_type": _after_number(text(host, f"{folder}/node_type")),
                        "uverbs": verbs.get(name),
                    }
                ),
            }
        )
    return _one_or_all(found)


def _one_or_all(found: list[Any]) -> Any:
    """Nothing as None, one thing as itself, a thing without details as its bare name."""
    found = [one["name"] if len(one) == 1 else one for one in found]
    return None if not found else found[0] if len(found) == 1 else found


def _after_number(value: Optional[str]) -> Optional[str]:
    match = re.fullmatch(r"\d+: ?(\S+)", value or "")
    return match.group(1) if match else None


def _nvme(host: Host, place: str) -> Optional[dict[str, Any]]:
    found = natural(names(host, f"{place}/nvme"))
    if not found:
        return None
    folder = f"{place}/nvme/{found[0]}"
    return {
        "name": found[0],
        **kept(
            {
                "model": text(host, f"{folder}/model"),
                "serial": text(host, f"{folder}/serial"),
                "firmware": text(host, f"{folder}/firmware_rev"),
                "sectors": plain_number(host, f"{folder}/{found[0]}n1/size"),
            }
        ),
    }


def drm(host: Host, place: str) -> Optional[dict[str, Any]]:
    """The minor numbers of a device in the graphics subsystem."""
    found = natural(names(host, f"{place}/drm"))
    numbers = {
        "card": next((int(name[4:]) for name in found if re.fullmatch(r"card\d+", name)), None),
        "render": next((int(name[7:]) for name in found if re.fullmatch(r"renderD\d+", name)), None),
    }
    return kept(numbers) or None


def accel(host: Host, place: str) -> Optional[int]:
    """The minor number of a device in the compute accelerator subsystem."""
    return next(
        (int(name[5:]) for name in natural(names(host, f"{place}/accel")) if re.fullmatch(r"accel\d+", name)), None
    )


def _nvidia(host: Host, address: str) -> Optional[dict[str, Any]]:
    content = text(host, f"/proc/driver/nvidia/gpus/{address}/information")
    rows = dict(line.partition(":")[::2] for line in (content or "").splitlines())
    values = {name.strip(): value.strip() or None for name, value in rows.items()}
    if not values.get("Model"):
        return None
    minor = values.get("Device Minor") or ""
    return kept(
        {
            "model": values["Model"],
            "uuid": values.get("GPU UUID"),
            "minor": int(minor) if minor.isascii() and minor.isdigit() else None,
            "video_bios": values.get("Video BIOS"),
            "firmware": values.get("GPU Firmware"),
        }
    )
