# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver container of NVIDIA's GPU Operator.

It mounts its own root at ``/run/nvidia/driver`` and loads the modules from there with its own modprobe, which does not
read the node's ``/etc/modprobe.d`` (script ``nvidia-driver`` of gpu-driver-container; looked at 2026-12). Where the
driver is the node's own, the folder is absent or empty.
"""

from __future__ import annotations

from typing import Optional

from ...host.door import Host
from ...model.owner import Owner

_ROOT = "/run/nvidia/driver"
_MODULES = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem")


def owner(host: Host) -> Optional[Owner]:
    """The operator, where its container is mounted."""
    if not host.exists(f"{_ROOT}/usr/bin"):
        return None
    name = "the driver container of the NVIDIA GPU Operator"
    return Owner(name, _ROOT, "driver.enabled: false", "nvidia", _MODULES)
