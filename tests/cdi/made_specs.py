# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specs made by the throw of a dice: about half are whole, in the others something is as no loader, or not every
loader, wants it. Texts are JSON or YAML in blocks."""

from __future__ import annotations

import copy
import json


class Raw(str):
    """A scalar that stands without quotes."""


class Key(str):
    """A name that may stand twice in one mapping."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


SCALARS = [
    *map(
        Raw, ("null", "~", "true", "yes", "off", "y", "Yes", "0", "1", "-1", "5", "1.0", "1.5", "010", "0x1f", "0o17")
    ),
    *map(Raw, ("1e3", "1_000", "4294967295", "4294967296", "9223372036854775808", "1.10", ".5", "08", "1:30", "-0.5")),
    *("", "x", "5", "yes", "true", "A=1", "/dev/null", "none"),
    *([], {}, [Raw("null")], ["x"], {"x": "y"}, [Raw("5")]),
]
NAMES = [
    *("0", "a", "gpu0", "0:1", "GPU-8f6d5c3a-1b2c", "all", "a.b_c-d", "Z9", "-a", "a-", "a b", "é", "a/b", "", "a=b"),
    *map(Raw, ("0", "7", "0x10", "010", "yes", "1.10", "1e3", "0:1", "2020-01-01", "null", "true", "12345678.9")),
]
KINDS = [
    *("vendor.com/gpu", "vendor.com/net.rdma", "a1/b2", "v/gpu", "vendor.com/g", "vendor.com", "/gpu", "vendor.com/"),
    *("1vendor/gpu", "vendor_/gpu", "vendor.com/gpu/x", "vendor.com/g_p-u", "ven dor/gpu", "", Raw("null"), Raw("5")),
]
VERSIONS = [
    *("0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"),
    *("v0.6.0", "vv0.6.0", "0.6", "1.2.0", "", "0.3.1", Raw("0.6"), Raw("0.5.0"), Raw("null"), "0.6.0 "),
]
FIELDS = [
    *(
        "hostPath",
        "type",
        "permissions",
        "annotations",
        "intelRdt",
        "additionalGids",
        "netDevices",
        "schemata",
        "comment",
    ),
    *(
        "closID",
        "enableCMT",
        "uid",
        "timeout",
        "env",
        "devices",
        "name",
        "HOSTPATH",
        "Env",
        "path",
        "fileMode",
        "options",
    ),
]


def whole(dice):
    """A spec that is in order, of any version, with fields of that version."""
    version = dice.choice(["0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"])
    names = dice.sample(["gpu0", "gpu1", "all", "a", "GPU-1", *(["0", "0:1", "3"] if version >= "0.5.0" else [])], 3)
    spec = {
        "cdiVersion": version,
        "kind": dice.choice(["vendor.com/gpu", "vendor.com/nic", *(["other.org/a.b"] if version >= "0.6.0" else [])]),
        "devices": [_device(dice, name, version) for name in names[: dice.randrange(1, 4)]],
    }
    if dice.random() < 0.5:
        spec["containerEdits"] = _edits(dice, version)
    if version >= "0.6.0" and dice.random() < 0.2:
        spec["annotations"] = {"vendor.com/made": "by hand", "no name!": Raw("1")}
    return spec


def _device(dice, name, version):
    device = {"name": name, "containerEdits": _edits(dice, version)}
    if version >= "0.6.0" and dice.random() < 0.2:
        device["annotations"] = {"slot": Raw("4")}
    return device


def _edits(dice, version):
    parts = {
        "deviceNodes": lambda: [_node(dice, version) for _number in range(dice.randrange(1, 3))],
        "env": lambda: dice.sample(["A=1", "B=", "C=x=y", "PATH=/usr/bin:/bin"], 2),
        "mounts": lambda: [
            {
                "hostPath": "/usr/lib/libx.so.1",
                "containerPath": "/usr/lib/libx.so.1",
                **dice.choice([{}, {"options": ["ro", "nosuid", "bind"]}, {"options": []}]),
                **(dice.choice([{}, {"type": "bind"}]) if version >= "0.4.0" else {}),
            }
        ],
        "hooks": lambda: [
            {
                "hookName": dice.choice(["createContainer", "prestart", "poststop"]),
                "path": "/usr/bin/hook",
                **dice.choice([{}, {"args": ["hook", "--folder", Raw("0x10")], "env": ["D=1"]}, {"timeout": Raw("5")}]),
            }
        ],
    }
    if version >= "0.7.0":
        parts["additionalGids"] = lambda: [Raw("44"), Raw("0")]
        parts["intelRdt"] = lambda: {"closID": dice.choice(["gpu", ""]), "l3CacheSchema": "L3:0=f"}
    if version >= "1.1.0":
        parts["netDevices"] = lambda: [{"hostInterfaceName": "eth1", "name": "net0"}]
    return {name: parts[name]() for name in dice.sample(sorted(parts), dice.randrange(1, 4))}


