# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a maker's tool does, the facts stay whole, in time, with the right reasons, and no process is left."""

from __future__ import annotations

import copy
import json
import os
import signal
import time
from typing import Any, Callable, NamedTuple

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError
from ansible_collections.accelerator.ops.plugins.module_utils.report.form import flaw
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.plugins.module_utils.vendor import tools
from ansible_collections.accelerator.ops.tests.fakes import tool_node
from ansible_collections.accelerator.ops.tests.fakes import tool_output as output

DEADLINE = 1.5
Answers = dict[str, dict[str, Any]]


class Kind(NamedTuple):
    """A tool: its PCI functions, the driver's module, and good answers in a newer and an older form."""

    function: tuple[str, str, str]
    module: str
    newer: Answers
    older: Answers
    expected: dict[str, Any]
    driver: str


HABANA: Answers = {
    "": {"print": output.HABANA},
    **{f"-n link -i {bus}": {"print": output.HABANA_PORTS} for bus in (output.FIRST, output.SECOND)},
}
KINDS = {
    "nvidia-smi": Kind(
        ("10de", "2330", "030200"),
        "nvidia",
        {"-q -x": {"print": output.nvidia()}, "topo -m": {"print": output.TOPO}},
        {"-q -x": {"print": output.NVIDIA_OLD}, "topo -m": {"print": output.TOPO.replace("\x1b[4m", "")}},
        {"uuid": "GPU-12345678-0000-0000-0000-000000000000", "serial": "1320121000", "memory_mib": 81559,
         "power_limit_watts": 650.5, "fabric.state": "completed", "fabric.clique": f"{output.CLUSTER}.4",
         "firmware.vbios": "96.00.01", "memory_health.ecc_mode": "enabled",
         "memory_health.remapped_rows": {"correctable": 3, "uncorrectable": 0, "pending": True, "failure": False}},
        "580.10.1",
    ),
    "amd-smi": Kind(
        ("1002", "74a1", "120000"),
        "amdgpu",
        {"static --json": {"print": output.amd_static(True)}, "topology --json": {"print": output.AMD_TOPOLOGY}},
        {"static --json": {"print": output.amd_static(False)}, "topology --json": {"print": output.AMD_TOPOLOGY}},
        {"uuid": "abcd000000000000", "serial": "690000", "memory_mib": 196592, "power_limit_watts": 700,
         "firmware.vbios": "113-M300-01", "memory_health.ecc_mode": "enabled"},
        "6.12.1",
    ),
    "rocm-smi": Kind(
        ("1002", "74a1", "120000"),
        "amdgpu",
        {"*": {"print": output.ROCM}},
        {"*": {"print": "\n\nWARNING: asleep\n" + output.ROCM}},
        {"uuid": "abcd000000000000", "serial": "690000", "memory_mib": 196592, "power_limit_watts": 700,
         "firmware.vbios": "113-M300-01", "firmware.smc": "00.85"},
        "6.12.1",
    ),
    "xpu-smi": Kind(
        ("8086", "0bd5", "038000"),
        "i915",
        {"discovery -j": {"print": output.INTEL_LIST}, "discovery -d 0 -j": {"print": output.intel_text(0)},
         "discovery -d 1 -j": {"print": output.intel_text(1)},
         "": {"print": output.table("", "Intel Max", "600", "131072")}},
        {"discovery -j": {"print": output.INTEL_LIST}, "discovery -d 0 -j": {"print": output.intel_device(0)},
         "discovery -d 1 -j": {"print": output.intel_device(1)}, "": {"print": "xpu-smi -v\n"}},
        {"uuid": "00000000-0000-0008-0000-002f0bd58086", "serial": "LQAC00000", "memory_mib": 131072, "tiles": 2,
         "firmware.gfx": "PVC2_1.23263"},
        "",
    ),
    "hl-smi": Kind(
        ("1da3", "1060", "120000"),
        "habanalabs",
        {**HABANA, output.HABANA_ASKED: {"print": output.HABANA_IDS}},
        HABANA,
        {"memory_mib": 131072, "power_limit_watts": 900,
         "ports": [{"port": 0, "state": "up"}, {"port": 1, "state": "down"}, {"port": 10, "state": "up"}]},
        "1.18.0",
    ),
}  # fmt: skip

