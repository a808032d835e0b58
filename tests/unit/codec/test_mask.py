# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What masking hides, what it leaves, and that doing it again changes nothing."""

from __future__ import annotations

import time

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec.mask import Masker
from ansible_collections.accelerator.ops.plugins.module_utils.model.recorded import Item, Recorded, Said


def recorded(files, said=()):
    """A recording of ``{path: text | bytes | Item}`` and ``(argv, stdout)`` pairs."""
    items = {}
    for path, content in files.items():
        if not isinstance(content, Item):
            content = Item("file", content.encode() if isinstance(content, str) else content)
        items[path] = content
    return Recorded(items, tuple(Said(tuple(argv), 0, out, None) for argv, out in said), True, False)


def mask(files, said=(), hints=None, public=()):
    """The masked recording; masking it again must change nothing."""
    masked = Masker(recorded(files, said), hints or {}, public).masked()
    again = Masker(masked, {}, public)
    assert again.masked() == masked
    assert again.counts() == {}
    return masked


def one(text, path="/sys/some/file", **more):
    return mask({path: text}, **more).items[path].content.decode()


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("/proc/driver/nvidia/gpus/0/information", "GPU UUID: GPU-4a6b1c2d-0e1f-4a5b-8c7d-9e8f7a6b5c4d",
         "GPU UUID: GPU-00000000-0000-0000-0000-000000000001"),
        ("/etc/machine-id", "4a6b1c2d0e1f4a5b8c7d9e8f7a6b5c4d\n", "00000000000000000000000000000001\n"),
        ("/sys/class/net/a/address", "b8:59:9f:0a:1B:2c\n", "02:00:00:00:00:01\n"),
        ("/sys/class/infiniband/m/node_guid", "b859:9f03:000a:1b2c\n", "0200:0000:0000:0001\n"),
        ("/sys/class/infiniband/m/gid", "fe80:0000:0000:0000:b859:9f03:000a:1b2c",
         "2001:0db8:0000:0000:0000:0000:0000:0001"),
        ("/sys/class/net/ib0/address", "80:00:02:08:fe:80:00:00:00:00:00:00:b8:59:9f:03:00:0a:1b:2c",
         "02:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:01"),
        ("/sys/x/note", "at 10.20.30.40/24 and 2a02:908:1::7", "at 192.0.2.1/24 and 2001:db8::1"),
        ("/sys/class/nvme/nvme0/serial", "S64DNX0R123456    \n", "ACCEL000001    \n"),
        ("/sys/class/dmi/id/product_serial", "7XK29A3\n", "ACCEL000001\n"),
        ("/sys/class/drm/card0/device/unique_id", "8cf0b4d1e2a34f56\n", "acce1e0000000001\n"),
        ("/sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 304\nunique_id 10155654370236190550\ndomain 0",
         f"simd_count 304\nunique_id {0xACCE1E0000000001}\ndomain 0"),
        ("/sys/class/nvme/nvme0/subsysnqn", "nqn.1994-11.com.samsung:nvme:PM1733:2.5-inch:S4YNNE0N800321",
         "nqn.1994-11.com.samsung:ACCEL000001"),
        ("/proc/cmdline", "root=PARTUUID=1a2b3c4d-02 ro", "root=PARTUUID=ACCEL000001 ro"),
        ("/proc/cmdline", "root=UUID=4A6B-1C2D ro quiet", "root=UUID=ACCEL000001 ro quiet"),
        ("/proc/cmdline", "BOOTIF=01-b8-59-9f-0a-1b-2c quiet", "BOOTIF=01-02-00-00-00-00-01 quiet"),
        ("/proc/cmdline", "ip=10.1.2.3::10.1.2.1:255.255.255.0:heron:eth0:none rw",
         "ip=192.0.2.1::192.0.2.2:255.255.255.0:masked-host-1:eth0:none rw"),
        ("/proc/cmdline", "systemd.hostname=heron.nest.example.org",
         "systemd.hostname=masked-host-1.masked-domain-1.invalid"),
        ("/proc/cmdline", "x.password=hunter22 y_token=abc quiet",
         "x.password=masked-value-1 y_token=masked-value-2 quiet"),
        ("/proc/cmdline", "inst.ks=https://bob:hunter22@kick.corp.example.net/ks?a=1",
         "inst.ks=https://masked-value-1:masked-value-2@masked-host-1.masked-domain-1.invalid/ks?a=1"),
        ("/proc/cmdline", "join=Zm9vYmFyMTIzNDU2Nzg5MAxY quiet", "join=masked-value-1 quiet"),
        ("/proc/cmdline", "rd.iscsi.initiator=iqn.2004-10.com.ubuntu:01:abcdef12 ro",
         "rd.iscsi.initiator=iqn.2004-10.com.ubuntu:ACCEL000001 ro"),
        ("/boot/grub/grub.cfg", "search --no-floppy --fs-uuid --set=root 4A6B-1C2D\n",
         "search --no-floppy --fs-uuid --set=root ACCEL000001\n"),
        ("/boot/grub/grub.cfg", "password_pbkdf2 root grub.pbkdf2.sha512.10000.AB12\n",
         "password_pbkdf2 root masked-value-1\n"),
        ("/proc/sys/kernel/hostname", "heron.nest.example.org\n", "masked-host-1.masked-domain-1.invalid\n"),
        ("/etc/passwd", "root:$6$abc:0:0:Jo Root:/root:/bin/sh\ntmueller:x:1000:1000:Tom M,,:/u/tom:/bin/zsh\n",
         "root:x:0:0::/root:/bin/sh\nmasked-user-1:x:1000:1000::/home/masked-user-1:/bin/zsh\n"),
        ("/etc/group", "video:x:44:tmueller,zoe\nstaffers:x:2000:\n",
         "video:x:44:masked-user-1,masked-user-2\nmasked-user-3:x:2000:\n"),
        ("/sys/bus/pci/devices/x/uevent", "NAME=enxb8599f0a1b2c", "NAME=enx020000000001"),
    ],
)  # fmt: skip
def test_a_secret_is_masked(path, text, expected):
    assert one(text, path) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<serial>1564720004631</serial>\n<x>1</x>", "<serial>ACCEL000001</serial>\n<x>1</x>"),
        ('{"asic_serial": "0x8CF0B4D1E2A34F56", "n": 1}', '{"asic_serial": "0xacce1e0000000001", "n": 1}'),
        ('{"Serial Number": "PCB052", "PCI Bus": "0000:83:00.0"}',
         '{"Serial Number": "ACCEL000001", "PCI Bus": "0000:83:00.0"}'),
        ("    Serial Number               : 1564720004631\n    Minor : 3",
         "    Serial Number               : ACCEL000001\n    Minor : 3"),
        ("| 0 | SOC UUID: 01P0-HL2080A0-15  |", "| 0 | SOC UUID: ACCEL000001  |"),
        ("index, uuid, serial\n0, GPU-4a6b1c2d-0e1f-4a5b-8c7d-9e8f7a6b5c4d, 1564720004631\n",
         "index, uuid, serial\n0, GPU-00000000-0000-0000-0000-000000000001, ACCEL000001\n"),
        ("Serial Number : N/A\nUUID: [Not Supported]\n<serial>0</serial>",
         "Serial Number : N/A\nUUID: [Not Supported]\n<serial>0</serial>"),
        ("signer:         heron Secure Boot Module Signature key",
         "signer:         masked-host-1 Secure Boot Module Signature key"),
        ("sig_key:        12:34:56:78:9A:BC:DE", "sig_key:        ACCEL000001"),
    ],
)  # fmt: skip
def test_a_secret_in_what_a_program_says(text, expected):
    masked = mask({}, [(["tool"], text)], hints={"/etc/hostname": "heron\n"})
    assert masked.said[0].stdout == expected


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/sys/bus/pci/devices/0000:18:00.0/uevent", "DRIVER=nvidia\nPCI_ID=10DE:2330\nPCI_SLOT_NAME=0000:18:00.0\n"),
        ("/sys/devices/x/modalias", "pci:v000010DEd00002330sv000010DEsd000016C1bc03sc02i00"),
        ("/sys/devices/x/resource", "0x00000000fc000000 0x00000000fcffffff 0x0000000000040200\n"),
        ("/sys/devices/x/local_cpus", "00000000,00000000,0000ffff,ffffffff\n"),
        ("/proc/driver/nvidia/gpus/0/information", "Video BIOS: 96.00.74.00.01\nGPU Firmware: 570.86.15\n"),
        ("/sys/module/x/version", "4.18.0.372\n"),
        ("/sys/class/infiniband/m/fw_ver", "28.39.1002\n"),
        ("/lib/modules/6.8.0/modules.dep", "kernel/drivers/usb/serial/a.ko: kernel/drivers/usb/serial/usbserial.ko\n"),
        ("/proc/modules", "usbserial 57344 1 ftdi_sio, Live 0x0000000000000000\n"),
        ("/sys/class/net/lo/address", "00:00:00:00:00:00\n"),
        ("/sys/x/broadcast", "ff:ff:ff:ff:ff:ff\n"),
        ("/sys/x/gid", "0000:0000:0000:0000:0000:0000:0000:0000\n"),
        ("/sys/x/t", "12:34:56 2026-01-02T03:04:05 a::method ::1 127.0.0.1 255.255.255.0\n"),
        ("/sys/class/dmi/id/board_serial", "To be filled by O.E.M.\n"),
        ("/sys/class/dmi/id/product_uuid", "00000000-0000-0000-0000-000000000000\n"),
        ("/proc/cmdline", "BOOT_IMAGE=(hd0,gpt2)/vmlinuz-5.14.0-427.59.1.el9_4.x86_64 root=/dev/sda2 ro console=ttyS0"),
        ("/proc/cmdline", "root=LABEL=cloudimg-rootfs iommu=pt hugepages=64 module_blacklist=nouveau,amdgpu"),
        ("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"),
        ("/etc/group", "video:x:44:\nrender:x:109:root\n"),
        ("/proc/sys/kernel/hostname", "(none)\n"),
        ("/sys/x/unique_id", "3\n"),
    ],
)  # fmt: skip
def test_what_tells_no_machine_apart_stays(path, text):
    hints = {"/etc/passwd": "root:x:0:0::/root:/bin/sh\n"}
    assert Masker(recorded({path: text}), hints, ()).masked().items[path].content.decode() == text


