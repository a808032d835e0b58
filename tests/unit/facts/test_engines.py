# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Container engines: which are here, what their files say, and what hangs on a version that nobody told."""

from __future__ import annotations

import json
from typing import Any, Optional

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import document, engines

CONFIG = "/etc/containerd/config.toml"
DROP_IN = "/etc/containerd/conf.d/99-x.toml"
DIRS = ["/etc/cdi", "/var/run/cdi"]
PROGRAMS = {
    "containerd": "/usr/bin/containerd",
    "crio": "/usr/bin/crio",
    "podman": "/usr/bin/podman",
    "docker": "/usr/bin/dockerd",
}
SAID = {
    "containerd": "containerd github.com/containerd/containerd/v2 {} abc",
    "crio": "crio version {}\nVersion: {}",
    "podman": "podman version {}",
    "docker": "Docker version {}, build abc",
}


def rows(host: Host, name: str = "containerd", version: Optional[str] = None) -> list[dict[str, Any]]:
    """The rows of a tree; with a version, of one whose engine's program says it."""
    if version is not None:
        host.answers[(PROGRAMS[name], "--version")] = (0, SAID[name].format(version, version), None)
    return engines.observe(host, version is not None, 1.0)


def row(host: Host, name: str = "containerd", version: Optional[str] = None) -> dict[str, Any]:
    (found,) = rows(host, name, version)
    assert found["name"] == name
    return found


def v2(**keys: Any) -> str:
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    return f'version = 2\nimports = ["{DROP_IN[:-9]}*.toml"]\n[plugins."io.containerd.grpc.v1.cri"]\n{lines}'


def test_no_engine(grow: Any) -> None:
    host = grow({"/etc/hosts": "", "/etc/containers/containers.conf": ""})
    assert engines.observe(host, False, 1.0) == []
    assert document.observe(host)["engines"] == []


def test_a_tree_without_files_of_a_node(grow: Any) -> None:
    facts = document.observe(grow({"/sys/kernel/x": ""}))
    assert (facts["engines"], facts["unknown"]["engines"]) == (None, "/etc not there")


def test_a_containerd_whole(grow: Any) -> None:
    host = grow(
        {
            "/usr/bin/containerd": "",
            CONFIG: v2(enable_cdi=True, cdi_spec_dirs=["/etc/cdi", "/srv/cdi"]),
            "/sys/fs/cgroup/system.slice/containerd.service/cgroup.procs": "20\n21",
            "/proc/20/cmdline": b"/usr/bin/containerd-shim-runc-v2\0-id\0x\0",
            "/proc/21/cmdline": b"/usr/bin/containerd\0",
        }
    )
    assert row(host, version="1.7.24") == {
        "name": "containerd",
        "version": "1.7.24",
        "running": True,
        "config_path": CONFIG,
        "config_version": 2,
        "cdi_enabled": True,
        "nri_enabled": False,
        "cdi_spec_dirs": ["/etc/cdi", "/srv/cdi"],
        "unknown": {},
    }


def test_shims_that_outlive_their_daemon_are_no_daemon(grow: Any) -> None:
    host = grow(
        {
            CONFIG: v2(),
            "/sys/fs/cgroup/system.slice/containerd.service/cgroup.procs": "20",
            "/proc/20/cmdline": b"/usr/bin/containerd-shim-runc-v2\0",
        }
    )
    assert row(host)["running"] is False


def test_the_process_says_which_configuration(grow: Any) -> None:
    host = grow(
        {
            CONFIG: v2(enable_cdi=False),
            "/srv/other.toml": v2(enable_cdi=True),
            "/sys/fs/cgroup/system.slice/containerd.service/cgroup.procs": "21",
            "/proc/21/cmdline": b"/opt/bin/containerd\0--config=/srv/other.toml\0",
        }
    )
    found = row(host)
    assert (found["config_path"], found["cdi_enabled"]) == ("/srv/other.toml", True)
    assert found["unknown"]["version"] == "/opt/bin/containerd is not asked"


def test_a_unit_says_which_configuration(grow: Any) -> None:
    unit = "[Service]\nExecStart=/opt/bin/containerd -c /srv/other.toml\n"
    host = grow({"/etc/systemd/system/containerd.service": unit, "/srv/other.toml": v2(enable_cdi=True)})
    assert row(host)["cdi_enabled"] is True