Look = Callable[..., tuple[dict[str, Any], tool_node.Programs]]


@pytest.fixture
def look(tmp_path, monkeypatch) -> Look:
    """The facts of a node with two devices of the tool's maker, and its programs."""

    def facts(name: str, programs: dict[str, Any], more: Any = None, mode: str = "auto", deadline: float = DEADLINE):
        folder = tmp_path / f"n{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        there = tool_node.Programs(folder / "bin")
        for program, answers in programs.items():
            there.install(program, answers)
        kind = KINDS[name]
        tool_node.sysfs(folder / "node", dict.fromkeys((output.FIRST, output.SECOND), kind.function), more)
        facts = observe(tool_node.open_node(monkeypatch, folder / "node", there), mode, deadline)
        assert flaw(json.loads(json.dumps(facts))) is None  # whatever a tool says, the report takes the document
        return facts, there

    return facts


def at(row: Any, path: str) -> Any:
    for part in path.split("."):
        row = None if row is None else row.get(part)
    return row


def source(facts: dict[str, Any], name: str) -> dict[str, Any]:
    (row,) = [row for row in facts["sources"] if row["name"] == name]
    return row


def none_left(programs: tool_node.Programs) -> bool:
    """The processes are killed; they may take a moment to go."""
    deadline = time.monotonic() + 3
    while programs.alive() and time.monotonic() < deadline:
        os.sched_yield()
    return not programs.alive()


def whole(facts: dict[str, Any], name: str) -> None:
    """Every null of a device and partition has a reason, and none is left that says that no tool was asked."""
    for device in facts["devices"]:
        for key, value in device.items():
            reasons = [why for path, why in device["unknown"].items() if path == key or path.startswith(f"{key}.")]
            assert value is not None or reasons or key in ("driver", "sriov"), (name, key)
        assert not [why for why in device["unknown"].values() if "tool is not asked" in why], device["unknown"]


@pytest.mark.parametrize("form", ["newer", "older"])
@pytest.mark.parametrize("name", KINDS)
def test_a_tool_fills_what_the_kernel_does_not_tell(look: Look, name: str, form: str) -> None:
    kind = KINDS[name]
    facts, programs = look(name, {name: getattr(kind, form)}, deadline=20)
    first = facts["devices"][0]
    assert first["id"] == output.FIRST
    assert {path: at(first, path) for path in kind.expected} == kind.expected
    assert not [path for path in kind.expected if path in first["unknown"]]
    assert first["mismatch"] == {}
    assert source(facts, name)["status"] == ("partial" if (name, form) == ("hl-smi", "older") else "ok")
    driver = next(row for row in facts["drivers"] if row["name"] == kind.module)
    assert (driver["loaded"] or "").startswith(kind.driver)
    whole(facts, name)
    assert none_left(programs)


def test_links_have_counts_hops_and_state(look: Look) -> None:
    kind = KINDS["nvidia-smi"]
    facts, _programs = look("nvidia-smi", {"nvidia-smi": kind.newer})
    row = {"a": output.FIRST, "b": output.SECOND, "kind": "nvlink", "hops": 2, "count": 18, "state": "active"}
    assert facts["links"] == [{**row, "unknown": {}}]
    assert "links.nvlink" not in facts["unknown"]
    alone = {"-q -x": {"print": output.nvidia(fabric="N/A")}, "topo -m": kind.newer["topo -m"]}
    facts, _programs = look("nvidia-smi", {"nvidia-smi": alone})
    assert [link["hops"] for link in facts["links"]] == [1]
    for name in ("amd-smi", "rocm-smi"):
        facts, _programs = look(name, {name: KINDS[name].newer})
        assert [(link["kind"], link["hops"], link["count"]) for link in facts["links"]] == [("xgmi", 1, None)]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "hanging": ({"then": "hang"}, "was stopped after 1.5 s"),
    "hanging with a child": ({"then": "hang with a child"}, "was stopped after 1.5 s"),
    "crashing": ({"print": "", "then": "crash"}, "failed with signal 11"),
    "crashing after the half": ({"half": True, "then": "crash"}, "failed with signal 11"),
    "truncated": ({"half": True}, "printed"),
    "silent": ({"print": ""}, "printed nothing"),
    "lying with status 0": ({"print": "Unable to talk to the driver\n"}, "printed 'Unable to talk to the driver'"),
    "failing": ({"print": "", "status": 9, "error": "no driver\n"}, "failed with exit status 9: no driver"),
    "other encoding": ({"bytes": "fffe3c0067007000750000"}, "not UTF-8"),
    "megabytes": ({"print": "x" * 65536, "times": 100}, "more than 4194304 bytes"),
}


