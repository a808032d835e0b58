# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specs, as each loader that engines embed understands them.

An engine does not read a spec by a published schema but by the library that it was built with. ``parse`` says what one
of these makes of a text, ``resolve`` which names its files have then; both are tried against the libraries themselves
(container-device-interface, 2026-12, see ``tests/cdi``).
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Callable, NamedTuple, Optional

from .document import DocumentError, Plain, Tree, is_null, read

VERSIONS = ("0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0")
"""Every released ``cdiVersion`` that a loader accepts, oldest first (specs-go/version.go, read 2026-12)."""

LOADERS = ("0.5.4", "0.6.2", "0.7.2", "0.8.1", "1.0.1", "1.1.0", "1.1.1", "1.1.2")
"""The releases of the library that differ in what they load, oldest first."""

NEWEST = LOADERS[-1]

HOOKS = ("prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop")
"""The hooks of the OCI runtime specification that a spec may add."""


class Node(NamedTuple):
    """A device file for the container. Both numbers 0: the engine looks at the host's own file."""

    path: str
    host_path: str = ""
    type: str = ""
    major: int = 0
    minor: int = 0
    file_mode: Optional[int] = None
    permissions: str = ""
    uid: Optional[int] = None
    gid: Optional[int] = None

    @property
    def source(self) -> str:
        """The file on the host."""
        return self.host_path or self.path


class Mount(NamedTuple):
    """A file or folder of the host in the container."""

    host_path: str
    container_path: str
    options: tuple[str, ...] = ()
    type: str = ""


class Hook(NamedTuple):
    """A program of the host that runs around the container's start or end."""

    name: str
    path: str
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    timeout_seconds: Optional[int] = None


class NetDevice(NamedTuple):
    """A network interface of the host that moves into the container."""

    host_interface: str
    name: str


class IntelRdt(NamedTuple):
    """Shares of cache and memory bandwidth (resctrl)."""

    clos_id: str = ""
    l3_cache_schema: str = ""
    mem_bw_schema: str = ""
    schemata: Optional[tuple[str, ...]] = None
    enable_monitoring: bool = False
    enable_cmt: bool = False
    enable_mbm: bool = False


class Edits(NamedTuple):
    """What changes in a container."""

    env: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    net_devices: tuple[NetDevice, ...] = ()
    hooks: tuple[Hook, ...] = ()
    mounts: tuple[Mount, ...] = ()
    intel_rdt: Optional[IntelRdt] = None
    additional_gids: tuple[int, ...] = ()


class Device(NamedTuple):
    """A device by its name, without its kind."""

    name: str
    edits: Edits = Edits()
    annotations: tuple[tuple[str, str], ...] = ()


