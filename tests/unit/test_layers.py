# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rooms of the house: who may import whom, and what may never stand where.

``faults`` judges one source text, so that every rule is also shown to fail on a small bad one.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.vendor import ids

HERE = Path(__file__).resolve().parents[2]
PLUGINS = HERE / "plugins"

MAY_IMPORT = {
    "edge": {"runner", "usecase", "host", "codec", "model"},
    "cdi_program": {"usecase", "host", "codec", "model"},  # a second edge: it runs on a node without Ansible
    "runner": {"state", "host", "codec", "model"},
    "usecase": {
        *("vendor", "engine", "state", "cluster", "topology", "planning", "machine", "report"),
        *("host", "codec", "model"),
    },
    "vendor": {"host", "codec", "model"},
    "engine": {"host", "codec", "model"},
    "state": {"host", "codec", "model"},
    "cluster": {"codec", "model"},
    "topology": {"codec", "model"},
    "planning": {"codec", "model"},
    "machine": {"host", "codec", "model"},
    "report": {"codec", "model"},
    "host": {"codec", "model"},
    "codec": {"model"},
    "model": set(),
}
"""Every room of ``module_utils``, and the rooms it may import: they stand to its right."""

OUTER = ("action", "callback", "doc_fragments", "filter", "inventory", "lookup", "modules", "plugin_utils")
"""The folders of ``plugins/`` beside ``module_utils``: Ansible finds plugins there, and they may use any room."""

WITHOUT_IO = ("model", "codec", "topology", "planning", "usecase", "vendor", "engine", "report")
"""Rooms that never touch a file or a process themselves: a node is reached through ``host``."""

MAKERS = {maker.name for maker in ids.MAKERS} | set(ids.OFF_PCI_DRIVERS.values()) | {"gaudi"}
ENGINES = {"docker", "containerd", "crio", "cri-o", "podman", "k3s", "rke2"}

_BASED = set(OUTER) - {"modules", "doc_fragments", "plugin_utils"}
_BASES = ("ansible.plugins.", "ansible.errors.")  # a plugin is a class of Ansible's own kind, and raises its errors
_NEWER_STANDARD = {"compression", "tomllib"}  # Python 3.14 and 3.11, imported where they are there
_IO_MODULES = {"io", "os", "pathlib", "shutil", "socket", "subprocess", "tempfile", "urllib"}
_CONTROL_HOST = {"machine": {"yaml"}, "report": {"yaml", "jinja2"}}
_WHERE_IT_IS = {"codec": {"yaml"}}  # imported in a function, by what says so where it is not there
_VAGUE = re.compile(r"(^|_)(utils?|common|helpers?|managers?)(_|$)")
_MODULE_LINES = 60
_HEADER = ("# Copyright", "# GNU General Public License v3.0+", "# SPDX-License-Identifier: GPL-3.0-or-later")
_TOP = "ansible_collections.accelerator.ops.plugins."


def room_of(place: str) -> str:
    """The room of a path below ``plugins/``: ``module_utils/host/door.py`` is in ``host``."""
    parts = place.split("/")
    if parts[0] == "module_utils" and len(parts) > 1:
        return parts[1][:-3] if parts[1].endswith(".py") else parts[1]
    return parts[0]


def imports(tree: ast.Module, place: str) -> Iterator[tuple[ast.stmt, str]]:
    """Each import as a dotted name; those of this collection begin with a dot, from ``plugins`` on."""
    package = place.split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, _ours(alias.name)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                base = package[: len(package) - node.level + 1]
                module = "." + ".".join([*base, *([module] if module else [])])
            for alias in node.names:
                yield node, _ours(f"{module}.{alias.name}")


def _ours(name: str) -> str:
    return "." + name[len(_TOP) :] if name.startswith(_TOP) else name


