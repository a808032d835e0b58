# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The look at a node for ``kernel_config``: only what the wish asks for is read, and nothing is changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Optional

from ...codec import kernel as texts
from ...host import disk
from ...host.command import run
from ...host.door import Host
from ...host.drop_ins import drop_ins, text_of
from ...model.answer import Answer
from ..facts.next_boot import next_release
from .modules import needed
from .seen import BLACKLIST_FILE, DRACUT_FILE, LOAD_FILE, OPTIONS_FILE, SYSCTL_FILE, Module, Seen, Text
from .values import PAGES_FOLDER, pages_path
from .wish import Wish

_CAP_SYS_MODULE = 16  # include/uapi/linux/capability.h
_ASK_SECONDS = 10.0


def look(host: Host, wish: Wish) -> Seen:
    """Everything that ``decide`` needs for this wish."""
    names = needed(wish)
    is_about_modules = bool(names) or wish.options is not None or wish.blacklist is not None or wish.load is not None
    is_about_values = wish.sysctl is not None or wish.pages is not None
    is_about_boot = wish.arguments is not None or wish.pages is not None
    fields: dict[str, Any] = {"is_live": host.is_live}
    paths: list[str] = []
    if is_about_modules or is_about_boot:
        following = _next(host)
        fields.update(next=following.value, next_reason=following.reason or "")
    if is_about_modules:
        paths += [OPTIONS_FILE, BLACKLIST_FILE, LOAD_FILE]
        fields.update(_modules(host, wish, names, fields["next"]))
        if wish.needs_initramfs:
            from .ramdisk import find

            paths.append(DRACUT_FILE)
            fields["ramdisk"] = find(host, fields["next"], fields["next_reason"])
    if is_about_values:
        paths.append(SYSCTL_FILE)
        fields["sysctl_files"] = _config_files(host, "sysctl.d", (SYSCTL_FILE,))
        fields.update(_values(host, wish))
    if is_about_boot:
        from .boot_look import find as find_boot

        boot, more = find_boot(host, Answer(fields["next"], fields["next_reason"]))
        paths += more
        fields["boot"] = boot
        if host.is_live:
            fields["command_line"] = host.read("/proc/cmdline").value
    fields["found"] = {path: disk.found(host, path) for path in paths}
    return Seen(**fields)


def _next(host: Host) -> Answer:
    """The kernel that boots next; where no boot loader tells it, the only one that is installed."""
    told = next_release(host)
    if told.value is not None:
        return told
    installed = [
        name for name in host.list("/lib/modules").value or () if host.exists(f"/lib/modules/{name}/modules.dep")
    ]
    return Answer(installed[0], None) if len(installed) == 1 else told


def _config_files(host: Host, folder: str, ours: Collection[str]) -> tuple[Text, ...]:
    """The files of others in the order they are read."""
    return tuple(Text(path, text_of(host, path)) for path in drop_ins(host, folder, ".conf") if path not in ours)


def _modules(host: Host, wish: Wish, names: Iterable[str], following: Optional[str]) -> dict[str, Any]:
    running = host.read("/proc/sys/kernel/osrelease").value if host.is_live else None
    files = _config_files(host, "modprobe.d", (OPTIONS_FILE, BLACKLIST_FILE))
    modules: Mapping[str, Module] = {}
    if names:
        on_disk = {release: _on_disk(host, release, names, files) for release in (running, following)}
        modules = {
            name: Module(
                host.is_live and host.exists(f"/sys/module/{name}"),
                on_disk[running].get(name),
                on_disk[following].get(name),
                _parameters(host, name, (wish.options or {}).get(name, {})),
            )
            for name in names
        }
    fields: dict[str, Any] = {"running": running, "modprobe_files": files, "modules": modules}
    if host.is_live and wish.is_loaded_now and any(not modules[name].is_loaded for name in wish.load or ()):
        fields["cannot_load"] = _cannot_load(host)
    if wish.rivals == "auto":
        fields.update(_makers(host))
    return fields


