# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVMe controllers on PCI and the namespaces that are reached through each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Optional

from ...codec import sysfs
from ...host.door import Host
from ...model.answer import MISSING, Answer, Book
from ...model.pci import Function
from . import pci

CONTROLLERS = "/sys/class/nvme"
BLOCKS = ("/sys/class/block", "/sys/block")

_CONTROLLER = re.compile(r"nvme\d+\Z", re.ASCII)
# nvme0n1, and with native multipath nvme0c1n1: the path through controller 1 to namespace 1 of subsystem 0.
_NAMESPACE = re.compile(r"nvme(\d+)(?:c\d+)?n(\d+)\Z", re.ASCII)
_SECTORS_PER_MIB = 2048  # the kernel counts 512 bytes, whatever the drive's own block is


def observe(host: Host, functions: Mapping[str, Function]) -> tuple[Optional[list[dict[str, Any]]], dict[str, str]]:
    """The NVMe controllers in the order of ``functions``; None with the reason under ``storage``.

    A controller whose links cannot be followed is told of as ``storage.<name>``; those over fabrics are none.
    """
    if not functions:
        listed = host.list(pci.DEVICES)
        if listed.value is None:
            return None, {"storage": f"{pci.DEVICES} {listed.reason}"}
    unknown: dict[str, str] = {}
    names = host.list(CONTROLLERS)
    controllers = _below(host, CONTROLLERS, names.value, _CONTROLLER, functions, unknown)
    blocks: dict[str, dict[str, str]] = {}
    no_blocks: Optional[str] = f"{BLOCKS[0]} {MISSING}"
    for folder in BLOCKS:
        listed = host.list(folder)
        if listed.value is not None:
            no_blocks = None
        for owner, disks in _below(host, folder, listed.value, _NAMESPACE, functions, unknown).items():
            blocks.setdefault(owner, {}).update(disks)
    found = []
    for function in functions.values():
        is_controller = (function.pci_class or "").startswith("0108") or function.id in controllers
        shown: tuple[str, ...] = ()
        if is_controller or function.pci_class is None:
            shown = host.list(f"{function.place}/nvme").value or ()
        if is_controller or shown:
            own = dict(controllers.get(function.id, {}))
            for name in shown:
                own.setdefault(name, f"{function.place}/nvme/{name}")
            disks = blocks.get(function.id, {})
            found.append(_controller(host, function, functions, own, disks, names.reason, no_blocks))
        elif function.pci_class is None:
            unknown[f"storage.{function.id}"] = pci.NO_CLASS
    return found, unknown


def _below(
    host: Host,
    folder: str,
    names: Optional[tuple[str, ...]],
    form: re.Pattern[str],
    functions: Mapping[str, Function],
    unknown: dict[str, str],
) -> dict[str, dict[str, str]]:
    """Folders by name, under the PCI function above each."""
    wanted = [name for name in names or () if form.match(name) is not None]
    return pci.owned(host, folder, wanted, functions, "storage", unknown)[0]


def _controller(
    host: Host,
    function: Function,
    functions: Mapping[str, Function],
    controllers: dict[str, str],
    blocks: dict[str, str],
    class_reason: Optional[str],
    no_blocks: Optional[str],
) -> dict[str, Any]:
    book = Book()
    fields = pci.shared_fields(host, function, functions, book)
    driver = fields["driver"]["name"]
    is_driver_known = "driver.name" not in book.unknown
    for key in [key for key in book.unknown if key.partition(".")[0] in ("driver", "sriov")]:
        del book.unknown[key]  # a controller has no such fields
    namespaces = dict(blocks)
    for place in controllers.values():
        names = host.list(place)
        if names.value is None:
            book.miss("names", f"{place} {names.reason}")
        for name in names.value or ():
            if _NAMESPACE.match(name):
                namespaces.setdefault(name, f"{place}/{name}")
    without = _why_none(driver, is_driver_known, class_reason)
    listed: Optional[list[str]] = sorted({*controllers, *map(_head, namespaces)}, key=_order)
    size: Optional[int] = None
    if "names" in book.unknown:
        listed = None
        book.miss("size_mib", book.unknown["names"])
    elif not listed:
        book.miss("size_mib", without)
        if driver == "nvme" or not is_driver_known:
            book.miss("names", without)
            listed = None
    elif not namespaces and no_blocks is not None and not _is_whole(host, controllers):
        book.miss("size_mib", no_blocks)
    else:
        size = _size_mib(host, namespaces, book)
    model = Answer(None, without)
    if controllers:
        model = host.read(f"{min(controllers.values())}/model")
        model = Answer(None, "the drive tells none") if model.value == "" else model
    elif namespaces:
        model = Answer(None, "the kernel shows no controller above the namespaces")
    return {
        "id": function.id,
        "names": listed,
        "model": book.take("model", model, str),
        "size_mib": size,
        **{key: fields[key] for key in ("numa_node", "cpus", "pci", "path", "link")},
        "unknown": book.unknown,
    }


def _is_whole(host: Host, controllers: dict[str, str]) -> bool:
    """Whether the folders of the controllers are a kernel's own, and not the bare names that a dump kept of them."""
    return all(host.exists(f"{place}/model") for place in controllers.values())


def _why_none(driver: Optional[str], is_driver_known: bool, class_reason: Optional[str]) -> str:
    if is_driver_known and driver is None:
        return "no driver is bound"
    if is_driver_known and driver != "nvme":
        return f"driver {driver} shows no controller"
    return f"{CONTROLLERS} {class_reason}" if class_reason else "the driver shows no controller"


def _head(name: str) -> str:
    """The block device of a namespace: ``nvme0c1n1`` is a path to ``nvme0n1``."""
    match = _NAMESPACE.match(name)
    return name if match is None else f"nvme{match.group(1)}n{match.group(2)}"


def _order(name: str) -> tuple[int, tuple[int, ...]]:
    """Controllers before namespaces, each by number."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", name))
    return len(numbers), numbers


def _size_mib(host: Host, namespaces: dict[str, str], book: Book) -> Optional[int]:
    sectors = 0
    for name in sorted(namespaces):
        answer = host.read(f"{namespaces[name]}/size")
        if answer.reason == MISSING:
            answer = host.read(f"{BLOCKS[0]}/{_head(name)}/size")
        size = book.take("size_mib", answer, sysfs.integer)
        if size is None:
            return None
        sectors += size
    return sectors // _SECTORS_PER_MIB
