# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who made a PCI function, whether it is an accelerator, and what it is called.

Source of vendor and device ids: the PCI ID database (pci.ids of 2026-08-22) and, for what it lacks, the makers'
drivers; of classes: PCI Code and ID Assignment Specification 1.15; of modules: the makers' drivers and Linux 6.18.
Last looked at 2026-12-01. The tables are text, one row a line: Python reads them much faster at a module's start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Optional

from ..model.pci import Function

_MAKERS = """
nvidia 10de gpu nvidia,nvidia_uvm,nvidia_modeset,nvidia_drm,nvidia_peermem nouveau,nova_core,nova_drm,nvidiafb
amd 1002,1022 gpu amdgpu,amdkcl,amdttm,amd_sched,amdxdna radeon
intel 8086 npu xe,i915,intel_vpu
habana 1da3 accelerator habanalabs,habanalabs_cn,habanalabs_en,habanalabs_ib
huawei 19e5 npu drv_davinci_intf_host
aws 1d0f accelerator neuron
google 1ae0 accelerator gasket,apex
globalunichip 1ac1 accelerator apex,gasket
qualcomm 17cb accelerator qaic
tenstorrent 1e52 accelerator tenstorrent
cambricon cabc accelerator cambricon_drv
moorethreads 1ed5 gpu mtgpu
hygon 1d94 gpu hydcu,hycu
metax 9999 gpu metax
iluvatar 1e3e gpu iluvatar
enflame 1e36 accelerator enflame,dtu
baidu 1d22 accelerator kunlun
furiosa 1ed2 npu rngd,npu_mgmt
rebellions 1eff npu rebellions
sapeon 1f56 npu -
hailo 1e60 npu hailo_pci
graphcore 1d95 accelerator ipu_driver
groq 1de0 accelerator groqA0
sambanova 1e0d accelerator rdu
dmatrix 1f82 accelerator -
axelera 1f9d accelerator metis
deepx 1ff4 npu dxrt_driver
blaize 1e38 accelerator -
untether 1e67 accelerator -
vastai 1ec6 accelerator -
nextsilicon cdfa accelerator -
kalray 1d26 accelerator -
"""
"""Name, PCI vendor ids, kind of what is outside the display classes, kernel modules (the one that drives a device
first), and rival modules that take the device away from it."""

