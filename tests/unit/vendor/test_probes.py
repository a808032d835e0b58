# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every maker's probe: the contract that all keep, and what each one reads."""

from __future__ import annotations

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.model.pci import Function
from ansible_collections.accelerator.ops.plugins.module_utils.vendor import ids, probes
from ansible_collections.accelerator.ops.plugins.module_utils.vendor.amd import kfd

FIELDS = {
    "integrated", "uuid", "serial", "memory_mib", "firmware", "partitions", "partition_mode", "fabric", "peer_memory",
}  # fmt: skip
PLACE = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"
NODES = kfd.NODES


def function(vendor, device="0001", pci_class="120000", address="0000:01:00.0", bridges=("0000:00:01.0",)):
    place = f"/sys/devices/pci0000:00/0000:00:01.0/{address}" if bridges else f"/sys/devices/pci0000:00/{address}"
    return Function(address, place, "pci0000:00", bridges, vendor, device, pci_class)


def nulls(fields, prefix=""):
    for key, value in fields.items():
        if value is None:
            yield prefix + key
        elif isinstance(value, dict):
            yield from nulls(value, f"{prefix}{key}.")


@pytest.mark.parametrize("name", probes.LOADERS)
def test_a_silent_kernel_gives_reasons_and_no_values(node, name):
    """On a tree with nothing but the PCI function every probe answers, and every null has a reason."""
    maker = ids.maker_named(name)
    devices = [function(vendor_id) for vendor_id in maker.vendor_ids]
    told = probes.probe_of(name)(node({f"{PLACE}/vendor": "x"}), devices, {})
    for device in devices:
        fields = told.fields[device.id]
        assert fields.keys() >= FIELDS
        assert set(nulls(fields)) <= told.unknown[device.id].keys()
        assert all(told.unknown[device.id].values())
        assert told.nodes[device.id] is not None


def test_a_maker_without_a_probe_has_none():
    assert probes.probe_of("tenstorrent") is None


INFORMATION = """Model: 		 NVIDIA H100 80GB HBM3
IRQ:   		 321
GPU UUID: 	 GPU-12345678-0000-0000-0000-000000000001
Video BIOS: 	 96.00.89.00.01
Bus Type: 	 PCIe
Bus Location: 	 0000:01:00.0
Device Minor: 	 3
GPU Firmware: 	 570.124.06
GPU Excluded:	 No
"""


def nvidia(node, files, others=None):
    told = probes.probe_of("nvidia")(node(files), [function("10de", "2330", "030200")], others or {})
    return told, told.fields["0000:01:00.0"], told.unknown["0000:01:00.0"]


def test_nvidia_reads_its_proc_files(node):
    told, fields, unknown = nvidia(node, {"/proc/driver/nvidia/gpus/0000:01:00.0/information": INFORMATION})
    assert fields["model"] == "NVIDIA H100 80GB HBM3"
    assert fields["uuid"] == "GPU-12345678-0000-0000-0000-000000000001"
    assert fields["firmware"] == {"vbios": "96.00.89.00.01", "gsp": "570.124.06"}
    assert told.nodes["0000:01:00.0"] == ["/dev/nvidia3"]
    assert fields["serial"] is None
    assert "tool" in unknown["serial"]


def test_nvidia_placeholders_are_no_values(node):
    text = INFORMATION.replace("GPU-12345678-0000-0000-0000-000000000001", "GPU-????????-????-????-????-????????????")
    text = text.replace("96.00.89.00.01", "??.??.??.??.??").replace("570.124.06", "N/A")
    _told, fields, unknown = nvidia(node, {"/proc/driver/nvidia/gpus/0000:01:00.0/information": text})
    assert fields["uuid"] is None
    assert fields["firmware"] == {"vbios": None, "gsp": None}
    assert {"uuid", "firmware.vbios", "firmware.gsp"} <= unknown.keys()


