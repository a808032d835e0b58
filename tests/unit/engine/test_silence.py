# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Daemons whose program hangs on being asked: real programs, on the running system, with a shorter deadline."""

from __future__ import annotations

import time

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.engine import containerd, docker, service
from ansible_collections.accelerator.ops.plugins.module_utils.engine.asked import Asked, comments
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError, ProbeError
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.container_engine import Seen, checked

SHOW = "--property=LoadState,ActiveState,ExecStart,KillMode"
DEADLINE_SECONDS = 0.5
SAYS = {"containerd": "containerd github.com/containerd/containerd v1.7.35 abc", "docker": "Docker version 27.5.1"}


@pytest.fixture(params=["asked for its version", "asked for its configuration", "broken"])
def hanging(request, tmp_path, monkeypatch):
    """A function that looks at an engine of a name, whose program hangs (or fails, by contrast)."""
    for module in (service, containerd, docker):
        monkeypatch.setattr(module, "ASK_SECONDS", DEADLINE_SECONDS)

    def look(name):
        program, config = tmp_path / name, tmp_path / "config"
        config.write_text("{}" if name == "docker" else f'version = 2\nimports = ["{tmp_path}/conf.d/*.toml"]\n')
        then = "echo no such key >&2; exit 1" if request.param == "broken" else "sleep 600"
        version = f'test "$1" != --version || exec echo "{SAYS[name]}"\n'
        is_mute = request.param == "asked for its version"
        program.write_text(f"#!/bin/sh\n{'' if is_mute else version}{then}\n")
        program.chmod(0o755)
        flag = "--config-file" if name == "docker" else "--config"
        line = f"{{ path={program} ; argv[]={program} {flag} {config} ; ignore_errors=no ; }}"
        shown = f"LoadState=loaded\nActiveState=inactive\nExecStart={line}\n"
        host = Host("/")
        host.answers[("systemctl", "show", f"{name}.service", SHOW)] = (0, shown, None)
        return docker.look(host) if name == "docker" else containerd.look(host, name)

    look.is_broken = request.param == "broken"
    return look


def refused(hanging, name, plan):
    start = time.monotonic()
    seen = hanging(name)
    assert time.monotonic() - start < 3 * DEADLINE_SECONDS, "one deadline in all"
    with pytest.raises(InputError if hanging.is_broken else ProbeError) as caught:
        plan(seen)
    assert ("no such key" if hanging.is_broken else "was stopped after 0.5 s") in str(caught.value)
    assert ("mend what it names" in str(caught.value)) is hanging.is_broken
    return seen


def test_a_containerd_that_hangs(hanging, tmp_path):
    ours = tmp_path / "conf.d" / containerd.NAME
    ours.parent.mkdir()
    ours.write_text(comments(Asked(cdi=True)), encoding="utf-8")
    seen = refused(hanging, "containerd", lambda seen: containerd.plan(seen, Asked(cdi=True), "edit"))
    (row,) = checked(Seen({"containerd": seen}), {"engines": None, "imports": "edit"}, {})
    assert row["verdict"] == ("fail" if hanging.is_broken else "unknown")


def test_a_docker_that_hangs(hanging):
    refused(hanging, "docker", lambda seen: docker.plan(seen, Asked(cdi=True)))