def _node(dice, version):
    return {
        "path": dice.choice(["/dev/vendor0", "/dev/vendorctl", "/dev/dri/renderD128"]),
        **dice.choice([{}, {"type": "c", "major": Raw("195"), "minor": Raw("0")}, {"fileMode": Raw("0666")}]),
        **dice.choice([{}, {"permissions": "rw"}, {"uid": Raw("0"), "gid": Raw("44")}]),
        **(dice.choice([{}, {"hostPath": "/dev/vendor0"}]) if version >= "0.5.0" else {}),
    }


def _mappings(tree):
    """Every mapping in a tree."""
    if isinstance(tree, dict):
        yield tree
        for part in tree.values():
            yield from _mappings(part)
    elif isinstance(tree, list):
        for part in tree:
            yield from _mappings(part)


def _lists(tree):
    return [part for mapping in _mappings(tree) for part in mapping.values() if isinstance(part, list)]


def _wrong_scalar(dice, spec):
    mapping = dice.choice(list(_mappings(spec)))
    if mapping:
        mapping[dice.choice(list(mapping))] = copy.deepcopy(dice.choice(SCALARS))


def _wrong_field(dice, spec):
    dice.choice(list(_mappings(spec)))[dice.choice(FIELDS)] = copy.deepcopy(dice.choice(SCALARS))


def _missing_field(dice, spec):
    mapping = dice.choice(list(_mappings(spec)))
    if mapping:
        del mapping[dice.choice(list(mapping))]


def _other_case(dice, spec):
    mapping = dice.choice(list(_mappings(spec)))
    name = dice.choice(list(mapping) or ["x"])
    if name in mapping:
        mapping[dice.choice([name.upper(), name.lower(), name[:1].upper() + name[1:]])] = mapping.pop(name)


def _field_twice(dice, spec):
    mapping = dice.choice(list(_mappings(spec)))
    name = dice.choice(list(mapping) or ["x"])
    if name in mapping:
        mapping[Key(name)] = copy.deepcopy(mapping[name])


def _wrong_entry(dice, spec):
    entries = dice.choice(_lists(spec) or [[]])
    entries.insert(dice.randrange(len(entries) + 1), copy.deepcopy(dice.choice([Raw("null"), *SCALARS])))


def _fewer_entries(dice, spec):
    dice.choice(_lists(spec) or [[]]).clear()


def _device_twice(dice, spec):
    if isinstance(spec.get("devices"), list) and spec["devices"]:
        spec["devices"].append(copy.deepcopy(dice.choice(spec["devices"])))


def _name(dice, spec):
    devices = spec.get("devices")
    if isinstance(devices, list) and devices and isinstance(devices[0], dict):
        devices[0]["name"] = dice.choice(NAMES)


FAULTS = [
    *(_wrong_scalar, _wrong_field, _missing_field, _other_case, _field_twice, _wrong_entry, _fewer_entries),
    *(_device_twice, _name, _name),
    lambda dice, spec: spec.__setitem__("cdiVersion", dice.choice(VERSIONS)),
    lambda dice, spec: spec.__setitem__("cdiVersion", dice.choice(VERSIONS)),
    lambda dice, spec: spec.__setitem__("kind", dice.choice(KINDS)),
]


def text(dice):
    """The text of a spec."""
    spec = whole(dice)
    for _number in range(dice.choice([0, 0, 1, 1, 2])):
        dice.choice(FAULTS)(dice, spec)
    return dice.choice(["---\n", ""]) + _block(spec, 0) if dice.random() < 0.5 else flow(spec) + "\n"


def folders(dice):
    """Spec folders in rising precedence, each a mapping from file names to texts, that share names of devices."""
    found = []
    for _rank in range(2):
        files = {}
        for name in ("a", "b")[: dice.choice([0, 1, 2, 2])]:
            name += dice.choice([".json", ".yaml", ".yaml", ".yml", ""])
            shared = {**whole(dice), "kind": "vendor.com/gpu"}
            files[name] = flow(shared) if dice.random() < 0.8 else text(dice)
        found.append(files)
    return found


def flow(value):
    """JSON, but for scalars without quotes that only YAML knows."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return str(value) if isinstance(value, Raw) else json.dumps(value, ensure_ascii=False)


def _block(value, depth):
    """YAML in blocks, as programs write it: lists at the depth of their key."""
    lines = []
    for key, part in value.items():
        start = "  " * depth + str(key) + ":"
        if isinstance(part, dict) and part:
            lines.append(start + "\n" + _block(part, depth + 1))
        elif isinstance(part, list) and part:
            lines.append(start + "\n")
            for entry in part:
                if isinstance(entry, dict) and entry:
                    text = _block(entry, depth + 1)
                    lines.append("  " * depth + "- " + text[2 * depth + 2 :])
                else:
                    lines.append("  " * depth + "- " + flow(entry) + "\n")
        else:
            lines.append(start + " " + flow(part) + "\n")
    return "".join(lines)
