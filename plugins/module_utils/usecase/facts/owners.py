# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``owners`` section of the facts: to which tool or image a driver, a toolkit, a spec or a configuration belongs.

A row is there when a path of its owner is: nothing is concluded from what is absent, and from what a file says only
which image this is (os-release), and who wrote a file that others might have written.
"""

from __future__ import annotations

import re
from typing import Optional

from ...host.door import Host
from ...model.cdi import FOLDERS, OURS

_GPU_OPERATOR = "NVIDIA GPU Operator"
_TOOLKIT = "NVIDIA Container Toolkit"
_REFRESH = "nvidia-cdi-refresh"

_PATHS = (
    # gpu-driver-container, script nvidia-driver: mounts its root here (2026-12)
    ("driver", _GPU_OPERATOR, "/run/nvidia/driver/usr/bin"),
    # gpu-operator, validator: a file for each part that it found ready (2026-12)
    ("validation", _GPU_OPERATOR, "/run/nvidia/validations"),
    # nvidia-container-toolkit d34b3046 (2026-08-21), cmd/nvidia-ctk-installer: default folder /usr/local/nvidia
    ("toolkit", _GPU_OPERATOR, "/usr/local/nvidia/toolkit"),
    # the same, deployments/systemd and packaging: /etc until 1.18, then the folder of the distribution
    ("cdi", _REFRESH, "/etc/systemd/system/nvidia-cdi-refresh.path"),
    ("cdi", _REFRESH, "/usr/lib/systemd/system/nvidia-cdi-refresh.path"),
    ("cdi", _REFRESH, "/lib/systemd/system/nvidia-cdi-refresh.path"),
    # the same, cmd/nvidia-ctk/runtime/configure: where nvidia-ctk and the operator's toolkit put their drop-in
    ("engine", _TOOLKIT, "/etc/containerd/conf.d/99-nvidia.toml"),
    ("engine", _TOOLKIT, "/etc/crio/crio.conf.d/99-nvidia.toml"),
    ("engine", _TOOLKIT, "/etc/crio/conf.d/99-nvidia.toml"),
    # ROCm/gpu-operator 6df13c17 (2026-08-06), internal/nodelabeller
    ("driver", "AMD GPU Operator", "/etc/modprobe.d/blacklist-amdgpu-by-operator.conf"),
    # habana-container-runtime, config.go: the root of a driver in a container (2026-12)
    ("driver", "Intel Gaudi Operator", "/run/habana/driver"),
    # container-engine-accelerators, nvidia-driver-installer (2026-12)
    ("driver", "Google's driver installer (GKE)", "/home/kubernetes/bin/nvidia"),
    ("system", "NVIDIA DGX OS", "/etc/dgx-release"),
    ("system", "ostree", "/run/ostree-booted"),  # ostree(1): made at boot, for others to see
    # engine/: the drop-ins that container_engine writes
    ("engine", OURS, "/etc/containerd/conf.d/90-accelerator-ops.toml"),
    ("engine", OURS, "/etc/crio/crio.conf.d/90-accelerator-ops.conf"),
    ("engine", OURS, "/etc/containers/containers.conf.d/accelerator-ops.conf"),
    ("settings", OURS, "/var/lib/accelerator-ops/current"),
)
"""What belongs to whom where a path is there: subject, owner, path; source and date above each."""

_MARKED = (
    # ROCm/gpu-operator 6df13c17 (2026-08-06), internal/nodelabeller: the first line of what it writes on plain nodes
    ("driver", "AMD GPU Operator", "/etc/modprobe.d/blacklist-amdgpu.conf", "# added by gpu operator"),
)
"""As above, where the file begins so."""

_SPECS = (
    (re.compile(r"accelerator-[a-z0-9-]+\.json"), OURS),
    # cmd/nvidia-ctk-installer: management; k8s-device-plugin: k8s.device-plugin; k8s-dra-driver-gpu: k8s.*.nvidia.com
    (re.compile(r"management\.nvidia\.com-.*"), _GPU_OPERATOR),
    (re.compile(r"k8s\.device-plugin\.nvidia\.com-.*"), "NVIDIA device plugin"),
    (re.compile(r"k8s\.(gpu|compute-domain)\.nvidia\.com-.*"), "NVIDIA DRA driver"),
    (re.compile(r"nvidia\.(yaml|json)"), _TOOLKIT),
    # ROCm/container-toolkit 192fe8e (2026-07-09), amd-ctk cdi generate: its default
    (re.compile(r"amd\.json"), "AMD Container Toolkit"),
    # intel-resource-drivers-for-kubernetes 1da939f (2026-08-11), cdihelpers: vendor and class of the kind
    (re.compile(r"intel\.com[-_].*"), "Intel resource drivers for Kubernetes"),
)
"""Names of spec files that one tool gives (its sources, read 2026-12)."""

_IMAGES = {
    "bottlerocket": "Bottlerocket",
    "cos": "Container-Optimized OS",
    "talos": "Talos Linux",
    "rhcos": "Red Hat CoreOS",
    "flatcar": "Flatcar Container Linux",
    "nixos": "NixOS",
}
"""Images whose files are not for an administrator to change, by the ``ID`` of os-release (each project's, 2026-12)."""

_ID = re.compile(r"^ID=[\"']?([\w.-]+)", re.MULTILINE)
_RELEASES = ("/etc/os-release", "/usr/lib/os-release")


def observe(host: Host) -> tuple[Optional[list[dict[str, str]]], Optional[str]]:
    """Rows ``{subject, owner, evidence}``; None with the reason where the tree has no files of a node."""
    if not host.exists("/etc"):
        return None, "/etc not there"
    found: list[tuple[str, str, str]] = [row for row in _PATHS if host.exists(row[2])]
    found += [row[:3] for row in _MARKED if (host.read(row[2]).value or "").startswith(row[3])]
    found = _without_links(host, found)
    for folder in FOLDERS:
        for name in host.list(folder).value or ():
            owner = of_spec(name)
            if owner is not None:
                found.append(("cdi", owner, f"{folder}/{name}"))
    for path in _RELEASES:
        answer = host.read(path)
        match = None if answer.value is None else _ID.search(answer.value)
        if match is not None:
            image = _IMAGES.get(match.group(1))
            found += [] if image is None else [("system", image, path)]
            break
    return [dict(zip(("subject", "owner", "evidence"), row)) for row in found], None


def of_spec(name: str) -> Optional[str]:
    """The tool that calls its spec files so; None where none is known to."""
    return next((owner for form, owner in _SPECS if form.fullmatch(name)), None)


def _without_links(host: Host, rows: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """``/lib`` leads to ``/usr/lib`` on most nodes: what is the same file is one row."""
    seen = set()
    kept = []
    for row in rows:
        place = (row[0], row[1], host.resolve(row[2]).value)
        if place not in seen:
            seen.add(place)
            kept.append(row)
    return kept
