# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a maker's probe tells of its devices."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

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