@pytest.mark.parametrize(
    ("name", "way"),
    [
        (name, way)
        for name in KINDS
        for way in [*BAD, "missing"]
        if name != "hl-smi" or not BAD.get(way, ({}, ""))[0].get("half")
    ],
)
def test_a_bad_tool_costs_only_its_own_values(look: Look, name: str, way: str) -> None:
    kind = KINDS[name]
    programs: dict[str, Any] = {}
    expected = "is not installed"
    if way != "missing":
        change, expected = BAD[way]
        programs = {name: {key: {**answer, **change} for key, answer in kind.newer.items()}}
    start = time.monotonic()
    facts, there = look(name, programs)
    assert time.monotonic() - start < DEADLINE + 1
    assert none_left(there)
    row = source(facts, "amd-smi" if way == "missing" and name == "rocm-smi" else name)
    assert row["status"] == ("absent" if way == "missing" else "failed")
    assert expected in row["reason"]
    bare, _there = look(name, {}, mode="none")
    for device, untold in zip(facts["devices"], bare["devices"]):
        for path in kind.expected:
            assert at(device, path) is None, path
            if path in ("firmware.smc", "firmware.gfx"):
                continue  # an open map: nothing says that there is one
            reasons = [why for key, why in device["unknown"].items() if path.startswith(key)]
            assert [why for why in reasons if expected in why], (path, device["unknown"])
        assert {**device, "unknown": 0} == {**untold, "unknown": 0}
        assert device["unknown"].keys() == untold["unknown"].keys()
    same = ("bridges", "links", "distances", "nics", "storage", "numa_nodes", "kernel", "security")
    assert {key: facts[key] for key in same} == {key: bare[key] for key in same}
    whole(facts, name)


def test_half_a_table_is_what_it_has(look: Look) -> None:
    """A table has no end to look for: the devices in it count, and the one that is cut off has its reason."""
    kind = KINDS["hl-smi"]
    facts, _programs = look("hl-smi", {"hl-smi": {**kind.newer, "": {**kind.newer[""], "half": True}}})
    row = source(facts, "hl-smi")
    assert row["status"] == "partial"
    assert output.SECOND in row["reason"]
    second = facts["devices"][1]
    assert second["memory_mib"] is None
    assert second["unknown"]["memory_mib"].endswith("hl-smi does not tell either, which does not list it")


@pytest.mark.parametrize("name", KINDS)
def test_a_tool_that_hangs_in_a_child_is_not_waited_for(look: Look, name: str) -> None:
    """The tool itself ends well, and its child keeps the output open: what it printed counts."""
    kind = KINDS[name]
    start = time.monotonic()
    children = {key: {**answer, "then": "hang in a child"} for key, answer in kind.newer.items()}
    facts, programs = look(name, {name: children}, deadline=20)
    assert time.monotonic() - start < 10
    assert {path: at(facts["devices"][0], path) for path in kind.expected} == kind.expected
    assert "child" in programs.runs(name)
    assert none_left(programs)


@pytest.mark.parametrize("name", KINDS)
def test_good_output_counts_whatever_the_status(look: Look, name: str) -> None:
    kind = KINDS[name]
    facts, _programs = look(name, {name: {key: {**one, "status": 14} for key, one in kind.newer.items()}}, deadline=20)
    assert {path: at(facts["devices"][0], path) for path in kind.expected} == kind.expected
    row = source(facts, name)
    assert row["status"] == "partial"
    assert "exit status 14" in row["reason"]