def test_one_secret_has_one_mask_wherever_it_stands():
    serial, number = "S64DNX0R123456", 0x8CF0B4D1E2A34F56
    masked = mask(
        {
            "/a/serial": serial,
            "/b/text": f"disk {serial.lower()}.",
            f"/dev/disk/by-id/nvme-SAMSUNG_{serial}": Item("link", target=f"../{serial}/x"),
            "/dev/disk/by-id": Item("dir", unread=(f"wwn-{serial}",)),
            "/k/properties": f"unique_id {number}",
            "/k/unique_id": f"{number:016x}",
        },
        [(["show", serial], f"serial {serial} id 0x{number:X}")],
    )
    assert masked.items["/b/text"].content == b"disk ACCEL000001."
    assert masked.items["/dev/disk/by-id/nvme-SAMSUNG_ACCEL000001"].target == "../ACCEL000001/x"
    assert masked.items["/dev/disk/by-id"].unread == ("wwn-ACCEL000001",)
    assert int(masked.items["/k/unique_id"].content, 16) == int(masked.items["/k/properties"].content.split()[1])
    assert masked.said[0].argv == ("show", "ACCEL000001")
    assert masked.said[0].stdout == "serial ACCEL000001 id 0xacce1e0000000001"


def test_an_address_is_found_without_its_colons():
    masked = mask(
        {"/sys/class/net/enxb8599f0a1b2c/address": "b8:59:9f:0a:1b:2c\n", "/x": "0xb8599f0a1b2c b8599f0a1b2c"}
    )
    assert masked.items["/sys/class/net/enx020000000001/address"].content == b"02:00:00:00:00:01\n"
    assert masked.items["/x"].content == b"0x020000000001 020000000001"


