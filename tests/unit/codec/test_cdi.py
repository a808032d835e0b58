# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specs: what each loader makes of them (see also tests/cdi), the version they need, and what we write."""

from __future__ import annotations

import json

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import cdi
from ansible_collections.accelerator.ops.plugins.module_utils.codec.cdi import (
    Device,
    Edits,
    Hook,
    IntelRdt,
    Mount,
    NetDevice,
    Node,
    Spec,
    SpecError,
)

ONE = Edits(env=("A=1",))


def spec(*devices, version="0.5.0", **fields):
    return Spec(version, "vendor.com/gpu", tuple(devices) or (Device("gpu0", ONE),), **fields)


def text(**fields):
    """A spec in JSON, with these fields instead of, or beside, the few that it must have."""
    device = {"name": "gpu0", "containerEdits": {"env": ["A=1"], **fields.pop("edits", {})}}
    whole = {"cdiVersion": "1.1.0", "kind": "vendor.com/gpu", "devices": [device], **fields}
    return json.dumps(whole)


NEEDS = [
    (spec(), "0.3.0"),
    (spec(Device("a", Edits(mounts=(Mount("/a", "/a", type="bind"),))), Device("b", ONE)), "0.4.0"),
    (spec(Device("0", ONE)), "0.5.0"),
    (spec(Device("a", Edits(nodes=(Node("/dev/a", "/dev/b"),))), Device("b", ONE)), "0.5.0"),
    (spec(edits=Edits(nodes=(Node("/dev/a", "/dev/b"),))), "0.5.0"),
    (spec(annotations=(("a", "b"),)), "0.6.0"),
    (spec(Device("a", ONE, (("a", "b"),))), "0.6.0"),
    (spec()._replace(kind="vendor.com/gpu.x"), "0.6.0"),
    (spec(edits=Edits(additional_gids=(44,))), "0.7.0"),
    (spec(Device("0", Edits(intel_rdt=IntelRdt()))), "0.7.0"),
    (spec(edits=Edits(intel_rdt=IntelRdt(schemata=()))), "1.1.0"),
    (spec(edits=Edits(intel_rdt=IntelRdt(enable_monitoring=True))), "1.1.0"),
    (spec(Device("a", Edits(net_devices=(NetDevice("eth1", "net0"),)))), "1.1.0"),
]


@pytest.mark.parametrize(("wanted", "version"), NEEDS)
def test_the_version_that_the_fields_need(wanted, version):
    assert cdi.needed_version(wanted) == version


def test_a_loader_sees_only_the_last_device_use_a_host_path():
    early = spec(Device("a", Edits(nodes=(Node("/dev/a", "/dev/b"),))), Device("b", ONE), version="0.4.0")
    late = early._replace(devices=early.devices[::-1])
    assert cdi.parse(cdi.render(early)) == early
    with pytest.raises(ValueError, match=r"need 0\.5\.0"):
        cdi.render(late)


REFUSED = [
    (text(cdiVersion="1.2.0"), "cdiVersion '1.2.0' is not known", cdi.LOADERS),
    (text(cdiVersion="0.7.0"), "cdiVersion '0.7.0' is not known", ("0.5.4", "0.6.2")),
    (text(cdiVersion="0.5.0", annotations={"a": "b"}), "", cdi.LOADERS),
    (text(cdiVersion="0.5.0", kind="vendor.com/gpu.x"), "", cdi.LOADERS),
    (text(cdiVersion="0.6.0", kind="vendor.com/gpu.x"), "'0.6.0' is not known", ("0.5.4",)),
    (text(cdiVersion="0.4.0", edits={"deviceNodes": [{"path": "/x", "hostPath": "/y"}]}), "need 0.5.0", cdi.LOADERS),
    (text(cdiVersion="v0.3.0"), "", ()),
    (text(kind="gpu", cdiVersion="0.3.0"), "kind 'gpu' has no valid vendor", cdi.LOADERS),
    (text(kind="vendor.com/-gpu", cdiVersion="0.3.0"), "kind 'vendor.com/-gpu' has no valid class", cdi.LOADERS),
    (text(kind="vendor.com/g", cdiVersion="0.3.0"), "a class of one letter", cdi.LOADERS[:6]),
    (text(cdiVersion="0.3.0", devices=[]), "it has no device", cdi.LOADERS[4:]),
    (text(cdiVersion="0.3.0", note="x"), "the spec has no field 'note'", cdi.LOADERS),
    (text(cdiVersion="0.3.0", edits={"Env": ["B=2"]}), "has no field 'Env'", cdi.LOADERS[6:]),
    (text(cdiVersion="0.3.0", edits={"env": ["B"]}), "device gpu0: 'B' sets no variable", cdi.LOADERS),
    (text(cdiVersion="0.3.0", edits={"mounts": [{"hostPath": "/a"}]}), "a mount without a path", cdi.LOADERS),
    (
        text(cdiVersion="0.3.0", edits={"hooks": [{"hookName": "x", "path": "/x"}]}),
        "no hook is called 'x'",
        cdi.LOADERS,
    ),
    (text(cdiVersion="0.3.0", edits={"deviceNodes": [{"path": "/x", "major": "1"}]}), "no number", cdi.LOADERS),
    (text(cdiVersion="0.3.0", edits={"deviceNodes": [{"path": "/x", "permissions": "none"}]}), "none", cdi.LOADERS[:6]),
    (text(cdiVersion="0.3.0", edits={"deviceNodes": [{"path": "/x", "minor": -1}]}), "number 0:-1", cdi.LOADERS[7:]),
    ("[]", "the spec is no mapping", cdi.LOADERS),
    ("", "it is empty", cdi.LOADERS),
    ("{", "no YAML or JSON", cdi.LOADERS),
]


