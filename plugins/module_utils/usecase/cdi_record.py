# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the program made, so that it never takes a human's file for its own: digests of specs, and folders.

A file in the form of ``sha256sum``, with the word ``folder`` in the place of a digest for a folder that was made. It is
written before a spec is put in its place, with the old digest and the new, so that a crash leaves nothing unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, Optional

from ..host import disk
from ..host.door import Host
from ..model.answer import MISSING, NOT_RECORDED
from ..model.errors import ProbeError
from ..model.plan import Found, digest

FILE = "/var/lib/accelerator-ops/cdi.sha256"

_ROW = re.compile(r"^([0-9a-f]{64}|folder)  (/.+)$", re.MULTILINE)


class Record(NamedTuple):
    """Digests of specs by their real paths, and folders, the inner ones first. ``reason``: why it is unknown."""

    digests: Mapping[str, frozenset[str]] = {}
    folders: tuple[str, ...] = ()
    is_there: bool = False
    reason: Optional[str] = None

    def has(self, real: str, found: Found) -> bool:
        """Whether what is at a real path is what the program put there."""
        return found.state.kind == "file" and digest(found.content) in self.digests.get(real, ())

    def text(self) -> str:
        """The content of the file."""
        rows = [f"{one}  {path}\n" for path, some in sorted(self.digests.items()) for one in sorted(some)]
        return "".join((*rows, *(f"folder  {path}\n" for path in self.folders)))


def read(host: Host) -> Record:
    """The record of a node. A row of another form is none: its file is then nobody's of ours."""
    answer = host.read(FILE)
    if answer.value is None:
        is_recording = host.is_node and not host.is_live
        reason = NOT_RECORDED if is_recording and answer.reason == MISSING else answer.reason
        return Record(reason=None if reason == MISSING else reason)
    digests: dict[str, frozenset[str]] = {}
    folders = []
    for row in _ROW.finditer(answer.value):
        if row[1] == "folder":
            folders.append(row[2])
        else:
            digests[row[2]] = digests.get(row[2], frozenset()) | {row[1]}
    return Record(digests, tuple(folders), True)


def known(host: Host) -> Record:
    """The record where it can be read. Raises ProbeError."""
    record = read(host)
    if record.reason is not None:
        raise ProbeError("read", FILE, record.reason, "what the program made", "run as root")
    return record


def real(host: Host, path: str) -> str:
    """A path by the real name of its folder, as the record has it."""
    folder, _slash, name = path.rpartition("/")
    return f"{host.real_path(folder)}/{name}"


def write(host: Host, record: Record) -> None:
    """Replace the record, lasting. Raises OSError."""
    disk.put(disk.place(host, FILE), record.text().encode())
