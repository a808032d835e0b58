# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPUs, NUMA nodes, the kernel and its modules, Secure Boot, users, and the topology of AMD's compute driver.

Forms: Documentation/admin-guide, Documentation/ABI/stable/sysfs-devices-node, drivers/gpu/drm/amd/amdkfd of
Linux 6.12 (2024-11); UEFI specification 2.10, 3.3 (the SecureBoot variable).
"""

from __future__ import annotations

from typing import Optional

from .layout_pci import cpulist, cpumap
from .module_image import image
from .records import Kernel, Machine, Module, Numa, Security
from .sheet import Sheet

NODES = "/sys/devices/system/node"
CPUS = "/sys/devices/system/cpu"
KFD = "/sys/class/kfd/kfd/topology"
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
LOCKDOWN_MODES = ("none", "integrity", "confidentiality")

_LINK_ROWS_TEXT = (
    "type version_major version_minor node_from node_to weight min_latency max_latency min_bandwidth max_bandwidth "
    "recommended_transfer_size flags"
)
_LINK_ROWS = _LINK_ROWS_TEXT.split()
_NODE_ROWS_TEXT = (
    "cpu_cores_count simd_count mem_banks_count caches_count io_links_count p2p_links_count cpu_core_id_base "
    "simd_id_base max_waves_per_simd lds_size_in_kb gds_size_in_kb num_gws wave_front_size array_count "
    "simd_arrays_per_engine cu_per_simd_array simd_per_cu max_slots_scratch_cu gfx_target_version vendor_id device_id "
    "location_id domain drm_render_minor hive_id num_sdma_engines num_sdma_xgmi_engines num_sdma_queues_per_engine "
    "num_cp_queues max_engine_clk_fcompute local_mem_size fw_version capability debug_prop sdma_fw_version unique_id "
    "num_xcc max_engine_clk_ccompute"
)
_NODE_ROWS = _NODE_ROWS_TEXT.split()
_BANK_ROWS_TEXT = "heap_type size_in_bytes flags width mem_clk_max"
_BANK_ROWS = _BANK_ROWS_TEXT.split()


def system(sheet: Sheet, machine: Machine) -> None:
    """All that does not hang on a device."""
    _cpus(sheet, machine)
    for node in machine.numa:
        _node(sheet, node, machine)
    if machine.numa:
        nodes = [node.node for node in machine.numa]
        for name in ("online", "possible", "has_memory"):
            sheet.file(f"{NODES}/{name}", cpulist(nodes))
        sheet.file(f"{NODES}/has_cpu", cpulist([node.node for node in machine.numa if node.cpus]))
    _kernel(sheet, machine.kernel)
    _security(sheet, machine.security)
    if machine.nvidia_version is not None:
        sheet.file("/proc/driver/nvidia/version", machine.nvidia_version)
    sheet.file(
        "/etc/passwd", "\n".join(f"{name}:x:{number}:{number}::/:/bin/sh" for name, number in machine.users.items())
    )
    sheet.file("/etc/group", "\n".join(f"{name}:x:{number}:" for name, number in machine.groups.items()))


def _cpus(sheet: Sheet, machine: Machine) -> None:
    every = [cpu for node in machine.numa for cpu in node.cpus]
    if not every:
        return
    for name in ("online", "possible", "present"):
        sheet.file(f"{CPUS}/{name}", cpulist(every))
    threads = machine.threads_per_core
    if threads is None:
        return
    sockets: dict[int, list[int]] = {}
    for node in machine.numa:
        sockets.setdefault(node.socket, []).extend(node.cpus)
    for node in machine.numa:
        cores = max(len(node.cpus) // threads, 1)
        for position, cpu in enumerate(node.cpus):
            siblings = list(node.cpus[position % cores :: cores])
            folder = f"{CPUS}/cpu{cpu}/topology"
            sheet.file(f"{folder}/physical_package_id", str(node.socket))
            sheet.file(f"{folder}/core_id", str(sorted(sockets[node.socket]).index(siblings[0])))
            sheet.file(f"{folder}/thread_siblings", cpumap(siblings, machine))
            sheet.file(f"{folder}/thread_siblings_list", cpulist(siblings))
            sheet.file(f"{folder}/core_siblings", cpumap(sockets[node.socket], machine))
            sheet.file(f"{folder}/core_siblings_list", cpulist(sockets[node.socket]))


def _node(sheet: Sheet, node: Numa, machine: Machine) -> None:
    folder = f"{NODES}/node{node.node}"
    cpus = list(node.cpus)
    sheet.file(f"{folder}/cpulist", cpulist(cpus))
    sheet.file(f"{folder}/cpumap", cpumap(cpus, machine))
    if node.memory_mib is not None:
        sheet.file(f"{folder}/meminfo", f"Node {node.node} MemTotal: {node.memory_mib * 1024:>14} kB")
    if node.distances is not None:
        sheet.file(f"{folder}/distance", " ".join(str(distance) for distance in node.distances))
    for size, (total, free) in node.hugepages.items():
        pages = f"{folder}/hugepages/hugepages-{size}kB"
        sheet.file(f"{pages}/nr_hugepages", str(total))
        sheet.file(f"{pages}/free_hugepages", str(free))
        sheet.file(f"{pages}/surplus_hugepages", "0")
    if machine.threads_per_core is not None:
        for cpu in cpus:
            sheet.link(f"{folder}/cpu{cpu}", f"{CPUS}/cpu{cpu}")
            sheet.link(f"{CPUS}/cpu{cpu}/node{node.node}", folder)


def _kernel(sheet: Sheet, kernel: Kernel) -> None:
    if kernel.release is not None:
        sheet.file("/proc/sys/kernel/osrelease", kernel.release)
        sheet.file("/proc/version", f"Linux version {kernel.release}")
    if kernel.command_line is not None:
        sheet.file("/proc/cmdline", kernel.command_line)
    if kernel.taint is not None:
        sheet.file("/proc/sys/kernel/tainted", str(kernel.taint))
    if kernel.cgroup == 2:
        sheet.file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma misc")
    elif kernel.cgroup == 1:
        sheet.folder("/sys/fs/cgroup/devices")
        sheet.file("/proc/mounts", "cgroup /sys/fs/cgroup/devices cgroup rw,nosuid,nodev,noexec,relatime,devices 0 0")
    if kernel.modules is not None:
        sheet.file("/proc/modules", "\n".join(_module_row(module) for module in kernel.modules))
        for module in kernel.modules:
            _module(sheet, module)
    for release in kernel.releases:
        sheet.file(f"/boot/vmlinuz-{release}", b"")
        paths = [file.path for file in kernel.disk if file.release == release]
        sheet.file(f"/lib/modules/{release}/modules.dep", "\n".join(f"{path}:" for path in paths))
    if kernel.next_boot is not None:
        sheet.file("/boot/grub/grub.cfg", boot_menu(kernel.next_boot, kernel.command_line))
    for file in kernel.disk:
        sheet.file(
            f"/lib/modules/{file.release}/{file.path}", image(file.path, file.release, file.version, file.signer)
        )


# As grub-mkconfig of GRUB 2.06 begins its file with GRUB_DEFAULT=0.
_MENU_HEADER = """\
if [ -s $prefix/grubenv ]; then
  set have_grubenv=true
  load_env