def refusals(given):
    """Why each loader that refuses the text does so."""
    found = {}
    for loader in cdi.LOADERS:
        try:
            cdi.parse(given, loader)
        except SpecError as error:
            found[loader] = error
    return found


@pytest.mark.parametrize(("given", "reason", "loaders"), REFUSED)
def test_a_loader_refuses(given, reason, loaders):
    found = refusals(given)
    assert tuple(found) == tuple(loaders)
    assert [error for error in found.values() if reason not in str(error)] == []


def test_at_what_an_engine_goes_down():
    assert refusals(text(cdiVersion="0.3.0", kind="v/gpu"))["1.1.0"].is_crash
    assert refusals(text(cdiVersion="0.3.0", edits={"mounts": [None]}))[cdi.NEWEST].is_crash
    assert not refusals(text(cdiVersion="0.3.0", edits={"hooks": [None]}))[cdi.NEWEST].is_crash


@pytest.mark.parametrize(
    ("written", "until_1_1_0", "since"),
    [
        ("0x10", "16", "0x10"),
        ("010", "8", "010"),
        ("yes", "true", "yes"),
        ("1.10", "1.1", "1.10"),
        ("1:0", "1:0", "1:0"),
    ],
)
def test_a_name_without_quotes_is_read_anew(written, until_1_1_0, since):
    given = f"cdiVersion: 0.5.0\nkind: vendor.com/gpu\ndevices: [{{name: {written}, containerEdits: {{env: [A=1]}}}}]\n"
    assert cdi.parse(given, "1.1.0").names == (f"vendor.com/gpu={until_1_1_0}",)
    assert cdi.parse(given, "1.1.1").names == (f"vendor.com/gpu={since}",)


@pytest.mark.parametrize(
    ("written", "until_1_1_0", "since"),
    [
        *((word, True, True) for word in ("true", "True", "TRUE", "y", "Y", "yes", "on")),
        *((word, False, False) for word in ("false", "False", "FALSE", "n", "N", "no", "off", "null")),
        *((word, True, None) for word in ("Yes", "YES", "On", "ON")),
        *((word, False, None) for word in ("No", "NO", "Off", "OFF")),
        *((word, None, True) for word in ('"yes"', "'on'")),
        *((word, None, None) for word in ("1", "'true'", "tRUE", "[true]")),
    ],
)
def test_what_is_true(written, until_1_1_0, since):
    given = (
        "cdiVersion: 1.1.0\nkind: vendor.com/gpu\ndevices: [{name: a, containerEdits: {env: [A=1]}}]\n"
        f"containerEdits: {{intelRdt: {{enableMonitoring: {written}}}}}\n"
    )
    for loader, expected in (("1.1.0", until_1_1_0), ("1.1.2", since)):
        if expected is None:
            with pytest.raises(SpecError, match="neither true nor false"):
                cdi.parse(given, loader)
        else:
            assert cdi.parse(given, loader).edits.intel_rdt.enable_monitoring is expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        *(("0x1F", 31), ("0b11", 3), ("0o17", 15), ("017", 15), ("1_0", 10), ("08", 8), ("1e3", 1000), ("2.0", 2)),
        *(("-9223372036854775808", -(2**63)), ("9223372036854775807", 2**63 - 1), ("+5", 5), ("-0x10", -16)),
        *(
            ("9223372036854775808", None),
            ("-1e19", None),
            ("1e400", None),
            ("0x", None),
            ("'1'", None),
        ),
    ],
)
def test_what_is_a_number(written, expected):
    given = (
        "cdiVersion: 0.5.0\nkind: vendor.com/gpu\ndevices: [{name: a, containerEdits: {env: [A=1]}}]\n"
        f"containerEdits: {{hooks: [{{hookName: prestart, path: /x, timeout: {written}}}]}}\n"
    )
    for loader in ("0.5.4", cdi.NEWEST):
        if expected is None:
            with pytest.raises(SpecError, match="no number from"):
                cdi.parse(given, loader)
        else:
            assert cdi.parse(given, loader).edits.hooks[0].timeout_seconds == expected


