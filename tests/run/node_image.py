# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The image of a test node: this machine's Debian with systemd, made without a container registry.

The root file system is kept as an archive in the cache, so that only the first run on a machine makes it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Optional

import surroundings
from surroundings import CACHE, SetupError

PACKAGES = (
    *("systemd", "systemd-sysv", "dbus", "udev", "kmod", "procps", "iproute2"),
    *("python3", "python3-apt", "ca-certificates"),
)
USER = "guest"
"""An account without any right, beside root."""


def containers_conf() -> Path:
    """Settings under which podman runs where crun fails: hybrid cgroups, or root without CAP_SYS_RESOURCE."""
    place = CACHE / "containers.conf"
    text = '[containers]\ndefault_ulimits = ["nofile=20000:20000", "nproc=4096:4096"]\n\n[engine]\nruntime = "runc"\n'
    if not place.exists() or place.read_text(encoding="utf-8") != text:
        CACHE.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return place


def ensure() -> str:
    """The name of the image, which is in podman's store afterwards."""
    name = f"localhost/accelerator-ops-node:{_digest()}"
    env = {**os.environ, "CONTAINERS_CONF": str(containers_conf())}
    with surroundings.alone_with("image"):
        if subprocess.run(["podman", "image", "exists", name], env=env, check=False).returncode:
            place = str(_archive())
            print(f"importing {name}", flush=True)
            _must(["podman", "import", "--quiet", "--change", 'CMD ["/lib/systemd/systemd"]', place, name], env)
    return name


def archive() -> Path:
    """The root file system of a node as a tar archive, which is in the cache afterwards."""
    with surroundings.alone_with("image"):
        return _archive()


def _archive() -> Path:
    place = CACHE / f"node-{_digest()}.tar"
    if not place.exists():
        _make(suite(), place)
    return place


def _digest() -> str:
    return hashlib.sha256("\n".join((suite(), USER, *PACKAGES)).encode()).hexdigest()[:12]


def _make(release: str, goal: Path) -> None:
    print(f"making the root file system of a test node: Debian {release}", flush=True)
    place = Path(tempfile.mkdtemp(prefix="accelerator-ops-node-"))
    root = place / "root"
    clean = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    kept = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    try:
        command = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", release, str(root)]
        mirror = _mirror()
        _must([*command, mirror] if mirror else command, {**clean, **kept})
        _must(["chroot", str(root), "useradd", "--create-home", "--shell", "/bin/sh", USER], clean)
        shutil.rmtree(root / "var" / "lib" / "apt" / "lists")
        for package in (root / "var" / "cache" / "apt" / "archives").glob("*.deb"):
            package.unlink()
        partial = goal.with_suffix(".part")
        _must(["tar", "-C", str(root), "--numeric-owner", "-cf", str(partial), "."], clean)
        partial.rename(goal)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def suite() -> str:
    """The name of this machine's Debian release."""
    match = re.search(r"^VERSION_CODENAME=(\w+)", Path("/etc/os-release").read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise SetupError("cannot make a test node: /etc/os-release names no release, expected a Debian machine")
    return match.group(1)


def _mirror() -> Optional[str]:
    """Where this machine gets its own packages from: the first archive of its apt sources."""
    folder = Path("/etc/apt")
    for file in [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]:
        if file.suffix not in (".list", ".sources") or not file.is_file():
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        match = re.search(r"^(?:URIs:|deb(?:\s+\[[^]]*\])?)\s+(https?://\S+)", text, re.MULTILINE)
        if match:
            return match.group(1)
    return None


def _must(command: list[str], env: dict[str, str]) -> None:
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise SetupError(f"cannot make a test node: {command[0]}: {last}")


if __name__ == "__main__":
    surroundings.require_python()
    print(ensure())