@pytest.mark.parametrize(
    ("config", "version", "cdi", "nri"),
    [
        ("version = 2", "1.6.20", False, False),
        ("version = 2", "1.7.24", False, False),
        ("version = 2", "2.0.5", True, True),
        ("version = 3", "2.2.0", True, True),
        ('version = 3\n[plugins."io.containerd.cri.v1.runtime"]\nenable_cdi = false', "2.2.0", False, True),
        ('version = 3\n[plugins."io.containerd.cri.v1.runtime"]\nenable_cdi = false', "2.4.0", True, True),
        ('version = 3\n[plugins."io.containerd.nri.v1.nri"]\ndisable = true', "2.2.0", True, False),
        ("version = 3", None, True, True),
        ("version = 2", None, None, None),
        (None, "2.2.0", True, True),
        (None, None, None, None),
    ],
)
def test_defaults_of_containerd(
    grow: Any, config: Optional[str], version: Optional[str], cdi: Optional[bool], nri: Optional[bool]
) -> None:
    files = {"/usr/bin/containerd": ""} if config is None else {"/usr/bin/containerd": "", CONFIG: config}
    found = row(grow(files), version=version)
    assert (found["cdi_enabled"], found["nri_enabled"]) == (cdi, nri)
    assert ("cdi_enabled" in found["unknown"]) is (cdi is None)


@pytest.mark.parametrize(("version", "cdi"), [("1.7.24", None), ("2.0.5", True)])
def test_up_to_1_7_a_later_file_replaces_a_table(grow: Any, version: str, cdi: Optional[bool]) -> None:
    drop_in = 'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "x"\n'
    found = row(grow({"/usr/bin/containerd": "", CONFIG: v2(enable_cdi=True), DROP_IN: drop_in}), version=version)
    assert found["cdi_enabled"] is (cdi or False)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{{ template }}", "is a template"),
        ("version = ", "is no TOML"),
        ('version = 2\ndisabled_plugins = ["cri"]', "the plugin cri is disabled"),
        ("version = 2\nimports = ['/etc/containerd/broken.toml']", "/etc/containerd/broken.toml is no TOML"),
    ],
)
def test_a_configuration_that_tells_nothing(grow: Any, content: str, reason: str) -> None:
    found = row(grow({CONFIG: content, "/etc/containerd/broken.toml": "= 1"}))
    assert [found[field] for field in ("cdi_enabled", "nri_enabled", "cdi_spec_dirs")] == [None, None, None]
    assert reason in found["unknown"]["cdi_enabled"]


def test_files_that_import_each_other(grow: Any) -> None:
    text = f"version = 3\nimports = ['*.toml', '{CONFIG}']\n"
    assert row(grow({CONFIG: text, "/etc/containerd/a.toml": text}))["config_version"] == 3


def test_the_containerd_of_k3s(grow: Any) -> None:
    config = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
    host = grow(
        {
            "/etc/systemd/system/k3s.service": "[Service]\nExecStart=/usr/local/bin/k3s server\n",
            config: "version = 3\nimports = ['config-v3.toml.d/*.toml']\n",
            f"{config[:-11]}config-v3.toml.d/x.toml": (
                '[plugins."io.containerd.cri.v1.runtime"]\ncdi_spec_dirs = ["/srv/cdi"]'
            ),
        }
    )
    found = row(host, "k3s")
    assert (found["config_path"], found["cdi_spec_dirs"]) == (config, ["/srv/cdi"])


@pytest.mark.parametrize(
    ("version", "text", "expected"),
    [
        ("1.31.3", "", (True, True, DIRS)),
        ("1.26.0", "[crio.nri]\nenable_nri = true\n[crio.runtime]\ncdi_spec_dirs = ['/a']", (True, True, ["/a"])),
        ("1.22.0", "", (False, False, DIRS)),
        (None, "", (None, None, DIRS)),
    ],
)
def test_crio(grow: Any, version: Optional[str], text: str, expected: tuple[Any, ...]) -> None:
    host = grow({"/usr/bin/crio": "", "/etc/crio/crio.conf.d/10-x.conf": text})
    found = row(host, "crio", version)
    assert (found["cdi_enabled"], found["nri_enabled"], found["cdi_spec_dirs"]) == expected
    assert found["unknown"]["config_path"] == "/etc/crio/crio.conf not there"


