# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All of a model that does not hang on a PCI function, written down from a tree."""

from __future__ import annotations

import re
from typing import Any, Optional

from ..codec import module_file
from ..codec.network import vlans
from ..codec.sysfs import cpus_of_mask, list_of_cpus, properties
from ..host.door import Host
from .layout_net import NET
from .layout_system import CPUS, KFD, LOCKDOWN_MODES, NODES, SECURE_BOOT, boot_menu
from .model import cpu_list, of_function
from .reading import kept, names, natural, number, plain_number, target, text
from .records import GROUPS, USERS, Function
from .writedown_pci import accel, drm

_GRAPHICS = ("kernel/drivers/gpu/drm/", "kernel/drivers/accel/")
"""Folders of a kernel's modules that are looked up whether or not something is bound to them."""

_COMPUTED = ("mem_banks_count", "io_links_count", "p2p_links_count")
_ZERO = ("cpu_cores_count", "simd_count", "caches_count", "cpu_core_id_base")


def numa(host: Host) -> dict[str, Any]:
    """The keys ``numa`` and ``threads_per_core``."""
    numbers = [int(name[4:]) for name in natural(names(host, NODES)) if re.fullmatch(r"node\d+", name)]
    nodes = []
    for position, node in enumerate(numbers):
        folder = f"{NODES}/node{node}"
        cpus = _cpus(host, folder)
        first = cpus[0] if cpus else None
        socket = None if first is None else number(host, f"{CPUS}/cpu{first}/topology/physical_package_id")
        memory = re.search(r"MemTotal:\s+(\d+) kB", text(host, f"{folder}/meminfo") or "")
        distances = text(host, f"{folder}/distance") or ""
        values = [int(value) for value in distances.split()] if re.fullmatch(r"[\d ]+", distances) else []
        pages = {}
        for name in natural(names(host, f"{folder}/hugepages")):
            match = re.fullmatch(r"hugepages-(\d+)kB", name)
            total = number(host, f"{folder}/hugepages/{name}/nr_hugepages")
            free = number(host, f"{folder}/hugepages/{name}/free_hugepages")
            if match and total is not None and free is not None:
                pages[match.group(1)] = [total, free]
        nodes.append(
            kept(
                {
                    "node": node if node != position else None,
                    "socket": socket if socket is not None and 0 <= socket != node else None,
                    "cpus": list_of_cpus(cpus) if cpus else None,
                    "memory_mib": int(memory.group(1)) // 1024 if memory else None,
                    "distances": values if len(values) == len(numbers) else None,
                    "hugepages": pages or None,
                }
            )
        )
    return kept({"threads_per_core": _threads(host, nodes), "numa": nodes or None})


def _cpus(host: Host, folder: str) -> list[int]:
    try:
        return list(cpu_list(host.read(f"{folder}/cpulist").value or ""))
    except ValueError:
        return []


def _threads(host: Host, nodes: list[dict[str, Any]]) -> Optional[int]:
    """Threads of a core, if the tree tells of CPUs at all and each core has as many."""
    counts = set()
    for node in nodes:
        for cpu in cpu_list(node.get("cpus", "")):
            mask = text(host, f"{CPUS}/cpu{cpu}/topology/thread_siblings")
            try:
                counts.add(len(cpus_of_mask(mask or "")))
            except ValueError:
                return None
    return counts.pop() if len(counts) == 1 and 0 not in counts else None


def platform(host: Host) -> dict[str, Any]:
    """Devices off PCI that are accelerators or parts of one: those with a graphics or accelerator class."""
    base = "/sys/devices/platform"
    found = {}
    for name in natural(names(host, base)):
        values = kept({"drm": drm(host, f"{base}/{name}"), "accel": accel(host, f"{base}/{name}")})
        if values:
            driver = host.link(f"{base}/{name}/driver").value
            if driver:
                values["driver"] = driver.rpartition("/")[2]
            found[name] = values
    return {"platform": found} if found else {}


