# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCI functions and what sysfs says of each, whatever it is: place in the tree, ids, NUMA, link, driver."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Optional

from ...codec import sysfs
from ...codec.pci_config import acs_redirects
from ...host.door import Host
from ...model.answer import MISSING, Answer, Book
from ...model.pci import Function

DEVICES = "/sys/bus/pci/devices"

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_ROOT_BUS = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}\Z")
_IDENTITY = (
    ("vendor_id", "vendor", sysfs.id4),
    ("device_id", "device", sysfs.id4),
    ("subsystem_vendor_id", "subsystem_vendor", sysfs.id4),
    ("subsystem_id", "subsystem_device", sysfs.id4),
    ("class", "class", sysfs.id6),
    ("revision", "revision", sysfs.id2),
)
_LINK = (
    ("speed_gts", "current_link_speed", sysfs.link_speed_gts),
    ("width", "current_link_width", sysfs.link_width),
    ("max_speed_gts", "max_link_speed", sysfs.link_speed_gts),
    ("max_width", "max_link_width", sysfs.link_width),
)
NO_TREE = "the PCI tree is not in this root"
NO_CLASS = "its class could not be read, so it may be one"
NO_LINK = "no link is up, or the port does not say"


class Functions(dict[str, Function]):
    """PCI functions by address, and what the links of bridges can do once it was read: a bridge is above many."""

    def __init__(self) -> None:
        super().__init__()
        self.limits: dict[str, dict[str, Any]] = {}


def functions(host: Host) -> tuple[Functions | None, str | None]:
    """Every PCI function by its address, in the order of the addresses; None and the reason when sysfs has none."""
    names = host.list(DEVICES)
    if names.value is None:
        return None, f"{DEVICES} {names.reason}"
    found = Functions()
    for name in sorted(names.value, key=_order):
        place = host.resolve(f"{DEVICES}/{name}").value
        if _ADDRESS.match(name) and place is not None:
            found[name] = _function(host, name, place)
    return found, None


def _order(address: str) -> tuple[int, str]:
    """Wider domains (10000:…) after the ordinary ones."""
    return len(address), address


def _function(host: Host, address: str, place: str) -> Function:
    parts = place.split("/")
    root, bridges = None, None
    roots = [number for number, part in enumerate(parts) if _ROOT_BUS.match(part)]
    if roots:
        root = parts[roots[-1]]
        bridges = tuple(part for part in parts[roots[-1] + 1 : -1] if _ADDRESS.match(part))
    return Function(
        address,
        place,
        root,
        bridges,
        _parsed(host.read(f"{place}/vendor"), sysfs.id4),
        _parsed(host.read(f"{place}/device"), sysfs.id4),
        _parsed(host.read(f"{place}/class"), sysfs.id6),
    )


def owned(
    host: Host,
    folder: str,
    names: Iterable[str],
    functions: Mapping[str, Function],
    section: str,
    unknown: dict[str, str],
) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """The places of the ``names`` in a class folder: under the PCI function above each, and those below none.

    One whose links cannot be followed is in neither, and is told of as ``<section>.<name>``.
    """
    of: dict[str, dict[str, str]] = {}
    elsewhere: dict[str, str] = {}
    for name in names:
        place = host.resolve(f"{folder}/{name}")
        if place.value is None:
            if place.reason != MISSING:  # what is gone between listing and reading was removed
                unknown[f"{section}.{name}"] = place.reason or MISSING
            continue
        above = owner(place.value, functions)
        if above is None and not place.value.startswith("/sys/devices/virtual/"):
            # A captured tree may have plain folders in place of the links, each with a link to its device.
            above = owner(host.resolve(f"{place.value}/device").value or "", functions)
        if above is None:
            elsewhere[name] = place.value
        else:
            of.setdefault(above, {})[name] = place.value
    return of, elsewhere


def owner(place: str, known: Mapping[str, Function]) -> Optional[str]:
    """The innermost PCI function in a path."""
    return next((part for part in reversed(place.split("/")) if part in known), None)


def _parsed(answer: Answer, parse: Any) -> Optional[str]:
    try:
        return None if answer.value is None else str(parse(answer.value))
    except ValueError:
        return None