@pytest.mark.parametrize("name", KINDS)
def test_a_slow_tool_is_waited_for(look: Look, name: str) -> None:
    kind = KINDS[name]
    facts, _programs = look(
        name, {name: {key: {**one, "then": "slow"} for key, one in kind.newer.items()}}, deadline=20
    )
    assert {path: at(facts["devices"][0], path) for path in kind.expected} == kind.expected


def test_one_deadline_holds_for_all_that_a_tool_is_asked(look: Look) -> None:
    """The second question hangs: what the first one told stays."""
    kind = KINDS["nvidia-smi"]
    start = time.monotonic()
    facts, programs = look("nvidia-smi", {"nvidia-smi": {**kind.newer, "topo -m": {"then": "hang"}}})
    assert time.monotonic() - start < DEADLINE + 1
    assert {path: at(facts["devices"][0], path) for path in kind.expected} == kind.expected
    assert facts["links"] == []
    assert "nvidia-smi was stopped after 1.5 s" in facts["unknown"]["links.nvlink"]
    assert source(facts, "nvidia-smi")["status"] == "partial"
    assert none_left(programs)


def test_two_runs_are_equal(look: Look) -> None:
    kind = KINDS["nvidia-smi"]
    for answers in (kind.newer, {**kind.newer, "topo -m": {"then": "hang"}}, {"*": {"then": "hang"}}):
        first, _programs = look("nvidia-smi", {"nvidia-smi": answers}, deadline=1)
        assert first == look("nvidia-smi", {"nvidia-smi": answers}, deadline=1)[0]


def test_a_lost_device_hides_no_other(look: Look) -> None:
    """Newer drivers print the lost one too; older ones print an error alone, and then each is asked by itself."""
    lost = output.nvidia_log(output.nvidia_gpu(output.FIRST, 0), output.nvidia_gpu(output.SECOND, 1, **output.LOST))
    error = {"print": "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost\n", "status": 15}
    alone = output.nvidia_log(output.nvidia_gpu(output.FIRST, 0))
    older = {"-q -x": error, f"-q -x -i {output.FIRST}": {"print": alone}, f"-q -x -i {output.SECOND}": error}
    for answers in ({"-q -x": {"print": lost}}, older):
        facts, _programs = look("nvidia-smi", {"nvidia-smi": answers})
        good, bad = facts["devices"]
        assert good["memory_mib"] == 81559
        assert good["serial"] == "1320121000"
        assert bad["memory_mib"] is bad["serial"] is bad["uuid"] is bad["power_limit_watts"] is None
        row = source(facts, "nvidia-smi")
        assert row["status"] == "partial"
        assert output.SECOND in row["reason"]
        whole(facts, "nvidia-smi")
    assert (
        "'GPU is lost'"
        in look("nvidia-smi", {"nvidia-smi": {"-q -x": {"print": lost}}})[0]["devices"][1]["unknown"]["serial"]
    )


@pytest.mark.parametrize(
    "word", ["[Unknown Error]", "[N/A]", "ERR!", "[GPU requires reset]", "[Insufficient Permissions]"]
)
def test_words_that_are_no_value(look: Look, word: str) -> None:
    answers = {"-q -x": {"print": output.nvidia_log(output.nvidia_gpu(output.FIRST, 0, serial=word, memory=word))}}
    facts, _programs = look("nvidia-smi", {"nvidia-smi": answers})
    first = facts["devices"][0]
    assert first["serial"] is first["memory_mib"] is None
    assert word in first["unknown"]["serial"]
    assert first["uuid"] is not None


def test_a_value_in_another_form_is_unknown(look: Look) -> None:
    answers = {"-q -x": {"print": output.nvidia(memory="plenty", watts="much")}}
    first = look("nvidia-smi", {"nvidia-smi": answers})[0]["devices"][0]
    assert first["memory_mib"] is first["power_limit_watts"] is None
    assert "unexpected content 'plenty'" in first["unknown"]["memory_mib"]