def test_a_number_that_is_too_long_is_rounded_on_the_way():
    """Through JSON it is written with the fewest digits, which are too many; straight from YAML it is cut."""

    def timeout(number, loader):
        hook = '{"hookName": "prestart", "path": "/x", "timeout": 77}'
        given = text(cdiVersion="0.5.0", edits={"hooks": [json.loads(hook)]}).replace("77", number)
        return cdi.parse(given, loader).devices[0].edits.hooks[0].timeout_seconds

    assert timeout("1e18", "1.1.0") == timeout("1e18", "1.1.2") == 10**18
    for number, expected in (("-9223372036854775809", -(2**63)), ("2.5", 2)):
        assert timeout(number, "1.1.2") == expected
        with pytest.raises(SpecError):
            timeout(number, "1.1.0")


@pytest.mark.parametrize(
    ("clos_id", "loaders"),
    [
        *((name, cdi.LOADERS[2:]) for name in ("", "gpu", "...", "a" * 4095)),
        *((name, ()) for name in (".", "..", "a/b", "a\n", "a" * 4096, "ä" * 2048)),
        ("/", cdi.LOADERS[5:]),
    ],
)
def test_the_name_of_a_class_of_service(clos_id, loaders):
    given = text(cdiVersion="0.7.0", containerEdits={"intelRdt": {"closID": clos_id}})
    assert tuple(loader for loader in cdi.LOADERS if loader not in refusals(given)) == loaders


def test_who_wins():
    one, more = spec(Device("a", ONE)), spec(Device("b", ONE))
    won = {"vendor.com/gpu=a": "/run/one", "vendor.com/gpu=b": "/etc/more"}
    assert cdi.resolve([{"/etc/one": one, "/etc/more": more}, {"/run/one": one}]) == won
    assert cdi.resolve([{"/etc/one": one, "/etc/other": one}, {}])["vendor.com/gpu=a"] is None
    # Even a folder that would win does not bring back a name that was lost.
    assert cdi.resolve([{"/etc/one": one, "/etc/other": one}, {"/run/one": one}])["vendor.com/gpu=a"] is None


FULL = Spec(
    "1.1.0",
    "vendor.com/gpu.x",
    (
        Device(
            "GPU-0:1",
            Edits(
                env=("A=äöü\x85\u2028😀", 'B="\\\t'),
                nodes=(Node("/dev/a", "/dev/b", "c", 195, 0, 0o660, "rw", 0, 44), Node("/dev/c")),
                net_devices=(NetDevice("eth1", "net0"),),
                hooks=(Hook("createContainer", "/usr/bin/hook", ("hook", "-x"), ("C=1",), 0),),
                mounts=(Mount("/usr/lib/a", "/usr/lib/a", ("ro", "bind"), "bind"), Mount("/b", "/b")),
                intel_rdt=IntelRdt("gpu", "L3:0=f", "MB:0=50", (), True),
                additional_gids=(0, 44),
            ),
            (("slot", "4"),),
        ),
        Device("all", ONE),
    ),
    ONE,
    (("vendor.com/made", "here"),),
)


def test_what_is_written_reads_the_same():
    assert cdi.parse(cdi.render(FULL)) == FULL
    assert cdi.render(cdi.parse(cdi.render(FULL))) == cdi.render(FULL)
    assert json.loads(cdi.render(FULL))["devices"][0]["containerEdits"]["deviceNodes"][1] == {"path": "/dev/c"}


def test_the_form_of_what_is_written():
    assert cdi.render(spec()) == (
        '{\n  "cdiVersion": "0.5.0",\n  "kind": "vendor.com/gpu",\n  "devices": [\n    {\n      "name": "gpu0",\n'
        '      "containerEdits": {\n        "env": [\n          "A=1"\n        ]\n      }\n    }\n  ]\n}\n'
    )


@pytest.mark.parametrize(
    "wrong",
    [
        spec(version="1.2.0"),
        spec(version="0.5.0", annotations=(("a", "b"),)),
        spec(Device("a b", ONE)),
        spec(Device("a", Edits())),
        spec(Device("a", ONE), Device("a", ONE)),
        spec(version="0.7.0", edits=Edits(intel_rdt=IntelRdt(enable_cmt=True))),
        spec(edits=Edits(env=("A=\ud83d",))),
    ],
)
def test_what_no_loader_takes_is_not_written(wrong):
    with pytest.raises(ValueError):
        cdi.render(wrong)


def test_the_version_that_a_library_accepts():
    accepted = [
        cdi.accepted_version(release) for release in ("0.4.0", "0.5.2", "0.6.1", "0.8.0", "1.0.1", "1.1.2", "1.9")
    ]
    assert accepted == ["0.4.0", "0.5.0", "0.6.0", "0.8.0", "1.0.0", "1.1.0", "1.1.0"]