fi
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="0"
fi
set timeout=5
"""


def boot_menu(release: str, command_line: Optional[str]) -> str:
    """A GRUB menu with one entry, which starts the kernel of a release."""
    options = (command_line or "").partition(" ")[2]
    return (
        f"{_MENU_HEADER}menuentry 'Linux {release}' {{\n"
        f"  linux /boot/vmlinuz-{release} {options}\n  initrd /boot/initrd.img-{release}\n}}\n"
    )


def _module_row(module: Module) -> str:
    used = "".join(f"{name}," for name in module.used_by) or "-"
    taint = f" ({module.taint})" if module.taint else ""
    return f"{module.name} {module.size} {len(module.used_by)} {used} Live 0x0000000000000000{taint}"


def _module(sheet: Sheet, module: Module) -> None:
    folder = f"/sys/module/{module.name}"
    sheet.file(f"{folder}/refcnt", str(len(module.used_by)))
    sheet.file(f"{folder}/initstate", "live")
    sheet.file(f"{folder}/coresize", str(module.size))
    sheet.file(f"{folder}/taint", module.taint)
    if module.version is not None:
        sheet.file(f"{folder}/version", module.version)
    for name in module.used_by:
        sheet.link(f"{folder}/holders/{name}", f"/sys/module/{name}")


def _security(sheet: Sheet, security: Security) -> None:
    if security.secure_boot is not None:
        sheet.file(SECURE_BOOT, bytes((6, 0, 0, 0, int(security.secure_boot))))
    if security.lockdown is not None:
        modes = [f"[{mode}]" if mode == security.lockdown else mode for mode in LOCKDOWN_MODES]
        sheet.file("/sys/kernel/security/lockdown", " ".join(modes))
    if security.signatures_enforced is not None:
        sheet.file("/sys/module/module/parameters/sig_enforce", "Y" if security.signatures_enforced else "N")


def kfd(sheet: Sheet, machine: Machine) -> None:
    """The topology of AMD's compute driver. Needs no device: captures of it alone exist."""
    topology = machine.kfd
    if topology is None:
        return
    sheet.file(f"{KFD}/generation_id", "2")
    if topology.major is not None:
        sheet.file("/sys/class/kfd/kfd/dev", f"{topology.major}:0")
        sheet.file("/sys/class/kfd/kfd/uevent", f"MAJOR={topology.major}\nMINOR=0\nDEVNAME=kfd")
    for number, node in enumerate(topology.nodes):
        folder = f"{KFD}/nodes/{number}"
        sheet.file(f"{folder}/gpu_id", str(node.gpu_id))
        links = {
            kind: [link for link in topology.links if link.node_from == number and link.is_p2p == is_p2p]
            for kind, is_p2p in (("io_links", False), ("p2p_links", True))
        }
        properties = {
            **dict.fromkeys(_NODE_ROWS[:7], 0),
            "mem_banks_count": len(node.memory),
            "io_links_count": len(links["io_links"]),
            "p2p_links_count": len(links["p2p_links"]),
            **node.properties,
        }
        sheet.file(f"{folder}/properties", _rows(_NODE_ROWS, properties))
        for bank, values in enumerate(node.memory):
            sheet.file(f"{folder}/mem_banks/{bank}/properties", _rows(_BANK_ROWS, values))
        for kind, those in links.items():
            for index, link in enumerate(those):
                rows = {
                    **dict.fromkeys(_LINK_ROWS, 0),
                    "node_from": link.node_from,
                    "node_to": link.node_to,
                    **link.properties,
                }
                sheet.file(f"{folder}/{kind}/{index}/properties", _rows(_LINK_ROWS, rows))


def _rows(order: list[str], values: dict[str, int]) -> str:
    """One ``name value`` a line, known names in the kernel's order, others after them."""
    names = [name for name in order if name in values] + [name for name in values if name not in order]
    return "\n".join(f"{name} {values[name]}" for name in names)
