# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The PCI functions of a model as folders below /sys/devices, with what hangs on them.

Forms: Documentation/ABI/testing/sysfs-bus-pci and sysfs-bus-pci-devices-aer_stats of Linux 6.12 (2024-11), the
PCI header of the PCI Local Bus Specification 3.0, the ACS capability of the PCI Express Base Specification 5.0.
"""

from __future__ import annotations

import struct
from typing import Optional

from ..codec.sysfs import list_of_cpus
from . import layout_net
from .records import FLAT, Drm, Function, Link, Machine, Nvidia
from .sheet import Sheet

DEVICES = "/sys/bus/pci/devices"
DRIVERS = "/sys/bus/pci/drivers"
DRM_MAJOR, ACCEL_MAJOR = 226, 261

_UNCORRECTABLE = (
    "Undefined DLP SDES TLP FCP CmpltTO CmpltAbrt UnxCmplt RxOF MalfTLP ECRC UnsupReq ACSViol UncorrIntErr "
    "BlockedTLP AtomicOpBlocked TLPBlockedErr PoisonTLPBlocked"
)
_CORRECTABLE = "RxErr BadTLP BadDLLP Rollover Timeout NonFatalErr CorrIntErr HeaderOF"
AER_NAMES = {
    "correctable": _CORRECTABLE.split(),
    "nonfatal": _UNCORRECTABLE.split(),
    "fatal": _UNCORRECTABLE.split(),
}
AER_TOTALS = {"correctable": "TOTAL_ERR_COR", "nonfatal": "TOTAL_ERR_NONFATAL", "fatal": "TOTAL_ERR_FATAL"}
"""Rows of aer_dev_*, in the kernel's order (drivers/pci/pcie/aer.c of Linux 6.12, 2024-11)."""

_ACS_CAPABILITY = 0x000D
_ACS_SUPPORTED = 0x001F  # source validation, translation blocking, request and completion redirect, forwarding
_ACS_ISOLATED = 0x001D  # what Linux turns on: all of them but translation blocking


def places(machine: Machine) -> dict[str, str]:
    """The real folder of each PCI function."""
    roots = {root.name: root for root in machine.roots}
    by_address = {function.address: function for function in machine.functions}
    found: dict[str, str] = {}

    def place(function: Function) -> str:
        known = found.get(function.address)
        if known is None:
            if function.root == FLAT:
                known = f"{DEVICES}/{function.address}"
            elif function.parent is None:
                known = f"{roots[function.root].place}/{function.root}/{function.address}"
            else:
                known = f"{place(by_address[function.parent])}/{function.address}"
            found[function.address] = known
        return known

    for function in machine.functions:
        place(function)
    return found


def functions(sheet: Sheet, machine: Machine) -> None:
    """All functions with their links, drivers, groups and subsystems."""
    where = places(machine)
    behind = buses(machine)
    for function in machine.functions:
        place = where[function.address]
        sheet.folder(place)
        if function.root != FLAT:
            sheet.link(f"{DEVICES}/{function.address}", place)
            sheet.link(f"{place}/subsystem", "/sys/bus/pci")
        _identity(sheet, place, function)
        _locality(sheet, place, function, machine)
        _wiring(sheet, place, function, behind.get(function.address))
        if function.driver is not None:
            _driver(sheet, place, function.address, "pci", function.driver, machine)
        if function.iommu_group is not None:
            group = f"/sys/kernel/iommu_groups/{function.iommu_group}"
            sheet.link(f"{place}/iommu_group", group)
            sheet.link(f"{group}/devices/{function.address}", place)
        layout_net.of_function(sheet, place, function)
        _nvme(sheet, place, function)
        classes(sheet, place, function.drm, function.accel)
        if function.nvidia is not None:
            sheet.file(
                f"/proc/driver/nvidia/gpus/{function.address}/information",
                _information(function.address, function.nvidia),
            )
        for name, text in function.attributes.items():
            sheet.file(f"{place}/{name}", text)
    _virtual_functions(sheet, where, machine)


def platform(sheet: Sheet, machine: Machine) -> None:
    """Devices off PCI."""
    for device in machine.platform:
        place = f"/sys/devices/platform/{device.name}"
        sheet.folder(place)
        sheet.link(f"{place}/subsystem", "/sys/bus/platform")
        sheet.link(f"/sys/bus/platform/devices/{device.name}", place)
        sheet.file(f"{place}/modalias", f"platform:{device.name.rstrip('0123456789').rstrip('._')}")
        if device.driver is not None:
            _driver(sheet, place, device.name, "platform", device.driver, machine)
        classes(sheet, place, device.drm, device.accel)
        for name, text in device.attributes.items():
            sheet.file(f"{place}/{name}", text)


