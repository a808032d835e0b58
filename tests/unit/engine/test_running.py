# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a running daemon answers, and what becomes of our file when others' change."""

from __future__ import annotations

import json
import socket

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.engine import containerd, registry, service
from ansible_collections.accelerator.ops.plugins.module_utils.engine.asked import Asked, comments, remembered
from ansible_collections.accelerator.ops.plugins.module_utils.engine.running import (
    Running,
    from_crictl,
    from_docker,
    otherwise,
)
from ansible_collections.accelerator.ops.plugins.module_utils.model.plan import Found
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.container_engine import (
    OPTIONS,
    Seen,
    checked,
    observe,
    unlike,
)

WISH = {name: spec.get("default") for name, spec in OPTIONS.items()}
CONFIG = {"enableCDI": True, "cdiSpecDirs": ["/etc/cdi"], "containerd": {"runtimes": {"runc": {}, "a": {}}}}
SHOWN = """LoadState=loaded
ActiveState=active
KillMode=process
ExecStart={{ path={0} ; argv[]={1} ; ignore_errors=no ; }}
"""
SHOW = "--property=LoadState,ActiveState,ExecStart,KillMode"


def test_what_crictl_says():
    found = from_crictl(json.dumps({"status": {}, "config": CONFIG}), True, False)
    assert found == Running(True, ("/etc/cdi",), ("a", "runc"), True, {})


def test_a_daemon_that_has_no_switch_says_nothing_of_it():
    config = {name: value for name, value in CONFIG.items() if name != "enableCDI"}
    assert from_crictl(json.dumps({"config": config}), True, True).cdi is True
    assert from_crictl(json.dumps({"config": config}), True, False).cdi is None
    assert from_crictl("{}", True, True).cdi is None


@pytest.mark.parametrize(
    "info", ["", "no JSON", "[]", '{"config": 1}', '{"config": {"enableCDI": "yes", "containerd": []}}']
)
def test_what_it_does_not_say_is_unknown(info):
    found = from_crictl(info, False, True)
    assert found[1:4] == (None, None, False)
    assert {"cdi_spec_dirs", "handlers"} <= found.unknown.keys() and "nri" not in found.unknown


def test_what_docker_says():
    found = from_docker(json.dumps({"CDISpecDirs": ["/etc/cdi"], "Runtimes": {"runc": {}}}))
    assert found == Running(
        True, ("/etc/cdi",), ("runc",), None, {"nri": "docker info does not say"}, "look at what docker info prints"
    )
    assert from_docker('{"CDISpecDirs": []}').cdi is False
    assert from_docker("{}").cdi is None


@pytest.mark.parametrize(
    ("asked", "heard", "found"),
    [
        (Asked(cdi=True), Running(cdi=False), ["CDI is off"]),
        (Asked(cdi=False), Running(cdi=True), ["CDI is on"]),
        (Asked(cdi_spec_dirs=("/a", "/b")), Running(cdi_spec_dirs=("/b", "/a")), ["its CDI folders are /b, /a"]),
        (Asked(nri=True), Running(nri=False), ["NRI is off"]),
        (Asked(runtimes={"b": {}, "a": {}}), Running(handlers=("a",)), ["no handler b"]),
        (Asked(True, ("/a",), True, None, {"a": {}}), Running(True, ("/a",), ("a", "c"), True), []),
        (Asked(True, ("/a",), True, None, {"a": {}}), Running(), []),
        (Asked(cdi_spec_dirs=(), runtimes={}), Running(True, ("/a",), ("a",), False), []),
    ],
)
def test_what_a_daemon_shows_otherwise(asked, heard, found):
    assert otherwise(asked, heard) == found


def running(node, service, line):
    host = node({})
    host.answers[("systemctl", "show", service, SHOW)] = (0, SHOWN.format(line.split()[0], line), None)
    return host


