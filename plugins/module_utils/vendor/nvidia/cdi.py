# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA GPUs and MIG instances in containers: device files, and the driver's own libraries, programs and firmware.

The libraries are those that the node's own linker has. Where the maker's hook program is there, it makes the linker of
the container know them; else each is mounted under the names that programs ask for as well, which is enough where the
container looks into the same folders by itself.

Source: nvidia-container-toolkit d34b3046 (2026-08, ``pkg/nvcdi``, its hooks and units), nvidia-modprobe 610.43.
Read 2026-12.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Optional

from ...codec import linker_cache
from ...codec.cdi import Hook, Mount
from ...host import command
from ...host.door import Host
from ...model.answer import MISSING
from ...model.device import Row
from ...model.owner import Owner
from ..cdi import Aspect, Needs, is_driven, missing_nodes, own_nodes, shared_nodes, units

_DEVICE = re.compile(r"/dev/nvidia([0-9]+)\Z")
_CACHE = "/etc/ld.so.cache"
_FIRST = "libcuda.so.1"
_FOLDERS = ("/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib")
_LIBRARY = re.compile(
    r"lib(cuda|cudadebugger|nvcuvid|nvoptix|nvidia-(?!container)[A-Za-z0-9_-]+|[A-Za-z0-9]+(_CM)?_nvidia"
    r"|(vdpau|glxserver)_nvidia)\.so(\.|\Z)"
)
"""The driver's own: all but those of the Container Toolkit."""
_VERSIONED = ("libcuda.so.", "libnvidia-ml.so.", "libnvidia-ptxjitcompiler.so.", "libnvidia-nvvm.so.")
_BINARIES = (
    *("nvidia-smi", "nvidia-debugdump", "nvidia-persistenced"),
    *("nvidia-cuda-mps-control", "nvidia-cuda-mps-server", "nvidia-imex", "nvidia-imex-ctl"),
)
_DATA = (
    *("/usr/share/nvidia/nvoptix.bin", "/usr/share/glvnd/egl_vendor.d/10_nvidia.json"),
    *("/usr/share/egl/egl_external_platform.d/10_nvidia_wayland.json", "/etc/vulkan/icd.d/nvidia_icd.json"),
    *("/usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json", "/usr/share/vulkan/icd.d/nvidia_icd.json"),
    *("/etc/vulkan/implicit_layer.d/nvidia_layers.json", "/usr/share/vulkan/implicit_layer.d/nvidia_layers.json"),
)
_FIRMWARE = ("/lib/firmware/updates/nvidia", "/lib/firmware/nvidia")
_HOOKS = ("nvidia-cdi-hook", "nvidia-ctk")
_OPTIONS = ("ro", "nosuid", "nodev", "rbind", "rprivate")
_CONTROL = {"/dev/nvidiactl": ("-c", "255"), "/dev/nvidia-uvm": ("-u", "-c", "0")}
"""Device files that each container needs, and how nvidia-modprobe is told to make them."""
_CAPABILITIES = "/proc/driver/nvidia/capabilities"

_REFRESH_WANTS = "/etc/systemd/system/multi-user.target.wants/nvidia-cdi-refresh"
_OPERATOR_AT = ("/run/nvidia/driver/usr/bin", "/usr/local/nvidia/toolkit")


def aspect() -> Aspect:
    """One kind; the maker's generator prints to its standard output where it is given no file."""
    generator = ("nvidia-ctk", "cdi", "generate", "--format=json")
    return Aspect(("nvidia.com/gpu",), _needs, generator, _owner, "nvidia", _VERSIONED)


def _owner(host: Host) -> Optional[Owner]:
    for path in _OPERATOR_AT:
        if host.exists(path):
            return Owner("the NVIDIA GPU Operator", path, "toolkit.enabled: false and cdi.enabled: false")
    for ending in ("path", "service"):
        unit = f"nvidia-cdi-refresh.{ending}"
        is_masked = host.link(f"/etc/systemd/system/{unit}").value == "/dev/null"
        if host.link(f"{_REFRESH_WANTS}.{ending}").value is not None and not is_masked:
            switch = "systemctl disable --now nvidia-cdi-refresh.path nvidia-cdi-refresh.service"
            return Owner("nvidia-cdi-refresh", f"{_REFRESH_WANTS}.{ending}", switch)
    return None


