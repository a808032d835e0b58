# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The disk of the test machine: this machine's Debian with two kernels of its own, and a GRUB that decides what boots.

No loop device and no mount of the image: the root file system of a test node gets what it needs to boot by apt in a
chroot (of a private mount namespace), ``mke2fs -d`` puts it on the disk, and GRUB for BIOS is laid into the gap before
the first partition by hand. Then the disk boots once and makes its own ``grub.cfg`` by ``update-grub``, as a node does.

The disk is kept in the cache under a name that follows from the versions of the packages and from these files.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "run"))

import machine
import node_image
import surroundings
from surroundings import CACHE, SetupError

PROGRAMS = {
    **machine.PROGRAMS,
    "debootstrap": "debootstrap",
    "sfdisk": "fdisk",
    "mke2fs": "e2fsprogs",
    "debugfs": "e2fsprogs",
    "ssh-keygen": "openssh-client",
}
"""What the image is made and run with: program -> Debian package."""

_KERNEL = "linux-image-amd64"
_BESIDE = ("initramfs-tools", "zstd", "grub-pc", "openssh-server", "pciutils", "dbus")
_CONTAINERS = ("podman", "crun", "runc", "busybox-static")
_DISK_MIB = 3000
_FIRST_SECTOR = 2048
_SECTOR_BYTES = 512
_PARTITION_AT = _FIRST_SECTOR * _SECTOR_BYTES

_LEFT_OUT = (
    *("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*"),
    *("/lib/modules/*/kernel/sound/*", "/lib/modules/*/kernel/drivers/media/*", "/lib/modules/*/kernel/drivers/iio/*"),
    *("/lib/modules/*/kernel/drivers/net/wireless/*", "/lib/modules/*/kernel/drivers/net/ethernet/*"),
    *("/lib/modules/*/kernel/drivers/scsi/*", "/lib/modules/*/kernel/drivers/staging/*"),
    *("/lib/modules/*/kernel/drivers/infiniband/*", "/lib/modules/*/kernel/drivers/usb/*"),
    *("/lib/modules/*/kernel/drivers/watchdog/*", "/etc/grub.d/20_linux_xen", "/etc/grub.d/30_os-prober"),
    *("/lib/modules/*/kernel/net/wireless/*", "/lib/modules/*/kernel/net/mac80211/*"),
    *(
        f"/usr/share/initramfs-tools/hooks/{name}"
        for name in ("dmsetup", "fsck", "keymap", "resume", "thermal", "udev")
    ),
    *("/usr/share/initramfs-tools/scripts/init-top/udev", "/usr/share/initramfs-tools/scripts/init-bottom/udev"),
)
"""What dpkg does not unpack: the machine has no use for it, and each file costs an emulated processor time."""
_KEPT = ("/lib/modules/*/kernel/drivers/media/cec/core/*", "/lib/modules/*/kernel/drivers/media/rc/rc-core.ko")
"""What it unpacks nonetheless: drivers of GPUs are linked with it."""