_DEVICES = """
10de 15f8 - Tesla P100 PCIe 16GB
10de 15f9 - Tesla P100 SXM2 16GB
10de 1b38 - Tesla P40
10de 1db1 - Tesla V100 SXM2 16GB
10de 1db4 - Tesla V100 PCIe 16GB
10de 1db5 - Tesla V100 SXM2 32GB
10de 1db6 - Tesla V100 PCIe 32GB
10de 1db8 - Tesla V100 SXM3 32GB
10de 1eb8 - Tesla T4
10de 20b0 - A100 SXM4 40GB
10de 20b1 - A100 PCIe 40GB
10de 20b2 - A100 SXM4 80GB
10de 20b5 - A100 PCIe 80GB
10de 20b7 - A30 PCIe
10de 20bd - A800 SXM4 40GB
10de 20f3 - A800 SXM4 80GB
10de 2235 - A40
10de 2236 - A10
10de 2237 - A10G
10de 2321 - H100 NVL 94GB
10de 2324 - H800
10de 2329 - H20
10de 2330 - H100 SXM5 80GB
10de 2331 - H100 PCIe
10de 2335 - H200 SXM 141GB
10de 233b - H200 NVL
10de 2342 - GH200 120GB
10de 2348 - GH200 144G HBM3e
10de 26b5 - L40
10de 26b9 - L40S
10de 27b8 - L4
10de 2901 - B200
10de 2941 - GB200
10de 2bb5 - RTX PRO 6000 Blackwell Server Edition
10de 3182 - B300 SXM6
10de 31c2 - GB300
1002 66a1 - Radeon Instinct MI50
1002 6860 - Radeon Instinct MI25
1002 738c - Instinct MI100
1002 738e - Instinct MI100
1002 7408 - Instinct MI250X
1002 740c - Instinct MI250X/MI250
1002 740f - Instinct MI210
1002 74a0 - Instinct MI300A
1002 74a1 - Instinct MI300X
1002 74a2 - Instinct MI308X
1002 74a5 - Instinct MI325X
1002 74b5 - Instinct MI300X VF
1002 74b9 - Instinct MI325X VF
1002 75a0 - Instinct MI350X
1002 75a3 - Instinct MI355X
1022 1502 npu Ryzen AI NPU (Phoenix, Hawk Point)
1022 17f0 npu Ryzen AI NPU (Strix, Krackan)
1002 474d never Rage XL
1002 474f never Rage XL
1002 4752 never Rage XL
1002 515e never ES1000
8086 0b69 - Data Center GPU Max 1450
8086 0b6e - Data Center GPU Max 1100C
8086 0bd4 - Data Center GPU Max 1550VG
8086 0bd5 - Data Center GPU Max 1550
8086 0bd6 - Data Center GPU Max 1550
8086 0bd9 - Data Center GPU Max 1100
8086 0bda - Data Center GPU Max 1100
8086 0bdb - Data Center GPU Max 1100
8086 2250 accelerator Xeon Phi coprocessor 5100 series
8086 225c accelerator Xeon Phi coprocessor SE10/7120 series
8086 225d accelerator Xeon Phi coprocessor 3120 series
8086 225e accelerator Xeon Phi coprocessor 31S1
8086 2262 accelerator Xeon Phi coprocessor 7220
8086 56a0 - Arc A770
8086 56a1 - Arc A750
8086 56c0 - Data Center GPU Flex 170
8086 56c1 - Data Center GPU Flex 140
8086 643e - Core Ultra 200V NPU
8086 7d1d - Core Ultra NPU
8086 7d55 - Core Ultra Arc Graphics
8086 ad1d - Core Ultra 200 NPU
8086 b03e - Core Ultra Series 3 NPU
8086 e20b - Arc B580
8086 e211 - Arc Pro B60
8086 e212 - Arc Pro B50
1da3 0001 - Goya HL-1000
1da3 0030 - Greco
1da3 1000 - Gaudi HL-2000
1da3 1010 - Gaudi HL-2000 (secured)
1da3 1020 - Gaudi2
1da3 1060 - Gaudi3
1da3 1063 - Gaudi3 Add-In
19e5 d802 - Ascend 910B
19e5 1711 never iBMC console
1d0f 7064 accelerator Inferentia
1d0f 7164 accelerator Trainium
1d0f 7264 accelerator Inferentia2
1d0f 7364 accelerator Trainium2
1d0f 7564 accelerator Trainium3
1d0f 7565 accelerator Trainium3
1d0f 1111 never console of an EC2 instance
1ac1 089a accelerator Coral Edge TPU
17cb a100 accelerator Cloud AI 100
1e52 401e - Wormhole
1e52 b140 - Blackhole
1e52 faca - Grayskull
cabc 0270 accelerator MLU270-S4
cabc 0370 accelerator MLU370-S4
1ed5 0106 - MTT S60
1ed5 0111 - MTT S100
1ed5 0122 - MTT S1000
1ed5 0123 - MTT S2000
1ed5 0201 - MTT S80
1ed5 0222 - MTT S3000
1d94 6211 - K100_AI
9999 0a01 - C500
1e36 0001 - T10
1e36 0021 - T20 (32GB)
1e36 0022 - T20 (64GB)
1e36 8001 - I20
1e36 8011 - I10
1e36 c035 - S60
1e36 c042 - L600
1d22 3684 accelerator Kunlun
1d22 3685 accelerator Kunlun2 (VF)
1ed2 0000 npu Warboy
1ed2 0001 npu RNGD
1ed2 0002 npu RNGD-Plus
1ed2 2222 npu RNGD-S
1eff 1220 - RBLN-CA22
1eff 1221 - RBLN-CA22 (VF)
1eff 1250 - RBLN-CA25
1eff 1251 - RBLN-CA25 (VF)
1eff 2030 - RBLN-CR03
1e60 2864 npu Hailo-8
1e60 45c4 npu Hailo-10H
1d95 0001 - Colossus GC2
1d95 0002 - Colossus GC1
1de0 0000 accelerator GroqChip
1f82 0011 accelerator Corsair
1f9d 0001 accelerator Europa
1f9d 1100 accelerator Metis
1f9d 11aa accelerator Metis (rev 01)
1ff4 0100 npu M1
1ff4 0101 npu M1 H1
1ff4 0110 npu M1M
1ff4 0111 npu M1M H1M
1e38 0102 accelerator Xplorer X1600
1e67 0002 accelerator runAI200
1e67 0004 accelerator speedAI240
1ec6 0100 accelerator SV100
1ec6 0200 accelerator SG100
1ec6 020f accelerator SG100 vGPU
1ec6 0300 accelerator SR100
cdfa 0007 accelerator Maverick
cdfa 0009 accelerator Maverick-2
1d26 0040 accelerator Turbocard2
1d26 00c0 accelerator Turbocard3
"""
"""Vendor and device id, a mark, the name. The mark is ``-`` for a device that its class tells, its kind for one outside
the accelerator classes, ``never`` for one inside them that computes nothing."""

