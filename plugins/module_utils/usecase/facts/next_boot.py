# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kernel the boot loader starts next, from its own configuration; never from what lies in /lib/modules."""

from __future__ import annotations

from ...codec import boot_entry
from ...codec.boot_entry import Kernel, Undecidable
from ...host.door import Host
from ...model.answer import MISSING, Answer

_EFI_VARIABLES = "/sys/firmware/efi/efivars"
_LOADER_GUID = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"  # The Boot Loader Interface, systemd.io, read 2026-11
GRUB_FOLDERS = ("/boot/grub2", "/boot/grub")
EFI_FOLDERS = ("/efi", "/boot/efi", "/boot")
ENTRIES = "loader/entries"


def next_release(host: Host) -> Answer:
    """The release of the kernel that starts next without a key press, or None and what it hangs on."""
    try:
        return Answer(_release(host, _next_kernel(host)), None)
    except Undecidable as error:
        return Answer(None, str(error))
    except ValueError as error:
        return Answer(None, f"boot loader configuration: {error}")


def _next_kernel(host: Host) -> Kernel:
    menus, hidden = _grub_menus(host)
    loaders = []
    running = _efi_text(host, "LoaderInfo").lower()
    if running.startswith("systemd-boot"):
        menus, hidden = {}, None
    for folder in () if running.startswith("grub") else EFI_FOLDERS:
        place = host.resolve(f"{folder}/loader/loader.conf")
        if place.value is not None:
            loaders.append(folder)
        elif place.reason != MISSING and not menus:
            hidden = f"{folder}/loader/loader.conf: {place.reason}"
    if menus and loaders:
        raise Undecidable(
            f"both GRUB ({min(menus)}/grub.cfg) and systemd-boot ({loaders[0]}/loader/loader.conf) are here"
        )
    if menus:
        from ...codec import grub  # compiled only where it is in use

        kernels = {
            grub.next_kernel(text, folder, host.read, lambda: _snippets(host, f"/boot/{ENTRIES}"))
            for folder, text in menus.items()
        }
        if len(kernels) > 1:
            raise Undecidable(f"grub.cfg in {' and in '.join(menus)} start different kernels")
        return kernels.pop()
    if hidden is not None or not loaders:
        raise Undecidable(hidden or "no configuration of GRUB or systemd-boot in /boot, /efi or /boot/efi")
    return _from_systemd_boot(host, loaders[0])


def _grub_menus(host: Host) -> tuple[dict[str, str], str | None]:
    """Each grub.cfg that has a menu by its folder, and why one could not be read (None: all could)."""
    distributions = host.list("/boot/efi/EFI")
    hidden = None if distributions.reason in (None, MISSING) else f"/boot/efi/EFI: {distributions.reason}"
    found: dict[str, tuple[str, str]] = {}
    for folder in (*GRUB_FOLDERS, *(f"/boot/efi/EFI/{name}" for name in distributions.value or ())):
        path = f"{folder}/grub.cfg"
        answer = host.read(path)
        if answer.value is None:
            hidden = hidden if answer.reason == MISSING else f"{path}: {answer.reason}"
        elif "menuentry" in answer.value or "blscfg" in answer.value:
            # Distributions link these folders to each other. A file without a menu only points to another.
            found.setdefault(host.resolve(path).value or path, (folder, answer.value))
    # What is hidden below /boot/efi is in practice the small file that points to the one found.
    return dict(found.values()), None if found else hidden


def _snippets(host: Host, folder: str) -> list[boot_entry.Snippet]:
    names = host.list(folder)
    if names.value is None:
        if names.reason == MISSING:
            return []
        raise Undecidable(f"{folder}: {names.reason}")
    snippets = []
    for name in names.value:
        if name.endswith(".conf"):
            snippets.append(boot_entry.read_snippet(name, _text(host, f"{folder}/{name}")))
    return snippets


def _text(host: Host, path: str) -> str:
    answer = host.read(path)
    if answer.value is None:
        raise Undecidable(f"{path}: {answer.reason}")
    return answer.value


def _from_systemd_boot(host: Host, folder: str) -> Kernel:
    # The extended boot partition is /boot where the EFI partition is elsewhere.
    folders = dict.fromkeys((folder, "/boot"))
    unified = [name for place in folders for name in host.list(f"{place}/EFI/Linux").value or ()]
    kernel = boot_entry.systemd_kernel(
        [_efi_text(host, "LoaderEntryOneShot"), _efi_text(host, "LoaderEntryDefault")],
        _text(host, f"{folder}/loader/loader.conf"),
        [snippet for place in folders for snippet in _snippets(host, f"{place}/{ENTRIES}")],
        any(name.lower().endswith(".efi") for name in unified),
        _efi_text(host, "LoaderEntryLastBooted"),
    )
    if kernel is None:
        raise Undecidable("the default of systemd-boot is an EFI program, no Linux kernel")
    return kernel


def _efi_text(host: Host, name: str) -> str:
    """The text in an EFI variable of the boot loader, empty where there is none."""
    content, _reason = host.read_bytes(f"{_EFI_VARIABLES}/{name}-{_LOADER_GUID}", 4096)
    return (content or b"")[4:].decode("utf-16-le", "replace").partition("\0")[0]


def _release(host: Host, kernel: Kernel) -> str:
    release = boot_entry.release_of(kernel)
    if release is not None:
        return release
    image = "/" + kernel.image.lstrip("/")
    places = [host.resolve(f"{folder}{image}").value for folder in ("", *EFI_FOLDERS)]
    named = [boot_entry.release_of(Kernel(real, None)) or _stated_release(host, real) for real in places if real]
    found = {release for release in named if release is not None}
    if len(found) != 1:
        raise Undecidable(f"the next kernel image {image} does not tell its release")
    return found.pop()


def _stated_release(host: Host, path: str) -> str | None:
    """The release in the header of an x86 kernel image (Documentation/arch/x86/boot.rst, protocol 2.00 on)."""
    header, _reason = host.read_bytes(path, 0x210)
    if header is None or header[0x202:0x206] != b"HdrS":
        return None
    place = int.from_bytes(header[0x20E:0x210], "little")
    text, _reason = host.read_bytes(path, 256, place + 0x200)
    if not place or text is None:
        return None
    words = text.partition(b"\0")[0].split()
    release = words[0].decode("ascii", "replace") if words else ""
    return boot_entry.release_of(Kernel("", release))
