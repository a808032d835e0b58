# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A live node with the devices of a machine model, GRUB, an initramfs and udev.

What a container cannot have is played: the programs that make derived files are scripts that make small ones, a number
of huge pages is a file. Groups are made by the real programs.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from ansible_collections.accelerator.ops.tests.crash.node import ASIDE, DERIVE, NO_SYNC, OWN, Node, program

_RELEASE = "6.1.0-crash"
_IMAGE, _MENU = f"/boot/initrd.img-{_RELEASE}", "/boot/grub/grub.cfg"
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
_LIST = """#!/bin/sh
grep '^/etc/' "$1" | cut -c2-
"""


class Machine(Node):
    """The node; ``laid_out`` is the tree of the model."""

    own = tuple(name for name in OWN if name != "sys")
    aside = (*ASIDE, _IMAGE, _MENU)

    def __init__(self, base: Path, laid_out: Path) -> None:
        self._laid_out = laid_out
        super().__init__(base, True)

    def _dress(self) -> None:
        super()._dress()
        self.derived = [("/srv/update-initramfs", _IMAGE), ("/srv/mkconfig", _MENU)]
        (self._laid_out / _PAGES[1:]).mkdir(parents=True, exist_ok=True)
        self.bind("/sys", str(self._laid_out / "sys"))
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
        self._programs()
        for argv, _path in self.derived:
            subprocess.run(["chroot", str(self.root), argv], check=True)

    def _programs(self) -> None:
        """Programs, and modules of the kernel, over those of this machine."""
        over = self.base / "programs"
        for name, text in (("update-initramfs", DERIVE), ("mkconfig", _GRUB)):
            program(self.root / "srv" / name, text.replace("IMAGE", _IMAGE).replace("RELEASE", _RELEASE))
        program(over / "sbin/update-initramfs", "#!/bin/sh\nexec /srv/program /srv/update-initramfs\n")
        reads = "# it reads /etc/default/grub.d\n"
        program(over / "sbin/grub-mkconfig", f'#!/bin/sh\n{reads}exec /srv/program /srv/mkconfig "$@"\n')
        program(over / "bin/lsinitramfs", _LIST)
        program(over / "bin/udevadm", "#!/bin/sh\nexit 0\n")
        program(over / "bin/sync", NO_SYNC)
        modules = over / "lib/modules"
        (modules / _RELEASE).mkdir(parents=True)
        os.setxattr(modules, "trusted.overlay.opaque", b"y")
        lines = "".join(f"kernel/drivers/{name}.ko:\n" for name in _MODULES)
        (modules / _RELEASE / "modules.dep").write_text(lines)
        self.mount_at("/usr", "-t", "overlay", "overlay", "-o", f"lowerdir={over}:/usr")
