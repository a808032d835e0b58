# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that has booted with systemd, with the devices of a machine model and a containerd that runs.

It is a container of Podman, ``OPS_CONTAINER_IMAGE`` names its image (``tests/run/node_image.py``). The modules run in
it as they do on a node, with an ansible-core that is lent to it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import time
import uuid
from pathlib import Path
from typing import Any, Optional

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host import tree
from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models
from ansible_collections.accelerator.ops.tests.engines import judge

HERE = Path(__file__).resolve().parents[2]
IMAGE = os.environ.get("OPS_CONTAINER_IMAGE", "")
VERSION = "2.4.2"
TINY = "localhost/accelerator-ops-tiny:1"
"""The image of containers in the node: a shell that can list device files. It is the one of sandboxes too."""
ROOT_FILE = "/etc/containerd/config.toml"
DROP_IN = "/etc/containerd/conf.d/90-accelerator-ops.toml"

_OWNERS = ("/run", "/usr/local/nvidia", "/var/run", "/etc/systemd")
_CONTAINERD = "github.com/containerd/containerd/v2"
_CRI_TOOLS = "sigs.k8s.io/cri-tools"
_SECONDS = 120
_ENV = ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "container=podman")
_CONFIGURATION = f"""\
# of a human
version = 3
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{TINY}"
[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
disable_apparmor = true
[plugins."io.containerd.nri.v1.nri"]
disable = true
"""
_UNIT = """\
[Unit]
Description=containerd container runtime
[Service]
ExecStart=/usr/local/bin/containerd
Type=notify
Delegate=yes
KillMode={kill_mode}
Restart=always
RestartSec=5
"""  # as containerd ships it, without the limits, which a container must not raise

_BOOT = """\
until systemctl list-jobs >/dev/null 2>&1; do sleep 0.1; done  # its bus is there
systemctl is-system-running --wait || true
"""
_START = f"""\
if test -d /given/tree/proc/driver; then mount --bind /given/tree/proc/driver /proc/driver; fi
install -D -m 644 /given/config.toml {ROOT_FILE}
install -m 644 /given/crictl.yaml /etc/crictl.yaml
install -m 644 /given/containerd.service /etc/systemd/system/containerd.service
systemctl daemon-reload
systemctl start containerd.service
ctr --namespace=k8s.io images import /given/image.tar
"""


def programs() -> dict[str, Path]:
    """The programs of the node by where they are in it. Skips the test where they cannot be had."""
    if os.geteuid() != 0 or not IMAGE or shutil.which("runc") is None:
        pytest.skip("a node with a running containerd needs root, runc, and an image (OPS_CONTAINER_IMAGE)")
    source = Path(__file__).with_name("nri") / "main.go"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:8]
    made = {"containerd": judge.containerd(VERSION)}
    for name in ("ctr", "containerd-shim-runc-v2"):
        made[name] = judge.program(f"{name}-{VERSION}", f"{_CONTAINERD}/cmd/{name}", f"{_CONTAINERD} v{VERSION}")
    made["crictl"] = judge.program("crictl-1.37.0", f"{_CRI_TOOLS}/cmd/crictl", f"{_CRI_TOOLS} v1.37.0")
    made["nri-plugin"] = judge.program(f"nri-plugin-{digest}", ".", "github.com/containerd/nri v0.12.3", source)
    runc = Path(shutil.which("runc") or "")
    return {"/usr/sbin/runc": runc, **{f"/usr/local/bin/{name}": place for name, place in made.items()}}


