# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small readings of a tree for writing it down: whatever cannot be read, or reads otherwise, is None."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import Any, Optional

from ..host.door import Host


def text(host: Host, path: str) -> Optional[str]:
    """The stripped text of a file that is there and not empty."""
    return host.read(path).value or None


def number(host: Host, path: str) -> Optional[int]:
    """The decimal number in a file."""
    value = host.read(path).value
    return int(value) if value is not None and re.fullmatch(r"-?[0-9]{1,20}", value) else None


def plain_number(host: Host, path: str) -> Optional[int]:
    """The decimal number in a file, if it is not negative."""
    value = number(host, path)
    return value if value is not None and value >= 0 else None


def hexadecimal(host: Host, path: str, digits: int) -> Optional[str]:
    """``0x10de`` as ``10de``, if it has just so many digits."""
    value = host.read(path).value or ""
    return value[2:] if re.fullmatch(rf"0x[0-9a-f]{{{digits}}}", value) else None


def names(host: Host, path: str) -> tuple[str, ...]:
    """The names in a folder; none where it is not there."""
    return host.list(path).value or ()


def natural(found: Iterable[str]) -> list[str]:
    """Names in the order of the numbers in them: nvme2 before nvme10."""
    return sorted(found, key=lambda name: [(len(part), part) for part in re.split(r"(\d+)", name)])


def target(host: Host, path: str) -> Optional[str]:
    """Where a path leads on the node, if it is there and leads elsewhere."""
    real = host.resolve(path).value
    return real if real is not None and real != path else None


def leads_to(host: Host, path: str) -> Optional[str]:
    """Where a path leads on the node; for a link that leads nowhere, what it names."""
    real = host.resolve(path).value
    if real is not None:
        return real
    named, folder = host.link(path).value, host.resolve(posixpath.dirname(path)).value
    return posixpath.normpath(posixpath.join(folder, named)) if named and folder else None


def kept(values: dict[str, Any]) -> dict[str, Any]:
    """The values that are known."""
    return {key: value for key, value in values.items() if value is not None}
