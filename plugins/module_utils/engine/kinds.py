# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container engines that are known, and where each has its parts. k3s and rke2 bring a containerd of their own.

Source: the engines' packages and documents, read 2026-12.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from ..host import command
from ..host.door import Host


class Kind(NamedTuple):
    """An engine by who brings it: its services, program and packages, its first file, and the socket of its CRI.

    ``embedded`` is the path of a program that another one has within; None for one that is installed by itself.
    ``is_rootless``: users run it as themselves, by the same program and files.
    """

    services: tuple[str, ...]
    program: str
    packages: tuple[str, ...]
    config: str
    socket: str = ""
    embedded: Optional[str] = None
    is_rootless: bool = False

    def place(self, host: Host) -> Optional[str]:
        """Where its program is, or None."""
        if self.embedded is None:
            return command.find(host, self.program)
        return self.embedded if host.exists(self.embedded) else None


_RANCHER = "/var/lib/rancher"
KINDS = {
    "containerd": Kind(
        ("containerd.service",),
        "containerd",
        ("containerd.io", "containerd"),
        "/etc/containerd/config.toml",
        "/run/containerd/containerd.sock",
    ),
    "k3s": Kind(
        ("k3s.service", "k3s-agent.service"),
        "containerd",
        (),
        f"{_RANCHER}/k3s/agent/etc/containerd/config.toml",
        "/run/k3s/containerd/containerd.sock",
        f"{_RANCHER}/k3s/data/current/bin/containerd",
    ),
    "rke2": Kind(
        ("rke2-server.service", "rke2-agent.service"),
        "containerd",
        (),
        f"{_RANCHER}/rke2/agent/etc/containerd/config.toml",
        "/run/k3s/containerd/containerd.sock",
        f"{_RANCHER}/rke2/bin/containerd",
    ),
    "crio": Kind(("crio.service",), "crio", ("cri-o",), "/etc/crio/crio.conf"),
    "podman": Kind((), "podman", ("podman",), "/etc/containers/containers.conf", is_rootless=True),
    "docker": Kind(
        ("docker.service",), "dockerd", ("docker-ce", "docker.io", "moby-engine"), "/etc/docker/daemon.json"
    ),
}
"""By name."""