OFF_PCI_DRIVERS = {"rocket": "rockchip", "ethosu": "arm", "ethos-u": "arm"}
"""Makers of devices off PCI (``/sys/class/accel``) by their kernel driver (Linux 6.18 ``drivers/accel``)."""

_MANAGEMENT_DISPLAYS = ("1013", "102b", "1234", "126f", "1414", "15ad", "18ca", "19a2", "1a03", "1af4", "1b36", "80ee")
"""Vendors whose displays are a console, of a management controller or a virtual machine: Cirrus Logic, Matrox, QEMU,
Silicon Motion, Hyper-V, VMware, XGI, Emulex Pilot, ASPEED, virtio, QXL, VirtualBox."""

_GPU_CLASSES = ("0300", "0302", "0380")
_PROCESSING_ACCELERATOR = "1200"


class Maker(NamedTuple):
    """A row of the first table, and its rows of the second by device id: (mark, name)."""

    name: str
    vendor_ids: tuple[str, ...]
    kind: str
    modules: tuple[str, ...]
    rivals: tuple[str, ...]
    devices: Mapping[str, tuple[str, str]]


def _read() -> tuple[Maker, ...]:
    devices: dict[str, dict[str, tuple[str, str]]] = {}
    for line in _DEVICES.strip().splitlines():
        vendor_id, device_id, mark, name = line.split(None, 3)
        devices.setdefault(vendor_id, {})[device_id] = (mark, name)
    makers = []
    for line in _MAKERS.strip().splitlines():
        name, vendors, kind, modules, rivals = (line + " -").split()[:5]
        own = {one: row for vendor_id in vendors.split(",") for one, row in devices.get(vendor_id, {}).items()}
        makers.append(Maker(name, tuple(vendors.split(",")), kind, _names(modules), _names(rivals), own))
    return tuple(makers)


def _names(column: str) -> tuple[str, ...]:
    return () if column == "-" else tuple(column.split(","))


MAKERS = _read()
_BY_VENDOR = {vendor_id: maker for maker in MAKERS for vendor_id in maker.vendor_ids}
_BY_NAME = {maker.name: maker for maker in MAKERS}


def maker_of(function: Function) -> Optional[Maker]:
    """The maker of a function, by its vendor id; None for a vendor that the table does not have."""
    return _BY_VENDOR.get(function.vendor_id or "")


def maker_named(name: str) -> Optional[Maker]:
    """The row of a maker's name."""
    return _BY_NAME.get(name)


def _row(function: Function) -> tuple[str, str]:
    maker = maker_of(function)
    return ("-", "-") if maker is None else maker.devices.get(function.device_id or "", ("-", "-"))


def is_device(function: Function) -> bool:
    """Whether a function is an accelerator, as the contract says: by its class, else by the table."""
    category, mark = (function.pci_class or "")[:4], _row(function)[0]
    if mark == "never":
        return False
    if mark != "-" and category[:2] != "02":
        return True
    if category in _GPU_CLASSES:
        return function.vendor_id not in _MANAGEMENT_DISPLAYS
    return category == _PROCESSING_ACCELERATOR


def kind_of(function: Function) -> str:
    """``gpu``, ``npu`` or ``accelerator``."""
    if (function.pci_class or "")[:2] == "03":
        return "gpu"
    maker, mark = maker_of(function), _row(function)[0]
    if mark != "-":
        return mark
    return "accelerator" if maker is None else maker.kind


def model_of(function: Function) -> Optional[str]:
    """The name of a device, or None for one that the table does not have."""
    name = _row(function)[1]
    return None if name == "-" else name
