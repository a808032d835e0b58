# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drop-in for Podman, as the Podman of this machine reads it. It sees a folder of ours in the place of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.engine import podman as engine
from ansible_collections.accelerator.ops.plugins.module_utils.engine.asked import Asked
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host

_SEEN = 'mount --bind "$1" /etc/containers && shift && exec podman "$@"'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A root with Podman's program in it, and its own folder of settings."""
    if os.getuid() != 0 or shutil.which("podman") is None or shutil.which("unshare") is None:
        pytest.skip("Podman is shown another folder by root alone, where it and unshare are installed")
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("mount namespaces cannot be made here")
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/podman").touch()
    (tmp_path / "etc/containers").mkdir(parents=True)
    return tmp_path


def info(place: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What Podman says of the program that runs its containers."""
    with tempfile.TemporaryDirectory(prefix="ops-") as short:  # Podman takes no longer path for its sockets
        return _info(
            place, ["--root", f"{short}/storage", "--runroot", f"{short}/run", "--storage-driver", "vfs"], options
        )


def _info(place: Path, own: list[str], options: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    command = ["unshare", "-m", "sh", "-c", _SEEN, "sh", str(place / "etc/containers"), *own, *options, "info"]
    return subprocess.run(
        [*command, "--format", "{{.Host.OCIRuntime.Path}}"],
        env={name: value for name, value in os.environ.items() if name != "CONTAINERS_CONF"},  # instead of all files
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_podman_finds_the_handler(place: Path) -> None:
    program = place / "ops-runtime"
    runc = shutil.which("runc") or shutil.which("crun")
    program.write_text(f'#!/bin/sh\nexec {runc} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    assert info(place, "--runtime", "ops").returncode != 0
    host = Host(str(place))
    said = subprocess.run(["podman", "--version"], capture_output=True, text=True, check=True).stdout
    host.answers[("/usr/bin/podman", "--version")] = (0, said, None)
    seen = engine.look(host)
    assert seen is not None and seen.version is not None
    (step,) = engine.plan(seen, Asked(cdi=True, runtimes={"ops": {"binary": str(program)}})).steps
    file = place / step.path.lstrip("/")
    file.parent.mkdir()
    file.write_bytes(step.new)
    ran = info(place, "--runtime", "ops")
    assert (ran.stdout.strip(), ran.stderr) == (str(program), "")