_FILES = {
    "etc/hostname": "accelerator-vm\n",
    "etc/fstab": "/dev/vda1 / ext4 errors=remount-ro 0 1\n",
    "etc/systemd/system/network-static.service": """\
[Unit]
DefaultDependencies=no
After=systemd-remount-fs.service
Before=network.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=ip link set lo up
ExecStart=ip address add 10.0.2.15/24 dev eth0
ExecStart=ip link set eth0 up
ExecStart=ip route add default via 10.0.2.2
[Install]
WantedBy=sysinit.target
""",
    "etc/systemd/journald.conf.d/small.conf": "[Journal]\nStorage=none\nReadKMsg=no\nAudit=no\n",
    "etc/ssh/sshd_config.d/test.conf": "UseDNS no\nPermitRootLogin prohibit-password\n",
}
_BEFORE_BOOT_PACKAGES = {
    # the initramfs holds what this one machine boots from, so that it is made in seconds
    "etc/initramfs-tools/conf.d/small": "MODULES=list\nBUSYBOX=n\nCOMPRESS=zstd\nCOMPRESSLEVEL=1\n",
    "etc/initramfs-tools/modules": "virtio_pci\nvirtio_blk\nvirtio_net\next4\n",
    "etc/dpkg/dpkg.cfg.d/small": "".join(
        [f"path-exclude={pattern}\n" for pattern in _LEFT_OUT]
        + [f"path-include={pattern}\n" for pattern in _KEPT]
        + ["force-unsafe-io\n"]
    ),
    "etc/apt/apt.conf.d/90small": 'APT::Install-Recommends "false";\nAcquire::Languages "none";\n',
    "usr/sbin/policy-rc.d": "#!/bin/sh\nexit 101\n",
    "etc/default/grub.d/00-machine.cfg": "GRUB_TIMEOUT=0\nGRUB_TERMINAL=console\nGRUB_DISABLE_LINUX_UUID=true\n"
    'GRUB_CMDLINE_LINUX_DEFAULT="quiet systemd.show_status=yes"\n'
    # less to compute at each boot: no tests of ciphers, no picture
    'GRUB_CMDLINE_LINUX="console=ttyS0 net.ifnames=0 mitigations=off audit=0 apparmor=0 cryptomgr.notests'
    ' drm_kms_helper.fbdev_emulation=0"\n',
}
_UNUSED_UNITS = (
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "man-db.timer"),
    *("e2scrub_reap.service", "fstrim.timer", "getty@tty1.service", "serial-getty@ttyS0.service"),
    *("dbus.service", "dbus.socket", "keyboard-setup.service", "console-setup.service"),
    *("systemd-logind.service", "systemd-binfmt.service", "proc-sys-fs-binfmt_misc.automount"),
    *("sys-kernel-debug.mount", "sys-kernel-tracing.mount", "sys-fs-fuse-connections.mount", "dev-mqueue.mount"),
    *("podman.service", "podman.socket", "podman-restart.service"),
    *("podman-auto-update.service", "podman-auto-update.timer"),
    *("systemd-update-utmp.service", "systemd-update-utmp-runlevel.service", "systemd-journal-flush.service"),
    *("modprobe@drm.service", "modprobe@fuse.service", "modprobe@efi_pstore.service", "systemd-pstore.service"),
)
_CHROOT = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
    "HOME": "/root",
}


class Image(NamedTuple):
    """A disk to copy and boot, the key that root's ssh takes there, and what runs its processor (kvm, tcg)."""

    disk: Path
    key: Path
    accel: str


def why_not() -> Optional[str]:
    """Why there can be no machine here, or None. What root can install is installed."""
    if platform.machine() != "x86_64":
        return f"the test machine is an x86-64 one, this is {platform.machine()}"
    if os.getuid() != 0:
        return "the disk of the test machine is made by root (debootstrap, chroot)"
    if not Path("/etc/debian_version").exists():
        return "the disk of the test machine is made of this machine's Debian, and this is none"
    lack = surroundings.lacking(PROGRAMS)
    return lack or machine.why_not()


