# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA's tools: NVML in a process of its own, and the readers of what ``nvidia-smi`` prints."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, Callable

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.plugins.module_utils.vendor.nvidia import tool
from ansible_collections.accelerator.ops.tests.fakes import tool_node
from ansible_collections.accelerator.ops.tests.fakes import tool_output as output

LIBRARY = Path(tool_node.__file__).with_name("fake_pynvml.py")
FIRST: dict[str, Any] = {"bus": f"0000{output.FIRST}", "uuid": "GPU-1", "serial": "101"}
SECOND: dict[str, Any] = {"bus": f"0000{output.SECOND.upper()}", "uuid": "GPU-2", "serial": "102"}
Look = Callable[..., dict[str, Any]]


class Bench:
    """A node with two GPUs, a ``pynvml`` and the programs in its folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.programs = tool_node.Programs(folder / "bin")
        self.library = self.programs.folder
        (self.library / "pynvml.py").write_text(LIBRARY.read_text(encoding="utf-8"), encoding="utf-8")
        monkeypatch.syspath_prepend(str(self.library))
        tool_node.sysfs(folder / "node", dict.fromkeys((output.FIRST, output.SECOND), ("10de", "2330", "030200")))
        self.node = tool_node.open_node(monkeypatch, folder / "node", self.programs)

    def see(self, deadline: float = 20, **state: Any) -> dict[str, Any]:
        text = json.dumps({"gpus": [FIRST, SECOND], **state})
        (self.library / "state.json").write_text(text, encoding="utf-8")
        return observe(self.node, "auto", deadline)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def source(facts: dict[str, Any], name: str) -> tuple[str, str]:
    return next((row["status"], row["reason"] or "") for row in facts["sources"] if row["name"] == name)


def test_nvml_tells_all_and_nvidia_smi_is_not_asked(bench: Bench) -> None:
    bench.programs.install("nvidia-smi", {"*": {"print": ""}})
    facts = bench.see()
    first, second = facts["devices"]
    assert (first["uuid"], first["serial"], second["serial"]) == ("GPU-1", "101", "102")
    assert (first["memory_mib"], first["power_limit_watts"]) == (81559, 650.5)
    assert first["firmware"] == {"vbios": "96.00.01", "gsp": "580.10.1"}
    assert first["fabric"] == {"kind": "nvlink", "state": "completed", "clique": f"{output.CLUSTER}.4"}
    rows = {"correctable": 3, "uncorrectable": 0, "pending": True, "failure": False}
    assert first["memory_health"] == {"ecc_mode": "enabled", "remapped_rows": rows}
    assert source(facts, "nvml") == ("ok", "")
    assert bench.programs.runs("nvidia-smi") == []
    driver = next(row for row in facts["drivers"] if row["name"] == "nvidia")
    assert (driver["loaded"], driver["user_space"], driver["mismatch"]) == ("580.10.1", "580.10.1", None)


def test_the_same_facts_as_from_nvidia_smi(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What both can tell they tell in one form."""
    gpus = [{**FIRST, "uuid": "GPU-12345678-0000-0000-0000-000000000000", "serial": "1320121000"},
            {**SECOND, "uuid": "GPU-12345678-0000-0000-0000-000000000001", "serial": "1320121001"}]  # fmt: skip
    links = [*["switch"] * 18]
    by_nvml = bench.see(gpus=[{**gpu, "links": links} for gpu in gpus])
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one != str(bench.library)])
    bench.programs.install("nvidia-smi", {"-q -x": {"print": output.nvidia()}, "topo -m": {"print": output.TOPO}})
    by_smi = bench.see()
    assert source(by_smi, "nvml") == ("absent", "pynvml is not installed")
    assert by_nvml["links"] == by_smi["links"]
    for ours, theirs in zip(by_nvml["devices"], by_smi["devices"]):
        assert {**ours, "unknown": 0} == {**theirs, "unknown": 0}


def test_nvlink_by_itself_and_through_switches(bench: Bench) -> None:
    gpus = [{**FIRST, "links": [SECOND["bus"]] * 4 + ["down"] * 2}, {**SECOND, "links": [FIRST["bus"]] * 4}]
    (link,) = bench.see(gpus=gpus)["links"]
    assert (link["hops"], link["count"], link["state"]) == (1, 4, "active")
    gpus = [{**FIRST, "links": ["switch"] * 18}, {**SECOND, "links": ["switch"] * 17 + ["down"]}]
    (link,) = bench.see(gpus=gpus)["links"]
    assert (link["hops"], link["count"], link["state"]) == (2, 17, "active")
    gpus = [{**FIRST, "links": ["00000000:05:00.0"] * 12}, {**SECOND, "links": ["00000000:06:00.0"] * 12}]
    (link,) = bench.see(gpus=gpus, unknown=["GetNvLinkRemoteDeviceType"])["links"]
    assert (link["hops"], link["count"]) == (2, 12)  # an address that is no GPU's is a switch
    facts = bench.see()
    assert facts["links"] == []
    assert "links.nvlink" not in facts["unknown"]


def test_mig_devices(bench: Bench) -> None:
    migs = [{"gi": 9, "uuid": "MIG-a", "name": "NVIDIA H100 MIG 1g.10gb", "memory": 9984},
            {"gi": 2, "uuid": "MIG-b", "name": "NVIDIA H100 MIG 3g.40gb", "memory": 40448}]  # fmt: skip
    first = bench.see(gpus=[{**FIRST, "migs": migs}, SECOND])["devices"][0]
    told = [(one["id"], one["profile"], one["uuid"], one["memory_mib"]) for one in first["partitions"]]
    assert told == [("0:0", "3g.40gb", "MIG-b", 40448), ("0:1", "1g.10gb", "MIG-a", 9984)]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"refused": ["GetSerial"]}, "NVML says 'Not Supported'"),
        ({"unknown": ["GetSerial"]}, "does not know the question"),
    ],
)
def test_one_question_without_an_answer(bench: Bench, state: dict[str, Any], expected: str) -> None:
    first = bench.see(**state)["devices"][0]
    assert first["serial"] is None
    assert expected in first["unknown"]["serial"]
    assert first["memory_mib"] == 81559


