# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The aspect *cdi* of every maker: a contract over all machine models, and what is each maker's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import cdi
from ansible_collections.accelerator.ops.plugins.module_utils.host import tree
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout
from ansible_collections.accelerator.ops.plugins.module_utils.model.entry import Entry
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import cdi_specs
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import devices, pci
from ansible_collections.accelerator.ops.plugins.module_utils.vendor import cdi as vendor
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models
from ansible_collections.accelerator.ops.tests.unit.codec.linker_cache_made import made

pytest.importorskip("yaml", reason="machine models are YAML")

MODELS = machine_models.shipped()
OWNERS = ("/run/nvidia", "/usr/local/nvidia", "/run/cdi", "/var/run", "/etc/systemd/system/multi-user")
"""What makes a shipped machine another tool's."""


def laid_out(root: Path, name: str, more: dict[str, str | bytes | tuple[str, int, int]], less=OWNERS) -> Host:
    """A shipped machine as a tree, with more files and device files, and without those that begin with ``less``."""
    entries = layout.entries(machine_models.load(machine_models.find(name)))
    entries = {path: entry for path, entry in entries.items() if not path.startswith(less)}
    for path, content in more.items():
        for above in list(Path(path).parents)[-2::-1]:
            entries.setdefault(str(above), Entry("dir"))
        if isinstance(content, tuple):
            entries[path] = Entry("char", mode=0o660, uid=0, gid=content[2], major=content[0], minor=content[1])
        elif isinstance(content, str) and content.startswith("->"):
            entries[path] = Entry("link", target=content[2:])
        else:
            entries[path] = Entry("file", content.encode() if isinstance(content, str) else content)
    tree.write(str(root), entries)
    return Host(str(root))


def rows_of(host: Host):
    functions, _reason = pci.functions(host)
    return devices.observe(host, functions or {}).rows


def specs_of(host: Host, **asked):
    wish = cdi_specs.Asked(**asked)
    return cdi_specs.specs(cdi_specs.look(host, wish) or (), wish)


def nodes(spec: cdi.Spec, name: str) -> list[str]:
    device = next(one for one in spec.devices if one.name == name)
    return [node.path for node in (*spec.edits.nodes, *device.edits.nodes)]


@pytest.mark.parametrize("maker", vendor.LOADERS)
def test_every_maker_has_kinds_of_its_own(maker):
    aspect = vendor.LOADERS[maker]()
    others = {kind for one, load in vendor.LOADERS.items() if one != maker for kind in load().kinds}
    assert aspect.kinds
    assert not others & set(aspect.kinds)


@pytest.mark.parametrize("name", MODELS)
def test_contract(name, tmp_path):
    host = laid_out(tmp_path / "root", name, {})
    rows = rows_of(host)
    specs = specs_of(host)
    kinds = {kind: spec for spec in specs.values() for kind in (spec.kind,)}
    assert len(kinds) == len(specs), "a kind stands in one file"
    for row in rows:
        if row["maker"] not in vendor.LOADERS or not vendor.is_driven(row):
            continue
        aspect = vendor.LOADERS[row["maker"]]()
        spec = next((spec for kind, spec in kinds.items() if kind in aspect.kinds and has(spec, row["id"])), None)
        assert spec is not None, f"{row['id']} is in no spec"
        assert set(vendor.own_nodes(row)) <= set(nodes(spec, row["id"]))
        indices = [one.name for one in spec.devices if one.name.isdigit()]
        mine = next(one for one in indices if nodes(spec, one) == nodes(spec, row["id"]))
        parts = [f"{mine}:{number}" for number in range(len(row["partitions"] or ()))]
        assert all(has(spec, part) for part in parts)
        assert not has(spec, f"{mine}:{len(parts)}")
    for path, spec in specs.items():
        assert path.startswith("/etc/cdi/accelerator-")
        text = cdi.render(spec)
        assert cdi.parse(text, cdi.LOADERS[0]) == spec, "the oldest loader takes it"
        assert spec.version == "0.5.0"
        every = [node.path for edits in spec.all_edits for node in edits.nodes]
        assert [one for one in every if host.status(one)[0] is None] == [], "each device file is there"
        assert set(nodes(spec, "all")) == set(every)
    expected = {row["maker"] for row in rows if row["maker"] in vendor.LOADERS and vendor.is_driven(row)}
    assert {path[len("/etc/cdi/accelerator-") :].partition(".")[0].partition("-")[0] for path in specs} == expected


def has(spec: cdi.Spec, name: str) -> bool:
    return any(one.name == name for one in spec.devices)


def test_machine_models_have_every_maker(tmp_path):
    found = set()
    for name in MODELS:
        found |= {row["maker"] for row in rows_of(laid_out(tmp_path / name, name, {})) if vendor.is_driven(row)}
    assert set(vendor.LOADERS) - set(vendor._PLAIN) <= found
    assert found & set(vendor._PLAIN), "what those have in common is seen on one of them"


