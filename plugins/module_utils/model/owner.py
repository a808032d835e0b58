# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who else has a part of a node."""

from __future__ import annotations

from typing import NamedTuple


class Owner(NamedTuple):
    """A tool that has what we would make: its name, where that is seen, and its own switch.

    ``modules`` are the kernel modules that it loads where it has the driver of ``maker``.
    """

    name: str
    seen_at: str
    switch: str
    maker: str = ""
    modules: tuple[str, ...] = ()
