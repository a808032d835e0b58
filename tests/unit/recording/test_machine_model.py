# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that writes a recording down as a model: what it writes, when, and one clear line where it cannot."""

from __future__ import annotations

import os
import stat

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.recorder import Recorder
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.recording import take

pytest.importorskip("ansible", reason="the action plugin runs on the control host, with ansible-core")

from ansible_collections.accelerator.ops.plugins.action.machine_model import _write
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models


@pytest.fixture
def recording(tmp_path):
    """A recording of the model of a virtual machine with a T4."""
    _machine, root = machine_models.laid_out(machine_models.find("nvidia-t4-vm"), str(tmp_path / "trees"))
    (tmp_path / "node.tar.gz").write_bytes(take(Recorder(root), False).archive)
    (tmp_path / "models").mkdir()
    return str(tmp_path / "node.tar.gz")


def write(recording, dest, check=False, name="our-node"):
    return _write({"src": recording, "dest": str(dest), "name": name}, check)


def test_the_model_is_written_once(recording, tmp_path):
    told = write(recording, tmp_path / "models")
    place = tmp_path / "models" / "our-node.yml"
    assert (told["changed"], told["dest"], told["functions"]) == (True, str(place), 7)
    assert told["diff"]["before"] == "" and told["diff"]["after"] == place.read_text(encoding="utf-8")
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    found = machine_models.load(str(place))
    shipped = machine_models.load(machine_models.find("nvidia-t4-vm"))
    assert found.heading.name == "our-node"
    assert [one.nvidia for one in found.functions] == [one.nvidia for one in shipped.functions]
    again = write(recording, tmp_path / "models")
    assert not again["changed"] and again["diff"]["before"] == again["diff"]["after"]
    assert os.listdir(tmp_path / "models") == ["our-node.yml"]
    place.write_text("title: mine\n", encoding="utf-8")
    assert write(recording, place)["diff"]["before"] == "title: mine\n"


def test_check_mode_writes_nothing(recording, tmp_path):
    told = write(recording, tmp_path / "models", check=True)
    assert told["changed"] and "10de:1eb8" in told["diff"]["after"]
    assert os.listdir(tmp_path / "models") == []


@pytest.mark.parametrize(("name", "words"), [("a/b", "name is 'a/b'"), ("", "name is ''"), ("a b", "name is 'a b'")])
def test_a_name_that_is_none(recording, tmp_path, name, words):
    with pytest.raises(InputError, match=words):
        write(recording, tmp_path / "models", name=name)
    assert os.listdir(tmp_path / "models") == []


def test_what_is_no_recording(tmp_path):
    (tmp_path / "text").write_text("x", encoding="utf-8")
    for src, words in (("text", "a file"), ("missing", "no such folder")):
        with pytest.raises(InputError, match=words) as caught:
            write(str(tmp_path / src), tmp_path / "model.yml")
        assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["text"]


def test_a_folder_that_is_not_there(recording, tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        write(recording, tmp_path / "missing" / "model.yml")