@pytest.mark.parametrize(
    ("words", "folders"),
    [("--config /srv/crio.conf", ["/a"]), ("--config-dir=/srv/d", ["/b"]), ("-c /srv/crio.conf -d /srv/d", ["/b"])],
)
def test_the_drop_ins_of_crio_do_not_go_with_its_file(grow: Any, words: str, folders: list[str]) -> None:
    text = "[crio.runtime]\ncdi_spec_dirs = ['{}']"
    host = grow(
        {
            "/etc/systemd/system/crio.service": f"[Service]\nExecStart=/usr/bin/crio {words}\n",
            "/etc/crio/crio.conf.d/10-x.conf": text.format("/a"),
            "/srv/d/10-x.conf": text.format("/b"),
            "/srv/crio.conf.d/10-x.conf": text.format("/never"),
        }
    )
    assert row(host, "crio")["cdi_spec_dirs"] == folders


def test_podman_reads_drop_ins_with_its_ending_alone(grow: Any) -> None:
    folder = "/etc/containers/containers.conf.d"
    text = "[engine]\ncdi_spec_dirs = ['{}']"
    files = {f"{folder}/a.conf": text.format("/a"), f"{folder}/b.conf.bak": text.format("/b")}
    host = grow({"/usr/bin/podman": "", **files})
    assert row(host, "podman", "5.6.0")["cdi_spec_dirs"] == ["/a"]


@pytest.mark.parametrize(
    ("version", "expected"), [("5.6.0", (True, ["/a"])), ("4.9.0", (True, DIRS)), ("4.0.0", (False, DIRS))]
)
def test_podman(grow: Any, version: str, expected: tuple[Any, ...]) -> None:
    text = "[engine]\ncdi_spec_dirs = ['/a']"
    found = row(grow({"/usr/bin/podman": "", "/etc/containers/containers.conf": text}), "podman", version)
    assert (found["cdi_enabled"], found["cdi_spec_dirs"], found["nri_enabled"]) == (*expected, False)
    assert found["unknown"]["running"] == "it has no service that runs by itself"


@pytest.mark.parametrize(
    ("version", "config", "expected"),
    [
        ("24.0.7", {"features": {"cdi": True}}, (False, [])),
        ("27.1.0", {}, (False, DIRS)),
        ("27.1.0", {"features": {"cdi": True}, "cdi-spec-dirs": ["/a"]}, (True, ["/a"])),
        ("28.3.0", {}, (True, DIRS)),
        ("28.3.0", {"features": {"cdi": False}}, (False, DIRS)),
        (None, {}, (None, DIRS)),
        (None, {"features": "cdi", "cdi-spec-dirs": "/a"}, (None, None)),
    ],
)
def test_docker(grow: Any, version: Optional[str], config: dict[str, Any], expected: tuple[Any, ...]) -> None:
    host = grow({"/usr/bin/dockerd": "", "/etc/docker/daemon.json": json.dumps(config)})
    found = row(host, "docker", version)
    assert (found["cdi_enabled"], found["cdi_spec_dirs"]) == expected


def test_what_a_program_says_that_is_no_version(grow: Any) -> None:
    host = grow({"/usr/bin/podman": ""})
    host.answers[("/usr/bin/podman", "--version")] = (0, "hello\n", None)
    (found,) = engines.observe(host, True, 1.0)
    assert (found["version"], found["unknown"]["version"]) == (None, "/usr/bin/podman printed 'hello\\n'")


def test_the_folders_of_engines_are_looked_into_for_specs(grow: Any) -> None:
    facts = document.observe(grow({CONFIG: v2(cdi_spec_dirs=["/srv/cdi"]), "/srv/cdi/x.json": "{}"}))
    assert facts["cdi"]["directories"] == [*DIRS, "/srv/cdi"]
    assert [spec["path"] for spec in facts["cdi"]["specs"]] == ["/srv/cdi/x.json"]
