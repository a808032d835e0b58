# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CDI loaders that container engines embed, built from their Go modules into programs that judge specs."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Optional

import surroundings
from surroundings import CACHE, HERE, SetupError

MODULE = "tags.cncf.io/container-device-interface"
_OLD_MODULE = "github.com/container-orchestrated-devices/container-device-interface"

RELEASES = {
    "0.5.4": _OLD_MODULE,
    "0.6.2": MODULE,
    "0.7.2": MODULE,
    "0.8.1": MODULE,
    "1.0.1": MODULE,
    "1.1.0": MODULE,
    "1.1.1": MODULE,
    "1.1.2": MODULE,
}
"""The releases that differ in what they load, each with the module that has it, 2026-12."""

_SOURCE = HERE / "tests" / "cdi" / "loader.go"
_OLDEST_GO = (1, 23)  # what release 1.1.2 asks for


def lacking() -> Optional[str]:
    """Why the loaders cannot be built here; None where they can."""
    program = shutil.which("go")
    if program is None:
        return "no Go here (go 1.23 or newer builds the loaders)"
    said = subprocess.run([program, "env", "GOVERSION"], capture_output=True, text=True, check=False).stdout.strip()
    numbers = tuple(int(part) for part in said[2:].split(".")[:2] if part.isdecimal())
    return None if numbers >= _OLDEST_GO else f"Go is {said or 'broken'}, and the loaders need 1.23"


def folder() -> Path:
    """The folder with a program for each release, named as it is; built where they are not there yet. SetupError."""
    source = _SOURCE.read_text(encoding="utf-8")
    digest = hashlib.sha256((source + repr(RELEASES)).encode()).hexdigest()[:12]
    place = CACHE / f"cdi-loaders-{digest}"
    place.mkdir(parents=True, exist_ok=True)
    with surroundings.alone_with("cdi-loaders"):
        for release, module in RELEASES.items():
            if not (place / release).exists():
                _build(place, release, module, source.replace(MODULE, module))
    return place


def _build(place: Path, release: str, module: str, source: str) -> None:
    print(f"building the CDI loader {release}", flush=True)
    work = place / f"source-{release}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / "main.go").write_text(source, encoding="utf-8")
    (work / "go.mod").write_text(f"module loader\n\ngo 1.23\n\nrequire {module} v{release}\n", encoding="utf-8")
    env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod -buildvcs=false", "GOTOOLCHAIN": "local"}
    for command in (["go", "mod", "tidy"], ["go", "build", "-p", "1", "-trimpath", "-o", "loader", "."]):
        done = subprocess.run(["nice", *command], cwd=work, env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
            raise SetupError(f"cannot build the CDI loader {release}: {last}")
    os.replace(work / "loader", place / release)
    shutil.rmtree(work)
