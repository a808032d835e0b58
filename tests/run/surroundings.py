# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the checks run in: virtual environments, the collection under its import path, Debian packages, data.

Everything that is made once and used again lies in ``~/.cache/accelerator-ops``; what belongs to one
checkout lies in its ``.cache``.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Optional

import interpreters

HERE = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "accelerator-ops"
LOCAL = HERE / ".cache"
LINKED = LOCAL / "linked"
REQUIREMENTS = HERE / "tests" / "requirements"

_FOREIGN = ("ANSIBLE_", "PYTHON", "PYENV_VERSION", "VIRTUAL_ENV", "MOLECULE_", "PYTEST_", "MYPY", "RUFF_")
"""Settings of the person's own shell that would change what a check finds."""

_APT_WAIT_SECONDS = 300
"""How long another apt on this machine may take before it is said that a package could not be installed."""


class Venv(NamedTuple):
    """A virtual environment: its folder and the Python it was made from."""

    folder: Path
    python: interpreters.Interpreter

    def program(self, name: str) -> str:
        """The path of a program in it."""
        return str(self.folder / "bin" / name)


class SetupError(RuntimeError):
    """Something that a check needs is not there and could not be made: one line that says what."""


@contextlib.contextmanager
def alone_with(name: str) -> Iterator[None]:
    """Make a thing of the cache while no other layer and no other run makes it. Not to be nested for one name."""
    try:
        CACHE.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(f"cannot make {CACHE}: {error.strerror}; name a folder of yours in XDG_CACHE_HOME") from None
    with open(CACHE / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def venv(python: interpreters.Interpreter, *requirements: str) -> Venv:
    """The environment with these requirement files of ``tests/requirements``, made when it is not there yet."""
    files = [REQUIREMENTS / name for name in requirements]
    digest = hashlib.sha256(python.path.encode())
    for file in files:
        digest.update(file.read_bytes())
    folder = CACHE / f"venv-{digest.hexdigest()[:16]}"
    done = folder / ".complete"
    with alone_with("venv"):
        if not done.exists() or not os.access(folder / "bin" / "python", os.X_OK):
            shutil.rmtree(folder, ignore_errors=True)
            print(
                f"making {folder.name}: Python {'.'.join(map(str, python.version))}, {', '.join(requirements)}",
                flush=True,
            )
            _must([python.path, "-m", "venv", str(folder)], "make a virtual environment")
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            for file in files:
                pip += ["--requirement", str(file)]
            _must(pip, f"install {', '.join(requirements)}")
            done.touch()
    return Venv(folder, python)


def environment(*tools: Venv, **more: str) -> dict[str, str]:
    """The environment variables of a check: the person's own, less what would change its findings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    folders = [str(tool.folder / "bin") for tool in tools]
    folders += [part for part in kept.get("PATH", os.defpath).split(":") if not part.endswith("/shims")]
    folders += ["/usr/local/sbin", "/usr/sbin", "/sbin"]
    kept.update(
        PATH=":".join(dict.fromkeys(folders)),
        LC_ALL="C.UTF-8",
        PYTHONDONTWRITEBYTECODE="1",
        ANSIBLE_HOME=str(CACHE / "ansible"),
        ANSIBLE_COLLECTIONS_PATH=str(LINKED),
        ANSIBLE_LOCALHOST_WARNING="false",
        ANSIBLE_INVENTORY_UNPARSED_WARNING="false",
        ANSIBLE_NOCOWS="true",
        NO_COLOR="1",
    )
    kept.update(more)
    return kept


def local_play(tool: Venv, **more: str) -> dict[str, str]:
    """The environment of a playbook on this machine alone. Its scratch folder does not depend on the account's home."""
    return environment(tool, ANSIBLE_REMOTE_TMP=str(CACHE / "ansible" / "scratch"), **more)


def link() -> None:
    """Make the checkout importable as ``ansible_collections.accelerator.ops``."""
    place = LINKED / "ansible_collections" / "accelerator"
    place.mkdir(parents=True, exist_ok=True)
    target = place / "ops"
    if not target.is_symlink() or target.resolve() != HERE:
        target.unlink(missing_ok=True)
        target.symlink_to(HERE)


def copy_tree(name: str) -> Path:
    """A real copy of the tracked and new files of the checkout (ansible-test refuses a symbolic link)."""
    place = LOCAL / name / "ansible_collections" / "accelerator" / "ops"
    shutil.rmtree(place, ignore_errors=True)
    listing = _must(
        ["git", "-C", str(HERE), "ls-files", "-z", "-co", "--exclude-standard"], "list the checkout's files"
    )
    for entry in filter(None, listing.split("\0")):
        source = HERE / entry
        if not source.exists():
            continue  # deleted, not yet committed
        goal = place / entry
        goal.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, goal, follow_symlinks=False)
    # a repository of its own: in the checkout's one, the copy lies in an ignored folder and has no files
    _must(["git", "init", "--quiet", str(place)], "make a repository")
    return place