def test_the_daemon_is_asked_at_its_own_socket(node, tmp_path):
    host = running(node, "containerd.service", "/usr/bin/containerd --address /run/other.sock")
    argv = ("crictl", "--runtime-endpoint", "unix:///run/other.sock", "info")
    host.answers[argv] = (0, json.dumps({"config": CONFIG}), None)
    seen = registry.look(host, "containerd")
    assert registry.ask(host, "containerd", seen) == Running(True, ("/etc/cdi",), ("a", "runc"), False, {})
    place = tmp_path / "node/var/run/nri"
    place.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place / "nri.sock"))
        assert registry.ask(host, "containerd", seen).nri is True


def test_without_crictl_only_the_socket_tells(node):
    host = running(node, "containerd.service", "/usr/bin/containerd")
    found = registry.ask(host, "containerd", registry.look(host, "containerd"))
    assert found[:4] == (None, None, None, False)
    assert "crictl is not run" in found.unknown["cdi"]


def test_docker_is_asked(node):
    host = running(node, "docker.service", "/usr/bin/dockerd -H fd://")
    host.answers[("docker", "info", "--format", "{{json .}}")] = (0, '{"CDISpecDirs": ["/etc/cdi"]}', None)
    assert registry.ask(host, "docker", registry.look(host, "docker")).cdi is True


def rows(host, **wish):
    wish = {**WISH, **wish}
    found = unlike(host, observe(host, wish), wish)
    assert all(row["check"] == "running" for row in found)
    return [(row["verdict"], row["subject"], row["reason"], row["next_step"], row["evidence"]) for row in found]


AGAIN = "start it anew: generation, state restarted"


def test_docker_which_has_no_file_of_ours_is_compared_with_the_wish(node):
    host = running(node, "docker.service", "/usr/bin/dockerd -H fd://")
    said = {"CDISpecDirs": [], "Runtimes": {"runc": {}}}
    host.answers[("docker", "info", "--format", "{{json .}}")] = (0, json.dumps(said), None)
    why = "it runs, and shows otherwise: CDI is off, no handler ops"
    wish = {"nri": True, "runtimes": {"ops": {"binary": "/usr/bin/ops"}}}
    assert rows(host, **wish) == [("fail", "docker", why, AGAIN, ["docker.service"])]
    said = {"CDISpecDirs": ["/etc/cdi"], "Runtimes": {"ops": {}}}
    host.answers[("docker", "info", "--format", "{{json .}}")] = (0, json.dumps(said), None)
    assert rows(host, **wish) == []
    assert rows(host, cdi=False) == [
        ("fail", "docker", "it runs, and shows otherwise: CDI is on", AGAIN, ["docker.service"])
    ]


def test_a_docker_that_does_not_answer_is_neither_broken_nor_fine(node):
    host = running(node, "docker.service", "/usr/bin/dockerd -H fd://")
    host.answers[("docker", "info", "--format", "{{json .}}")] = (1, "", "docker failed with exit status 1")
    why = "whether it uses cdi, cdi_spec_dirs as asked is not known: docker failed with exit status 1"
    step = "mend that docker info can be run here"
    assert rows(host, cdi_spec_dirs=["/etc/cdi"]) == [("unknown", "docker", why, step, ["docker.service"])]


OURS = "/etc/containerd/conf.d/90-accelerator-ops.toml"


def test_what_a_containerd_does_not_tell_is_unknown(node):
    host = running(node, "containerd.service", "/usr/bin/containerd")
    assert rows(host) == [], "no file of ours is there"
    node({OURS: comments(Asked(cdi=True, nri=True, runtimes={"ops": {}}))})
    ((*off, _unit), (*unknown, step, unit)) = rows(host)
    assert off == ["fail", "containerd", "it runs, and shows otherwise: NRI is off", AGAIN]
    assert unknown[:2] == ["unknown", "containerd"]
    assert unknown[2].startswith("whether it uses cdi, runtimes as asked is not known: crictl is not run")
    assert (step, unit) == ("mend that crictl can be run here", ["containerd.service"])
    host.answers[("crictl", "--runtime-endpoint", "unix:///run/containerd/containerd.sock", "info")] = (0, "{}", None)
    (_off, (verdict, _subject, why, step, _unit)) = rows(host)
    assert (verdict, step) == ("unknown", "look at what crictl info prints")
    assert why == "whether it uses cdi, runtimes as asked is not known: crictl info does not say"


