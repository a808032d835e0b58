# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVIDIA's tools tell: NVML through ``pynvml``, else ``nvidia-smi``; and the version of the fabric manager.

Source: ``nvidia-smi -q -x`` of drivers 418 to 595 (DTD v10 to v13), NVML of driver 580. Looked at 2026-12-01.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Callable, Optional

from ...host.door import Host
from ...model.answer import Answer, Book
from ...model.tool import Heard, Row
from .. import tools as asked
from ..tools import Tools, pair_row, put, said

SMI = "nvidia-smi"
_MANAGER = "nv-fabricmanager"
_LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib")
_MISMATCH = re.compile(r"version mismatch", re.IGNORECASE)
_WANTED = (
    ("model", ("product_name",)),
    ("uuid", ("uuid",)),
    ("serial", ("serial",)),
    ("firmware.vbios", ("vbios_version",)),
    ("firmware.gsp", ("gsp_firmware_version",)),
    ("memory_mib", ("fb_memory_usage/total",)),
    (
        "power_limit_watts",
        (
            *("gpu_power_readings/current_power_limit", "gpu_power_readings/power_limit"),
            *("power_readings/current_power_limit", "power_readings/power_limit"),
        ),
    ),
    ("fabric.state", ("fabric/state",)),
    ("memory_health.ecc_mode", ("ecc_mode/current_ecc",)),
)
"""Paths in the facts, and where ``-q -x`` has had them, newest first."""
_NUMBERS = ("memory_mib", "power_limit_watts")
_WORDS = ("fabric.state", "memory_health.ecc_mode")


def _yes(text: str) -> bool:
    if text.lower() not in ("yes", "no"):
        raise ValueError(text)
    return text.lower() == "yes"


_ROWS: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
    ("remapped_row_corr", "correctable", int),
    ("remapped_row_unc", "uncorrectable", int),
    ("remapped_row_pending", "pending", _yes),
    ("remapped_row_failure", "failure", _yes),
)


def ask(tools: Tools, rows: Mapping[str, Row]) -> Heard:
    """Ask NVML where ``pynvml`` is installed, else or when it fails ``nvidia-smi``."""
    heard = _smi(tools, rows)
    versions = dict(heard.versions)
    library = _library(tools.host)
    if library is not None:
        versions["user_space"] = library
    versions["fabric_manager"] = _fabric_manager(tools)
    return heard._replace(versions=versions, compared=("user_space", "fabric_manager", "tool"))


def _library(host: Host) -> str | None:
    """The version of the NVML library, by the file that its link leads to."""
    for folder in _LIBRARY_FOLDERS:
        found = host.resolve(f"{folder}/libnvidia-ml.so.1").value
        version = (found or "").rpartition(".so.")[2]
        if "." in version:
            return version
    return None


def _fabric_manager(tools: Tools) -> str | None:
    if tools.find(_MANAGER) is None:
        return None
    text, reason, _stopped = tools.run(_MANAGER, "--version")
    found = re.search(r"version[^\d\n]*(\d+(\.\d+)+)", text)
    if found is None:
        tools.note(_MANAGER, "failed", asked.useless(_MANAGER, text, reason))
        return None
    tools.note(_MANAGER, "ok")
    return found.group(1)