def test_an_instance_has_its_capabilities_and_its_device(tmp_path):
    spec = specs_of(laid_out(tmp_path / "root", "nvidia-a100-mig", {}))["/etc/cdi/accelerator-nvidia.json"]
    control = [node.path for node in spec.edits.nodes]
    assert control == ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]
    caps = [f"/dev/nvidia-caps/nvidia-cap{number}" for number in (48, 49)]
    assert nodes(spec, "0:2") == [*control, "/dev/nvidia0", *caps]
    assert "/dev/nvidia-caps/nvidia-cap1" not in nodes(spec, "all"), "who may reconfigure is not a container's matter"


def test_a_gone_device_file_is_missing_and_made_by_the_makers_program(tmp_path):
    host = laid_out(
        tmp_path / "root",
        "nvidia-a100-mig",
        {"/usr/bin/nvidia-modprobe": ""},
        (*OWNERS, "/dev/nvidia-uvm", "/dev/nvidia-caps/nvidia-cap49"),
    )
    (look,) = cdi_specs.look(host, cdi_specs.Asked())
    assert look.missing == ("/dev/nvidia-caps/nvidia-cap49", "/dev/nvidia-uvm")
    again = look.needs[0].again
    assert again[0] == ("/usr/bin/nvidia-modprobe", "-u", "-c", "0")
    assert ("/usr/bin/nvidia-modprobe", "-f", "/proc/driver/nvidia/capabilities/gpu0/mig/gi5/ci0/access") in again


LIBRARIES = {
    "/usr/lib/x86_64-linux-gnu/libcuda.so.570.148.08": "",
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1": "->libcuda.so.570.148.08",
    "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.570.148.08": "",
    "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": "->libnvidia-ml.so.570.148.08",
    "/usr/lib/x86_64-linux-gnu/libGLX_nvidia.so.570.148.08": "",
    "/usr/lib/x86_64-linux-gnu/libGLX_nvidia.so.0": "->libGLX_nvidia.so.570.148.08",
    "/usr/lib/x86_64-linux-gnu/libnvidia-container.so.1": "",
    "/usr/lib/x86_64-linux-gnu/libz.so.1": "",
    "/usr/lib/i386-linux-gnu/libcuda.so.1": "",
    "/usr/bin/nvidia-smi": "",
    "/lib/firmware/nvidia/570.148.08/gsp_ga10x.bin": "",
    "/lib/firmware/nvidia/535.1/gsp_ga10x.bin": "",
}
CACHE = made(
    [
        (path.rpartition("/")[2], path, 0x0003 if "i386" in path else 0x0303)
        for path in sorted(LIBRARIES, reverse=True)
        if path.endswith((".so.0", ".so.1"))
    ]
)


def test_libraries_are_those_of_the_nodes_own_linker(tmp_path):
    more = {**LIBRARIES, "/etc/ld.so.cache": CACHE}
    spec = specs_of(laid_out(tmp_path / "root", "nvidia-a100-mig", more))["/etc/cdi/accelerator-nvidia.json"]
    folder = "/usr/lib/x86_64-linux-gnu"
    mounted = {one.container_path: one.host_path for one in spec.edits.mounts}
    assert mounted == {
        **{f"{folder}/{name}.so.570.148.08": f"{folder}/{name}.so.570.148.08" for name in NAMES},
        f"{folder}/libcuda.so.1": f"{folder}/libcuda.so.570.148.08",
        f"{folder}/libnvidia-ml.so.1": f"{folder}/libnvidia-ml.so.570.148.08",
        f"{folder}/libGLX_nvidia.so.0": f"{folder}/libGLX_nvidia.so.570.148.08",
        "/usr/bin/nvidia-smi": "/usr/bin/nvidia-smi",
        "/lib/firmware/nvidia/570.148.08/gsp_ga10x.bin": "/lib/firmware/nvidia/570.148.08/gsp_ga10x.bin",
    }
    assert {one.options for one in spec.edits.mounts} == {("ro", "nosuid", "nodev", "rbind", "rprivate")}
    assert spec.edits.hooks == ()
    assert not any("LD_LIBRARY_PATH" in one for one in spec.edits.env)


NAMES = ("libcuda", "libnvidia-ml", "libGLX_nvidia")


@pytest.mark.parametrize(("program", "words"), [("nvidia-cdi-hook", []), ("nvidia-ctk", ["hook"])])
def test_the_makers_hook_program_makes_links_and_the_cache(program, words, tmp_path):
    more = {**LIBRARIES, "/etc/ld.so.cache": CACHE, f"/usr/bin/{program}": ""}
    spec = specs_of(laid_out(tmp_path / "root", "nvidia-a100-mig", more))["/etc/cdi/accelerator-nvidia.json"]
    folder = "/usr/lib/x86_64-linux-gnu"
    link = f"libcuda.so.1::{folder}/libcuda.so"
    assert [one.args for one in spec.edits.hooks] == [
        (program, *words, "create-symlinks", "--link", link),
        (program, *words, "update-ldcache", "--folder", folder),
    ]
    assert f"{folder}/libcuda.so.1" not in {one.container_path for one in spec.edits.mounts}


