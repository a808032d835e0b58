# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of sysctl.d: what is written is read back, by us and by the real sysctl."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import sysctl

SYSCTL = shutil.which("sysctl", path="/usr/sbin:/sbin:/usr/bin")
SEED = 20261201


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("vm.swappiness", "vm/swappiness"),
        ("vm/swappiness", "vm/swappiness"),
        ("net.ipv4.conf.enp3s0/200.forwarding", "net/ipv4/conf/enp3s0.200/forwarding"),
        ("net/ipv4/conf/enp3s0.200/forwarding", "net/ipv4/conf/enp3s0.200/forwarding"),
        ("kernel", None),
        ("", None),
        (".vm", None),
        ("vm..x", None),
        ("vm.", None),
        ("-vm.x", "-vm/x"),
        ("net.ipv4.conf.*.forwarding", None),
        ("vm.x y", None),
        ("vm.x\ny", None),
        ("vm/../../etc/passwd", None),
        ("vm/./x", None),
        ("/proc/sys/vm/x", None),
    ],
)
def test_keys(key, path):
    assert sysctl.path_of(key) == path


def test_values_come_back_as_they_were_given():
    chance = random.Random(SEED)
    for _round in range(2000):
        values = {}
        for _key in range(5):
            parts = ["".join(chance.choice("abc_-1.") for _letter in range(5)).strip(".") or "x" for _part in range(3)]
            letters = "".join(chance.choice("abc 019=#;-./") for _letter in range(20))
            values["/".join(["net", *parts])] = sysctl.plain(letters) or "0"
        found = sysctl.read(sysctl.text(values))
        assert {one.path: one.value for one in found} == values


@pytest.mark.parametrize(
    ("shown", "wished", "is_same"),
    [
        ("1\t2", "1 2", True),
        ("16", "0x10", True),
        ("16 1", "0x10", False),
        ("core", "core", True),
        ("core", "Core", False),
        ("1", "Y", False),
        ("", "", True),
    ],
)
def test_values_that_the_kernel_shows_in_its_own_form(shown, wished, is_same):
    assert sysctl.is_same(shown, wished) is is_same


@pytest.mark.parametrize(
    ("wished", "shown", "form"),
    [
        ("0x10", "1", "16"),
        ("010 1", "1\t-2", "8 1"),
        ("0x10", "core.%p", "0x10"),
        ("core", "1", "core"),
        ("1-3,5", "1", "1-3,5"),
    ],
)
def test_a_number_is_given_in_the_form_that_will_be_shown(wished, shown, form):
    assert sysctl.as_shown(wished, shown) == form


def test_lines_of_others():
    text = (
        "# a\n; b\n vm.swappiness=10 \n-kernel/x = y\nnet.ipv4.conf.*.mtu = 5\n-net.ipv4.conf.eth0.mtu\nvm.x =\t1\t 2\n"
    )
    assert [(one.number, one.path, one.value) for one in sysctl.read(text)] == [
        (3, "vm/swappiness", "10"),
        (4, "kernel/x", "y"),
        (7, "vm/x", "1 2"),
    ]


def keys_of_this_kernel():
    """Paths below /proc/sys that may be written and read, with their values."""
    found = {}
    for folder in ("vm", "kernel", "fs"):
        for place in sorted(Path("/proc/sys", folder).iterdir()):
            if place.is_file() and place.stat().st_mode & 0o200 and os.access(place, os.R_OK):
                try:
                    value = sysctl.plain(place.read_text())
                except (OSError, UnicodeDecodeError):
                    continue
                if value and len(value) < 200:
                    found[str(place.relative_to("/proc/sys"))] = value
    return found


@pytest.mark.skipif(not SYSCTL or not os.path.isdir("/proc/sys/vm"), reason="procps is not installed")
def test_the_real_sysctl_reads_the_same(tmp_path):
    values = keys_of_this_kernel()
    assert len(values) > 20
    (tmp_path / "ours.conf").write_text(sysctl.text(values))
    run = subprocess.run(
        [SYSCTL, "--dry-run", "-p", str(tmp_path / "ours.conf")], capture_output=True, text=True, check=False
    )
    if "unrecognized option" in run.stderr:
        pytest.skip("this sysctl has no dry run")
    pairs = [line.partition(" = ") for line in run.stdout.splitlines()]
    assert {key.replace(".", "/"): sysctl.plain(value) for key, _equals, value in pairs} == values
