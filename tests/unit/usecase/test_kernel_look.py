# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``kernel_config`` sees of a node: trees of every kind of boot loader, and this machine itself."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import kernel_config
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.kernel.seen import Module, Ramdisk, Text

HEAD = """
load_env
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
else
   set default="${saved_entry}"
fi
"""
MENU = f"{HEAD}\nmenuentry A {{\n  linux /boot/vmlinuz-6.1 ro\n}}\n"
BLS = f"{HEAD}\nblscfg\n"
MKCONFIG = 'for x in ${sysconfdir}/default/grub.d/*.cfg ; do\n  . "${x}"\ndone\n'
DEP = "kernel/drivers/gpu/drm/nouveau/nouveau.ko.xz: kernel/x.ko.xz\nupdates/dkms/nvidia-current.ko:\n"
DEBIAN = {
    "/boot/grub/grub.cfg": MENU,
    "/usr/sbin/grub-mkconfig": MKCONFIG,
    "/etc/default/grub": "GRUB_CMDLINE_LINUX_DEFAULT=quiet\n",
    "/etc/default/grub.d/50-x.cfg": "# x\n",
    "/etc/default/grub.d/accelerator-ops.cfg": "# ours\n",
    "/etc/default/grub.d/no.txt": "",
}
ENTRIES = {
    "/boot/grub2/grub.cfg": BLS,
    "/boot/grub2/grubenv": "# GRUB Environment Block\nkernelopts=root=/dev/a ro\n####",
    "/boot/loader/entries/m-6.1.conf": "linux /vmlinuz-6.1\nversion 6.1\noptions $kernelopts\n",
    "/boot/loader/entries/m-6.2.conf": "linux /vmlinuz-6.2\nversion 6.2\noptions $kernelopts\n",
    "/boot/loader/entries/m-0-rescue.conf": "linux /vmlinuz-0-rescue-1\nversion 0-rescue\noptions ro\n",
}
ASKED = {"command_line": ["iommu=pt"]}


def boot_of(node, files):
    return kernel_config.observe(node(files), ASKED)


def test_grub_with_drop_ins(node):
    seen = boot_of(node, DEBIAN)
    assert (seen.boot.kind, seen.boot.menu) == ("grub", "/boot/grub/grub.cfg")
    assert seen.boot.makes_menu == ("/usr/sbin/grub-mkconfig", "-o", "/boot/grub/grub.cfg")
    assert [file.path for file in seen.boot.defaults] == ["/etc/default/grub", "/etc/default/grub.d/50-x.cfg"]
    assert seen.at("/etc/default/grub.d/accelerator-ops.cfg").content == b"# ours\n"
    assert seen.command_line is None


def test_an_image_without_a_menu_yet_gets_the_drop_in(node):
    files = {path: text for path, text in DEBIAN.items() if path != "/boot/grub/grub.cfg"}
    plan = kernel_config.decide(boot_of(node, {**files, "/etc/default/grub.d/accelerator-ops.cfg": "# ours\n"}), ASKED)
    assert [step.path for step in plan.steps] == ["/etc/default/grub.d/accelerator-ops.cfg"]
    assert plan.derived == ()


def test_entries_of_grub(node):
    seen = boot_of(node, {**ENTRIES, "/etc/kernel/cmdline": "ro"})
    assert (seen.boot.kind, seen.boot.entry) == ("entries", "/boot/loader/entries/m-6.2.conf")
    assert seen.boot.variables["kernelopts"] == "root=/dev/a ro"
    assert seen.boot.later == "/etc/kernel/cmdline"
    plan = kernel_config.decide(seen, ASKED)
    edits = {step.path: step.new.decode() for step in plan.steps if step.is_edit}
    assert edits == {
        "/boot/loader/entries/m-6.2.conf": "linux /vmlinuz-6.2\nversion 6.2\noptions $kernelopts iommu=pt\n",
        "/etc/kernel/cmdline": "ro iommu=pt\n",
    }


