# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Device permissions: case files (what was seen and wished for, and the plan), and what is seen of small trees.

A case has ``seen`` and ``wish`` (what differs from the defaults below) and ``plan`` or ``error``. Texts of files are
compared without their comments.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import udev
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import OpsError
from ansible_collections.accelerator.ops.plugins.module_utils.model.plan import Found, PathStep, State, digest
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import device_permissions as usecase
from ansible_collections.accelerator.ops.plugins.module_utils.vendor.permissions import Held, SelfMade

yaml = pytest.importorskip("yaml", reason="case files are YAML")

CASES = Path(__file__).resolve().parents[2] / "cases" / "device_permissions"
GROUPS = {"root": 0, "video": 44, "render": 104}
WISH = {name: spec.get("default") for name, spec in usecase.OPTIONS.items()}
WISH["on_conflict"] = "refuse"
FILES = {"rules": usecase.RULES, "options": usecase.MODULE_OPTIONS}


def cases():
    for file in sorted(CASES.glob("*.yml")):
        for case in yaml.safe_load(file.read_text(encoding="utf-8")):
            yield pytest.param(case, id=f"{file.stem}: {case['case']}")


def found(text):
    if text is None:
        return Found()
    content = text.encode()
    return Found(State("file", 0o644, 0, 0, digest(content)), content)


def octal(row):
    return {**row, "mode": int(row["mode"], 8)}


def seen_of(told):
    told = {"is_live": True, "has_udev": True, "present": [], "groups": GROUPS, **told}
    told["present"] = None if told["present"] is None else tuple(told["present"])
    told.update({key: found(told.get(key)) for key in FILES})
    told["nodes"] = tuple(usecase.Node(**octal(one)) for one in told.get("nodes", ()))
    told["unlinked"] = tuple(SelfMade(**octal(one)) for one in told.get("unlinked", ()))
    told["distant_groups"] = tuple(told.get("distant_groups", ()))
    held = {}
    for name, one in told.get("held", {}).items():
        nodes = tuple(SelfMade(**{**octal(node), "again": tuple(node["again"])}) for node in one.get("nodes", ()))
        held[name] = Held(one["gid"], octal(one)["mode"], nodes)
    return usecase.Seen(**{**told, "held": held})


def bare(text):
    return [line for line in text.splitlines() if not line.startswith("#")]


def shown(plan):
    """A plan in the form of the case files; empty parts left out."""
    told = {}
    for step in plan.steps:
        if isinstance(step, PathStep):
            key = next(name for name, path in FILES.items() if path == step.path)
            told[key] = "absent" if step.after.kind == "absent" else bare(step.new.decode())
        else:
            told.setdefault("run", []).append(" ".join(step.run))
    for one in plan.derived:
        told.setdefault("derived", {})[one.key] = [" ".join(argv) for argv in one.make]
    told.update({key: list(getattr(plan, key)) for key in ("reboot", "deferred") if getattr(plan, key)})
    return told


@pytest.mark.parametrize("case", list(cases()))
def test_case(case):
    seen, wish = seen_of(case.get("seen", {})), {**WISH, **case.get("wish", {})}
    if "error" in case:
        with pytest.raises(OpsError) as caught:
            usecase.decide(seen, wish)
        assert caught.value.code == case["error"]["code"]
        assert case["error"]["says"] in str(caught.value)
        return
    assert shown(usecase.decide(seen, wish)) == (case["plan"] or {})