def test_numbers_follow_the_sorted_paths():
    masked = mask({"/b/serial": "BBBB2222", "/a/serial": "ZZZZ9999", "/c": "BBBB2222 ZZZZ9999"})
    assert masked.items["/c"].content == b"ACCEL000002 ACCEL000001"


def test_a_mask_that_is_there_keeps_its_number():
    masked = mask({"/a/serial": "NEW12345", "/b/serial": "ACCEL000001", "/c/serial": "OTHER678"})
    assert [masked.items[path].content for path in sorted(masked.items)] == [
        b"ACCEL000002",
        b"ACCEL000001",
        b"ACCEL000003",
    ]


def test_more_addresses_than_the_documentation_has():
    text = " ".join(f"10.1.{at // 250}.{at % 250 + 1}" for at in range(300))
    words = one(text).split()
    assert words[253:256] == ["192.0.2.254", "198.18.0.255", "198.18.1.0"]
    assert len(set(words)) == 300


@pytest.mark.parametrize("name", ["nvidia", "node2", "eth0", "localhost", "ab"])
def test_a_name_that_is_a_word_of_the_system_stays_elsewhere(name):
    files = {"/proc/driver/nvidia/x": f"module nvidia, node2, eth0, ab, {name}", "/sys/node/node2/cpu": "1"}
    masked = mask(
        files, hints={"/etc/hostname": name, "/etc/passwd": f"{name}:x:1000:1000::/:/bin/sh"}, public=("nvidia",)
    )
    assert masked.items == recorded(files).items


