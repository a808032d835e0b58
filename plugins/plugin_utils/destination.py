# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One file that a task writes on the control host: its owner alone can read it, and it is whole or not there."""

from __future__ import annotations

import os
from typing import NoReturn, Optional

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError
from ansible_collections.accelerator.ops.plugins.plugin_utils import whole_file


class Destination:
    """Where ``named`` says to write: a file, or ``in_folder`` below a folder. ``what`` names it in complaints.

    Raises InputError where no file can be written there.
    """

    def __init__(self, named: str, in_folder: str, what: str) -> None:
        self._what = what
        self.path = os.path.abspath(os.path.expandvars(os.path.expanduser(named)))
        if os.path.isdir(self.path) or named.endswith("/"):
            self.path = os.path.join(self.path, in_folder)
        self._folder = os.path.dirname(self.path)
        if not os.path.isdir(self._folder):
            self._refuse("no such folder" if not os.path.lexists(self._folder) else f"{self._folder} is no folder")
        if os.path.lexists(self.path) and not os.path.isfile(self.path):
            self._refuse("something that is no file is there")
        if not os.access(self._folder, os.W_OK | os.X_OK):
            self._refuse("no right to write there, or a read-only file system")

    def read(self) -> Optional[bytes]:
        """What the file holds; None where it is not there or cannot be read: then writing it says why.

        A link is not the file: it is replaced and never followed, as what it points to may be anybody's.
        """
        try:
            handle = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as there:
                return there.read()
        except OSError:
            return None

    def write(self, content: bytes) -> None:
        """The file whole or not at all, and still there after a power cut."""
        whole_file.sweep(self._folder)
        try:
            whole_file.write(self.path, content, 0o600)
        except OSError as error:
            self._refuse(os.strerror(error.errno or 0))

    def _refuse(self, found: str) -> NoReturn:
        raise InputError(
            "write",
            f"{self._what} {self.path}",
            found,
            "a folder on the control host that can be written",
            "make the folder, or set dest to a file in another one",
        )