@pytest.mark.parametrize("case", list(cases()))
def test_after_its_plan_nothing_is_left_to_do(case):
    """What the plan writes and makes, seen again, gives an empty plan: so every real run proves itself."""
    if "error" in case:
        return
    seen, wish = seen_of(case.get("seen", {})), {**WISH, **case.get("wish", {})}
    plan = usecase.decide(seen, wish)
    groups = dict(seen.groups)
    for step in plan.steps:
        if isinstance(step, PathStep):
            name = next(name for name, path in FILES.items() if path == step.path)
            seen = seen._replace(**{name: Found(step.after, step.new)})
        elif seen.is_live:
            groups[step.run[-1]] = int(step.run[-2])
    mode = int(wish["mode"], 8)
    nodes = tuple(one._replace(gid=groups[wish["group"] or one.usual_group], mode=mode) for one in seen.nodes)
    again = seen._replace(groups=groups, nodes=nodes if seen.has_udev else seen.nodes, unlinked=(), held={})
    rest = usecase.decide(again, wish)
    steps = [step for step in rest.steps if isinstance(step, PathStep) or seen.is_live]
    assert (steps, rest.derived) == ([], ())


@pytest.mark.parametrize("mode", ["0660", "660", "0600", "0640", "0664"])
def test_modes_that_are_some(mode):
    plan = usecase.decide(seen_of({"present": ["intel"]}), {**WISH, "mode": mode})
    rules = udev.parse(plan.steps[0].new.decode())
    assert {rule.assigned("MODE") for rule in rules} == {f"{int(mode, 8):04o}"}


@pytest.mark.parametrize(
    "mode", ["", "0", "432", "438", "416", "420", "384", "0666", "666", "0662", "0770", "04660", "0o660", "rw", "0060"]
)
def test_modes_that_are_refused(mode):
    """Also each number that YAML makes of a bare octal one: 0660 is 432."""
    with pytest.raises(OpsError) as caught:
        usecase.decide(seen_of({"present": ["intel"]}), {**WISH, "mode": mode})
    assert caught.value.code == "input"


def test_all_may_write_only_where_that_is_said():
    plan = usecase.decide(seen_of({"present": ["intel"]}), {**WISH, "mode": "0666", "allow_world": True})
    assert {rule.assigned("MODE") for rule in udev.parse(plan.steps[0].new.decode())} == {"0666"}


@pytest.mark.parametrize("group", ["", "44", "a b", 'a"', "a\n", "-a", "a" * 33])
def test_groups_that_are_refused(group):
    with pytest.raises(OpsError) as caught:
        usecase.decide(seen_of({"present": ["intel"]}), {**WISH, "group": group})
    assert caught.value.code == "input"


def test_a_new_group_gets_a_number_that_is_free():
    groups = {**GROUPS, "a": 999, "b": 998}
    plan = usecase.decide(seen_of({"present": ["intel"], "groups": groups}), {**WISH, "group": "gpu"})
    assert plan.steps[0].run == ("groupadd", "--system", "--gid", "997", "gpu")
    assert plan.steps[0].undo == ("groupdel", "gpu")
    full = {f"g{number}": number for number in range(1, 1000)}
    with pytest.raises(OpsError, match="no number from 101 to 999 that is free"):
        usecase.decide(seen_of({"present": ["intel"], "groups": full}), {**WISH, "group": "gpu"})


def test_every_makers_rules_can_be_written():
    every = list(usecase.permissions.known())
    plan = usecase.decide(seen_of({"groups": {**GROUPS, "HwHiAiUser": 1001}}), {**WISH, "makers": every})
    assert len(udev.parse(plan.steps[0].new.decode())) > len(every)


# What is seen of a tree

