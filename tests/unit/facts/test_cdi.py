# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specs: which files count, what each gives, and why one gives nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import cdi

SPEC = {
    "cdiVersion": "0.5.0",
    "kind": "vendor.com/device",
    "devices": [{"name": name, "containerEdits": {"deviceNodes": [{"path": "/dev/null"}]}} for name in ("0", "all")],
}


def seen(host: Any, *configured: str) -> dict[str, Any]:
    section, reason = cdi.observe(host, configured)
    assert section is not None and reason is None
    return section


def test_a_node_without_specs(grow: Any) -> None:
    assert seen(grow({"/etc/hosts": ""})) == {"directories": ["/etc/cdi", "/var/run/cdi"], "specs": [], "unknown": {}}


def test_a_tree_without_files_of_a_node(grow: Any) -> None:
    assert cdi.observe(grow({"/sys/kernel/x": ""})) == (None, "/etc not there")


def test_a_spec(grow: Any) -> None:
    host = grow({"/etc/cdi/vendor.json": json.dumps(SPEC)})
    (row,) = seen(host)["specs"]
    assert row == {
        "path": "/etc/cdi/vendor.json",
        "kind": "vendor.com/device",
        "version": "0.5.0",
        "devices": ["0", "all"],
        "mode": row["mode"],
        "valid": True,
        "error": None,
        "unknown": {},
    }
    assert row["mode"] in ("0644", "0664", "0600")


def test_which_files_count(grow: Any) -> None:
    names = ("b.json", "a.yaml", "c.yml", "d.json.tmp", "below/e.json", ".hidden.json")
    host = grow({f"/etc/cdi/{name}": json.dumps(SPEC) for name in names})
    assert [row["path"] for row in seen(host)["specs"]] == [
        f"/etc/cdi/{name}" for name in (".hidden.json", "a.yaml", "b.json")
    ]


def test_a_folder_that_two_paths_lead_to_is_read_once(grow: Any) -> None:
    host = grow({"/etc/hosts": "", "/var/run": "-> ../run", "/run/cdi/x.json": json.dumps(SPEC)})
    section = seen(host, "/run/cdi", "/srv/cdi")
    assert section["directories"] == ["/etc/cdi", "/var/run/cdi", "/run/cdi", "/srv/cdi"]
    assert [row["path"] for row in section["specs"]] == ["/var/run/cdi/x.json"]


def test_a_folder_that_an_engine_names(grow: Any) -> None:
    host = grow({"/etc/hosts": "", "/srv/cdi/x.json": json.dumps(SPEC)})
    assert [row["path"] for row in seen(host, "/srv/cdi")["specs"]] == ["/srv/cdi/x.json"]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("", "it is empty"),
        ("{", "no YAML or JSON"),
        ("{}", "cdiVersion"),
        (json.dumps({**SPEC, "cdiVersion": "9.9.9"}), "9.9.9"),
        (json.dumps({**SPEC, "kind": "device"}), "device"),
        (json.dumps({**SPEC, "devices": []}), "device"),
    ],
)
def test_a_spec_that_no_loader_takes(grow: Any, content: str, error: str) -> None:
    (row,) = seen(grow({"/etc/cdi/x.json": content}))["specs"]
    assert (row["valid"], row["kind"], row["devices"]) == (False, None, None)
    assert error in row["error"]
    assert row["unknown"] == dict.fromkeys(("devices", "kind", "version"), "no loader takes the file")


def test_a_spec_that_cannot_be_read(grow: Any) -> None:
    host = grow({"/etc/cdi/x.json": json.dumps(SPEC)}, broken="x.json")
    (row,) = seen(host)["specs"]
    assert row["valid"] is None and row["error"] is None
    assert row["unknown"]["valid"] == "cannot be read (Input/output error)"


def test_yaml_without_its_package_is_unknown(grow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    host = grow({"/etc/cdi/x.yaml": "cdiVersion: 0.5.0", "/etc/cdi/y.yaml": json.dumps(SPEC)})
    first, second = seen(host)["specs"]
    assert first["valid"] is None and "PyYAML" in first["unknown"]["valid"]
    assert second["valid"] is True


def test_a_folder_that_cannot_be_read(grow: Any) -> None:
    section = seen(grow({"/etc/cdi": "a file", "/srv/loop": "-> loop"}), "/srv/loop")
    assert section["specs"] == []
    assert list(section["unknown"]) == ["directories.2"]
