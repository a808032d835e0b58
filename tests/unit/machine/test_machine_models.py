# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Models on the control host: their YAML, the folder of laid-out trees, and the inventory of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models

SMALL = "name: small\npci:\n  pci0000:00:\n    numa: -1\n    '00:01.0': {id: '10de:2330', class: 3d}\n"


def inventory(folder: Path, text: str) -> tuple[int, str, str]:
    """What ansible-inventory says of a configuration of the plugin."""
    pytest.importorskip("ansible", reason="Ansible is not installed here, so the inventory was not tried")
    (folder / "our.machines.yml").write_text(text, encoding="utf-8")
    code = "import sys; from ansible.cli.inventory import main; sys.exit(main(['ansible-inventory', *sys.argv[1:]]))"
    command = [sys.executable, "-c", code, "-i", str(folder / "our.machines.yml"), "--list"]
    collections = [place for place in sys.path if (Path(place) / "ansible_collections" / "accelerator").is_dir()]
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": os.pathsep.join(collections),
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
        "ANSIBLE_HOME": str(folder / "home"),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_tree_is_laid_out_once(tmp_path: Path) -> None:
    path = tmp_path / "small.yml"
    path.write_text(SMALL, encoding="utf-8")
    machine, root = machine_models.laid_out(str(path), str(tmp_path / "cache"))
    marker = os.stat(root).st_ino
    assert machine.heading.name == "small"
    assert machine_models.laid_out(str(path), str(tmp_path / "cache"))[1] == root
    assert os.stat(root).st_ino == marker
    path.write_text(SMALL.replace("2330", "2331"), encoding="utf-8")
    second = machine_models.laid_out(str(path), str(tmp_path / "cache"))[1]
    assert second != root
    assert Path(second, "sys/bus/pci/devices/0000:00:01.0/device").read_text(encoding="ascii") == "0x2331\n"
    assert sorted(os.listdir(tmp_path / "cache")) == sorted(os.path.basename(place) for place in (root, second))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"name: a\nname: b\n", "line 2: the key 'name' is there twice"),
        (b"name: [a\n", "line 2: "),
        (b"\xff\xfe\x00", "cannot read model"),
        (b"name: a\ntitle: \xe9\n", "cannot read model"),
        (b"!!python/object:os.system {}\n", "could not determine a constructor"),
        (b"", "the model is no mapping"),
        (b"[" * 5000, "cannot read model"),
        (b"? [a]\n: b\n", "a key or a tagged value that is none"),
        (b"a: !!bool maybe\n", "a key or a tagged value that is none"),
        (b"a: !!int ''\n", "a key or a tagged value that is none"),
        (b"!!map [a]\n", "a key or a tagged value that is none"),
        (b'name: a\n"a\\nb": 1\n', "is not a known key"),
    ],
)
def test_text_that_is_no_model(text: bytes, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        machine_models.parse(text, "some.yml")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("title", ['"a\\0b"', '"\\ud800"'])
def test_text_that_no_file_holds(title: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.yml"
    path.write_text(f"name: odd\nsymlinks: {{/etc/x: {title}}}\nfiles: {{/etc/y: {title}}}\n", encoding="ascii")
    with pytest.raises(InputError, match="cannot lay out model") as caught:
        machine_models.laid_out(str(path), str(tmp_path / "cache"))
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path / "cache") == []


def test_a_date_is_the_text_that_it_is() -> None:
    machine = machine_models.parse("name: a\nsources: [{what: b, url: 'https://c', date: 2026-11-30}]\n", "a.yml")
    assert machine.heading.sources[0].date == "2026-11-30"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        InputError, match="cannot find model dgx: no such model or file, expected one of amd-mi300x-8gpu, "
    ):
        machine_models.find("dgx")


def test_hosts_groups_and_roots(tmp_path: Path) -> None:
    (tmp_path / "small.yml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "captures" / "one two" / "proc").mkdir(parents=True)
    (tmp_path / "captures" / "no machine").mkdir()
    text = (
        "plugin: accelerator.ops.machines\nmodels: [small.yml, plain-r740xd]\ntrees: [captures, absent]\n"
        "this_machine: true\ncache_dir: cache\n"
    )
    status, output, problems = inventory(tmp_path, text)
    assert status == 0, problems
    listed = json.loads(output, object_hook=lambda found: found.get("__ansible_unsafe", found))  # since core 2.19
    hosts = listed["_meta"]["hostvars"]
    assert sorted(hosts) == ["one_two", "plain-r740xd", "small", "this-machine"]
    assert hosts["this-machine"]["accelerator_root"] == "/"
    assert hosts["one_two"]["accelerator_root"] == str(tmp_path / "captures" / "one two")
    assert Path(hosts["small"]["accelerator_root"]).parent == tmp_path / "cache"
    assert Path(hosts["small"]["accelerator_root"], "sys/bus/pci/devices/0000:00:01.0/vendor").is_file()
    assert {host["ansible_python_interpreter"] for host in hosts.values()} == {sys.executable}
    assert {host["ansible_connection"] for host in hosts.values()} == {"local"}
    assert listed["maker_nvidia"]["hosts"] == ["small"]
    assert "plain-r740xd" in listed["without_accelerators"]["hosts"]
    assert "one_two" not in listed["without_accelerators"]["hosts"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("models: [nothing]", "cannot find model nothing: no such model or file"),
        ("models: [bad.yml]", "cannot read model bad: pci.pci0000:00.00:01.0 is a bridge that leads nowhere"),
        ("models: [small.yml, small.yml]", "cannot add machine small: "),
        ("models: [small.yml]\ncache_dir: small.yml", "cannot lay out model"),
    ],
)
def test_bad_configuration_is_one_clear_line(options: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "small.yml").write_text(SMALL, encoding="utf-8")
    bad = SMALL.replace("name: small", "name: bad").replace("class: 3d", "class: bridge")
    (tmp_path / "bad.yml").write_text(bad, encoding="utf-8")
    status, _output, problems = inventory(tmp_path, f"plugin: accelerator.ops.machines\n{options}\n")
    assert status != 0
    assert complaint in " ".join(problems.split())
    assert "Traceback" not in problems


def test_the_example_of_the_documentation_is_a_model() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "machine-models.md"
    blocks = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    example = next(block for block in blocks if "name: our-node" in block)
    assert len(machine_models.parse(example, "docs").functions) == 9
    table = page.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in table for name in machine_models.shipped())
