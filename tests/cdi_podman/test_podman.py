# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Podman gives containers the right device files by our specs, as root and without.

The specs are made by the program itself on the devices of machine models; the device files have the model's numbers,
so that a container that has another one is found.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host import tree
from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import cdi_files, cdi_specs
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models
from ansible_collections.accelerator.ops.tests.unit.codec.linker_cache_made import made

HERE = Path(__file__).resolve().parent
NEEDED = ("podman", "runc", "newuidmap", "setpriv", "unshare", "ldd")
OWNERS = ("/run", "/usr/local/nvidia", "/var/run", "/etc/systemd")
IMAGE = "accelerator-ops-tiny"
CONFIGURATION = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
LIST = "for file in /dev/* /dev/*/*; do test -c $file && stat -c '%n %t:%T %a %u' $file; done; true"
LIBRARIES = "/usr/local/lib/nvidia-test"
DRIVER = "570.148.08"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mount namespaces with device files need root"),
    pytest.mark.skipif(any(shutil.which(one) is None for one in NEEDED), reason=f"needs {', '.join(NEEDED)}"),
]


@pytest.fixture(scope="session")
def image(tmp_path_factory) -> Path:
    """A root file system with a shell that can list device files, as an archive."""
    folder = tmp_path_factory.mktemp("image")
    root = folder / "root"
    for name in ("bin", "dev", "proc", "sys", "etc", "tmp", "run"):
        (root / name).mkdir(parents=True)
    for source, name in (("/bin/sh", "sh"), ("/usr/bin/stat", "stat"), ("/bin/cat", "cat")):
        shutil.copy(source, root / "bin" / name)
        said = subprocess.run(["ldd", source], check=True, capture_output=True, text=True).stdout
        for library in re.findall(r"(/\S+) \(0x", said):
            place = root / library.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)
    archive = folder / "image.tar"
    subprocess.run(["tar", "-C", str(root), "-cf", str(archive), "."], check=True)
    return archive


