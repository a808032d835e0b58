# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The registry of the aspect *permissions*: which device files a maker's devices have, and who makes them.

Most are made by udev, and a rule of udev gives them group and mode. Some drivers make theirs in another way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable, NamedTuple, Optional

from ..host.door import Host
from .ids import MAKERS, OFF_PCI_DRIVERS, maker_named

RENDER = "render"
VIDEO = "video"


class Match(NamedTuple):
    """Device files that udev makes.

    ``subsystem`` and ``names`` (of the kernel) are patterns of udev, empty for any. ``vendor_ids`` are those of the PCI
    function above (never of a bridge), ``not_devices`` its device ids that are meant not; ``parents`` is the name of a
    device above, ``drivers`` its driver. ``group`` is the usual one.
    """

    subsystem: str
    names: str
    vendor_ids: tuple[str, ...] = ()
    not_devices: tuple[str, ...] = ()
    parents: str = ""
    drivers: str = ""
    group: str = RENDER


class SelfMade(NamedTuple):
    """A device file that no udev makes, as it is now; ``again`` is the maker's program that sets it right, if any.

    ``again`` is empty for a file whose group and mode the driver's options do not rule.
    """

    path: str
    major: int
    minor: int
    gid: int
    mode: int
    again: tuple[str, ...] = ()


class Held(NamedTuple):
    """What a loaded driver holds: the group and mode that it gives its device files, or None where it is not loaded."""

    gid: Optional[int]
    mode: Optional[int]
    nodes: tuple[SelfMade, ...] = ()


class Driven(NamedTuple):
    """Device files that a driver's own programs make, with the group and mode of the module's options.

    ``options(gid, mode)`` are the options by name. ``held`` looks at the running driver.
    """

    module: str
    options: Callable[[int, int], Mapping[str, str]]
    held: Callable[[Host], Held]
    group: str = VIDEO


class Permissions(NamedTuple):
    """All device files of a maker."""

    matches: tuple[Match, ...]
    driven: Optional[Driven] = None


def _nvidia() -> Permissions:
    from .nvidia.permissions import permissions

    return permissions()


def _amd() -> Permissions:
    from .amd.permissions import permissions

    return permissions()


def _habana() -> Permissions:
    from .habana.permissions import permissions

    return permissions()


LOADERS: dict[str, Callable[[], Permissions]] = {"nvidia": _nvidia, "amd": _amd, "habana": _habana}

_OWN = """
tenstorrent tenstorrent * render
hailo hailo_chardev|hailo1x * render
google apex * render
globalunichip apex * render
aws neuron_device * render
huawei - davinci[0-9]*|davinci_manager|devmm_svm|hisi_hdc HwHiAiUser
hygon kfd kfd render
hygon - mkfd render
cambricon - cambricon_* render
moorethreads - mtgpu.[0-9]* render
metax - mxcd render
iluvatar - iluvatar[0-9]* render
enflame - gcu[0-9]* render
baidu - xpu[0-9]*|xpuctrl render
rebellions - rbln[0-9]*|rsd[0-9]* render
"""
"""Makers whose drivers have device files of their own beside those of DRM and the accel subsystem: subsystem and names
(``-`` and ``*``: any), and the group that the maker's programs expect. Source: class and file names in the makers'
drivers, rules, device plugins and container documents (tt-kmd 2, hailort 4 and 5, gasket, neuron 2, Ascend driver 24,
Kunlun XRE, and the others' as of 2026); looked at 2026-12-01."""


def drm_and_accel(vendor_ids: tuple[str, ...], not_devices: tuple[str, ...] = ()) -> tuple[Match, ...]:
    """What the kernel's own subsystems make for the PCI devices of a vendor (Linux 6.18: DRM, accel)."""
    return (
        Match("drm", "card[0-9]*", vendor_ids, not_devices, group=VIDEO),
        Match("drm", "renderD[0-9]*", vendor_ids, not_devices),
        Match("accel", "accel[0-9]*", vendor_ids, not_devices),
    )


def known() -> tuple[str, ...]:
    """The names of all makers, sorted."""
    return tuple(sorted({maker.name for maker in MAKERS} | set(OFF_PCI_DRIVERS.values())))


def permissions_of(name: str) -> Permissions:
    """The device files of a maker. KeyError for a name that is in no table."""
    found: list[Match] = []
    maker = maker_named(name)
    if maker is not None:
        never = tuple(device_id for device_id, row in maker.devices.items() if row[0] == "never")
        found.extend(drm_and_accel(maker.vendor_ids, never))
    drivers = "|".join(driver for driver, one in OFF_PCI_DRIVERS.items() if one == name)
    if drivers:
        found.append(Match("accel", "accel[0-9]*", drivers=drivers))
    if not found:
        raise KeyError(name)
    for line in _OWN.strip().splitlines():
        owner, subsystem, names, group = line.split()
        if owner == name:
            found.append(Match("" if subsystem == "-" else subsystem, "" if names == "*" else names, group=group))
    loader = LOADERS.get(name)
    own = Permissions(()) if loader is None else loader()
    return Permissions((*found, *own.matches), own.driven)