def classes(sheet: Sheet, place: str, drm: Optional[Drm], accel: Optional[int]) -> None:
    """The graphics and the compute accelerator class of a device."""
    found = []
    if drm is not None and drm.card is not None:
        found.append(("drm", f"card{drm.card}", DRM_MAJOR, drm.card, f"dri/card{drm.card}", "drm_minor"))
    if drm is not None and drm.render is not None:
        found.append(("drm", f"renderD{drm.render}", DRM_MAJOR, drm.render, f"dri/renderD{drm.render}", "drm_minor"))
    if accel is not None:
        found.append(("accel", f"accel{accel}", ACCEL_MAJOR, accel, f"accel/accel{accel}", "accel_minor"))
    for kind, name, major, minor, file, device_type in found:
        folder = f"{place}/{kind}/{name}"
        sheet.file(f"{folder}/dev", f"{major}:{minor}")
        sheet.file(f"{folder}/uevent", f"MAJOR={major}\nMINOR={minor}\nDEVNAME={file}\nDEVTYPE={device_type}")
        sheet.link(f"{folder}/device", place)
        sheet.link(f"{folder}/subsystem", f"/sys/class/{kind}")
        sheet.link(f"/sys/class/{kind}/{name}", folder)
        sheet.link(f"/sys/dev/char/{major}:{minor}", folder)


def _identity(sheet: Sheet, place: str, function: Function) -> None:
    subsystem = function.subsystem
    rows = {
        "vendor": function.vendor and f"0x{function.vendor}",
        "device": function.device and f"0x{function.device}",
        "subsystem_vendor": subsystem and f"0x{subsystem[0]}",
        "subsystem_device": subsystem and f"0x{subsystem[1]}",
        "class": function.pci_class and f"0x{function.pci_class}",
        "revision": function.revision and f"0x{function.revision}",
    }
    for name, text in rows.items():
        if text:
            sheet.file(f"{place}/{name}", text)
    if not function.vendor or not function.device or not function.pci_class:
        return
    vendor, device, pci_class = function.vendor.upper(), function.device.upper(), function.pci_class
    sub_vendor, sub_device = (part.upper() for part in subsystem or ("0000", "0000"))
    classes_of = "".join(f"{key}{pci_class[at : at + 2].upper()}" for key, at in (("bc", 0), ("sc", 2), ("i", 4)))
    modalias = f"pci:v0000{vendor}d0000{device}sv0000{sub_vendor}sd0000{sub_device}{classes_of}"
    uevent = [f"DRIVER={function.driver}"] if function.driver else []
    uevent += [
        f"PCI_CLASS={pci_class.lstrip('0').upper()}",
        f"PCI_ID={vendor}:{device}",
        f"PCI_SUBSYS_ID={sub_vendor}:{sub_device}",
        f"PCI_SLOT_NAME={function.address}",
        f"MODALIAS={modalias}",
    ]
    sheet.file(f"{place}/modalias", modalias)
    sheet.file(f"{place}/uevent", "\n".join(uevent))


def _locality(sheet: Sheet, place: str, function: Function, machine: Machine) -> None:
    if function.numa is not None:
        sheet.file(f"{place}/numa_node", str(function.numa))
    cpus = [cpu for node in machine.numa if function.numa in (None, -1, node.node) for cpu in node.cpus]
    if machine.numa:
        sheet.file(f"{place}/local_cpulist", cpulist(cpus))
        sheet.file(f"{place}/local_cpus", cpumap(cpus, machine))


def cpulist(cpus: list[int]) -> str:
    """CPUs as the kernel lists them: ``0-3,8``; none as an empty text."""
    return list_of_cpus(cpus) if cpus else ""


def cpumap(cpus: list[int], machine: Machine) -> str:
    """CPUs as the kernel's mask: words of 32 bits, as many as the machine has CPUs for."""
    words = 1 + max((cpu for node in machine.numa for cpu in node.cpus), default=0) // 32
    mask = sum(1 << cpu for cpu in cpus)
    return ",".join(f"{(mask >> (32 * word)) & 0xFFFFFFFF:08x}" for word in reversed(range(words)))


def _wiring(sheet: Sheet, place: str, function: Function, behind: Optional[tuple[int, int]]) -> None:
    if function.link is not None:
        for name, text in link_texts(function.link).items():
            sheet.file(f"{place}/{name}", text)
    if function.aer is not None:
        for severity, names in AER_NAMES.items():
            counts = function.aer[severity]
            rows = [f"{name} {counts.get(name, 0)}" for name in names]
            total = sum(count for name, count in counts.items())
            sheet.file(f"{place}/aer_dev_{severity}", "\n".join([*rows, f"{AER_TOTALS[severity]} {total}"]))
    if function.sriov is not None:
        sheet.file(f"{place}/sriov_totalvfs", str(function.sriov[0]))
        sheet.file(f"{place}/sriov_numvfs", str(function.sriov[1]))
    if behind is not None:
        sheet.file(f"{place}/secondary_bus_number", str(behind[0]))
        sheet.file(f"{place}/subordinate_bus_number", str(behind[1]))
    if function.vendor and function.device and function.pci_class:
        sheet.file(f"{place}/config", _config(function, behind))


def link_texts(link: Link) -> dict[str, str]:
    """The four files of a link."""
    return {
        "current_link_speed": _speed(link.speed_gts),
        "current_link_width": str(link.width),
        "max_link_speed": _speed(link.max_speed_gts),
        "max_link_width": str(link.max_width),
    }


