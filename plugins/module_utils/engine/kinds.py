# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container engines that are known, where each has its parts, and since when. k3s and rke2 bring a containerd of
their own.

Source: the engines' packages, documents and release notes, read 2026-12.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from ..host import command
from ..host.door import Host

Version = tuple[int, int, int]


class Since(NamedTuple):
    """The first releases of an engine that have CDI, and have it on by themselves; that can choose its folders; and the
    same of NRI, with the one that has its validator. None: no release has it."""

    cdi: Version
    cdi_on: Version
    dirs: Version
    nri: Optional[Version] = None
    nri_on: Optional[Version] = None
    validator: Optional[Version] = None


def has(version: Optional[Version], since: Optional[Version]) -> Optional[bool]:
    """Whether a release has what came with another; None where it is not known which it is."""
    if since is None:
        return False
    return None if version is None else version >= since


class Kind(NamedTuple):
    """An engine by who brings it: its services, program and packages, its first file, and the socket of its CRI.

    ``embedded`` is the path of a program that another one has within; None for one that is installed by itself.
    ``is_rootless``: users run it as themselves, by the same program and files.
    """

    services: tuple[str, ...]
    program: str
    packages: tuple[str, ...]
    config: str
    since: Since
    socket: str = ""
    embedded: Optional[str] = None
    is_rootless: bool = False

    def place(self, host: Host) -> Optional[str]:
        """Where its program is, or None."""
        if self.embedded is None:
            return command.find(host, self.program)
        return self.embedded if host.exists(self.embedded) else None


_CONTAINERD = Since((1, 7, 0), (2, 0, 0), (1, 7, 0), (1, 7, 0), (2, 0, 0), (2, 2, 0))
_CRIO = Since((1, 23, 0), (1, 23, 0), (1, 23, 0), (1, 26, 0), (1, 30, 0), (1, 34, 0))
_PODMAN = Since((4, 1, 0), (4, 1, 0), (5, 5, 0))
_DOCKER = Since((25, 0, 0), (28, 2, 0), (25, 0, 0))
_RANCHER = "/var/lib/rancher"
KINDS = {
    "containerd": Kind(
        ("containerd.service",),
        "containerd",
        ("containerd.io", "containerd"),
        "/etc/containerd/config.toml",
        _CONTAINERD,
        "/run/containerd/containerd.sock",
    ),
    "k3s": Kind(
        ("k3s.service", "k3s-agent.service"),
        "containerd",
        (),
        f"{_RANCHER}/k3s/agent/etc/containerd/config.toml",
        _CONTAINERD,
        "/run/k3s/containerd/containerd.sock",
        f"{_RANCHER}/k3s/data/current/bin/containerd",
    ),
    "rke2": Kind(
        ("rke2-server.service", "rke2-agent.service"),
        "containerd",
        (),
        f"{_RANCHER}/rke2/agent/etc/containerd/config.toml",
        _CONTAINERD,
        "/run/k3s/containerd/containerd.sock",
        f"{_RANCHER}/rke2/bin/containerd",
    ),
    "crio": Kind(("crio.service",), "crio", ("cri-o",), "/etc/crio/crio.conf", _CRIO),
    "podman": Kind((), "podman", ("podman",), "/etc/containers/containers.conf", _PODMAN, is_rootless=True),
    "docker": Kind(
        ("docker.service",), "dockerd", ("docker-ce", "docker.io", "moby-engine"), "/etc/docker/daemon.json", _DOCKER
    ),
}
"""By name."""
