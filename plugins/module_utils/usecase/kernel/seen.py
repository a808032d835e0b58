# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a look at the node tells ``kernel_config``: plain facts, and only those that its wish asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Optional

from ...model.plan import Found

OPTIONS_FILE = "/etc/modprobe.d/accelerator-ops-options.conf"
BLACKLIST_FILE = "/etc/modprobe.d/accelerator-ops-blacklist.conf"
DRACUT_FILE = "/etc/dracut.conf.d/accelerator-ops.conf"
LOAD_FILE = "/etc/modules-load.d/accelerator-ops.conf"
SYSCTL_FILE = "/etc/sysctl.d/90-accelerator-ops.conf"
GRUB_FILE = "/etc/default/grub.d/accelerator-ops.cfg"
NOTES_FILE = "/etc/kernel/accelerator-ops.arguments"


class Text(NamedTuple):
    """A configuration file of others."""

    path: str
    text: str


class Module(NamedTuple):
    """A kernel module. ``running`` and ``next`` say how that kernel has it: ``file``, ``built in`` or ``none``.

    They are None where it is not known. ``parameters`` holds what the loaded module shows of those asked for.
    """

    is_loaded: bool = False
    running: Optional[str] = None
    next: Optional[str] = None
    parameters: Mapping[str, str] = {}


class Ramdisk(NamedTuple):
    """The initial RAM disk of the kernel that boots next; ``image`` is None where that kernel has none.

    ``maker`` is the program that makes it and ``lister`` the one that lists it, both as paths, empty where neither is
    known here. ``reason`` says why no image can be told.
    """

    image: Optional[str] = None
    maker: str = ""
    lister: str = ""
    reason: str = ""


class Boot(NamedTuple):
    """Where the kernel's command line comes from. ``kind`` is ``grub``, ``entries`` or empty, ``reason`` why empty.

    ``menu`` is the path of a grub.cfg and ``makes_menu`` what makes it; ``defaults`` are the scripts that grub-mkconfig
    reads, ours left out. ``entry`` is the entry that boots next, ``later`` the file that entries to come
    are made from, each None where there is none; ``variables`` those of GRUB's environment.
    """

    kind: str = ""
    reason: str = ""
    menu: Optional[str] = None
    makes_menu: tuple[str, ...] = ()
    defaults: tuple[Text, ...] = ()
    entry: Optional[str] = None
    later: Optional[str] = None
    variables: Mapping[str, str] = {}


class Seen(NamedTuple):
    """What was found. ``found`` has each file that may be written, ``values`` texts of the running kernel by path.

    A path that is not among ``values`` is not there. ``running`` and ``next`` are releases, None where unknown with
    ``next_reason``. ``makers`` are those of the accelerators in the node, None with ``makers_reason`` where unknown.
    ``cannot_load`` says why no module can be loaded now, empty where one can. ``pages_kb`` are the sizes that the
    running kernel knows, ``default_kb`` is the one of ``vm.nr_hugepages``.
    """

    is_live: bool = True
    found: Mapping[str, Found] = {}
    running: Optional[str] = None
    next: Optional[str] = None
    next_reason: str = ""
    modules: Mapping[str, Module] = {}
    modprobe_files: tuple[Text, ...] = ()
    sysctl_files: tuple[Text, ...] = ()
    cannot_load: str = ""
    makers: Optional[tuple[str, ...]] = None
    makers_reason: str = ""
    values: Mapping[str, str] = {}
    default_kb: Optional[int] = None
    pages_kb: tuple[int, ...] = ()
    memory_kb: Optional[int] = None
    available_kb: Optional[int] = None
    is_kubelet: bool = False
    ramdisk: Ramdisk = Ramdisk()
    boot: Boot = Boot()
    command_line: Optional[str] = None

    def at(self, path: str) -> Found:
        """What is at a path that may be written."""
        return self.found.get(path, Found())
