# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captured machines, this machine and the shipped models, written down as models: what comes back is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import pytest
import yaml

from ansible_collections.accelerator.ops.plugins.module_utils.host import tree
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.host.recorder import Recorder
from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout, writedown
from ansible_collections.accelerator.ops.plugins.module_utils.machine.records import Heading
from ansible_collections.accelerator.ops.plugins.module_utils.machine.sheet import Sheet
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import document
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.recording import take
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models
from ansible_collections.accelerator.ops.tests.machines.unpack import sources

HEADING = Heading("written-down", "", (), "")


def again(root: str, folder: Path) -> Path:
    """The tree of what was written down of a tree; the model goes through its YAML text."""
    text = yaml.safe_dump(writedown.model(Host(root), HEADING), sort_keys=False)
    tree.write(str(folder), layout.entries(machine_models.parse(text, "written-down")))
    return folder


def leaves(value: Any, where: str = "") -> dict[str, Any]:
    """The values of a document by their dotted path."""
    if isinstance(value, dict) and value:
        return {path: leaf for key, inner in value.items() for path, leaf in leaves(inner, f"{where}.{key}").items()}
    if isinstance(value, list) and value:
        return {path: leaf for at, inner in enumerate(value) for path, leaf in leaves(inner, f"{where}[{at}]").items()}
    return {where: value}


def test_captured_machines_give_the_same_facts(
    data: Path, trees: Callable[[str], Path], tmp_path: Path, comparison: Any
) -> None:
    with comparison("facts of trees written down and laid out again", 17000) as values:
        for name in sources(data):
            root = trees(name)
            facts = leaves(document.observe(Host(str(root))))
            second = leaves(document.observe(Host(str(again(str(root), tmp_path / name)))))
            for path in sorted(facts.keys() | second.keys()):
                values.same(f"{name}{path}", second.get(path, "nothing"), facts.get(path, "nothing"))


def test_this_machine_gives_the_same_facts(tmp_path: Path) -> None:
    facts = document.observe(Host("/"))
    second = document.observe(Host(str(again("/", tmp_path / "here"))))
    assert leaves(second) == leaves(facts)


@pytest.mark.parametrize("name", machine_models.shipped())
def test_model_written_down_is_the_same_model(name: str, models: dict[str, Path]) -> None:
    machine = machine_models.load(machine_models.find(name))
    mapping = writedown.model(Host(str(models[name])), machine.heading)
    assert machine_models.parse(yaml.safe_dump(mapping, sort_keys=False), name) == machine
    text = machine_models.dump(mapping)
    assert machine_models.parse(text, name) == machine
    assert len(text.splitlines()) <= 170, "a human should be able to read it"


def from_recording(root: str, mask: bool, folder: Path) -> tuple[dict[str, Any], dict[str, Any], str]:
    """The facts of a recording, those of the model that was written down of it, and its text."""
    folder.mkdir()
    (folder / "node.tar.gz").write_bytes(take(Recorder(root), mask).archive)
    text = machine_models.written_down(str(folder / "node.tar.gz"), "recorded")
    tree.write(str(folder / "tree"), layout.entries(machine_models.parse(text, "recorded")))
    seen = document.observe(Host(str(folder / "node.tar.gz")))
    return leaves(seen), leaves(document.observe(Host(str(folder / "tree")))), text


@pytest.mark.parametrize("mask", [False, True], ids=["plain", "masked"])
@pytest.mark.parametrize("name", machine_models.shipped())
def test_a_recorded_model_gives_the_same_facts(name: str, mask: bool, models: dict[str, Path], tmp_path: Path) -> None:
    facts, again, text = from_recording(str(models[name]), mask, tmp_path / "recorded")
    assert again == facts
    if not mask:
        assert facts == leaves(document.observe(Host(str(models[name]))))
    assert len(text.splitlines()) <= 170, "a human should be able to read it"


def test_recorded_machines_give_the_same_facts(
    data: Path, trees: Callable[[str], Path], tmp_path: Path, comparison: Any
) -> None:
    with comparison("facts of recordings written down and laid out again", 17000) as values:
        for name in sources(data):
            facts, second, _text = from_recording(str(trees(name)), False, tmp_path / name)
            for path in sorted(facts.keys() | second.keys()):
                values.same(f"{name}{path}", second.get(path, "nothing"), facts.get(path, "nothing"))


def test_this_machine_recorded_gives_the_same_facts(tmp_path: Path) -> None:
    facts, again, _text = from_recording("/", True, tmp_path / "here")
    assert again == facts


def test_a_lost_file_is_no_longer_in_the_model(models: dict[str, Path], tmp_path: Path) -> None:
    machine = machine_models.load(machine_models.find("nvidia-t4-vm"))
    entries = layout.entries(machine)
    del entries["/sys/devices/pci0000:00/0000:00:1e.0/revision"]
    tree.write(str(tmp_path / "root"), entries)
    mapping = writedown.model(Host(str(tmp_path / "root")), machine.heading)
    again = machine_models.parse(yaml.safe_dump(mapping), "again")
    assert {one.address: one.revision for one in again.functions}["0000:00:1e.0"] is None
    assert again != machine


def test_partitions_boot_loaders_and_built_in_drivers_are_written_down(models: dict[str, Path], tmp_path: Path) -> None:
    """What no captured machine has: put by hand into a laid-out tree."""
    machine = machine_models.load(machine_models.find("nvidia-t4-vm"))
    entries = layout.entries(machine)
    base = "/proc/driver/nvidia/capabilities/gpu0/mig/gi1"
    added = {
        f"{base}/access": b"DeviceFileMinor: 3\n",
        f"{base}/ci0/access": b"DeviceFileMinor: 4\n",
        "/etc/modprobe.d/our.conf": b"alias nvidia nvidia-current\n",
        "/boot/grub2/grub.cfg": b"menuentry 'x' {\n linux /boot/vmlinuz-6.8.0-1099-aws\n}\n",
        "/lib/modules/6.8.0-1021-aws/modules.builtin": b"kernel/drivers/nvme/host/nvme.ko\nkernel/fs/ext4/ext4.ko\n",
        "/lib/modules/6.8.0-1021-aws/modules.builtin.modinfo": b"nvme.version=1.0\0nvme.license=GPL\0ext4.version=2\0",
    }
    tree.write(
        str(tmp_path / "root"),
        {**entries, **drawn(added, {"/dev/nvidia-caps/nvidia-cap3": 3, "/dev/nvidia-caps/nvidia-cap4": 4})},
    )
    facts = document.observe(Host(str(tmp_path / "root")))
    device = next(row for row in facts["devices"] if row["maker"] == "nvidia")
    assert [partition["id"] for partition in device["partitions"]], "the tree has a partition"
    assert facts["kernel"]["next_boot"] == "6.8.0-1099-aws"
    second = document.observe(Host(str(again(str(tmp_path / "root"), tmp_path / "again"))))
    assert leaves(second) == leaves(facts)


def drawn(files: dict[str, bytes], minors: dict[str, int]) -> dict[str, Any]:
    """Files and device files of an owner without a name, with the folders above them, as entries of a tree."""
    sheet = Sheet()
    for path, content in files.items():
        sheet.file(path, content)
    for path, minor in minors.items():
        sheet.special(path, "char", (234, minor), 0o440, (4711, 4712))
    return sheet.entries
