# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What changes under a spec is found by the module and mended by the program or the next run, each change on its own.

The module runs as a process of its own on this machine with the devices of a machine model (``node.py``). What comes
too late at boot is in ``test_boot.py``, what a container gets in ``test_podman.py``.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, Union

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.usecase import cdi_files
from ansible_collections.accelerator.ops.tests.cdi_podman.test_podman import DRIVER, HERE, LIBRARIES, Node, short

__all__ = ["short"]

MIG, DPX = "nvidia-a100-mig", "amd-mi300x-8gpu-dpx"
NVIDIA, AMD = "/etc/cdi/accelerator-nvidia.json", "/etc/cdi/accelerator-amd.json"
NEWER = "580.95.05"
MODULES = "ansible_collections.accelerator.ops.plugins.modules"
Step = Union[str, tuple[str, dict[str, Any]]]
"""A text, or a module with its options."""
LISTED = ("/etc/cdi", "/etc/systemd/system", "/usr/local/lib", "/var/lib/accelerator-ops")

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mount namespaces with device files need root"),
    pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare"),
]


class Machine(Node):
    """A live node with a driver of one version, on which the module and the program run."""

    def __init__(self, folder: Path, model: str) -> None:
        super().__init__(folder, None, model)
        self.tree = folder / "tree"
        (self.tree / "proc/devices").write_text(majors(*{major for major, _minor in self.numbers.values()}))

    def drift(self, *steps: Step) -> list[dict[str, Any]]:
        """What modules and the program tell, step by step: some texts are states of ``cdi_spec``,
        ``make`` is a call of the program; other texts are for a shell in the tree, and tell nothing."""
        done = self.run(*(self._command(step) for step in steps))
        results = []
        for step, one in zip(steps, done):
            if step in CALLS or not isinstance(step, str):
                results.append(told(one))
            else:
                assert one["status"] == 0, one
        return results

    def _command(self, step: Step) -> dict[str, object]:
        if step == "make":
            return {"argv": ["/usr/bin/python3", "-I", cdi_files.PROGRAM, "make"], "machine": True}
        if isinstance(step, str) and step not in CALLS:
            return {"argv": ["sh", "-ec", f"cd {shlex.quote(str(self.tree))}; {step}"]}
        name, wish = ("cdi_spec", {"state": step}) if isinstance(step, str) else step
        collections = f"PYTHONPATH={HERE.parents[1] / '.cache' / 'linked'}"
        asked = json.dumps({"ANSIBLE_MODULE_ARGS": wish})
        return {"argv": ["env", collections, sys.executable, "-m", f"{MODULES}.{name}", asked], "machine": True}


CALLS = ("present", "absent", "checked", "make")


def majors(*numbers: int) -> str:
    rows = "".join(f"{number:3} driver-{number}\n" for number in sorted(numbers))
    return f"Character devices:\n{rows}\nBlock devices:\n"


def told(ran: dict[str, Any]) -> dict[str, Any]:
    """The result of a call of the module; ``said`` is what the program printed."""
    text = str(ran["stdout"]).strip()
    if text.startswith("{"):
        result: dict[str, Any] = json.loads(text)
        assert ran["status"] == bool(result.get("failed")), ran
        return result
    assert ran["status"] == 0, ran
    return {"said": f"{text}\n{ran['stderr']}".strip()}


def found(result: dict[str, Any]) -> list[str]:
    assert "findings" in result, result
    return [f"{row['verdict']} {row['check']} {row['subject']}: {row['reason']}" for row in result["findings"]]


@pytest.fixture
def mig(short: Path) -> Machine:
    return Machine(short, MIG)


STALE = "fail spec CDI specs: {} is not what the devices are now"


def test_a_driver_that_is_loaded_in_another_version(mig: Machine) -> None:
    loaded = f"echo {NEWER} > sys/module/nvidia/version"
    made, right, other, said, still = mig.drift("present", "checked", loaded, "checked", "make", "checked")
    assert made["changed"]
    assert found(right) == []
    libraries = f"{LIBRARIES}/libcuda.so.{DRIVER} and 1 more of version {DRIVER}"
    assert found(other) == [f"fail library {NVIDIA}: it has {libraries}, and nvidia {NEWER} is loaded"]
    assert other["findings"][0]["next_step"].startswith("load the driver that is installed")
    assert said["said"] == ""
    assert found(still) == found(other)  # a spec cannot mend that: the libraries are the other driver's