PROC = "/proc/driver/nvidia/gpus/0000:18:00.0/information"


def test_the_kernel_wins_and_a_contradiction_is_noted(look: Look) -> None:
    more = {PROC: "Model: NVIDIA H100\nGPU UUID: GPU-other\nVideo BIOS: 96.00.01\nDevice Minor: 0"}
    facts, _programs = look("nvidia-smi", {"nvidia-smi": KINDS["nvidia-smi"].newer}, more)
    first, second = facts["devices"]
    assert first["uuid"] == "GPU-other"
    assert first["mismatch"] == {"uuid": {"kernel": "GPU-other", "tool": "GPU-12345678-0000-0000-0000-000000000000"}}
    assert second["mismatch"] == {}


def test_nothing_is_run_without_need(look: Look) -> None:
    """No tool of a maker that is not here, none in the mode none, and none of another root."""
    others = {name: {"*": {"print": ""}} for name in KINDS if name != "hl-smi"}
    facts, programs = look("hl-smi", others)
    assert [programs.runs(name) for name in others] == [[], [], [], []]
    assert source(facts, "hl-smi")["status"] == "absent"
    facts, programs = look("hl-smi", {"hl-smi": KINDS["hl-smi"].newer}, mode="none")
    assert programs.runs("hl-smi") == []
    assert [row["name"] for row in facts["sources"]] == ["sysfs", "procfs"]


def test_another_root_asks_no_tool(tmp_path, monkeypatch) -> None:
    programs = tool_node.Programs(tmp_path / "bin")
    programs.install("nvidia-smi", KINDS["nvidia-smi"].newer)
    tool_node.sysfs(tmp_path / "node", {output.FIRST: ("10de", "2330", "030200")})
    monkeypatch.setattr(tools, "FOLDERS", (str(programs.folder),))
    facts = observe(tool_node.Host(str(tmp_path / "node")), "auto")
    assert programs.runs("nvidia-smi") == []
    assert "the maker's tool is not asked" in facts["devices"][0]["unknown"]["serial"]


MIG = """<mig_mode><current_mig>Enabled</current_mig></mig_mode><mig_devices>
<mig_device><index>0</index><gpu_instance_id>9</gpu_instance_id><compute_instance_id>0</compute_instance_id>
<fb_memory_usage><total>9984 MiB</total></fb_memory_usage></mig_device>
<mig_device><index>1</index><gpu_instance_id>2</gpu_instance_id><compute_instance_id>0</compute_instance_id>
<fb_memory_usage><total>40448 MiB</total></fb_memory_usage></mig_device></mig_devices>"""
LIST = """GPU 0: NVIDIA H100 (UUID: GPU-1)
  MIG 1g.10gb     Device  0: (UUID: MIG-aaaa)
  MIG 3g.40gb     Device  1: (UUID: MIG-bbbb)
"""


def test_partitions_have_ids_profiles_and_memory(look: Look) -> None:
    """The kernel lists instances by number (2 before 9), and the tool by its own index."""
    base = "/proc/driver/nvidia/capabilities/gpu0/mig"
    caps = {f"{base}/gi{gi}/{part}access": f"DeviceFileMinor: {gi}" for gi in (2, 9) for part in ("", "ci0/")}
    answers = {
        "-q -x": {"print": output.nvidia_log(output.nvidia_gpu(output.FIRST, 0, mig=MIG))},
        "-L": {"print": LIST},
    }
    facts, _programs = look("nvidia-smi", {"nvidia-smi": answers}, {PROC: "Device Minor: 0", **caps})
    told = [(one["id"], one["profile"], one["uuid"], one["memory_mib"]) for one in facts["devices"][0]["partitions"]]
    assert told == [("0:0", "3g.40gb", "MIG-bbbb", 40448), ("0:1", "1g.10gb", "MIG-aaaa", 9984)]
    # without rights to the kernel's list the tool alone tells
    alone, _programs = look("nvidia-smi", {"nvidia-smi": answers})
    partitions = alone["devices"][0]["partitions"]
    assert [(one["id"], one["profile"], one["uuid"], one["memory_mib"]) for one in partitions] == told
    assert partitions[0]["nodes"] is None
    assert partitions[0]["unknown"]["nodes"]
    del answers["-L"]
    facts, _programs = look("nvidia-smi", {"nvidia-smi": answers}, {PROC: "Device Minor: 0", **caps})
    first = facts["devices"][0]["partitions"][0]
    assert first["uuid"] is None
    assert first["unknown"]["uuid"]
    caps.pop(f"{base}/gi9/access"), caps.pop(f"{base}/gi9/ci0/access")
    facts, _programs = look("nvidia-smi", {"nvidia-smi": answers}, {PROC: "Device Minor: 0", **caps})
    assert facts["devices"][0]["mismatch"] == {"partitions": {"kernel": 1, "tool": 2}}