def faults(place: str, source: str) -> list[str]:
    """What is wrong with the file at ``place`` (a path below ``plugins/``), one line each."""
    if place.endswith("__init__.py"):
        return ["an __init__.py is empty: ansible-test of core 2.16 wants it so"] if source.strip() else []
    tree = ast.parse(source)
    room = room_of(place)
    below = place.startswith("module_utils/")
    found = [*_form_faults(place, source, tree), *_import_faults(place, room, tree)]
    if below and room not in MAY_IMPORT:
        found.append(f"no room is called {room}")
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.ExceptHandler) and _catches_all(node):
            found.append(f"line {line}: catches everything; name the errors that can come")
        if isinstance(node, ast.Attribute) and node.attr == "sleep":
            found.append(f"line {line}: sleep; wait for something")
        if below and room not in ("edge", "runner") and _says_check_mode(node):
            found.append(f"line {line}: check_mode; only the runner knows it")
        if room not in ("vendor", "engine"):
            found.extend(f"line {line}: decides on the name {name}" for name in _compared_names(node))
        if below and type(node).__name__ == "Match":
            found.append(f"line {line}: match; managed nodes have Python 3.9")
        if room in WITHOUT_IO and isinstance(node, ast.Call) and _opens(node.func):
            found.append(f"line {line}: opens or runs something; only the host room touches the outside")
    if place.startswith("modules/"):
        count = _code_lines(tree, source)
        if count > _MODULE_LINES:
            found.append(f"{count} lines of code; a module has at most {_MODULE_LINES} and no logic")
    return found


def _form_faults(place: str, source: str, tree: ast.Module) -> Iterator[str]:
    lines = [line for line in source.splitlines() if line.strip() and not line.startswith(("#!", "# -*-"))]
    for wanted, line in zip(_HEADER, [*lines, "", "", ""]):
        if not line.startswith(wanted):
            yield f"header: expected {wanted}, found {line[:40]!r}"
            break
    first = next((node for node in tree.body if not _is_text(node)), None)
    if not (isinstance(first, ast.ImportFrom) and first.module == "__future__"):
        yield "from __future__ import annotations does not come first"
    for part in Path(place).with_suffix("").parts:
        if part not in ("module_utils", "plugin_utils") and _VAGUE.search(part):
            yield f"the name {part} says nothing"


def _import_faults(place: str, room: str, tree: ast.Module) -> Iterator[str]:
    below = place.startswith("module_utils/")
    standard = getattr(sys, "stdlib_module_names", None)  # Python 3.10 and newer
    top_level = set(map(id, tree.body))
    for node, name in imports(tree, place):
        line = node.lineno
        head = name.split(".")[0]
        if name.startswith("."):
            if below and isinstance(node, (ast.Import, ast.ImportFrom)) and not getattr(node, "level", 0):
                yield f"line {line}: absolute import; inside module_utils they are relative"
            yield from (f"line {line}: {fault}" for fault in _room_faults(place, room, name, id(node) in top_level))
        elif head == "ansible":
            if room not in ("edge", "plugin_utils") and not (room in _BASED and name.startswith(_BASES)):
                yield f"line {line}: imports {name}; only edge and plugin_utils know Ansible"
        elif head in _IO_MODULES and room in WITHOUT_IO:
            yield f"line {line}: imports {name}; only the host room touches the outside"
        elif head == "time" and name.endswith(".sleep"):
            yield f"line {line}: sleep; wait for something"
        elif below and head in _WHERE_IT_IS.get(room, set()) and id(node) not in top_level:
            continue
        elif below and standard and head not in standard | _NEWER_STANDARD | _CONTROL_HOST.get(room, set()):
            yield f"line {line}: imports {name}; managed nodes have the standard library only"


def _room_faults(place: str, room: str, name: str, at_start: bool) -> Iterator[str]:
    """``name`` is ``.module_utils.<room>.…`` or ``.plugin_utils.…``."""
    parts = name.split(".")[1:]
    if not place.startswith("module_utils/"):
        return
    if parts[0] != "module_utils":
        yield f"{room} imports {name}; rooms never import plugins"
        return
    target = parts[1] if len(parts) > 1 else ""
    if target != room and target not in MAY_IMPORT.get(room, ()):
        yield f"{room} imports {target}, which does not stand to its right"
    if room == "vendor" and target == "vendor" and len(parts) > 2:
        own = place.split("/")[2]
        is_maker = not own.endswith(".py")
        other = parts[2] != own and (PLUGINS / "module_utils" / "vendor" / parts[2]).is_dir()
        if is_maker and (other or parts[2] in MAKERS - {own}):
            yield f"{own} imports {parts[2]}; makers do not know each other"
        if not is_maker and at_start and (other or parts[2] in MAKERS):
            yield f"{own} loads {parts[2]} at the start; a registry imports a maker inside a function"


