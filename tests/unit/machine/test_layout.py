# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a model is laid out: as the kernel does it, and as kmod reads it (hwloc: tests/machines/test_lstopo.py)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import module_file, pci_config
from ansible_collections.accelerator.ops.plugins.module_utils.host import tree
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import MANIFEST, Host
from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout, layout_pci, module_image
from ansible_collections.accelerator.ops.plugins.module_utils.model.answer import Status
from ansible_collections.accelerator.ops.plugins.module_utils.model.entry import Entry
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models

GPU = "/sys/devices/pci0000:07/0000:07:01.0/0000:08:00.0/0000:09:01.0/0000:0d:00.0/0000:0e:00.0/0000:0f:00.0"


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every shipped model, laid out."""
    folder = tmp_path_factory.mktemp("laid-out")
    for name, path in machine_models.shipped().items():
        tree.write(str(folder / name), layout.entries(machine_models.load(path)))
    return {name: folder / name for name in machine_models.shipped()}


def program(name: str) -> str:
    """A program, in the folders of the administrator too; the test is skipped where it is not installed."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed, so its opinion was not asked")
    return found


def test_there_are_models_of_five_machines_and_four_makers() -> None:
    vendors = set()
    for path in machine_models.shipped().values():
        machine = machine_models.load(path)
        assert machine.heading.title, path
        assert all(source.url.startswith("https://") for source in machine.heading.sources), path
        assert machine.heading.sources, path
        assert len(Path(path).read_text(encoding="utf-8").splitlines()) <= 155, path
        vendors |= {
            one.vendor for one in machine.functions if one.pci_class in ("030200", "120000", "038000", "030000")
        }
    assert len(machine_models.shipped()) >= 5
    assert vendors >= {"10de", "1002", "1da3", "8086"}


def test_a_function_lies_where_the_kernel_puts_it(roots: dict[str, Path]) -> None:
    host = Host(str(roots["nvidia-hgx-h100-8gpu"]))
    assert host.resolve("/sys/bus/pci/devices/0000:0f:00.0").value == GPU
    assert host.resolve(f"{GPU}/driver").value == "/sys/bus/pci/drivers/nvidia"
    assert host.resolve("/sys/bus/pci/drivers/nvidia/0000:0f:00.0").value == GPU
    assert host.resolve("/sys/bus/pci/drivers/nvidia/module").value == "/sys/module/nvidia"
    assert host.resolve(f"{GPU}/iommu_group/devices/0000:0f:00.0").value == GPU
    assert host.resolve("/sys/class/drm/renderD128").value == f"{GPU}/drm/renderD128"
    assert host.resolve("/sys/class/drm/renderD128/device").value == GPU
    assert host.read(f"{GPU}/class").value == "0x030200"
    assert host.read(f"{GPU}/current_link_speed").value == "32.0 GT/s PCIe"
    assert host.read(f"{GPU}/local_cpulist").value == "0-55,112-167"
    assert host.read("/sys/class/drm/renderD128/dev").value == "226:128"
    assert host.read("/sys/devices/pci0000:07/0000:07:01.0/secondary_bus_number").value == "8"
    assert host.read("/sys/devices/pci0000:07/0000:07:01.0/subordinate_bus_number").value == "15"
    assert "Device Minor:    0" in (host.read("/proc/driver/nvidia/gpus/0000:0f:00.0/information").value or "")


def test_device_files_need_no_root(roots: dict[str, Path]) -> None:
    root = roots["nvidia-hgx-h100-8gpu"]
    assert (root / "dev" / "nvidia0").stat().st_size == 0
    host = Host(str(root))
    assert host.status("/dev/nvidia0")[0] == Status("char", 0o666, 0, 0, 195, 0)
    assert host.status("/dev/dri/renderD128")[0] == Status("char", 0o660, 0, 109, 226, 128)


def test_bonds_and_vlans(roots: dict[str, Path]) -> None:
    host = Host(str(roots["plain-r740xd"]))
    assert host.resolve("/sys/class/net/ens2f1/master").value == "/sys/devices/virtual/net/bond0"
    assert host.read("/sys/class/net/bond0/bonding/slaves").value == "ens2f0 ens2f1"
    assert "bond0.120      | 120  | bond0" in (host.read("/proc/net/vlan/config").value or "")


@pytest.mark.parametrize("isolates", [True, False])
def test_acs_stands_in_the_configuration_space(isolates: bool) -> None:
    name = "habana-gaudi2-8" if isolates else "nvidia-hgx-h100-8gpu"
    machine = machine_models.load(machine_models.find(name))
    bridge = next(one for one in machine.functions if one.is_bridge)
    entry = layout.entries(machine)[f"{layout_pci.places(machine)[bridge.address]}/config"]
    assert pci_config.acs_redirects(entry.content) is isolates


@pytest.mark.parametrize("suffix", ["", ".xz", ".gz"])
@pytest.mark.parametrize("signer", ["A signer with a rather long name " * 5, "short", None])
def test_a_module_file_says_its_version_and_signer(suffix: str, signer: str | None) -> None:
    content = module_image.image(f"updates/nvidia-uvm.ko{suffix}", "6.1.0", "570.1", signer)
    if suffix:
        content = module_file.unpack(suffix[1:], module_file.within(content))
    seen = module_file.read_module(module_file.within(content), len(content))
    assert (seen.version, seen.signer) == ("570.1", signer)


@pytest.mark.parametrize("suffix", ["", ".xz"])
def test_kmod_reads_a_module_file(suffix: str, tmp_path: Path) -> None:
    modinfo = program("modinfo")
    path = tmp_path / f"nvidia.ko{suffix}"
    path.write_bytes(module_image.image(path.name, "6.1.0", "570.86.15", "DKMS module signing key"))
    for field, text in (("version", "570.86.15"), ("signer", "DKMS module signing key"), ("sig_id", "PKCS#7")):
        command = [modinfo, "-F", field, str(path)]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == text


def test_two_layouts_are_equal_byte_for_byte() -> None:
    for path in machine_models.shipped().values():
        machine = machine_models.load(path)
        assert layout.entries(machine) == layout.entries(machine_models.load(path))


def test_a_tree_is_written_into_an_empty_folder_only(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    (tmp_path / "file").touch()
    for place, found in (("full", "it is not empty"), ("file", "File exists"), ("file/below", "Not a directory")):
        with pytest.raises(InputError, match=found):
            tree.write(str(tmp_path / place), {"/proc/x": Entry("file", b"")})


def test_a_tree_is_written_as_it_was_drawn_up(tmp_path: Path) -> None:
    entries = {
        "/a": Entry("dir"),
        "/a/b": Entry("file", b"text\n"),
        "/a/c": Entry("link", target="../a/b"),
        "/a/d": Entry("block", b"", "", 0o640, 1, 2, 3, 4),
    }
    tree.write(str(tmp_path / "root"), entries)
    host = Host(str(tmp_path / "root"))
    assert host.read("/a/c").value == "text"
    assert host.status("/a/d")[0] == Status("block", 0o640, 1, 2, 3, 4)
    assert (tmp_path / "root" / MANIFEST.lstrip("/")).is_file()