def data_folder() -> Optional[Path]:
    """The folder of files captured on real machines; None where there is none. A named one must be there."""
    named = os.environ.get("ACCELERATOR_OPS_DATA")
    if named:
        folder = Path(named)
        if not folder.is_dir():
            raise SetupError(f"ACCELERATOR_OPS_DATA names {named}, which is no folder; name one that is, or unset it")
        return folder.resolve()
    beside = HERE.parent / "shared" / "data"
    return beside if beside.is_dir() else None


def lacking(programs: dict[str, str]) -> Optional[str]:
    """Why a check cannot run for want of Debian packages, or None. ``programs``: program or path -> package.

    Root gets what is missing installed; anyone else is told.
    """
    missing = sorted({package for program, package in programs.items() if _find(program) is None})
    if not missing:
        return None
    if os.getuid() == 0 and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        print(f"installing Debian packages: {' '.join(missing)}", flush=True)
        wait = ["-o", f"DPkg::Lock::Timeout={_APT_WAIT_SECONDS}"]
        with alone_with("apt"):
            for command in (["update"], ["install", "--yes", "--no-install-recommends", *missing]):
                subprocess.run(["apt-get", "-qq", *wait, *command], env=quiet, stdout=subprocess.DEVNULL, check=False)
        missing = sorted({package for program, package in programs.items() if _find(program) is None})
        if not missing:
            return None
        return f"Debian packages could not be installed: {' '.join(missing)}"
    return f"Debian packages missing: {' '.join(missing)} (as root they are installed)"


def community_collections(tool: Venv, ansible_version: str, *names: str) -> Path:
    """A folder with these collections, taken out of the community package of this version."""
    place = CACHE / f"collections-{ansible_version}"
    with alone_with("collections"):
        _unpack_collections(place, tool, ansible_version, names)
    return place


def _unpack_collections(place: Path, tool: Venv, ansible_version: str, names: tuple[str, ...]) -> None:
    done = place / ".complete"
    if done.exists() and done.read_text(encoding="utf-8").split() == list(names):
        return
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    pip = [tool.program("python"), "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    _must([*pip, "--dest", str(place), f"ansible=={ansible_version}"], f"download ansible {ansible_version}")
    (wheel,) = place.glob("ansible-*.whl")
    wanted = tuple("ansible_collections/{}/".format(name.replace(".", "/")) for name in names)
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(place, [entry for entry in packed.namelist() if entry.startswith(wanted)])
    wheel.unlink()
    done.write_text(" ".join(names), encoding="utf-8")


def _find(program: str) -> Optional[str]:
    if program.startswith("/"):
        return program if os.path.exists(program) else None
    return shutil.which(program, path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")


def _must(command: list[str], what: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise SetupError(f"cannot {what}: {last}")
    return done.stdout


def require_python() -> None:
    """End with one line where the Python that runs this is too old for the scripts themselves."""
    if sys.version_info < (3, 9):  # noqa: UP036 -- make runs whatever Python it finds
        sys.exit("cannot run the tests: Python {}.{}, expected 3.9 or newer; set PYTHON".format(*sys.version_info[:2]))
