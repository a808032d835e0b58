# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``kernel`` and ``drivers`` sections of the facts: the running kernel, the next one, and modules of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

from ...codec import kernel as texts
from ...host.door import Host
from ...model.answer import MISSING, Answer, Book
from .next_boot import next_release

_MODPROBE_FOLDERS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d")
_ADDED_FOLDERS = ("updates", "extra", "weak-updates")


def observe(host: Host, module_names: Sequence[str]) -> dict[str, Any]:
    """The ``kernel`` section (docs/facts.md), with one module for each name (dashes are underscores).

    A module's ``on_disk`` has a row for each place in the running and the next-boot kernel; ``path`` is
    null with the reason for a module that is built in or a kernel whose folder cannot be read. Reasons
    of a row stand under ``on_disk.<index>.<field>``.
    """
    book = Book()
    release = book.take("release", host.read("/proc/sys/kernel/osrelease"), texts.read_release)
    next_boot = book.take("next_boot", next_release(host), texts.read_release)
    section: dict[str, Any] = {
        "release": release,
        "next_boot": next_boot,
        "command_line": book.take("command_line", host.read("/proc/cmdline"), str),
        "taint": book.take("taint", host.read("/proc/sys/kernel/tainted"), texts.read_taint),
        "cgroup_version": _cgroup_version(host, book),
    }
    names = sorted({texts.same_name(name) for name in module_names})
    kernels = [one for one in dict.fromkeys((release, next_boot)) if one is not None]
    disks = [_Disk(host, one, names) for one in kernels]
    loaded = _Loaded(host, disks[0] if release is not None else None)
    section["modules"] = [_module(name, loaded, disks) for name in names]
    section["unknown"] = book.unknown
    return section


def file_of(host: Host, name: str) -> str | None:
    """The file of a module on disk for the running kernel; None where there is none."""
    release = host.read("/proc/sys/kernel/osrelease").value
    return _Disk(host, release, [name]).path(name) if release else None


def drivers(section: Mapping[str, Any], owners: Mapping[str, str]) -> list[dict[str, Any]]:
    """The ``drivers`` section from the ``kernel`` section and {module name: maker}. Pure.

    ``mismatch`` is ``{loaded, on_disk}`` where the loaded version differs from the one on disk for the
    running kernel, null where they are equal, and null with a reason where that cannot be judged.
    """
    modules = {module["name"]: module for module in section["modules"]}
    rows = []
    for owned, maker in sorted(owners.items()):
        name = texts.same_name(owned)
        module = modules.get(name)
        unknown = dict.fromkeys(("user_space", "fabric_manager"), "only the maker's tool tells it, and none is asked")
        row: dict[str, Any] = {"name": name, "maker": maker, "loaded": None, "on_disk": None}
        row.update(user_space=None, fabric_manager=None, mismatch=None, unknown=unknown)
        rows.append(row)
        if module is None:
            unknown.update(dict.fromkeys(("loaded", "on_disk", "mismatch"), "the module was not looked for"))
            continue
        row["loaded"] = module["version"]
        if module["version"] is None:
            unknown["loaded"] = module["unknown"].get("version", MISSING)
        if module["on_disk"] is None:
            unknown["on_disk"] = module["unknown"].get("on_disk", MISSING)
        else:
            row["on_disk"] = [{"kernel": one["kernel"], "version": one["version"]} for one in module["on_disk"]]
            for path, reason in module["unknown"].items():
                if path.startswith("on_disk.") and path.endswith(".version"):
                    unknown[path] = reason
        _judge(row, section["release"])
    return rows


def _judge(row: dict[str, Any], release: Optional[str]) -> None:
    unknown = row["unknown"]
    if row["loaded"] is None:
        unknown["mismatch"] = f"no loaded version ({unknown['loaded']})"
        return
    versions = [one["version"] for one in row["on_disk"] or () if one["kernel"] == release]
    if not versions or versions[0] is None:
        unknown["mismatch"] = "no version on disk for the running kernel"
    elif versions[0] != row["loaded"]:
        row["mismatch"] = {"loaded": row["loaded"], "on_disk": versions[0]}


def _cgroup_version(host: Host, book: Book) -> int | None:
    # In a container the mount table shows its own part only, but this file is at the root of version 2 alone.
    if host.exists("/sys/fs/cgroup/cgroup.controllers"):
        return 2
    mounts = host.read("/proc/mounts")
    version = book.take("cgroup_version", mounts, texts.read_cgroup_version)
    if version is None and "cgroup_version" not in book.unknown:
        book.miss("cgroup_version", "no cgroup file system is mounted at /sys/fs/cgroup")
    return version


class _Loaded:
    """The modules of the running kernel."""

    def __init__(self, host: Host, disk: _Disk | None) -> None:
        self._host = host
        self._disk = disk
        book = Book()
        self._listed = book.take("modules", host.read("/proc/modules"), texts.read_loaded)
        self._folders = host.list("/sys/module").value or ()
        self._reason: str | None = None
        # Each loaded module has a folder; but who captured a tree may have kept only some of them.
        if self._listed is None and not (host.is_node and self._folders):
            self._reason = f"/proc/modules: {book.unknown['modules']}"

    def is_loaded(self, name: str) -> tuple[bool | None, str | None]:
        """Whether the running kernel has it, built in or loaded."""
        if self._listed is not None and name in self._listed:
            return True, None
        if name in self._folders:
            return self._host.read(f"/sys/module/{name}/initstate").value != "going", None
        if self._disk is not None and name in self._disk.built_in:
            return True, None
        return (False, None) if self._reason is None else (None, self._reason)

    def version(self, name: str) -> Answer:
        if name not in self._folders and self._listed is not None and name in self._listed:
            return Answer(None, f"/sys/module/{name}: {MISSING}")
        answer = self._host.read(f"/sys/module/{name}/version")
        return answer if answer.reason != MISSING else Answer(None, "the module states no version")