def test_a_driver_that_is_installed_in_another_version(mig: Machine) -> None:
    renamed = "".join(
        f"; mv {name}.{DRIVER} {name}.{NEWER}; ln -sf {name}.{NEWER} {name}.1"
        for name in ("libcuda.so", "libnvidia-ml.so")
    )
    update = f"echo {NEWER} > sys/module/nvidia/version; cd {LIBRARIES}{renamed}"
    _made, replaced, made, right = mig.drift("present", update, "checked", "make", "checked")
    stale, dead, library = found(replaced)
    assert stale == STALE.format(NVIDIA)
    assert dead == f"fail path {NVIDIA}: the file {LIBRARIES}/libcuda.so.{DRIVER} and 1 more of it is not there"
    assert library.startswith(f"fail library {NVIDIA}: ")
    assert made["said"] == f"made {NVIDIA}"
    assert found(right) == []


def test_a_driver_that_has_another_number(mig: Machine) -> None:
    reloaded = f"printf {shlex.quote(majors(195, 509, 511))} > proc/devices"
    again = "rm /dev/nvidia-uvm*; mknod /dev/nvidia-uvm c 509 0; mknod /dev/nvidia-uvm-tools c 509 1"
    node = {"path": "/dev/nvidia-uvm", "type": "c", "major": 508, "minor": 0}
    device = {"name": "uvm", "containerEdits": {"deviceNodes": [node]}}
    other = json.dumps({"cdiVersion": "0.5.0", "kind": "example.com/uvm", "devices": [device]})
    steps = ("checked", again, "checked", "make", f"echo {shlex.quote(other)} > /etc/cdi/theirs.json", "checked")
    _made, dead, right, said, theirs = mig.drift("present", reloaded, *steps)
    assert found(dead) == [
        f"fail number {NVIDIA}: {path} has the number 508, which no driver has"
        for path in ("/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
    ]
    assert found(right) == []  # ours has no numbers: it is right as soon as the files are
    assert said["said"] == ""
    assert found(theirs) == ["fail number /etc/cdi/theirs.json: /dev/nvidia-uvm is 509:0, and 508:0 in it"]


MIGS = "proc/driver/nvidia/capabilities/gpu0/mig"
NODE = "sys/class/kfd/kfd/topology/nodes/3"
PARTITIONS = [
    pytest.param(MIG, NVIDIA, f"{MIGS}/gi13", "nvidia.com/gpu", "0:3", id="mig"),
    pytest.param(DPX, AMD, NODE, "amd.com/gpu", "0:0 and 1 more", id="dpx"),
]


@pytest.mark.parametrize(("model", "spec", "place", "kind", "names"), PARTITIONS)
@pytest.mark.parametrize("by", ["make", "present"])
def test_a_partition_that_is_removed_and_made(
    by: str, model: str, spec: str, place: str, kind: str, names: str, short: Path
) -> None:
    there, away = f"cp -r aside {place}", f"rm -r {place}"
    steps = (away, "checked", by, "checked", there, "checked", by, "checked")
    _made, gone, first, right, new, second, as_before = Machine(short, model).drift(
        "present", f"cp -r {place} aside", *steps
    )
    assert found(gone) == [STALE.format(spec), f"warn drift {spec}: it names {names}, and nothing here is called so"]
    stale, *missing = found(new)
    assert stale == STALE.format(spec)
    assert [row.rpartition(" ")[0] for row in missing] == [
        f"fail drift {kind}: no spec has the device or partition" for _one in missing
    ]
    assert missing
    for done in (first, second):
        assert done["changed"] if by == "present" else done["said"] == f"made {spec}"
    assert found(right) == found(as_before) == []


FOREIGN = "/etc/cdi/nvidia.json"
COPIED = f'sed \'s/"rw"/"rwm"/\' {NVIDIA} > {FOREIGN}'
REFRESH = "/etc/systemd/system/multi-user.target.wants/nvidia-cdi-refresh.path"
LISTING = "find {} ! -name lock -printf '%p %m %U:%G %T@ %s %l\\n' | sort > {}".format(" ".join(LISTED), "{}")


def test_anothers_spec_with_our_names(mig: Machine) -> None:
    steps = (LISTING.format("before"), "checked", "present", LISTING.format("after"), "cmp before after", "make")
    healed = (f"rm {FOREIGN}", "checked", "make", "checked")
    _made, two, refused, left, over, said, right = mig.drift("present", COPIED, *steps, *healed)
    mine, *others = found(two)
    theirs = f"{FOREIGN} of NVIDIA Container Toolkit with the same kind nvidia.com/gpu"
    assert mine == f"warn spec the CDI spec of nvidia: {theirs}"
    assert any(row.startswith(f"fail duplicate {NVIDIA}: ") and FOREIGN in row for row in others)
    assert refused["failed"]
    assert refused["error"]["code"] == "conflict"
    assert refused["error"]["details"]["paths"] == [FOREIGN]
    assert FOREIGN in refused["msg"]
    assert left["said"].startswith(f"removed {NVIDIA}")  # a name in two files resolves to nothing
    assert f"left to {FOREIGN}" in left["said"]
    assert found(over)[0] == f"fail spec CDI specs: {NVIDIA} is not there"
    assert said["said"] == f"made {NVIDIA}"
    assert found(right) == []


def test_another_tool_that_makes_the_specs(mig: Machine) -> None:
    enabled = f"mkdir -p {REFRESH.rpartition('/')[0]}; ln -s ../nvidia-cdi-refresh.path {REFRESH}"
    steps = (enabled, LISTING.format("before"), "present", "checked", LISTING.format("after"), "cmp before after")
    refused, checked, made = mig.drift(*steps, f"rm {REFRESH}", "present")
    assert refused["error"]["code"] == "conflict"
    assert refused["error"]["details"]["owner"] == "nvidia-cdi-refresh"
    assert "systemctl disable --now nvidia-cdi-refresh.path" in refused["msg"]
    assert found(checked)[0].startswith("warn spec the CDI spec of nvidia: nvidia-cdi-refresh makes it here")
    assert made["changed"]


def test_specs_are_made_again_whichever_way_the_node_goes(mig: Machine) -> None:
    dockerd = "#!/bin/sh\ntest $1 != --version || echo Docker version 27.5.1, build 1"
    engine = f"echo {shlex.quote(dockerd)} > /usr/local/bin/dockerd; chmod +x /usr/local/bin/dockerd"
    config = "mkdir -p /etc/docker; echo '{\"debug\": true}' > /etc/docker/daemon.json"
    kept = "(find /etc /usr/local -printf '%p %y %m %U:%G %l\\n'; find /etc -type f -exec sha256sum {} +) | sort > "
    wish = {"engines": {"engines": ["docker"]}, "cdi": {}}
    back, forth = (("generation", {"state": "rolled_back", "to": number}) for number in (0, 1))
    steps: tuple[Step, ...] = (engine, config, f"{kept}before", ("node_config", wish), f"{kept}after", "checked")
    steps += (back, f"{kept}back", "diff before back", forth, f"{kept}forth", "diff after forth", "checked")
    steps += ("absent", f"{kept}absent", DOCKER_ALONE, ("generation", {"state": "rolled_back", "to": 3}))
    done, right, gone, again, still, over, last = mig.drift(*steps, f"{kept}last", "diff after last")
    assert {row["subject"] for row in done["plan"]} >= {cdi_files.PROGRAM, "/etc/docker/daemon.json", "CDI specs"}
    assert done["generation"] == 1
    for one in (gone, again, over, last):
        assert "CDI specs" in {row["subject"] for row in one["plan"] if row["kind"] == "derived"}
    assert found(right) == found(still) == []


DOCKER_ALONE = "test $(diff before absent | grep -c '^[<>]') = 2; diff before absent | grep -q '^> .*daemon.json'"
"""Without specs, the engine is as it was asked to be, and nothing else differs."""


def test_nothing_of_a_human_is_lost(mig: Machine) -> None:
    edit = f"sed -i s/rw/r/ {NVIDIA}; echo '{{}}' > {AMD}; ln -s gone /etc/cdi/accelerator-intel.json"
    kept = "find /etc/cdi -printf '%p %y %i %l\\n' -type f -exec sha256sum {} + | sort > "
    back = ("generation", {"state": "rolled_back", "to": 0})
    _made, checked, refused, gone = mig.drift(
        *("present", edit, f"{kept}before", "checked", "present", back, f"{kept}after", "cmp before after")
    )
    assert found(checked)[0] == f"warn spec {NVIDIA}: edited by somebody or not made by this collection"
    assert refused["error"]["code"] == "conflict"
    assert gone["changed"]


def test_a_spec_in_a_folder_of_before_goes(mig: Machine) -> None:
    there = ("cdi_spec", {"directory": "/opt/made/cdi"})
    _first, moved, gone = mig.drift(
        *(there, "present", "test ! -e /opt/made", "absent", "test ! -e /etc/cdi", "test ! -e /var/lib/a*/cdi.sha256")
    )
    other = "/opt/made/cdi/accelerator-nvidia.json"
    (why,) = [row["why"] for row in moved["plan"] if row["subject"] == "CDI specs"]
    assert why == f"{NVIDIA} is not there; /etc/cdi is not there; {other} is over"
    assert gone["changed"]