def virtual_net(host: Host, known: set[str]) -> dict[str, Any]:
    """Bonds and VLANs whose interfaces are part of the model."""
    bonds: dict[str, Any] = {}
    for name in natural(names(host, NET)):
        folder = f"{NET}/{name}"
        mode = text(host, f"{folder}/bonding/mode")
        members = (text(host, f"{folder}/bonding/slaves") or "").split()
        if target(host, folder) == f"/sys/devices/virtual/net/{name}" and mode and set(members) <= known:
            bonds[name] = {"mode": mode, "members": members, **_interface(host, folder)}
    try:
        rows = vlans(text(host, "/proc/net/vlan/config") or "")
    except ValueError:
        rows = []
    found: dict[str, Any] = {}
    for row in rows:
        folder = f"{NET}/{row.name}"
        if target(host, folder) == f"/sys/devices/virtual/net/{row.name}" and row.parent in known | set(bonds):
            values = _interface(host, folder)
            found[row.name] = {
                "parent": row.parent,
                "id": row.id,
                **{key: values[key] for key in values if key in ("mtu", "ifindex")},
            }
    return kept({"bonds": bonds or None, "vlans": found or None})


def _interface(host: Host, folder: str) -> dict[str, Any]:
    return kept(
        {
            "mtu": plain_number(host, f"{folder}/mtu"),
            "speed_mbps": number(host, f"{folder}/speed"),
            "state": text(host, f"{folder}/operstate"),
            "ifindex": plain_number(host, f"{folder}/ifindex"),
        }
    )


def kfd(host: Host, functions: list[Function]) -> dict[str, Any]:
    """The key ``kfd``: what GPU nodes have in common, the nodes, and links as meshes and pairs."""
    folders = [name for name in natural(names(host, f"{KFD}/nodes")) if name.isdigit()]
    if not folders or folders != [str(count) for count in range(len(folders))]:
        return {}
    nodes: list[dict[str, Any]] = []
    links: dict[tuple[Any, ...], set[tuple[int, int]]] = {}
    for name in folders:
        folder = f"{KFD}/nodes/{name}"
        values = _numbers(host, f"{folder}/properties")
        values = {key: values[key] for key in values if key not in _COMPUTED and (values[key] or key not in _ZERO)}
        gpu_id = plain_number(host, f"{folder}/gpu_id")
        banks = [
            _numbers(host, f"{folder}/mem_banks/{bank}/properties")
            for bank in natural(names(host, f"{folder}/mem_banks"))
        ]
        nodes.append({"gpu_id": gpu_id or None, "memory": banks or None, **values})
        for kind in ("io_links", "p2p_links"):
            for index in natural(names(host, f"{folder}/{kind}")):
                link = _numbers(host, f"{folder}/{kind}/{index}/properties")
                pair = (link.pop("node_from", -1), link.pop("node_to", -1))
                rest = tuple(sorted((key, value) for key, value in link.items() if value))
                if pair[0] == int(name) and 0 <= pair[1] < len(folders):
                    links.setdefault((kind == "p2p_links", rest), set()).add(pair)
    major = re.fullmatch(r"(\d+):0", text(host, "/sys/class/kfd/kfd/dev") or "")
    rows = [row for (is_p2p, rest), pairs in sorted(links.items()) for row in _link_rows(is_p2p, dict(rest), pairs)]
    return {
        "kfd": kept(
            {"major": int(major.group(1)) if major else None, **_shared(nodes, functions), "links": rows or None}
        )
    }


def _numbers(host: Host, path: str) -> dict[str, int]:
    try:
        found = properties(text(host, path) or "")
    except ValueError:
        return {}
    return {key: value for key, value in found.items() if 0 <= value <= 2**64}


def _shared(nodes: list[dict[str, Any]], functions: list[Function]) -> dict[str, Any]:
    common: dict[str, int] = {}
    memory = None
    for node in nodes:
        device = _device_of(node, functions) if node["gpu_id"] is not None or node.get("simd_count") else None
        if device is not None:
            node["device"] = device.address
            derived = of_function(device)
            for key in [key for key, value in derived.items() if node.get(key, ...) == value]:
                del node[key]
    gpus = [node for node in nodes if node["gpu_id"] is not None or "device" in node]
    if len(gpus) > 1:
        banks = gpus[0]["memory"]
        if banks and all(node["memory"] == banks for node in gpus):
            memory = banks
            for node in gpus:
                node["memory"] = None
        for key, value in list(gpus[0].items()):
            if key not in ("gpu_id", "memory", "device") and all(node.get(key, ...) == value for node in gpus):
                common[key] = value
                for node in gpus:
                    del node[key]
    return kept({"common": common or None, "memory": memory, "nodes": [kept(node) for node in nodes]})