def _on_disk(host: Host, release: Optional[str], names: Iterable[str], files: Iterable[Text]) -> dict[str, str]:
    """How a kernel has each module, as its ``modules.dep`` tells modprobe; empty where that is not here."""
    folder = f"/lib/modules/{release}"
    listing = host.read(f"{folder}/modules.dep") if release else Answer(None, None)
    if listing.value is None:
        return {}
    wanted = set(names)
    built_in = texts.find_files(host.read(f"{folder}/modules.builtin").value or "", wanted)
    own = texts.find_files(listing.value, wanted)
    stand_ins = {name: _stand_in(name, files) for name in wanted - own.keys() - built_in.keys()}
    known = (
        texts.find_files(listing.value, {one for one in stand_ins.values() if one}) if any(stand_ins.values()) else {}
    )
    return {
        name: "built in" if name in built_in else "file" if name in own or stand_ins.get(name) in known else "none"
        for name in wanted
    }


def _stand_in(name: str, files: Iterable[Text]) -> Optional[str]:
    targets = (texts.find_stand_in(file.text, name) for file in files if name in texts.same_name(file.text))
    return next((target for target in targets if target), None)


def _parameters(host: Host, module: str, asked: Iterable[str]) -> dict[str, str]:
    if not host.is_live:
        return {}
    answers = {name: host.read(f"/sys/module/{module}/parameters/{name}").value for name in asked}
    return {name: value for name, value in answers.items() if value is not None}


def _cannot_load(host: Host) -> str:
    """Why this process can load no module; empty where it can."""
    if host.read("/proc/sys/kernel/modules_disabled").value == "1":
        return "the kernel was told to load no more modules (kernel.modules_disabled is 1)"
    for line in (host.read("/proc/self/status").value or "").splitlines():
        name, _colon, value = line.partition(":")
        if name == "CapEff" and not int(value, 16) >> _CAP_SYS_MODULE & 1:
            return "this process lacks CAP_SYS_MODULE, as in a container"
    return ""


def _makers(host: Host) -> dict[str, Any]:
    from ...vendor import ids
    from ..facts import pci

    functions, reason = pci.functions(host)
    if functions is None:
        return {"makers": None, "makers_reason": reason or ""}
    found = [ids.maker_of(one) for one in functions.values() if ids.is_device(one)]
    return {"makers": tuple(dict.fromkeys(maker.name for maker in found if maker is not None))}


def _values(host: Host, wish: Wish) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    paths = [f"/proc/sys/{path}" for path in wish.sysctl or ()]
    if wish.pages is not None:
        memory = _memory(host)
        fields["default_kb"] = memory.get("Hugepagesize")
        if host.is_live:
            fields.update(memory_kb=memory.get("MemTotal"), available_kb=memory.get("MemAvailable"))
            fields["is_kubelet"] = _is_kubelet(host)
            fields["pages_kb"] = _page_sizes(host)
            paths += [pages_path(size_kb) for size_kb in wish.pages]
    if host.is_live:
        answers = {path: host.read(path).value for path in paths}
        fields["values"] = {path: value for path, value in answers.items() if value is not None}
    return fields


def _memory(host: Host) -> dict[str, int]:
    """The numbers of ``/proc/meminfo``, in kB where it says so."""
    numbers = {}
    for line in (host.read("/proc/meminfo").value or "").splitlines():
        name, _colon, value = line.partition(":")
        words = value.split()
        if words and words[0].isdigit():
            numbers[name] = int(words[0])
    return numbers


def _page_sizes(host: Host) -> tuple[int, ...]:
    names = host.list(PAGES_FOLDER).value or ()
    sizes = [name[len("hugepages-") : -len("kB")] for name in names if name.startswith("hugepages-")]
    return tuple(sorted(int(size) for size in sizes if size.isdigit()))


def _is_kubelet(host: Host) -> bool:
    if not host.exists("/run/systemd/system"):
        return False
    return run(host, ("systemctl", "is-active", "kubelet.service"), _ASK_SECONDS).stdout.strip() == "active"
