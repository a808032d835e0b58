# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The strict reader of a machine model.

``parse`` takes what a YAML reader made of a model and returns a Machine, or raises an InputError that names the
model, the place in it, and what was expected. The keys are described in docs/machine-models.md. Two mappings that
mean the same machine give equal records, however they are abbreviated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Optional, Union

from ..model.errors import InputError
from .records import (
    CLASSES,
    FLAT,
    GROUPS,
    USERS,
    Bond,
    DeviceFile,
    Drm,
    Function,
    Heading,
    Kernel,
    Kfd,
    KfdLink,
    KfdNode,
    Link,
    Machine,
    Module,
    ModuleFile,
    Netdev,
    Numa,
    Nvidia,
    Nvme,
    Platform,
    Rdma,
    Root,
    Security,
    Source,
    Vlan,
)

_ADDRESS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([01][0-9a-f])\.([0-7])(?: ([a-z0-9][a-z0-9_.-]*))?")
_ROOT = re.compile(r"pci([0-9a-f]{4,8}):([0-9a-f]{2})")
_IDS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_KEYS = "https://github.com/accelerator-ops/accelerator.ops/blob/main/docs/machine-models.md"

_FUNCTION_KEYS_TEXT = (
    "id subsystem class revision numa link driver iommu_group sriov vf_of aer acs empty "
    "net rdma nvme drm accel nvidia attributes"
)
_FUNCTION_KEYS = _FUNCTION_KEYS_TEXT.split()
_SEVERITIES = ("correctable", "nonfatal", "fatal")


def cpu_list(text: str) -> tuple[int, ...]:
    """The CPUs of a list as the kernel writes it (``0-3,8``), sorted; ValueError for any other text."""
    cpus: set[int] = set()
    for part in text.split(",") if text.strip() else ():
        first, dash, last = part.strip().partition("-")
        low, high = int(first), int(last if dash else first)
        if high < low or high > 65535:
            raise ValueError(text)
        cpus.update(range(low, high + 1))
    return tuple(sorted(cpus))


def parse(mapping: Any) -> Machine:
    """The machine that a model's mapping describes. Raises InputError with one line for anything unclear."""
    if not isinstance(mapping, Mapping):
        raise _error("", "the model", "is no mapping", "keys and values", f"see {_KEYS}")
    name = mapping.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _error("", "name", f"is {name!r}", "a name of letters, digits and .-_+", "give the model a name")
    top = _Map(name, "", mapping)
    top.only(
        "name title sources notes threads_per_core numa types pci platform bonds vlans kfd nvidia_version kernel "
        "security users groups udev device_files files symlinks folders absent"
    )
    numa = _numa(top)
    roots, functions = _pci(top)
    _numa_known(top, numa, functions)
    platform = tuple(_platform(item) for item in top.maps("platform", named=True))
    bonds, vlans = _virtual_net(top, functions)
    groups = {**GROUPS, **_numbers(top, "groups")}
    users = {**USERS, **_numbers(top, "users")}
    machine = Machine(
        heading=_heading(top),
        threads_per_core=top.number("threads_per_core"),
        numa=numa,
        roots=roots,
        functions=functions,
        platform=platform,
        bonds=bonds,
        vlans=vlans,
        kfd=_kfd(top, functions),
        nvidia_version=_without_line_end(top.text("nvidia_version")),
        kernel=_kernel(top),
        security=_security(top),
        users=users,
        groups=groups,
        is_udev=top.flag("udev") is not False,
        device_files={
            path: _device_file(top, path, value, users, groups) for path, value in top.paths("device_files").items()
        },
        files={path: _content(top, path, value) for path, value in top.paths("files").items()},
        symlinks=top.texts("symlinks"),
        folders=top.strings("folders"),
        absent=top.strings("absent"),
    )
    for key in ("symlinks", "folders", "absent"):
        for path in getattr(machine, key):
            top.check_path(key, path)
    return machine


def _error(model: str, where: str, found: str, expected: str, next_step: str) -> InputError:
    subject = f"model {model}" if model else "model"
    return InputError("read", subject, f"{where} {found}", expected, next_step, {"model": model, "place": where})