class _Disk:
    """Module files of one kernel."""

    def __init__(self, host: Host, release: str, names: Sequence[str]) -> None:
        self.host = host
        self.release = release
        self.files: dict[str, str] = {}
        self.built_in: dict[str, str] = {}
        self.reason: str | None = None
        self.folder = f"/lib/modules/{release}"
        if not host.exists(self.folder) and host.exists(f"/usr/lib/modules/{release}"):
            self.folder = f"/usr/lib/modules/{release}"
        listing = host.list(self.folder)
        if listing.value is None:
            self.reason = f"{self.folder}: {listing.reason}"
            return
        wanted = set(names)
        listed = host.read(f"{self.folder}/modules.dep")
        if listed.value is None:
            self.reason = f"{self.folder}/modules.dep: {listed.reason}"
        else:
            self.files = texts.find_files(listed.value, wanted)
        self.built_in = texts.find_files(host.read(f"{self.folder}/modules.builtin").value or "", wanted)
        missing = wanted - self.files.keys() - self.built_in.keys()
        if missing:
            self._find_added(missing)
        missing -= self.files.keys()
        if missing and listed.value is not None:
            self._find_stand_ins(missing, listed.value)

    def _find_added(self, names: set[str]) -> None:
        """Files that were put there without depmod: nothing loads them yet, but on disk they are."""
        for folder in _ADDED_FOLDERS:
            for entry in self.host.list(f"{self.folder}/{folder}").value or ():
                below = [f"{folder}/{entry}"]
                if ".ko" not in entry:
                    inner = self.host.list(f"{self.folder}/{folder}/{entry}").value or ()
                    below = [f"{folder}/{entry}/{one}" for one in inner]
                for path in below:
                    name = texts.same_name(path.rpartition("/")[2].partition(".ko")[0])
                    if ".ko" in path and name in names:
                        self.files.setdefault(name, path)

    def _find_stand_ins(self, names: set[str], listing: str) -> None:
        """Modules that modprobe.d loads in the place of a name."""
        stand_ins: dict[str, str] = {}
        for folder in _MODPROBE_FOLDERS:
            for file in self.host.list(folder).value or ():
                if not file.endswith(".conf"):
                    continue
                text = self.host.read(f"{folder}/{file}").value or ""
                for name in names:
                    # Most files name none of them; the look inside is only for those that do.
                    if name in texts.same_name(text):
                        target = texts.find_stand_in(text, name)
                        if target is not None:
                            stand_ins.setdefault(name, target)
        found = texts.find_files(listing, set(stand_ins.values()))
        self.files.update({name: found[target] for name, target in stand_ins.items() if target in found})

    def path(self, name: str) -> str | None:
        """Where the file of a module is."""
        path = self.files.get(name)
        return path if path is None or path.startswith("/") else f"{self.folder}/{path}"

    def row(self, name: str) -> tuple[dict[str, Any] | None, dict[str, str]]:
        """The row of a module with its reasons by field; None where this kernel does not have it."""
        row: dict[str, Any] = {"kernel": self.release, "path": None, "version": None, "signer": None}
        row["path"] = self.path(name)
        if row["path"] is not None:
            from .module_files import read_file  # compiled only where there is a module to read

            seen = read_file(self.host, row["path"])
            row.update(version=seen.version, signer=seen.signer)
            return row, dict(seen.reasons)
        if name in self.built_in:
            reasons = dict.fromkeys(("path", "signer"), "built into the kernel")
            from .module_files import built_in_version

            row["version"], reason = built_in_version(self.host, f"{self.folder}/modules.builtin.modinfo", name)
            if reason is not None:
                reasons["version"] = reason
            return row, reasons
        if self.reason is None:
            return None, {}
        return row, dict.fromkeys(("path", "version", "signer"), self.reason)


def _module(name: str, loaded: _Loaded, disks: Sequence[_Disk]) -> dict[str, Any]:
    book = Book()
    is_loaded, reason = loaded.is_loaded(name)
    version = None
    if reason is not None:
        book.miss("loaded", reason)
        book.miss("version", reason)
    elif not is_loaded:
        book.miss("version", "not loaded")
    else:
        version = book.take("version", loaded.version(name), str)
    rows: list[dict[str, Any]] | None = []
    if not disks:
        rows = book.miss("on_disk", "the release of no kernel is known")
    elif all(disk.reason is not None and name not in disk.files and name not in disk.built_in for disk in disks):
        rows = book.miss("on_disk", "; ".join(disk.reason or MISSING for disk in disks))
    else:
        rows = []
        for disk in disks:
            row, reasons = disk.row(name)
            if row is not None:
                for field, why in reasons.items():
                    book.miss(f"on_disk.{len(rows)}.{field}", why)
                rows.append(row)
    return {"name": name, "loaded": is_loaded, "version": version, "on_disk": rows, "unknown": book.unknown}