def shared_fields(host: Host, function: Function, known: Mapping[str, Function], book: Book) -> dict[str, Any]:
    """What a device, NIC or SSD on PCI has in common: ``numa_node cpus pci path link sriov driver``."""
    place = function.place
    if function.bridges is None:
        book.miss("path", NO_TREE)
    return {
        "numa_node": numa_node(host, function, book),
        "cpus": book.take("cpus", _cpus(host, place), sysfs.cpulist),
        "pci": identity(host, function, book),
        "path": None if function.bridges is None else list(function.bridges),
        "link": link(host, function, known, book),
        "sriov": sriov(host, place, book),
        "driver": driver(host, place, book),
    }


def _cpus(host: Host, place: str) -> Answer:
    mask = host.read(f"{place}/local_cpus")
    if mask.value is None:
        answer = host.read(f"{place}/local_cpulist")
        return Answer(None, "platform reports none") if answer.value == "" else answer
    try:
        numbers = sysfs.cpus_of_mask(mask.value)
    except ValueError:
        return Answer(None, f"unexpected content {mask.value[:40]!r}")
    return Answer(sysfs.list_of_cpus(numbers), None) if numbers else Answer(None, "platform reports none")


def numa_node(host: Host, function: Function, book: Book) -> int | None:
    """The NUMA node, or None: ``-1`` means that the firmware did not say."""
    answer = host.read(f"{function.place}/numa_node")
    if answer.value == "-1":
        answer = Answer(None, "platform reports none")
    return book.take("numa_node", answer, sysfs.integer)


def identity(host: Host, function: Function, book: Book) -> dict[str, Any]:
    """Vendor, device, subsystem, class and revision."""
    told = {"vendor_id": function.vendor_id, "device_id": function.device_id, "class": function.pci_class}
    return {
        # What is None is read once more, for the reason.
        key: told.get(key) or book.take(f"pci.{key}", host.read(f"{function.place}/{file}"), parse)
        for key, file, parse in _IDENTITY
    }


def own_ports(function: Function, known: Mapping[str, Function]) -> tuple[str, ...]:
    """The ports of the card's own switch above a function, innermost first.

    A card whose maker puts a switch on it shows the slot's link at that switch, not at the function
    (Intel Arc, Flex and Max, AMD Radeon and Instinct: their function reads 2.5 GT/s x1 or a link that is inside the
    card). Such ports have the maker's own vendor id and are not at the root, where the processor's ports are.
    """
    own: list[str] = []
    for address in reversed((function.bridges or ())[1:]):
        port = known.get(address)
        if port is None or port.vendor_id is None or port.vendor_id != function.vendor_id:
            break
        own.append(address)
    return tuple(own) if len(own) >= 2 else ()


def link(host: Host, function: Function, known: Mapping[str, Function], book: Book) -> dict[str, Any]:
    """The link that enters the card: its state, what the card can do, and which bridge above limits it."""
    ports = own_ports(function, known)
    entry = known[ports[-1]] if ports else function
    seen = _link(host, entry.place, book)
    above = [known[address] for address in (function.bridges or ()) if address in known and address not in ports]
    return {**seen, "limited_by": _limit(host, above, seen["max_speed_gts"], seen["max_width"], known, book)}


def _link(host: Host, place: str, book: Book, *, only_limits: bool = False) -> dict[str, Any]:
    """What a link is and can do; ``Unknown``, 0 and 255 are the kernel's words for none."""
    seen = {}
    for key, file, parse in _LINK[2:] if only_limits else _LINK:
        answer = host.read(f"{place}/{file}")
        if answer.value is not None and (answer.value.startswith("Unknown") or answer.value in ("0", "255")):
            answer = Answer(None, NO_LINK)
        seen[key] = book.take(f"link.{key}", answer, parse)
    return seen


