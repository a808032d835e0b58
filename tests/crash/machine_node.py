# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A live node with the devices of a machine model, GRUB, an initramfs, udev, systemd and containerd.

What a container cannot have is played: the programs that make derived files are scripts that make small ones, a number
of huge pages is a file. Groups and CDI specs are made by the real programs. The kernel does not tell which device files
are its own, so that udev has none to change.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import MANIFEST
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import cdi_files
from ansible_collections.accelerator.ops.tests.crash.node import ASIDE, DERIVE, NO_SYNC, OWN, Node, program

_RELEASE = "6.1.0-crash"
_IMAGE, _MENU, _UNITS = f"/boot/initrd.img-{_RELEASE}", "/boot/grub/grub.cfg", "/run/units"
_SPECS = "/etc/cdi"
_PAGES = "/sys/kernel/mm/hugepages"
_MODULES = ("nouveau", "nova_core", "nvidia", "amdgpu", "vfio-pci", "habanalabs", "xe", "i915", "neuron", "tenstorrent")
_GRUB = """#!/bin/sh
# Makes the boot menu, as grub-mkconfig does, from /etc/default/grub.d.
out=/boot/grub/grub.cfg
if [ "$1" = -o ]; then out=$2; fi
GRUB_CMDLINE_LINUX_DEFAULT=quiet
for one in /etc/default/grub.d/*.cfg; do
  if [ -e "$one" ]; then . "$one"; fi
done
cat > "$out.new" <<END
set default="0"
menuentry 'Debian' --class os {
  linux /boot/vmlinuz-RELEASE root=/dev/vda1 ro $GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT
  initrd /boot/initrd.img-RELEASE
}
END
mv "$out.new" "$out"
"""
_SYSTEMCTL = """#!/bin/sh
# Plays systemd: the units that it has read are a file, and containerd runs since the boot.
case "$*" in
daemon-reload) exec /srv/units ;;
"show containerd.service "*)
  echo LoadState=loaded
  echo ActiveState=active
  echo 'ExecStart={ path=/usr/bin/containerd ; argv[]=/usr/bin/containerd ; ignore_errors=no ; }'
  echo KillMode=process
  echo ActiveEnterTimestampMonotonic=1
  ;;
show*) echo LoadState=not-found ;;
esac
"""
_ROOT_FILE = """version = 2

[plugins."io.containerd.grpc.v1.cri"]
  max_container_log_line_size = 8192
"""
_CONTAINERD = """#!/bin/sh
# Plays containerd 1.7: its version, and what it makes of its files: a table is that of the last file that has it.
last=/etc/containerd/config.toml
case "$*" in
--version) echo "containerd github.com/containerd/containerd 1.7.27" ;;
*"config dump")
  for one in /etc/containerd/conf.d/*-accelerator-ops.toml; do
    if [ -e "$one" ] && grep -q '^imports' "$last"; then last=$one; fi
  done
  cat "$last"
  ;;
esac
"""
_OTHER_ENGINES = ("podman", "dockerd", "crio")
_LIST = """#!/bin/sh
grep '^/etc/' "$1" | cut -c2-
"""


