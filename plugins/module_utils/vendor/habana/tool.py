# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``hl-smi`` tells of Gaudi devices.

Source: ``hl-smi`` of Gaudi software 1.18 (its table, ``-Q`` and ``-n link``). Looked at 2026-12-01.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Optional

from ...model.answer import Book
from ...model.device import Heard, Row
from ..tools import Tools, Wanted, address, fields, read_table

_NAME = "hl-smi"
_ASKED = ("bus_id", "uuid", "serial", "ecc.mode.current")
_WANTED: Wanted = (
    ("model", ("name",), str),
    ("uuid", ("uuid",), str),
    ("serial", ("serial",), str),
    ("memory_mib", ("memory",), int),
    ("power_limit_watts", ("power",), int),
    ("memory_health.ecc_mode", ("ecc.mode.current",), str.lower),
    ("memory_health.remapped_rows", ("",), str),
)


def ask(tools: Tools, rows: Mapping[str, Row]) -> Heard:
    """Ask for the table, for the identity of the devices, and for the ports of each."""
    nothing = tools.absent(_NAME)
    if nothing is not None:
        return nothing
    said = tools.run(_NAME)
    table = {address(row["bus"]): row for row in read_table(said.text)}
    if not table:
        return tools.lost(said)
    more, reason = _identity(tools)
    values, unknown = {}, {}
    for one, row in table.items():
        book = Book()
        values[one], unknown[one] = fields(_NAME, _WANTED, {**row, **more.get(one, {})}.get, book), book.unknown
        linked = tools.run(_NAME, "-n", "link", "-i", one)
        values[one]["ports"] = read_ports(linked.text) or book.miss("ports", linked.why)
    versions = {
        "user_space": _version(r"HL-SMI Version:\s*(?:hl-)?(\d[^\s|]*)", said.text),
        "tool": _version(r"Driver Version:\s*(\d[^\s|]*)", said.text),
    }
    silent = tools.judge(_NAME, rows, values, said.reason or reason)
    return Heard(values, unknown, silent, (), silent, versions, ("user_space", "tool"))


def _version(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text)
    return None if found is None else found.group(1)


def _identity(tools: Tools) -> tuple[dict[str, dict[str, str]], Optional[str]]:
    """What ``-Q`` tells by address; an older one does not know every name, and then tells nothing."""
    said = tools.run(_NAME, "-Q", ",".join(_ASKED), "-f", "csv,noheader")
    found = {}
    for line in said.text.splitlines():
        words = [word.strip() for word in line.split(",")]
        try:
            found[address(words[0])] = dict(zip(_ASKED[1:], words[1:]))
        except ValueError:
            continue
    return found, None if found else said.why


def read_ports(text: str) -> list[dict[str, Any]]:
    """The network ports of one device from ``hl-smi -n link``."""
    found = re.findall(r"port\s+(\d+):\s+(UP|DOWN)", text, re.IGNORECASE)
    return [{"port": int(port), "state": state.lower()} for port, state in found]
