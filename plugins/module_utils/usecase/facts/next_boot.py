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
_GRUB_FOLDERS = ("/boot/grub2", "/boot/grub")
_EFI_FOLDERS = ("/efi", "/boot/efi", "/boot")
_ENTRIES = "loader/entries"


def next_release(host: Host) -> Answer:
    """The release of the kernel that starts next without a key press, or None and what it hangs on."""
    try:
        return Answer(_release(host, _next_kernel(host)), None)
    except Undecidable as error:
        return Answer(None, str(error))
    except ValueError as error:
        return Answer(None, f"boot loader configuration: {error}")


def _next_kernel(host: Host) -> Kernel:
    configurations, hidden = _grub_configurations(host)
    running = (_efi_text(host, "LoaderInfo") or "").lower()
    if running.startswith("systemd-boot"):
        configurations, hidden = [], None
    loader_folders = []
    for folder in _EFI_FOLDERS:
        place = host.resolve(f"{folder}/loader/loader.conf")
        if place.value is not None:
            loader_folders.append(folder)
        elif place.reason != MISSING and not configurations:
            hidden = f"{folder}/loader/loader.conf: {place.reason}"
    if running.startswith("grub"):
        loader_folders = []
    if configurations and loader_folders:
        raise Undecidable(
            f"both GRUB ({configurations[0]}/grub.cfg) and systemd-boot "
            f"({loader_folders[0]}/loader/loader.conf) are here"
        )
    if loader_folders and hidden is None:
        return _from_systemd_boot(host, loader_folders[0])
    if configurations:
        kernels = {_from_grub(host, folder) for folder in configurations}
        if len(kernels) > 1:
            raise Undecidable(f"grub.cfg in {' and in '.join(configurations)} start different kernels")
        return kernels.pop()
    if hidden is not None:
        raise Undecidable(hidden)
    raise Undecidable("no configuration of GRUB or systemd-boot in /boot, /efi or /boot/efi")


def _grub_configurations(host: Host) -> tuple[list[str], str | None]:
    """Folders with a grub.cfg that has a menu, and why one could not be read (None: all could)."""
    folders = list(_GRUB_FOLDERS)
    hidden = None
    distributions = host.list("/boot/efi/EFI")
    if distributions.value is not None:
        folders += [f"/boot/efi/EFI/{name}" for name in distributions.value]
    elif distributions.reason != MISSING:
        hidden = f"/boot/efi/EFI: {distributions.reason}"
    found: dict[str, str] = {}
    for folder in folders:
        path = f"{folder}/grub.cfg"
        answer = host.read(path)
        if answer.value is None:
            if answer.reason != MISSING:
                hidden = f"{path}: {answer.reason}"
        elif "menuentry" in answer.value or "blscfg" in answer.value:
            # Distributions link these folders to each other. A file without a menu only points to another.
            found.setdefault(host.resolve(path).value or path, folder)
    # What is hidden below /boot/efi is in practice the small file that points to the one found.
    return list(found.values()), None if found else hidden


def _from_grub(host: Host, folder: str) -> Kernel:
    answer = host.read(f"{folder}/grub.cfg")
    if answer.value is None:
        raise Undecidable(f"{folder}/grub.cfg: {answer.reason}")
    from ...codec import grub  # compiled only where it is in use

    files = grub.Files(folder, host.read, lambda: _snippets(host, f"/boot/{_ENTRIES}"))
    return grub.GrubMenu(answer.value, files).next_kernel()


def _snippets(host: Host, folder: str) -> list[boot_entry.Snippet]:
    names = host.list(folder)
    if names.value is None:
        if names.reason == MISSING:
            return []
        raise Undecidable(f"{folder}: {names.reason}")
    snippets = []
    for name in names.value:
        if name.endswith(".conf"):
            answer = host.read(f"{folder}/{name}")
            if answer.value is None:
                raise Undecidable(f"{folder}/{name}: {answer.reason}")
            snippets.append(boot_entry.read_snippet(name, answer.value))
    return snippets


def _from_systemd_boot(host: Host, folder: str) -> Kernel:
    configuration = host.read(f"{folder}/loader/loader.conf")
    if configuration.value is None:
        raise Undecidable(f"{folder}/loader/loader.conf: {configuration.reason}")
    from ...codec import systemd_boot  # compiled only where it is in use

    # The extended boot partition is /boot where the EFI partition is elsewhere.
    folders = [folder] if folder == "/boot" else [folder, "/boot"]
    snippets = [snippet for place in folders for snippet in _snippets(host, f"{place}/{_ENTRIES}")]
    unified = [host.list(f"{place}/EFI/Linux") for place in folders]
    wishes = [
        wish
        for wish in (_efi_text(host, "LoaderEntryOneShot"), _efi_text(host, "LoaderEntryDefault"))
        if wish is not None
    ]
    kernel = systemd_boot.next_kernel(
        [wish for wish in wishes if wish is not None],
        configuration.value,
        snippets,
        any(name.lower().endswith(".efi") for names in unified for name in names.value or ()),
        _efi_text(host, "LoaderEntryLastBooted"),
    )
    if kernel is None:
        raise Undecidable("the default of systemd-boot is an EFI program, no Linux kernel")
    return kernel


def _efi_text(host: Host, name: str) -> str | None:
    """The text in an EFI variable of the boot loader, or None where there is none."""
    content, _reason = host.read_bytes(f"{_EFI_VARIABLES}/{name}-{_LOADER_GUID}", 4096)
    if content is None or len(content) < 6:
        return None
    return content[4:].decode("utf-16-le", "replace").partition("\0")[0]


def _release(host: Host, kernel: Kernel) -> str:
    release = boot_entry.release_of(kernel)
    if release is not None:
        return release
    image = "/" + kernel.image.lstrip("/")
    found = set()
    for place in (f"/boot{image}", f"/efi{image}", f"/boot/efi{image}", image):
        real = host.resolve(place)
        if real.value is None:
            continue
        named = boot_entry.release_of(Kernel(real.value, None)) or _stated_release(host, real.value)
        if named is not None:
            found.add(named)
    if len(found) == 1:
        return found.pop()
    raise Undecidable(f"the next kernel image {image} does not tell its release")


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
