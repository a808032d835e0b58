# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change one file of a tree, or one field of a model, and exactly the facts that depend on it change.

Over every file that is read of every machine model that ships. ``_RULES`` says for each file what it is changed to,
which facts must change then, and which further ones may; anything else that changes is a fault, and so is a file that
no rule knows.
"""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path
from typing import Any, Callable, NamedTuple

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import MANIFEST
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.tests.machines.changed_host import ChangedHost, difference, flat
from ansible_collections.accelerator.ops.tests.machines.conftest import CompareAll

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


class Rule(NamedTuple):
    """What to do with a file, and what follows.

    ``change`` makes the new content from the old one. ``must`` and ``may`` are patterns of facts (fnmatch), with
    ``{self}`` for the row of the function that the file belongs to (``devices/0000:0f:00.0``), ``{id}`` for its
    address and ``{below}`` for each row below that bridge; a pattern with ``{self}`` is void for a function that has
    no row. ``silent`` is why a change of the file may alter nothing at all.
    """

    file: str
    change: Callable[[str], str]
    must: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    silent: str = ""


def _to(text: str) -> Callable[[str], str]:
    return lambda _old: text


def _other(first: str, second: str) -> Callable[[str], str]:
    """The first, or the second where the file has the first already."""
    return lambda old: second if old.strip() == first else first


def _sub(pattern: str, text: str) -> Callable[[str], str]:
    return lambda old: re.sub(pattern, text, old, count=1, flags=re.MULTILINE)


_NO_ROW = "read to see what the function is; this one is no device, NIC, drive, nor above one"
_KNOWS_LATER = "whether the file is there tells, not what stands in it"
_FIRST_SETS = "another function's state decides here"
_WHAT_IT_IS = ("{self}/*", "distances/*{id}*", "devices/*/nearest/*", "links*", "drivers/*", "kernel/modules/*", "*/#")

_NO_MAKER = "no accelerator is here, so no module of a maker is looked for"
_ON_DISK = "".join(f"kernel/{name}.ko:\n" for name in ("nouveau", "amdgpu", "i915", "xe", "habanalabs", "amdxdna"))
_LOADED = "".join(
    f"{name} 4096 0 - Live 0x0\n" for name in ("nouveau", "amdgpu", "i915", "xe", "habanalabs", "amdxdna")
)

_RULES = (
    # what a function is
    Rule("*/vendor", _to("0x0abc"), ("{self}/pci/vendor_id",), (*_WHAT_IT_IS, "{below}/link/*"), _NO_ROW),
    Rule("*/device", _to("0x0abc"), ("{self}/pci/device_id",), _WHAT_IT_IS, _NO_ROW),
    Rule("*/class", _to("0x0c0330"), ("{self}/pci/class",), (*_WHAT_IT_IS, "bridges/*"), _NO_ROW),
    Rule("*/subsystem_vendor", _to("0x0abc"), ("{self}/pci/subsystem_vendor_id",)),
    Rule("*/subsystem_device", _to("0x0abc"), ("{self}/pci/subsystem_id",)),
    Rule("*/revision", _to("0xee"), ("{self}/pci/revision",)),
    # where it is
    Rule("*/numa_node", _other("1", "0"), ("{self}/numa_node",), ("distances/*{id}*/kind", "devices/*/nearest/*")),
    Rule("*/local_cpus", _to("00000002"), ("{self}/cpus",)),
    # its link
    Rule("*/current_link_speed", _to("2.0 GT/s PCIe"), ("{self}/link/speed_gts",), ("{below}/link/speed_gts",)),
    Rule("*/current_link_width", _to("3"), ("{self}/link/width",), ("{below}/link/width",)),
    Rule(
        "*/max_link_speed",
        _to("2.0 GT/s PCIe"),
        ("{self}/link/max_speed_gts",),
        ("{self}/link/limited_by", "{below}/link/*"),
    ),
    Rule("*/max_link_width", _to("3"), ("{self}/link/max_width",), ("{self}/link/limited_by", "{below}/link/*")),
    Rule("*/config", lambda old: old[:64], (), ("{below}/acs",), _FIRST_SETS),
    Rule("*/aer_dev_correctable", _sub(r"^TOTAL_ERR_COR \d+", "TOTAL_ERR_COR 77"), ("{self}/aer/correctable",)),
    Rule("*/aer_dev_fatal", _sub(r"^TOTAL_ERR_FATAL \d+", "TOTAL_ERR_FATAL 77"), ("{self}/aer/fatal",)),
    Rule("*/aer_dev_nonfatal", _sub(r"^TOTAL_ERR_NONFATAL \d+", "TOTAL_ERR_NONFATAL 77"), ("{self}/aer/nonfatal",)),
    Rule("*/sriov_totalvfs", _to("99"), ("{self}/sriov/total",)),
    Rule("*/sriov_numvfs", _to("98"), ("{self}/sriov/configured",)),
    # network
    Rule("*/net/*/mtu", _to("1234"), ("nics/*/netdevs/{leaf}/mtu",)),
    Rule("*/net/*/speed", _to("1234"), ("nics/*/netdevs/{leaf}/speed_mbps",)),
    Rule(
        "*/net/*/operstate",
        _other("down", "up"),
        ("nics/*/netdevs/{leaf}/state",),
        ("nics/*/netdevs/{leaf}/speed_mbps",),
    ),
    Rule(
        "*/infiniband/*/node_type",
        _to("4: RNIC"),
        (),
        ("nics/*/rdma/{device}/protocol",),
        "InfiniBand is told by the link layer",
    ),
    Rule("*/infiniband/*/ports/*/link_layer", _other("InfiniBand", "Ethernet"), ("nics/*/rdma/{port}/protocol",)),
    Rule(
        "*/infiniband/*/ports/*/state",
        _other("1: DOWN", "4: ACTIVE"),
        ("nics/*/rdma/{port}/state",),
        ("nics/*/rdma/{port}/rate_gbps",),
    ),
    Rule("*/infiniband/*/ports/*/rate", _to("56 Gb/sec (4X FDR)"), ("nics/*/rdma/{port}/rate_gbps",)),
    # drives
    Rule("*/nvme/nvme*/model", _to("Another drive"), ("{self}/model",)),
    Rule("*/nvme/nvme*/nvme*/size", _to("4096000"), ("{self}/size_mib",)),
    # device files
    Rule("*/drm/*/uevent", _sub(r"^DEVNAME=.*", "DEVNAME=dri/other"), ("{self}/nodes/*",)),
    Rule("/dev/*", _to("x"), silent="kind, number, mode and owner are facts of a device file; its content is not read"),
    Rule("/etc/passwd", _sub(r"^root:", "wheel:"), ("devices/*/nodes/*/owner",)),
    Rule("/etc/group", _sub(r"^root:", "wheel:"), ("devices/*/nodes/*/group",)),
    # processors and memory
    Rule("/sys/devices/system/node/node*/cpulist", _to("1"), ("numa_nodes/{node}/cpus",)),
    Rule("/sys/devices/system/node/node*/distance", _to("10 99"), ("numa_nodes/{node}/distances",)),
    Rule(
        "/sys/devices/system/node/node*/meminfo",
        _sub(r"MemTotal:.*", "MemTotal: 2048000 kB"),
        ("numa_nodes/{node}/memory_mib",),
    ),
    Rule("*/hugepages/*/nr_hugepages", _to("77"), ("numa_nodes/{node}/hugepages/{pages}/total",)),
    Rule("*/hugepages/*/free_hugepages", _to("76"), ("numa_nodes/{node}/hugepages/{pages}/free",)),
    # kernel
    Rule("/proc/cmdline", _to("quiet"), ("kernel/command_line",), ("kernel/next_boot",)),
    Rule("/proc/sys/kernel/tainted", _to("1"), ("kernel/taint/value", "kernel/taint/flags")),
    Rule("/proc/sys/kernel/osrelease", _to("1.2.3"), ("kernel/release",), ("kernel/*", "drivers/*")),
    Rule("/proc/modules", lambda old: old + _LOADED, (), ("kernel/modules/*", "drivers/*"), _NO_MAKER),
    Rule("/sys/module/nvme/version", _to("7.7.7"), silent="the driver's version is no fact of a drive"),
    Rule("/sys/module/*/version", _to("7.7.7"), (), ("*/driver/version", "kernel/modules/*", "drivers/*")),
    Rule("/sys/module/module/parameters/sig_enforce", _other("Y", "N"), ("security/module_signatures_enforced",)),
    Rule(
        "/sys/kernel/security/lockdown",
        _other("none [integrity] confidentiality", "[none] integrity confidentiality"),
        ("security/lockdown",),
    ),
    Rule(
        "/sys/firmware/efi/efivars/SecureBoot-*",
        lambda old: old[:4] + ("\x00" if old[4:] == "\x01" else "\x01"),
        ("security/secure_boot",),
    ),
    Rule("/sys/fs/cgroup/cgroup.controllers", _to("cpu"), silent=_KNOWS_LATER),
    Rule("/lib/modules/*/modules.dep", lambda old: old + _ON_DISK, (), ("kernel/modules/*", "drivers/*"), _NO_MAKER),
    Rule("/lib/modules/*.ko*", _to(""), (), ("kernel/modules/*", "drivers/*")),
    Rule(
        "/boot/grub/grub.cfg",
        _to("set default=0\nmenuentry 'x' {\n linux /boot/vmlinuz-9.9.9\n}\n"),
        ("kernel/next_boot",),
        ("kernel/modules/*", "drivers/*"),
    ),
    # NVIDIA's driver
    Rule("/proc/driver/nvidia/gpus/*/information", _sub(r"^Model:.*", "Model: Another"), ("{self}/model",)),
)


def test_one_file(models: dict[str, Path], comparisons: CompareAll) -> None:
    """Every file that is read, one at a time."""
    with comparisons(("files changed one at a time", 500 * len(models))) as (files,):
        for name, root in models.items():
            host = ChangedHost(str(root))
            observe(host)
            before = observe(host)
            paths = flat(before)
            for place in sorted({host.place(path) for path in host.read_paths}):
                if place != MANIFEST and (root / place[1:]).is_file():
                    files.same(f"{name} {place}", _judge(host, root, place, before, paths), "")


def _judge(host: ChangedHost, root: Path, place: str, before: dict[str, Any], paths: dict[str, Any]) -> str:
    """What is wrong with the change of one file; empty when nothing is."""
    rule = next((rule for rule in _RULES if fnmatch.fnmatchcase(place, rule.file)), None)
    if rule is None:
        return "no rule knows this file"
    old = (root / place[1:]).read_bytes()
    new = rule.change(old.decode("latin-1")).encode("latin-1")
    if new == old:
        return "the rule does not change it"
    host.changed = {place: new}
    changed = difference(before, observe(host))
    host.changed = {}
    must, may = _patterns(rule.must, place, paths), _patterns(rule.may, place, paths)
    if not changed:
        return "" if rule.silent or (not must and not may) else "nothing changed"
    missed = [pattern for pattern in must if not fnmatch.filter(changed, pattern)]
    further = [path for path in changed if not any(fnmatch.fnmatchcase(path, pattern) for pattern in must + may)]
    if missed or further:
        return f"did not change: {missed}; changed too: {sorted(further)[:6]}"
    return ""


def _patterns(patterns: tuple[str, ...], place: str, paths: dict[str, Any]) -> list[str]:
    """The patterns for one file, with names in place of braces; void ones left out."""
    addresses = _ADDRESS.findall(place)
    address = addresses[-1] if addresses else ""
    rows = sorted({"/".join(path.split("/", 2)[:2]) for path in paths if path.startswith(_SECTIONS)})
    own = [row for row in rows if row.endswith(f"/{address}")]
    below = [row for row in rows if address and address in (paths.get(f"{row}/path") or ())]
    parts = place.split("/")
    names = {
        "id": address,
        "leaf": parts[-2],
        "device": _after(parts, "infiniband"),
        "port": _after(parts, "infiniband"),
        "node": next((part[4:] for part in parts if re.fullmatch(r"node\d+", part)), ""),
        "pages": next((part[10:-2] for part in parts if re.fullmatch(r"hugepages-\d+kB", part)), ""),
    }
    found = []
    for pattern in patterns:
        if "{self}" in pattern:
            found.extend(pattern.replace("{self}", row).format(**names) for row in own)
        elif "{below}" in pattern:
            found.extend(pattern.replace("{below}", row).format(**names) for row in below)
        else:
            found.append(pattern.format(**names))
    return found


_SECTIONS = ("devices/", "nics/", "storage/", "bridges/")


def _after(parts: list[str], name: str) -> str:
    return parts[parts.index(name) + 1] if name in parts[:-1] else ""