def _is_text(node: ast.stmt) -> bool:
    """A docstring, or one of Ansible's documentation texts, which stand before the imports."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id in ("DOCUMENTATION", "EXAMPLES", "RETURN")
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _catches_all(node: ast.ExceptHandler) -> bool:
    """Whether a handler hides errors that nobody named; one that cleans up and raises again hides nothing."""
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    names = {kind.id if isinstance(kind, ast.Name) else "" for kind in kinds if kind is not None}
    last = node.body[-1]
    if names == {"BaseException"} and isinstance(last, ast.Raise) and last.exc is None:
        return False
    return None in kinds or bool(names & {"Exception", "BaseException"})


def _opens(called: ast.expr) -> bool:
    return isinstance(called, ast.Name) and called.id in ("open", "exec", "eval")


def _says_check_mode(node: ast.AST) -> bool:
    said = (
        getattr(node, "id", None),
        getattr(node, "attr", None),
        getattr(node, "arg", None),
        node.value if isinstance(node, ast.Constant) else None,
    )
    return "check_mode" in said or "_ansible_check_mode" in said


def _compared_names(node: ast.AST) -> Iterator[str]:
    """Names of makers and engines in a comparison, a membership test or a ``match`` pattern."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
    elif type(node).__name__ == "MatchValue":
        sides = [node.value]  # type: ignore[attr-defined]
    else:
        return
    for side in sides:
        members = side.elts if isinstance(side, (ast.Tuple, ast.List, ast.Set)) else [side]
        for member in members:
            if isinstance(member, ast.Constant) and member.value in MAKERS | ENGINES:
                yield str(member.value)


def _code_lines(tree: ast.Module, source: str) -> int:
    texts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and _is_text(node):
            texts.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(source.splitlines(), 1)
    return sum(1 for number, line in lines if number not in texts and line.strip() and not line.strip().startswith("#"))


def sources() -> list[str]:
    """Every Python file below ``plugins/``."""
    return sorted(str(path.relative_to(PLUGINS)) for path in PLUGINS.rglob("*.py"))


def test_there_is_something_to_judge() -> None:
    assert "module_utils/host/door.py" in sources()
    assert "module_utils/model/answer.py" in sources()


@pytest.mark.parametrize("place", sources())
def test_file_obeys_the_house(place: str) -> None:
    assert faults(place, (PLUGINS / place).read_text(encoding="utf-8")) == []


def test_every_folder_of_a_maker_is_in_the_table() -> None:
    folders = {path.name for path in (PLUGINS / "module_utils" / "vendor").iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} <= MAKERS
    assert {"nvidia", "amd", "intel", "habana"} <= MAKERS


