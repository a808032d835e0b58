# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who made a PCI function, whether it is an accelerator, and what it is called.

Source of vendor and device ids: the PCI ID database (pci.ids of 2026-08-22); of classes: PCI Code and ID
Assignment Specification 1.15; of modules: the makers' drivers and Linux 6.18. Last looked at 2026-12-01.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Optional

from ..model.pci import Function


class Maker(NamedTuple):
    """A maker by its PCI vendor ids.

    ``kind`` is what its functions outside the display classes are; ``models`` names devices; ``extra`` are devices
    outside the accelerator classes, with their kind; ``never`` devices inside them that compute nothing; ``modules``
    are its kernel modules, the one that drives a device first; ``rivals`` those that take the device away from it.
    """

    name: str
    vendor_ids: tuple[str, ...]
    kind: str
    models: Mapping[str, str] = {}
    extra: Mapping[str, str] = {}
    never: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()


MAKERS = (
    Maker(
        "nvidia",
        ("10de",),
        "gpu",
        {
            "15f8": "Tesla P100 PCIe 16GB",
            "15f9": "Tesla P100 SXM2 16GB",
            "1b38": "Tesla P40",
            "1db1": "Tesla V100 SXM2 16GB",
            "1db4": "Tesla V100 PCIe 16GB",
            "1db5": "Tesla V100 SXM2 32GB",
            "1db6": "Tesla V100 PCIe 32GB",
            "1db8": "Tesla V100 SXM3 32GB",
            "1eb8": "Tesla T4",
            "20b0": "A100 SXM4 40GB",
            "20b1": "A100 PCIe 40GB",
            "20b2": "A100 SXM4 80GB",
            "20b5": "A100 PCIe 80GB",
            "20b7": "A30 PCIe",
            "20bd": "A800 SXM4 40GB",
            "20f3": "A800 SXM4 80GB",
            "2235": "A40",
            "2236": "A10",
            "2237": "A10G",
            "2321": "H100 NVL 94GB",
            "2324": "H800",
            "2329": "H20",
            "2330": "H100 SXM5 80GB",
            "2331": "H100 PCIe",
            "2335": "H200 SXM 141GB",
            "233b": "H200 NVL",
            "2342": "GH200 120GB",
            "2348": "GH200 144G HBM3e",
            "26b5": "L40",
            "26b9": "L40S",
            "27b8": "L4",
            "2901": "B200",
            "2941": "GB200",
            "2bb5": "RTX PRO 6000 Blackwell Server Edition",
            "3182": "B300 SXM6",
            "31c2": "GB300",
        },
        modules=("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem"),
        rivals=("nouveau", "nova_core", "nova_drm", "nvidiafb"),
    ),
    Maker(
        "amd",
        ("1002", "1022"),
        "gpu",
        {
            "66a1": "Radeon Instinct MI50",
            "6860": "Radeon Instinct MI25",
            "738c": "Instinct MI100",
            "738e": "Instinct MI100",
            "7408": "Instinct MI250X",
            "740c": "Instinct MI250X/MI250",
            "740f": "Instinct MI210",
            "74a0": "Instinct MI300A",
            "74a1": "Instinct MI300X",
            "74a2": "Instinct MI308X",
            "74a5": "Instinct MI325X",
            "74b5": "Instinct MI300X VF",
            "74b9": "Instinct MI325X VF",
            "75a0": "Instinct MI350X",
            "75a3": "Instinct MI355X",
            "1502": "Ryzen AI NPU (Phoenix, Hawk Point)",
            "17f0": "Ryzen AI NPU (Strix, Krackan)",
        },
        extra={"1502": "npu", "17f0": "npu"},
        never=("474d", "474f", "4752", "515e"),  # Rage XL and ES1000: display of a management controller
        modules=("amdgpu", "amdkcl", "amdttm", "amd_sched", "amdxdna"),
        rivals=("radeon",),
    ),
    Maker(
        "intel",
        ("8086",),
        "npu",
        {
            "0b69": "Data Center GPU Max 1450",
            "0b6e": "Data Center GPU Max 1100C",
            "0bd4": "Data Center GPU Max 1550VG",
            "0bd5": "Data Center GPU Max 1550",
            "0bd6": "Data Center GPU Max 1550",
            "0bd9": "Data Center GPU Max 1100",
            "0bda": "Data Center GPU Max 1100",
            "0bdb": "Data Center GPU Max 1100",
            "2250": "Xeon Phi coprocessor 5100 series",
            "225c": "Xeon Phi coprocessor SE10/7120 series",
            "225d": "Xeon Phi coprocessor 3120 series",
            "225e": "Xeon Phi coprocessor 31S1",
            "2262": "Xeon Phi coprocessor 7220",
            "56a0": "Arc A770",
            "56a1": "Arc A750",
            "56c0": "Data Center GPU Flex 170",
            "56c1": "Data Center GPU Flex 140",
            "643e": "Core Ultra 200V NPU",
            "7d1d": "Core Ultra NPU",
            "7d55": "Core Ultra Arc Graphics",
            "ad1d": "Core Ultra 200 NPU",
            "b03e": "Core Ultra Series 3 NPU",
            "e20b": "Arc B580",
            "e211": "Arc Pro B60",
            "e212": "Arc Pro B50",
        },
        extra={
            "2250": "accelerator",
            "225c": "accelerator",
            "225d": "accelerator",
            "225e": "accelerator",
            "2262": "accelerator",
        },
        modules=("xe", "i915", "intel_vpu"),
    ),
    Maker(
        "habana",
        ("1da3",),
        "accelerator",
        {
            "0001": "Goya HL-1000",
            "0030": "Greco",
            "1000": "Gaudi HL-2000",
            "1010": "Gaudi HL-2000 (secured)",
            "1020": "Gaudi2",
            "1060": "Gaudi3",
            "1063": "Gaudi3 Add-In",
        },
        modules=("habanalabs", "habanalabs_cn", "habanalabs_en", "habanalabs_ib"),
    ),
    Maker("huawei", ("19e5",), "npu", {"d802": "Ascend 910B"}, never=("1711",), modules=("drv_davinci_intf_host",)),
    Maker(
        "aws",
        ("1d0f",),
        "accelerator",
        {
            "7064": "Inferentia",
            "7164": "Trainium",
            "7264": "Inferentia2",
            "7364": "Trainium2",
            "7564": "Trainium3",
            "7565": "Trainium3",
        },
        extra={
            "7064": "accelerator",
            "7164": "accelerator",
            "7264": "accelerator",
            "7364": "accelerator",
            "7564": "accelerator",
            "7565": "accelerator",
        },
        never=("1111",),  # display of an EC2 instance
        modules=("neuron",),
    ),
    Maker("google", ("1ae0",), "accelerator", modules=("gasket", "apex")),
    Maker(
        "globalunichip",
        ("1ac1",),
        "accelerator",
        {"089a": "Coral Edge TPU"},
        extra={"089a": "accelerator"},
        modules=("apex", "gasket"),
    ),
    Maker(
        "qualcomm", ("17cb",), "accelerator", {"a100": "Cloud AI 100"}, extra={"a100": "accelerator"}, modules=("qaic",)
    ),
    Maker(
        "tenstorrent",
        ("1e52",),
        "accelerator",
        {"401e": "Wormhole", "b140": "Blackhole", "faca": "Grayskull"},
        modules=("tenstorrent",),
    ),
    Maker(
        "cambricon",
        ("cabc",),
        "accelerator",
        {"0270": "MLU270-S4", "0370": "MLU370-S4"},
        extra={"0270": "accelerator", "0370": "accelerator"},
        modules=("cambricon_drv",),
    ),
    Maker(
        "moorethreads",
        ("1ed5",),
        "gpu",
        {
            "0106": "MTT S60",
            "0111": "MTT S100",
            "0122": "MTT S1000",
            "0123": "MTT S2000",
            "0201": "MTT S80",
            "0222": "MTT S3000",
        },
        modules=("mtgpu",),
    ),
    Maker("hygon", ("1d94",), "gpu", {"6211": "K100_AI"}, modules=("hydcu", "hycu")),
    Maker("metax", ("9999",), "gpu", {"0a01": "C500"}, modules=("metax",)),
    Maker("iluvatar", ("1e3e",), "gpu", modules=("iluvatar",)),
    Maker(
        "enflame",
        ("1e36",),
        "accelerator",
        {
            "0001": "T10",
            "0021": "T20 (32GB)",
            "0022": "T20 (64GB)",
            "8001": "I20",
            "8011": "I10",
            "c035": "S60",
            "c042": "L600",
        },
        modules=("enflame", "dtu"),
    ),
    Maker(
        "baidu",
        ("1d22",),
        "accelerator",
        {"3684": "Kunlun", "3685": "Kunlun2 (VF)"},
        extra={"3684": "accelerator", "3685": "accelerator"},
        modules=("kunlun",),
    ),
    Maker(
        "furiosa",
        ("1ed2",),
        "npu",
        {"0000": "Warboy", "0001": "RNGD", "0002": "RNGD-Plus", "2222": "RNGD-S"},
        extra={"0000": "npu", "0001": "npu", "0002": "npu", "2222": "npu"},
        modules=("rngd", "npu_mgmt"),
    ),
    Maker(
        "rebellions",
        ("1eff",),
        "npu",
        {
            "1220": "RBLN-CA22",
            "1221": "RBLN-CA22 (VF)",
            "1250": "RBLN-CA25",
            "1251": "RBLN-CA25 (VF)",
            "2030": "RBLN-CR03",
        },
        modules=("rebellions",),
    ),
    Maker("sapeon", ("1f56",), "npu"),
    Maker(
        "hailo",
        ("1e60",),
        "npu",
        {"2864": "Hailo-8", "45c4": "Hailo-10H"},
        extra={"2864": "npu", "45c4": "npu"},
        modules=("hailo_pci",),
    ),
    Maker(
        "graphcore", ("1d95",), "accelerator", {"0001": "Colossus GC2", "0002": "Colossus GC1"}, modules=("ipu_driver",)
    ),
    Maker("groq", ("1de0",), "accelerator", {"0000": "GroqChip"}, extra={"0000": "accelerator"}, modules=("groqA0",)),
    Maker("sambanova", ("1e0d",), "accelerator", modules=("rdu",)),
    Maker("dmatrix", ("1f82",), "accelerator", {"0011": "Corsair"}, extra={"0011": "accelerator"}),
    Maker(
        "axelera",
        ("1f9d",),
        "accelerator",
        {"0001": "Europa", "1100": "Metis", "11aa": "Metis (rev 01)"},
        extra={"0001": "accelerator", "1100": "accelerator", "11aa": "accelerator"},
        modules=("metis",),
    ),
    Maker(
        "deepx",
        ("1ff4",),
        "npu",
        {"0100": "M1", "0101": "M1 H1", "0110": "M1M", "0111": "M1M H1M"},
        extra={"0100": "npu", "0101": "npu", "0110": "npu", "0111": "npu"},
        modules=("dxrt_driver",),
    ),
    Maker("blaize", ("1e38",), "accelerator", {"0102": "Xplorer X1600"}, extra={"0102": "accelerator"}),
    Maker(
        "untether",
        ("1e67",),
        "accelerator",
        {"0002": "runAI200", "0004": "speedAI240"},
        extra={"0002": "accelerator", "0004": "accelerator"},
    ),
    Maker(
        "vastai",
        ("1ec6",),
        "accelerator",
        {"0100": "SV100", "0200": "SG100", "020f": "SG100 vGPU", "0300": "SR100"},
        extra={"0100": "accelerator", "0200": "accelerator", "020f": "accelerator", "0300": "accelerator"},
    ),
    Maker(
        "nextsilicon",
        ("cdfa",),
        "accelerator",
        {"0007": "Maverick", "0009": "Maverick-2"},
        extra={"0007": "accelerator", "0009": "accelerator"},
    ),
    Maker(
        "kalray",
        ("1d26",),
        "accelerator",
        {"0040": "Turbocard2", "00c0": "Turbocard3"},
        extra={"0040": "accelerator", "00c0": "accelerator"},
    ),
)
"""Makers of accelerators. One line here makes a maker known."""