@pytest.fixture
def short() -> Iterator[Path]:
    """A new folder with a short name: podman keeps sockets in it, whose paths have at most 108 bytes."""
    with tempfile.TemporaryDirectory(prefix="cdi-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


class Node:
    """This machine with the devices of a model, and our program on it."""

    def __init__(self, folder: Path, image: Optional[Path], model: str) -> None:
        folder.chmod(0o755)
        self.folder = folder
        machine = machine_models.load(machine_models.find(model))
        entries = {path: one for path, one in layout.entries(machine).items() if not path.startswith(OWNERS)}
        tree.write(str(folder / "tree"), entries)
        self.numbers = {path: (one.major, one.minor) for path, one in entries.items() if one.kind == "char"}
        self.image = None if image is None else shutil.copy(image, folder / "image.tar")
        program, cache = folder / "cdi.pyz", folder / "ld.so.cache"
        program.write_bytes(cdi_files.program(cdi_specs.Asked()))
        names = ("libcuda.so.1", "libnvidia-ml.so.1")
        cache.write_bytes(made([(name, f"{LIBRARIES}/{name}", 0x0303) for name in names]))
        self.files = {
            "/etc/accelerator-ops-containers.conf": CONFIGURATION,
            "/etc/ld.so.cache": [str(cache)],
            **{f"{LIBRARIES}/{name[:-1]}{DRIVER}": f"{name} itself" for name in names},
        }
        self.links = {f"{LIBRARIES}/{name}": f"{name[:-1]}{DRIVER}" for name in names}
        self.make = {"argv": [sys.executable, "-I", str(program), "make", "--whole"], "machine": True}

    def podman(self, *words: str, user: bool = False) -> dict[str, object]:
        places = [] if user else ["--root", str(self.folder / "storage"), "--runroot", str(self.folder / "run")]
        return {"argv": ["podman", *places, "--storage-driver", "vfs", *words], "user": user}

    def imported(self, user: bool) -> dict[str, object]:
        return self.podman("import", "--quiet", str(self.image), IMAGE, user=user)

    def container(self, name: str, script: str, *words: str, user: bool = False) -> dict[str, object]:
        run = ("run", "--rm", "--network", "none", "--device", name, *words, IMAGE, "/bin/sh", "-c", script)
        return self.podman(*run, user=user)

    def run(self, *commands: dict[str, object]) -> list[dict[str, object]]:
        work = self.folder / "work"
        work.mkdir()
        place = self.folder / "plan.json"
        plan = {"tree": str(self.folder / "tree"), "work": str(work), "files": self.files, "links": self.links}
        place.write_text(json.dumps({**plan, "commands": commands}), encoding="utf-8")
        argv = ["unshare", "--mount", "--propagation", "private", sys.executable, str(HERE / "node.py"), str(place)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found: list[dict[str, object]] = json.loads(done.stdout)
        return found


def listed(said: str) -> dict[str, tuple[int, int]]:
    """Device files with their numbers; those that every container has left out."""
    rows = [re.match(r"(\S+) ([0-9a-f]+):([0-9a-f]+) ", line) for line in said.splitlines()]
    found = {row[1]: (int(row[2], 16), int(row[3], 16)) for row in rows if row}
    plain = re.compile("/dev/(null|zero|full|u?random|tty|console|ptmx|std.*|core|fd.*|pts.*|shm.*|mqueue.*)$")
    return {path: numbers for path, numbers in found.items() if not plain.match(path)}


NVIDIA = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]
CASES = [
    (
        "nvidia-hgx-h100-8gpu",
        "nvidia.com/gpu=GPU-00000000-0000-4000-8000-000000000001",
        [*NVIDIA, "/dev/nvidia-modeset", "/dev/nvidia1", "/dev/dri/card2", "/dev/dri/renderD129"],
    ),
    (
        "nvidia-a100-mig",
        "nvidia.com/gpu=0:2",
        [*NVIDIA, "/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap48", "/dev/nvidia-caps/nvidia-cap49"],
    ),
    ("amd-mi300x-8gpu", "amd.com/gpu=a000000000000002", ["/dev/kfd", "/dev/dri/card2", "/dev/dri/renderD136"]),
    ("amd-mi300x-8gpu-dpx", "amd.com/gpu=0:1", ["/dev/kfd", "/dev/dri/renderD129"]),
    ("intel-max1550-4gpu", "intel.com/gpu=0000-42-00-0-0x0bd6", ["/dev/dri/card2", "/dev/dri/renderD129"]),
    ("habana-gaudi2-8", "intel.com/gaudi=0000:4d:00.0", ["/dev/accel/accel7", "/dev/accel/accel_controlD7"]),
]


@pytest.mark.parametrize(("model", "name", "paths"), CASES, ids=[case[0] for case in CASES])
def test_the_right_device_files(model, name, paths, short, image):
    node = Node(short, image, model)
    done = node.run(
        node.imported(False),
        node.imported(True),
        node.container(name, "true"),
        node.make,
        node.container(name, LIST),
        node.container(name, LIST, user=True),
    )
    before, made_now, by_root, by_user = done[2:]
    assert "unresolvable" in str(before["stderr"])
    assert made_now["status"] == 0, made_now["stderr"]
    wanted = {path: node.numbers[path] for path in paths}
    for one in (by_root, by_user):
        assert one["status"] == 0, one["stderr"]
        assert listed(str(one["stdout"])) == wanted


def test_files_that_got_another_number_later(short, image):
    node = Node(short, image, "habana-gaudi2-8")
    again = "cd /dev/accel; rm accel0 accel_controlD0; mknod accel0 c 250 0; mknod accel_controlD0 c 250 1"
    _made, _imported, renewed, done = node.run(
        node.make, node.imported(False), {"argv": ["sh", "-ec", again]}, node.container("intel.com/gaudi=0", LIST)
    )
    assert renewed["status"] == 0, renewed["stderr"]
    assert listed(str(done["stdout"])) == {"/dev/accel/accel0": (250, 0), "/dev/accel/accel_controlD0": (250, 1)}


def test_a_user_in_the_container_owns_them(short, image):
    node = Node(short, image, "amd-mi300x-8gpu")
    _made, _imported, done = node.run(
        node.make, node.imported(False), node.container("amd.com/gpu=0", LIST, "--user", "1234:1234")
    )
    assert done["status"] == 0, done["stderr"]
    rows = [line.split() for line in str(done["stdout"]).splitlines()]
    owners = {row[0]: row[3] for row in rows if row[0] in ("/dev/kfd", "/dev/dri/renderD128")}
    assert owners == {"/dev/kfd": "1234", "/dev/dri/renderD128": "1234"}


def test_libraries_are_found_by_the_names_that_programs_ask_for(short, image):
    node = Node(short, image, "nvidia-hgx-h100-8gpu")
    script = f"cat {LIBRARIES}/libcuda.so.1 {LIBRARIES}/libnvidia-ml.so.1 && : > {LIBRARIES}/libcuda.so.1"
    for user in (False, True):
        _made, _imported, done = node.run(
            node.make, node.imported(user), node.container("nvidia.com/gpu=0", script, user=user)
        )
        assert done["stdout"] == "libcuda.so.1 itselflibnvidia-ml.so.1 itself", done["stderr"]
        assert done["status"] != 0, "and cannot be written"
        shutil.rmtree(short / "work")
