# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a tree has that a model does not say yet: files with another text, links elsewhere, paths not there.

Only paths that facts are read from count. Texts that say the same in another form count as equal, so that a tree of
an old kernel does not become a list of exceptions.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable
from typing import Any, Optional

from ..codec.pci_config import acs_redirects
from ..host.door import Host
from ..model.answer import NOT_RECORDED
from ..model.entry import Entry
from . import configured
from .layout_net import NET
from .layout_pci import DEVICES, DRIVERS
from .layout_system import KFD, NODES
from .reading import leads_to, names

_FUNCTION_FILES_TEXT = (
    "vendor device class subsystem_vendor subsystem_device revision numa_node local_cpulist local_cpus "
    "current_link_speed current_link_width max_link_speed max_link_width aer_dev_correctable aer_dev_nonfatal "
    "aer_dev_fatal sriov_totalvfs sriov_numvfs uevent config "
    # amdgpu
    "current_compute_partition current_memory_partition available_compute_partition available_memory_partition "
    "mem_info_vram_total unique_id vbios_version product_name product_number serial_number "
    # habanalabs
    "armcp_kernel_ver armcp_ver cpld_ver cpucp_kernel_ver cpucp_ver device_type fuse_ver fw_os_ver infineon_ver "
    "module_id parent_device pci_addr preboot_btl_ver security_enabled status thermal_ver uboot_ver vrm_ver"
)
_FUNCTION_FILES = frozenset(_FUNCTION_FILES_TEXT.split())
_FUNCTION_LINKS = ("iommu_group", "physfn")
_FOLDERS = re.compile(r"block|drm|accel|habanalabs|tenstorrent|net|infiniband|nvme|fw_version|tile\d+|virtio\d+")
_LEAVES = re.compile(
    r"(drm|accel|habanalabs|tenstorrent)/[^/]+/(uevent|dev|lmem_total_bytes|[a-z_]+_ver)|fw_version/[^/]+|"
    r"tile\d+/physical_vram_size_bytes|(virtio\d+/)?net/[^/]+/(mtu|speed|operstate|uevent)|"
    r"infiniband/[^/]+/(node_type|board_id|hca_type|fw_ver|uevent)|"
    r"infiniband/[^/]+/ports/[^/]+/(state|phys_state|rate|link_layer)|"
    r"block/nvme[^/]+/size|nvme/[^/]+/(model|serial|firmware_rev|size)|nvme/[^/]+/nvme[^/]+/size"
)
_INNER_LINKS = re.compile(r"virtfn\d+|(virtio\d+/)?(net|infiniband|nvme|drm|accel)/[^/]+/(device|master)")
_DEPTH = 5
_CLASSES = ("net", "infiniband", "infiniband_verbs", "drm", "accel", "nvme", "habanalabs")
_PROC = (
    "/proc/cmdline /proc/modules /proc/mounts /proc/sys/kernel/osrelease /proc/sys/kernel/tainted "
    "/proc/driver/nvidia/version /proc/net/vlan/config /sys/kernel/security/lockdown "
    "/sys/module/module/parameters/sig_enforce /etc/passwd /etc/group"
)
_BOOT_FOLDERS = (
    *(
        "/boot/grub",
        "/boot/grub2",
        "/boot/loader",
        "/boot/loader/entries",
        "/boot/efi/loader",
        "/boot/efi/loader/entries",
    ),
    *("/efi/loader", "/efi/loader/entries"),
)
_MODPROBE_FOLDERS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d")
_EFI_VARIABLES = "/sys/firmware/efi/efivars"
_CAPABILITIES = "/proc/driver/nvidia/capabilities"
_EMPTY_COUNT = (
    "/proc",
    "/sys",
    DEVICES,
    NET,
    "/sys/firmware",
    "/sys/module",
    "/sys/devices/system/cpu",
    NODES,
    "/dev",
    "/sys/class/nvme",
)
_MAX_TEXT = 65536


