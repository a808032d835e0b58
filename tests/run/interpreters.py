# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Pythons of this machine, by absolute path: shims of version managers break Ansible and its tests."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Optional

SUPPORTED = tuple((3, minor) for minor in range(9, 15))

CORES = {
    # read off the packages' Requires-Python and off sanity runs, 2026-11-30
    "2.16": ((3, 10), (3, 11), (3, 12)),
    "2.17": ((3, 10), (3, 11), (3, 12)),
    "2.18": ((3, 11), (3, 12), (3, 13)),
    "2.19": ((3, 11), (3, 12), (3, 13)),
    "2.20": ((3, 12), (3, 13), (3, 14)),
    "2.21": ((3, 12), (3, 13), (3, 14)),
}
"""Which Pythons each ansible-core runs on, oldest core first."""

_PREFERRED = ((3, 13), (3, 12), (3, 11), (3, 14), (3, 10))
"""For one core, the Python that its other tools are best tried on comes first."""

_PROBE = "import sys, ensurepip, venv, ssl; print(*sys.version_info[:2])"


class Interpreter(NamedTuple):
    """One Python: its (major, minor) and the absolute path of its program."""

    version: tuple[int, int]
    path: str


def find() -> dict[tuple[int, int], Interpreter]:
    """The usable Pythons by version, each with ``venv`` and ``ssl``; the distribution's own comes first."""
    found: dict[tuple[int, int], Interpreter] = {}
    for folder in _folders():
        for version in SUPPORTED:
            program = folder / "python{}.{}".format(*version)
            if version not in found and os.access(program, os.X_OK) and _answers(program, version):
                found[version] = Interpreter(version, str(program))
    return found


def for_core(core: str, found: dict[tuple[int, int], Interpreter]) -> Optional[Interpreter]:
    """The Python that is to run this core, or None."""
    for version in _PREFERRED:
        if version in CORES[core] and version in found:
            return found[version]
    return None


def runnable_cores(found: dict[tuple[int, int], Interpreter]) -> list[str]:
    """The cores that these Pythons can run, oldest first."""
    return [core for core in CORES if for_core(core, found) is not None]


def _folders() -> list[Path]:
    folders = [Path("/usr/bin"), Path("/usr/local/bin")]
    roots = [Path(home) / ".pyenv" for home in (_home_of_account(), os.path.expanduser("~")) if home]
    if os.environ.get("PYENV_ROOT"):
        roots.append(Path(os.environ["PYENV_ROOT"]))
    for prefix in (Path(sys.base_prefix), _prefix_on_path()):
        if prefix is not None:
            folders.append(prefix / "bin")
            if prefix.parent.name == "versions":
                roots.append(prefix.parent.parent)
    for root in roots:
        # glob.glob, not Path.glob: a folder of someone else that may not be entered is passed over
        folders.extend(sorted(map(Path, glob.glob(f"{root}/versions/3.*/bin")), key=_by_version, reverse=True))
    return list(dict.fromkeys(folders))


def _home_of_account() -> Optional[str]:
    """The home folder that the account has, whatever HOME says; None for an account without an entry."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None


def _by_version(folder: Path) -> list[int]:
    return [int(part) if part.isdigit() else 0 for part in folder.parent.name.split(".")]


def _prefix_on_path() -> Optional[Path]:
    """Where the ``python3`` that the user types really lives (a shim answers for the Python behind it)."""
    program = shutil.which("python3")
    if program is None:
        return None
    answer = subprocess.run(
        [program, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True, timeout=30, check=False
    )
    return Path(answer.stdout.strip()) if answer.returncode == 0 and answer.stdout.strip() else None


def _answers(program: Path, version: tuple[int, int]) -> bool:
    answer = subprocess.run([str(program), "-I", "-c", _PROBE], capture_output=True, text=True, timeout=30, check=False)
    return answer.returncode == 0 and answer.stdout.split() == [str(part) for part in version]
