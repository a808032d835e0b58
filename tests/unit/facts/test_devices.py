# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Accelerators as rows: device files, devices off PCI, makers that nobody knows, files that fail while read."""

from __future__ import annotations

import errno
import json

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import MANIFEST, Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import devices, pci
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe

PLACE = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"


def card(vendor="0x10de", device="0x2330", pci_class="0x030200", address="0000:01:00.0"):
    place = f"/sys/devices/pci0000:00/0000:00:01.0/{address}"
    return {
        "/sys/bus/pci/devices/0000:00:01.0": ("link", "../../../devices/pci0000:00/0000:00:01.0"),
        "/sys/devices/pci0000:00/0000:00:01.0/vendor": "0x8086\n",
        f"/sys/bus/pci/devices/{address}": ("link", f"../../../devices/pci0000:00/0000:00:01.0/{address}"),
        f"{place}/vendor": vendor + "\n",
        f"{place}/device": device + "\n",
        f"{place}/class": pci_class + "\n",
        f"{place}/uevent": "",
    }


def rows(host):
    return devices.observe(host, pci.functions(host)[0]).rows


def test_device_files_come_with_owner_and_mode(node):
    files = card()
    files[f"{PLACE}/drm/renderD128/uevent"] = "MAJOR=226\nMINOR=128\nDEVNAME=dri/renderD128\n"
    files[f"{PLACE}/drm/card1/uevent"] = "MAJOR=226\nMINOR=1\nDEVNAME=dri/card1\n"
    files["/dev/dri/renderD128"] = ""
    files["/dev/nvidiactl"] = ""
    files["/etc/group"] = "root:x:0:\nrender:x:105:\n"
    files["/etc/passwd"] = "root:x:0:0::/root:/bin/sh\n"
    files[MANIFEST] = json.dumps(
        {
            "/dev/dri/renderD128": {"kind": "char", "mode": 0o660, "gid": 105, "major": 226, "minor": 128},
            "/dev/nvidiactl": {"kind": "char", "mode": 0o666, "uid": 7, "major": 195, "minor": 255},
        }
    )
    [row] = rows(node(files))
    assert row["nodes"] == [
        {
            "path": "/dev/dri/renderD128",
            "major": 226,
            "minor": 128,
            "mode": "0660",
            "owner": "root",
            "group": "render",
            "shared": False,
        },
        {
            "path": "/dev/nvidiactl",
            "major": 195,
            "minor": 255,
            "mode": "0666",
            "owner": "7",
            "group": "root",
            "shared": True,
        },
    ]
    assert row["unknown"]["nodes./dev/dri/card1"] == "not there"


def test_a_file_in_place_of_a_device_is_none(node):
    files = {**card(), f"{PLACE}/drm/card1/uevent": "DEVNAME=dri/card1\n", "/dev/dri/card1": "I am a file"}
    [row] = rows(node(files))
    assert row["nodes"] == []
    assert "not a device" in row["unknown"]["nodes./dev/dri/card1"]


def test_a_root_without_dev_says_so(node):
    [row] = rows(node(card()))
    assert row["nodes"] is None
    assert row["unknown"]["nodes"] == "this root has no /dev"


def test_a_stranger_is_a_device_without_a_maker(node):
    [row] = rows(node(card("0xbeef", "0x0001", "0x120000")))
    assert (row["kind"], row["maker"], row["model"]) == ("accelerator", None, None)
    assert "beef" in row["unknown"]["maker"]
    assert row["pci"]["vendor_id"] == "beef"


def test_devices_off_pci_are_named_by_their_path(node):
    files = {
        "/sys/bus/pci/devices/.keep": "",
        "/sys/class/accel/accel0": ("link", "../../devices/platform/fdab0000.npu/accel/accel0"),
        "/sys/devices/platform/fdab0000.npu/accel/accel0/device": ("link", "../../../fdab0000.npu"),
        "/sys/devices/platform/fdab0000.npu/accel/accel0/uevent": "DEVNAME=accel/accel0\n",
        "/sys/devices/platform/fdab0000.npu/subsystem": ("link", "../../../bus/platform"),
        "/sys/devices/platform/fdab0000.npu/driver": ("link", "../../../bus/platform/drivers/rocket"),
        "/sys/devices/platform/fdab0000.npu/uevent": "",
        "/sys/bus/platform/drivers/rocket/bind": "",
    }
    [row] = rows(node(files))
    assert (row["id"], row["maker"], row["kind"]) == ("platform/fdab0000.npu", "rockchip", "npu")
    assert row["pci"] is None
    assert row["unknown"]["pci"] == "not on PCI"