def image(place: Path) -> None:
    """Write the image of containers as ``docker save`` does."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        for name in ("sh", "stat", "cat", "sleep"):
            libraries = judge.libraries(Path(f"/bin/{name}"))
            for path in [f"/bin/{name}", *libraries]:
                if path.lstrip("/") not in tar.getnames():
                    tar.add(os.path.realpath(path), path, recursive=False)
    config = {"architecture": "amd64", "os": "linux", "config": {"Cmd": ["/bin/sleep", "infinity"]}}
    config["rootfs"] = {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer.getvalue()).hexdigest()}"]}
    manifest = [{"Config": "config.json", "RepoTags": [TINY], "Layers": ["layer.tar"]}]
    files = {"manifest.json": json.dumps(manifest).encode(), "config.json": json.dumps(config).encode()}
    with tarfile.open(place, mode="w") as tar:
        for name, content in {**files, "layer.tar": layer.getvalue()}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))


class Node:
    """A node that is there from ``boot`` to ``end``."""

    def __init__(self, folder: Path, model: str, kill_mode: str = "process") -> None:
        self.name = f"accelerator-ops-engine-{uuid.uuid4().hex[:8]}"
        self.folder = folder
        self._enter: list[str] = []
        machine = layout.entries(machine_models.load(machine_models.find(model)))
        entries = {path: one for path, one in machine.items() if not path.startswith(_OWNERS)}
        self.numbers = {path: (one.major, one.minor) for path, one in entries.items() if one.kind == "char"}
        tree.write(str(folder / "tree"), entries)
        (folder / "tree/sys/fs/cgroup").mkdir(parents=True, exist_ok=True)
        (folder / "containerd").mkdir()
        image(folder / "image.tar")
        (folder / "boot.sh").write_text(_BOOT + "".join(_made(path, entries[path]) for path in self.numbers) + _START)
        (folder / "crictl.yaml").write_text("runtime-endpoint: unix:///run/containerd/containerd.sock\n")
        (folder / "config.toml").write_text(_CONFIGURATION)
        (folder / "containerd.service").write_text(_UNIT.format(kill_mode=kill_mode))
        lent = Path(pytest.importorskip("ansible").__file__).parent
        volumes = {
            "/sys": folder / "tree/sys",
            "/sys/fs/cgroup": Path("/sys/fs/cgroup"),
            "/var/lib/containerd": folder / "containerd",
            "/given": folder,
            "/collection/ansible": lent,
            "/collection/ansible_collections/accelerator/ops": HERE,
            **programs(),
        }
        self._create = ["create", f"--name={self.name}", "--network=none", "--systemd=always", "--privileged"]
        self._create += ["--cgroupns=host", *(f"--volume={source}:{place}" for place, source in volumes.items())]

    def boot(self) -> None:
        """Start it, and its containerd."""
        self._podman(*self._create, IMAGE, "/lib/systemd/systemd")
        self._podman("start", self.name)
        pid = self._podman("inspect", "--format={{.State.Pid}}", self.name)
        # as podman exec does it, in a tenth of the time
        self._enter = ["nsenter", f"--target={pid}", "--mount", "--uts", "--ipc", "--net", "--pid", "env", "-i", *_ENV]
        self.must("timeout", str(_SECONDS), "sh", "-e", "/given/boot.sh")

    def end(self) -> None:
        """Take the node away, with all that runs in it."""
        if self._enter and self.run("systemctl", "is-active", "containerd.service").returncode == 0:
            self.run("crictl", "rmp", "--all", "--force")
        end = time.monotonic() + _SECONDS
        remove = ["podman", "rm", "--force", "--ignore", "--time=2", self.name]
        while subprocess.run(remove, check=False, capture_output=True).returncode:
            assert time.monotonic() < end, f"{self.name} cannot be removed"
            time.sleep(0.5)
        for top in Path("/sys/fs/cgroup").glob(f"*/{self.name}"):  # what is left of pods whose daemon did not run
            for folder, _names, _files in os.walk(top, topdown=False):
                os.rmdir(folder)

    def _podman(self, *words: str) -> str:
        ran = subprocess.run(["podman", *words], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    def run(self, *argv: str, stdin: Optional[str] = None) -> subprocess.CompletedProcess[str]:
        """Run a program in the node."""
        return subprocess.run([*self._enter, *argv], input=stdin or "", capture_output=True, text=True, check=False)

    def must(self, *argv: str) -> str:
        """What a program says that must succeed."""
        ran = self.run(*argv)
        assert ran.returncode == 0, f"{' '.join(argv)}: {ran.stderr}"
        return ran.stdout.strip()

    def until(self, *argv: str) -> str:
        """Wait until a program succeeds."""
        end = time.monotonic() + _SECONDS
        while True:
            ran = self.run(*argv)
            if ran.returncode == 0:
                return ran.stdout.strip()
            assert time.monotonic() < end, f"{' '.join(argv)}: {ran.stderr}"
            time.sleep(0.2)

    def module(self, name: str, **wish: Any) -> dict[str, Any]:
        """The result of a module, which runs in the node."""
        place = f"ansible_collections.accelerator.ops.plugins.modules.{name}"
        argv = ("env", "PYTHONPATH=/collection", "PYTHONPYCACHEPREFIX=/given/pyc", "/usr/bin/python3", "-m", place)
        ran = self.run(*argv, stdin=json.dumps({"ANSIBLE_MODULE_ARGS": {"run": "a test", **wish}}))
        assert ran.stdout.strip(), ran.stderr
        result: dict[str, Any] = json.loads(ran.stdout.strip().splitlines()[-1])
        return result

    def info(self) -> dict[str, Any]:
        """The configuration that the running daemon has."""
        said = json.loads(self.must("crictl", "info"))["config"]
        config: dict[str, Any] = json.loads(said) if isinstance(said, str) else said
        return config

    def started(self) -> tuple[str, str]:
        """Which process the daemon is, and when it became active."""
        properties = "--property=MainPID,ActiveEnterTimestampMonotonic"
        said = self.must("systemctl", "show", "containerd.service", properties, "--value")
        pid, moment = said.split()
        return pid, moment

    def pod(self, name: str, *devices: str, annotations: Optional[dict[str, str]] = None) -> str:
        """Run a container with CDI devices in a pod of its own. Returns its id."""
        return self.must("crictl", *self.asked(name, *devices, annotations=annotations)).splitlines()[-1]

    def asked(self, name: str, *devices: str, annotations: Optional[dict[str, str]] = None) -> tuple[str, ...]:
        """The words by which crictl runs such a container."""
        linux = {"cgroup_parent": f"/{self.name}", "security_context": {"namespace_options": {"network": 2}}}
        metadata = {"name": name, "namespace": "default", "uid": name, "attempt": 0}
        pod = {"metadata": metadata, "annotations": annotations or {}, "linux": linux}
        container = {
            "metadata": {"name": name},
            "image": {"image": TINY},
            "command": ["/bin/sleep", "infinity"],
            "CDI_devices": [{"name": device} for device in devices],
            "linux": {},
        }
        for kind, said in (("pod", pod), ("container", container)):
            (self.folder / f"{name}-{kind}.json").write_text(json.dumps(said))
        return ("run", "--no-pull", f"/given/{name}-container.json", f"/given/{name}-pod.json")

    def process(self, container: str) -> int:
        """The process that a container is; it must run."""
        said = json.loads(self.must("crictl", "inspect", container))
        assert said["status"]["state"] == "CONTAINER_RUNNING", said
        return int(said["info"]["pid"])

    def devices(self, container: str) -> dict[str, tuple[int, int]]:
        """The device files in a container with their numbers, without those that every container has."""
        script = "for file in /dev/* /dev/*/*; do test -c $file && stat -c '%n %t:%T' $file; done; true"
        said = self.must("crictl", "exec", container, "/bin/sh", "-c", script)
        rows = re.findall(r"^(\S+) ([0-9a-f]+):([0-9a-f]+)\r?$", said, re.MULTILINE)
        plain = re.compile("/dev/(null|zero|full|u?random|tty|console|ptmx|std.*|core|fd.*|pts.*|shm.*|mqueue.*)$")
        return {path: (int(major, 16), int(minor, 16)) for path, major, minor in rows if not plain.match(path)}


def _made(path: str, entry: Any) -> str:
    made = f"mkdir -p {os.path.dirname(path)} && mknod -m {entry.mode:o} {path} c {entry.major} {entry.minor}"
    return f"test -e {path} || {{ {made}; }}\n"
