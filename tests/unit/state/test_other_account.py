# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree that belongs to an account without any right is changed, committed and brought back by that account."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = 65534
PROGRAM = """
import sys
from ansible_collections.accelerator.ops.plugins.module_utils import runner
from ansible_collections.accelerator.ops.plugins.module_utils.model.call import Call
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import node_config
options = {name: row.get("default") for name, row in {**runner.SHARED, **node_config.OPTIONS}.items()}
kernel = {name: row.get("default") for name, row in node_config.OPTIONS["kernel"]["options"].items()}
wish = {**options, "root": sys.argv[1], "kernel": {**kernel, "blacklist": ["nouveau"]}}
runner.change(Call("node_config", wish, False, False), node_config.observe, node_config.decide)
print(open(sys.argv[1] + "/etc/modprobe.d/accelerator-ops-blacklist.conf").read())
runner.rolled_back(Call("generation", {**wish, "to": 0}, False, False))
"""


@pytest.fixture
def tree() -> Iterator[Path]:
    """A tree that belongs to the account."""
    folder = Path(tempfile.mkdtemp(prefix="accelerator-ops-account-"))
    for place in (folder / "etc", folder / "var/lib"):
        place.mkdir(parents=True)
    if os.getuid() == 0:
        for place in (folder, *folder.rglob("*")):
            os.chown(place, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


def test_the_owner_of_a_tree_needs_no_other_right(tree: Path) -> None:
    # root's own Python may lie where nobody else gets to
    python = "/usr/bin/python3" if os.getuid() == 0 and os.path.exists("/usr/bin/python3") else sys.executable
    linked = str(Path(__file__).resolve().parents[3] / ".cache" / "linked")
    path = ":".join([linked, *sys.path]) if python == sys.executable else linked
    account = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    done = subprocess.run(
        [python, "-B", "-c", PROGRAM, str(tree)],
        env={"PYTHONPATH": path, "PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        **account,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, done.stderr
    assert "blacklist nouveau" in done.stdout
    assert sorted(path.name for path in (tree / "etc").iterdir()) == []
    assert os.readlink(tree / "var/lib/accelerator-ops/current") == "generations/2"