def test_nvidia_mig_instances_are_partitions(node):
    base = "/proc/driver/nvidia/capabilities/gpu3/mig"
    access = "DeviceFileMinor: {}\nDeviceFileMode: 292\nDeviceFileModify: 1\n"
    _told, fields, _unknown = nvidia(
        node,
        {
            "/proc/driver/nvidia/gpus/0000:01:00.0/information": INFORMATION,
            f"{base}/gi1/access": access.format(30),
            f"{base}/gi1/ci0/access": access.format(31),
            f"{base}/gi10/access": access.format(90),
            f"{base}/gi10/ci0/access": access.format(91),
            f"{base}/gi2/access": access.format(39),
            f"{base}/gi2/ci0/access": access.format(40),
            f"{base}/gi2/ci1/access": access.format(41),
        },
    )
    assert [(row["id"], row["nodes"][1]) for row in fields["partitions"]] == [
        ("3:0", "/dev/nvidia-caps/nvidia-cap31"),
        ("3:1", "/dev/nvidia-caps/nvidia-cap40"),
        ("3:2", "/dev/nvidia-caps/nvidia-cap41"),
        ("3:3", "/dev/nvidia-caps/nvidia-cap91"),
    ]


def test_nvidia_fabric_follows_from_the_switches(node):
    switch = function("10de", "22a3", "068000", "0000:07:00.0")
    _told, fields, unknown = nvidia(node, {"/x": ""}, {switch.id: switch})
    assert fields["fabric"] == {"kind": "nvlink", "state": None, "clique": None}
    assert "fabric.kind" not in unknown


def kfd_node(files, number, location, links=(), simd=416, **more):
    rows = {"cpu_cores_count": 0 if simd else 64, "simd_count": simd, "domain": 0, "location_id": location, **more}
    files[f"{NODES}/{number}/properties"] = "".join(f"{key} {value}\n" for key, value in rows.items())
    for index, (peer, kind, weight) in enumerate(links):
        files[f"{NODES}/{number}/io_links/{index}/properties"] = f"type {kind}\nnode_to {peer}\nweight {weight}\n"


def amd(node, files, *addresses):
    devices = [function("1002", "74a1", address=address) for address in addresses]
    return probes.probe_of("amd")(node(files), devices, {})


def test_amd_xgmi_links_are_rows_between_devices(node):
    files = {}
    kfd_node(files, 0, 0, [(1, kfd.PCIE, 20)], simd=0)
    kfd_node(files, 1, 0x100, [(0, kfd.PCIE, 20), (2, kfd.XGMI, 15)], hive_id=255)
    kfd_node(files, 2, 0x200, [(1, kfd.XGMI, 15), (3, kfd.XGMI, 30)], hive_id=255)
    kfd_node(files, 3, 0x300, [(2, kfd.XGMI, 30)], hive_id=255)
    told = amd(node, files, "0000:01:00.0", "0000:02:00.0", "0000:03:00.0")
    assert [(row["a"], row["b"], row["hops"]) for row in told.links] == [
        ("0000:01:00.0", "0000:02:00.0", 1),
        ("0000:02:00.0", "0000:03:00.0", 2),
    ]
    assert told.fields["0000:01:00.0"]["fabric"]["clique"] == "00000000000000ff"
    assert told.fields["0000:01:00.0"]["partitions"] == []
    assert told.links_unknown is None