def _limit(
    host: Host, above: list[Function], speed: float | None, width: int | None, known: Mapping[str, Function], book: Book
) -> str | None:
    """The innermost bridge that can do less than the card. A bridge that does not say cannot be ruled out."""
    if speed is None or width is None:
        return None
    silent = None
    limits = known.limits if isinstance(known, Functions) else {}
    for bridge in reversed(above):
        if bridge.id not in limits:
            limits[bridge.id] = _link(host, bridge.place, Book(), only_limits=True)
        can = limits[bridge.id]
        if None in can.values():
            silent = silent or bridge.id
        elif can["max_speed_gts"] < speed or can["max_width"] < width:
            return bridge.id
    if silent is not None:
        book.miss("link.limited_by", f"bridge {silent} does not say what it can do")
    return None


def sriov(host: Host, place: str, book: Book) -> dict[str, Any] | None:
    """SR-IOV counts and the physical function of a virtual one; None where the function has none of it."""
    total = _parsed_int(host.read(f"{place}/sriov_totalvfs"))
    parent = host.resolve(f"{place}/physfn").value
    if total is None and parent is None:
        return None
    physical = None if parent is None else parent.rpartition("/")[2]
    if physical is not None and not _ADDRESS.match(physical):
        # A copy that followed the links has a folder here, which does not tell whose it is.
        physical = book.miss("sriov.physical_function", f"{place}/physfn does not lead to a PCI function")
    return {
        "total": total,
        "configured": _parsed_int(host.read(f"{place}/sriov_numvfs")),
        "physical_function": physical,
    }


def _parsed_int(answer: Answer) -> int | None:
    try:
        return None if answer.value is None else sysfs.integer(answer.value)
    except ValueError:
        return None


def driver(host: Host, place: str, book: Book) -> dict[str, Any]:
    """The bound kernel driver by name, and its module's version; a free function has the name None."""
    bound = host.link(f"{place}/driver")
    if bound.value is None:
        if bound.reason != MISSING or not host.exists(f"{place}/uevent"):
            book.miss("driver.name", "this tree has no driver links" if bound.reason == MISSING else bound.reason or "")
        return {"name": None, "version": None}
    name = bound.value.rpartition("/")[2]
    if name in ("", ".", ".."):
        book.miss("driver.name", f"unexpected content {bound.value[:40]!r}")
        return {"name": None, "version": None}
    module = (host.link(f"{place}/driver/module").value or name).rpartition("/")[2]
    version = host.read(f"/sys/module/{module}/version")
    if version.reason == MISSING:
        version = Answer(None, f"module {module} has no version of its own")
    return {"name": name, "version": book.take("driver.version", version, str)}


def aer(host: Host, place: str, book: Book) -> dict[str, Any]:
    """Totals of the PCIe errors that the kernel counted since boot."""
    return {
        key: book.take(f"aer.{key}", host.read(f"{place}/aer_dev_{key}"), sysfs.aer_total)
        for key in ("correctable", "nonfatal", "fatal")
    }


def acs(host: Host, function: Function, known: Mapping[str, Function], book: Book) -> bool | None:
    """Whether a port above the function sends peer traffic up to the root complex."""
    if function.bridges is None:
        book.miss("acs", NO_TREE)
        return None
    silent = None
    for address in function.bridges:
        config, reason = (
            host.read_bytes(f"{known[address].place}/config", 4096) if address in known else (None, "not there")
        )
        redirects = None if config is None else acs_redirects(config)
        if redirects:
            return True
        if redirects is None and silent is None:
            is_short = config is not None and len(config) <= 256
            why = reason or ("the extended part needs root to be read" if is_short else "its capabilities have no end")
            silent = f"configuration space of {address}: {why}"
    if silent is not None:
        book.miss("acs", silent)
        return None
    return False


def bridges(host: Host, wanted: list[Function], known: Mapping[str, Function]) -> list[dict[str, Any]]:
    """The bridges above the wanted functions, in the order of their addresses."""
    above = {address for function in wanted for address in function.bridges or ()}
    found = []
    for address in sorted(above, key=_order):
        book = Book()
        bridge = known.get(address)
        if bridge is None:
            continue
        found.append(
            {
                "id": address,
                "parent": bridge.bridges[-1] if bridge.bridges else None,
                "root": bridge.root,
                "numa_node": numa_node(host, bridge, book),
                "pci": identity(host, bridge, book),
                "link": _link(host, bridge.place, book),
                "unknown": book.unknown,
            }
        )
    return found