class Remainder:
    """What is still to be said, by the key of the model that says it."""

    def __init__(self) -> None:
        self.attributes: dict[str, dict[str, str]] = {}
        self.files: dict[str, Any] = {}
        self.symlinks: dict[str, str] = {}
        self.folders: list[str] = []
        self.absent: list[str] = []


def remainder(
    host: Host, entries: dict[str, Entry], places: dict[str, str], asked: Optional[Collection[str]] = None
) -> Remainder:
    """Compare a tree with what the model would lay out; ``places`` are the folders of its PCI functions.

    Of a recording, ``asked`` are the paths that its facts are read from: it tells nothing of any other.
    """
    rest = Remainder()
    files, links, folders = _scope(host, places)
    for path in sorted(files):
        content, reason = host.read_bytes(path, _MAX_TEXT)
        entry = entries.get(path)
        if content is None:
            if entry is not None and reason not in (None, NOT_RECORDED):
                rest.absent.append(path)
        elif entry is None or entry.kind != "file" or not _same(path, content, entry.content):
            _put(rest, path, configured.kept(path, content), places)
    for path in sorted(links):
        real = leads_to(host, path)
        laid = _resolved(path, entries)
        if real is None:
            if path in entries:
                rest.absent.append(path)
        elif real != laid:
            if real == path:
                rest.folders.append(path)
            else:
                rest.symlinks[path] = real
                if host.exists(path) and _resolved(real, entries) is None and real not in files:
                    rest.folders.append(real)
    for path in ("/proc", "/sys"):
        if not any(entry.startswith(f"{path}/") for entry in entries) and names(host, path):
            rest.folders.append(_any_folder(host, path))
    for path in folders:
        found = host.list(path)
        is_there = found.value is not None or found.reason == NOT_RECORDED
        if is_there and path not in entries:
            rest.folders.append(path)
        elif not is_there and path in entries:
            rest.absent.append(path)
    if asked is not None:
        rest.absent = [path for path in rest.absent if path in asked]
    rest.absent = _patterns(host, rest.absent, files | links, places)
    # A folder is made with the files in it, unless the model puts something else there.
    filled = {
        path for path in rest.folders if path not in entries and any(one.startswith(f"{path}/") for one in rest.files)
    }
    rest.folders = sorted(set(rest.folders) - filled)
    return rest


def _any_folder(host: Host, path: str) -> str:
    """A folder in ``path``, so that it is not empty; where there are only files, one of the kernel's own names."""
    found = (name for name in names(host, path) if host.list(f"{path}/{name}").value is not None)
    return f"{path}/{next(found, 'sys')}"


def _scope(host: Host, places: dict[str, str]) -> tuple[set[str], set[str], list[str]]:
    """Files, links and folders, in the tree or only in the model, that facts are read from."""
    files = set(_PROC.split())
    links: set[str] = set()
    for address, place in places.items():
        files.update(f"{place}/{name}" for name in _FUNCTION_FILES)
        files.add(f"/proc/driver/nvidia/gpus/{address}/information")
        links.update(f"{place}/{name}" for name in _FUNCTION_LINKS)
        links.add(f"{DEVICES}/{address}")
        _inner(host, place, files, links)
    for name in names(host, DEVICES):
        links.add(f"{DEVICES}/{name}")
    for place in places.values():
        driver = (host.link(f"{place}/driver").value or "").rpartition("/")[2]
        if driver:
            links.add(f"{DRIVERS}/{driver}/module")
    for kind in _CLASSES:
        for name in names(host, f"/sys/class/{kind}"):
            links.add(f"/sys/class/{kind}/{name}")
            real = host.resolve(f"/sys/class/{kind}/{name}").value
            if real is not None and not any(real.startswith(f"{place}/") for place in places.values()):
                _outer(host, kind, real, files, links)
    for folder in ("/sys/block", "/sys/class/block"):
        links.update(f"{folder}/{name}" for name in names(host, folder) if re.fullmatch(r"nvme\d+(c\d+)?n\d+", name))
    for node in names(host, NODES):
        if re.fullmatch(r"node\d+", node):
            folder = f"{NODES}/{node}"
            files.update(f"{folder}/{name}" for name in ("cpulist", "cpumap", "meminfo", "distance"))
            for pages in names(host, f"{folder}/hugepages"):
                files.update(f"{folder}/hugepages/{pages}/{name}" for name in ("nr_hugepages", "free_hugepages"))
    _kfd(host, files)
    _capabilities(host, _CAPABILITIES, files)
    distributions = [f"/boot/efi/EFI/{name}" for name in names(host, "/boot/efi/EFI")]
    for folder in (*_BOOT_FOLDERS, *_MODPROBE_FOLDERS, *distributions):
        files.update(f"{folder}/{name}" for name in names(host, folder) if re.search(r"\.(cfg|conf)$|^grubenv$", name))
    files.update(f"{_EFI_VARIABLES}/{name}" for name in names(host, _EFI_VARIABLES) if name.startswith("Loader"))
    folders = [*_EMPTY_COUNT, _CAPABILITIES, *(f"/sys/firmware/{name}" for name in names(host, "/sys/firmware"))]
    folders += [f"/sys/class/{kind}" for kind in _CLASSES]
    more_files, more_links, more_folders = configured.scope(host)
    return files | more_files, links | more_links, [*folders, *more_folders]


