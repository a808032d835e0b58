# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of ``generation`` that would do nothing with the state that is wished for: one line, and nothing is done."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils import runner
from ansible_collections.accelerator.ops.plugins.module_utils.model.call import Call
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.generation import sensible

OPTIONS = {name: row.get("default") for name, row in runner.SHARED.items()}
DEFAULTS = {**OPTIONS, "state": "committed", "to": None, "services": None, "keep": 20}


def call(**wish):
    return Call("generation", {**DEFAULTS, **wish}, False, False)


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        (
            {"to": 2},
            "cannot use option to: state committed, expected state rolled_back; set state to rolled_back, or leave to"
            " out",
        ),
        (
            {"to": 0, "state": "recovered"},
            "cannot use option to: state recovered, expected state rolled_back; set state to rolled_back, or leave to"
            " out",
        ),
        (
            {"services": ["docker.service"]},
            "cannot use option services: state committed, expected state restarted; set state to restarted, or leave"
            " services out",
        ),
        (
            {"to": 2, "state": "rolled_back", "commit": "later"},
            "cannot use option commit: later, expected now; leave commit out: what this module does is not left open",
        ),
    ],
)
def test_what_would_be_passed_over_is_an_error(wish, says):
    with pytest.raises(InputError) as caught:
        sensible(call(**wish))
    assert str(caught.value) == says


@pytest.mark.parametrize("wish", [{}, {"to": 2, "state": "rolled_back"}, {"services": ["a"], "state": "restarted"}])
def test_what_belongs_together_is_let_through(wish):
    assert sensible(call(**wish)) == call(**wish)


def test_the_module_asks(tmp_path):
    pytest.importorskip("ansible", reason="a module runs on ansible-core")
    name = "ansible_collections.accelerator.ops.plugins.modules.generation"
    wish = json.dumps({"ANSIBLE_MODULE_ARGS": {"root": str(tmp_path), "to": 2}})
    done = subprocess.run([sys.executable, "-m", name, wish], capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    assert told["failed"]
    assert told["error"]["code"] == "input"
    assert "state rolled_back" in told["msg"]
