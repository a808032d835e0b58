# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AMD's tools tell: ``amd-smi``, else ``rocm-smi`` of older nodes.

Source: ``amd-smi static`` of ROCm 6.1 to 7.2 (JSON and text), ``rocm-smi`` of ROCm 4.3 to 6.0. Looked at 2026-12-01.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Optional

from ...model.answer import Book
from ...model.device import Heard, Row
from ..tools import Tools, Wanted, address, fields, number, pair_row, read_json, value

_NEW, _OLD = "amd-smi", "rocm-smi"
_OLD_OPTIONS = (
    *("--showbus", "--showuniqueid", "--showserial", "--showvbios", "--showmeminfo", "vram", "--showmaxpower"),
    *("--showproductname", "--showfwinfo", "--showdriverversion", "--showtopo", "--json"),
)
_UNITS = {"gb": 1024, "gib": 1024, "b": 1 / 1048576}
Pair = tuple[str, str, Optional[int]]


def _mib(text: str) -> int:
    return int(number(text) * _UNITS.get((*text.lower().split(), "")[1], 1))


def _unique(text: str) -> str:
    if not int(text, 16):
        raise ValueError(text)
    return text.lower().replace("0x", "", 1)


def _name(text: str) -> str:
    if text.startswith("0x"):
        raise ValueError(text)
    return text


_WANTED: Wanted = (
    ("model", ("asic.market_name", "card series"), _name),
    ("uuid", ("asic.asic_serial", "unique id"), _unique),
    ("serial", ("board.product_serial", "serial number"), str),
    ("firmware.vbios", ("ifwi.part_number", "vbios.part_number", "vbios.vbios_part_number", "vbios version"), str),
    ("memory_mib", ("vram.size", "vram.vram_size_mb", "vram total memory (b)"), _mib),
    (
        "power_limit_watts",
        ("limit.ppt0.socket_power_limit", "limit.socket_power", "max graphics package power (w)"),
        number,
    ),
    ("numa_node", ("numa.node", "(topology) numa node"), int),
    ("partition_mode.compute", ("partition.accelerator_partition", "partition.compute_partition"), str),
    ("partition_mode.memory", ("partition.memory_partition",), str),
    ("memory_health.ecc_mode", ("ras.ecc_block_state.umc",), str.lower),
    ("memory_health.remapped_rows", ("",), str),
)
_DRIVER = ("driver.version", "driver.driver_version", "driver version")


def ask(tools: Tools, rows: Mapping[str, Row]) -> Heard:
    """Ask ``amd-smi`` where it is installed, else or when it is of no use ``rocm-smi``."""
    heard = tools.absent(_NEW) or _ask(tools, rows, _NEW, "static", "--json")
    if not heard.values and "was stopped" not in heard.silent and tools.find(_OLD):
        heard = _ask(tools, rows, _OLD, *_OLD_OPTIONS)
    release = tools.host.read("/opt/rocm/.info/version").value
    versions = {**heard.versions, "user_space": release.partition("-")[0] if release else None}
    return heard._replace(versions=versions, compared=("tool",))


def _ask(tools: Tools, rows: Mapping[str, Row], name: str, *arguments: str) -> Heard:
    said = tools.run(name, *arguments)
    try:
        cards = read_cards(said.text)
    except (ValueError, TypeError, AttributeError, KeyError):
        return tools.lost(said)
    values: dict[str, dict[str, Any]] = {}
    unknown, ids = {}, {}
    for number_of, card in cards.items():
        try:
            one = address(look(card, "bus.bdf") or look(card, "pci bus"))
        except ValueError:
            continue
        if one not in values:  # a second one is a partition of it
            book = Book()
            values[one], unknown[one], ids[number_of] = _device(name, card, rows.get(one), book), book.unknown, one
    pairs: list[Pair] = []
    links_unknown = None
    if len(ids) > 1 and not any((row.get("fabric") or {}).get("kind") for row in rows.values()):
        pairs, links_unknown = _topology(tools) if name == _NEW else (_old_topology(cards.get("system", {})), None)
    links = tuple(pair_row(ids[a], ids[b], "xgmi", hops, None, name) for a, b, hops in pairs if a in ids and b in ids)
    silent = tools.judge(name, rows, values, said.reason or links_unknown)
    drivers = [value(name, look(card, path)).value for card in cards.values() for path in _DRIVER]
    return Heard(values, unknown, silent, links, links_unknown, {"tool": next(filter(None, drivers), None)})