def test_a_library_that_knows_no_fabric(bench: Bench) -> None:
    first = bench.see(old=True)["devices"][0]
    assert first["fabric"]["state"] is None
    assert "does not know the question" in first["unknown"]["fabric.state"]
    assert first["serial"] == "101"


@pytest.mark.parametrize("state", [0, 1, 2, 7])
def test_states_of_the_fabric(bench: Bench, state: int) -> None:
    zeros = {"cluster": "00" * 16}
    first = bench.see(gpus=[{**FIRST, "state": state, **zeros}, SECOND])["devices"][0]
    assert first["fabric"]["state"] == {1: "not started", 2: "in progress"}.get(state)
    assert first["fabric"]["clique"] is None
    assert first["unknown"]["fabric.clique"]


def test_a_lost_gpu_hides_no_other(bench: Bench) -> None:
    facts = bench.see(gpus=[{**FIRST, "lost": True}, SECOND])
    assert [device["serial"] for device in facts["devices"]] == [None, "102"]
    status, reason = source(facts, "nvml")
    assert status == "partial"
    assert "GPU 0: GPU is lost" in reason
    assert output.FIRST in reason
    assert "nvml" in facts["devices"][0]["unknown"]["serial"]


@pytest.mark.parametrize("question", ["GetName", "GetGpuFabricInfoV", "GetPciInfo"])
def test_a_hung_driver_is_not_waited_for(bench: Bench, question: str) -> None:
    """And nvidia-smi, which asks the same driver, is spared."""
    bench.programs.install("nvidia-smi", {"*": {"print": output.nvidia()}})
    start = time.monotonic()
    facts = bench.see(1.5, hang=[question])
    assert time.monotonic() - start < 2.5
    assert source(facts, "nvml") == ("failed", "nvml was stopped after 1.5 s")
    assert "nvml was stopped after 1.5 s" in facts["devices"][0]["unknown"]["serial"]
    assert bench.programs.runs("nvidia-smi") == []


def test_nvidia_smi_is_asked_when_nvml_fails(bench: Bench) -> None:
    bench.programs.install("nvidia-smi", {"-q -x": {"print": output.nvidia()}})
    facts = bench.see(init="NVML Shared Library Not Found")
    assert source(facts, "nvml")[0] == "failed"
    assert "NVML Shared Library Not Found" in source(facts, "nvml")[1]
    assert facts["devices"][0]["serial"] == "1320121000"


def test_a_mismatch_that_nvml_names(bench: Bench) -> None:
    facts = bench.see(init="RM has detected an NVML/RM version mismatch.")
    assert "version mismatch" in facts["devices"][0]["unknown"]["serial"]


def test_a_broken_library(bench: Bench) -> None:
    (bench.library / "pynvml.py").write_text("import no_such_module\n", encoding="utf-8")
    facts = bench.see()
    assert source(facts, "nvml")[0] == "failed"
    assert "no_such_module" in source(facts, "nvml")[1]
    (bench.library / "pynvml.py").write_text(
        "NVMLError = ValueError\ndef nvmlInit(): raise KeyError\n", encoding="utf-8"
    )
    assert source(bench.see(), "nvml")[0] == "failed"


def test_what_was_run_once_can_be_said_again(bench: Bench, tmp_path: Path) -> None:
    """As a recording does: the same facts from the answers alone."""
    facts = bench.see(gpus=[{**FIRST, "links": ["switch"]}, {**SECOND, "links": ["switch"]}])
    again = tool_node.Node(tmp_path / "node", bench.programs.folder)
    again.is_live = False
    again.answers = bench.node.ran
    (bench.library / "state.json").write_text("{}", encoding="utf-8")
    assert observe(again, "auto", 20) == facts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("No devices were found", ""),
        ("<nvidia_smi_log><gpu id='", "XML that ends early"),
        ("</nvidia_smi_log><nvidia_smi_log>", "XML that ends early"),
        ("<nvidia_smi_log><gpu></nvidia_smi_log>", "cannot be read"),
        ('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><nvidia_smi_log>&b;</nvidia_smi_log>', "entities"),
        ('<!DOCTYPE a [<!ENTITY b "x">]><nvidia_smi_log>&b;</nvidia_smi_log>', "entities"),
        ("<nvidia_smi_log>&b;</nvidia_smi_log>", "cannot be read"),
    ],
)
def test_xml_that_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=f".*{expected}"):
        tool.read_xml(text)


def test_warnings_around_the_xml() -> None:
    log = tool.read_xml(f"WARNING: asleep\n{output.nvidia()}WARNING: infoROM is corrupted at gpu {output.FIRST}\n")
    assert len(log.findall("gpu")) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (output.TOPO, {(0, 1): 18}),
        ("        GPU0    GPU1\nGPU0     X      PHB\nGPU1    PHB      X\n", {(0, 1): 0}),
        ("\tGPU0\tCPU Affinity\nGPU0\t X \t0-7\n", {}),
        ("GPU0 without a head\n", {}),
        ("", {}),
    ],
)
def test_matrix(text: str, expected: dict[tuple[int, int], int]) -> None:
    assert dict(tool.read_matrix(text)) == expected
