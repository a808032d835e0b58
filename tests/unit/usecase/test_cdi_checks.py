# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check of CDI specs knows of a node: who makes a file and when, which engines are here, where they look."""

from __future__ import annotations

import json
import os

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.cdi import Engine
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import cdi as usecase
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import cdi_files

WISH = {name: spec.get("default") for name, spec in usecase.OPTIONS.items()}


class Recorded(Host):
    """A tree in which programs answer, as in a recording."""

    is_node = True  # type: ignore[assignment]


def spec(kind="nvidia.com/gpu", name="0", path="/dev/null"):
    device = {"name": name, "containerEdits": {"deviceNodes": [{"path": path}]}}
    return json.dumps({"cdiVersion": "0.5.0", "kind": kind, "devices": [device]})


def packages(**versions):
    rows = (
        f"Package: {name.replace('_', '.')}\nStatus: install ok installed\nVersion: {version}\n"
        for name, version in versions.items()
    )
    return {"/var/lib/dpkg/status": "\n".join(rows)}


PODMAN = {"/usr/bin/podman": "", **packages(podman="5.4.2+ds1-1")}
DOCKER = {
    "/usr/bin/dockerd": "",
    "/etc/docker/daemon.json": '{"cdi-spec-dirs": ["/srv/cdi/", "/opt/docker/cdi"]}',
    **packages(docker_io="28.3.3"),
}


def told(host, check, **wish):
    """What a check of the lint finds."""
    rows = usecase.checked(host, {**WISH, "state": "checked", **wish})
    return [(row["verdict"], row["subject"], row["reason"]) for row in rows if row["check"] == check]


def engines(host):
    return usecase.observe(host, {**WISH, "state": "checked"}).engines


def test_who_makes_a_file(node):
    ours, theirs = "/etc/cdi/accelerator-nvidia.json", "/var/run/cdi/nvidia.yaml"
    host = node({"/etc/hosts": "", ours: spec(name="0"), theirs: spec(name="1")})
    assert told(host, "owner") == [
        ("info", theirs, "NVIDIA Container Toolkit makes it"),
        ("warn", ours, "accelerator.ops and NVIDIA Container Toolkit each make specs of nvidia.com/gpu"),
    ]


DRIVER = {
    "/proc/sys/kernel/osrelease": "6.1.0-42-amd64",
    "/sys/module/nvidia/version": "580.95.05",
    "/lib/modules/6.1.0-42-amd64/modules.dep": "updates/dkms/nvidia.ko:",
    "/lib/modules/6.1.0-42-amd64/updates/dkms/nvidia.ko": "",
}


@pytest.mark.parametrize(
    ("name", "seconds", "found"),
    [
        ("nvidia.yaml", 999, ["it is older than the driver nvidia"]),
        ("nvidia.yaml", 1000, []),
        ("accelerator-nvidia.json", 999, []),  # compared with what it should be
    ],
)
def test_a_spec_that_is_older_than_the_driver(node, name, seconds, found):
    host = node({**DRIVER, f"/etc/cdi/{name}": spec()})
    os.utime(f"{host.root}/lib/modules/6.1.0-42-amd64/updates/dkms/nvidia.ko", (1000, 1000))
    os.utime(f"{host.root}/etc/cdi/{name}", (seconds, seconds))
    assert [reason for _verdict, _subject, reason in told(host, "age")] == found


@pytest.mark.parametrize(
    ("more", "found"), [(PODMAN, ["rootless podman cannot read it (0600 in a folder of 0755)"]), (DOCKER, [])]
)
def test_a_spec_for_root_alone(node, more, found):
    host = node({**more, "/etc/cdi/x.json": spec("a.b/c")})
    os.chmod(f"{host.root}/etc/cdi/x.json", 0o600)
    os.chmod(f"{host.root}/etc/cdi", 0o755)
    assert [reason for _verdict, _subject, reason in told(host, "mode")] == found