def test_no_room_is_empty() -> None:
    rooms = [path for path in (PLUGINS / "module_utils").iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert [room.name for room in rooms if not _has_code(room)] == []


def _has_code(room: Path) -> bool:
    return any(path.read_text(encoding="utf-8").strip() for path in room.rglob("*.py"))


def test_plugin_folders_are_known() -> None:
    folders = {path.name for path in PLUGINS.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders - {"module_utils"} <= set(OUTER)


def yaml_faults(source: str) -> list[str]:
    """What may not stand in roles and playbooks."""
    return [
        f"line {number}: {line.strip()}"
        for number, line in enumerate(source.splitlines(), 1)
        if re.match(r"\s*-?\s*ignore_errors\s*:\s*(?!false|no)", line)
    ]


def test_roles_and_playbooks_hide_no_error() -> None:
    files = [*(HERE / "roles").rglob("*.yml"), *(HERE / "playbooks").glob("*.yml")]
    assert [f"{file.name}: {fault}" for file in files for fault in yaml_faults(file.read_text(encoding="utf-8"))] == []


_GOOD_START = "\n".join([f"{line} …" for line in _HEADER]) + '\n"""Text."""\nfrom __future__ import annotations\n'

BAD: list[tuple[str, str, str]] = [
    ("module_utils/host/door.py", "from ansible.module_utils.basic import AnsibleModule", "only edge and plugin_utils"),
    ("modules/facts.py", "import ansible.module_utils.basic", "only edge and plugin_utils"),
    ("action/facts.py", "from ansible.module_utils.basic import AnsibleModule", "only edge and plugin_utils"),
    ("module_utils/report/page.py", "from ansible.errors import AnsibleError", "only edge and plugin_utils"),
    ("module_utils/model/device.py", "from ..codec.pci import parse", "model imports codec"),
    ("module_utils/codec/cdi.py", "from ..host.door import Host", "codec imports host"),
    ("module_utils/host/door.py", "from ..usecase import facts", "host imports usecase"),
    ("module_utils/runner.py", "from .usecase import facts", "runner imports usecase"),
    ("module_utils/topology/tree.py", "from ..host.door import Host", "topology imports host"),
    ("module_utils/topology/tree.py", "from ..vendor.amd import ids", "topology imports vendor"),
    ("module_utils/engine/docker.py", "from ..vendor.amd import ids", "engine imports vendor"),
    ("module_utils/vendor/amd/probe.py", "from ..nvidia import ids", "makers do not know each other"),
    ("module_utils/vendor/amd/probe.py", "from ..nvidia.ids import TABLE", "makers do not know each other"),
    ("module_utils/vendor/registry.py", "from .amd import probe", "inside a function"),
    ("module_utils/host/door.py", "from ...plugin_utils import edge", "rooms never import plugins"),
    (
        "module_utils/host/door.py",
        "from ansible_collections.accelerator.ops.plugins.module_utils.model import pci",
        "absolute import",
    ),
    ("module_utils/shed/tool.py", "x = 1", "no room is called shed"),
    ("module_utils/topology/tree.py", "import os", "only the host room"),
    ("module_utils/vendor/amd/probe.py", "from pathlib import Path", "only the host room"),
    ("module_utils/usecase/facts.py", "x = open('/etc/os-release')", "only the host room"),
    ("module_utils/usecase/facts.py", "if maker == 'nvidia':\n    pass", "decides on the name nvidia"),
    ("module_utils/topology/tree.py", "x = 'amd' != maker", "decides on the name amd"),
    ("module_utils/report/page.py", "x = maker in ('intel', 'habana')", "decides on the name habana"),
    ("plugin_utils/names.py", "x = engine in {'docker'}", "decides on the name docker"),
    ("module_utils/usecase/facts.py", "if module.check_mode:\n    pass", "only the runner"),
    ("module_utils/state/journal.py", "def begin(check_mode):\n    pass", "only the runner"),
    ("module_utils/host/door.py", "try:\n    pass\nexcept Exception:\n    pass", "catches everything"),
    ("module_utils/host/door.py", "try:\n    pass\nexcept:\n    pass", "catches everything"),
    ("action/survey.py", "try:\n    pass\nexcept (OSError, BaseException):\n    pass", "catches everything"),
    ("action/survey.py", "try:\n    pass\nexcept Exception:\n    raise", "catches everything"),
    ("action/survey.py", "try:\n    pass\nexcept BaseException:\n    raise OSError", "catches everything"),
    ("module_utils/host/door.py", "import time\ntime.sleep(1)", "sleep"),
    ("module_utils/host/door.py", "from time import sleep", "sleep"),
    ("modules/facts.py", "\n".join(f"x{number} = 1" for number in range(61)), "lines of code"),
    ("module_utils/host/file_utils.py", "x = 1", "says nothing"),
    ("module_utils/host/__init__.py", "x = 1", "an __init__.py is empty"),
    ("module_utils/host/manager.py", "x = 1", "says nothing"),
]


@pytest.mark.parametrize(("place", "source", "expected"), BAD)
def test_a_fault_is_found(place: str, source: str, expected: str) -> None:
    found = faults(place, _GOOD_START + source)
    assert any(expected in fault for fault in found), found


@pytest.mark.skipif(not hasattr(sys, "stdlib_module_names"), reason="Python 3.10 lists its own modules")
def test_a_third_party_package_is_found() -> None:
    assert faults("module_utils/host/door.py", _GOOD_START + "import yaml") != []
    assert faults("module_utils/machine/model.py", _GOOD_START + "import yaml") == []
    assert faults("module_utils/codec/document.py", _GOOD_START + "import yaml") != []
    assert faults("module_utils/codec/document.py", _GOOD_START + "def read():\n    import yaml") == []


@pytest.mark.skipif(sys.version_info < (3, 10), reason="Python 3.9 has no match statement to find")
def test_a_match_is_found() -> None:
    found = faults("module_utils/usecase/facts.py", _GOOD_START + "match maker:\n    case 'amd':\n        pass")
    assert any("decides on the name amd" in fault for fault in found)
    assert any("Python 3.9" in fault for fault in found)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""Text."""\nfrom __future__ import annotations\n', "header"),
        ("\n".join([f"{line} …" for line in _HEADER]) + "\nimport re\n", "does not come first"),
    ],
)
def test_a_missing_start_is_found(source: str, expected: str) -> None:
    assert any(expected in fault for fault in faults("module_utils/host/door.py", source))


def test_ignored_errors_are_found() -> None:
    assert yaml_faults("- name: X\n  ignore_errors: true\n") == ["line 2: ignore_errors: true"]
    assert yaml_faults("- name: X\n  ignore_errors: '{{ a }}'\n") != []
    assert yaml_faults("- name: X\n  ignore_unreachable: true\n") == []


GOOD: list[tuple[str, str]] = [
    ("module_utils/edge.py", "from ansible.module_utils.basic import AnsibleModule\nfrom .host.door import Host"),
    ("module_utils/usecase/facts/pci.py", "from ...vendor import registry\nfrom ...model.pci import Function"),
    ("module_utils/vendor/registry.py", "def load():\n    from .amd import probe\n    return probe"),
    ("module_utils/vendor/amd/probe.py", "from ..registry import row\nfrom . import ids\nx = maker == 'amd'"),
    ("module_utils/topology/tree.py", "KINDS = {'nvidia': 'nvlink'}"),
    ("modules/facts.py", "from ..module_utils.edge import run"),
    ("action/facts.py", "from ansible.plugins.action import ActionBase\nfrom ansible.errors import AnsibleError"),
    ("plugin_utils/files.py", "try:\n    pass\nexcept BaseException:\n    clean()\n    raise"),
    ("module_utils/runner.py", "def go(module):\n    return module.check_mode"),
]


@pytest.mark.parametrize(("place", "source"), GOOD)
def test_what_is_allowed_is_no_fault(place: str, source: str) -> None:
    assert faults(place, _GOOD_START + source) == []


def test_every_rule_has_a_bad_source() -> None:
    """A room without a bad source could hide a rule that never fires."""
    assert {room_of(place) for place, _source, _expected in BAD} >= {"model", "codec", "host", "vendor", "usecase"}
    assert all(set(rooms) <= set(MAY_IMPORT) for rooms in MAY_IMPORT.values())


def circle(rooms: dict[str, set[str]]) -> Optional[str]:
    """A room that can be reached from itself through others, or None: imports only point right."""
    for start in rooms:
        seen: set[str] = set()
        pending = list(rooms[start])
        while pending:
            room = pending.pop()
            if room == start:
                return start
            if room not in seen:
                seen.add(room)
                pending.extend(rooms[room])
    return None


def test_the_table_has_no_circle() -> None:
    assert circle(MAY_IMPORT) is None
    assert circle({"a": {"b"}, "b": {"a"}}) == "a"
