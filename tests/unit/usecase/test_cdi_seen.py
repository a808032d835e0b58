# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specs by what makers' programs print, and by what changes on a node after they were made."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils import cdi_program
from ansible_collections.accelerator.ops.plugins.module_utils.codec import cdi
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import cdi as usecase
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import cdi_specs
from ansible_collections.accelerator.ops.tests.fakes.tool_output import nvidia_gpu, nvidia_log
from ansible_collections.accelerator.ops.tests.unit.vendor.test_cdi import CACHE, LIBRARIES, laid_out

PATH = "/etc/cdi/accelerator-nvidia.json"
MIG = "nvidia-a100-mig"


class Recorded(Host):
    """A tree in which programs answer, as in a recording."""

    is_node = True  # type: ignore[assignment]

    def answering(self, *rows):
        self.answers = {argv: (status, text, reason) for argv, status, text, reason in rows}
        return self


def recorded(tmp_path, model, more=()):
    return Recorded(laid_out(tmp_path / "root", model, dict(more)).root)


GENERATE = ("/usr/bin/nvidia-ctk", "cdi", "generate", "--format=json")
DEVICE = {"deviceNodes": [{"path": "/dev/nvidia0"}, {"path": "/dev/nvidia-caps/nvidia-cap12"}]}
TOLD = {
    "cdiVersion": "0.3.0",
    "kind": "nvidia.com/gpu",
    "devices": [{"name": "first", "containerEdits": DEVICE}],
    "containerEdits": {"hooks": [{"hookName": "createContainer", "path": "/usr/bin/nvidia-cdi-hook"}]},
}


def answer(text, status=0, reason=None):
    return (GENERATE, status, text, reason)


def looked(host, **asked):
    (look,) = cdi_specs.look(host, cdi_specs.Asked(**asked))
    return look


def test_the_makers_generator_makes_the_spec(tmp_path):
    host = recorded(tmp_path, MIG, {"/usr/bin/nvidia-ctk": ""}).answering(answer(f"a warning\n{json.dumps(TOLD)}\n"))
    spec = cdi_specs.specs([looked(host)], cdi_specs.Asked())[PATH]
    assert [hook.path for hook in spec.edits.hooks] == ["/usr/bin/nvidia-cdi-hook"]
    assert spec.devices[0].name == "first"
    assert "0000:06:00.0" in {device.name for device in spec.devices}
    assert spec.version == "0.5.0"
    own = cdi_specs.specs([looked(host, source="own")], cdi_specs.Asked(source="own"))[PATH]
    assert "first" not in {device.name for device in own.devices}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (answer("", 1, "/usr/bin/nvidia-ctk failed with exit status 1: no NVML"), "nvidia-ctk failed"),
        (answer("---\ncdiVersion: 0.5.0\n"), "nvidia-ctk printed no spec"),
        (answer(json.dumps({**TOLD, "devices": []})), "nvidia-ctk printed no spec (it has no device)"),
        (answer(json.dumps({**TOLD, "kind": "example.com/gpu"})), "nvidia-ctk printed a spec of example.com/gpu"),
    ],
)
def test_a_generator_that_fails_is_told_and_nothing_is_made(row, says, tmp_path):
    look = looked(recorded(tmp_path, MIG, {"/usr/bin/nvidia-ctk": ""}).answering(row))
    assert says in look.failure
    assert cdi_specs.wanted([look], cdi_specs.Asked()) == {}


def test_a_generator_that_is_wished_must_be_there(tmp_path):
    host = recorded(tmp_path, MIG)
    assert looked(host, source="maker").failure == "nvidia-ctk is not installed"
    assert looked(host).failure is None


def test_amds_generator_prints_the_file_and_then_a_line(tmp_path):
    told = {**TOLD, "kind": "amd.com/gpu", "cdiVersion": "0.6.0"}
    argv = ("/usr/bin/amd-ctk", "cdi", "generate", "--output=/dev/stdout")
    text = f"{json.dumps(told)}\nGenerated CDI spec: /dev/stdout\n"
    host = recorded(tmp_path, "amd-mi300x-8gpu", {"/usr/bin/amd-ctk": ""}).answering((argv, 0, text, None))
    spec = cdi_specs.specs([looked(host)], cdi_specs.Asked())["/etc/cdi/accelerator-amd.json"]
    assert spec.devices[0].name == "first"
    assert spec.version == "0.5.0", "not 0.6.0, which Podman 4.3 does not take"


def test_instances_are_called_as_the_makers_tool_calls_them(tmp_path):
    log = nvidia_log(nvidia_gpu("0000:06:00.0", 0)).replace("</gpu>", f"<mig_devices>{INSTANCES}</mig_devices></gpu>")
    smi = "/usr/bin/nvidia-smi"
    host = recorded(tmp_path, MIG, {smi: ""}).answering(
        ((smi, "-q", "-x"), 0, log, None),
        ((smi, "-L"), 0, NAMES, None),
    )
    spec = cdi_specs.specs([looked(host)], cdi_specs.Asked())[PATH]
    by_name = {device.name: [node.path for node in device.edits.nodes] for device in spec.devices}
    for number, name in enumerate(("MIG-a", "MIG-b", "MIG-c", "MIG-d")):
        assert by_name[name] == by_name[f"0:{number}"]
    assert by_name["MIG-d"] == ["/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap120", "/dev/nvidia-caps/nvidia-cap121"]