def test_peer_memory_by_dma_buf(look: Look) -> None:
    more = {"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.10.1"}
    answers = {"nvidia-smi": KINDS["nvidia-smi"].newer}
    assert look("nvidia-smi", answers, more)[0]["devices"][0]["peer_memory"] == "dmabuf"
    closed = {"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.10.1"}
    first = look("nvidia-smi", answers, closed)[0]["devices"][0]
    assert first["peer_memory"] is None
    assert "open kernel module" in first["unknown"]["peer_memory"]


def driver_of(facts: dict[str, Any], name: str = "nvidia") -> dict[str, Any]:
    return next(copy.deepcopy(row) for row in facts["drivers"] if row["name"] == name)


LIBRARY = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so"


def agreement(loaded: str, library: str) -> dict[str, str]:
    return {
        "/proc/modules": "nvidia 1 0 - Live 0x0",
        "/sys/module/nvidia/version": loaded,
        f"{LIBRARY}.1": f"-> libnvidia-ml.so.{library}",
        f"{LIBRARY}.{library}": "",
    }


def test_drivers_agree(look: Look) -> None:
    manager = {"--version": {"print": "Fabric Manager version is : 580.10.1\n"}}
    programs = {"nvidia-smi": KINDS["nvidia-smi"].newer, "nv-fabricmanager": manager}
    facts, _programs = look("nvidia-smi", programs, agreement("580.10.1", "580.10.1"))
    row = driver_of(facts)
    assert (row["loaded"], row["user_space"], row["fabric_manager"]) == ("580.10.1",) * 3
    assert row["mismatch"] is None
    assert "mismatch" not in row["unknown"]
    assert source(facts, "nv-fabricmanager")["status"] == "ok"
    assert driver_of(facts, "nvidia_uvm")["user_space"] is None


def test_every_disagreement_is_a_mismatch_with_both(look: Look) -> None:
    good = KINDS["nvidia-smi"].newer
    old_manager = {"--version": {"print": "Fabric Manager version is : 570.1.1\n"}}
    facts, _programs = look(
        "nvidia-smi", {"nvidia-smi": good, "nv-fabricmanager": old_manager}, agreement("580.10.1", "580.20.2")
    )
    both = {"loaded": "580.10.1", "user_space": "580.20.2", "fabric_manager": "570.1.1"}
    assert driver_of(facts)["mismatch"] == both
    other = {"-q -x": {"print": output.nvidia_log(output.nvidia_gpu(output.FIRST, 0), driver="570.2.2")}}
    facts, _programs = look("nvidia-smi", {"nvidia-smi": other}, agreement("580.10.1", "580.10.1"))
    assert driver_of(facts)["mismatch"] == {"loaded": "580.10.1", "tool": "570.2.2"}