def read_cards(text: str) -> dict[str, Any]:
    """Cards by number, in any form that the two tools have had; names in lower case. Raises ValueError and its kin."""
    try:
        found = _lower(read_json(text))
    except ValueError:
        found = _read_text(text)
    if isinstance(found, dict):
        found = found.get("gpu_data", found)
    if isinstance(found, list):
        return {str(card["gpu"]): card for card in found}
    if not any(isinstance(card, dict) for card in found.values()):
        raise ValueError("no card")
    return {name.replace("card", "", 1): card for name, card in found.items()}


def _lower(found: Any) -> Any:
    if isinstance(found, dict):
        if found.keys() == {"value", "unit"}:
            return f"{found['value']} {found['unit']}"
        return {name.lower(): _lower(one) for name, one in found.items()}
    return [_lower(one) for one in found] if isinstance(found, list) else found


def _read_text(text: str) -> dict[str, Any]:
    """``GPU: 0`` with indented sections below it (amd-smi), or ``GPU[0] : name: value`` (rocm-smi)."""
    found: dict[str, Any] = {}
    open_at: list[tuple[int, dict[str, Any]]] = []
    for line in text.splitlines():
        old = re.match(r"GPU\[(\d+)\]\s*: ([^:]+): (.*)", line)
        new = re.match(r"(\s*)([\w ]+): ?(.*)", line)
        if old is not None:
            found.setdefault(old.group(1), {})[old.group(2).lower()] = old.group(3)
        elif new is not None and new.group(2) == "GPU":
            open_at = [(0, found.setdefault(new.group(3), {}))]
        elif new is not None and open_at:
            indent, name, plain = len(new.group(1)), new.group(2).lower(), new.group(3)
            while len(open_at) > 1 and open_at[-1][0] >= indent:
                open_at.pop()
            if plain:
                open_at[-1][1][name] = plain
            else:
                open_at.append((indent, open_at[-1][1].setdefault(name, {})))
    return found


def look(card: Any, path: str) -> object:
    """The value at a dotted path, or at a name with dots and units in it."""
    if isinstance(card, dict) and path in card:
        return f"{card[path]} B" if path.endswith("(b)") else card[path]
    for part in path.split("."):
        card = card.get(part) if isinstance(card, dict) else None
    return card


def _device(name: str, card: dict[str, Any], row: Optional[Row], book: Book) -> dict[str, Any]:
    values = fields(name, _WANTED, lambda path: look(card, path), book)
    if row is not None and not set(row["firmware"] or ()) - {"vbios"}:  # the kernel names them otherwise
        for key, version in card.items():
            if key.endswith(" firmware version") and str(version).strip("0x."):  # zeros: the device has no such block
                values["firmware"][key[: -len(" firmware version")].replace(" ", "_")] = version
    return values


def _topology(tools: Tools) -> tuple[list[Pair], Optional[str]]:
    said = tools.run(_NEW, "topology", "--json")
    try:
        pairs = [(card["gpu"], link) for card in _lower(read_json(said.text)) for link in card["links"]]
        return [
            (str(a), str(link["gpu"]), link.get("num_hops"))
            for a, link in pairs
            if link["link_type"] == "XGMI" and a < link["gpu"]
        ], None
    except (ValueError, TypeError, KeyError):
        return [], said.why


def _old_topology(system: Mapping[str, str]) -> list[Pair]:
    found: list[Pair] = []
    for key, kind in system.items():
        between = re.fullmatch(r"\(topology\) link type between drm devices (\d+) and (\d+)", key)
        if between is not None and kind == "XGMI":
            hops = system.get(key.replace("link type", "hops"), "")
            found.append((between.group(1), between.group(2), int(hops) if re.match("[0-9]{1,4}\\Z", hops) else None))
    return found