def test_what_is_gone_is_not_mounted(tmp_path):
    more = {"/etc/ld.so.cache": CACHE}
    spec = specs_of(laid_out(tmp_path / "root", "nvidia-a100-mig", more))["/etc/cdi/accelerator-nvidia.json"]
    assert spec.edits.mounts == ()


def test_a_gaudi_has_its_control_file_and_the_verbs_of_its_ports(tmp_path):
    more = {
        "/sys/bus/pci/devices/0000:4d:00.0/infiniband_verbs/uverbs9/dev": "231:201",
        "/dev/infiniband/uverbs9": (231, 201, 0),
    }
    host = laid_out(tmp_path / "root", "habana-gaudi2-8", {"/dev/infiniband/uverbs9": more["/dev/infiniband/uverbs9"]})
    place = host.resolve("/sys/bus/pci/devices/0000:4d:00.0").value
    folder = Path(host.root + place) / "infiniband_verbs" / "uverbs9"
    folder.mkdir(parents=True)
    spec = specs_of(Host(host.root))["/etc/cdi/accelerator-habana.json"]
    wanted = ["/dev/accel/accel7", "/dev/accel/accel_controlD7", "/dev/infiniband/uverbs9"]
    assert nodes(spec, "7") == nodes(spec, "0000-4d-00-0-0x1020") == nodes(spec, "0000:4d:00.0") == wanted
    assert nodes(spec, "0") == ["/dev/accel/accel0", "/dev/accel/accel_controlD0"]


def test_a_partition_of_amd_is_its_render_file(tmp_path):
    spec = specs_of(laid_out(tmp_path / "root", "amd-mi300x-8gpu-dpx", {}))["/etc/cdi/accelerator-amd.json"]
    assert nodes(spec, "0:1") == ["/dev/kfd", "/dev/dri/renderD129"]
    assert nodes(spec, "0") == ["/dev/kfd", "/dev/dri/card1", "/dev/dri/renderD128", "/dev/dri/renderD129"]


def test_groups_are_named_on_demand_and_need_a_newer_version(tmp_path):
    host = laid_out(tmp_path / "root", "amd-mi300x-8gpu", {})
    groups = {host.status(path)[0].gid for path in ("/dev/kfd", "/dev/dri/renderD128")}
    plain = specs_of(host)["/etc/cdi/accelerator-amd.json"]
    spec = specs_of(host, groups=True)["/etc/cdi/accelerator-amd.json"]
    assert (plain.version, spec.version) == ("0.5.0", "0.7.0")
    assert not any(edits.additional_gids for edits in plain.all_edits)
    assert set(spec.edits.additional_gids) == {host.status("/dev/kfd")[0].gid}
    assert groups <= {gid for edits in spec.all_edits for gid in edits.additional_gids}


def test_two_kinds_of_one_maker_are_two_files(tmp_path):
    specs = specs_of(laid_out(tmp_path / "root", "intel-core-ultra-npu", {}))
    assert {path: spec.kind for path, spec in specs.items()} == {
        "/etc/cdi/accelerator-intel.json": "intel.com/gpu",
        "/etc/cdi/accelerator-intel-npu.json": "intel.com/npu",
    }


@pytest.mark.parametrize(
    ("name", "more", "owner"),
    [
        ("nvidia-a100-mig", {"/run/nvidia/driver/usr/bin/x": ""}, "the NVIDIA GPU Operator"),
        ("nvidia-a100-mig", {"/usr/local/nvidia/toolkit/x": ""}, "the NVIDIA GPU Operator"),
        (
            "nvidia-a100-mig",
            {"/etc/systemd/system/multi-user.target.wants/nvidia-cdi-refresh.path": "->/usr/lib/systemd/system/x"},
            "nvidia-cdi-refresh",
        ),
        ("habana-gaudi2-8", {"/run/habana/driver/usr/bin/x": ""}, "the Intel Gaudi Operator"),
    ],
)
def test_another_tool_has_the_specs(name, more, owner, tmp_path):
    host = laid_out(tmp_path / "root", name, more)
    (look,) = cdi_specs.look(host, cdi_specs.Asked())
    assert look.owner is not None
    assert look.owner.name == owner
    assert cdi_specs.wanted((look,), cdi_specs.Asked()) == {}


def test_a_masked_unit_makes_nothing(tmp_path):
    base = "/etc/systemd/system"
    more = {
        f"{base}/multi-user.target.wants/nvidia-cdi-refresh.path": "->/usr/lib/systemd/system/nvidia-cdi-refresh.path",
        f"{base}/nvidia-cdi-refresh.path": "->/dev/null",
    }
    (look,) = cdi_specs.look(laid_out(tmp_path / "root", "nvidia-a100-mig", more), cdi_specs.Asked())
    assert look.owner is None
