# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine model as the files that its kernel would show.

Only paths and texts are drawn up here; ``host.tree.write`` puts them into a folder. The forms are those of
Linux 6.12 (2024-11): Documentation/ABI, Documentation/PCI, Documentation/admin-guide/devices.txt.
"""

from __future__ import annotations

import fnmatch
from typing import Optional

from ..model.entry import Entry
from . import layout_net, layout_pci, layout_system
from .layout_net import UVERBS_FIRST, UVERBS_MAJOR
from .layout_pci import ACCEL_MAJOR, DRM_MAJOR
from .records import DeviceFile, Function, Machine
from .sheet import Sheet

NVIDIA_MAJOR, VFIO_MAJOR = 195, 511
NVME_MAJOR, NVME_BLOCK_MAJOR = 240, 259


def entries(machine: Machine) -> dict[str, Entry]:
    """The whole tree: absolute path to entry. Raises nothing for a parsed model."""
    sheet = Sheet()
    for folder in ("/proc", "/sys/bus/pci/devices", "/sys/bus/pci/drivers", "/sys/class", "/sys/module"):
        sheet.folder(folder)
    layout_system.system(sheet, machine)
    layout_pci.functions(sheet, machine)
    layout_net.virtual(sheet, machine)
    layout_pci.platform(sheet, machine)
    layout_system.kfd(sheet, machine)
    for path, device_file in all_device_files(machine).items():
        sheet.special(
            path,
            device_file.kind,
            (device_file.major, device_file.minor),
            device_file.mode,
            (_number(device_file.owner, machine.users), _number(device_file.group, machine.groups)),
        )
    for pattern in machine.absent:
        for path in fnmatch.filter(sheet.entries, pattern) + fnmatch.filter(sheet.entries, f"{pattern}/*"):
            sheet.entries.pop(path, None)
    for folder in machine.folders:
        if folder in sheet.entries and sheet.entries[folder].kind != "dir":
            del sheet.entries[folder]
        sheet.folder(folder)
    for path, target in machine.symlinks.items():
        sheet.link(path, target)
    for path, content in machine.files.items():
        sheet.file(path, content)
    return sheet.entries


def _number(owner: str, numbers: dict[str, int]) -> int:
    return numbers[owner] if owner in numbers else int(owner)


def all_device_files(machine: Machine) -> dict[str, DeviceFile]:
    """The device files that the kernel and udev make by themselves, and those that the model names."""
    found: dict[str, DeviceFile] = {}
    if machine.is_udev:
        for function in machine.functions:
            found.update(_of_function(function))
        for device in machine.platform:
            found.update(_of_drm(device.drm.card, device.drm.render) if device.drm else {})
            found.update(_of_accel(device.accel))
        if machine.kfd is not None and machine.kfd.major is not None:
            found["/dev/kfd"] = DeviceFile("char", machine.kfd.major, 0, 0o660, "root", "render")
    found.update(machine.device_files)
    return dict(sorted(found.items()))


def _of_function(function: Function) -> dict[str, DeviceFile]:
    found: dict[str, DeviceFile] = {}
    if function.drm is not None:
        found.update(_of_drm(function.drm.card, function.drm.render))
    found.update(_of_accel(function.accel))
    if function.nvidia is not None and function.nvidia.minor is not None:
        minor = function.nvidia.minor
        found[f"/dev/nvidia{minor}"] = DeviceFile("char", NVIDIA_MAJOR, minor, 0o666, "root", "root")
    for rdma in function.rdma:
        if rdma.uverbs is not None:
            minor = UVERBS_FIRST + rdma.uverbs
            found[f"/dev/infiniband/uverbs{rdma.uverbs}"] = DeviceFile(
                "char", UVERBS_MAJOR, minor, 0o666, "root", "root"
            )
    if function.nvme is not None:
        number = int(function.nvme.name[4:]) if function.nvme.name[4:].isdigit() else 0
        found[f"/dev/{function.nvme.name}"] = DeviceFile("char", NVME_MAJOR, number, 0o600, "root", "root")
        if function.nvme.sectors is not None:
            found[f"/dev/{function.nvme.name}n1"] = DeviceFile("block", NVME_BLOCK_MAJOR, number, 0o660, "root", "disk")
    if function.driver == "vfio-pci" and function.iommu_group is not None:
        group = function.iommu_group
        found[f"/dev/vfio/{group}"] = DeviceFile("char", VFIO_MAJOR, group & 0xFF, 0o600, "root", "root")
        found["/dev/vfio/vfio"] = DeviceFile("char", 10, 196, 0o666, "root", "root")
    return found


def _of_drm(card: Optional[int], render: Optional[int]) -> dict[str, DeviceFile]:
    found = {}
    if card is not None:
        found[f"/dev/dri/card{card}"] = DeviceFile("char", DRM_MAJOR, card, 0o660, "root", "video")
    if render is not None:
        found[f"/dev/dri/renderD{render}"] = DeviceFile("char", DRM_MAJOR, render, 0o660, "root", "render")
    return found


def _of_accel(number: Optional[int]) -> dict[str, DeviceFile]:
    if number is None:
        return {}
    return {f"/dev/accel/accel{number}": DeviceFile("char", ACCEL_MAJOR, number, 0o660, "root", "render")}
