# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where CDI specs lie.

Source: container-device-interface, ``pkg/cdi/spec-dirs.go`` and ``default-cache.go``, read 2026-12; the defaults of
containerd, CRI-O, Podman and Docker are these too.
"""

from __future__ import annotations

FOLDERS = ("/etc/cdi", "/var/run/cdi")
"""The folders that an engine looks into by itself, in rising precedence."""

ENDINGS = (".json", ".yaml")
"""The ends of names of files that loaders read; they pass over every other one, ``.yml`` as well."""