def _device_of(node: dict[str, Any], functions: list[Function]) -> Optional[Function]:
    """The PCI function of a compute node; a partition has its number in the lowest or highest bits of the location."""
    location, domain = node.get("location_id", 0), node.get("domain", 0)
    for wanted in (location, location & ~7, location & 0xFFFF):
        for function in functions:
            derived = of_function(function)
            same_vendor = derived.get("vendor_id") == node.get("vendor_id")
            if wanted and same_vendor and (derived["location_id"], derived["domain"]) == (wanted, domain):
                keys = set(derived) - set(node)
                return None if keys else function
    return None


def _link_rows(is_p2p: bool, values: dict[str, int], pairs: set[tuple[int, int]]) -> list[dict[str, Any]]:
    """Directed pairs as meshes where all are linked with all, but not inside of sets; else as pairs, else as is."""
    row = {**values, **({"p2p": True} if is_p2p else {})}
    rows: list[dict[str, Any]] = []
    left = set(pairs)
    for group in _groups(pairs):
        apart = {one: sorted(other for other in group if (one, other) not in pairs) for one in group}
        is_mesh = all(apart[other] == apart[one] and (other, one) not in pairs for one in group for other in apart[one])
        if len(group) > 2 and is_mesh and all((other, one) in pairs for one, other in pairs if one in group):
            sets = sorted({tuple(found) for found in apart.values()})
            rows.append({"mesh": [list(found) if len(found) > 1 else found[0] for found in sets], **row})
            left -= {pair for pair in pairs if pair[0] in group}
    both = sorted(pair for pair in left if pair[0] < pair[1] and pair[::-1] in left)
    if both:
        rows.append({"pairs": [list(pair) for pair in both], **row})
    single = sorted(pair for pair in left if pair[::-1] not in left)
    if single:
        rows.append({"directed": [list(pair) for pair in single], **row})
    return rows


def _groups(pairs: set[tuple[int, int]]) -> list[set[int]]:
    groups: list[set[int]] = []
    for pair in sorted(pairs):
        touching = [group for group in groups if group & set(pair)]
        merged = set(pair).union(*touching)
        groups = [group for group in groups if group not in touching] + [merged]
    return groups


def kernel(host: Host, drivers: set[str]) -> dict[str, Any]:
    """The key ``kernel``; on disk it looks up graphics drivers, ``drivers``, and what does not come with the kernel."""
    modules: Optional[dict[str, Any]] = None
    rows = host.read("/proc/modules").value
    if rows is not None:
        modules = {}
        for line in rows.splitlines():
            fields = line.split()
            if len(fields) < 5 or not fields[1].isdigit():
                continue
            used = [] if fields[3] == "-" else [name for name in fields[3].split(",") if name]
            values: dict[str, Any] = kept({"version": text(host, f"/sys/module/{fields[0]}/version")})
            values["size"] = int(fields[1])
            if used:
                values["used_by"] = used
            if len(fields) > 6:
                values["taint"] = fields[6].strip("()")
            modules[fields[0]] = values
    releases = [
        name
        for name in names(host, "/lib/modules")
        if text(host, f"/lib/modules/{name}/modules.dep") is not None or host.exists(f"/lib/modules/{name}/modules.dep")
    ]
    disk = {release: _disk(host, release, drivers) for release in releases}
    taint = plain_number(host, "/proc/sys/kernel/tainted")
    found = {
        "release": text(host, "/proc/sys/kernel/osrelease"),
        "next_boot": _next_boot(host),
        "command_line": text(host, "/proc/cmdline"),
        "taint": taint,
        "cgroup": _cgroup(host),
        "modules": modules,
        "releases": [release for release in releases if not disk[release]] or None,
        "disk": {release: files for release, files in disk.items() if files} or None,
    }
    return {"kernel": kept(found)} if kept(found) else {}