def _capabilities(host: Host, folder: str, files: set[str]) -> None:
    """The capability files of partitions: ``gpu0/mig/gi1/ci0/access``."""
    for name in names(host, folder):
        if name == "access":
            files.add(f"{folder}/{name}")
        else:
            _capabilities(host, f"{folder}/{name}", files)


def _inner(host: Host, place: str, files: set[str], links: set[str], below: str = "", depth: int = 0) -> None:
    """What hangs on a function: classes, firmware versions, tiles."""
    for name in names(host, f"{place}{below}"):
        relative = f"{below}/{name}"[1:]
        if _LEAVES.fullmatch(relative):
            files.add(f"{place}/{relative}")
        elif _INNER_LINKS.fullmatch(relative):
            links.add(f"{place}/{relative}")
        elif depth < _DEPTH and (depth > 0 or _FOLDERS.fullmatch(name)):
            real = host.resolve(f"{place}/{relative}").value
            if real == f"{place}/{relative}":
                _inner(host, place, files, links, f"/{relative}", depth + 1)


def _outer(host: Host, kind: str, real: str, files: set[str], links: set[str]) -> None:
    """A class device that hangs on no PCI function: a bond, a partition, a capture of one class alone."""
    links.add(f"{real}/device")
    if kind == "net":
        links.add(f"{real}/master")
        files.update(f"{real}/{leaf}" for leaf in ("mtu", "speed", "operstate", "uevent"))
        files.update(f"{real}/bonding/{leaf}" for leaf in names(host, f"{real}/bonding") if leaf in ("mode", "slaves"))
        return
    files.update(
        f"{real}/{leaf}" for leaf in ("uevent", "dev", "node_type", "board_id", "hca_type", "fw_ver", "ibdev", "model")
    )
    for port in names(host, f"{real}/ports"):
        files.update(f"{real}/ports/{port}/{leaf}" for leaf in ("state", "phys_state", "rate", "link_layer"))


def _kfd(host: Host, files: set[str]) -> None:
    for node in names(host, f"{KFD}/nodes"):
        folder = f"{KFD}/nodes/{node}"
        files.update((f"{folder}/gpu_id", f"{folder}/properties"))
        for kind in ("mem_banks", "io_links", "p2p_links"):
            files.update(f"{folder}/{kind}/{name}/properties" for name in names(host, f"{folder}/{kind}"))


def _same(path: str, content: bytes, laid: bytes) -> bool:
    return content == laid or _meaning(path, content) == _meaning(path, laid)