def _needs(host: Host, rows: Sequence[Row]) -> tuple[Needs, ...]:
    driven = [row for row in rows if is_driven(row)]
    if not driven:
        return (Needs("nvidia.com/gpu", ()),)
    found = tuple(
        unit
        for index, row in enumerate(driven)
        for unit in units(row, str(index), [row["uuid"]], [path for path in own_nodes(row) if _DEVICE.match(path)])
    )
    shared = shared_nodes(driven)
    missing = (*missing_nodes(driven), *(path for path in _CONTROL if path not in shared))
    libraries, note, failure = _libraries(host)
    hook = next((place for place in (command.find(host, name) for name in _HOOKS) if place), None)
    mounts = [Mount(path, path, _OPTIONS) for path in dict.fromkeys(one.path for one in libraries)]
    if hook is None:
        mounts += [Mount(one.path, one.place, _OPTIONS) for one in libraries if one.place != one.path]
    mounts += [Mount(path, path, _OPTIONS) for path in _others(host)]
    return (
        Needs(
            "nvidia.com/gpu",
            found,
            shared,
            ("NVIDIA_VISIBLE_DEVICES=void",),  # keeps the maker's runtime from giving devices a second time
            tuple({mount.container_path: mount for mount in mounts}.values()),
            () if hook is None or not libraries else tuple(_hooks(hook, libraries)),
            missing=missing,
            again=tuple(_again(host, missing)),
            notes=() if note is None else (note,),
            required=tuple(_CONTROL),
            failure=failure,
        ),
    )


class _Library(NamedTuple):
    """A library: where the linker finds it, and the file that is there, links followed."""

    place: str
    path: str


def _libraries(host: Host) -> tuple[list[_Library], Optional[str], Optional[str]]:
    """The driver's libraries of the machine's own width, as the linker of the node knows them.

    Then a note on what there is none of, and why it is not known. A node without a cache has no library where no usual
    folder has one.
    """
    content, reason = host.read_bytes(_CACHE)
    if content is None:
        is_known = reason == MISSING and not any(host.exists(f"{folder}/{_FIRST}") for folder in _FOLDERS)
        why = f"{_CACHE} {reason}: no libraries of the driver"
        return [], why if is_known else None, None if is_known else _unknown(reason)
    try:
        known = linker_cache.parse(content)
    except ValueError as error:
        return [], None, _unknown(str(error))
    found: dict[str, _Library] = {}
    for one in known:
        if one.is_64_bit and _LIBRARY.match(one.name) and one.name not in found:
            path = host.resolve(one.path).value
            if path is not None:
                found[one.name] = _Library(one.path, path)
    note = None if found else f"{_CACHE} has no library of the driver"
    return sorted(found.values()), note, None


def _unknown(reason: Optional[str]) -> str:
    return f"{_CACHE}: {reason}: the libraries of the driver are unknown until ldconfig was run"


def _others(host: Host) -> Iterator[str]:
    """Programs, data and firmware of the driver that are there."""
    for name in _BINARIES:
        place = command.find(host, name)
        if place is not None:
            yield place
    yield from (path for path in _DATA if host.exists(path))
    version = host.read("/sys/module/nvidia/version").value
    for folder in _FIRMWARE if version else ():
        for name in host.list(f"{folder}/{version}").value or ():
            if name.startswith("gsp") and name.endswith(".bin"):
                yield f"{folder}/{version}/{name}"


def _hooks(hook: str, libraries: Sequence[_Library]) -> Iterator[Hook]:
    """Links without a version that only some programs ask for, and the container's own cache of its linker."""
    name = hook.rpartition("/")[2]
    words = (name,) if name == _HOOKS[0] else (name, "hook")  # older releases have one program for all
    links = []
    for one in libraries:
        folder, _slash, leaf = one.place.rpartition("/")
        if leaf.startswith(("libcuda.so.", "libnvidia-opticalflow.so.")):
            links += ["--link", f"{leaf}::{folder}/{leaf.partition('.so.')[0]}.so"]
    if links:
        yield Hook("createContainer", hook, (*words, "create-symlinks", *links))
    folders = dict.fromkeys(one.path.rpartition("/")[0] for one in libraries)
    yield Hook(
        "createContainer",
        hook,
        (*words, "update-ldcache", *(word for folder in folders for word in ("--folder", folder))),
    )


def _again(host: Host, missing: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """How the maker's program makes what is missing. It reads the driver's options itself."""
    program = command.find(host, "nvidia-modprobe")
    if program is None or not missing:
        return
    for path in missing:
        known = _DEVICE.match(path)
        words = _CONTROL.get(path) or (("-c", known[1]) if known else None)
        if words is not None:
            yield (program, *words)
    if any(path.startswith("/dev/nvidia-caps/") for path in missing):
        for path in _capability_files(host):
            yield (program, "-f", path)


def _capability_files(host: Host) -> Iterator[str]:
    for device in host.list(_CAPABILITIES).value or ():
        base = f"{_CAPABILITIES}/{device}/mig"
        for instance in host.list(base).value or ():
            if instance.startswith("gi"):
                yield f"{base}/{instance}/access"
                for compute in host.list(f"{base}/{instance}").value or ():
                    if compute.startswith("ci"):
                        yield f"{base}/{instance}/{compute}/access"
