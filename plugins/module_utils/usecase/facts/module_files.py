# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads module files through the door: plain ones by seeking, packed ones whole, the rest through modinfo."""

from __future__ import annotations

from ...codec import module_file
from ...codec.module_file import ModuleFile
from ...host.door import Host

_MODINFO_SECONDS = 20.0


class _Unreadable(Exception):
    pass


def read_file(host: Host, path: str) -> ModuleFile:
    """Version and signer of the module file at ``path``, each None with its reason where it is not told."""
    kind = path.rpartition(".ko")[2].lstrip(".")

    def read_at(offset: int, length: int) -> bytes:
        content, reason = host.read_bytes(path, length, offset)
        if content is None:
            raise _Unreadable(f"the module file: {reason}")
        return content

    try:
        if not kind:
            size, reason = host.size(path)
            if size is None:
                return _all_unknown(f"the module file: {reason}")
            return module_file.read_module(read_at, size)
        if kind not in ("gz", "xz", "zst"):
            return _all_unknown(f"a .{kind} file is not read")
        try:
            content = module_file.unpack(kind, read_at)
        except ImportError:
            return _ask_modinfo(host, path, kind)
        return module_file.read_module(module_file.within(content), len(content))
    except (_Unreadable, ValueError) as error:
        return _all_unknown(str(error))


def _all_unknown(reason: str) -> ModuleFile:
    return ModuleFile(None, None, {"version": reason, "signer": reason})


def _ask_modinfo(host: Host, path: str, kind: str) -> ModuleFile:
    """What modinfo prints: Python learned Zstandard in 3.14, and xz can be missing from it."""
    if not host.is_node:
        return _all_unknown(f"this Python cannot unpack .{kind} files")
    from ...host import command  # where it is needed only: it brings subprocess along

    ran = command.run(host, ["modinfo", "-0", path], _MODINFO_SECONDS)
    if ran.reason is not None:
        return _all_unknown(f"this Python cannot unpack .{kind} files, and {ran.reason}")
    fields = ran.stdout.encode()
    version, signer = module_file.modinfo(fields, "version"), module_file.modinfo(fields, "signer")
    reasons = {} if version is not None else {"version": module_file.NO_VERSION}
    if not signer:
        reasons["signer"] = module_file.NOT_SIGNED
    return ModuleFile(version, signer or None, reasons)


def built_in_version(host: Host, path: str, name: str) -> tuple[str | None, str | None]:
    """The version of a built-in module in ``modules.builtin.modinfo``, or None and the reason."""
    content, reason = host.read_bytes(path)
    if content is None:
        return None, f"{path}: {reason}"
    try:
        version = module_file.modinfo(content, f"{name}.version")
    except ValueError as error:
        return None, str(error)
    return version, None if version is not None else "the module states no version"
