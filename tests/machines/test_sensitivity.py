# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change one file of a tree, or one field of a model, and exactly the facts that depend on it change.

Over every file that is read of every machine model that ships; of devices that are alike over those of the first two,
unless ACCELERATOR_OPS_WHOLE=1 asks for all (``make test-all`` does).

``_RULES`` says for each file what it is changed to, which facts must change then, and which further ones may; anything
else that changes is a fault, and so is a file that no rule knows.
"""

from __future__ import annotations

import copy
import fnmatch
import os
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Callable, NamedTuple

import yaml

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import MANIFEST
from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout, model
from ansible_collections.accelerator.ops.plugins.module_utils.machine.records import Machine
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models
from ansible_collections.accelerator.ops.tests.machines.changed_host import ChangedHost, EntriesHost, difference, flat
from ansible_collections.accelerator.ops.tests.machines.conftest import Compare

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


_PARTS = 4  # of each model, so that no process is left with the largest alone
_ALIKE = 2  # things that are alike but for their numbers are changed so many times


def _chosen(keys: list[tuple[str, ...]]) -> list[int]:
    """The places of the things to change: the first two of each key, or all."""
    seen: Counter[tuple[str, ...]] = Counter()
    kept = []
    for place, key in enumerate(keys):
        seen[key] += 1
        if seen[key] <= _ALIKE or os.environ.get("ACCELERATOR_OPS_WHOLE") == "1":
            kept.append(place)
    return kept


def _plain(text: str) -> str:
    """A text without numbers and addresses; short numbers (a NUMA node, a width) stay."""
    if re.fullmatch(r"-?\d{1,2}", text):
        return text
    return re.sub(r"\b[0-9a-f]{2}(?=[:.])|[0-9a-f]*\d[0-9a-f]*", "#", text)


def _key_of_file(root: Path, place: str) -> tuple[str, ...]:
    """Where it is below its function, whose function that is, and what stands in it."""
    match = _AFTER_ADDRESS.fullmatch(place)
    folder, below = match.groups() if match is not None else ("", place)
    ids = [root / folder[1:] / name for name in ("vendor", "device") if folder]
    content = (root / place[1:]).read_text(encoding="latin-1")
    return (_plain(below), *(one.read_text() for one in ids if one.is_file()), _plain(content))


_AFTER_ADDRESS = re.compile(rf"(/.*/{_ADDRESS.pattern})/((?!.*{_ADDRESS.pattern}).*)")


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
_WHAT_IT_IS = (
    "{self}/*",
    "distances/*{id}*",
    "devices/{id}/*",  # a screen that is one no more
    "bridges/*",
    "devices/*/nearest/*",
    "devices/*/fabric*",  # an NVSwitch tells that there is a fabric
    "devices/*/partitions/*",  # they are counted by device
    "links*",
    "drivers/*",
    "kernel/modules/*",
    "*/#",
)

_NO_MAKER = "no accelerator is here, so no module of a maker is looked for"
_ON_DISK = "".join(f"kernel/{name}.ko:\n" for name in ("nouveau", "amdgpu", "i915", "xe", "habanalabs", "amdxdna"))
_LOADED = "".join(
    f"{name} 4096 0 - Live 0x0\n" for name in ("nouveau", "amdgpu", "i915", "xe", "habanalabs", "amdxdna")
)

_SLICES = ("devices/*/partitions/*/nodes/*",)
_MASTER = "the link of each member to its bond tells the same"
_WHOLE = "the memory of a whole device is told elsewhere"


def _other_hive(old: str) -> str:
    if re.search(r"^hive_id [1-9]", old, re.MULTILINE):
        return re.sub(r"(?m)^hive_id \d+", "hive_id 77", old)
    return re.sub(r"(?m)^cpu_cores_count \d+", "cpu_cores_count 77", old)


_KUBELET = ("kubelet/*",)
_EXISTS = "that it is there tells, not what stands in it"
_RULES = (
    # what gives devices to containers
    Rule("/etc/os-release", _to("ID=talos"), ("owners/#", "owners/*"), ("owners/*",)),
    Rule(
        "/var/lib/kubelet/config.yaml",
        lambda old: old + "\ntopologyManagerScope: pod\n",
        ("kubelet/topology_manager_scope",),
        ("kubelet/unknown/topology_manager_scope",),
    ),
    Rule(
        "/var/lib/kubelet/kubeadm-flags.env",
        _sub("best-effort", "restricted"),
        ("kubelet/topology_manager_policy",),
    ),
    Rule("*/kubelet.service", _sub("/usr/bin", "/opt/bin"), silent="the drop-in gives the command line"),
    Rule("*/kubelet.service.d/*.conf", lambda old: old.replace("bin/kubelet", "bin/other"), _KUBELET),
    Rule("*/kubelet.service/cgroup.procs", _to(""), ("kubelet/running",), _KUBELET),
    Rule("/proc/*/cmdline", _sub("=systemd", "=cgroupfs"), ("kubelet/cgroup_driver",)),
    Rule("*/nvidia-cdi-refresh.path", _to("x"), silent=_EXISTS),
    Rule("/run/cdi/*", lambda old: re.sub(r"(?m)^kind: \S+", "kind: other.com/gpu", old), ("cdi/specs/*/kind",)),
    Rule("/etc/containerd/config.toml", _to("version = 2"), (), ("engines/*",), "the drop-in is then not imported"),
    Rule("/etc/containerd/conf.d/99-nvidia.toml", _sub("= true", "= false"), ("engines/*/cdi_enabled",)),
    # before the general ones: files whose names end alike
    Rule("/proc/net/vlan/config", _to(""), ("nics/*/netdevs/*/vlans/*/id",), ("nics/*/netdevs/*/vlans*",)),
    Rule("*/accel/accel*/uevent", _sub(r"^DEVNAME=.*", "DEVNAME=accel/other"), ("{self}/nodes/*",)),
    Rule("*/tenstorrent/*/uevent", _sub(r"^DEVNAME=.*", "DEVNAME=tenstorrent/77"), ("{self}/nodes/*",)),
    Rule(
        "/sys/devices/virtual/net/*/uevent",
        lambda old: old.replace("=vlan", "=other") if "=vlan" in old else old.replace("=bond", "=vlan"),
        (),
        ("nics/*/netdevs/*/vlans*",),
        "the kernel's table of VLANs tells the same",
    ),
    # what a function is
    Rule(
        "*/vendor",
        _to("0x0abc"),
        ("{self}/pci/vendor_id",),
        (*_WHAT_IT_IS, "{below}/link/*"),
        _NO_ROW,
    ),
    Rule("*/device", _to("0x0abc"), ("{self}/pci/device_id",), _WHAT_IT_IS, _NO_ROW),
    Rule("*/class", _to("0x0c0330"), ("{self}/pci/class",), _WHAT_IT_IS, _NO_ROW),
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
    Rule("/etc/group", lambda old: re.sub(r"(?m)^(?=.)", "x", old), ("devices/*/nodes/*/group",)),
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
    Rule("/proc/sys/kernel/tainted", _to("1"), ("kernel/taint/value", "kernel/taint/flags*")),
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
        _sub(r"/vmlinuz-\S+", "/vmlinuz-9.9.9"),
        ("kernel/next_boot",),
        ("kernel/modules/*", "drivers/*"),
    ),
    Rule("/proc/mounts", _to(""), ("kernel/cgroup_version",)),
    # bonds
    Rule("*/bonding/slaves", _to(""), silent=_MASTER),
    Rule("/sys/class/net/bonding_masters", _to(""), silent=_MASTER),
    # AMD's driver
    Rule("*/product_name", _to("Another"), ("{self}/model",)),
    Rule("*/vbios_version", _to("another"), ("{self}/firmware/vbios",)),
    Rule("*/mem_info_vram_total", _to("1048576000"), ("{self}/memory_mib",)),
    Rule("*/current_compute_partition", _other("CPX", "SPX"), ("{self}/partition_mode/compute",)),
    Rule("*/current_memory_partition", _other("NPS4", "NPS1"), ("{self}/partition_mode/memory",)),
    Rule("*/fw_version/*_fw_version", _to("0x77"), ("{self}/firmware/*",)),
    Rule("*/unique_id", _to("0123456789abcdef"), ("{self}/uuid",)),
    Rule("*/kfd/topology/nodes/*/io_links/*", _sub(r"^type \d+", "type 4"), silent="both ends tell of a link"),
    Rule(
        "*/kfd/topology/nodes/*/mem_banks/*",
        _sub(r"^size_in_bytes \d+", "size_in_bytes 7"),
        (),
        ("devices/*/partitions/*/memory_mib",),
        _WHOLE,
    ),
    Rule("*/kfd/topology/nodes/*/properties", _other_hive, (), ("devices/*/fabric/clique",), "a socket is in no hive"),
    # Intel's and Habana's drivers
    Rule("*/tile*/physical_vram_size_bytes", _to("0x40000000"), ("{self}/memory_mib",)),
    Rule("*/*_ver", _to("another 9.9"), ("{self}/firmware/*",)),
    Rule("*/0000:*/uevent", _to("x"), silent=_KNOWS_LATER),
    # NVIDIA's driver
    Rule("/proc/driver/nvidia/gpus/*/information", _sub(r"^Model:.*", "Model: Another"), ("{self}/model",)),
    Rule("/proc/driver/nvidia/capabilities/*/access", _sub(r"^DeviceFileMinor: \d+", "DeviceFileMinor: 77"), _SLICES),
)


def test_one_file(models: dict[str, Path], comparison: Compare) -> None:
    """Every file that is read, one at a time."""
    tasks = [(root, part) for root in models.values() for part in range(_PARTS)]
    left_out = 0
    with comparison("files changed one at a time", 90 * len(models)) as files:
        for (root, _part), (found, alike) in zip(tasks, _in_parallel(_judge_files, tasks)):
            left_out += alike
            for place, wrong in found:
                files.same(f"{root.name} {place}", wrong, "")
        files.what += f" ({left_out} like two others left out)" if left_out else ""


def _in_parallel(judge: Callable[[Any], Any], tasks: list[Any]) -> list[Any]:
    """A process for each CPU: an observation is all computing, and there are thousands."""
    with ProcessPoolExecutor(os.cpu_count(), get_context("fork")) as pool:
        return list(pool.map(judge, tasks))


def _judge_files(task: tuple[Path, int]) -> tuple[list[tuple[str, str]], int]:
    """One of ``_PARTS`` parts of a tree's files, each with what is wrong; and how many were left out."""
    root, part = task
    host = ChangedHost(str(root))
    before = observe(host)
    paths = flat(before)
    places = sorted({host.place(path) for path in host.read_paths} - {MANIFEST})
    files = [place for place in places if (root / place[1:]).is_file()]
    chosen = _chosen([_key_of_file(root, place) for place in files])
    judged = [(files[at], _judge(host, root, files[at], before, paths)) for at in chosen[part::_PARTS]]
    return judged, 0 if part else len(files) - len(chosen)


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


