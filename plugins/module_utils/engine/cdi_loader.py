# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which CDI loader each release of a container engine embeds, and so the highest ``cdiVersion`` that it accepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

_EMBEDDED: dict[str, tuple[tuple[tuple[int, ...], Optional[str]], ...]] = {
    # go.mod of each release, read 2026-12-01
    "containerd": (
        ((0,), None),
        ((1, 7, 0), "0.5.4"),
        ((1, 7, 12), "0.6.1"),
        ((1, 7, 16), "0.7.2"),
        ((1, 7, 27), "0.8.1"),
        ((2, 0, 0), "0.8.0"),
        ((2, 0, 5), "1.0.0"),
        ((2, 1, 0), "1.0.1"),
        ((2, 2, 1), "1.1.0"),
        ((2, 4, 2), "1.1.1"),
    ),
    # go.mod of each release, read 2026-12-01
    "podman": (
        ((0,), None),
        ((4, 1), "0.4.0"),
        ((4, 3), "0.5.2"),
        ((4, 5), "0.5.4"),
        ((4, 7), "0.6.1"),
        ((4, 8), "0.6.2"),
        ((5, 1), "0.7.2"),
        ((5, 2), "0.8.0"),
        ((5, 5), "1.0.1"),
    ),
    # vendor.mod at the tags of the releases, read 2026-11: the steps between them are not known
    "docker": (
        ((0,), None),
        ((25,), "0.6.2"),
        ((27,), "0.7.2"),
        ((28,), "0.8.0"),
        ((28, 3), "1.0.1"),
        ((29, 7, 2), "1.1.0"),
    ),
    # go.mod at the tags of the releases, read 2026-11: the steps between them, and what came before, are not known
    "crio": (
        ((1, 23), "0.3.0"),
        ((1, 30), "0.7.2"),
        ((1, 32), "0.8.0"),
        ((1, 33), "1.0.1"),
        ((1, 35), "1.1.0"),
    ),
}
"""By engine: the first release that has a library, and the library (None: no CDI). A release in between has no newer
one than the row before it; where only some releases are known, its own may be newer."""


def embedded_loader(engine: str, release: Sequence[int]) -> Optional[str]:
    """The release of the CDI library in an engine. None where it has none, or where nothing is known of it."""
    steps = [library for since, library in _EMBEDDED.get(engine, ()) if tuple(release) >= since]
    return steps[-1] if steps else None
