# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where CDI specs lie, and who reads them.

Source: container-device-interface, ``pkg/cdi/spec-dirs.go`` and ``default-cache.go``, read 2026-12; the defaults of
containerd, CRI-O, Podman and Docker are these too.
"""

from __future__ import annotations

from typing import NamedTuple

FOLDERS = ("/etc/cdi", "/var/run/cdi")
"""The folders that an engine looks into by itself, in rising precedence."""

ENDINGS = (".json", ".yaml")
"""The ends of names of files that loaders read; they pass over every other one, ``.yml`` as well."""


OURS = "accelerator.ops"
"""Who makes our own specs."""


class Engine(NamedTuple):
    """A container engine that is installed and knows CDI: the release of the library in it that reads specs.

    ``folders`` in rising precedence; none where it reads none, or where they are not known. ``is_rootless``: users may
    run it as themselves.
    """

    name: str
    version: str
    loader: str
    folders: tuple[str, ...] = FOLDERS
    is_rootless: bool = False