def ensure() -> Image:
    """The image, made when the cache has none that fits."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "vm.lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = CACHE / f"vm-{_digest()}"
        if not (folder / "disk.raw").exists():
            for old in CACHE.glob("vm-*"):
                if old.is_dir():
                    shutil.rmtree(old)  # a running machine has copied what it needs
            _make(folder)
    return Image(folder / "disk.raw", folder / "key", (folder / "accel").read_text(encoding="ascii").strip())


def _digest() -> str:
    beside = ("systemd", "udev", "kmod", "initramfs-tools", "grub-pc", "python3", "openssh-server", *_CONTAINERS)
    packages = (_KERNEL, *beside)
    known = subprocess.run(["apt-cache", "policy", *packages], capture_output=True, text=True, check=False).stdout
    versions = re.findall(r"^(\S+:|  Candidate: .*)$", known, re.MULTILINE)
    text = "\n".join((node_image.suite(), *versions)).encode()
    return hashlib.sha256(text + Path(__file__).read_bytes()).hexdigest()[:12]


def _make(folder: Path) -> None:
    start = time.monotonic()

    def say(what: str) -> None:
        print(f"test machine, {time.monotonic() - start:.0f} s: {what}", flush=True)

    place = Path(tempfile.mkdtemp(prefix="accelerator-ops-vm-", dir=CACHE))
    root, disk, key = place / "root", place / "disk.raw", place / "key"
    try:
        say(f"root file system, Debian {node_image.suite()}")
        root.mkdir()
        _must(["tar", "-C", str(root), "--numeric-owner", "-xpf", str(node_image.archive())])
        say("kernels and boot loader")
        _install(root)
        _must(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(key)])
        _configure(root, key)
        say("disk")
        _lay_out(root, disk)
        say("first boot")
        accel = _first_boot(disk, key, place)
        (place / "accel").write_text(accel + "\n", encoding="ascii")
        folder.mkdir()
        (place / "accel").rename(folder / "accel")
        key.rename(folder / "key")
        disk.rename(folder / "disk.raw")
        say(f"made, run by {accel}, {os.stat(folder / 'disk.raw').st_blocks * 512 >> 20} MiB")
    except (machine.MachineError, OSError) as error:
        raise SetupError(f"cannot make the test machine: {error}") from None
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _install(root: Path) -> None:
    """The newest kernel and the one before it, and what boots them."""
    _write(root, _BEFORE_BOOT_PACKAGES)
    (root / "usr/sbin/policy-rc.d").chmod(0o755)
    for path in [path for pattern in _LEFT_OUT for path in root.glob(pattern[1:])]:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    (root / "etc/apt/sources.list").write_text(_sources(), encoding="ascii")
    _inside(root, "apt-get -qq update")
    names = _inside(root, "apt-cache pkgnames linux-image-").split()
    kernels = sorted((name for name in names if re.fullmatch(r"linux-image-\d[\d.+~deb-]*-amd64", name)), key=_natural)
    newest = _inside(root, f"apt-cache depends {_KERNEL} | sed -n 's/.*Depends: //p'").split()[0]
    before = [name for name in kernels if _natural(name) < _natural(newest)]
    wanted = [*before[-1:], _KERNEL, *_BESIDE, *_CONTAINERS]
    _inside(root, f"apt-get -qq -y -o Dpkg::Use-Pty=0 install {' '.join(wanted)}")


def _configure(root: Path, key: Path) -> None:
    _write(root, _FILES)
    (root / "root/.ssh").mkdir(mode=0o700, exist_ok=True)
    shutil.copyfile(key.with_suffix(".pub"), root / "root/.ssh/authorized_keys")
    _inside(root, f"systemctl -q enable network-static ssh; systemctl -q mask {' '.join(_UNUSED_UNITS)}")
    _inside(root, "apt-get clean; rm -rf /var/lib/apt/lists/* /usr/sbin/policy-rc.d; : > /etc/machine-id")
    (root / "etc/resolv.conf").unlink(missing_ok=True)
    # until the first boot has made the real one
    _write(
        root,
        {
            "boot/grub/grub.cfg": "search --no-floppy --label root --set=root\n"
            "linux /vmlinuz root=/dev/vda1 ro console=ttyS0 net.ifnames=0\ninitrd /initrd.img\nboot\n"
        },
    )


def _lay_out(root: Path, disk: Path) -> None:
    """One ext4 partition, and GRUB before it: the first sector loads what begins in the second."""
    modules = root / "usr/lib/grub/i386-pc"
    shutil.copytree(modules, root / "boot/grub/i386-pc", dirs_exist_ok=True)
    core = "biosdisk part_msdos ext2 normal search search_label search_fs_uuid"
    _inside(root, f"grub-mkimage -O i386-pc -p '(hd0,msdos1)/boot/grub' -o /boot/grub/i386-pc/core.img {core}")
    with disk.open("wb") as file:
        file.truncate((_DISK_MIB << 20) + _PARTITION_AT)
    table = f"label: dos\nstart={_FIRST_SECTOR}, size={_DISK_MIB}M, type=83, bootable\n"
    _must(["sfdisk", "-q", str(disk)], given=table)
    _make_file_system(root, disk)
    first = (modules / "boot.img").read_bytes()
    second = (root / "boot/grub/i386-pc/core.img").read_bytes()
    if len(second) > (_FIRST_SECTOR - 1) * _SECTOR_BYTES:
        raise SetupError(
            f"cannot make the test machine: GRUB has {len(second)} bytes, more than the gap before the disk"
        )
    with disk.open("r+b") as file:
        file.write(first[:440])  # what follows in the sector is the partition table
        file.seek(_SECTOR_BYTES)
        file.write(second)


def _make_file_system(root: Path, disk: Path, uuid: str = "random") -> None:
    place = f"offset={_PARTITION_AT},lazy_itable_init=1"
    command = ["mke2fs", "-q", "-t", "ext4", "-L", "root", "-U", uuid, "-d", str(root), "-E", place, str(disk)]
    _must([*command, f"{_DISK_MIB}M"])


def unpack(disk: Path, root: Path) -> None:
    """The files of a disk, in a folder that is not there yet: an image of a node, as one who builds images has it."""
    root.mkdir()
    _must(["debugfs", "-R", f"rdump / {root}", f"{disk}?offset={_PARTITION_AT}"])
    (root / "lost+found").rmdir()
    os.mknod(root / "dev/console", stat.S_IFCHR | 0o600, os.makedev(5, 1))  # debugfs leaves device files out


def pack(root: Path, like: Path, disk: Path) -> None:
    """A disk of these files, else as another one: its boot loader, and the name by which that finds the files."""
    uuid = _must(["blkid", "-p", "-O", str(_PARTITION_AT), "-s", "UUID", "-o", "value", str(like)]).strip()
    with like.open("rb") as whole, disk.open("wb") as file:
        file.write(whole.read(_PARTITION_AT))
        file.truncate(like.stat().st_size)
    _make_file_system(root, disk, uuid)


def _first_boot(disk: Path, key: Path, place: Path) -> str:
    """Boot once: the machine makes its boot menu, and what each first boot makes. Returns what ran its processor.

    A processor of this machine is ten times faster than a computed one, but /dev/kvm alone proves nothing: there are
    hosts whose KVM starts and never gets as far as a kernel.
    """
    if machine.why_not("kvm") is None:
        try:
            _settle(disk, key, place, "kvm", 60)
        except machine.MachineError as error:
            print(f"test machine: kvm does not do: {str(error).splitlines()[0]}", flush=True)
        else:
            return "kvm"
    _settle(disk, key, place, "tcg", 900)
    return "tcg"


def _settle(disk: Path, key: Path, place: Path, accel: str, deadline_seconds: float) -> None:
    with machine.Machine(disk, key, place / f"first-{accel}", accel) as first:
        first.wait_until_up(deadline_seconds=deadline_seconds)
        first.run("update-grub", deadline_seconds=900)
        first.run("timeout 300 systemctl is-system-running --wait || true", deadline_seconds=900)
        first.power_off(deadline_seconds=600)
        first.disk.replace(disk)


def _sources() -> str:
    """The archives of this machine's own release, as one-line sources."""
    wanted = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    told = _must(["apt-get", "indextargets", "--format", wanted, "Identifier: Packages"])
    suite = node_image.suite()
    ours = [line for line in dict.fromkeys(told.splitlines()) if line.split()[1].split("-")[0] == suite]
    return "".join(f"deb {line}\n" for line in ours)


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="ascii")


def _inside(root: Path, command: str) -> str:
    """Run a shell command in the root, with proc and devices in a mount namespace that ends with it."""
    mounts = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -t sysfs sys "$0/sys"'
    script = f'{mounts} && exec chroot "$0" /bin/sh -c "$1"'
    kept = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    names = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, str(root), command]
    resolver = root / "etc/resolv.conf"
    if not resolver.exists() and Path("/etc/resolv.conf").exists():
        shutil.copyfile("/etc/resolv.conf", resolver)
    return _must(names, {**_CHROOT, **kept})


def _must(command: list[str], env: Optional[dict[str, str]] = None, given: str = "") -> str:
    done = subprocess.run(command, env=env, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}").splitlines()[-3:]
        raise SetupError(f"cannot make the test machine: {command[0]}: {'; '.join(last)}")
    return done.stdout


def main() -> int:
    """Make the image. 0: it is there; 3: there can be none here, and the last line says why; 1: making it failed."""
    surroundings.require_python()
    reason = why_not()
    if reason:
        print(reason)
        return 3
    try:
        print(ensure().disk)
    except SetupError as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
