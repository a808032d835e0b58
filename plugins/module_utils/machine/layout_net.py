# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Network interfaces, RDMA devices, bonds and VLANs of a model.

Forms: Documentation/ABI/testing/sysfs-class-net, stable/sysfs-class-infiniband, Documentation/networking/bonding
of Linux 6.12 (2024-11).
"""

from __future__ import annotations

from typing import Optional

from .records import Function, Machine, Rdma
from .sheet import Sheet

NET = "/sys/class/net"
IB_STATES = ("NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER")
UVERBS_MAJOR, UVERBS_FIRST = 231, 192
NODE_TYPES = {"CA": 1, "RNIC": 4}


def of_function(sheet: Sheet, place: str, function: Function) -> None:
    """What a PCI function brings to /sys/class/net, infiniband and infiniband_verbs."""
    for number, netdev in enumerate(function.net):
        folder = f"{place}/net/{netdev.name}"
        _interface(sheet, folder, netdev.mtu, netdev.speed_mbps, netdev.state, netdev.ifindex)
        sheet.file(f"{folder}/dev_port", str(number))
        sheet.link(f"{folder}/device", place)
        _common(sheet, folder, netdev.name, None, netdev.ifindex)
    for rdma in function.rdma:
        _rdma(sheet, place, rdma)


def virtual(sheet: Sheet, machine: Machine) -> None:
    """Bonds and VLANs, and the folder of interfaces, which every kernel with networking has."""
    sheet.folder(NET)
    folders = {netdev.name: "" for function in machine.functions for netdev in function.net}
    for name in folders:
        folders[name] = _target(sheet, name)
    if machine.bonds:
        sheet.file(f"{NET}/bonding_masters", " ".join(bond.name for bond in machine.bonds))
    for bond in machine.bonds:
        folder = folders[bond.name] = f"/sys/devices/virtual/net/{bond.name}"
        _interface(sheet, folder, bond.mtu, bond.speed_mbps, bond.state, bond.ifindex)
        _common(sheet, folder, bond.name, "bond", bond.ifindex)
        sheet.file(f"{folder}/bonding/mode", bond.mode)
        sheet.file(f"{folder}/bonding/slaves", " ".join(bond.members))
        for member in bond.members:
            sheet.link(f"{folders[member]}/master", folder)
            sheet.link(f"{folders[member]}/upper_{bond.name}", folder)
            sheet.link(f"{folder}/lower_{member}", folders[member])
    rows = ["VLAN Dev name    | VLAN ID", "Name-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD"]
    for vlan in machine.vlans:
        folder = f"/sys/devices/virtual/net/{vlan.name}"
        _interface(sheet, folder, vlan.mtu, None, "up", vlan.ifindex)
        _common(sheet, folder, vlan.name, "vlan", vlan.ifindex)
        sheet.link(f"{folder}/lower_{vlan.parent}", folders[vlan.parent])
        sheet.link(f"{folders[vlan.parent]}/upper_{vlan.name}", folder)
        rows.append(f"{vlan.name:<15}| {vlan.id}  | {vlan.parent}")
    if machine.vlans:
        sheet.file("/proc/net/vlan/config", "\n".join(rows))


def _target(sheet: Sheet, name: str) -> str:
    """The real folder of an interface, from its entry in the class."""
    target = sheet.entries[f"{NET}/{name}"].target
    return "/sys/" + target.replace("../", "")


def _interface(
    sheet: Sheet, folder: str, mtu: Optional[int], speed: Optional[int], state: Optional[str], index: Optional[int]
) -> None:
    sheet.folder(folder)
    for name, value in (("mtu", mtu), ("speed", speed), ("operstate", state), ("ifindex", index)):
        if value is not None:
            sheet.file(f"{folder}/{name}", str(value))


def _common(sheet: Sheet, folder: str, name: str, device_type: Optional[str], index: Optional[int]) -> None:
    rows = [f"DEVTYPE={device_type}"] if device_type else []
    rows += [f"INTERFACE={name}"] + ([f"IFINDEX={index}"] if index is not None else [])
    sheet.file(f"{folder}/uevent", "\n".join(rows))
    sheet.link(f"{folder}/subsystem", NET)
    sheet.link(f"{NET}/{name}", folder)


def _rdma(sheet: Sheet, place: str, rdma: Rdma) -> None:
    folder = f"{place}/infiniband/{rdma.name}"
    port = f"{folder}/ports/{rdma.port}"
    sheet.folder(folder if rdma.port is None else port)
    if rdma.node_type is not None:
        sheet.file(f"{folder}/node_type", f"{NODE_TYPES.get(rdma.node_type, 0)}: {rdma.node_type}")
    if rdma.state is not None and rdma.port is not None:
        number = IB_STATES.index(rdma.state) if rdma.state in IB_STATES else 0
        sheet.file(f"{port}/state", f"{number}: {rdma.state}")
        sheet.file(f"{port}/phys_state", "5: LinkUp" if rdma.state == "ACTIVE" else "3: Disabled")
    for name, text in (("link_layer", rdma.link_layer), ("rate", rdma.rate)):
        if text is not None and rdma.port is not None:
            sheet.file(f"{port}/{name}", text)
    sheet.file(f"{folder}/uevent", f"NAME={rdma.name}")
    sheet.link(f"{folder}/device", place)
    sheet.link(f"{folder}/subsystem", "/sys/class/infiniband")
    sheet.link(f"/sys/class/infiniband/{rdma.name}", folder)
    if rdma.uverbs is not None:
        verbs = f"{place}/infiniband_verbs/uverbs{rdma.uverbs}"
        minor = UVERBS_FIRST + rdma.uverbs
        sheet.file(f"{verbs}/dev", f"{UVERBS_MAJOR}:{minor}")
        sheet.file(f"{verbs}/ibdev", rdma.name)
        rows = (f"MAJOR={UVERBS_MAJOR}", f"MINOR={minor}", f"DEVNAME=infiniband/uverbs{rdma.uverbs}", "DEVMODE=0666")
        sheet.file(f"{verbs}/uevent", "\n".join(rows))
        sheet.link(f"{verbs}/device", place)
        sheet.link(f"{verbs}/subsystem", "/sys/class/infiniband_verbs")
        sheet.link(f"/sys/class/infiniband_verbs/uverbs{rdma.uverbs}", verbs)