def test_the_mismatch_that_nvidia_smi_itself_names(look: Look) -> None:
    """The upgrade under a loaded module: no device is told, the driver row has both versions."""
    said = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.20\n"
    answers = {"nvidia-smi": {"-q -x": {"print": said, "status": 18}}}
    facts, _programs = look("nvidia-smi", answers, agreement("580.10.1", "580.20.2"))
    assert driver_of(facts)["mismatch"] == {"loaded": "580.10.1", "user_space": "580.20.2"}
    assert "Driver/library version mismatch" in source(facts, "nvidia-smi")["reason"]
    bare = {"/proc/modules": "nvidia 1 0 - Live 0x0", "/sys/module/nvidia/version": "580.10.1"}
    facts, _programs = look("nvidia-smi", answers, bare)
    assert driver_of(facts)["mismatch"] == {"loaded": "580.10.1", "user_space": "580.20"}
    facts, _programs = look("nvidia-smi", answers, {**bare, "/sys/module/nvidia/version": "580.20.1"})
    assert driver_of(facts)["mismatch"] == {"loaded": "580.20.1", "user_space": "580.20"}  # its number is cut


def test_gaudi_releases_are_compared_without_their_builds(look: Look) -> None:
    loaded = {"/proc/modules": "habanalabs 1 0 - Live 0x0", "/sys/module/habanalabs/version": "1.18.0-ee698fb"}
    facts, _programs = look("hl-smi", {"hl-smi": KINDS["hl-smi"].newer}, loaded)
    row = driver_of(facts, "habanalabs")
    assert (row["user_space"], row["mismatch"]) == ("1.18.0-fw-53.1.1.1", None)
    loaded["/sys/module/habanalabs/version"] = "1.19.1-abcdef"
    facts, _programs = look("hl-smi", {"hl-smi": KINDS["hl-smi"].newer}, loaded)
    assert driver_of(facts, "habanalabs")["mismatch"] == {
        "loaded": "1.19.1-abcdef", "user_space": "1.18.0-fw-53.1.1.1", "tool": "1.18.0-ee698fb",
    }  # fmt: skip


def test_rocm_is_told_and_not_compared(look: Look) -> None:
    more = {
        "/opt/rocm/.info/version": "7.2.0-43",
        "/proc/modules": "amdgpu 1 0 - Live 0x0",
        "/sys/module/amdgpu/version": "6.12.1",
    }
    facts, _programs = look("amd-smi", {"amd-smi": KINDS["amd-smi"].newer}, more)
    row = driver_of(facts, "amdgpu")
    assert (row["user_space"], row["mismatch"], row["fabric_manager"]) == ("7.2.0", None, None)
    assert row["unknown"]["fabric_manager"] == "this maker has none"


def test_rocm_smi_is_asked_when_amd_smi_is_of_no_use(look: Look) -> None:
    broken = {"*": {"print": "ImportError\n", "status": 1}}
    facts, programs = look("amd-smi", {"amd-smi": broken, "rocm-smi": KINDS["rocm-smi"].newer})
    assert facts["devices"][0]["serial"] == "690000"
    assert (source(facts, "amd-smi")["status"], source(facts, "rocm-smi")["status"]) == ("failed", "ok")
    facts, programs = look("amd-smi", {"amd-smi": {"*": {"then": "hang"}}, "rocm-smi": KINDS["rocm-smi"].newer})
    assert programs.runs("rocm-smi") == []  # it is the driver that hangs


def test_a_tool_that_cannot_be_killed_is_left(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that a hung driver holds in the kernel does not die of SIGKILL: the facts go on without it."""
    kill = os.killpg
    monkeypatch.setattr(os, "killpg", lambda group, number: None)
    start = time.monotonic()
    facts, programs = look("nvidia-smi", {"nvidia-smi": {"*": {"then": "hang"}}})
    assert time.monotonic() - start < DEADLINE + 1
    assert source(facts, "nvidia-smi")["reason"] == "nvidia-smi was stopped after 1.5 s, and hangs in the kernel"
    monkeypatch.undo()
    for number in programs.alive():
        kill(number, signal.SIGKILL)
        os.waitpid(number, 0)


@pytest.mark.parametrize("deadline", [0, -1, float("nan"), float("inf")])
def test_a_deadline_that_is_none(look: Look, deadline: float) -> None:
    with pytest.raises(InputError, match="tool_deadline_seconds"):
        look("hl-smi", {}, deadline=deadline)
