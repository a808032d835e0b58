# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the filter selects, and each thing that it does not let pass in silence."""

from __future__ import annotations

import re
from collections import OrderedDict
from pathlib import Path

import pytest

pytest.importorskip("jmespath")

from ansible_collections.accelerator.ops.plugins.module_utils.host import tree
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.plugins.plugin_utils import selection
from ansible_collections.accelerator.ops.plugins.plugin_utils.selection import DEVICE, Many, Open, select

HERE = Path(__file__).resolve().parents[3]
FIRST, SECOND, THIRD = "0000:01:00.0", "0000:02:00.0", "platform/npu0"
QUOTES = "text stands in 'single quotes', a number in `backticks`"


@pytest.mark.parametrize(
    ("expression", "chosen"),
    [
        ("maker == 'amd'", [FIRST]),
        ("maker == 'amd' && memory_mib >= `65536`", [FIRST]),
        ("maker != 'amd'", [SECOND, THIRD]),
        ("maker == 'nvidia' || memory_mib < `100`", [SECOND, THIRD]),
        ("!integrated", [FIRST, SECOND]),
        ("integrated == `false`", [FIRST, SECOND]),
        ("contains(model, 'MI300')", [FIRST]),
        ("starts_with(id, '0000:')", [FIRST, SECOND]),
        ("contains(['amd', 'intel'], maker)", [FIRST, THIRD]),
        ("contains(keys(firmware), 'smc')", [FIRST]),
        ("serial == `null`", [FIRST, THIRD]),
        ("`null` != serial", [SECOND]),
        ("pci == `null`", [THIRD]),
        ("pci.vendor_id == `null`", [THIRD]),
        ("driver.name == `null`", [SECOND]),
        ("driver.name != `null` && driver.name == 'amdgpu'", [FIRST]),
        ("firmware.nothing == `null`", [FIRST, SECOND, THIRD]),
        ("contains(keys(unknown), 'serial')", [FIRST, THIRD]),
        ("unknown.memory_mib != `null`", [SECOND]),
        ('unknown."pci.revision" != `null`', [FIRST]),
        ("nodes", [FIRST]),
        ("nodes[?shared]", [FIRST]),
        ("nodes[?path == '/dev/kfd'].major | contains(@, `240`)", [FIRST]),
        ("maker == 'amd' && partitions[?memory_mib >= `98304`]", [FIRST]),
        ("maker == 'amd' && length(partitions) == `2`", [FIRST]),
        ("maker == 'amd' && sum(partitions[].memory_mib) == `196608`", [FIRST]),
        ("maker == 'amd' && max_by(partitions, &memory_mib).id == '0:0'", [FIRST]),
        ("maker == 'amd' && sort_by(partitions, &memory_mib)[0].id == '0:0'", [FIRST]),
        ("maker == 'amd' && path[0] == '0000:00:01.0'", [FIRST]),
        ("maker == 'amd' && path[0:1] == ['0000:00:01.0']", [FIRST]),
        ("not_null(serial, 'none') == 'none'", [FIRST, THIRD]),
        ("type(serial) == 'null'", [FIRST, THIRD]),
        ("{m: maker}.m == 'amd'", [FIRST]),
        ("(pci | type(@)) == 'null'", [THIRD]),
        ("`true`", [FIRST, SECOND, THIRD]),
        ("`false`", []),
    ],
)
def test_what_is_selected(devices, expression, chosen):
    assert select(devices, expression) == chosen


def test_rows_are_whole(devices):
    assert select(devices, "maker == 'amd'", rows=True) == [devices[0]]


def test_order_is_that_of_the_facts(devices):
    assert select(devices[::-1], "`true`") == [THIRD, SECOND, FIRST]


