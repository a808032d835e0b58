# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The daemons themselves as judges of what is written for them: made once, kept by version, run in a root of their own.

containerd 1.6 is Debian's, later ones and what runs beside them are built from Go modules, one after another and with
little of the machine. What cannot be had here is skipped with its reason.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Optional

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "accelerator-ops" / "engines"
DEBIAN = "1.6"
VERSIONS = (DEBIAN, "1.7.35", "2.0.5", "2.2.9", "2.3.4", "2.4.2")
"""One of each kind of merging; 2.3.4 is the last that refuses an import with a higher version than its root."""
ALWAYS = (DEBIAN, "1.7.35", "2.4.2")
"""Those that a first ``make test`` makes. Each of the others takes three minutes more, and is used once it is there."""

_BUILD_SECONDS = 900
_RUN_SECONDS = 60


def containerd(version: str) -> Path:
    """The program of a version. Skips the test where it cannot be had."""
    place = CACHE / f"containerd-{version}"
    if not os.access(place, os.X_OK):
        if version not in ALWAYS and not os.environ.get("ACCELERATOR_OPS_WHOLE"):
            pytest.skip(f"containerd {version} is built by make test-all")
        CACHE.mkdir(parents=True, exist_ok=True)
        made = from_debian(place) if version == DEBIAN else from_module(version, place)
        os.replace(made, place)
    return place


def dockerd() -> Path:
    """Docker's daemon of Debian 13, which validates its file. Skips the test where it cannot be had."""
    place = CACHE / "dockerd-26"
    if not os.access(place, os.X_OK) or not os.access(CACHE / "docker-proxy-26", os.X_OK):
        folder = unpacked("docker.io", "trixie")
        os.replace(folder / "usr/sbin/docker-proxy", CACHE / "docker-proxy-26")
        os.replace(folder / "usr/sbin/dockerd", place)
        shutil.rmtree(folder.parent)
    return place


def from_debian(place: Path) -> Path:
    """The program out of the package of Debian 12."""
    folder = unpacked("containerd", "bookworm")
    made = place.with_suffix(".new")
    os.replace(folder / "usr/bin/containerd", made)
    shutil.rmtree(folder.parent)
    return made


def unpacked(package: str, release: str) -> Path:
    """A folder with what a package of a release of Debian installs, by an apt that knows that release alone."""
    keys = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    mirror = _mirror()
    if shutil.which("apt-get") is None or mirror is None or not keys.exists():
        pytest.skip(f"{package} is taken from Debian {release}, whose archive is not known to this machine")
    folder = CACHE / f"{package}-{release}.d"
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("state/lists/partial", "cache/archives/partial", "out"):
        (folder / part).mkdir(parents=True)
    (folder / "status").touch()
    (folder / "sources.list").write_text(f"deb [signed-by={keys}] {mirror} {release} main\n", encoding="ascii")
    (folder / "apt.conf").write_text(
        f'Dir::State "{folder}/state";\nDir::State::status "{folder}/status";\nDir::Cache "{folder}/cache";\n'
        f'Dir::Etc::sourcelist "{folder}/sources.list";\nDir::Etc::sourceparts "-";\nAPT::Sandbox::User "";\n',
        encoding="ascii",
    )
    env = {**os.environ, "APT_CONFIG": str(folder / "apt.conf")}
    for command in (["apt-get", "-qq", "update"], ["apt-get", "-qq", "download", package]):
        ran = subprocess.run(
            command, cwd=folder / "out", env=env, capture_output=True, text=True, timeout=300, check=False
        )
        if ran.returncode:
            pytest.skip(f"{package} of Debian {release} cannot be had: {ran.stderr.strip().splitlines()[-1]}")
    archive = next((folder / "out").glob("*.deb"))
    subprocess.run(["dpkg-deb", "-x", str(archive), str(folder / "out")], check=True, timeout=120)
    return folder / "out"


def _mirror() -> Optional[str]:
    """Where this machine gets its own packages from: the first archive of its apt sources."""
    folder = Path("/etc/apt")
    for file in [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]:
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        match = re.search(r"^(?:URIs:|deb(?:\s+\[[^]]*\])?)\s+(https?://\S+/debian/?)(?:\s|$)", text, re.MULTILINE)
        if match:
            return match.group(1)
    return None


def from_module(version: str, place: Path) -> Path:
    """The program built from its Go module."""
    module = "github.com/containerd/containerd" + ("/v2" if version.startswith("2") else "")
    flags = f"-X {module}/version.Version=v{version}"
    return built(place, f"{module}/cmd/containerd", f"{module} v{version}", flags)


def program(name: str, package: str, module: str, source: Optional[Path] = None) -> Path:
    """A program of a Go module (``source``: a file that is its main package), from the cache once it is there."""
    place = CACHE / name
    if not os.access(place, os.X_OK):
        CACHE.mkdir(parents=True, exist_ok=True)
        os.replace(built(place, package, module, "", source), place)
    return place


def built(place: Path, package: str, module: str, flags: str, source: Optional[Path] = None) -> Path:
    """A program that Go builds with the versions that its module names. Skips the test where that cannot be."""
    if shutil.which("go") is None:
        pytest.skip(f"no go: {place.name} is built from its modules")
    folder = place.with_suffix(f"{place.suffix}.src")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "go.mod").write_text(f"module judge\n\ngo 1.22\n\nrequire {module}\n")
    if source is not None:
        shutil.copy(source, folder)
    made = place.with_suffix(f"{place.suffix}.new")
    command = ["nice", "-n", "15", "go", "build", "-mod=mod", "-p", "2", "-trimpath"]
    command += ["-tags", "no_btrfs no_devmapper no_zfs no_aufs", "-ldflags", f"-s -w {flags}", "-o", str(made), package]
    env = {**os.environ, "CGO_ENABLED": "0"}
    try:
        ran = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, timeout=_BUILD_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{place.name} was not built in {_BUILD_SECONDS} s")
    if ran.returncode:
        pytest.skip(f"{place.name} cannot be built: {ran.stderr.strip().splitlines()[-1]}")
    shutil.rmtree(folder)
    return made


class Root:
    """A folder that the daemon has for its root, so that ``/etc`` means the folder's own."""

    def __init__(self, folder: Path, version: str) -> None:
        if os.getuid() != 0:
            pytest.skip("a daemon is given a root of its own by root alone")
        self.folder = folder
        self.version = version
        program = folder / "usr/bin/containerd"
        program.parent.mkdir(parents=True)
        shutil.copy2(containerd(version), program)
        for library in libraries(program):
            (folder / library[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(library, folder / library[1:])

    def ask(self, *arguments: str) -> tuple[int, str, str]:
        """Run the daemon's program: status, output, and the last line that is an error's."""
        ran = subprocess.run(
            ["chroot", str(self.folder), "/usr/bin/containerd", *arguments],
            capture_output=True,
            text=True,
            timeout=_RUN_SECONDS,
            check=False,
        )
        return ran.returncode, ran.stdout, (ran.stderr.strip().splitlines() or [""])[-1]

    def dump(self) -> tuple[int, str, str]:
        """The configuration as the daemon makes it (``dump`` of 2.0 to 2.2 passes over a root of version 2)."""
        show = "dump" if self.version.startswith("1") else "migrate"
        return self.ask("--config", "/etc/containerd/config.toml", "config", show)


def libraries(program: Path) -> list[str]:
    ran = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    return re.findall(r"(/\S+) \(0x", ran.stdout) if ran.returncode == 0 else []
