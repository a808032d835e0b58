# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a maker's probe and its tools tell of its devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

Row = Mapping[str, Any]

NEEDS_TOOL = "the kernel does not tell; the maker's tool is not asked"


class Told(NamedTuple):
    """The answers of one maker's probe.

    ``fields`` and ``unknown`` are by device id: fields as in the facts document, reasons by dotted path.
    ``nodes`` are paths of device files by device id, ``shared_nodes`` those that every device of the maker uses.
    ``links`` are rows of the section *links*; ``links_unknown`` says why links may be missing.
    """

    fields: dict[str, dict[str, Any]]
    unknown: dict[str, dict[str, str]]
    nodes: dict[str, list[str]]
    shared_nodes: tuple[str, ...] = ()
    links: tuple[dict[str, Any], ...] = ()
    links_unknown: Optional[str] = None


class Heard(NamedTuple):
    """The answers of one maker's tools.

    ``values`` and ``unknown`` are by device id: values nested as in the facts document, reasons by dotted path.
    ``silent`` says why everything else is unknown. ``links`` are rows of the section *links*; ``links_unknown`` says
    why they may be missing. ``versions`` has any of ``user_space``, ``fabric_manager`` and ``tool`` (the loaded
    driver as the tool sees it), or None where it does not tell; those in ``compared`` must equal the loaded driver.
    ``no_manager`` is why no fabric manager is told; ``is_mismatch``: the tool itself says that driver and libraries do
    not fit.
    """

    values: dict[str, dict[str, Any]]
    unknown: dict[str, dict[str, str]]
    silent: str
    links: tuple[dict[str, Any], ...] = ()
    links_unknown: Optional[str] = None
    versions: Mapping[str, Optional[str]] = {}
    compared: tuple[str, ...] = ()
    is_mismatch: bool = False
    no_manager: str = "this maker has none"