class Machine(Node):
    """The node; ``laid_out`` is the tree of the model."""

    own = (*(name for name in OWN if name != "sys"), os.path.dirname(cdi_files.PROGRAM)[1:])
    aside = (*ASIDE, _IMAGE, _MENU, _UNITS, _SPECS)

    def __init__(self, base: Path, laid_out: Path) -> None:
        self._laid_out = laid_out
        super().__init__(base, True)

    def _dress(self) -> None:
        super()._dress()
        self.derived = [("/srv/update-initramfs", _IMAGE), ("/srv/mkconfig", _MENU), ("/srv/units", _UNITS)]
        (self._laid_out / _PAGES[1:]).mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self._laid_out / "sys/dev", ignore_errors=True)
        self.bind("/sys", str(self._laid_out / "sys"))
        if (self._laid_out / "proc/driver").exists():
            self.bind("/proc/driver", str(self._laid_out / "proc/driver"))
        self._device_files()
        value = self.base / "values/hugepages-2048kB/nr_hugepages"
        value.parent.mkdir(parents=True)
        value.write_text("0\n")
        self.mount_at(_PAGES, "--bind", str(self.base / "values"))
        self.values[f"{_PAGES}/hugepages-2048kB/nr_hugepages"] = value
        for name in ("default/grub.d", "udev/rules.d", "modules-load.d", "sysctl.d"):
            (self.root / "etc" / name).mkdir(parents=True)
        (self.root / "boot/grub").mkdir()
        (self.root / f"boot/vmlinuz-{_RELEASE}").write_text("a kernel\n")
        (self.root / "run/udev").mkdir()
        (self.root / "run/udev/control").write_text("")
        (self.root / "run/systemd/system").mkdir(parents=True)
        (self.root / "etc/systemd/system").mkdir(parents=True)
        (self.root / "etc/containerd").mkdir()
        (self.root / "etc/containerd/config.toml").write_text(_ROOT_FILE)
        self._programs()
        for argv, _path in self.derived:
            subprocess.run(["chroot", str(self.root), argv], check=True)

    def _device_files(self) -> None:
        """Those of the model, and those that programs need."""
        made = self.mount_at("/dev", "-t", "tmpfs", "-o", "mode=755", "dev")
        (made / "char").mkdir()
        files = {f"/dev/{name}": (os.stat(f"/dev/{name}").st_rdev, 0o666, 0, 0) for name in ("null", "zero", "urandom")}
        for path, one in json.loads(Path(f"{self._laid_out}{MANIFEST}").read_text()).items():
            if one["kind"] == "char":
                files[path] = (os.makedev(one["major"], one["minor"]), one["mode"], one["uid"], one["gid"])
        for path, (number, mode, uid, gid) in files.items():
            place = self.root / path[1:]
            place.parent.mkdir(parents=True, exist_ok=True)
            os.mknod(place, stat.S_IFCHR, number)
            os.chown(place, uid, gid)
            os.chmod(place, mode)

    def is_derived_fresh(self) -> bool:
        """CDI specs are those that the program on the node would make; without it there is not even their folder."""
        if not super().is_derived_fresh():
            return False
        if not (self.root / cdi_files.PROGRAM[1:]).exists():
            return not (self.root / _SPECS[1:]).exists()
        argv = ["chroot", str(self.root), "python3", "-I", cdi_files.PROGRAM, "make"]
        return not subprocess.run(argv, capture_output=True, check=True).stdout

    def _programs(self) -> None:
        """Programs, and modules of the kernel, over those of this machine."""
        over = self.base / "programs"
        units = DERIVE.replace("/etc/modprobe.d/*.conf", "/etc/systemd/system/accelerator-ops-*")
        for name, text in (
            ("update-initramfs", DERIVE),
            ("mkconfig", _GRUB),
            ("units", units.replace("IMAGE", _UNITS)),
        ):
            program(self.root / "srv" / name, text.replace("IMAGE", _IMAGE).replace("RELEASE", _RELEASE))
        program(over / "sbin/update-initramfs", "#!/bin/sh\nexec /srv/program /srv/update-initramfs\n")
        reads = "# it reads /etc/default/grub.d\n"
        program(over / "sbin/grub-mkconfig", f'#!/bin/sh\n{reads}exec /srv/program /srv/mkconfig "$@"\n')
        program(over / "bin/lsinitramfs", _LIST)
        program(over / "bin/udevadm", "#!/bin/sh\nexit 0\n")
        program(over / "bin/systemctl", _SYSTEMCTL)
        program(over / "bin/containerd", _CONTAINERD)
        for name in _OTHER_ENGINES:
            os.mknod(over / "bin" / name, stat.S_IFCHR, os.makedev(0, 0))  # hides that of this machine
        program(over / "bin/sync", NO_SYNC)
        modules = over / "lib/modules"
        (modules / _RELEASE).mkdir(parents=True)
        os.setxattr(modules, "trusted.overlay.opaque", b"y")
        lines = "".join(f"kernel/drivers/{name}.ko:\n" for name in _MODULES)
        (modules / _RELEASE / "modules.dep").write_text(lines)
        written = [self.base / "written" / name for name in ("upper", "work")]
        for folder in written:
            folder.mkdir(parents=True)
        options = f"lowerdir={over}:/usr,upperdir={written[0]},workdir={written[1]}"
        self.mount_at("/usr", "-t", "overlay", "overlay", "-o", options)
