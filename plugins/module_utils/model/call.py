# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a module was called, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Call(NamedTuple):
    """How a module was called: its name, its options, whether it may change anything and whether it shows a diff."""

    what: str
    wish: Mapping[str, Any]
    is_check: bool
    is_diff: bool


class Outcome(NamedTuple):
    """What a module returns: whether it changed anything, and its results by name."""

    changed: bool
    results: Mapping[str, Any]