# The tool lists them by an index of its own; instances 1/0, 1/1, 5/0 and 13/0 are those of the model.
INSTANCES = "".join(
    f"<mig_device><index>{index}</index><gpu_instance_id>{gi}</gpu_instance_id>"
    f"<compute_instance_id>{ci}</compute_instance_id></mig_device>"
    for index, (gi, ci) in enumerate([(13, 0), (5, 0), (1, 0), (1, 1)])
)
NAMES = "GPU 0: NVIDIA A100 (UUID: GPU-x)\n" + "".join(
    f"  MIG 1g.5gb      Device  {index}: (UUID: MIG-{letter})\n" for index, letter in enumerate("dcab")
)


def made(host):
    """Have the program put what is wanted now in its place."""
    assert cdi_program.main(["make", "--root", host.root], cdi_specs.Asked().text()) == 0


def derived(root):
    wish = {name: spec.get("default") for name, spec in usecase.OPTIONS.items()}
    seen = usecase.observe(Host(root), wish)
    plan = usecase.decide(seen._replace(python="/usr/bin/python3", engines=()), wish)
    assert plan.blockers == ()
    return [one.why for one in plan.derived if one.key == "CDI specs"]


def updated_driver(root: Path) -> None:
    for path in list(root.glob("usr/lib/x86_64-linux-gnu/*.570.148.08")):
        path.rename(str(path).replace("570.148.08", "580.95.05"))
    for path in list(root.glob("usr/lib/x86_64-linux-gnu/*")):
        if path.is_symlink():
            target = path.readlink()
            path.unlink()
            path.symlink_to(str(target).replace("570.148.08", "580.95.05"))


def no_partition(root: Path) -> None:
    shutil.rmtree(root / "proc/driver/nvidia/capabilities/gpu0/mig/gi13")


def new_partition(root: Path) -> None:
    base = root / "proc/driver/nvidia/capabilities/gpu0/mig"
    shutil.copytree(base / "gi13", base / "gi14")


def no_driver(root: Path) -> None:
    place = Host(str(root)).resolve("/sys/bus/pci/devices/0000:06:00.0").value
    (root / str(place).lstrip("/") / "driver").unlink()


def a_hook_program(root: Path) -> None:
    (root / "usr/bin/nvidia-cdi-hook").touch()


def no_right_to_read(root: Path) -> None:
    (root / PATH.lstrip("/")).chmod(0o600)


CHANGES = [updated_driver, no_partition, new_partition, a_hook_program, no_right_to_read]


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_a_spec_has_it_made_again(change, tmp_path):
    host = laid_out(tmp_path / "root", MIG, {**LIBRARIES, "/etc/ld.so.cache": CACHE})
    made(host)
    assert derived(host.root) == []
    change(Path(host.root))
    assert derived(host.root) == [f"{PATH} is not what the devices are now"]
    made(Host(host.root))
    assert derived(host.root) == []


@pytest.mark.parametrize("cache", [None, CACHE[:100], b""])
def test_a_cache_that_cannot_be_read_is_unknown_and_changes_nothing(cache, tmp_path):
    host = laid_out(tmp_path / "root", MIG, {**LIBRARIES, "/etc/ld.so.cache": CACHE})
    made(host)
    place = Path(host.root) / "etc/ld.so.cache"
    place.unlink()
    if cache is not None:
        place.write_bytes(cache)
    wish = {name: spec.get("default") for name, spec in usecase.OPTIONS.items()}
    rows = usecase.checked(Host(host.root), {**wish, "state": "checked"})
    assert [(row["verdict"], row["reason"].partition(":")[0]) for row in rows if row["verdict"] != "info"][-1:] == [
        ("unknown", "/etc/ld.so.cache")
    ]
    assert cdi_specs.wanted(cdi_specs.look(Host(host.root), cdi_specs.Asked()), cdi_specs.Asked()) == {}
    plan = usecase.decide(usecase.observe(Host(host.root), wish)._replace(python="/usr/bin/python3"), wish)
    assert [one.code for one in plan.blockers] == ["probe"]


def test_another_file_that_cannot_be_read_may_have_the_same_kind(tmp_path):
    host = laid_out(tmp_path / "root", MIG, {"/etc/cdi/big.json": " " * (4 * 1024 * 1024)})
    assert looked(host).failure == "/etc/cdi/big.json cannot be read, and may have the same kind"


def test_a_spec_of_devices_that_have_lost_their_driver_is_over(tmp_path):
    host = laid_out(tmp_path / "root", MIG, {})
    made(host)
    no_driver(Path(host.root))
    assert derived(host.root) == [f"{PATH} is over"]
    assert looked(Host(host.root)).missing == ("driver of 0000:06:00.0",)


def test_other_numbers_of_device_files_are_no_matter(tmp_path):
    host = laid_out(tmp_path / "root", MIG, {})
    made(host)
    spec = cdi.parse((Path(host.root) / PATH.lstrip("/")).read_text(encoding="utf-8"))
    assert not [node for edits in spec.all_edits for node in edits.nodes if node.major or node.minor]
