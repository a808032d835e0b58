# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Intel's ``xpu-smi`` tells.

Source: ``xpu-smi discovery`` of versions 1.2 (JSON) and 2.0 (also as text). Looked at 2026-12-01.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...model.answer import Book
from ...model.device import Heard, Row
from ..tools import Tools, Wanted, address, fields, number, read_json, read_table, value

_NAME = "xpu-smi"


def _mib(text: str) -> int:
    """Bytes in JSON, MiB with the unit in text."""
    return int(number(text)) if "MiB" in text else int(text) // 1048576


_WANTED: Wanted = (
    ("model", ("device_name",), str),
    ("uuid", ("uuid", "soc_uuid"), str),
    ("serial", ("serial_number",), str),
    ("memory_mib", ("memory_physical_size_byte", "memory_physical_size"), _mib),
    ("tiles", ("number_of_tiles",), int),
    ("memory_health.ecc_mode", ("memory_ecc_state", "ecc_state"), str.lower),
    ("firmware.gfx", ("gfx_firmware_version",), str),
    ("power_limit_watts", ("power",), int),
    ("memory_health.remapped_rows", ("",), str),
)


def ask(tools: Tools, rows: Mapping[str, Row]) -> Heard:
    """Ask for the list of devices, for each one, and (version 2) for the table, which alone has the power limits."""
    nothing = tools.absent(_NAME)
    if nothing is not None:
        return nothing
    said = tools.run(_NAME, "discovery", "-j")
    try:
        listed = [
            (str(one["device_id"]), address(one["pci_bdf_address"])) for one in read_json(said.text)["device_list"]
        ]
    except (ValueError, TypeError, KeyError):
        return tools.lost(said)
    values, unknown, drivers, reason = {}, {}, [], said.reason
    power = {address(row["bus"]): row.get("power") for row in read_table(tools.run(_NAME).text)}
    for number_of, one in listed:
        said = tools.run(_NAME, "discovery", "-d", number_of, "-j")
        try:
            seen = {**read_device(said.text), "power": power.get(one)}
        except ValueError:
            reason = said.why
            continue
        reason, book = said.reason or reason, Book()
        values[one], unknown[one] = fields(_NAME, _WANTED, seen.get, book), book.unknown
        drivers.append(value(_NAME, seen.get("driver_version")).value)
    silent = tools.judge(_NAME, rows, values, reason)
    return Heard(values, unknown, silent, (), silent, {"user_space": next(filter(None, drivers), None)})


def read_device(text: str) -> dict[str, Any]:
    """The fields of one device, from JSON or from the table. Raises ValueError."""
    try:
        seen = read_json(text)
    except ValueError:
        lines = re.findall(r"\|\s*([A-Z][^:|]*): ?(.*?)\s*\|\s*$", text, re.MULTILINE)
        seen = {name.strip().lower().replace(" ", "_"): what for name, what in lines}
    if not isinstance(seen, dict) or not seen.get("device_name"):
        raise ValueError(text[:40])
    return seen