def _smi(tools: Tools, rows: Mapping[str, Row]) -> Heard:
    if tools.find(SMI) is None:
        return Heard({}, {}, tools.note(SMI, "absent", f"{SMI} is not installed"))
    text, reason, stopped = tools.run(SMI, "-q", "-x")
    try:
        logs = [read_xml(text)]
    except ValueError as error:
        why = reason if stopped else asked.useless(SMI, text, reason or str(error))
        library = re.search(r"NVML library version:\s*([\d.]+)", text)
        logs = [] if stopped or _MISMATCH.search(text) else _one_by_one(tools, rows)
        if not logs:
            versions = {"user_space": library.group(1)} if library else {}
            silent = tools.note(SMI, "failed", why)
            return Heard({}, {}, silent, (), silent, versions, is_mismatch=bool(_MISMATCH.search(text)))
        reason = why
    gpus = [gpu for log in logs for gpu in log.iter("gpu")]
    values, unknown, ids = {}, {}, []
    for gpu in gpus:
        book = Book()
        bus = _text(gpu, ("pci/pci_bus_id",)) or gpu.get("id", "")
        try:
            ids.append(asked.address(bus))
        except ValueError:
            ids.append("")
            continue
        values[ids[-1]] = _device(gpu, book)
        unknown[ids[-1]] = book.unknown
    names = _names(tools) if any("partitions" in told for told in values.values()) else {}
    for number, one in enumerate(ids):
        for partition in values.get(one, {}).get("partitions", ()):
            partition["profile"], partition["uuid"] = names.get((number, partition.pop("index")), (None, None))
    links, links_unknown = _links(tools, ids, rows, values) if len(ids) > 1 else ((), None)
    versions = {"tool": said(SMI, _text(logs[0], ("driver_version",))).value}
    lost = [one for one in values if not values[one]["uuid"]]
    if lost:
        reason = f"{SMI} tells little of {', '.join(lost)}" + (f"; {reason}" if reason else "")
    silent = tools.judge(SMI, rows, values, reason or links_unknown)
    return Heard(values, unknown, silent, links, links_unknown, versions)


def _one_by_one(tools: Tools, rows: Mapping[str, Row]) -> list[Any]:
    """Older versions print nothing at all when one GPU is lost: the others are asked each by itself."""
    logs = []
    for one in rows if len(rows) > 1 else ():
        try:
            logs.append(read_xml(tools.run(SMI, "-q", "-x", "-i", one)[0]))
        except ValueError:
            continue
    return logs


def read_xml(text: str) -> Any:
    """The log in what was printed (warnings stand before and after it). Raises ValueError."""
    from xml.etree import ElementTree

    start, end = text.find("<nvidia_smi_log"), text.rfind("</nvidia_smi_log>")
    if start < 0 or end < 0 or "<!ENTITY" in text:
        raise ValueError("XML that ends early" if start >= 0 > end else "no XML")
    try:
        return ElementTree.fromstring(text[start:end] + "</nvidia_smi_log>")
    except ElementTree.ParseError as error:
        raise ValueError(f"XML that cannot be read ({error})") from None


def _text(place: Any, paths: tuple[str, ...]) -> str | None:
    for path in paths:
        found = place.find(path)
        if found is not None and said(SMI, found.text).value is not None:
            return str(found.text)
    last = place.find(paths[-1]) if paths else None
    return None if last is None else last.text


def _device(gpu: Any, book: Book) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for path, places in _WANTED:
        parse = asked.number if path in _NUMBERS else str.lower if path in _WORDS else str
        put(values, book, path, said(SMI, _text(gpu, places)), parse)
    _fabric(gpu, values, book)
    _remapped(gpu.find("remapped_rows"), values, book)
    migs = list(gpu.findall("mig_devices/mig_device"))
    if migs:
        found = sorted((_mig(one) for one in migs), key=lambda one: (one.pop("gi"), one.pop("ci")))
        minor = said(SMI, gpu.findtext("minor_number")).value or "0"
        values["partitions"] = [{"id": f"{minor}:{number}", **one} for number, one in enumerate(found)]
    return values


def _remapped(table: Any, values: dict[str, Any], book: Book) -> None:
    texts = [None if table is None else _text(table, (name,)) for name, _field, _parse in _ROWS]
    if all(said(SMI, text).value is None for text in texts):
        values["memory_health"]["remapped_rows"] = None
        text = None if table is None else (table.text or "").strip() or texts[0]
        book.miss("memory_health.remapped_rows", said(SMI, text).reason or "")
        return
    for text, (_name, field, parse) in zip(texts, _ROWS):
        put(values, book, f"memory_health.remapped_rows.{field}", said(SMI, text), parse)