def _disk(host: Host, release: str, drivers: set[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in (text(host, f"/lib/modules/{release}/modules.dep") or "").splitlines():
        path = line.partition(":")[0]
        name = _name_of(path)
        if path.startswith("kernel/") and not path.startswith(_GRAPHICS) and name not in drivers:
            continue
        if re.search(r"\.ko(\.gz|\.xz)?$", path) and not path.startswith("/") and ".." not in path:
            found[path] = _module_file(host, f"/lib/modules/{release}/{path}")
    return found


def built_in(host: Host, drivers: set[str]) -> dict[str, str]:
    """Files of the kernels that say which of ``drivers`` are built in, and their versions, without all the others."""
    found = {}
    for release in names(host, "/lib/modules"):
        folder = f"/lib/modules/{release}"
        lines = [
            line for line in (text(host, f"{folder}/modules.builtin") or "").splitlines() if _name_of(line) in drivers
        ]
        if lines:
            found[f"{folder}/modules.builtin"] = "\n".join(lines)
        content, _reason = host.read_bytes(f"{folder}/modules.builtin.modinfo")
        versions = [
            field.decode("utf-8")
            for field in (content or b"").split(b"\0")
            if re.fullmatch(rb"\w+\.version=[\x20-\x7e]*", field) and field.decode("ascii").partition(".")[0] in drivers
        ]
        if content is not None:
            found[f"{folder}/modules.builtin.modinfo"] = "\0".join([*versions, ""])
    return found


def _name_of(path: str) -> str:
    return path.rpartition("/")[2].partition(".ko")[0].replace("-", "_")


def _module_file(host: Host, path: str) -> dict[str, str]:
    size, _reason = host.size(path)
    if size is None:
        return {}
    kind = path.rpartition(".ko")[2].lstrip(".")

    def read_at(offset: int, length: int) -> bytes:
        return host.read_bytes(path, length, offset)[0] or b""

    try:
        if kind:
            content = module_file.unpack(kind, read_at)
            seen = module_file.read_module(module_file.within(content), len(content))
        else:
            seen = module_file.read_module(read_at, size)
    except ValueError:
        return {}
    return kept({"version": seen.version, "signer": seen.signer})


def _next_boot(host: Host) -> Optional[str]:
    """The release of a boot menu that is just as a model's is; any other menu is kept as files."""
    menu = text(host, "/boot/grub/grub.cfg") or ""
    match = re.search(r"linux /boot/vmlinuz-(\S+)", menu)
    command_line = text(host, "/proc/cmdline")
    if match is None or menu != boot_menu(match.group(1), command_line).strip():
        return None
    return match.group(1)


def _cgroup(host: Host) -> Optional[int]:
    if host.exists("/sys/fs/cgroup/cgroup.controllers"):
        return 2
    return 1 if host.exists("/sys/fs/cgroup/devices") else None


def security(host: Host) -> dict[str, Any]:
    """The key ``security``."""
    content, _reason = host.read_bytes(SECURE_BOOT, 64)
    lockdown = re.findall(r"\[(\w+)\]", text(host, "/sys/kernel/security/lockdown") or "")
    enforced = text(host, "/sys/module/module/parameters/sig_enforce")
    found = kept(
        {
            "secure_boot": content[4] == 1 if content is not None and len(content) == 5 and content[4] < 2 else None,
            "lockdown": lockdown[0] if len(lockdown) == 1 and lockdown[0] in LOCKDOWN_MODES else None,
            "signatures_enforced": {"Y": True, "N": False}.get(enforced or ""),
        }
    )
    return {"security": found} if found else {}


def owners(host: Host, needed_users: set[int], needed_groups: set[int]) -> dict[str, Any]:
    """The keys ``users`` and ``groups``: where they differ from the usual ones, and those that own device files."""
    found = {}
    for key, path, usual, needed in (
        ("users", "/etc/passwd", USERS, needed_users),
        ("groups", "/etc/group", GROUPS, needed_groups),
    ):
        rows = [line.split(":") for line in (host.read(path).value or "").splitlines()]
        numbers = {row[0]: int(row[2]) for row in rows if len(row) > 2 and row[2].isdigit()}
        own = {
            name: value
            for name, value in numbers.items()
            if (name in usual and usual[name] != value) or (name not in usual and value in needed)
        }
        if own:
            found[key] = dict(sorted(own.items()))
    return found