class _Map:
    """A mapping of a model together with its place, so that every complaint can name it."""

    def __init__(self, model: str, where: str, values: Any) -> None:
        self.model = model
        self.where = where
        if not isinstance(values, Mapping):
            raise _error(model, where, f"is {values!r}", "a mapping", "write it as {key: value}")
        self.values: Mapping[Any, Any] = values
        for key in values:
            if not isinstance(key, str):
                self.fail(
                    "",
                    f"has the key {key!r}, which YAML does not read as text",
                    "a name",
                    'put it in quotes, as in "0000:16:01.0" or "2048"',
                )

    def at(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where and key else self.where or key

    def fail(self, key: str, found: str, expected: str, next_step: str) -> NoReturn:
        raise _error(self.model, self.at(key), found, expected, next_step)

    def only(self, keys: str) -> None:
        for key in self.values:
            if key not in keys.split():
                self.fail(key, "is not a known key", f"one of {', '.join(keys.split())}", "correct or remove it")

    def text(self, key: str) -> Optional[str]:
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.fail(key, f"is {value!r}, which YAML does not read as text", "a text", f'write {key}: "..." in quotes')
        return str(value)

    def need(self, key: str) -> str:
        value = self.text(key)
        if not value:
            self.fail(key, "is missing", "a text", f"add {key}")
        return str(value)

    def number(self, key: str, low: int = 0, high: int = 2**64) -> Optional[int]:
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fail(key, f"is {value!r}", f"a whole number from {low}", "correct it")
        return int(value)

    def flag(self, key: str) -> Optional[bool]:
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            self.fail(key, f"is {value!r}", "true or false", "correct it")
        return None if value is None else bool(value)

    def listing(self, key: str) -> Sequence[Any]:
        value = self.values.get(key)
        if value is None:
            return ()
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            self.fail(key, f"is {value!r}", "a list", "write it as [first, second]")
        return tuple(value)

    def strings(self, key: str) -> tuple[str, ...]:
        for value in self.listing(key):
            if not isinstance(value, str):
                self.fail(key, f"holds {value!r}, which YAML does not read as text", "texts", "put it in quotes")
        return tuple(self.listing(key))

    def inner(self, key: str) -> _Map:
        value = self.values.get(key)
        return _Map(self.model, self.at(key), {} if value is None else value)

    def maps(self, key: str, named: bool = False) -> list[_Map]:
        """The mappings of a list, or (``named``) of a mapping whose keys are their names."""
        if not named:
            return [_Map(self.model, self.at(f"{key}[{n}]"), item) for n, item in enumerate(self.listing(key))]
        inner = self.inner(key)
        return [
            _Map(self.model, inner.at(name), {"name": name, **_Map(self.model, inner.at(name), value or {}).values})
            for name, value in inner.values.items()
        ]

    def texts(self, key: str) -> dict[str, str]:
        inner = self.inner(key)
        return {name: _without_line_end(inner.text(name)) or "" for name in sorted(inner.values)}

    def paths(self, key: str) -> dict[str, Any]:
        inner = self.inner(key)
        for path in inner.values:
            inner.check_path("", path)
        return {path: inner.values[path] for path in sorted(inner.values)}

    def check_path(self, key: str, path: str) -> None:
        if not path.startswith("/") or ".." in path.split("/") or path.endswith("/") or "//" in path or "\0" in path:
            self.fail(key, f"holds the path {path!r}", "an absolute path without .. in it", "correct it")


def _without_line_end(value: Optional[str]) -> Optional[str]:
    """A text block of YAML ends with a line end that the same text on one line does not have."""
    return value[:-1] if value is not None and value.endswith("\n") else value


def _numbers(top: _Map, key: str) -> dict[str, int]:
    inner = top.inner(key)
    return {name: inner.number(name, 0, 2**32 - 2) or 0 for name in sorted(inner.values)}


def _heading(top: _Map) -> Heading:
    sources = []
    for item in top.maps("sources"):
        item.only("what url date")
        sources.append(Source(item.need("what"), item.need("url"), item.need("date")))
    return Heading(top.need("name"), top.text("title") or "", tuple(sources), top.text("notes") or "")


def _numa(top: _Map) -> tuple[Numa, ...]:
    nodes: list[Numa] = []
    owner: dict[int, int] = {}
    for number, item in enumerate(top.maps("numa")):
        item.only("node socket cpus memory_mib distances hugepages")
        node = item.number("node", 0, 4095)
        node = number if node is None else node
        if any(node == other.node for other in nodes):
            item.fail("node", f"{node} is there twice", "one entry for each node", "remove one")
        try:
            cpus = cpu_list(item.text("cpus") or "")
        except ValueError:
            item.fail("cpus", f"is {item.text('cpus')!r}", 'a list such as "0-3,8"', "correct it")
        for cpu in cpus:
            if cpu in owner:
                item.fail("cpus", f"holds CPU {cpu}, which node {owner[cpu]} has too", "each CPU once", "correct one")
            owner[cpu] = node
        hugepages = {}
        pages = item.inner("hugepages")
        for size in pages.values:
            counts = pages.listing(size)
            if not size.isdigit() or len(counts) != 2 or not all(isinstance(count, int) for count in counts):
                pages.fail(size, f"is {pages.values[size]!r}", "a size in KiB with [total, free]", "correct it")
            hugepages[int(size)] = (int(counts[0]), int(counts[1]))
        distances = item.listing("distances")
        if any(not isinstance(distance, int) or isinstance(distance, bool) for distance in distances):
            item.fail("distances", f"is {list(distances)!r}", "whole numbers", "correct it")
        socket = item.number("socket")
        nodes.append(
            Numa(
                node,
                node if socket is None else socket,
                cpus,
                item.number("memory_mib"),
                tuple(distances) or None,
                dict(sorted(hugepages.items())),
            )
        )
    for index, entry in enumerate(nodes):
        if entry.distances is not None and len(entry.distances) != len(nodes):
            top.fail(
                f"numa[{index}].distances",
                f"has {len(entry.distances)} values",
                f"{len(nodes)}, one per node",
                "correct it",
            )
    return tuple(sorted(nodes))


def _numa_known(top: _Map, numa: tuple[Numa, ...], functions: tuple[Function, ...]) -> None:
    known = {entry.node for entry in numa}
    for function in functions:
        if known and function.numa not in (None, -1) and function.numa not in known:
            top.fail(
                f"pci {function.address}.numa",
                f"is {function.numa}",
                f"-1 or one of {', '.join(str(node) for node in sorted(known))}",
                "correct it, or add the node",
            )


def _pci(top: _Map) -> tuple[tuple[Root, ...], tuple[Function, ...]]:
    types = {item.need("name"): item for item in top.maps("types", named=True)}
    for item in types.values():
        for key in item.values:
            if key not in ("name", *_FUNCTION_KEYS):
                item.fail(key, "is not a known key", f"one of {', '.join(_FUNCTION_KEYS)}", "correct or remove it")
    functions: dict[str, Function] = {}
    roots = []
    tree = top.inner("pci")
    for name in tree.values:
        bus = _Map(top.model, tree.at(name), tree.values[name] or {})
        match = _ROOT.fullmatch(name)
        if match is None and name != FLAT:
            tree.fail(name, "is no root bus", "a name such as pci0000:16", "correct it")
        place = bus.text("place") or "/sys/devices"
        bus.check_path("place", place)
        roots.append(Root(name, place))
        numa = bus.number("numa", -1, 4095)
        domain = match.group(1) if match else "0000"
        for key in bus.values:
            if key not in ("numa", "place"):
                _function(bus, key, domain, name, None, numa, types, functions)
    _cross_check(top, functions)
    return tuple(sorted(roots)), tuple(sorted(functions.values(), key=lambda one: (len(one.address), one.address)))


def _function(
    above: _Map,
    key: str,
    domain: str,
    root: str,
    parent: Optional[str],
    numa: Optional[int],
    types: dict[str, _Map],
    functions: dict[str, Function],
) -> None:
    first, chain, rest = key.partition(" > ")
    match = _address(above, key)
    address = f"{match.group(1) or domain}:{match.group(2)}:{match.group(3)}.{match.group(4)}"
    given = _Map(above.model, above.at(first), {rest: above.values[key]} if chain else above.values[key] or {})
    if address in functions:
        given.fail("", "is there twice", "each PCI address once", f"remove one of the two entries of {address}")
    children = [name for name in given.values if name not in _FUNCTION_KEYS]
    for name in children:
        _address(given, name)
    own = {name: value for name, value in given.values.items() if name in _FUNCTION_KEYS}
    if match.group(5) is not None:
        if match.group(5) not in types:
            given.fail(
                "", f"has the type {match.group(5)}", "a type that stands under types", "add the type or correct it"
            )
        own = _merged({name: value for name, value in types[match.group(5)].values.items() if name != "name"}, own)
    item = _Map(above.model, given.where, own)
    function = _read_function(item, address, root, parent, numa)
    functions[address] = function
    if function.is_bridge and not children and not item.flag("empty"):
        given.fail(
            "", "is a bridge that leads nowhere", "functions behind it", "list them, or say empty: true for a free slot"
        )
    if children and function.pci_class is not None and not function.is_bridge:
        given.fail(
            children[0], f"stands behind {address}, which is no bridge", "a bridge above it", "correct the class"
        )
    if children and item.flag("empty"):
        given.fail("empty", "is true, yet functions stand behind it", "one of both", "remove one")
    buses = set()
    for name in children:
        _function(given, name, domain, root, address, function.numa, types, functions)
        buses.add(name.split(" ")[0].split(":")[-2])
    if len(buses) > 1 and root != FLAT:
        given.fail(
            "", f"leads to the buses {', '.join(sorted(buses))}", "one bus behind a bridge", "correct the addresses"
        )


def _address(above: _Map, key: str) -> re.Match[str]:
    match = _ADDRESS.fullmatch(key.partition(" > ")[0])
    if match is None:
        form = 'an address with its type, as in "16:01.0 port"'
        return above.fail(key, "is neither a known key nor a PCI address", form, "correct it")
    return match


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A line over its type, key by key; where the type has a mapping, a bare value on the line is its name."""
    result = dict(base)
    for key, value in own.items():
        below = base.get(key)
        if isinstance(below, Mapping):
            if isinstance(value, list):
                value = [_merged(below, item if isinstance(item, Mapping) else {"name": item}) for item in value]
            elif isinstance(value, Mapping):
                value = _merged(below, value)
            elif value is not None:
                value = _merged(below, {"name": value})
        result[key] = value
    return result


def _several(item: _Map, key: str) -> list[_Map]:
    """The things under ``key``: a name, a mapping, or a list of both. A type's mapping without a name is none."""
    value = item.values.get(key)
    if value is None:
        return []
    values = value if isinstance(value, list) else [value]
    found = []
    for number, entry in enumerate(values):
        where = item.at(f"{key}[{number}]" if len(values) > 1 else key)
        one = _Map(item.model, where, entry if isinstance(entry, Mapping) else {"name": entry})
        if "name" in one.values:
            found.append(one)
    return found


def _read_function(item: _Map, address: str, root: str, parent: Optional[str], numa: Optional[int]) -> Function:
    ids = item.text("id")
    if ids is not None and not _IDS.fullmatch(ids):
        item.fail("id", f"is {ids!r}", 'vendor and device in lower-case hex, as in "10de:2330"', "correct it")
    subsystem = item.text("subsystem")
    if subsystem is not None and not _IDS.fullmatch(subsystem):
        item.fail(
            "subsystem", f"is {subsystem!r}", 'four digits, a colon, four digits, as in "10de:16c1"', "correct it"
        )
    pci_class = item.text("class")
    if pci_class is not None:
        pci_class = CLASSES.get(pci_class, pci_class)
        if not re.fullmatch(r"[0-9a-f]{6}", pci_class):
            item.fail("class", f"is {pci_class!r}", 'six hex digits in quotes or a name such as "3d"', "correct it")
    revision = item.text("revision")
    if revision is not None and not re.fullmatch(r"[0-9a-f]{2}", revision):
        item.fail("revision", f"is {revision!r}", 'two lower-case hex digits in quotes, as in "a1"', "correct it")
    sriov = None
    if item.values.get("sriov") is not None:
        counts = item.inner("sriov")
        counts.only("total configured")
        sriov = (counts.number("total") or 0, counts.number("configured") or 0)
    vf_of = item.text("vf_of")
    nvme = next((_nvme(one) for one in _several(item, "nvme")), None)
    return Function(
        address=address,
        root=root,
        parent=parent,
        vendor=ids[:4] if ids else None,
        device=ids[5:] if ids else None,
        subsystem=(subsystem[:4], subsystem[5:]) if subsystem else None,
        pci_class=pci_class,
        revision=revision,
        numa=item.number("numa", -1, 4095) if "numa" in item.values else numa,
        link=_link(item),
        driver=item.text("driver"),
        iommu_group=item.number("iommu_group"),
        sriov=sriov,
        vf_of=full_address(vf_of, address) if vf_of else None,
        aer=_aer(item),
        acs=item.flag("acs"),
        net=tuple(_netdev(one) for one in _several(item, "net")),
        rdma=tuple(_rdma(one) for one in _several(item, "rdma")),
        nvme=nvme,
        drm=_drm(item),
        accel=item.number("accel"),
        nvidia=_nvidia(item),
        attributes=item.texts("attributes"),
    )


def full_address(short: str, beside: str) -> str:
    """An address with its domain; a short one has the domain of the function beside it."""
    return short if short.count(":") == 2 else f"{beside.split(':')[0]}:{short}"


def _link(item: _Map) -> Optional[Link]:
    values = item.listing("link")
    if not values:
        return None
    expected = "[speed, width] or [speed, width, max speed, max width], speeds in GT/s or null"
    if len(values) not in (2, 4):
        item.fail("link", f"is {list(values)!r}", expected, "correct it")
    for number, value in enumerate(values):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not (is_number or (value is None and number % 2 == 0)) or (number % 2 and not isinstance(value, int)):
            item.fail("link", f"is {list(values)!r}", expected, "correct it")
    speeds = [None if value is None else float(value) for value in values[::2]]
    return Link(speeds[0], int(values[1]), speeds[-1], int(values[-1]))


def _aer(item: _Map) -> Optional[dict[str, dict[str, int]]]:
    if item.values.get("aer") is None:
        return None
    inner = item.inner("aer")
    inner.only(" ".join(_SEVERITIES))
    result: dict[str, dict[str, int]] = {}
    for severity in _SEVERITIES:
        counts = inner.inner(severity)
        result[severity] = {name: count for name in sorted(counts.values) if (count := counts.number(name) or 0)}
    return result


def _netdev(item: _Map) -> Netdev:
    item.only("name mtu speed_mbps state ifindex")
    return Netdev(
        _checked_name(item),
        item.number("mtu"),
        item.number("speed_mbps", -1),
        item.text("state"),
        item.number("ifindex"),
    )


def _rdma(item: _Map) -> Rdma:
    item.only("name port link_layer state rate node_type uverbs")
    port = item.number("port", 1, 255)
    return Rdma(
        _checked_name(item),
        1 if "port" not in item.values else port,
        item.text("link_layer"),
        item.text("state"),
        item.text("rate"),
        item.text("node_type"),
        item.number("uverbs"),
    )


def _nvme(item: _Map) -> Nvme:
    item.only("name model serial firmware sectors")
    return Nvme(
        _checked_name(item), item.text("model"), item.text("serial"), item.text("firmware"), item.number("sectors")
    )


def _checked_name(item: _Map) -> str:
    name = item.need("name")
    if "/" in name or name in (".", ".."):
        item.fail("name", f"is {name!r}", "a name without a slash", "correct it")
    return name


def _drm(item: _Map) -> Optional[Drm]:
    if item.values.get("drm") is None:
        return None
    inner = item.inner("drm")
    inner.only("card render")
    return Drm(inner.number("card"), inner.number("render"))


def _nvidia(item: _Map) -> Optional[Nvidia]:
    if item.values.get("nvidia") is None:
        return None
    inner = item.inner("nvidia")
    inner.only("model uuid minor video_bios firmware")
    return Nvidia(
        inner.need("model"), inner.text("uuid"), inner.number("minor"), inner.text("video_bios"), inner.text("firmware")
    )


def _cross_check(top: _Map, functions: dict[str, Function]) -> None:
    seen: dict[str, str] = {}
    for function in functions.values():
        where = f"pci {function.address}"
        if function.vf_of is not None and function.vf_of not in functions:
            top.fail(f"{where}.vf_of", f"is {function.vf_of}", "a function of this machine", "correct it")
        names = [f"net {one.name}" for one in function.net] + [f"rdma {one.name}" for one in function.rdma]
        names += [f"nvme {function.nvme.name}"] if function.nvme else []
        if function.drm is not None:
            names += [f"drm card {function.drm.card}"] if function.drm.card is not None else []
            names += [f"drm render {function.drm.render}"] if function.drm.render is not None else []
        names += [f"accel {function.accel}"] if function.accel is not None else []
        if function.nvidia is not None and function.nvidia.minor is not None:
            names.append(f"nvidia minor {function.nvidia.minor}")
        for name in names:
            if name in seen:
                top.fail(where, f"has {name}, which {seen[name]} has too", "each name once", "correct one of them")
            seen[name] = function.address


def _platform(item: _Map) -> Platform:
    item.only("name driver drm accel attributes")
    return Platform(
        _checked_name(item), item.text("driver"), _drm(item), item.number("accel"), item.texts("attributes")
    )


def _virtual_net(top: _Map, functions: tuple[Function, ...]) -> tuple[tuple[Bond, ...], tuple[Vlan, ...]]:
    known = {netdev.name for function in functions for netdev in function.net}
    bonds = []
    for item in top.maps("bonds", named=True):
        item.only("name mode members mtu speed_mbps state ifindex")
        members = item.strings("members")
        for member in members:
            if member not in known:
                item.fail("members", f"holds {member}", "network interfaces of this machine", "correct it")
        bonds.append(
            Bond(
                _checked_name(item),
                item.need("mode"),
                tuple(sorted(members)),
                item.number("mtu"),
                item.number("speed_mbps", -1),
                item.text("state"),
                item.number("ifindex"),
            )
        )
    known |= {bond.name for bond in bonds}
    vlans = []
    for item in top.maps("vlans", named=True):
        item.only("name parent id mtu ifindex")
        parent = item.need("parent")
        if parent not in known:
            item.fail("parent", f"is {parent}", "a network interface of this machine", "correct it")
        number = item.number("id", 1, 4094)
        if number is None:
            item.fail("id", "is missing", "the VLAN's number", "add id")
        vlans.append(Vlan(_checked_name(item), parent, int(number), item.number("mtu"), item.number("ifindex")))
    return tuple(sorted(bonds)), tuple(sorted(vlans))


def _kfd(top: _Map, functions: tuple[Function, ...]) -> Optional[Kfd]:
    if top.values.get("kfd") is None:
        return None
    kfd = top.inner("kfd")
    kfd.only("common memory nodes links major")
    common = _properties(kfd.inner("common"), ())
    banks = kfd.maps("memory")
    by_address = {function.address: function for function in functions}
    nodes = []
    for item in kfd.maps("nodes"):
        device = item.text("device")
        gpu_id = item.number("gpu_id") or 0
        is_gpu = gpu_id != 0 or device is not None
        properties = dict(common) if is_gpu else {}
        if device is not None:
            function = by_address.get(full_address(device, "0000"))
            if function is None:
                item.fail("device", f"is {device}", "a function of this machine", "correct it")
            properties.update(of_function(function))
        properties.update(_properties(item, ("device", "gpu_id", "memory")))
        own = item.maps("memory") or (banks if is_gpu else [])
        memory = tuple(_properties(bank, ()) for bank in own)
        nodes.append(KfdNode(gpu_id, dict(sorted(properties.items())), memory))
    links: dict[tuple[int, int, bool], KfdLink] = {}
    for item in kfd.maps("links"):
        for link in _kfd_links(item, len(nodes)):
            if link[:3] in links:
                item.fail(
                    "", f"gives the link {link.node_from} to {link.node_to} twice", "each link once", "correct it"
                )
            links[link[:3]] = link
    return Kfd(tuple(nodes), tuple(links[key] for key in sorted(links)), kfd.number("major"))


def of_function(function: Function) -> dict[str, int]:
    """The properties of a compute node that follow from its PCI function."""
    domain, bus, rest = function.address.split(":")
    slot, number = rest.split(".")
    properties = {
        "domain": int(domain, 16),
        "location_id": int(bus, 16) << 8 | int(slot, 16) << 3 | int(number),
    }
    if function.vendor and function.device:
        properties.update(vendor_id=int(function.vendor, 16), device_id=int(function.device, 16))
    if function.drm is not None and function.drm.render is not None:
        properties["drm_render_minor"] = function.drm.render
    return properties


def _properties(item: _Map, without: tuple[str, ...]) -> dict[str, int]:
    return {key: item.number(key) or 0 for key in sorted(item.values) if key not in without}


def _kfd_links(item: _Map, count: int) -> list[KfdLink]:
    forms = [form for form in ("mesh", "pairs", "directed") if form in item.values]
    if len(forms) != 1:
        item.fail("", f"has {', '.join(forms) or 'none'}", "one of mesh, pairs, directed", "say which nodes are linked")
    members = item.listing(forms[0])
    if forms[0] == "mesh":
        sets = [member if isinstance(member, list) else [member] for member in members]
        every = [node for one in sets for node in one]
        if any(every.count(node) > 1 for node in every):
            item.fail("mesh", "holds a node twice", "each node once", "correct it")
        pairs = [
            (one, other) for left in sets for right in sets if left is not right for one in left for other in right
        ]
    else:
        if any(not isinstance(pair, list) or len(pair) != 2 for pair in members):
            item.fail(forms[0], "holds something else than [from, to]", "pairs of node numbers", "correct it")
        pairs = [(pair[0], pair[1]) for pair in members]
        pairs += [(pair[1], pair[0]) for pair in members] if forms[0] == "pairs" else []
    for pair in pairs:
        for node in pair:
            if isinstance(node, bool) or not isinstance(node, int) or not 0 <= node < count:
                item.fail(forms[0], f"links to node {node!r}", f"one of the {count} nodes", "correct it")
    properties = _properties(item, ("mesh", "pairs", "directed", "p2p"))
    properties = {name: value for name, value in properties.items() if value}
    return [KfdLink(one, other, item.flag("p2p") or False, properties) for one, other in pairs]


def _kernel(top: _Map) -> Kernel:
    kernel = top.inner("kernel")
    kernel.only("release next_boot command_line taint cgroup modules disk releases")
    modules = None
    if kernel.values.get("modules") is not None:
        loaded = []
        inner = kernel.inner("modules")
        for name in inner.values:
            value = inner.values[name]
            item = _Map(top.model, inner.at(name), value if isinstance(value, Mapping) else {"version": value})
            item.only("version size used_by taint")
            size = item.number("size")
            loaded.append(
                Module(
                    name, item.text("version"), size or 16384, tuple(item.strings("used_by")), item.text("taint") or ""
                )
            )
        modules = tuple(sorted(loaded))
    disk = []
    releases = kernel.inner("disk")
    for release in releases.values:
        folder = releases.inner(release)
        for path in folder.values:
            if path.startswith("/") or ".." in path or not re.search(r"\.ko(\.gz|\.xz)?$", path):
                folder.fail(path, "is no module's path", "a path that ends in .ko, .ko.gz or .ko.xz", "correct it")
            value = folder.values[path]
            item = _Map(top.model, folder.at(path), value if isinstance(value, Mapping) else {"version": value})
            item.only("version signer")
            disk.append(ModuleFile(release, path, item.text("version"), item.text("signer")))
    cgroup = kernel.number("cgroup", 1, 2)
    release_names = set(kernel.strings("releases")) | set(releases.values)
    return Kernel(
        kernel.text("release"),
        kernel.text("next_boot"),
        kernel.text("command_line"),
        kernel.number("taint"),
        cgroup,
        modules,
        tuple(sorted(disk, key=lambda entry: entry[:2])),
        tuple(sorted(release_names)),
    )


def _security(top: _Map) -> Security:
    item = top.inner("security")
    item.only("secure_boot lockdown signatures_enforced")
    lockdown = item.text("lockdown")
    if lockdown not in (None, "none", "integrity", "confidentiality"):
        item.fail("lockdown", f"is {lockdown!r}", "none, integrity or confidentiality", "correct it")
    return Security(item.flag("secure_boot"), lockdown, item.flag("signatures_enforced"))


def _device_file(top: _Map, path: str, value: Any, users: dict[str, int], groups: dict[str, int]) -> DeviceFile:
    where = f"device_files.{path}"
    parts = value.split() if isinstance(value, str) else []
    form = 'a text "char 195 0 0666 root root"'
    if (
        len(parts) != 6
        or parts[0] not in ("char", "block")
        or not all(part.isdigit() for part in parts[1:3])
        or not re.fullmatch(r"[0-7]{4}", parts[3])
    ):
        top.fail(where, f"is {value!r}", form, "give kind, major, minor, mode, owner and group")
    if not (parts[4] in users or parts[4].isdigit()) or not (parts[5] in groups or parts[5].isdigit()):
        top.fail(
            where, f"is owned by {parts[4]}:{parts[5]}", "a user and a group of the model", "add it to users or groups"
        )
    return DeviceFile(parts[0], int(parts[1]), int(parts[2]), int(parts[3], 8), parts[4], parts[5])


def _content(top: _Map, path: str, value: Any) -> Union[str, bytes]:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return _without_line_end(value) or ""
    return top.fail(f"files.{path}", f"is {value!r}, which YAML does not read as text", "a text", "put it in quotes")
