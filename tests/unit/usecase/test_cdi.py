# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specs: case files (what was seen and wished for, and the plan), small trees, and the program that makes them.

A case has ``seen`` and ``wish`` (what differs from the defaults below) and ``plan`` or ``errors``. In ``specs`` of a
plan stand the device files by name, those that all of them share under ``shared``.
"""

from __future__ import annotations

import ast
import json
import os
import resource
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import cdi
from ansible_collections.accelerator.ops.plugins.module_utils.host import lock
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError, OpsError
from ansible_collections.accelerator.ops.plugins.module_utils.model.owner import Owner
from ansible_collections.accelerator.ops.plugins.module_utils.model.plan import ABSENT, Found, PathStep, State, digest
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import cdi as usecase
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import cdi_files, cdi_record, cdi_specs
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.cdi_specs import Look
from ansible_collections.accelerator.ops.plugins.module_utils.vendor.cdi import Needs, Unit

yaml = pytest.importorskip("yaml", reason="case files are YAML")

HERE = Path(__file__).resolve().parents[3]
ROOMS = HERE / "plugins" / "module_utils"
CASES = HERE / "tests" / "cases" / "cdi"
WISH = {name: spec.get("default") for name, spec in usecase.OPTIONS.items()}
PYTHON = "/usr/bin/python3"
SHORT = {
    "program": cdi_files.PROGRAM,
    "service": cdi_files.SERVICE,
    "path": cdi_files.PATH,
    **{f"enabled {path.rpartition('.')[2]}": path for path in cdi_files.LINKS},
}


def cases():
    for file in sorted(CASES.glob("*.yml")):
        for case in yaml.safe_load(file.read_text(encoding="utf-8")):
            yield pytest.param(case, id=f"{file.stem}: {case['case']}")


def file_of(content, mode=0o644):
    return Found(State("file", mode, 0, 0, digest(content)), content)


def needs_of(told):
    units = tuple(Unit(tuple(one["names"]), tuple(one["nodes"])) for one in told.pop("units", ()))
    lists = {key: tuple(value) for key, value in told.items() if isinstance(value, list)}
    return Needs(units=units, **{**told, **lists})


def look_of(told):
    told = dict(told)
    needs = tuple(needs_of(dict(one)) for one in told.pop("needs", ()))
    if "owner" in told:
        told["owner"] = Owner(**told["owner"])
    if "told" in told:
        told["told"] = json.dumps(told["told"])
    return Look(needs=needs, **{**told, "foreign": tuple(told.get("foreign", ()))})


def seen_of(told, wish):
    """The observation of a case. ``files: ours`` is what this version writes; ``present: made`` what it would make."""
    told = {"is_live": True, "has_systemd": True, "looks": [], "python": PYTHON, "engines": [], **told}
    looks = None if told["looks"] is None else tuple(look_of(one) for one in told["looks"])
    asked = cdi_specs.asked(wish)
    program = b"program " + asked.text().encode()
    ours = {SHORT["program"]: program, **cdi_files.units(PYTHON)}
    files = dict.fromkeys(SHORT.values(), Found())
    if told.get("files") == "ours":
        files = {path: file_of(content) for path, content in ours.items()}
        files.update({path: Found(State("link", 0o777, target=target)) for path, target in cdi_files.LINKS.items()})
    files.update({SHORT[key]: file_of(text.encode()) for key, text in told.get("other", {}).items()})
    made = cdi_specs.wanted(looks or (), asked)
    present = {
        path: Found(State(text[1:-1]))
        if text.startswith("<")
        else file_of((made[path] if text == "made" else text).encode())
        for path, text in told.get("present", {}).items()
    }
    for path, mode in told.get("modes", {}).items():
        present[path] = present[path]._replace(state=present[path].state._replace(mode=int(mode, 8)))
    record = cdi_record.Record({}, tuple(told.get("folders", ())), "folders" in told, told.get("unread"))
    return usecase.Seen(
        told["is_live"],
        told["has_systemd"],
        looks,
        present,
        files,
        told["python"],
        program,
        tuple(usecase.Engine(**one) for one in told["engines"]),
        told.get("has_folder", True),
        ours=frozenset(present) - set(told.get("humans", ())),
        record=record,
        obstacle=told.get("obstacle"),
    )


def shown(plan, seen, wish):
    """A plan in the form of the case files; empty parts left out."""
    names = {path: name for name, path in SHORT.items()}
    told = {}
    for step in plan.steps:
        assert isinstance(step, PathStep)
        change = "create" if step.before.kind == "absent" else "remove" if step.after.kind == "absent" else "change"
        told.setdefault("steps", {})[names[step.path]] = change
    for one in plan.derived:
        told.setdefault("derived", {})[one.key] = one.why
        if one.key == "CDI specs":
            told["proven"] = [line for line, _path in one.proof.lines]
            assert one.make[0][3:] == (PYTHON, cdi_files.PROGRAM, cdi_record.FILE)
            assert one.proof.argv[3:] == (PYTHON, cdi_files.PROGRAM, cdi_record.FILE, *told["proven"])
    if plan.deferred:
        told["deferred"] = list(plan.deferred)
    if plan.blockers:
        return {"errors": [{"code": one.code, "says": str(one)} for one in plan.blockers]}
    if "specs" in wish["_case"]["plan"]:
        told["specs"] = {
            path: {
                "version": spec.version,
                **({"shared": [node.path for node in spec.edits.nodes]} if spec.edits.nodes else {}),
                **({"hooks": [hook.path for hook in spec.edits.hooks]} if spec.edits.hooks else {}),
                **{device.name: [node.path for node in device.edits.nodes] for device in spec.devices},
            }
            for path, spec in cdi_specs.specs(seen.looks or (), cdi_specs.asked(wish)).items()
        }
    return told


@pytest.mark.parametrize("case", list(cases()))
def test_case(case):
    wish = {**WISH, **case.get("wish", {}), "_case": {"plan": case.get("plan") or {}}}
    try:
        seen = seen_of(case.get("seen", {}), wish)
        found = shown(usecase.decide(seen, wish), seen, wish)
    except OpsError as error:
        found = {"errors": [{"code": error.code, "says": str(error)}]}
    assert found == (case["plan"] if "plan" in case else {"errors": case["errors"]})


def imported(name: str) -> set[str]:
    """The modules of the rooms that one imports, at any time."""
    package = name.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse((ROOMS / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else [])]
            for parts in (base, *([*base, alias.name] for alias in node.names)):
                if parts and (ROOMS / f"{'/'.join(parts)}.py").is_file():
                    found.add(".".join(parts))
    return found


def closure(*starts: str) -> set[str]:
    found: set[str] = set()
    left = list(starts)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += imported(name)
    return found


def test_the_program_has_all_that_it_imports_and_nothing_else():
    assert set(cdi_files.MODULES) == closure(cdi_files.ENTRY)
    assert len(set(cdi_files.MODULES)) == len(cdi_files.MODULES)


def test_ansible_sends_all_that_the_program_is_made_of():
    source = (HERE / "plugins" / "modules" / "cdi_spec.py").read_text(encoding="utf-8")
    top = "ansible_collections.accelerator.ops.plugins.module_utils"
    starts = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(top):
            below = node.module[len(top) + 1 :]
            starts |= {below} if below else {alias.name for alias in node.names}
    assert set(cdi_files.MODULES) <= closure(*starts)


def test_the_program_is_the_same_bytes_each_time(tmp_path):
    wish = cdi_specs.Asked()
    content = cdi_files.program(wish)
    assert content == cdi_files.program(wish)
    assert content != cdi_files.program(wish._replace(groups=True))
    place = tmp_path / "cdi.pyz"
    place.write_bytes(content)
    with zipfile.ZipFile(place) as archive:
        rows = archive.infolist()
    assert {row.date_time for row in rows} == {(1980, 1, 1, 0, 0, 0)}
    assert [row.filename for row in rows] == sorted(row.filename for row in rows)


GAUDI = {
    "/sys/bus/pci/devices/0000:33:00.0/vendor": "0x1da3",
    "/sys/bus/pci/devices/0000:33:00.0/device": "0x1020",
    "/sys/bus/pci/devices/0000:33:00.0/class": "0x120000",
    "/sys/bus/pci/devices/0000:33:00.0/driver": ("link", "/sys/bus/pci/drivers/habanalabs"),
    "/sys/bus/pci/drivers/habanalabs/bind": "",
    "/sys/bus/pci/devices/0000:33:00.0/accel/accel0/uevent": "DEVNAME=accel/accel0",
}
SPEC = "/etc/cdi/accelerator-habana.json"


def nodes_of(*numbers):
    files = {
        f"/dev/accel/accel{n}": {"kind": "char", "mode": 0o660, "gid": 104, "major": 261, "minor": n} for n in numbers
    }
    return json.dumps(files)


class Program:
    """The program in a tree, run by an interpreter that sees nothing else."""

    def __init__(self, folder: Path, **wish) -> None:
        self.place = folder / "cdi.pyz"
        self.place.write_bytes(cdi_files.program(cdi_specs.Asked(**wish)))

    def run(self, host, *words, limit_bytes=resource.RLIM_INFINITY):
        argv = ["prlimit", f"--fsize={limit_bytes}", sys.executable, "-I", str(self.place), *words, "--root", host.root]
        return subprocess.run(argv, capture_output=True, text=True, cwd="/", env={}, check=False)


def test_the_program_makes_checks_heals_and_withdraws(node, tmp_path):
    host = node({**GAUDI, "/.accelerator-manifest.json": nodes_of(0), "/dev/accel/accel0": ""})
    program = Program(tmp_path)
    spec = Path(host.root + SPEC)
    assert program.run(host, "check").stdout == ""
    assert program.run(host, "make").stdout == f"made {SPEC}\n"
    assert spec.stat().st_mode & 0o777 == 0o644
    made = spec.read_text(encoding="utf-8")
    assert cdi.parse(made).names == tuple(
        f"intel.com/gaudi={name}" for name in ("0000-33-00-0-0x1020", "0000:33:00.0", "0", "all")
    )
    assert program.run(host, "check").stdout == f"{SPEC}\n"
    again = program.run(host, "make")
    assert (again.returncode, again.stdout) == (0, "")

    spec.chmod(0o600)
    assert program.run(host, "check").stdout == ""
    assert program.run(host, "make").stdout == f"made {SPEC}\n"
    assert spec.read_text(encoding="utf-8") == made
    spec.unlink()
    assert program.run(host, "make").stdout == f"made {SPEC}\n"

    host = node(ACCEL1)
    assert program.run(host, "make").stdout == f"made {SPEC}\n"
    assert "accel1" in spec.read_text(encoding="utf-8")
    shutil.rmtree(Path(host.root) / "sys/bus/pci/devices")
    assert program.run(host, "make").stdout == f"removed {SPEC}\n"
    assert not spec.parent.exists(), "the program had made it"
    assert recorded(host) == cdi_record.Record({}, (), True)


ACCEL1 = {
    "/sys/bus/pci/devices/0000:33:00.0/accel/accel0/uevent": "DEVNAME=accel/accel1",
    "/dev/accel/accel1": "",
    "/.accelerator-manifest.json": nodes_of(0, 1),
}


def recorded(host):
    return cdi_record.read(Host(host.root))


HUMANS = [
    pytest.param(lambda path: path.write_text(path.read_text("utf-8").replace("rw", "r"), "utf-8"), id="edited"),
    pytest.param(lambda path: path.write_text("{}", "utf-8"), id="another"),
    pytest.param(lambda path: (path.unlink(), path.symlink_to("gone")), id="link"),
    pytest.param(lambda path: (path.unlink(), os.mkfifo(path)), id="fifo"),
    pytest.param(lambda path: (path.unlink(), path.mkdir()), id="dir"),
]


@pytest.mark.parametrize("put", HUMANS)
@pytest.mark.parametrize("has_made_it", [True, False])
def test_the_program_leaves_what_a_human_put_in_the_place_of_a_spec(has_made_it, put, node, tmp_path):
    host = node({**GAUDI, "/.accelerator-manifest.json": nodes_of(0), "/dev/accel/accel0": "", "/etc/cdi/x": ""})
    spec = Path(host.root + SPEC)
    program = Program(tmp_path)
    if has_made_it:
        assert program.run(host, "make").returncode == 0
    else:
        spec.write_text("{}", encoding="utf-8")
    put(spec)
    before = (os.lstat(spec), spec.read_text("utf-8") if spec.is_file() else None)
    for words in (("make",), ("make", "--whole")):
        done = program.run(host, *words)
        assert (done.returncode, done.stdout) == (73, "")
        assert [line.partition(": ")[0] for line in done.stderr.splitlines()] == [SPEC]
    assert (os.lstat(spec), spec.read_text("utf-8") if spec.is_file() else None) == before
    assert program.run(host, "check").stdout == ""
    assert program.run(host, "check", "--left").stdout == ("" if spec.is_symlink() else f"{SPEC}\n")
    (row,) = [row for row in told(Host(host.root)) if row[0] == "spec"]
    assert row[1:3] == ("warn", SPEC)
    # nor does it go when ours are over
    shutil.rmtree(Path(host.root) / "sys/bus/pci/devices")
    assert program.run(host, "make").stdout == ""
    assert os.lstat(spec) == before[0]


def test_the_program_makes_the_other_specs(node, tmp_path):
    host = node({**GAUDI, **NPU, "/.accelerator-manifest.json": nodes_of(0, 5), "/dev/accel/accel0": "", SPEC: "{}"})
    done = Program(tmp_path).run(host, "make")
    assert (done.returncode, done.stdout) == (73, "made /etc/cdi/accelerator-intel-npu.json\n")
    assert Path(host.root + SPEC).read_text("utf-8") == "{}"


NPU = {
    "/sys/bus/pci/devices/0000:00:0b.0/vendor": "0x8086",
    "/sys/bus/pci/devices/0000:00:0b.0/device": "0x7d1d",
    "/sys/bus/pci/devices/0000:00:0b.0/class": "0x120000",
    "/sys/bus/pci/devices/0000:00:0b.0/driver": ("link", "/sys/bus/pci/drivers/intel_vpu"),
    "/sys/bus/pci/drivers/intel_vpu/bind": "",
    "/sys/bus/pci/devices/0000:00:0b.0/accel/accel5/uevent": "DEVNAME=accel/accel5",
    "/dev/accel/accel5": "",
}


def test_the_program_withdraws_what_it_made_in_another_folder(node, tmp_path):
    host = node({**GAUDI, "/.accelerator-manifest.json": nodes_of(0), "/dev/accel/accel0": ""})
    assert Program(tmp_path, directory="/opt/a/cdi").run(host, "make").returncode == 0
    assert recorded(host).folders == ("/opt/a/cdi", "/opt/a", "/opt")
    program = Program(tmp_path)
    done = program.run(host, "make")
    assert done.stdout == f"made {SPEC}\nremoved /opt/a/cdi/accelerator-habana.json\n"
    assert not Path(host.root + "/opt").exists()
    assert (list(recorded(host).digests), recorded(host).folders) == ([SPEC], ("/etc/cdi", "/etc"))
    cdi_record.write(host, cdi_record.Record({"/opt/cdi/accelerator-habana.json": frozenset(("0" * 64,))}, ("/opt",)))
    Path(host.root + "/opt").mkdir()
    Path(host.root + "/opt/cdi").write_text("a file of a human in the place of a folder of ours", encoding="utf-8")
    Path(host.root + SPEC).unlink()
    assert program.run(host, "make").stdout == f"made {SPEC}\n"
    assert os.listdir(host.root + "/opt") == ["cdi"]
    Path(host.root + "/opt/cdi").unlink()
    Path(host.root + SPEC).unlink()
    assert program.run(host, "make").stdout == f"made {SPEC}\n"
    assert not Path(host.root + "/opt").exists()


def test_a_folder_by_another_name_is_the_same_folder(node, tmp_path):
    files = {"/.accelerator-manifest.json": nodes_of(0), "/dev/accel/accel0": "", "/var/run": ("link", "/run")}
    host = node({**GAUDI, **files, "/run/x": ""})
    for directory in ("/var/run/cdi", "/run/cdi"):
        assert Program(tmp_path, directory=directory).run(host, "make").returncode == 0
        assert list(recorded(host).digests) == ["/run/cdi/accelerator-habana.json"]
        assert [path.name for path in Path(host.root + "/run/cdi").iterdir()] == ["accelerator-habana.json"]


def test_a_spec_of_another_folder_that_is_a_humans_has_our_names(node):
    spec = {"cdiVersion": "0.5.0", "kind": "intel.com/gaudi"}
    host = node({"/var/run/cdi/accelerator-habana.json": json.dumps(spec)})
    assert cdi_specs.foreign(host, "/etc/cdi") == {"/var/run/cdi/accelerator-habana.json": "intel.com/gaudi"}


def test_a_full_disk_leaves_nothing_and_what_was_made_stays_known(node, tmp_path):
    host = node({**GAUDI, "/.accelerator-manifest.json": nodes_of(0), "/dev/accel/accel0": ""})
    program, spec = Program(tmp_path), Path(host.root + SPEC)
    (spec.parent).mkdir(parents=True)
    assert program.run(host, "make").returncode == 0
    old = spec.read_text("utf-8")
    host = node(ACCEL1)
    done = program.run(host, "make", limit_bytes=len(old) // 2)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "cannot write a CDI spec: [Errno 27] File too large\n"
    assert spec.read_text("utf-8") == old
    assert [path.name for path in spec.parent.iterdir()] == [spec.name]
    assert len(recorded(host).digests[SPEC]) == 2
    (spec.parent / f".{spec.name}.tmp").write_text("half", "utf-8")
    (spec.parent / ".theirs.json.tmp").write_text("half", "utf-8")
    assert program.run(host, "make").stdout == f"made {SPEC}\n"
    assert sorted(path.name for path in spec.parent.iterdir()) == [".theirs.json.tmp", spec.name]
    assert recorded(host).digests == {SPEC: frozenset((digest(spec.read_bytes()),))}


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"/etc/cdi": ("link", "/gone")}, "/etc/cdi is a link that leads nowhere"),
        ({"/etc/cdi": ""}, "/etc/cdi is a file"),
        ({"/etc/cdi": ("link", "/sys")}, "/etc/cdi leads to /sys"),
    ],
)
def test_a_folder_of_specs_that_is_none(files, says, node, tmp_path):
    host = node({**GAUDI, **PYTHONS, **files, "/.accelerator-manifest.json": nodes_of(0), "/dev/accel/accel0": ""})
    done = Program(tmp_path).run(host, "make")
    line = f"cannot make CDI specs: {says}, expected a folder; mend it, or set directory"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{line}\n")
    assert not Path(host.root + "/gone").exists()
    wish = {**WISH, "on_conflict": "overwrite"}
    assert [str(one) for one in usecase.decide(usecase.observe(host, wish), wish).blockers] == [line]


@pytest.mark.parametrize(
    "directory",
    ["", "/", "cdi", "/etc/../etc/cdi", "/etc//cdi", "/etc/cdi\n", "/etc/c\ndi", "/dev/null/x", "/sys/cdi", "/proc/x"],
)
@pytest.mark.parametrize("state", ["present", "absent"])
def test_a_directory_that_can_be_none(state, directory):
    wish = {**WISH, "directory": directory, "state": state}
    with pytest.raises(InputError, match="an absolute path without") as caught:
        usecase.decide(seen_of({}, {**wish, "directory": "/etc/cdi"}), wish)
    assert "\n" not in str(caught.value)


def test_the_program_is_removed_while_it_runs(tmp_path):
    place = Program(tmp_path).place
    script = (
        "import os, sys, zipimport; place = sys.argv[1]; sys.path.insert(0, place);"
        "code = zipimport.zipimporter(place).get_code('__main__');"
        "sys.path_importer_cache[place] = zipimport.zipimporter(place); os.unlink(place); exec(code)"
    )
    argv = [sys.executable, "-I", "-c", script, str(place)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("cannot read the program any more: ")
    assert len(done.stderr.splitlines()) == 1


def test_two_programs_do_not_write_the_record_at_once(tmp_path):
    place = str(tmp_path)
    with lock.alone_in(place, 0.0), pytest.raises(OSError, match="another run"), lock.alone_in(place, 0.1):
        pass
    with lock.alone_in(place, 0.0):
        pass


class Gone:
    """The scripts of the derived specs where the program is gone, with the record of real files."""

    def __init__(self, folder: Path, *folders: Path) -> None:
        self.record = folder / "state" / "cdi.sha256"
        self.record.parent.mkdir()
        self.digests: dict[str, frozenset[str]] = {}
        self.folders = tuple(map(str, folders))
        self.program = folder / "cdi.pyz"

    def run(self, script, *words):
        argv = ["/bin/sh", "-c", script, sys.executable, str(self.program), str(self.record), *map(str, words)]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    def knows(self, path: Path, *contents: str) -> None:
        self.digests[str(path)] = frozenset(digest(one.encode()) for one in contents)
        self.record.write_text(cdi_record.Record(self.digests, self.folders).text(), encoding="utf-8")


def test_without_the_program_what_it_made_goes_and_nothing_else(tmp_path):
    made, others = tmp_path / "made on us", tmp_path / "others"
    gone = Gone(tmp_path, made)
    for folder in (made, others):
        folder.mkdir()
        for name in ("ours", "edited", "foreign", ".ours.tmp", ".theirs.tmp"):
            (folder / name).write_text(name, encoding="utf-8")
        (folder / "link").symlink_to("ours")
        gone.knows(folder / "ours", "older", "ours")
        gone.knows(folder / "edited", "as it was made")
        gone.knows(folder / "link", "ours")
        gone.knows(folder / "not-there", "ours")
    assert gone.run(usecase._CHECK, others / "ours").stdout == "", "not proven"
    done = gone.run(usecase._MAKE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for folder in (made, others):
        assert sorted(os.listdir(folder)) == [".theirs.tmp", "edited", "foreign", "link"]
    assert not gone.record.exists()
    assert gone.run(usecase._CHECK, others / "edited", others / "ours").stdout == f"{others / 'edited'}\n"
    assert gone.run(usecase._MAKE).returncode == 0


def test_without_the_program_its_folder_goes_when_it_is_empty(tmp_path):
    made, others = tmp_path / "a" / "cdi", tmp_path / "others"
    gone = Gone(tmp_path, made, made.parent)
    for folder in (made, others):
        folder.mkdir(parents=True)
        (folder / "ours").write_text("ours", encoding="utf-8")
        gone.knows(folder / "ours", "ours")
    assert gone.run(usecase._MAKE).returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["others", "state"]
    assert os.listdir(others) == []


@pytest.mark.parametrize(("status", "told_as"), [(0, 0), (73, 0), (1, 1), (75, 75)])
def test_going_back_is_no_failure_where_a_humans_file_stays(status, told_as, tmp_path):
    gone = Gone(tmp_path)
    gone.program.write_text(f"raise SystemExit({status})", encoding="utf-8")
    assert gone.run(usecase._MAKE).returncode == told_as


def test_the_program_is_called_again_until_the_device_files_are_there(node, tmp_path):
    program = Program(tmp_path)
    host = node({**GAUDI, "/dev/null": ""})
    first = program.run(host, "make", "--whole")
    assert first.returncode == 75
    assert "habana: not there: /dev/accel/accel0" in first.stderr
    assert not Path(host.root + SPEC).exists()
    assert program.run(host, "make").returncode == 0, "in a play that is no fault"
    host = node({"/.accelerator-manifest.json": nodes_of(0), "/dev/accel/accel0": ""})
    assert program.run(host, "make", "--whole").returncode == 0
    assert Path(host.root + SPEC).exists()


def test_the_program_makes_no_spec_where_the_devices_are_unknown(node, tmp_path):
    host = node({"/etc/hostname": "image", SPEC: "{}"})
    done = Program(tmp_path).run(host, "make", "--whole")
    assert (done.returncode, done.stdout) == (75, "")
    assert Path(host.root + SPEC).read_text(encoding="utf-8") == "{}"


def test_the_program_leaves_anothers_names_alone(node, tmp_path):
    other = json.dumps({"cdiVersion": "0.5.0", "kind": "intel.com/gaudi", "devices": []})
    host = node({**GAUDI, "/.accelerator-manifest.json": nodes_of(0), "/dev/accel/accel0": ""})
    program = Program(tmp_path)
    assert program.run(host, "make").stdout == f"made {SPEC}\n"
    host = node({"/var/run/cdi/mine.json": other})
    done = program.run(host, "make")
    assert done.stdout == f"removed {SPEC}\n"
    assert "habana: left to /var/run/cdi/mine.json" in done.stderr


def test_the_program_says_how_it_is_called(node, tmp_path):
    done = Program(tmp_path).run(node({"/etc/hostname": ""}), "remove")
    assert done.returncode == 2
    assert "usage: cdi.pyz" in done.stderr


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"cdiVersion":"0.6.0","kind":"nvidia.com/gpu","devices":[]}', "nvidia.com/gpu"),
        ("---\ncdiVersion: 0.5.0\nkind: nvidia.com/gpu\nwrong: [\n", "nvidia.com/gpu"),
        ("cdiVersion: 0.5.0\n# kind: nvidia.com/gpu\n", None),
        ("", None),
    ],
)
def test_the_kind_of_anothers_file(node, text, kind):
    found = cdi_specs.foreign(node({"/etc/cdi/x.yaml": text}), "/etc/cdi")
    assert found == ({} if kind is None else {"/etc/cdi/x.yaml": kind})


def test_a_folder_with_two_names_is_looked_at_once(node):
    host = node({"/run/cdi/x.json": '{"kind": "a.b/c"}', "/var/run": ("link", "/run")})
    assert list(cdi_specs.foreign(host, "/run/cdi")) == ["/var/run/cdi/x.json"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"/usr/bin/python3.11": "", "/usr/bin/python3": ("link", "python3.11")}, "/usr/bin/python3"),
        (
            {"/usr/bin/python3.6": "", "/usr/bin/python3": ("link", "python3.6"), "/usr/bin/python3.9": ""},
            "/usr/bin/python3.9",
        ),
        ({"/usr/bin/python3.8": "", "/usr/bin/python3": ("link", "python3.8")}, None),
        ({"/usr/bin/python3": ""}, None),
    ],
)
def test_the_interpreter_is_the_systems_own(node, files, found):
    assert cdi_files.python(node(files)) == found


def told(host):
    """The findings of a check, without their evidence."""
    rows = usecase.checked(host, {**WISH, "state": "checked", "on_conflict": "refuse"})
    return [(row["check"], row["verdict"], row["subject"], row["reason"]) for row in rows]


def test_a_check_finds_nothing_where_all_is_right_and_what_is_stale(node, tmp_path):
    host = node(
        {**GAUDI, "/.accelerator-manifest.json": nodes_of(0, 1), "/dev/accel/accel0": "", "/dev/accel/accel1": ""}
    )
    assert told(host) == [
        ("spec", "fail", "CDI specs", f"{SPEC} is not there"),
        ("drift", "fail", "intel.com/gaudi", "no spec has devices of this kind"),
    ]
    assert Program(tmp_path).run(host, "make").returncode == 0
    assert told(host) == []
    (Path(host.root) / "dev/accel/accel0").unlink()
    host = node({**ACCEL1, "/.accelerator-manifest.json": nodes_of(1)})
    stale, *dead = told(host)
    assert stale == ("spec", "fail", "CDI specs", f"{SPEC} is not what the devices are now")
    assert any(row[1:3] == ("fail", SPEC) and "/dev/accel/accel0" in row[3] for row in dead)


def test_a_link_in_the_place_of_a_spec_is_nobodys_spec(node, tmp_path):
    files = {"/.accelerator-manifest.json": nodes_of(0), "/dev/accel/accel0": "", SPEC: ("link", "/etc/mine.json")}
    host = node({**GAUDI, **files})
    wish = {**WISH, "on_conflict": "refuse"}
    plan = usecase.decide(usecase.observe(host, wish)._replace(python=PYTHON, engines=()), wish)
    assert [str(one) for one in plan.blockers] == [
        f"cannot make {SPEC}: a link, expected a file that the program on the node made, or none; move it away"
    ]


def test_a_check_lints_what_others_made(node):
    other = {"cdiVersion": "0.5.0", "kind": "intel.com/gaudi"}
    device = {"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/gone"}]}}
    files = {"/etc/cdi/theirs.json": json.dumps({**other, "devices": [device]}), "/dev/accel/accel0": ""}
    found = told(node({**GAUDI, **files, "/.accelerator-manifest.json": nodes_of(0)}))
    assert found[0][:3] == ("spec", "warn", "the CDI spec of habana")
    assert any(row[1:3] == ("fail", "/etc/cdi/theirs.json") and "/dev/gone" in row[3] for row in found)


PYTHONS = {"/usr/bin/python3.11": "", "/usr/bin/python3": ("link", "python3.11")}
DIRECTORY = {"/etc/cdi/accelerator-habana.json/x": ""}


@pytest.mark.parametrize(
    ("more", "step"),
    [
        (PYTHONS, "run state present, and they are made at the next boot"),
        ({"/usr/bin/python3": ""}, "install python3 in this root first"),
        ({**PYTHONS, **DIRECTORY}, "first see what stands in the way of /etc/cdi/accelerator-habana.json"),
    ],
)
def test_the_next_step_of_a_check_is_one_that_present_does_not_refuse(node, more, step):
    host = node({**GAUDI, "/.accelerator-manifest.json": nodes_of(0), "/dev/accel/accel0": "", **more})
    wish = {**WISH, "state": "checked", "on_conflict": "refuse"}
    rows = [row for row in usecase.checked(host, wish) if row["subject"] in ("CDI specs", "intel.com/gaudi")]
    assert {row["next_step"] for row in rows} == {step}
    plan = usecase.decide(usecase.observe(host, wish), wish)
    assert bool(plan.steps) == step.startswith("run state present")
    assert bool(plan.blockers) == step.startswith("first see")


def test_the_next_step_of_a_check_on_a_node_that_runs(node):
    host = node({**GAUDI, **PYTHONS, "/.accelerator-manifest.json": nodes_of(0), "/dev/accel/accel0": ""})
    seen = usecase.observe(host, {**WISH, "state": "checked"})
    assert usecase._next_step(seen._replace(is_live=True), ()) == "make them again with state present"


def test_what_present_refuses_is_no_mere_information(node):
    owner = {"/etc/cdi/gaudi.json": json.dumps({"kind": "intel.com/gaudi"})}
    host = node({**GAUDI, **PYTHONS, **owner, "/.accelerator-manifest.json": nodes_of(0), "/dev/accel/accel0": ""})
    wish = {**WISH, "state": "checked", "on_conflict": "refuse"}
    refused = [one.found for one in usecase.decide(usecase.observe(host, wish), wish).blockers]
    rows = {row["reason"]: row["verdict"] for row in usecase.checked(host, wish)}
    assert refused == ["/etc/cdi/gaudi.json with the same kind intel.com/gaudi"]
    assert [rows[reason] for reason in refused] == ["warn"]


def test_a_check_where_the_devices_are_unknown(node):
    found = told(node({"/etc/hostname": ""}))
    assert found == [("spec", "unknown", "CDI specs", "this root does not tell which devices there are")]


def test_units_hold_no_order():
    for content in cdi_files.units(PYTHON).values():
        assert not [line for line in content.decode().splitlines() if line.startswith(("After", "Before", "Requires"))]


def test_absent_is_absent(node):
    host = node({"/etc/hostname": ""})
    wish = {**WISH, "state": "absent"}
    seen = usecase.observe(host, wish)
    plan = usecase.decide(seen, wish)
    assert (plan.steps, plan.derived) == ((), ())
    assert seen.left.state == ABSENT
    assert all(found.state == ABSENT for found in seen.files.values())


@pytest.mark.parametrize(("others", "is_to_go"), [((), True), (("hook.sh",), False)])
def test_the_folder_of_the_program_goes_when_it_is_empty_then(others, is_to_go, node):
    host = node(dict.fromkeys((cdi_files.PROGRAM, *(f"{cdi_files.FOLDER}/{name}" for name in others)), ""))
    wish = {**WISH, "state": "absent"}
    plan = usecase.decide(usecase.observe(host, wish), wish)
    assert [step.path for step in plan.steps] == [cdi_files.PROGRAM, *([cdi_files.FOLDER] if is_to_go else [])]
