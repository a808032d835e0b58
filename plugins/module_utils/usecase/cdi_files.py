# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files by which a node makes its CDI specs itself: a program, and two units of systemd that run it."""

from __future__ import annotations

import re
from typing import Optional

from ..host import own_sources
from ..host.door import Host
from ..model.plan import owned
from .cdi_specs import Asked

FOLDER = "/usr/local/lib/accelerator-ops"
PROGRAM = f"{FOLDER}/cdi.pyz"
NAME = "accelerator-ops-cdi"
SERVICE = f"/etc/systemd/system/{NAME}.service"
PATH = f"/etc/systemd/system/{NAME}.path"
WANTS = "/etc/systemd/system/multi-user.target.wants"
LINKS = {f"{WANTS}/{NAME}.{kind}": f"../{NAME}.{kind}" for kind in ("path", "service")}
"""What ``systemctl enable`` makes, with the targets of the links."""

ENTRY = "cdi_program"
"""Where the program begins. It stands above this room: who calls the use case has Ansible send it along."""

MODULES = (
    ENTRY,
    *("codec.cdi", "codec.document", "codec.linker_cache", "codec.pci_config", "codec.sysfs"),
    *("host.command", "host.disk", "host.door", "host.lock", "host.recording"),
    *("model.answer", "model.cdi", "model.device", "model.errors", "model.owner", "model.pci", "model.plan"),
    *("usecase.cdi_record", "usecase.cdi_specs", "usecase.facts.devices", "usecase.facts.pci"),
    *("vendor.cdi", "vendor.ids", "vendor.probes", "vendor.tools"),
    *("vendor.amd.cdi", "vendor.amd.kfd", "vendor.amd.probe", "vendor.amd.tool"),
    *("vendor.habana.cdi", "vendor.habana.probe", "vendor.habana.tool"),
    *("vendor.intel.cdi", "vendor.intel.probe", "vendor.intel.tool"),
    *("vendor.nvidia.cdi", "vendor.nvidia.nvml", "vendor.nvidia.probe", "vendor.nvidia.tool"),
)
"""All that the program imports, at any time (a test compares)."""

_PYTHONS = ("/usr/bin/python3", *(f"/usr/bin/python3.{minor}" for minor in range(9, 16)), "/usr/local/bin/python3")
_MINOR = re.compile(r"/python3\.([0-9]+)\Z")
_OLDEST = 9

NO_PYTHON = "no Python 3.9 or newer in this root (/usr/bin/python3 must lead to a python3.N)"

_SERVICE = """\
[Unit]
Description=Make the CDI specs of accelerators
# Device files appear late: it is tried again for some minutes.
StartLimitIntervalSec=600
StartLimitBurst=100

[Service]
Type=oneshot
ExecStart={python} -I {program} make --whole
Restart=on-failure
# A human's file is in the place of a spec: trying again is no use.
RestartPreventExitStatus=73
RestartSec=3

[Install]
WantedBy=multi-user.target
"""
_PATH = """\
[Unit]
Description=Make the CDI specs of accelerators when a driver or a maker's generator changes

[Path]
PathChanged=/etc/ld.so.cache
PathChanged=/lib/modules/%v/modules.dep
PathChanged=/lib/modules/%v/modules.dep.bin
PathChanged=/usr/bin/amd-ctk
PathChanged=/usr/bin/nvidia-ctk

[Install]
WantedBy=multi-user.target
"""


def program(wish: Asked) -> bytes:
    """The program with these settings. Raises ProbeError where the sources are not at hand."""
    return own_sources.program(MODULES, ENTRY, wish.text())


def units(python: str) -> dict[str, bytes]:
    """The unit files by path. They name no order: whoever needs one adds a drop-in."""
    texts = {SERVICE: _SERVICE.format(python=python, program=PROGRAM), PATH: _PATH}
    return {path: (owned("cdi_spec") + text).encode() for path, text in texts.items()}


def python(host: Host) -> Optional[str]:
    """An interpreter of the node itself that can run the program: not one of a virtual environment. None: none is."""
    for path in _PYTHONS:
        real = host.resolve(path).value
        known = _MINOR.search(real or "")
        if known and int(known[1]) >= _OLDEST:
            return path
    return None
