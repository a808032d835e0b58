# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of modprobe.d: what is written is read back, by us and by the real modprobe."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import modprobe

needs_modprobe = pytest.mark.skipif(
    not shutil.which("modprobe", path="/usr/sbin:/sbin"), reason="kmod is not installed"
)
SEED = 20261201
LETTERS = "abcXYZ019_-.,:=/#'!$%&()*+;<>?@[]^`{|}~ äß"


def random_options(chance):
    """Modules, parameters and values of every kind that the wish lets through."""
    done = {}
    for _module in range(chance.randrange(1, 6)):
        name = "".join(chance.choice("abcdefgh_12") for _letter in range(chance.randrange(1, 12)))
        parameters = done.setdefault(name, {})
        for _parameter in range(chance.randrange(1, 5)):
            value = "".join(chance.choice(LETTERS) for _letter in range(chance.randrange(1, 30))).strip(" \t")
            parameters["p" + str(chance.randrange(100))] = value or "0"
    return done


def read_back(text):
    found = {}
    for one in modprobe.read(text).options:
        found.setdefault(one.module, {})[one.parameter] = one.value
    return found


def test_options_come_back_as_they_were_given():
    chance = random.Random(SEED)
    for _round in range(2000):
        options = random_options(chance)
        assert read_back(modprobe.options_text(options)) == options


def test_refused_modules_come_back():
    chance = random.Random(SEED)
    for _round in range(200):
        names = ["".join(chance.choice("ab_-9") for _letter in range(6)) for _name in range(5)]
        for is_hard in (False, True):
            found = modprobe.read(modprobe.refused_text(names, is_hard)).refused
            assert {one.module for one in found} == {name.replace("-", "_") for name in names}
            assert {one.is_hard for one in found} == {is_hard}


def test_modules_to_load_come_back_in_their_order():
    names = ["z9", "nvidia_uvm", "a-b"]
    assert modprobe.read_load(modprobe.load_text(names)) == tuple(names)
    assert modprobe.read_load("# x\n; y\n\n  br_netfilter  \n") == ("br_netfilter",)


def shown_by_modprobe(folder, command):
    """The lines of one command that the real program reads in a folder of modprobe.d."""
    run = subprocess.run(["/usr/sbin/modprobe", "-C", str(folder), "--showconfig"], capture_output=True, check=True)
    lines = run.stdout.decode().splitlines()
    return [line for line in lines if line.startswith(command + " ")]


@needs_modprobe
def test_the_real_modprobe_reads_the_same_options(tmp_path):
    chance = random.Random(SEED)
    for number in range(40):
        options = random_options(chance)
        (tmp_path / "ours.conf").write_text(modprobe.options_text(options))
        shown = {}
        for line in shown_by_modprobe(tmp_path, "options"):
            for one in modprobe.read(line + "\n").options:
                shown.setdefault(one.module, {})[one.parameter] = one.value
        # It also shows what the running kernel's own command line says.
        assert {name: shown.get(name) for name in options} == options, f"round {number} of seed {SEED}"


@needs_modprobe
def test_the_real_modprobe_reads_the_same_refusals(tmp_path):
    (tmp_path / "ours.conf").write_text(modprobe.refused_text(["nouveau", "nova-core"], True))
    assert shown_by_modprobe(tmp_path, "blacklist") == ["blacklist nouveau", "blacklist nova_core"]
    assert shown_by_modprobe(tmp_path, "install") == ["install nouveau /bin/false", "install nova_core /bin/false"]


@needs_modprobe
def test_the_real_modprobe_reads_files_by_name_and_lines_as_we_do(tmp_path):
    text = "options a x=1 \\\n  y=2\n# options a z=3\nblacklist b-c\n\ninstall d /bin/true\n"
    (tmp_path / "b.conf").write_text(text)
    (tmp_path / "a.conf").write_text("options a x=0\n")
    told = modprobe.read(text)
    assert [(one.line, one.module, one.parameter, one.value) for one in told.options] == [
        (1, "a", "x", "1"),
        (1, "a", "y", "2"),
    ]
    assert [(one.line, one.module, one.is_hard) for one in told.refused] == [(4, "b_c", False), (6, "d", True)]
    lines = [line.split() for line in shown_by_modprobe(tmp_path, "options a")]
    assert lines == [["options", "a", "x=0"], ["options", "a", "x=1", "y=2"]]


@pytest.mark.parametrize(
    ("line", "is_hard"),
    [
        ("install nouveau /bin/false", True),
        ("install nouveau /usr/bin/true", True),
        ("install nouveau exec /bin/false", True),
        ("install nouveau /sbin/modprobe --ignore-install nouveau", None),
        ("install nouveau /bin/falsetto", None),
        ("blacklist nouveau", False),
        ("remove nouveau /bin/false", None),
        ("install nouveau", None),
        ("blacklist", None),
    ],
)
def test_what_keeps_a_module_from_loading(line, is_hard):
    assert [one.is_hard for one in modprobe.read(line).refused] == ([] if is_hard is None else [is_hard])


@pytest.mark.parametrize(
    ("shown", "wished", "is_same"),
    [
        ("Y", "1", True),
        ("Y", "on", True),
        ("N", "0", True),
        ("N", "1", False),
        ("16", "0x10", True),
        ("8", "010", True),
        ("16", "17", False),
        ("-1", "4294967295", False),
        ("1,0", "0x1,0", True),
        ("1,0", "1", False),
        ("(null)", "", False),
        ("auto", "auto", True),
        ("0x10", "0x10", True),
        ("y", "y", True),
        ("auto", "Auto", False),
    ],
)
def test_values_that_the_kernel_shows_in_its_own_form(shown, wished, is_same):
    assert modprobe.is_same_value(shown, wished) is is_same