GPU = "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"
CONSOLE = "/sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0"
TREE = {
    "/sys/bus/pci/devices/0000:01:00.0": ("link", f"../../../..{GPU}"),
    "/sys/bus/pci/devices/0000:02:00.0": ("link", f"../../../..{CONSOLE}"),
    f"{GPU}/vendor": "0x1002\n",
    f"{GPU}/device": "0x74a1\n",
    f"{GPU}/class": "0x120000\n",
    f"{CONSOLE}/vendor": "0x1a03\n",
    f"{CONSOLE}/device": "0x2000\n",
    f"{CONSOLE}/class": "0x030000\n",
    "/etc/group": "root:x:0:\nvideo:x:44:a,b\nrender:x:104:\n# no group\nodd:x::\n",
    "/usr/lib/group": "render:x:105:\nold:x:7:\n",
    "/etc/udev/rules.d/10-mine.rules": 'KERNEL=="kfd", GROUP="users"\n',
    "/etc/udev/rules.d/20-quiet.rules": 'KERNEL=="kfd", TAG+="a"\n',
    "/etc/udev/rules.d/50-both.rules": 'KERNEL=="kfd", MODE="0600"\n',
    "/etc/udev/rules.d/70-accelerator-ops.rules": 'KERNEL=="kfd", MODE="0600"\n',
    "/usr/lib/udev/rules.d/50-both.rules": 'KERNEL=="kfd", MODE="0666"\n',
    "/usr/lib/udev/rules.d/40-early.rules": 'KERNEL=="kfd", MODE="0666"\n',
    "/usr/lib/udev/rules.d/readme": 'KERNEL=="kfd", MODE="0666"\n',
}


def test_what_is_seen_of_a_tree(node):
    seen = usecase.observe(node(TREE), WISH)
    assert (seen.is_live, seen.has_udev, seen.present) == (False, False, ("amd",))
    assert seen.groups == {"root": 0, "video": 44, "render": 104, "old": 7}
    assert list(seen.other_rules) == [
        "/etc/udev/rules.d/10-mine.rules",
        "/usr/lib/udev/rules.d/40-early.rules",
        "/etc/udev/rules.d/50-both.rules",
    ]
    assert seen.rules.text() == 'KERNEL=="kfd", MODE="0600"\n'
    assert seen.options.state.kind == "absent"
    assert (seen.nodes, seen.held, seen.unlinked) == ((), {}, ())


def test_devices_off_pci_tell_their_maker(node):
    driver = ("link", "../../../bus/platform/drivers/rocket")
    tree = {"/sys/class/accel/accel0/device/driver": driver, "/sys/bus/platform/drivers/rocket/uevent": ""}
    assert usecase.observe(node(tree), WISH).present == ("rockchip",)


def test_a_root_without_sys_tells_no_maker(node):
    assert usecase.observe(node({"/etc/group": ""}), WISH).present is None


def test_files_about_the_module_are_seen_where_a_driver_makes_its_own_files(node):
    tree = {
        "/etc/modprobe.d/nvidia.conf": "options nvidia NVreg_DeviceFileMode=0666\n",
        "/etc/modprobe.d/other.conf": "options loop max_loop=8\n",
    }
    assert list(usecase.observe(node(tree), {**WISH, "makers": ["nvidia"]}).other_options) == [
        "/etc/modprobe.d/nvidia.conf"
    ]
    assert usecase.observe(node(tree), {**WISH, "makers": ["intel"]}).other_options == {}


def test_a_word_that_is_no_utf8_hides_nothing_of_a_file(node):
    host = node({**TREE, "/etc/modprobe.d/nvidia.conf": "options nvidia NVreg_DeviceFileMode=0666\n"})
    wish = {**WISH, "makers": ["nvidia"]}
    before = usecase.observe(host, wish)
    for path in ("etc/group", "etc/udev/rules.d/10-mine.rules", "etc/modprobe.d/nvidia.conf"):
        place = Path(host.root) / path
        place.write_bytes(b"# f\xfcr uns\n" + place.read_bytes())
    seen = usecase.observe(Host(host.root), wish)
    assert (seen.groups, list(seen.other_rules)) == (before.groups, list(before.other_rules))
    assert list(seen.other_options) == ["/etc/modprobe.d/nvidia.conf"]


DRM = "/sys/class/drm"
NODES = {
    "card0": (f"{GPU}/drm/card0", "dri/card0", (226, 0)),
    "card0-DP-1": (f"{GPU}/drm/card0/card0-DP-1", None, None),
    "renderD128": (f"{GPU}/drm/renderD128", "dri/renderD128", (226, 128)),
    "card1": (f"{CONSOLE}/drm/card1", "dri/card1", (226, 1)),
    "renderD129": ("/sys/devices/platform/amdgpu_xcp_0/drm/renderD129", "dri/renderD129", (226, 129)),
    "renderD130": ("/sys/devices/platform/other/drm/renderD130", "dri/renderD130", (226, 130)),
}