def test_of_crio_only_nri_is_known(node):
    host = running(node, "crio.service", "/usr/bin/crio")
    node({"/etc/crio/crio.conf.d/90-accelerator-ops.conf": comments(Asked(cdi_spec_dirs=("/a",)))})
    why = "whether it uses cdi_spec_dirs as asked is not known: the daemon is not asked for it"
    assert rows(host) == [("unknown", "crio", why, "look at what crio status config prints", ["crio.service"])]


def test_what_does_not_run_is_not_asked(node):
    host = node({"/usr/bin/containerd": "", "/usr/bin/crio": "", "/usr/bin/dockerd": "", "/usr/bin/podman": ""})
    for name, seen in registry.here(host).items():
        assert registry.ask(host, name, seen) is None
        assert unlike(host, Seen({name: seen}), WISH) == []


ROOT = """version = 2
imports = ["/etc/containerd/conf.d/*.toml"]
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{0}"
"""


def test_a_change_below_our_file_is_found_without_a_wish(node):
    files = {"/usr/bin/containerd": "", "/etc/containerd/config.toml": ROOT.format("a")}

    def seen():
        host = node(files)
        host.answers[("/usr/bin/containerd", "--version")] = (0, "containerd containerd v1.7.35 abc", None)
        return containerd.look(host, "containerd")

    def found():
        rows = checked(Seen({"containerd": seen()}), {"engines": None, "imports": "edit"}, {})
        return [(row["verdict"], row["reason"]) for row in rows]

    assert found() == []
    for step in containerd.plan(seen(), Asked(cdi=True), "edit").steps:
        files[step.path] = step.new.decode()
    assert found() == []
    files["/etc/containerd/config.toml"] = ROOT.format("a") + "enable_cdi = false\n"
    assert found() == [], "what our file says itself has changed: nothing is started anew for that"
    files["/etc/containerd/config.toml"] = ROOT.format("b")
    ((verdict, reason),) = found()
    assert verdict == "warn"
    assert "the files that it builds on have changed" in reason
    files["/etc/containerd/conf.d/99-other.toml"] = ROOT.format("c")
    ((verdict, reason),) = found()
    assert verdict == "fail"
    assert "99-other.toml is read later" in reason


def made_for(text):
    return remembered(Found(content=text.encode()))


def test_what_a_file_was_made_for_is_remembered():
    asked = Asked(True, ("/a",), False, {"enable": True}, {"a": {"binary": "/a"}})
    assert made_for(comments(asked)) == asked
    assert made_for(comments(Asked(cdi=False))) == Asked(cdi=False)
    assert Asked(cdi=True).over(asked) == asked._replace(cdi=True)
    for spoilt in ("", "# asked: {", "# asked: []", '# asked: {"more": 1}', "# asked: " + "[" * 100000):
        assert made_for(spoilt) == Asked()
    for spoilt in (
        '{"runtimes": 1}',
        '{"runtimes": {"a": 1}}',
        '{"cdi_spec_dirs": 1}',
        '{"nri_validator": []}',
        '{"cdi": 1}',
    ):
        assert made_for(f"# asked: {spoilt}") == Asked()


def test_a_version_is_asked_for_once_in_a_look(node):
    host = node({"/usr/bin/dockerd": ""})
    host.answers[("/usr/bin/dockerd", "--version")] = (0, "Docker version 27.5.1, build 1", None)
    assert service.version(host, "/usr/bin/dockerd", ()) == (27, 5, 1)
    host.answers.clear()
    assert service.version(host, "/usr/bin/dockerd", ()) == (27, 5, 1)
    assert service.version(node({}), "/usr/bin/dockerd", ()) is None