class Spec(NamedTuple):
    """A spec: its devices, and what changes in every container that gets one of them."""

    version: str
    kind: str
    devices: tuple[Device, ...] = ()
    edits: Edits = Edits()
    annotations: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The full names of its devices: ``vendor/class=name``."""
        return tuple(f"{self.kind}={device.name}" for device in self.devices)

    @property
    def all_edits(self) -> tuple[Edits, ...]:
        """Those of the spec, and those of each device."""
        return (self.edits, *(device.edits for device in self.devices))


class SpecError(ValueError):
    """A loader refuses the text; ``is_crash``: its engine goes down at it."""

    def __init__(self, message: str, is_crash: bool = False) -> None:
        super().__init__(message)
        self.is_crash = is_crash


def parse(text: str, loader: str = NEWEST) -> Spec:
    """What the loader makes of the text of a spec file, JSON or YAML. SpecError, NoYamlError."""
    try:
        return from_tree(read(text), loader)
    except DocumentError as error:
        raise SpecError(f"no YAML or JSON: {error}") from None


def from_tree(tree: Tree, loader: str = NEWEST) -> Spec:
    """As ``parse``, from a text that was read. SpecError."""
    if tree is None or is_null(tree):
        raise SpecError("it is empty")
    spec: Spec = _Reader(loader).record(_SPEC, tree, "the spec")
    _check(spec, loader)
    return spec


def needed_version(spec: Spec) -> str:
    """The lowest ``cdiVersion`` that has every field in use (SPEC.md of container-device-interface, read 2026-12)."""
    return _needed_version(spec, spec.all_edits, NEWEST)


def _enforced_version(spec: Spec, loader: str) -> str:
    """The lowest ``cdiVersion`` that the loader lets pass with these fields.

    Of ``hostPath`` and of the type of a mount it sees only those of the last device, as often as there are devices:
    the library keeps the address of a loop's variable, and asks for Go 1.19, where each turn shares it (1.1.2 as well).
    """
    return _needed_version(spec, (spec.edits, *(device.edits for device in spec.devices[-1:])), loader)


def _needed_version(spec: Spec, seen: Sequence[Edits], loader: str) -> str:
    rdts = [one.intel_rdt for one in spec.all_edits if one.intel_rdt is not None]
    needs = (
        (
            "1.1.0",
            any(one.net_devices for one in spec.all_edits)
            or any(rdt.schemata is not None or rdt.enable_monitoring for rdt in rdts),
        ),
        ("0.7.0", bool(rdts) or any(one.additional_gids for one in spec.all_edits)),
        (
            "0.6.0",
            bool(spec.annotations)
            or any(device.annotations for device in spec.devices)
            or "." in spec.kind.partition("/")[2],
        ),
        (
            "0.5.0",
            any(not _LETTER.match(device.name) for device in spec.devices)
            or any(node.host_path for one in seen for node in one.nodes),
        ),
        ("0.4.0", any(mount.type for one in seen for mount in one.mounts)),
    )
    return next((version for version, is_needed in needs if is_needed and is_at_least(loader, version)), VERSIONS[0])


def is_at_least(version: str, floor: str) -> bool:
    """Whether a version of the specification or of the library is not older than another."""
    return _numbers(version) >= _numbers(floor)


def accepted_version(loader: str) -> str:
    """The highest ``cdiVersion`` that a release of the library accepts: those of 0.5 accept 0.5.0, and so on."""
    return max((version for version in VERSIONS if _numbers(version)[:2] <= _numbers(loader)[:2]), key=_numbers)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def resolve(folders: Sequence[Mapping[str, Spec]]) -> dict[str, Optional[str]]:
    """Each full name in the specs that load, with the file that it comes from; None where it resolves to nothing.

    ``folders`` in rising precedence, of each the specs by their paths. A name that stands in two files of one folder is
    lost, even where a folder of higher precedence has it too (pkg/cdi/cache.go, every release).
    """
    found: dict[str, Optional[str]] = {}
    lost: set[str] = set()
    for folder in folders:
        here: set[str] = set()
        for path, spec in folder.items():
            lost |= here.intersection(spec.names)
            here.update(spec.names)
            found.update(dict.fromkeys(spec.names, path))
    return {name: None if name in lost else path for name, path in found.items()}


_LETTER = re.compile(r"[A-Za-z]")
_QUALIFIER = re.compile(r"[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?\Z")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:-]*[A-Za-z0-9])?\Z")


def _check(spec: Spec, loader: str) -> None:
    """What the loader looks at once a text is read. SpecError."""
    version = spec.version[1:] if spec.version.startswith("v") else spec.version
    if version not in VERSIONS or not is_at_least(accepted_version(loader), version):
        raise SpecError(f"cdiVersion {spec.version!r} is not known")
    needed = _enforced_version(spec, loader)
    if not is_at_least(version, needed):
        raise SpecError(f"cdiVersion is {spec.version}, and its fields need {needed}")
    vendor, _slash, kind_class = spec.kind.partition("/")
    has_dot = "." in kind_class and not is_at_least(loader, "0.6.0")
    for part, what in ((vendor, "vendor"), (kind_class, "class")):
        if not vendor or not kind_class or not _QUALIFIER.match(part) or (has_dot and part is kind_class):
            raise SpecError(f"kind {spec.kind!r} has no valid {what}")
        if len(part) == 1 and not is_at_least(loader, "1.1.1"):
            raise SpecError(f"kind {spec.kind!r} has a {what} of one letter", is_crash=True)
    _check_edits(spec.edits, "the spec", loader)
    seen = set()
    for device in spec.devices:
        if not _NAME.match(device.name):
            raise SpecError(f"{device.name!r} is no name of a device")
        if device.edits == Edits():
            raise SpecError(f"device {device.name} changes nothing")
        _check_edits(device.edits, f"device {device.name}", loader)
        if device.name in seen:
            raise SpecError(f"device {device.name} stands in it twice")
        seen.add(device.name)
    if not spec.devices and is_at_least(loader, "1.0.0"):
        raise SpecError("it has no device")


def _check_edits(edits: Edits, whose: str, loader: str) -> None:
    for flaw in _flaws(edits, _numbers(loader)):
        raise SpecError(f"{whose}: {flaw}")


def _flaws(edits: Edits, loader: tuple[int, ...]) -> Iterator[str]:
    yield from _env_flaws(edits.env)
    for node in edits.nodes:
        if not node.path:
            yield "a device file without a path"
        if node.type not in ("", "b", "c", "u", "p"):
            yield f"{node.path} has the type {node.type!r}"
        if loader >= (1, 1, 2) and (node.major < 0 or node.minor < 0):
            yield f"{node.path} has the number {node.major}:{node.minor}"
        if node.permissions.strip("rwm") and not (loader >= (1, 1, 1) and node.permissions == "none"):
            yield f"{node.path} has the permissions {node.permissions!r}"
    for hook in edits.hooks:
        if hook.name not in HOOKS:
            yield f"no hook is called {hook.name!r}"
        if not hook.path:
            yield f"the hook {hook.name} has no path"
        yield from _env_flaws(hook.env)
    for mount in edits.mounts:
        if not mount.host_path or not mount.container_path:
            yield f"a mount without a path: {mount.host_path or mount.container_path!r}"
    if edits.intel_rdt is not None:
        clos_id = edits.intel_rdt.clos_id
        is_root = clos_id == "/" and loader >= (1, 1)
        if not is_root and (len(clos_id.encode()) >= 4096 or clos_id in (".", "..") or re.search("[/\n]", clos_id)):
            yield f"closID is {clos_id[:40]!r}"
    for devices in ([d.host_interface for d in edits.net_devices], [d.name for d in edits.net_devices]):
        if "" in devices or len(set(devices)) < len(devices):
            yield "a network interface without a name, or one that stands in it twice"


def _env_flaws(env: Sequence[str]) -> Iterator[str]:
    return (f"{entry!r} sets no variable" for entry in env if entry.find("=") <= 0)


class _Field(NamedTuple):
    """A field of a mapping: its name in our record, how it is read, and the loaders that know it."""

    attribute: str
    read: Callable[[_Reader, Any, str], Any]
    since: tuple[int, ...] = (0, 5)
    before: tuple[int, ...] = (99,)


class _Shape(NamedTuple):
    """A kind of mapping: the record it becomes, the fields that must be there to make one, and all of its fields."""

    record: Callable[..., Any]
    blanks: Mapping[str, Any]
    fields: Mapping[str, _Field]


class _Reader:
    """One loader's way to fill its structures.

    Up to 1.1.0 the text goes through JSON (sigs.k8s.io/yaml), from 1.1.1 on straight from YAML (go.yaml.in/yaml/v3):
    other words mean a truth value, case counts, and an empty entry of a list is dropped where it was a zero.
    """

    def __init__(self, loader: str) -> None:
        self.loader = _numbers(loader)
        self.is_by_json = self.loader < (1, 1, 1)

    def record(self, shape: _Shape, value: Any, where: str) -> Any:
        values = dict(shape.blanks)
        if not is_null(value):
            if not isinstance(value, dict):
                raise SpecError(f"{where} is no mapping")
            for key, part in sorted(value.items()) if self.is_by_json else value.items():  # of two, the last one counts
                field = self.field(shape, key)
                if field is None:
                    raise SpecError(f"{where} has no field {str(key)!r}")
                if not is_null(part):
                    values[field.attribute] = field.read(self, part, f"{key} of {where}")
        return shape.record(**values)

    def field(self, shape: _Shape, key: str) -> Optional[_Field]:
        field = shape.fields.get(key)
        if field is None and self.is_by_json:
            field = next((field for name, field in shape.fields.items() if name.lower() == key.lower()), None)
        return field if field is not None and field.since <= self.loader < field.before else None

    def entries(self, value: Any, where: str) -> list[Any]:
        """The entries of a list of values; an empty one is a zero value or, from 1.1 on, not there."""
        if not isinstance(value, list):
            raise SpecError(f"{where} is no list")
        return [part for part in value if self.is_by_json or not is_null(part)]

    def text(self, value: Any, where: str) -> str:
        if not isinstance(value, str):
            raise SpecError(f"{where} is no text")
        if is_null(value):
            return ""
        return _through_json(value) if isinstance(value, Plain) and self.is_by_json else str(value)

    def texts(self, value: Any, where: str) -> tuple[str, ...]:
        return tuple(self.text(part, where) for part in self.entries(value, where))

    def pairs(self, value: Any, where: str) -> tuple[tuple[str, str], ...]:
        if not isinstance(value, dict):
            raise SpecError(f"{where} is no mapping")
        return tuple((self.text(key, where), self.text(part, where)) for key, part in value.items())

    def number(self, value: Any, where: str, lowest: int, highest: int) -> int:
        number = _number(value) if isinstance(value, Plain) else None
        if isinstance(number, float):
            is_whole = abs(number) < 1e21 and number == int(number)  # JSON has an exponent from there on
            number = (_digits(number) if is_whole else None) if self.is_by_json else _truncated(number)
        if number is None or not lowest <= number <= highest:
            raise SpecError(f"{where} is {_shown(value)}, no number from {lowest} to {highest}")
        return number

    def long(self, value: Any, where: str) -> int:
        return self.number(value, where, -(2**63), 2**63 - 1)

    def unsigned(self, value: Any, where: str) -> int:
        return self.number(value, where, 0, 2**32 - 1)

    def unsigneds(self, value: Any, where: str) -> tuple[int, ...]:
        parts = self.entries(value, where)
        return tuple(0 if is_null(part) else self.unsigned(part, where) for part in parts)

    def flag(self, value: Any, where: str) -> bool:
        words = _WORDS if self.is_by_json else {**_TRUTHS, **_OTHER_TRUTHS}
        is_quoted_word = not self.is_by_json and isinstance(value, str) and value in _OTHER_TRUTHS
        if not (isinstance(value, Plain) or is_quoted_word) or value not in words:
            raise SpecError(f"{where} is {_shown(value)}, neither true nor false")
        return words[value]


def _shown(value: Any) -> str:
    return repr(str(value)[:40]) if isinstance(value, str) else "a list or a mapping"


def _many(shape: _Shape) -> Callable[[_Reader, Any, str], Any]:
    """A list of mappings."""
    return lambda reader, value, where: tuple(
        reader.record(shape, part, where) for part in reader.entries(value, where)
    )


def _pointers(shape: _Shape, crashes_before: tuple[int, ...] = (99,)) -> Callable[[_Reader, Any, str], Any]:
    """A list of mappings that the loader holds as pointers: older ones follow an empty one."""

    def read_all(reader: _Reader, value: Any, where: str) -> Any:
        if isinstance(value, list) and any(map(is_null, value)):
            raise SpecError(f"an entry of {where} is empty", is_crash=reader.loader < crashes_before)
        return tuple(reader.record(shape, part, where) for part in reader.entries(value, where))

    return read_all


def _one(shape: _Shape) -> Callable[[_Reader, Any, str], Any]:
    return lambda reader, value, where: reader.record(shape, value, where)


_TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_OTHER_TRUTHS = {"y": True, "Y": True, "yes": True, "on": True, "n": False, "N": False, "no": False, "off": False}
_WORDS = {
    **_TRUTHS,
    **_OTHER_TRUTHS,
    **dict.fromkeys(("Yes", "YES", "On", "ON"), True),
    **dict.fromkeys(("No", "NO", "Off", "OFF"), False),
}
_INTEGER = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")


def _number(text: str) -> int | float | None:
    """What both YAML libraries of Go take for a number (resolve.go of yaml.v2 2.4 and yaml.v3 3.0)."""
    digits = text.replace("_", "") if text[:1] in tuple("+-.0123456789") else ""
    whole = _INTEGER.match(digits)
    if whole is not None:
        sign, *parts = whole.groups()
        number = next(int(part, base) for part, base in zip(parts, (16, 2, 8, 10)) if part is not None)
        number = -number if sign == "-" else number
        if -(2**63) <= number < 2**64:
            return number
    return float(digits) if _FLOAT.match(digits) else None


def _digits(number: float) -> int:
    """A whole number as JSON has it: the shortest digits that mean it, then zeros."""
    mantissa, _e, power = repr(number).partition("e")
    whole, _dot, fraction = mantissa.partition(".")
    return int(whole + fraction) * 10 ** (int(power) - len(fraction)) if power else int(number)


def _truncated(number: float) -> Optional[int]:
    return int(number) if abs(number) < 2**64 else None


def _through_json(plain: str) -> str:
    """A plain scalar that a loader up to 1.0 puts where a text belongs: ``0x10`` is 16 there, ``yes`` is true."""
    if plain in _WORDS:
        return str(_WORDS[plain]).lower()
    number = _number(plain)
    if number is None or number in (float("inf"), float("-inf")):
        return str(plain)
    return str(number) if isinstance(number, int) else _short_float(number)


def _short_float(number: float) -> str:
    """``strconv.FormatFloat(number, 'g', -1, 32)`` of Go: the shortest digits that mean the same in 32 bits."""
    try:
        single = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return "+Inf" if number > 0 else "-Inf"
    shortest = next(
        text
        for text in (f"{single:.{more}e}" for more in range(9))
        if struct.pack("f", float(text)) == struct.pack("f", single)
    )
    mantissa, _e, exponent = shortest.partition("e")
    power = int(exponent)
    if -4 <= power < 6:
        digits = len(mantissa.lstrip("-").replace(".", ""))
        return f"{float(shortest):.{max(digits - 1 - power, 0)}f}"
    return f"{mantissa}e{power:+03d}"


_TEXT, _TEXTS, _LONG, _UNSIGNED, _FLAG = _Reader.text, _Reader.texts, _Reader.long, _Reader.unsigned, _Reader.flag

_NODE = _Shape(
    Node,
    {"path": ""},
    {
        "path": _Field("path", _TEXT),
        "hostPath": _Field("host_path", _TEXT),
        "type": _Field("type", _TEXT),
        "major": _Field("major", _LONG),
        "minor": _Field("minor", _LONG),
        "fileMode": _Field("file_mode", _UNSIGNED),
        "permissions": _Field("permissions", _TEXT),
        "uid": _Field("uid", _UNSIGNED),
        "gid": _Field("gid", _UNSIGNED),
    },
)
_MOUNT = _Shape(
    Mount,
    {"host_path": "", "container_path": ""},
    {
        "hostPath": _Field("host_path", _TEXT),
        "containerPath": _Field("container_path", _TEXT),
        "options": _Field("options", _TEXTS),
        "type": _Field("type", _TEXT),
    },
)
_HOOK = _Shape(
    Hook,
    {"name": "", "path": ""},
    {
        "hookName": _Field("name", _TEXT),
        "path": _Field("path", _TEXT),
        "args": _Field("args", _TEXTS),
        "env": _Field("env", _TEXTS),
        "timeout": _Field("timeout_seconds", _LONG),
    },
)
_NET_DEVICE = _Shape(
    NetDevice,
    {"host_interface": "", "name": ""},
    {"hostInterfaceName": _Field("host_interface", _TEXT), "name": _Field("name", _TEXT)},
)
_INTEL_RDT = _Shape(
    IntelRdt,
    {},
    {
        "closID": _Field("clos_id", _TEXT),
        "l3CacheSchema": _Field("l3_cache_schema", _TEXT),
        "memBwSchema": _Field("mem_bw_schema", _TEXT),
        "schemata": _Field("schemata", _TEXTS, (1, 1)),
        "enableMonitoring": _Field("enable_monitoring", _FLAG, (1, 1)),
        "enableCMT": _Field("enable_cmt", _FLAG, (0, 7), (1, 1)),
        "enableMBM": _Field("enable_mbm", _FLAG, (0, 7), (1, 1)),
    },
)
_EDITS = _Shape(
    Edits,
    {},
    {
        "env": _Field("env", _TEXTS),
        "deviceNodes": _Field("nodes", _pointers(_NODE)),
        "netDevices": _Field("net_devices", _pointers(_NET_DEVICE, (1, 1, 2)), (1, 1)),
        "hooks": _Field("hooks", _pointers(_HOOK, (1, 1, 2))),
        "mounts": _Field("mounts", _pointers(_MOUNT)),
        "intelRdt": _Field("intel_rdt", _one(_INTEL_RDT), (0, 7)),
        "additionalGids": _Field("additional_gids", _Reader.unsigneds, (0, 7)),
    },
)
_DEVICE = _Shape(
    Device,
    {"name": ""},
    {
        "name": _Field("name", _TEXT),
        "annotations": _Field("annotations", _Reader.pairs, (0, 6)),
        "containerEdits": _Field("edits", _one(_EDITS)),
    },
)
_SPEC = _Shape(
    Spec,
    {"version": "", "kind": ""},
    {
        "cdiVersion": _Field("version", _TEXT),
        "kind": _Field("kind", _TEXT),
        "annotations": _Field("annotations", _Reader.pairs, (0, 6)),
        "devices": _Field("devices", _many(_DEVICE)),
        "containerEdits": _Field("edits", _one(_EDITS)),
    },
)


def render(spec: Spec) -> str:
    """The spec as JSON, the same text for the same spec. ValueError for one that the newest loader refuses."""
    _check(spec, NEWEST)
    if any(one.intel_rdt and (one.intel_rdt.enable_cmt or one.intel_rdt.enable_mbm) for one in spec.all_edits):
        raise ValueError("enableCMT and enableMBM are not known any more")
    text = json.dumps(_written(_SPEC, spec), indent=2, ensure_ascii=False)
    text.encode()  # half a character is none: ValueError
    return "".join(f"{line if line.isprintable() else _escaped(line)}\n" for line in text.split("\n"))


def _escaped(line: str) -> str:
    """Loaders take JSON for YAML, which has other ends of lines, and no pairs of surrogates."""
    return "".join(f"\\u{ord(one):04x}" if ord(one) < 0x10000 and not one.isprintable() else one for one in line)


def _written(shape: _Shape, record: Any) -> dict[str, Any]:
    """A record as a mapping, in the order of its fields, without those that say nothing."""
    found: dict[str, Any] = {}
    for key, field in shape.fields.items():
        value = getattr(record, field.attribute)
        is_needed = field.attribute in shape.blanks
        if value is None or (not is_needed and value in ((), "", 0, False, Edits()) and field.attribute not in _KEPT):
            continue
        found[key] = _written_value(value)
    return found


_KEPT = ("file_mode", "uid", "gid", "timeout_seconds", "schemata", "intel_rdt")  # 0 and empty are said, None is not


def _written_value(value: Any) -> Any:
    shape = _SHAPES.get(type(value))
    if shape is not None:
        return _written(shape, value)
    if isinstance(value, tuple):
        # pairs are plain tuples; a record is one too, by its class
        if value and all(isinstance(part, tuple) and type(part) not in _SHAPES for part in value):
            return dict(value)
        return [_written_value(part) for part in value]
    return value


_SHAPES: Mapping[type, _Shape] = {
    Node: _NODE,
    Mount: _MOUNT,
    Hook: _HOOK,
    NetDevice: _NET_DEVICE,
    IntelRdt: _INTEL_RDT,
    Edits: _EDITS,
    Device: _DEVICE,
}