class FieldRule(NamedTuple):
    """As ``Rule``, for the fields of a model whose path fits ``field``; ``{self}`` and ``{id}`` stand for each function
    whose record in the parsed model is another one then."""

    field: str
    change: Callable[[Any], Any]
    must: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    silent: str = ""
    is_checked: bool = False
    """The model may refuse the change: the field must agree with another one."""


def _number(first: int, second: int) -> Callable[[Any], Any]:
    return lambda old: second if old == first else first


_NOT_READ = "no fact is read from what this field writes"
_OF_THE_MODEL = "says what the model is and where it is from; no tree has it"
_UNMADE = "only functions that are no device, NIC, drive, nor above one are of this type"
_INDEX = ("devices/*/partitions*", "devices/*/uuid", "devices/*/model", "devices/*/firmware*", "devices/*/nodes*")

_FIELD_RULES = (
    FieldRule("name", lambda old: f"{old}-x", silent=_OF_THE_MODEL),
    FieldRule("title", lambda old: f"{old} x", silent=_OF_THE_MODEL),
    FieldRule("notes", lambda old: f"{old} x", silent=_OF_THE_MODEL),
    FieldRule("sources/*", lambda old: f"{old}1", silent=_OF_THE_MODEL),
    FieldRule("threads_per_core", _number(2, 1), silent=_NOT_READ),
    # numa
    FieldRule("numa/*/cpus", lambda old: old.split(",")[0].split("-")[0], ("numa_nodes/*/cpus",), ("*/cpus",)),
    FieldRule("numa/*/memory_mib", lambda old: old + 1024, ("numa_nodes/*/memory_mib",)),
    FieldRule("numa/*/distances/*", lambda old: old + 1, ("numa_nodes/*/distances",)),
    FieldRule("numa/*/hugepages/*", lambda old: old + 7, ("numa_nodes/*/hugepages/*",)),
    # a bond and its VLANs
    FieldRule("vlans/*/id", _number(77, 78), ("nics/*/netdevs/*/vlans/*/id",)),
    FieldRule("vlans/*/parent", lambda _old: "eno1", (), ("nics/*/netdevs/*/vlans*",), is_checked=True),
    FieldRule("bonds/*/members/*", lambda _old: "eno1", (), ("nics/*/netdevs/*",), is_checked=True),
    FieldRule("vlans/*", lambda old: old + 7, silent=_NOT_READ),
    FieldRule("bonds/*/state", lambda _old: "down", silent=_NOT_READ),
    FieldRule("bonds/*/mode", lambda _old: "active-backup 1", silent=_NOT_READ),
    FieldRule("bonds/*", lambda old: old + 7, silent=_NOT_READ),
    # AMD's fabric
    FieldRule("kfd/common/hive_id", lambda old: old + 7, ("devices/*/fabric/clique",)),
    FieldRule("kfd/links/*/type", _number(2, 11), (), ("links/*",), "a link of another kind, or to a socket"),
    FieldRule("kfd/links/*/weight", lambda old: old + 15, (), ("links/*",), "only XGMI links are facts"),
    FieldRule("kfd/links/*/pairs/*", lambda _old: 1, (), ("links/*",), "only XGMI links are facts", is_checked=True),
    FieldRule(
        "kfd/links/*/mesh/*", _number(2, 3), ("links/*",), (), "only XGMI links are facts, not those to sockets", True
    ),
    FieldRule("kfd/major", lambda old: old + 7, ("devices/*/nodes/*/major",)),
    FieldRule("kfd/nodes/*/device", lambda _old: "ff:1f.7", is_checked=True),
    FieldRule(
        "kfd/nodes/*/location_id", lambda old: old & ~7, ("devices/*/partitions/#",), ("devices/*/partitions/*",)
    ),
    FieldRule("kfd/nodes/*/drm_render_minor", lambda old: old + 60, _SLICES),
    FieldRule("kfd/*", lambda old: old + 1, silent=_NOT_READ),
    # a platform device for each partition
    FieldRule("platform/*/drm/render", _number(191, 190), _SLICES),
    FieldRule("platform/*/drm/card", lambda old: old + 100, silent=_NOT_READ),
    # what a driver writes
    FieldRule("*/attributes/product_name", lambda old: f"{old} x", ("{self}/model",)),
    FieldRule("*/attributes/vbios_version", lambda old: f"{old}9", ("{self}/firmware/vbios",)),
    FieldRule("*/attributes/mem_info_vram_total", lambda _old: "1048576000", ("{self}/memory_mib",)),
    FieldRule("*/attributes/current_compute_partition", lambda _old: "CPX", ("{self}/partition_mode/compute",)),
    FieldRule("*/attributes/current_memory_partition", lambda _old: "NPS4", ("{self}/partition_mode/memory",)),
    FieldRule("*/attributes/fw_version/*", lambda _old: "0x77", ("{self}/firmware/*",)),
    FieldRule("*/attributes/unique_id", lambda _old: "0123456789abcdef", ("{self}/uuid",)),
    FieldRule("*/attributes/tile*/physical_vram_size_bytes", lambda _old: "0x40000000", ("{self}/memory_mib",)),
    FieldRule("*/attributes/tenstorrent/*", lambda old: f"{old}77", ("{self}/nodes/*",)),
    FieldRule("*/attributes/*_ver", lambda old: f"{old}9", ("{self}/firmware/*",)),
    FieldRule("*/attributes/*", lambda old: f"{old}9", silent=_NOT_READ),
    # functions
    FieldRule(
        "*/id",
        lambda _old: "0abc:0def",
        ("{self}/pci/vendor_id", "{self}/pci/device_id"),
        (*_WHAT_IT_IS, "{below}/link/*", *_INDEX),
        _UNMADE,
    ),
    FieldRule(
        "*/subsystem",
        lambda _old: "0abc:0def",
        ("{self}/pci/subsystem_vendor_id", "{self}/pci/subsystem_id"),
        silent=_UNMADE,
    ),
    FieldRule(
        "*/class",
        lambda _old: "isa-bridge",
        ("{self}/pci/class",),
        (*_WHAT_IT_IS, *_INDEX),
        _UNMADE,
        is_checked=True,
    ),
    FieldRule("*/empty", lambda old: not old, (), ("{self}/link/*",), _UNMADE, is_checked=True),
    FieldRule("*/accel", lambda old: old + 40, ("{self}/nodes/*",), ("{self}/nodes*",)),
    FieldRule("*/revision", lambda _old: "ee", ("{self}/pci/revision",), silent=_UNMADE),
    FieldRule(
        "pci/*/numa",
        _number(1, 0),
        ("{self}/numa_node",),
        ("{self}/cpus", "distances/*{id}*/kind", "devices/*/nearest/*"),
        _UNMADE,
        is_checked=True,
    ),
    FieldRule(
        "*/driver",
        lambda _old: "vfio-pci",
        ("{self}/driver/name",),
        ("{self}/*", "devices/*/nodes*", "devices/*/peer_memory"),
        _UNMADE,
    ),
    FieldRule("*/link/*", _number(4, 8), (), ("{self}/link/*", "{below}/link/*"), _UNMADE),
    FieldRule("*/acs", lambda old: not old, (), ("{below}/acs", "{self}/acs"), _UNMADE),
    FieldRule("*/aer/*", lambda old: old + 7, ("{self}/aer/*",), silent=_UNMADE),
    FieldRule("*/sriov/total", lambda old: old + 7, ("{self}/sriov/total",)),
    FieldRule("*/sriov/configured", lambda old: old + 1, ("{self}/sriov/configured",)),
    FieldRule("*/iommu_group", lambda old: old + 900, (), ("{self}/iommu_group",), "only devices have it as a fact"),
    # what drivers show
    FieldRule("*/net/mtu", lambda old: old + 7, ("{self}/netdevs/*/mtu",)),
    FieldRule("*/net/speed_mbps", lambda old: old + 7, ("{self}/netdevs/*/speed_mbps",)),
    FieldRule(
        "*/net/state",
        lambda old: "down" if old == "up" else "up",
        ("{self}/netdevs/*/state",),
        ("{self}/netdevs/*/speed_mbps",),
    ),
    FieldRule("*/net/name", lambda _old: "other0", ("{self}/netdevs/*/name",), ("{self}/netdevs/*",)),
    FieldRule("*/net", lambda _old: "other0", ("{self}/netdevs/*/name",), ("{self}/netdevs/*",), is_checked=True),
    FieldRule(
        "*/rdma/link_layer",
        lambda old: "Ethernet" if old == "InfiniBand" else "InfiniBand",
        ("{self}/rdma/*/protocol",),
    ),
    FieldRule(
        "*/rdma/state",
        lambda old: "DOWN" if old == "ACTIVE" else "ACTIVE",
        ("{self}/rdma/*/state",),
        ("{self}/rdma/*/rate_gbps",),
    ),
    FieldRule("*/rdma/rate", lambda _old: "56 Gb/sec (4X FDR)", ("{self}/rdma/*/rate_gbps",)),
    FieldRule(
        "*/rdma/node_type", lambda _old: "RNIC", (), ("{self}/rdma/*/protocol",), "InfiniBand is told by the link layer"
    ),
    FieldRule("*/rdma/name", lambda _old: "other_0", ("{self}/rdma/*/name",), ("{self}/rdma/*",)),
    FieldRule("*/rdma/uverbs", lambda old: old + 70, silent=_NOT_READ),
    FieldRule("*/nvme/model", lambda old: f"{old} x", ("{self}/model",)),
    FieldRule("*/nvme/sectors", lambda old: old + 2048000, ("{self}/size_mib",)),
    FieldRule("*/nvme", lambda _old: "nvme77", ("{self}/names",)),
    FieldRule("*/nvme/name", lambda _old: "nvme77", ("{self}/names",)),
    FieldRule("*/drm/card", lambda old: old + 100, ("{self}/nodes/*",), ("{self}/nodes*",)),
    FieldRule("*/drm/render", _number(191, 190), ("{self}/nodes/*",), ("{self}/nodes*", "{self}/partitions*")),
    FieldRule("*/nvidia/minor", lambda old: old + 40, ("{self}/nodes/*",), ("{self}/nodes*", "{self}/partitions*")),
    FieldRule("*/nvidia/uuid", lambda _old: "GPU-11111111-0000-4000-8000-000000000000", ("{self}/uuid",)),
    FieldRule("*/nvidia/model", lambda old: f"{old} x", ("{self}/model",)),
    FieldRule("*/nvidia/video_bios", lambda old: f"{old}9", ("{self}/firmware/vbios",)),
    FieldRule("*/nvidia/firmware", lambda old: f"{old}9", ("{self}/firmware/gsp",)),
    FieldRule("device_files/*/nvidia-cap[12]", lambda old: old.replace(" 0", " 1"), silent=_NOT_READ),
    FieldRule("device_files/*/nvidia-cap*", lambda old: old.replace("0444", "0400"), _SLICES),
    FieldRule("device_files/*", lambda old: old.replace("0666", "0600"), ("devices/*/nodes/*",), silent=_NOT_READ),
    FieldRule("files//etc/os-release", lambda _old: "ID=talos", ("owners/#",), ("owners/*",)),
    FieldRule(
        "files//var/lib/kubelet/config.yaml",
        lambda old: f"{old}\ntopologyManagerScope: pod\n",
        ("kubelet/topology_manager_scope",),
        ("kubelet/unknown/topology_manager_scope",),
    ),
    FieldRule(
        "files//var/lib/kubelet/kubeadm-flags.env",
        lambda old: old.replace("best-effort", "restricted"),
        ("kubelet/topology_manager_policy",),
    ),
    FieldRule("files/*/kubelet.service", lambda old: f"{old} x", silent=_NOT_READ),
    FieldRule("files/*/10-kubeadm.conf", lambda old: old.replace("bin/kubelet", "bin/other"), ("kubelet/*",)),
    FieldRule("files/*/cgroup.procs", lambda _old: "", ("kubelet/running",), ("kubelet/*",)),
    FieldRule("files//proc/*/cmdline", lambda old: old.replace("=systemd", "=cgroupfs"), ("kubelet/cgroup_driver",)),
    FieldRule("files/*/nvidia-cdi-refresh.path", lambda _old: "x", silent=_NOT_READ),
    FieldRule(
        "files//etc/containerd/*.toml",
        lambda old: old.replace("= true", "= false").replace("version = 2\nimports", "version = 2\nother"),
        ("engines/*/cdi_enabled",),
        ("engines/*",),
    ),
    FieldRule("files//run/cdi/*", lambda old: old.replace("name: all", "name: every"), ("cdi/specs/*/devices",)),
    FieldRule("symlinks//var/run", lambda _old: "/other", ("owners/*", "cdi/specs/#"), ("owners/*", "cdi/specs/*")),
    FieldRule(
        "folders/*",
        lambda old: f"{old}x",
        silent="what is looked for beside is there still",
        may=("owners/*", "kubelet/*"),
    ),
    FieldRule("files//proc/driver/nvidia/capabilities/*", lambda old: old.replace("Minor: ", "Minor: 7"), _SLICES),
    # kernel and security
    FieldRule("nvidia_version", lambda old: f"{old}x", silent=_NOT_READ),
    FieldRule("kernel/release", lambda old: f"{old}x", ("kernel/release",), ("kernel/*", "drivers/*")),
    FieldRule("kernel/next_boot", lambda old: f"{old}x", ("kernel/next_boot",), ("kernel/*", "drivers/*")),
    FieldRule("kernel/command_line", lambda old: f"{old} quiet", ("kernel/command_line",)),
    FieldRule("kernel/taint", lambda old: old ^ 1, ("kernel/taint/value",), ("kernel/taint/flags*",)),
    FieldRule("kernel/cgroup", _number(2, 1), ("kernel/cgroup_version",)),
    FieldRule(
        "kernel/modules/*/version",
        lambda old: f"{old}9",
        (),
        ("*/driver/version", "kernel/modules/*", "drivers/*"),
        _NOT_READ,
    ),
    FieldRule("kernel/modules/*/size", lambda old: old + 4096, silent=_NOT_READ),
    FieldRule("kernel/modules/*/used_by/*", lambda old: f"{old}x", silent=_NOT_READ),
    FieldRule("kernel/modules/*/taint", lambda _old: "P", silent=_NOT_READ),
    FieldRule(
        "kernel/disk/*/version", lambda old: f"{old}9", (), ("kernel/modules/*/on_disk/*", "drivers/*"), _NO_MAKER
    ),
    FieldRule("kernel/disk/*/signer", lambda old: f"{old} x", (), ("kernel/modules/*/on_disk/*",), _NO_MAKER),
    FieldRule("security/secure_boot", lambda old: not old, ("security/secure_boot",)),
    FieldRule("security/lockdown", lambda old: "integrity" if old != "integrity" else "none", ("security/lockdown",)),
    FieldRule("security/signatures_enforced", lambda old: not old, ("security/module_signatures_enforced",)),
)


