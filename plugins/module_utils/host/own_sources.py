# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our own sources as one file that Python runs by itself, without Ansible: a zip archive (PEP 441).

A module finds its sources in the archive that Ansible sent, or in a checkout. The same sources give the same bytes on
every node: nothing is compressed, all times are one, and folders are made packages by empty files.
"""

from __future__ import annotations

import importlib.util
import io
import zipfile
from collections.abc import Iterable, Mapping

from ..model.errors import ProbeError

PACKAGE = "accelerator_ops"
_ABOVE = __name__.rpartition(".")[0].rpartition(".")[0]  # the package that the rooms are in
_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that the form has
_ON_UNIX = 3


def program(modules: Iterable[str], entry: str, argument: str) -> bytes:
    """The archive of some modules (``host.door``); run, it calls ``main(arguments, argument)`` of the module ``entry``.

    Raises ProbeError where a source is not at hand.
    """
    files = {"__main__.py": _MAIN.format(package=PACKAGE, entry=entry, argument=argument).encode()}
    for name in modules:
        parts = [PACKAGE, *name.split(".")]
        files[f"{'/'.join(parts)}.py"] = source(name).encode()
        for depth in range(1, len(parts)):
            files[f"{'/'.join(parts[:depth])}/__init__.py"] = b""
    return _packed(files)


_MAIN = """import gc
import sys

gc.disable()  # a short process: not looking for garbage while the code loads saves a tenth of its time

try:
    from {package}.{entry} import main

    status = main(sys.argv[1:], {argument!r})
except (ImportError, OSError) as error:  # the archive was removed while it ran
    status = f"cannot read the program any more: {{error}}"
sys.exit(status)
"""


def source(name: str) -> str:
    """The text of one of our own modules by its name below the rooms. Raises ProbeError."""
    full = f"{_ABOVE}.{name}"
    found = importlib.util.find_spec(full)
    text = getattr(found.loader, "get_source", lambda _name: None)(full) if found is not None else None
    if text is None:
        raise ProbeError(
            "read", f"the source of {full}", "none at hand", "a module that was sent whole", "run it again"
        )
    return str(text)


def _packed(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(files):
            entry = zipfile.ZipInfo(path, _TIME)
            entry.create_system = _ON_UNIX
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, files[path])
    return made.getvalue()