def test_two_runs_are_equal_and_every_null_of_a_device_has_a_reason(node):
    host = node(card())
    first, second = (json.dumps(observe(Host(host.root))) for _run in range(2))
    assert first == second
    [row] = json.loads(first)["devices"]

    def nulls(value, prefix):
        for key, inner in value.items():
            if inner is None:
                yield prefix + key
            elif isinstance(inner, dict) and key != "unknown":
                yield from nulls(inner, f"{prefix}{key}.")

    free = {"driver.name", "driver.version", "sriov", "link.limited_by"}  # null means: there is none
    assert set(nulls(row, "")) - free <= row["unknown"].keys()


def test_files_that_fail_while_read_are_reasons(node):
    class Dying(Host):
        def _read_raw(self, place, limit, offset=0):
            raise OSError(errno.EIO, "Input/output error")

    facts = observe(node(card(), Dying))
    assert facts["devices"] == []  # a function whose class cannot be read is no device that we know of
    assert facts["unknown"]["devices.0000:01:00.0"] == "its class could not be read, so it may be one"


def test_files_that_vanish_while_read_are_reasons(node):
    class Vanishing(Host):
        def _read_raw(self, place, limit, offset=0):
            if place.endswith(("/class", "/vendor", "/device")):
                return super()._read_raw(place, limit, offset)
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    [row] = rows(node({**card(), f"{PLACE}/numa_node": "1\n"}, Vanishing))
    assert row["numa_node"] is None
    assert row["unknown"]["numa_node"] == "not there"


def test_a_root_without_sys_means_unknown_and_never_none(node):
    facts = observe(node({"/etc/hostname": "golden\n"}))
    for section in ("devices", "links", "distances", "bridges", "nics", "storage", "numa_nodes"):
        assert facts[section] is None, section
        assert facts["unknown"][section], section
    assert [source["status"] for source in facts["sources"]] == ["absent", "absent"]


def test_a_copy_that_followed_the_links_tells_no_group_and_no_physical_function(node):
    files = card()
    files[f"{PLACE}/iommu_group/type"] = "DMA"
    files[f"{PLACE}/physfn/vendor"] = "0x10de"
    row = rows(node(files))[0]
    assert row["iommu_group"] is row["sriov"]["physical_function"] is None
    assert "iommu_group" in row["unknown"]["iommu_group"]
    assert "physfn" in row["unknown"]["sriov.physical_function"]


def test_empty_files_are_no_values(node):
    files = card()
    files[f"{PLACE}/driver"] = ("link", "/")
    files["/proc/cmdline"] = "\n"
    seen = observe(node(files))
    row = seen["devices"][0]
    assert row["driver"] == {"name": None, "version": None}
    assert "unexpected" in row["unknown"]["driver.name"]
    assert seen["kernel"]["command_line"] is None
    assert seen["kernel"]["unknown"]["command_line"] == "the file is empty"
    files[f"{PLACE}/driver"] = ("link", "../../../../../bus/pci/drivers/nvidia")
    files["/sys/module/nvidia/version"] = "\n"
    row = rows(node(files))[0]
    assert row["driver"] == {"name": "nvidia", "version": None}
    assert row["unknown"]["driver.version"] == "the file is empty"


def test_names_in_other_digits_are_no_numbers(node):
    files = card("0x1002", "0x74a1")
    files["/sys/class/kfd/kfd/topology/nodes/\u00b2/properties"] = "simd_count 1\n"
    files["/etc/passwd"] = "root:x:\u00b2:0::/root:/bin/sh\n"
    files[f"{PLACE}/drm/card1/uevent"] = "DEVNAME=dri/card1\n"
    files["/dev/dri/card1"] = ""
    files[MANIFEST] = json.dumps({"/dev/dri/card1": {"kind": "char", "major": 226, "minor": 1}})
    assert rows(node(files))[0]["nodes"][0]["owner"] == "0"