class _TextDates(yaml.SafeLoader):
    """Plain YAML, except that a date stays the text that it is."""


_TextDates.add_constructor("tag:yaml.org,2002:timestamp", yaml.SafeLoader.construct_yaml_str)


def test_one_field(comparison: Compare) -> None:
    """Every scalar of every model, one at a time."""
    tasks = [(path, part) for path in machine_models.shipped().values() for part in range(_PARTS)]
    left_out = 0
    with comparison("fields of models changed one at a time", 60 * len(machine_models.shipped())) as fields:
        for (path, _part), (found, alike) in zip(tasks, _in_parallel(_judge_fields, tasks)):
            left_out += alike
            for field, wrong in found:
                fields.same(f"{Path(path).stem} {field}", wrong, "")
        fields.what += f" ({left_out} like two others left out)" if left_out else ""


def _judge_fields(task: tuple[str, int]) -> tuple[list[tuple[str, str]], int]:
    """One of ``_PARTS`` parts of a model's fields, each with what is wrong; and how many were left out."""
    path, part = task
    mapping = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_TextDates)
    machine = model.parse(mapping)
    before = observe(EntriesHost(layout.entries(machine)))
    paths = flat(before)
    fields = list(_fields(mapping))
    chosen = _chosen([(_plain("/".join(map(str, field))), _plain(str(_at(mapping, field)))) for field in fields])
    judged = [
        ("/".join(map(str, fields[at])), _judge_field(mapping, fields[at], machine, before, paths))
        for at in chosen[part::_PARTS]
    ]
    return judged, 0 if part else len(fields) - len(chosen)


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _fields(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each scalar."""
    if isinstance(value, (dict, list)):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _fields(below, (*path, key))
    else:
        yield path


def _judge_field(
    mapping: Any, field: tuple[Any, ...], machine: Machine, before: dict[str, Any], paths: dict[str, Any]
) -> str:
    """What is wrong with the change of one field; empty when nothing is."""
    written = "/".join(map(str, field))
    rule = next((rule for rule in _FIELD_RULES if fnmatch.fnmatchcase(written, rule.field)), None)
    if rule is None:
        return "no rule knows this field"
    other = copy.deepcopy(mapping)
    holder = _at(other, field[:-1])
    holder[field[-1]] = rule.change(holder[field[-1]])
    try:
        changed_machine = model.parse(other)
    except InputError as error:
        return "" if rule.is_checked else f"the changed model is refused: {error}"
    changed = difference(before, observe(EntriesHost(layout.entries(changed_machine))))
    was = {function.address: function for function in machine.functions}
    touched = [function.address for function in changed_machine.functions if was.get(function.address) != function]
    must = [pattern for address in touched or [""] for pattern in _patterns(rule.must, f"/{address}", paths)]
    may = [pattern for address in touched or [""] for pattern in _patterns(rule.may, f"/{address}", paths)]
    if not changed:
        return "" if rule.silent else "nothing changed"
    missed = [pattern for pattern in must if not fnmatch.filter(changed, pattern)]
    further = [path for path in changed if not any(fnmatch.fnmatchcase(path, pattern) for pattern in must + may)]
    if missed or further:
        return f"did not change: {missed[:4]}; changed too: {sorted(further)[:6]}"
    return ""
