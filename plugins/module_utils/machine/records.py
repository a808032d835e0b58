# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One machine, written down: the records of a machine model. Whatever is None, the machine's tree does not tell."""

from __future__ import annotations

from typing import NamedTuple, Optional, Union

CLASSES = {
    "nvme": "010802",
    "sata": "010601",
    "ethernet": "020000",
    "infiniband": "020700",
    "fabric": "020800",
    "vga": "030000",
    "3d": "030200",
    "display": "038000",
    "host-bridge": "060000",
    "isa-bridge": "060100",
    "bridge": "060400",
    "nvswitch": "068000",
    "accelerator": "120000",
}
"""Names for PCI classes (class, subclass, interface), as in the PCI code and id assignment specification 1.17."""

GROUPS = {"root": 0, "disk": 6, "video": 44, "render": 109}
USERS = {"root": 0}

BRIDGES = ("0604", "0607", "0609")
"""Classes of bridges with a bus behind them: PCI, CardBus, semi-transparent."""

FLAT = "flat"
"""The root bus of functions that a tree lists without any hierarchy."""


class Source(NamedTuple):
    """Where facts of a model come from."""

    what: str
    url: str
    date: str


class Heading(NamedTuple):
    """What a model says of itself, and what no tree can tell."""

    name: str
    title: str
    sources: tuple[Source, ...]
    notes: str


class Numa(NamedTuple):
    """A NUMA node. ``cpus`` is sorted; ``hugepages`` maps the page size in KiB to total and free pages."""

    node: int
    socket: int
    cpus: tuple[int, ...]
    memory_mib: Optional[int]
    distances: Optional[tuple[int, ...]]
    hugepages: dict[int, tuple[int, int]]


class Link(NamedTuple):
    """A PCIe link; a speed of None is one that the kernel calls Unknown."""

    speed_gts: Optional[float]
    width: int
    max_speed_gts: Optional[float]
    max_width: int


class Netdev(NamedTuple):
    """A network interface of a PCI function; None: the tree has no such file."""

    name: str
    mtu: Optional[int]
    speed_mbps: Optional[int]
    state: Optional[str]
    ifindex: Optional[int]


class Rdma(NamedTuple):
    """An RDMA device with one port; ``port`` is None for one that the tree shows without ports."""

    name: str
    port: Optional[int]
    link_layer: Optional[str]
    state: Optional[str]
    rate: Optional[str]
    node_type: Optional[str]
    uverbs: Optional[int]


class Nvme(NamedTuple):
    """An NVMe controller and its first namespace; ``sectors`` are of 512 bytes."""

    name: str
    model: Optional[str]
    serial: Optional[str]
    firmware: Optional[str]
    sectors: Optional[int]


class Drm(NamedTuple):
    """The minor numbers under which the graphics subsystem knows a device."""

    card: Optional[int]
    render: Optional[int]


class Nvidia(NamedTuple):
    """What NVIDIA's driver tells in /proc/driver/nvidia/gpus."""

    model: str
    uuid: Optional[str]
    minor: Optional[int]
    video_bios: Optional[str]
    firmware: Optional[str]


class Function(NamedTuple):
    """A PCI function; ids are lower-case hex, ``attributes`` are further files of its folder (name to text)."""

    address: str
    root: str
    parent: Optional[str]
    vendor: Optional[str]
    device: Optional[str]
    subsystem: Optional[tuple[str, str]]
    pci_class: Optional[str]
    revision: Optional[str]
    numa: Optional[int]
    link: Optional[Link]
    driver: Optional[str]
    iommu_group: Optional[int]
    sriov: Optional[tuple[int, int]]
    vf_of: Optional[str]
    aer: Optional[dict[str, dict[str, int]]]
    acs: Optional[bool]
    net: tuple[Netdev, ...]
    rdma: tuple[Rdma, ...]
    nvme: Optional[Nvme]
    drm: Optional[Drm]
    accel: Optional[int]
    nvidia: Optional[Nvidia]
    attributes: dict[str, str]

    @property
    def is_bridge(self) -> bool:
        """Whether a bus lies behind it."""
        return (self.pci_class or "")[:4] in BRIDGES


class Root(NamedTuple):
    """A root bus (``pci0000:16``) and the folder that it lies in."""

    name: str
    place: str


class Platform(NamedTuple):
    """A device off PCI, such as a partition that amdgpu shows as a platform device."""

    name: str
    driver: Optional[str]
    drm: Optional[Drm]
    accel: Optional[int]
    attributes: dict[str, str]


class Bond(NamedTuple):
    """A bond of network interfaces."""

    name: str
    mode: str
    members: tuple[str, ...]
    mtu: Optional[int]
    speed_mbps: Optional[int]
    state: Optional[str]
    ifindex: Optional[int]


class Vlan(NamedTuple):
    """A VLAN on a network interface."""

    name: str
    parent: str
    id: int
    mtu: Optional[int]
    ifindex: Optional[int]


class KfdNode(NamedTuple):
    """A node of the topology that AMD's compute driver shows; ``memory`` are its banks."""

    gpu_id: int
    properties: dict[str, int]
    memory: tuple[dict[str, int], ...]


class KfdLink(NamedTuple):
    """A directed link of that topology; ``is_p2p`` ones stand in p2p_links."""

    node_from: int
    node_to: int
    is_p2p: bool
    properties: dict[str, int]


class Kfd(NamedTuple):
    """The topology of AMD's compute driver. ``major`` is the number of /dev/kfd, None where there is none."""

    nodes: tuple[KfdNode, ...]
    links: tuple[KfdLink, ...]
    major: Optional[int]


class Module(NamedTuple):
    """A loaded kernel module."""

    name: str
    version: Optional[str]
    size: int
    used_by: tuple[str, ...]
    taint: str


class ModuleFile(NamedTuple):
    """A kernel module on disk: its path below /lib/modules/<release>."""

    release: str
    path: str
    version: Optional[str]
    signer: Optional[str]


class Kernel(NamedTuple):
    """The kernel that runs and what the next boot starts; ``modules`` is None where /proc/modules is not there."""

    release: Optional[str]
    next_boot: Optional[str]
    command_line: Optional[str]
    taint: Optional[int]
    cgroup: Optional[int]
    modules: Optional[tuple[Module, ...]]
    disk: tuple[ModuleFile, ...]
    releases: tuple[str, ...]


class Security(NamedTuple):
    """Secure Boot, lockdown mode and enforced module signatures; None: the tree does not tell."""

    secure_boot: Optional[bool]
    lockdown: Optional[str]
    signatures_enforced: Optional[bool]


class DeviceFile(NamedTuple):
    """A device file: ``kind`` is char or block, ``mode`` a number."""

    kind: str
    major: int
    minor: int
    mode: int
    owner: str
    group: str


class Machine(NamedTuple):
    """A machine. ``files`` and ``symlinks`` are added last, ``absent`` (patterns of paths) taken away before them."""

    heading: Heading
    threads_per_core: Optional[int]
    numa: tuple[Numa, ...]
    roots: tuple[Root, ...]
    functions: tuple[Function, ...]
    platform: tuple[Platform, ...]
    bonds: tuple[Bond, ...]
    vlans: tuple[Vlan, ...]
    kfd: Optional[Kfd]
    nvidia_version: Optional[str]
    kernel: Kernel
    security: Security
    users: dict[str, int]
    groups: dict[str, int]
    is_udev: bool
    device_files: dict[str, DeviceFile]
    files: dict[str, Union[str, bytes]]
    symlinks: dict[str, str]
    folders: tuple[str, ...]
    absent: tuple[str, ...]