OFF_PCI_DRIVERS = {"rocket": "rockchip", "ethosu": "arm", "ethos-u": "arm"}
"""Makers of devices off PCI (``/sys/class/accel``) by their kernel driver (Linux 6.18 ``drivers/accel``)."""

_MANAGEMENT_DISPLAYS = {
    "1013": "Cirrus Logic",
    "102b": "Matrox",
    "1234": "QEMU",
    "126f": "Silicon Motion",
    "1414": "Hyper-V",
    "15ad": "VMware",
    "18ca": "XGI",
    "19a2": "Emulex Pilot",
    "1a03": "ASPEED",
    "1af4": "virtio",
    "1b36": "QXL",
    "80ee": "VirtualBox",
}
"""Vendors whose display controllers are a console, of a management controller or of a virtual machine."""

_GPU_CLASSES = ("0300", "0302", "0380")
_PROCESSING_ACCELERATOR = "1200"
_BY_VENDOR = {vendor_id: maker for maker in MAKERS for vendor_id in maker.vendor_ids}


def maker_of(function: Function) -> Optional[Maker]:
    """The maker of a function, by its vendor id; None for a vendor that the table does not have."""
    return _BY_VENDOR.get(function.vendor_id or "")


def maker_named(name: str) -> Optional[Maker]:
    """The row of a maker's name."""
    return next((maker for maker in MAKERS if maker.name == name), None)


def is_device(function: Function) -> bool:
    """Whether a function is an accelerator, as the contract says: by its class, else by the table."""
    maker, category = maker_of(function), (function.pci_class or "")[:4]
    if maker is not None and function.device_id in maker.never:
        return False
    if maker is not None and function.device_id in maker.extra and category[:2] != "02":
        return True
    if category in _GPU_CLASSES:
        return function.vendor_id not in _MANAGEMENT_DISPLAYS
    return category == _PROCESSING_ACCELERATOR


def kind_of(function: Function) -> str:
    """``gpu``, ``npu`` or ``accelerator``."""
    maker = maker_of(function)
    if (function.pci_class or "")[:2] == "03":
        return "gpu"
    if maker is None:
        return "accelerator"
    return maker.extra.get(function.device_id or "", maker.kind)