STATIC = [
    ("memory_mb >= `1`", "no field memory_mb, expected memory_mib; correct the field; "),
    ("maker == 'amd' && memory_mb >= `1`", "no field memory_mb"),
    ("maker == 'nobody' && vendor == 'x'", "no field vendor"),
    ("pci.vendorid == 'x'", "no field vendorid, expected vendor_id"),
    ("partitions[?memory_mb > `1`]", "no field memory_mb"),
    ("partitions[].uid == `[]`", "no field uid"),
    ("sort_by(nodes, &minr)[0].path == 'a'", "no field minr, expected minor"),
    ("nodes[0].pth == 'a'", "no field pth, expected path"),
    ("pci | vendorid == '1002'", "no field vendorid"),
    ("[makr][0] == 'amd'", "no field makr"),
    ("{a: makr}.a == 'amd'", "no field makr"),
    ("{a: maker}.b == 'amd'", "no field b"),
    ("not_null(makr, 'x') == 'x'", "no field makr"),
    ("!makr", "no field makr"),
    ('maker == "amd"', "no field amd, expected one of id, kind, "),
    ("null == maker", "no field null"),
    ("memory_mib == '65536'", 'memory_mib is a number and "65536" is text, expected the same on both sides of ==; '),
    ("memory_mib >= '65536'", '"65536" is text, expected a number beside >=; '),
    ("driver.version >= `550`", "driver.version is text, expected a number beside >="),
    ("maker == `1`", "maker is text and 1 is a number"),
    ("integrated == 'true'", 'integrated is true or false and "true" is text'),
    ("integrated == `0`", "integrated is true or false and 0 is a number"),
    ("memory_mib > `null`", "null is null, expected a number beside >"),
    ("partitions == 'x'", 'partitions is a list and "x" is text'),
    ("pci == 'x'", 'pci is a mapping and "x" is text'),
    ("firmware.vbios == `1`", "firmware.vbios is text and 1 is a number"),
    ("length(maker) == 'x'", 'length() is a number and "x" is text'),
    ("contains(path, `5`)", "5 is a number and path holds text, expected the same in contains()"),
    ("contains(memory_mib, '6')", "memory_mib is a number, expected a list or text in contains()"),
    ("starts_with(memory_mib, '6')", "memory_mib is a number, expected text in starts_with()"),
    ("max(path) > `1`", "max() is text, expected a number beside >"),
    ("sum(path) > `1`", "path is a list, expected a list in sum()"),
    ("startswith(maker, 'a')", "no function startswith(), expected starts_with()"),
    ("contains(path)", "contains() with 1 arguments, expected 2"),
    ("not_null()", "not_null() with 0 arguments, expected 1 or more"),
    ("length(path, path) > `1`", "length() with 2 arguments, expected 1"),
    ("model", "model is text, expected a condition; "),
    ("memory_mib && integrated", "memory_mib is a number, expected a condition"),
    ("pci || integrated", "pci is a mapping, expected a condition"),
    ("!maker", "maker is text, expected a condition"),
    ("nodes[?path]", "path is text, expected a condition"),
    ("partitions.kind == 'a'", "a list has no field kind, expected a mapping before the dot; [].kind asks each item"),
    ("maker.name == 'a'", "text has no field name"),
    ("maker[0] == 'a'", "maker is text, expected a list before the bracket"),
    ("maker[] == `[]`", "maker is text, expected a list before the bracket"),
    ("maker[?@ == 'a']", "maker is text, expected a list before the bracket"),
    ("maker.* == `[]`", "maker is text, expected a mapping before .*"),
    ("&maker", "& outside of a function that takes it"),
    ("memory_mib >= 65536", "65536 at column 15 makes no sense, expected JMESPath; "),
    ("maker ==", "the expression ends too early, expected JMESPath"),
    ("maker == 'amd", "Unclosed ' delimiter at column 10"),
    ("maker = 'amd'", "expected JMESPath"),
    ("maker == $", "Unknown token $ at column 10"),
    ("maker == 'amd' and kind == 'gpu'", "'and' at column 16 makes no sense"),
    ("(" * 5000 + "maker", "too many parts in one another"),
    (" && ".join(["integrated"] * 5000), "too many parts in one another"),
]


@pytest.mark.parametrize(("expression", "found"), STATIC)
def test_what_is_wrong_with_an_expression_is_said_without_any_device(devices, expression, found):
    lines = set()
    for known, unknown in (([], "error"), (devices, "error"), (devices, "exclude")):
        with pytest.raises(InputError) as refused:
            select(known, expression, unknown)
        lines.add(str(refused.value))
    assert len(lines) == 1
    (line,) = lines
    assert line.startswith('cannot select devices by "')
    assert found in line
    assert "\n" not in line
    assert len(line) < 700


