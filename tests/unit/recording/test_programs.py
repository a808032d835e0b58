# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makers' tools said is in a recording, whatever it was, and facts are made of it again."""

from __future__ import annotations

import gzip

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.host.recorder import Recorder
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.recording import take
from ansible_collections.accelerator.ops.tests.fakes import tool_node
from ansible_collections.accelerator.ops.tests.fakes import tool_output as output

DEADLINE = 1.5
NVIDIA, AMD, INTEL, HABANA = (
    ("10de", "2330", "030200"),
    ("1002", "74a1", "120000"),
    ("8086", "0bd5", "038000"),
    (
        "1da3",
        "1060",
        "120000",
    ),
)

CASES = {
    "nvidia-smi": (NVIDIA, "nvidia-smi", {"-q -x": {"print": output.nvidia()}, "topo -m": {"print": output.TOPO}}),
    "amd-smi": (AMD, "amd-smi", {
        "static --json": {"print": output.amd_static(True)}, "topology --json": {"print": output.AMD_TOPOLOGY}}),
    "rocm-smi": (AMD, "rocm-smi", {"*": {"print": output.ROCM}}),
    "xpu-smi": (INTEL, "xpu-smi", {
        "discovery -j": {"print": output.INTEL_LIST}, "discovery -d 0 -j": {"print": output.intel_text(0)},
        "discovery -d 1 -j": {"print": output.intel_text(1)}}),
    "hl-smi": (HABANA, "hl-smi", {
        "": {"print": output.HABANA}, output.HABANA_ASKED: {"print": output.HABANA_IDS},
        **{f"-n link -i {bus}": {"print": output.HABANA_PORTS} for bus in (output.FIRST, output.SECOND)}}),
    "no tool": (NVIDIA, "other", {}),
    "rubbish": (NVIDIA, "nvidia-smi", {"*": {"print": "<nvidia_smi_log><gpu id="}}),
    "fails": (AMD, "amd-smi", {"*": {"print": "no devices", "status": 2}}),
    "hangs": (NVIDIA, "nvidia-smi", {"*": {"then": "hang"}}),
    "hangs at its second answer": (AMD, "amd-smi", {
        "static --json": {"print": output.amd_static(True)}, "*": {"then": "hang"}}),
}  # fmt: skip

PRIVATE = ["1320121000", "1320121001", "12345678-0000-0000-0000-000000000000", output.CLUSTER]


class Node(tool_node.Node, Recorder):
    """A node with fake programs, recorded."""

    def _path(self, place: str) -> str:
        return place if place.startswith(str(self.programs)) else super()._path(place)


@pytest.fixture
def node(tmp_path, monkeypatch):
    def build(case):
        function, name, answers = CASES[case]
        there = tool_node.Programs(tmp_path / "bin")
        if answers:
            there.install(name, answers)
        if not (tmp_path / "node").exists():
            tool_node.sysfs(tmp_path / "node", dict.fromkeys((output.FIRST, output.SECOND), function))
        tool_node.open_node(monkeypatch, tmp_path / "node", there)
        host = Node(tmp_path / "node", there.folder)
        host.answers = host.ran
        return host

    return build


@pytest.mark.parametrize("case", CASES)
def test_facts_with_tools_are_equal_from_the_recording(node, tmp_path, case):
    host = node(case)
    facts = observe(host, "auto", DEADLINE)
    plain = take(host, False, DEADLINE)
    (tmp_path / "plain.tar.gz").write_bytes(plain.archive)
    assert observe(Host(str(tmp_path / "plain.tar.gz")), "auto", DEADLINE) == facts
    assert take(Recorder(str(tmp_path / "plain.tar.gz")), False, DEADLINE).archive == plain.archive
    assert (len(plain.recorded.said) > 0) == (case != "no tool")


@pytest.mark.parametrize("case", CASES)
def test_what_tools_said_is_masked(node, tmp_path, case):
    host = node(case)
    facts = observe(host, "auto", DEADLINE)
    masked = take(host, True, DEADLINE)
    (tmp_path / "masked.tar.gz").write_bytes(masked.archive)
    again = take(Recorder(str(tmp_path / "masked.tar.gz")), True, DEADLINE)
    assert again.archive == masked.archive
    seen = observe(Host(str(tmp_path / "masked.tar.gz")), "auto", DEADLINE)
    kept = ("model", "memory_mib", "firmware", "numa_node", "driver", "power_limit_watts", "memory_health", "link")
    for ours, truth in zip(seen["devices"], facts["devices"]):
        assert [ours.get(key) for key in kept] == [truth.get(key) for key in kept]
        assert (ours["serial"] is None) == (truth["serial"] is None)
        assert (ours["uuid"] is None) == (truth["uuid"] is None)
        assert set(ours["unknown"]) == set(truth["unknown"])
    assert seen["links"] == facts["links"]
    if case == "nvidia-smi":
        text = gzip.decompress(masked.archive).decode()
        assert [word for word in PRIVATE if word in text] == []
        assert [row["serial"] for row in seen["devices"]] == ["ACCEL000001", "ACCEL000002"]
        assert len({row["fabric"]["clique"] for row in seen["devices"]}) == 1
