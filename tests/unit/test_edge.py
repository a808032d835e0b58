# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The edge to Ansible: what leaves it is UTF-8, whatever the names of files and devices are."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("ansible", reason="Ansible sends its own half of the edge along")

from ansible_collections.accelerator.ops.plugins.module_utils import edge
from ansible_collections.accelerator.ops.plugins.module_utils.model.call import Outcome
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError


class Module:
    """Stands for Ansible's module: it keeps the result."""

    params: dict = {}
    left: dict = {}
    check_mode = _diff = False
    _name = "test"

    def __init__(self, argument_spec, supports_check_mode):
        assert supports_check_mode

    def exit_json(self, **result):
        Module.left = result

    fail_json = exit_json


def left_by(monkeypatch, work):
    monkeypatch.setattr(edge, "AnsibleModule", Module)
    edge.run({}, work)
    json.dumps(Module.left, ensure_ascii=False).encode("utf-8")
    return Module.left


def test_names_that_are_not_utf8_are_written_as_such(monkeypatch):
    name = b"eth\xff".decode("utf-8", "surrogateescape")
    result = left_by(monkeypatch, lambda wish: Outcome(False, {"nics": [{"name": name, "at": {name: 1}}]}))
    assert result == {"changed": False, "nics": [{"name": "eth\\xff", "at": {"eth\\xff": 1}}]}


def test_half_a_character_is_written_as_such(monkeypatch):
    assert left_by(monkeypatch, lambda wish: Outcome(False, {"serial": "a\ud800", "model": "é"})) == {
        "changed": False,
        "serial": "a\\ud800",
        "model": "é",
    }


def test_an_error_is_utf8_too(monkeypatch):
    def work(wish):
        raise InputError("open", "root \udcff", "no such folder", "a folder", "name one")

    assert "root \\xff" in left_by(monkeypatch, work)["msg"]