@pytest.mark.parametrize("second", [0x101, 0x10000100], ids=["lowest bits", "highest bits"])
def test_amd_partitions_share_a_device(node, second):
    files = {}
    kfd_node(files, 1, 0x100, [(2, kfd.XGMI, 13), (3, kfd.XGMI, 41)], drm_render_minor=128)
    kfd_node(files, 2, second, [(1, kfd.XGMI, 13), (3, kfd.XGMI, 41)], drm_render_minor=129)
    kfd_node(files, 3, 0x200, [(1, kfd.XGMI, 41)], drm_render_minor=130)
    files[f"{PLACE}/current_compute_partition"] = "DPX\n"
    files[f"{PLACE}/current_memory_partition"] = "NPS1\n"
    told = amd(node, files, "0000:01:00.0", "0000:02:00.0")
    fields = told.fields["0000:01:00.0"]
    assert [(row["id"], row["nodes"]) for row in fields["partitions"]] == [
        ("0:0", ["/dev/dri/renderD128"]),
        ("0:1", ["/dev/dri/renderD129"]),
    ]
    assert fields["partition_mode"] == {"compute": "DPX", "memory": "NPS1"}
    assert [(row["a"], row["b"], row["hops"]) for row in told.links] == [("0000:01:00.0", "0000:02:00.0", 1)]


@pytest.mark.parametrize(
    ("weight", "hops"), [(15, 1), (30, 2), (45, 3), (41, 1), (56, 2), (13, None), (17, None), (0, None)]
)
def test_hops(weight, hops):
    assert kfd.hops(weight) == hops


@pytest.mark.parametrize("text", ["simd_count", "simd_count -1", "not a property", "\x00"])
def test_broken_kfd_properties_are_a_reason(node, text):
    nodes, reason = kfd.topology(node({f"{NODES}/1/properties": text}))
    assert nodes is None
    assert "nodes/1" in reason


def test_a_broken_kfd_link_is_a_reason(node):
    files = {f"{NODES}/1/io_links/0/properties": "type 11\nnode_to 2\n"}
    kfd_node(files, 1, 0x100)
    told = amd(node, files, "0000:01:00.0")
    assert told.links == ()
    assert "nodes/1" in told.links_unknown
    assert told.fields["0000:01:00.0"]["partitions"] is None


def test_amd_zero_ids_are_no_values(node):
    told = amd(node, {f"{PLACE}/unique_id": "0\n", f"{PLACE}/serial_number": "\n"}, "0000:01:00.0")
    assert told.fields["0000:01:00.0"]["uuid"] is None
    assert told.fields["0000:01:00.0"]["serial"] is None
    assert {"uuid", "serial"} <= told.unknown["0000:01:00.0"].keys()


@pytest.mark.parametrize(
    ("device", "pci_class", "address", "bridges", "integrated"),
    [
        ("5912", "030000", "0000:00:02.0", (), True),
        ("0bd6", "038000", "0000:00:05.0", (), False),
        ("56c0", "038000", "0000:03:00.0", ("0000:00:01.0",), False),
        ("7d1d", "120000", "0000:00:0b.0", (), True),
        ("9999", "030000", "0000:00:05.0", (), None),
        ("9999", "030000", "0000:00:05.0", None, None),
    ],
)
def test_intel_knows_its_own_graphics(node, device, pci_class, address, bridges, integrated):
    told = probes.probe_of("intel")(node({"/x": ""}), [function("8086", device, pci_class, address, bridges)], {})
    assert told.fields[address]["integrated"] is integrated
    assert ("integrated" in told.unknown[address]) == (integrated is None)


def test_intel_adds_the_memory_of_its_tiles(node):
    files = {f"{PLACE}/tile{tile}/physical_vram_size_bytes": f"{64 << 30:#x}\n" for tile in (0, 1)}
    told = probes.probe_of("intel")(node(files), [function("8086", "0bd5", "038000")], {})
    assert told.fields["0000:01:00.0"]["memory_mib"] == 131072


@pytest.mark.parametrize("folder", [PLACE, f"{PLACE}/accel/accel0", f"{PLACE}/habanalabs/hl0"])
def test_habana_finds_versions_where_the_kernel_puts_them(node, folder):
    told = probes.probe_of("habana")(node({f"{folder}/cpucp_ver": "1.18.0\n"}), [function("1da3", "1020")], {})
    assert told.fields["0000:01:00.0"]["firmware"] == {"cpucp": "1.18.0"}