def test_entries_of_systemd_boot(node):
    files = {
        "/efi/loader/loader.conf": "default a-*\n",
        "/efi/loader/entries/a-6.1.conf": "linux /a/6.1/linux\noptions ro\n",
        "/boot/loader/entries/b-6.5.conf": "linux /b/6.5/linux\noptions ro\n",
    }
    seen = boot_of(node, files)
    assert (seen.boot.kind, seen.boot.entry) == ("entries", "/efi/loader/entries/a-6.1.conf")
    assert (seen.boot.later, seen.boot.menu) == (None, None)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "no grub-mkconfig that reads /etc/default/grub.d"),
        ({"/boot/grub2/grub.cfg": MENU, "/usr/sbin/grub2-mkconfig": "# SUSE\n"}, "no grub-mkconfig that reads"),
        ({**DEBIAN, "/efi/loader/loader.conf": ""}, "both GRUB (/boot/grub/grub.cfg) and systemd-boot"),
        ({"/boot/grub2/grub.cfg": BLS}, "which entry boots next is not known"),
        (
            {**ENTRIES, "/boot/loader/entries/z-6.2.conf": "linux /vmlinuz-6.2\nversion 6.2\n"},
            "m-6.2.conf and /boot/loader/entries/z-6.2.conf start 6.2",
        ),
    ],
)
def test_a_boot_loader_that_is_not_known(node, files, reason):
    seen = boot_of(node, files)
    assert seen.boot.kind == ""
    assert reason in seen.boot.reason


def test_how_the_next_kernel_has_modules(node):
    host = node(
        {
            **DEBIAN,
            "/lib/modules/6.1/modules.dep": DEP,
            "/lib/modules/6.1/modules.builtin": "kernel/drivers/vfio/vfio.ko\n",
            "/etc/modprobe.d/nvidia.conf": "install nvidia modprobe -i nvidia-current $CMDLINE_OPTS\n",
            "/sys/module/nouveau/initstate": "live",
        }
    )
    seen = kernel_config.observe(host, {"blacklist": ["nouveau", "nova_core", "vfio", "nvidia"]})
    assert seen.next == "6.1"
    # The kernel of another root does not run: what lies in its /sys says nothing.
    assert seen.modules == {
        "nouveau": Module(False, None, "file"),
        "nova_core": Module(False, None, "none"),
        "vfio": Module(False, None, "built in"),
        "nvidia": Module(False, None, "file"),
    }


def test_without_a_boot_loader_the_only_kernel_is_the_next(node):
    one = {"/lib/modules/6.1/modules.dep": DEP, "/lib/modules/5.0/kernel/x": ""}
    assert kernel_config.observe(node(one), {"blacklist": []}).next == "6.1"
    two = kernel_config.observe(node({"/lib/modules/6.2/modules.dep": DEP}), {"blacklist": []})
    assert two.next is None
    assert "no configuration of GRUB or systemd-boot" in two.next_reason


def test_files_of_others_come_in_their_order_and_once(node):
    host = node(
        {
            "/usr/lib/modprobe.d/b.conf": "blacklist lower\n",
            "/usr/lib/modprobe.d/c.conf": "blacklist c\n",
            "/etc/modprobe.d/b.conf": "blacklist upper\n",
            "/run/modprobe.d/a.conf": "blacklist a\n",
            "/etc/modprobe.d/accelerator-ops-options.conf": "options x y=1\n",
            "/etc/modprobe.d/old.conf.bak": "blacklist no\n",
            "/lib": ("link", "usr/lib"),
        }
    )
    assert kernel_config.observe(host, {"modules_load": []}).modprobe_files == (
        Text("/run/modprobe.d/a.conf", "blacklist a\n"),
        Text("/etc/modprobe.d/b.conf", "blacklist upper\n"),
        Text("/usr/lib/modprobe.d/c.conf", "blacklist c\n"),
    )


@pytest.mark.parametrize(
    ("files", "ramdisk"),
    [
        ({}, Ramdisk()),
        ({"/boot/initrd.img-5.0": ""}, Ramdisk()),
        (
            {"/boot/initrd.img-6.1": "", "/usr/sbin/update-initramfs": ""},
            ("/boot/initrd.img-6.1", "update-initramfs", ""),
        ),
        (
            {"/boot/initramfs-6.1.img": "", "/usr/bin/dracut": "", "/usr/bin/lsinitrd": ""},
            ("/boot/initramfs-6.1.img", "dracut", "lsinitrd"),
        ),
        ({"/efi/abc/6.1/initrd": "", "/usr/bin/dracut": ""}, ("/efi/abc/6.1/initrd", "dracut", "")),
    ],
)
def test_the_image_of_the_next_kernel(node, files, ramdisk):
    seen = kernel_config.observe(node({**DEBIAN, **files}), {"blacklist": []}).ramdisk
    if isinstance(ramdisk, tuple) and not isinstance(ramdisk, Ramdisk):
        assert (seen.image, *(os.path.basename(path) for path in (seen.maker, seen.lister))) == ramdisk
    else:
        assert seen == ramdisk