@pytest.mark.parametrize(
    ("expression", "found", "kept"),
    [
        ("memory_mib >= `65536`", f"memory_mib of {SECOND} is unknown (the maker's tool is not asked)", [FIRST]),
        ("memory_mib != `1`", f"memory_mib of {SECOND} is unknown", [FIRST, THIRD]),
        ("!(memory_mib >= `65536`)", f"memory_mib of {SECOND} is unknown", [THIRD]),
        ("numa_node == `0`", f"numa_node of {SECOND} is unknown (platform reports none)", [FIRST]),
        ("memory_mib == numa_node", f"memory_mib of {SECOND}", []),
        ("memory_mib >= `1` && maker == 'amd'", f"memory_mib of {SECOND}", [FIRST]),
        ("memory_mib >= `65536` || maker == 'nvidia'", f"memory_mib of {SECOND}", [FIRST]),
        ("pci.vendor_id == '1002'", f"pci.vendor_id of {THIRD} is unknown (off PCI)", [FIRST]),
        ("pci.revision == 'a1'", f"pci.revision of {FIRST} is unknown (not there)", [SECOND]),
        ("link.width == `16`", f"link.width of {SECOND} is unknown (no link files)", [FIRST]),
        ("link.limited_by == 'x'", f"link.limited_by of {FIRST} is unknown (null, and the facts give no reason)", []),
        ("driver.name == 'amdgpu'", f"driver.name of {SECOND} is unknown (null, and", [FIRST]),
        ("firmware.vbios == '113-A'", f"firmware.vbios of {SECOND} is unknown", [FIRST]),
        ("uuid == 'x'", f"uuid of {FIRST} is unknown (null, and", []),
        ("contains(serial, 'S')", f"serial of {FIRST} is unknown (not there)", [SECOND]),
        ("contains(['S2'], serial)", f"serial of {FIRST} is unknown", [SECOND]),
        ("to_string(serial) == 'S2'", f"serial of {FIRST} is unknown", [SECOND]),
        ("acs", f"acs of {FIRST} is unknown", []),
        ("!acs", f"acs of {FIRST} is unknown", []),
        ("partitions", f"partitions of {THIRD} is unknown (no such thing)", [FIRST]),
        ("partitions[?kind == 'xcp']", f"partitions of {THIRD} is unknown", [FIRST]),
        ("length(partitions) > `1`", f"partitions of {THIRD} is unknown", [FIRST]),
        ("partitions[].kind", f"partitions of {THIRD} is unknown", [FIRST]),
        ("partitions[*].kind", f"partitions of {THIRD} is unknown", [FIRST]),
        ("partitions[0].kind == 'xcp'", f"partitions[0].kind of {SECOND} is unknown (null, and", [FIRST]),
        ("contains(partitions[].uuid, 'x')", f"partitions[].uuid of {FIRST} is unknown (null, and", []),
        ("contains(partitions[*].uuid, 'x')", f"partitions[].uuid of {FIRST} is unknown", []),
        ("partitions[?uuid == 'x']", f"partitions[].uuid of {FIRST} is unknown", []),
        ("contains(map(&uuid, partitions), 'x')", f"uuid of {FIRST} is unknown", []),
        ("contains(values(firmware), '1.2')", f"values() of {SECOND} is unknown", [FIRST]),
        ("contains(firmware.*, '1.2')", f"firmware.* of {SECOND} is unknown", [FIRST]),
        ("contains([serial, model], 'H100')", f"serial of {FIRST} is unknown", [SECOND]),
        ("{s: serial}.s == 'S2'", f"serial of {FIRST} is unknown", [SECOND]),
        ("firmware == `{}`", f"firmware of {SECOND} is unknown", [THIRD]),
        ("path[5] == 'x'", f"path[5] of {FIRST} is unknown", []),
    ],
)
def test_an_unknown_value_ends_it_or_leaves_the_device_out(devices, expression, found, kept):
    with pytest.raises(InputError) as refused:
        select(devices, expression)
    line = str(refused.value)
    assert line.startswith(f'cannot select devices by "{expression}": {found}')
    assert line.endswith(", expected a value; set unknown='exclude' to leave such devices out, or ask for == `null`")
    assert "\n" not in line
    assert select(devices, expression, "exclude") == kept


def test_what_can_not_change_the_answer_is_not_looked_at(devices):
    assert select(devices, "kind == 'gpu' && maker == 'amd' && memory_mib > `1`") == [FIRST]
    assert select(devices, "maker == 'nvidia' || memory_mib > `20`") == [FIRST, SECOND]


def test_values_of_another_type_than_the_schema_says_are_an_error(devices):
    devices[0]["memory_mib"] = "196608"
    with pytest.raises(InputError, match="memory_mib is text and 1 is a number, expected numbers on both"):
        select(devices, "memory_mib > `1`")
    devices[0]["integrated"] = "no"
    with pytest.raises(InputError, match="is text, expected a condition"):
        select(devices, "!integrated", "exclude")
    devices[0]["model"] = 7
    with pytest.raises(InputError, match="In function contains"):
        select(devices, "contains(model, 'x')")


class Tagged(str):
    """A string with more than its text, as Ansible's are: functions of JMESPath refuse it by the name of its type."""


class Counted(int):
    """A number of such a kind."""