def _meaning(path: str, content: bytes) -> Any:
    """A text without what does not matter: trailing space, the order of rows, how a number is written."""
    if path.endswith("/config") and not path.startswith("/proc/"):
        return acs_redirects(content)
    try:
        value = content.decode("utf-8").strip("\0 \t\r\n")
    except UnicodeDecodeError:
        return content
    name = path.rpartition("/")[2]
    if name in ("local_cpus", "cpumap"):
        digits = value.replace(",", "")
        return int(digits, 16) if re.fullmatch(r"[0-9a-f]+", digits) else value
    if name.endswith("_link_speed"):
        match = re.match(r"([0-9.]+) GT/s", value)
        return float(match.group(1)) if match else value.split(" ")[0]
    if name == "meminfo":
        match = re.search(r"MemTotal:\s+(\d+) kB", value)
        return int(match.group(1)) // 1024 if match else value
    if name == "properties":
        rows = [" ".join(line.split()) for line in value.splitlines()]
        rows = [row for row in rows if not re.match(r"(mem_banks|io_links|p2p_links|caches)_count ", row)]
        return sorted(row for row in rows if "_links/" not in path or not row.endswith(" 0"))
    if name.startswith("aer_dev_"):
        return sorted(line for line in value.splitlines() if not line.endswith(" 0"))
    if name == "information":
        told = (line.partition(":") for line in value.splitlines())
        return {row[0].strip(): row[2].strip() for row in told if row[0].strip() in _INFORMATION}
    if path == "/proc/modules":
        return sorted(line.split()[0] for line in value.splitlines() if line.strip())
    if path in ("/etc/passwd", "/etc/group"):
        return ""
    if name == "distance":
        return value.split()
    if name == "uevent":
        return sorted(line for line in value.splitlines() if re.match(r"(MAJOR|MINOR|DEVNAME|DEVTYPE|DEVMODE)=", line))
    if name == "state" and "/ports/" in path:
        return value.split(":")[-1].strip()
    return value


_INFORMATION = ("Model", "GPU UUID", "Video BIOS", "Device Minor", "GPU Firmware")


def _put(rest: Remainder, path: str, content: bytes, places: dict[str, str]) -> None:
    try:
        value: Any = content.decode("utf-8")
        value = value[:-1] if value.endswith("\n") and not value.endswith("\n\n") else value
    except UnicodeDecodeError:
        rest.files[path] = content
        return
    owner = _owner(path, places)
    if owner is None:
        rest.files[path] = value
    else:
        rest.attributes.setdefault(owner, {})[path[len(places[owner]) + 1 :]] = value


def _owner(path: str, places: dict[str, str]) -> Optional[str]:
    """The function whose folder is nearest above a path."""
    best: Optional[str] = None
    for address, place in places.items():
        if path.startswith(f"{place}/") and (best is None or len(place) > len(places[best])):
            best = address
    return best


def _resolved(path: str, entries: dict[str, Entry]) -> Optional[str]:
    """Where a path leads among the entries, links of folders above it followed; None where nothing is."""
    done = ""
    pending = [part for part in reversed(path.split("/")) if part]
    for _round in range(1000):
        if not pending:
            return done or "/"
        here = posixpath.normpath(f"{done}/{pending.pop()}")
        entry = entries.get(here)
        if entry is None:
            return None
        if entry.kind == "link":
            there = posixpath.normpath(posixpath.join(posixpath.dirname(here), entry.target))
            done = ""
            pending.extend(part for part in reversed(there.split("/")) if part)
        else:
            done = here
    return None


def _patterns(host: Host, absent: Iterable[str], scope: set[str], places: dict[str, str]) -> list[str]:
    """Paths that are not there; a name that no PCI function has becomes one pattern."""
    by_name: dict[str, list[str]] = {}
    single: list[str] = []
    folders = {place: address for address, place in places.items()}
    for path in absent:
        folder, _slash, name = path.rpartition("/")
        if folder in folders:
            by_name.setdefault(name, []).append(path)
        else:
            single.append(path)
    for name, paths in by_name.items():
        if len(paths) > 2 and not any(host.exists(f"{place}/{name}") for place in places.values()):
            single += sorted({f"{_base(path)}/*/{name}" for path in paths})
        else:
            single += paths
    return sorted(single)


def _base(path: str) -> str:
    if path.startswith(f"{DEVICES}/"):
        return DEVICES
    return "/sys/devices"