def test_images_of_a_kernel_that_is_not_known(node):
    seen = kernel_config.observe(
        node({"/boot/initrd.img-6.1": "", "/boot/initramfs-6.1kdump.img": ""}), {"blacklist": []}
    )
    assert seen.ramdisk.image is None
    assert "which kernel boots next is not known" in seen.ramdisk.reason


def test_makers_come_from_the_devices(node):
    place = "/sys/devices/pci0000:00/0000:00:01.0"
    files = {
        f"{place}/vendor": "0x10de",
        f"{place}/device": "0x2330",
        f"{place}/class": "0x030200",
        "/sys/bus/pci/devices/0000:00:01.0": ("link", "../../../devices/pci0000:00/0000:00:01.0"),
    }
    assert kernel_config.observe(node(files), {"blacklist_rivals": "auto"}).makers == ("nvidia",)


def test_a_root_without_devices_is_unknown_and_never_none(node):
    seen = kernel_config.observe(node({"/etc/x": ""}), {"blacklist_rivals": "auto"})
    assert seen.makers is None
    assert "/sys/bus/pci/devices" in seen.makers_reason


@pytest.mark.skipif(not os.path.exists("/proc/sys/vm/swappiness"), reason="no sysctl here")
def test_this_machine():
    with open("/proc/sys/vm/swappiness", encoding="utf-8") as file:
        value = file.read().strip()
    wish = {"sysctl": {"vm.swappiness": value}}
    seen = kernel_config.observe(Host("/"), wish)
    assert seen.is_live
    assert seen.values == {"/proc/sys/vm/swappiness": value}
    assert [step.key for step in kernel_config.decide(seen, wish).steps if "/proc/" in step.key] == []


def proof_lines(proof, **places):
    """What the programs of a proof really print, with paths of the node standing elsewhere."""
    argv = [places.get(re.sub(r"\W", "_", os.path.basename(word)), word) for word in proof.argv]
    run = subprocess.run(argv, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout.split()


@pytest.mark.parametrize(
    ("linux", "has_file", "printed"),
    [
        ("\tlinux\t/boot/vmlinuz-6.1 root=/dev/a ro  quiet iommu=pt", True, True),
        ("linux16 /vmlinuz iommu=pt ro", True, True),
        ("linux /vmlinuz iommu=ptx ro", True, False),
        ("linux /vmlinuz ro", True, False),
        ("# linux /vmlinuz iommu=pt", True, False),
        ("linux /vmlinuz iommu=pt", False, False),
    ],
)
def test_the_proof_of_a_menu_can_fail(node, tmp_path, linux, has_file, printed):
    plan = kernel_config.decide(boot_of(node, {**DEBIAN, "/etc/default/grub.d/accelerator-ops.cfg": "# old\n"}), ASKED)
    (menu, ours) = (tmp_path / "menu", tmp_path / "ours")
    menu.write_text(f"menuentry A {{\n{linux}\n}}\n")
    if has_file:
        ours.write_bytes(plan.steps[0].new)
    proof = plan.derived[0].proof
    assert proof.lines == (("etc/default/grub.d/accelerator-ops.cfg", "/etc/default/grub.d/accelerator-ops.cfg"),)
    status, lines = proof_lines(proof, grub_cfg=str(menu), accelerator_ops_cfg=str(ours))
    assert lines == ([str(ours).lstrip("/")] if printed else [])
    assert status == 0


LISTS = {
    "lsinitramfs": "etc\netc/modprobe.d/accelerator-ops-blacklist.conf\n",
    "lsinitrd": "Image: x\n-rw-r--r--   1 root  root  42 Dec  1 05:05 etc/modprobe.d/accelerator-ops-blacklist.conf\n",
}


@pytest.mark.parametrize("name", sorted(LISTS))
def test_the_proof_of_an_image_reads_what_both_listers_print(node, tmp_path, name):
    host = node({**DEBIAN, "/boot/initrd.img-6.1": "", "/usr/sbin/update-initramfs": "", f"/usr/bin/{name}": ""})
    wish = {"blacklist": ["nouveau"]}
    proof = kernel_config.decide(kernel_config.observe(host, wish), wish).derived[0].proof
    lister = tmp_path / name
    lister.write_text(f"#!/bin/sh\ncat <<X\n{LISTS[name]}X\n")
    lister.chmod(0o755)
    assert "etc/modprobe.d/accelerator-ops-blacklist.conf" in proof_lines(proof, **{name: str(lister)})[1]
    lister.write_text("#!/bin/sh\nexit 1\n")
    assert proof_lines(proof, **{name: str(lister)}) == (1, [])