def test_types_of_ansible_are_made_plain(devices):
    row = OrderedDict(devices[0], model=Tagged("MI300X"), memory_mib=Counted(7), path=(Tagged("a"),))
    assert select((row,), Tagged("contains(model, 'MI3') && contains(path, 'a') && abs(memory_mib) == `7`")) == [FIRST]
    (whole,) = select([row], "`true`", rows=True)
    assert whole["model"].__class__ is str
    assert whole["memory_mib"].__class__ is int


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((None, "`true`"), "null: the devices of this node are unknown, expected a list; see unknown.devices"),
        (({"devices": []}, "`true`"), "something else than a list of devices with ids, expected a list; pass ansible_"),
        (([{"maker": "amd"}], "`true`"), "something else than a list of devices with ids"),
        (([1], "`true`"), "something else than a list of devices with ids"),
        (("devices", "`true`"), "something else than a list of devices with ids"),
        (([{"id": object()}], "`true`"), "Object of type object is not JSON serializable"),
        (([], ""), "the expression '', expected JMESPath; give an expression as text"),
        (([], None), "the expression None"),
        (([], 5), "the expression 5"),
        (([], "`true`", "skip"), "unknown='skip', expected error or exclude; correct unknown"),
        (([], "`true`", "error", "yes"), "rows='yes', expected true or false; correct rows"),
    ],
)
def test_bad_input_is_one_line(arguments, line):
    with pytest.raises(InputError) as refused:
        select(*arguments)
    assert str(refused.value).startswith(f"cannot select devices: {line}")


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setattr(selection, "IS_HERE", False)
    with pytest.raises(InputError) as refused:
        select([], "`true`")
    assert str(refused.value) == (
        "cannot select devices: the Python library jmespath is not installed, expected it where ansible-core runs; "
        "install jmespath beside ansible-core"
    )


def test_a_long_expression_is_cut_in_the_line(devices):
    with pytest.raises(InputError) as refused:
        select(devices, " || ".join(["memory_mb > `1`"] * 30))
    assert len(str(refused.value)) < 300


def keys(text):
    """The names in the first braces of a text; those of braces and brackets within are not among them."""
    depth, shown = 0, ""
    for sign in text[text.index("{") :]:
        depth += (sign in "{[") - (sign in "}]")
        if depth == 0:
            break
        shown += sign if depth == 1 else ""
    return {part.split(":")[0].strip() for part in shown.strip("{}").split(",")}


def documented():
    """The fields of a device in docs/facts.md: the names of each row, and those in its first braces."""
    text = (HERE / "docs" / "facts.md").read_text(encoding="utf-8")
    table = text.split("\n## A device\n")[1].split("\n## ")[0]
    found = {"id": None}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) < 2 or not cells[0].startswith("`"):
            continue
        parts = keys(cells[1]) if cells[1].lstrip("`[").startswith("{") else None
        found.update(dict.fromkeys(re.findall(r"`([a-z_0-9]+)`", cells[0]), parts))
    return found


def test_the_schema_is_the_documented_one():
    told = documented()
    assert set(DEVICE) == set(told)
    for name, parts in told.items():
        form = DEVICE[name].of if isinstance(DEVICE[name], Many) else DEVICE[name]
        if parts is not None and not isinstance(form, Open):
            # each mapping may say why one of its values is unknown
            assert set(form) - {"unknown"} == parts - {"unknown"}, name


def test_keys_of_a_documented_mapping():
    assert keys("[{a: {b, c}, d: [x, y], e}] and {f}") == {"a", "d", "e"}


def misfits(value, form, path):
    """Where a value is not of its form."""
    if value is None or form is None:
        return []
    if isinstance(form, Many):
        if not isinstance(value, list):
            return [path]
        return [miss for item in value for miss in misfits(item, form.of, f"{path}[]")]
    if isinstance(form, str):
        kinds = {"string": str, "number": (int, float), "boolean": bool}
        is_right = isinstance(value, kinds[form]) and (form == "boolean" or not isinstance(value, bool))
        return [] if is_right else [path]
    if not isinstance(value, dict):
        return [path]
    forms = dict.fromkeys(value, form.of) if isinstance(form, Open) else form
    extra = [f"{path}.{key}" for key in value if key not in forms]
    return extra + [miss for key in value if key in forms for miss in misfits(value[key], forms[key], f"{path}.{key}")]


def test_devices_of_every_model_have_the_form_of_the_schema(tmp_path):
    pytest.importorskip("yaml")
    from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models

    looked_at = 0
    for name, path in machine_models.shipped().items():
        tree.write(str(tmp_path / name), layout.entries(machine_models.load(path)))
        for row in observe(Host(str(tmp_path / name)))["devices"]:
            assert misfits(row, DEVICE, "device") == [], name
            assert set(row) == set(DEVICE), name
            looked_at += 1
    assert looked_at >= 8


def test_a_misfit_is_found():
    assert misfits({"id": 1, "pci": {"more": "x"}, "path": "x", "nodes": [{"major": True}]}, DEVICE, "d") == [
        "d.id",
        "d.pci.more",
        "d.path",
        "d.nodes[].major",
    ]