class Nodes(Host):
    """A tree whose device files are some, as those of a tree without root cannot be."""

    numbers = {f"/dev/{file}": number for _place, file, number in NODES.values()} | {"/dev/mxcd": (250, 0)}

    def status(self, path):
        status, reason = super().status(path)
        if status is None or path not in self.numbers:
            return status, reason
        major, minor = self.numbers[path]
        return status._replace(kind="char", mode=0o666, uid=0, gid=7, major=major, minor=minor), None


def files_of(node, maker, more=()):
    tree = {**TREE, **dict.fromkeys(more, ""), "/dev/dri/card9": ""}
    for name, (place, file, number) in NODES.items():
        tree[f"{DRM}/{name}"] = ("link", f"../../..{place}")
        tree[f"{place}/uevent"] = f"MAJOR=226\nDEVNAME={file}\n" if file else "DEVTYPE=drm_connector\n"
        tree[f"{place}/device"] = ("link", "../.." if file else "..")
        if number is not None:
            tree[f"/dev/{file}"] = ""
            tree[f"/sys/dev/char/{number[0]}:{number[1]}"] = ("link", f"../../..{place}")
    host = node(tree, Nodes)
    found = [one for match in usecase.permissions.permissions_of(maker).matches for one in usecase.nodes(host, match)]
    return {one.path: (one.usual_group, one.gid, one.mode) for one in found}


def test_only_the_makers_own_device_files_are_seen(node):
    """Not the console's card, no connector, no file of another driver; partitions by the name of their device."""
    assert files_of(node, "amd") == {
        "/dev/dri/card0": ("video", 7, 0o666),
        "/dev/dri/renderD128": ("render", 7, 0o666),
        "/dev/dri/renderD129": ("render", 7, 0o666),
    }
    assert files_of(node, "nvidia") == {}


def test_a_device_file_that_only_its_name_tells_counts_where_the_kernel_made_it(node):
    assert files_of(node, "metax", ["/dev/mxcd"]) == {}
    assert files_of(node, "metax", ["/dev/mxcd", "/sys/dev/char/250:0/uevent"]) == {"/dev/mxcd": ("render", 7, 0o666)}


def test_a_display_that_computes_nothing_is_left_out(node):
    assert files_of(node, "amd") != {}
    host = node({f"{GPU}/device": "0x515e\n"}, Nodes)
    for match in usecase.permissions.permissions_of("amd").matches:
        assert "/dev/dri/card0" not in [one.path for one in usecase.nodes(host, match)]


def test_a_part_of_a_larger_call_needs_no_shared_option():
    wish = {name: value for name, value in WISH.items() if name in usecase.OPTIONS}
    assert usecase.decide(seen_of({"present": ["intel"]}), wish).steps


def test_udev_itself_takes_every_makers_rules(tmp_path):
    udevadm = shutil.which("udevadm", path="/usr/bin:/bin:/usr/sbin:/sbin")
    told = subprocess.run([udevadm, "--version"], capture_output=True, text=True, check=False) if udevadm else None
    if told is None or not told.stdout.strip().isdigit() or int(told.stdout) < 254:
        pytest.skip("udevadm verify came with systemd 254")
    plan = usecase.decide(seen_of({}), {**WISH, "makers": list(usecase.permissions.known()), "group": "root"})
    file = tmp_path / "70-try.rules"
    file.write_bytes(plan.steps[0].new)
    done = subprocess.run([udevadm, "verify", str(file)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_maker_is_left_to_the_decision(node):
    assert usecase.observe(node(TREE), {**WISH, "makers": ["nobody"]}).nodes == ()