def _fabric(gpu: Any, values: dict[str, Any], book: Book) -> None:
    """The clique as labels name it: the domain's UUID and the clique in it; a lone node has the UUID of zeros."""
    clique, cluster = _text(gpu, ("fabric/cliqueId",)), _text(gpu, ("fabric/clusterUuid",))
    answer = said(SMI, clique)
    if answer.value is not None and not (cluster or "").strip("0- "):
        answer = Answer(None, "in no NVLink domain of several nodes")
    put(values, book, "fabric.clique", answer, lambda text: f"{cluster}.{text}")
    values["fabric"]["kind"] = "nvlink" if values["fabric"]["state"] else None


def _mig(one: Any) -> dict[str, Any]:
    def whole(path: str) -> int:
        text = (one.findtext(path) or "").strip()
        return int(text) if text.isdigit() else -1

    memory = said(SMI, one.findtext("fb_memory_usage/total")).value
    return {
        "index": whole("index"),
        "gi": whole("gpu_instance_id"),
        "ci": whole("compute_instance_id"),
        "memory_mib": None if memory is None else asked.number(memory),
    }


def _names(tools: Tools) -> dict[tuple[int, int], tuple[str, str]]:
    """Profile and UUID of MIG devices by the index of the GPU and their own."""
    return read_names(tools.run(SMI, "-L")[0])


def read_names(text: str) -> dict[tuple[int, int], tuple[str, str]]:
    """The same from the text of ``nvidia-smi -L``."""
    found, gpu = {}, -1
    for line in text.splitlines():
        outer = re.match(r"GPU (\d+):", line)
        inner = re.match(r"\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-\S+)\)", line)
        if outer is not None:
            gpu = int(outer.group(1))
        elif inner is not None:
            found[(gpu, int(inner.group(2)))] = (inner.group(1), inner.group(3))
    return found


def _links(
    tools: Tools, ids: list[str], rows: Mapping[str, Row], values: Mapping[str, Any]
) -> tuple[tuple[dict[str, Any], ...], Optional[str]]:
    text, reason, _stopped = tools.run(SMI, "topo", "-m")
    counts = dict(read_matrix(text))
    if not counts:
        return (), asked.useless(f"{SMI} topo", text, reason)
    if max(max(pair) for pair in counts) >= len(ids):
        return (), f"{SMI} topo counts other GPUs than {SMI} -q"
    return tuple(
        pair_row(ids[a], ids[b], "nvlink", 2 if _is_switched(ids[a], rows, values) else 1, count, SMI)
        for (a, b), count in sorted(counts.items())
        if count and ids[a] and ids[b]
    ), None


def _is_switched(one: str, rows: Mapping[str, Row], values: Mapping[str, Any]) -> bool:
    """Behind an NVSwitch: one is on the bus, or the GPU has registered with a fabric, which only switches have."""
    fabric = (rows.get(one) or {}).get("fabric") or {}
    return bool(fabric.get("kind") or values[one]["fabric"]["state"])


def read_matrix(text: str) -> Iterator[tuple[tuple[int, int], int]]:
    """Pairs of GPU numbers and their active NVLinks (0: none) from the matrix of ``nvidia-smi topo -m``."""
    columns: list[str] = []
    for line in re.sub(r"\x1b\[\d*m", "", text).splitlines():
        words = line.split()
        if not columns:
            columns = [word for word in words if re.fullmatch(r"GPU\d+|NIC\d+", word)] if "GPU0" in words else []
            continue
        if not words or not re.fullmatch(r"GPU\d+", words[0]):
            continue
        for column, word in zip(columns, words[1:]):
            a, b = int(words[0][3:]), int(column[3:])
            if column.startswith("GPU") and a < b:
                found = re.fullmatch(r"NV(\d+)", word)
                yield (a, b), int(found.group(1)) if found is not None else 0