def _speed(gts: Optional[float]) -> str:
    return "Unknown" if gts is None else f"{gts:.1f} GT/s PCIe"


def buses(machine: Machine) -> dict[str, tuple[int, int]]:
    """First and last bus behind each bridge. Behind a free slot is the next number that nothing has, as in firmware."""
    children: dict[str, list[str]] = {}
    used = set()
    for function in machine.functions:
        used.add(_bus(function.address))
        if function.parent is not None:
            children.setdefault(function.parent, []).append(function.address)
    found: dict[str, tuple[int, int]] = {}
    for function in machine.functions:
        if function.is_bridge and function.address not in children:
            domain, number = _bus(function.address)
            while (domain, number) in used and number < 255:
                number += 1
            used.add((domain, number))
            found[function.address] = (number, number)

    def behind(address: str) -> tuple[int, int]:
        if address not in found:
            below = children[address]
            own = [_bus(child)[1] for child in below]
            last = [behind(child)[1] for child in below if child in children or child in found]
            found[address] = (min(own), max(own + last))
        return found[address]

    for address in children:
        behind(address)
    return found


def _bus(address: str) -> tuple[str, int]:
    domain, bus, _rest = address.split(":")
    return domain, int(bus, 16)


def _config(function: Function, behind: Optional[tuple[int, int]]) -> bytes:
    """The configuration space: the header, and whole with its ACS capability where the model knows of one."""
    header = bytearray(64)
    struct.pack_into("<HH", header, 0, int(function.vendor or "0", 16), int(function.device or "0", 16))
    header[8] = int(function.revision or "0", 16)
    header[9:12] = bytes.fromhex(function.pci_class or "000000")[::-1]
    if function.is_bridge:
        header[14] = 1
        primary = int(function.address.split(":")[1], 16)
        header[24:27] = bytes((primary, *(behind or (0, 0))))
    elif function.subsystem:
        struct.pack_into("<HH", header, 44, *(int(part, 16) for part in function.subsystem))
    if function.acs is None:
        return bytes(header)
    space = header + bytearray(4096 - 64)
    control = _ACS_ISOLATED if function.acs else 0
    struct.pack_into("<IHH", space, 0x100, 1 << 16 | _ACS_CAPABILITY, _ACS_SUPPORTED, control)
    return bytes(space)


def _driver(sheet: Sheet, place: str, name: str, bus: str, driver: str, machine: Machine) -> None:
    folder = f"/sys/bus/{bus}/drivers/{driver}"
    sheet.link(f"{place}/driver", folder)
    sheet.link(f"{folder}/{name}", place)
    module = driver.replace("-", "_")
    if any(loaded.name == module for loaded in machine.kernel.modules or ()):
        sheet.link(f"{folder}/module", f"/sys/module/{module}")


def _nvme(sheet: Sheet, place: str, function: Function) -> None:
    nvme = function.nvme
    if nvme is None:
        return
    folder = f"{place}/nvme/{nvme.name}"
    sheet.folder(folder)
    rows = {"model": nvme.model, "serial": nvme.serial, "firmware_rev": nvme.firmware}
    for name, text in rows.items():
        if text is not None:
            sheet.file(f"{folder}/{name}", text)
    sheet.file(f"{folder}/address", function.address)
    sheet.file(f"{folder}/transport", "pcie")
    sheet.file(f"{folder}/state", "live")
    sheet.link(f"{folder}/device", place)
    sheet.link(f"{folder}/subsystem", "/sys/class/nvme")
    sheet.link(f"/sys/class/nvme/{nvme.name}", folder)
    if nvme.sectors is not None:
        block = f"{folder}/{nvme.name}n1"
        sheet.file(f"{block}/size", str(nvme.sectors))
        sheet.file(f"{block}/queue/logical_block_size", "512")
        sheet.link(f"{block}/device", folder)
        sheet.link(f"{block}/subsystem", "/sys/class/block")
        sheet.link(f"/sys/class/block/{nvme.name}n1", block)
        sheet.link(f"/sys/block/{nvme.name}n1", block)


def _information(address: str, gpu: Nvidia) -> str:
    """As nv-procfs.c of NVIDIA's open kernel modules 580 prints it (2025-08)."""
    rows = [
        ("Model", gpu.model),
        ("GPU UUID", gpu.uuid),
        ("Video BIOS", gpu.video_bios),
        ("Bus Type", "PCIe"),
        ("Bus Location", address),
        ("Device Minor", None if gpu.minor is None else str(gpu.minor)),
        ("GPU Firmware", gpu.firmware),
        ("GPU Excluded", "No"),
    ]
    return "\n".join(f"{name + ':':<16} {value}" for name, value in rows if value is not None)


def _virtual_functions(sheet: Sheet, where: dict[str, str], machine: Machine) -> None:
    counts: dict[str, int] = {}
    for function in machine.functions:
        if function.vf_of is not None:
            number = counts.get(function.vf_of, 0)
            counts[function.vf_of] = number + 1
            sheet.link(f"{where[function.address]}/physfn", where[function.vf_of])
            sheet.link(f"{where[function.vf_of]}/virtfn{number}", where[function.address])