def test_a_host_name_in_a_volume_group():
    masked = mask(
        {"/proc/cmdline": "root=/dev/mapper/rhel_heron-root rd.lvm.lv=rhel_HERON/root"},
        hints={"/etc/hostname": "heron"},
    )
    assert masked.items["/proc/cmdline"].content == (
        b"root=/dev/mapper/rhel_masked-host-1-root rd.lvm.lv=rhel_masked-host-1/root"
    )


def test_efi_variables():
    name = "/sys/firmware/efi/efivars/LoaderEntryDefault-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
    text = "4a6b1c2d0e1f4a5b8c7d9e8f7a6b5c4d-6.1.0.conf\0"
    masked = mask({name: b"\6\0\0\0" + text.encode("utf-16-le")})
    assert masked.items[name].content == b"\6\0\0\0" + ("0" * 31 + "1-6.1.0.conf\0").encode("utf-16-le")


def test_the_serial_number_in_a_configuration_space():
    space = bytearray(4096)
    space[0x100:0x104] = (3 | 1 << 16 | 0x200 << 20).to_bytes(4, "little")
    space[0x104:0x10C] = bytes.fromhex("b8599fffff0a1b2c")[::-1]
    space[0x200:0x204] = (0xD | 1 << 16).to_bytes(4, "little")
    masked = mask({"/sys/devices/x/config": bytes(space), "/y": "b8-59-9f-ff-ff-0a-1b-2c"})
    expected = bytearray(space)
    expected[0x104:0x10C] = bytes.fromhex("0200000000000001")[::-1]
    assert masked.items["/sys/devices/x/config"].content == bytes(expected)
    assert masked.items["/y"].content == b"02-00-00-00-00-00-00-01"


def test_bytes_keep_their_places():
    content = (
        b"\x7fELF\1\2\xff heron.key \0 4a6b1c2d-0e1f-4a5b-8c7d-9e8f7a6b5c4d b8:59:9f:0a:1b:2c "
        + "xx heron1".encode("utf-16-le")
    )
    masked = (
        mask({"/x": content}, hints={"/etc/hostname": "heron1", "/proc/sys/kernel/hostname": "heron"})
        .items["/x"]
        .content
    )
    assert len(masked) == len(content)
    assert b"heron" not in masked.replace(b"\0", b"")
    assert b"00000000-0000-0000-0000-000000000001 02:00:00:00:00:01" in masked


@pytest.mark.parametrize("start", [b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"BZh"])
def test_a_packed_file_is_left_out(start):
    masker = Masker(recorded({"/x": start + b"heron", "/y": "1"}), {}, ())
    assert masker.left_out == ["/x"]
    assert masker.masked().items["/x"] == Item("file", error="not recorded")


def test_names_that_differ_in_case_alone_stay_two():
    assert len(mask({"/a/serial": "ABCD1234", "/d/ABCD1234": "1", "/d/abcd1234": "2"}).items) == 3


_HARD = (
    "a_",
    "serial ",
    "1:",
    "token",
    "x.",
    "://a.b",
    "aa:",
    "aaaa:",
    "a-",
    "1.1.",
    "version ",
    "iqn.2000-01.",
    "ip=a",
)


@pytest.mark.parametrize("piece", [*_HARD, "--fs-uuid ", '"serial": "a",', "enx"])
def test_a_long_line_costs_no_minutes(piece):
    """No pattern may try every pair of places: that took 20 to 50 s for these lines, and now takes under 2 s."""
    start = time.monotonic()
    for path in ("/x", "/proc/cmdline"):
        one(piece * (100_000 // len(piece)), path)
    assert time.monotonic() - start < 15
