# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A live node with a real containerd: it judges before and after, and what it does not take is taken back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.accelerator.ops.tests.engines.judge import containerd

HERE = Path(__file__).resolve().parents[2]
ROOT_TEXT = "# mine\nversion = 2\noom_score = -7\n"
DROP_IN = "etc/containerd/conf.d/90-accelerator-ops.toml"
_ENTER = """
for part in usr proc dev; do mkdir -p "$1/$part"; mount --rbind "/$part" "$1/$part"; done
mkdir -p "$1/collection/ansible_collections/accelerator/ops"
mount --bind "$2" "$1/collection/ansible_collections/accelerator/ops"
exec chroot "$1" /usr/bin/python3 -B /collection/ansible_collections/accelerator/ops/tests/engines/live.py "$3"
"""


class Live:
    """A root that a process has for its ``/``, with the system's programs and a containerd of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("etc/containerd", "var/lib", "dev", "tmp", "sbin"):
            (folder / name).mkdir(parents=True)
        for name in ("bin", "lib", "lib64"):
            (folder / name).symlink_to(f"usr/{name}")
        (folder / "etc/containerd/config.toml").write_text(ROOT_TEXT, encoding="utf-8")

    def run(self, **wish: Any) -> dict[str, Any]:
        """What the module did."""
        command = ["unshare", "-m", "sh", "-c", _ENTER, "sh", str(self.folder), str(HERE), json.dumps(wish)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert ran.returncode == 0, ran.stderr
        told: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
        return told

    def texts(self) -> dict[str, str]:
        """All files below ``/etc``."""
        files = [path for path in (self.folder / "etc").rglob("*") if path.is_file()]
        return {str(path.relative_to(self.folder)): path.read_text(encoding="utf-8") for path in files}


@pytest.fixture
def live(tmp_path: Path) -> Live:
    """A live root without an engine yet."""
    if os.getuid() != 0 or shutil.which("unshare") is None or not os.path.exists("/usr/bin/python3"):
        pytest.skip("a root of its own is given by root alone, with unshare, and has the system's Python")
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("mount namespaces cannot be made here")
    return Live(tmp_path / "root")


WISH = {"engines": ["containerd"], "nri": False, "runtimes": {"ops": {"binary": "/usr/bin/ops"}}}


def test_a_change_that_the_daemon_takes(live: Live) -> None:
    shutil.copy2(containerd("2.4.2"), live.folder / "sbin/containerd")
    done = live.run(**WISH)
    assert done["changed"] is True, done
    assert live.folder.joinpath(DROP_IN).is_file()
    assert live.run(**WISH)["changed"] is False


def test_a_change_that_the_daemon_does_not_take_is_taken_back(live: Live) -> None:
    program = live.folder / "sbin/containerd"
    refusing = f'case "$*" in *config*) test ! -e /{DROP_IN} || {{ echo "no such table" >&2; exit 1; }};; esac'
    said = "containerd github.com/containerd/containerd/v2 v2.4.2 abc"
    answer = 'case "$*" in *--version*) echo "' + said + '";; esac'
    program.write_text(f"#!/bin/sh\n{refusing}\n{answer}\n", encoding="utf-8")
    program.chmod(0o755)
    before = live.texts()
    told = live.run(**WISH)
    assert "no such table" in told["error"]
    assert told["details"]["left"] == "as before"
    assert live.texts() == before


def test_a_change_that_the_daemon_shows_otherwise_is_taken_back(live: Live) -> None:
    program = live.folder / "sbin/containerd"
    said = "containerd github.com/containerd/containerd/v2 v2.4.2 abc"
    shown = "version = 3\\n[plugins.'io.containerd.nri.v1.nri']\\ndisable = false\\n"
    program.write_text(
        f'#!/bin/sh\ncase "$*" in *--version*) echo "{said}";; *) printf "{shown}";; esac\n', encoding="utf-8"
    )
    program.chmod(0o755)
    before = live.texts()
    told = live.run(**WISH)
    assert told["code"] == "verify", told
    assert "itself shows otherwise" in told["error"]
    assert live.texts() == before


def test_a_configuration_that_the_daemon_does_not_take_already(live: Live) -> None:
    shutil.copy2(containerd("2.4.2"), live.folder / "sbin/containerd")
    file = live.folder / "etc/containerd/config.toml"
    text = 'version = 2\nstrange = 1\n[plugins."io.containerd.grpc.v1.cri"]\nenable_selinux = "x"\n'
    file.write_text(text, encoding="utf-8")
    told = live.run(**WISH)
    assert told["code"] == "input", told
    assert "cannot decode TOML string" in told["error"]  # its last words, after two warnings
    assert file.read_text(encoding="utf-8") == text