def test_the_folders_of_an_engine(node):
    """Its own folder is looked at, and so is ours where it looks into it, by another name too."""
    files = {"/etc/cdi/x.json": spec("a.b/c"), "/data/cdi/x.json": spec("a.b/d"), "/srv/cdi": ("link", "/data/cdi")}
    host = node({**DOCKER, **files, "/opt/docker/cdi/x.json": spec("a.b/e", path="/dev/gone"), "/dev/null": ""})
    assert engines(host) == (Engine("docker", "28.3.3", "1.0.1", ("/srv/cdi/", "/opt/docker/cdi")),)
    unread = [("warn", "/etc/cdi/x.json", "none of docker looks into /etc/cdi")]
    assert told(host, "unread", directory="/data/cdi") == unread
    assert told(host, "unread", directory="/srv/cdi") == unread
    assert ("fail", "/opt/docker/cdi/x.json", "the device file /dev/gone of it is not there") in told(host, "path")


def test_an_engine_whose_folders_are_not_known_says_nothing_of_them(node):
    host = node({**DOCKER, "/etc/docker/daemon.json": "{", "/etc/cdi/x.json": spec("a.b/c")})
    assert [one.folders for one in engines(host)] == [()]
    assert told(host, "unread") == []


UNIT = {"/etc/systemd/system/containerd.service": "[Service]\nExecStart=/opt/bin/containerd --config /opt/c.toml\n"}
OTHER_FOLDER = 'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\nenable_cdi = true\ncdi_spec_dirs = ["/opt/cdi"]\n'


@pytest.mark.parametrize("more", [{}, {"/usr/bin/containerd": ""}])
def test_the_program_of_an_engine_is_that_of_its_unit(node, more):
    host = node({**UNIT, **more, "/opt/bin/containerd": "", "/opt/c.toml": OTHER_FOLDER}, Recorded)
    for path, version in (("/usr/bin/containerd", "1.7.28"), ("/opt/bin/containerd", "2.1.4")):
        host.answers[(path, "--version")] = (0, f"containerd github.com/containerd/containerd v{version} 75cb2b7", None)
    assert engines(host) == (Engine("containerd", "2.1.4", "1.0.1", ("/opt/cdi",)),)


def test_what_is_no_file_is_told_and_not_opened(node):
    host = node({"/etc/cdi/folder.json/x": "", "/etc/cdi/lost.json": ("link", "/gone")})
    os.mkfifo(f"{host.root}/etc/cdi/pipe.json")
    assert told(host, "unread") == [
        ("warn", "/etc/cdi/folder.json", "it is a dir, no file"),
        ("warn", "/etc/cdi/lost.json", "it is a link that leads nowhere"),
        ("fail", "/etc/cdi/pipe.json", "it is a fifo, no file"),
    ]


PYTHONS = {"/usr/bin/python3.11": "", "/usr/bin/python3": ("link", "python3.11")}
LINKS = {path: ("link", target) for path, target in cdi_files.LINKS.items()}


@pytest.mark.parametrize("other", [None, *cdi_files.LINKS, cdi_files.PATH, cdi_files.PROGRAM])
def test_what_makes_the_specs_is_gone(node, other):
    units = {path: content.decode() for path, content in cdi_files.units("/usr/bin/python3").items()}
    files = {"/sys/bus/x": "", **PYTHONS, **units, **LINKS, cdi_files.PROGRAM: ""}
    host = node({path: content for path, content in files.items() if path != other or path == cdi_files.PROGRAM})
    with open(host.root + cdi_files.PROGRAM, "wb") as file:
        file.write(b"" if other == cdi_files.PROGRAM else cdi_files.program(usecase.cdi_specs.asked(WISH)))
    rows = usecase.checked(host, {**WISH, "state": "checked", "on_conflict": "refuse"})
    found = [(row["verdict"], row["subject"]) for row in rows if "set up" in row["reason"]]
    assert found == ([] if other is None else [("warn", other)])
