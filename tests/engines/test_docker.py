# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of Docker before and after, judged by ``dockerd --validate`` of Debian 13."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.engine import docker as engine
from ansible_collections.accelerator.ops.plugins.module_utils.engine.asked import Asked
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError
from ansible_collections.accelerator.ops.tests.engines.judge import CACHE, dockerd

WISH = Asked(
    cdi=True,
    cdi_spec_dirs=("/etc/cdi", "/opt/cdi"),
    runtimes={
        "ops": {"binary": "/usr/bin/ops"},
        "kata": {"type": "io.containerd.kata.v2", "options": {"ConfigPath": "/k.toml"}},
        "quiet": {"binary": "/usr/bin/ops", "options": {"SystemdCgroup": True}},
    },
)
TEXTS = [
    None,
    "{}",
    "",
    '{"debug": true}',
    '{\n  "log-driver": "json-file",\n  "log-opts": {"max-size": "10m"},\n  "storage-driver": "overlay2"\n}\n',
    '{\n\t"exec-opts": ["native.cgroupdriver=systemd"],\n\t"default-runtime": "nvidia",\n\t"runtimes": {\n'
    '\t\t"nvidia": {\n\t\t\t"args": [],\n\t\t\t"path": "nvidia-container-runtime"\n\t\t}\n\t}\n}\n',
    '{"features": {"buildkit": true, "cdi": false}, "live-restore": true}\n',
    '{\r\n  "registry-mirrors": ["https://a.example"],\r\n  "bip": "10.0.0.1/24"\r\n}\r\n',
]


@pytest.fixture(scope="module")
def program() -> Path:
    """The daemon's program, with its helper in the search path."""
    place = dockerd()
    proxy = CACHE / "docker-proxy-26.d" / "docker-proxy"
    proxy.parent.mkdir(exist_ok=True)
    shutil.copy2(CACHE / "docker-proxy-26", proxy)
    return place


def verdict(program: Path, file: Path) -> str:
    """What the daemon says against a file; nothing where it takes it."""
    env = {**os.environ, "PATH": f"{CACHE / 'docker-proxy-26.d'}:{os.environ['PATH']}"}
    command = [str(program), "-H", "fd://", "--validate", "--config-file", str(file)]
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    return ran.stderr.strip() if ran.returncode else ""


@pytest.mark.parametrize("text", TEXTS)
def test_the_daemon_takes_what_is_written(program: Path, tmp_path: Path, text: str | None) -> None:
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/dockerd").touch()
    file = tmp_path / "etc/docker/daemon.json"
    file.parent.mkdir(parents=True)
    if text is not None:
        file.write_bytes(text.encode())
        if text:
            assert verdict(program, file) == ""
    host = Host(str(tmp_path))
    said = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=True).stdout
    host.answers[("/usr/bin/dockerd", "--version")] = (0, said, None)
    seen = engine.look(host)
    assert seen is not None and seen.version is not None and seen.version >= engine.KIND.since.cdi
    steps = engine.plan(seen, WISH).steps
    file.write_bytes(steps[0].new)
    assert verdict(program, file) == ""
    before = json.loads(text or "{}")
    after = json.loads(file.read_text(encoding="utf-8"))
    assert after["features"]["cdi"] is True
    assert after["cdi-spec-dirs"] == list(WISH.cdi_spec_dirs or ())
    assert set(after["runtimes"]) == {*before.get("runtimes", {}), *(WISH.runtimes or {})}
    for name in ("features", "cdi-spec-dirs", "runtimes"):
        before.pop(name, None), after.pop(name)
    assert list(after.items()) == list(before.items())
    again = engine.look(host)
    assert again is not None
    assert engine.plan(again, WISH).steps == ()


def test_the_daemon_refuses_what_we_refuse(program: Path, tmp_path: Path) -> None:
    """The judge is one: it says no to a key that it does not know, and we hand its words on."""
    file = tmp_path / "daemon.json"
    file.write_text('{"nope": 1}', encoding="utf-8")
    words = verdict(program, file)
    assert "don't match any configuration option: nope" in words
    found = engine.Seen(
        None, "/usr/bin/dockerd", (26, 1, 5), str(file), engine.disk.found(Host("/"), str(file)), False, words
    )
    with pytest.raises(InputError, match="nope"):
        engine.plan(found, WISH)
