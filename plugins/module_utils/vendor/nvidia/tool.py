# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What NVIDIA's tools tell: NVML through ``pynvml``, else ``nvidia-smi``; and the version of the fabric manager.

Source: ``nvidia-smi -q -x`` of drivers 418 to 595 (DTD v10 to v13), NVML of driver 580. Looked at 2026-12-01.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Optional

from ...host.door import Host
from ...model.answer import Answer, Book
from ...model.device import Heard, Row
from ..tools import Said, Tools, Wanted, address, fields, number, pair_row, place, put, read_json, value

SMI, NVML, _MANAGER = "nvidia-smi", "nvml", "nv-fabricmanager"
_LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib")
_OPEN_MODULE, _FIRST_KERNEL = "Open Kernel Module", (5, 12)  # both are needed for dma-buf


def _yes(text: str) -> bool:
    if text.lower() not in ("yes", "no"):
        raise ValueError(text)
    return text.lower() == "yes"


_ROWS: Wanted = tuple(
    (f"memory_health.remapped_rows.{field}", (f"remapped_rows/remapped_row_{name}",), parse)
    for field, name, parse in (
        ("correctable", "corr", int),
        ("uncorrectable", "unc", int),
        ("pending", "pending", _yes),
        ("failure", "failure", _yes),
    )
)
_WANTED: Wanted = (
    ("model", ("product_name",), str),
    ("uuid", ("uuid",), str),
    ("serial", ("serial",), str),
    ("firmware.vbios", ("vbios_version",), str),
    ("firmware.gsp", ("gsp_firmware_version",), str),
    ("memory_mib", ("fb_memory_usage/total",), number),
    (
        "power_limit_watts",
        ("gpu_power_readings/current_power_limit", "gpu_power_readings/power_limit", "power_readings/power_limit"),
        number,
    ),
    ("fabric.state", ("fabric/state",), str.lower),
    ("memory_health.ecc_mode", ("ecc_mode/current_ecc",), str.lower),
)


def ask(tools: Tools, rows: Mapping[str, Row]) -> Heard:
    """Ask NVML where ``pynvml`` is installed, else or when it fails ``nvidia-smi``."""
    heard = _nvml(tools, rows)
    # What hangs NVML hangs nvidia-smi too, which is made of it.
    if heard is None or (not heard.values and "was stopped" not in heard.silent and tools.find(SMI)):
        heard = _smi(tools, rows)
    versions = {**heard.versions, "fabric_manager": None}
    versions["user_space"] = _library(tools.host) or versions.get("user_space")
    why = f"{_MANAGER} is not installed"
    if tools.find(_MANAGER):
        said = tools.run(_MANAGER, "--version")
        found = re.search(r"version[^\d\n]*(\d+(\.\d+)+)", said.text)
        why = tools.note(_MANAGER, "ok") if found else tools.note(_MANAGER, "failed", said.why)
        versions["fabric_manager"] = found.group(1) if found else None
    for one, told in heard.values.items():
        told["fabric"]["kind"] = "nvlink" if told["fabric"]["state"] else None
        told["peer_memory"] = _dma_buf(tools.host)
        heard.unknown[one]["peer_memory"] = "it needs the open kernel module and Linux 5.12"
    return heard._replace(versions=versions, compared=("user_space", "fabric_manager", "tool"), no_manager=why)


def _library(host: Host) -> str | None:
    """The version of the NVML library, by the file that its link leads to."""
    for folder in _LIBRARY_FOLDERS:
        version = (host.resolve(f"{folder}/libnvidia-ml.so.1").value or "").rpartition(".so.")[2]
        if "." in version:
            return version
    return None


def _dma_buf(host: Host) -> str | None:
    release = re.match(r"(\d+)\.(\d+)", host.read("/proc/sys/kernel/osrelease").value or "")
    is_new = release is not None and (int(release.group(1)), int(release.group(2))) >= _FIRST_KERNEL
    return "dmabuf" if is_new and _OPEN_MODULE in (host.read("/proc/driver/nvidia/version").value or "") else None


def _program(host: Host) -> tuple[str, ...] | None:
    """How NVML is asked: by a Python of its own. In a recording, as it was asked then."""
    if not host.is_live:
        return next((argv for argv in host.answers if argv[1:2] == ("-c",) and '"pynvml"' in argv[2]), None)
    places = ("pynvml.py", "pynvml/__init__.py")
    folder = next((one for one in sys.path for place in places if one and host.exists(f"{one}/{place}")), None)
    if folder is None:
        return None
    from . import nvml

    source = nvml.__loader__.get_source(nvml.__name__)  # type: ignore[union-attr]
    return sys.executable, "-c", source, folder


def _nvml(tools: Tools, rows: Mapping[str, Row]) -> Heard | None:
    argv = _program(tools.host)
    if argv is None:
        tools.note(NVML, "absent", "pynvml is not installed")
        return None
    said = tools.run(NVML, *argv[1:], path=argv[0])
    values: dict[str, dict[str, Any]] = {}
    unknown: dict[str, dict[str, str]] = {}
    links: dict[str, dict[str, int]] = {}
    try:
        seen = read_json(said.text)
        for index, gpu in enumerate(seen["gpus"]):
            one = address(gpu["bus"])
            unknown[one], links[one], values[one] = gpu["why"], gpu["links"], {}
            for path, what in gpu["told"].items():
                place(values[one], path, what)
            if gpu["migs"]:
                values[one]["partitions"] = [{"id": f"{index}:{n}", **mig} for n, mig in enumerate(gpu["migs"])]
    except (ValueError, TypeError, KeyError):
        return tools.lost(said)
    silent = tools.judge(NVML, rows, values, said.reason or "; ".join(seen["errors"]) or None)
    # The library prefixes its number with that of CUDA: 13.580.95.05
    versions = {"tool": seen["driver"], "user_space": re.sub(r"^\d+\.(?=\d{3}\.)", "", seen["library"] or "") or None}
    return Heard(values, unknown, silent, tuple(_pairs(links)), None, versions)


def _pairs(links: Mapping[str, Mapping[str, int]]) -> Iterator[dict[str, Any]]:
    """A row for each pair that shares NVLinks, by itself or through switches (whatever is no GPU that is here)."""
    to: dict[str, dict[str, int]] = {one: {"switch": 0} for one in sorted(links)}
    for one, peers in links.items():
        for peer, count in peers.items():
            known = peer if peer == "switch" else address(peer)
            known = known if known in links else "switch"
            to[one][known] = to[one].get(known, 0) + count
    for a in to:
        for b in to:
            direct, through = to[a].get(b, 0), min(to[a]["switch"], to[b]["switch"])
            if a < b and (direct or through):
                yield pair_row(a, b, "nvlink", 1 if direct else 2, direct or through, NVML)


def _smi(tools: Tools, rows: Mapping[str, Row]) -> Heard:
    nothing = tools.absent(SMI)
    if nothing is not None:
        return nothing
    said = tools.run(SMI, "-q", "-x")
    reason = said.reason
    try:
        logs = [read_xml(said.text)]
    except ValueError as error:
        said = said if said.reason or not str(error) else Said(SMI, "", f"{SMI} printed {error}")
        # Older versions print nothing at all when one GPU is lost: the others are asked each by itself.
        logs = [] if said.stopped or len(rows) < 2 else list(_one_by_one(tools, rows))
        if not logs:
            library = re.search(r"NVML library version:\s*([\d.]+)", said.text)
            return tools.lost(said)._replace(versions={"user_space": library.group(1)} if library else {})
        reason = said.why
    values: dict[str, dict[str, Any]] = {}
    unknown, ids = {}, []
    for gpu in (gpu for log in logs for gpu in log.iter("gpu")):
        book = Book()
        try:
            ids.append(address(gpu.findtext("pci/pci_bus_id") or gpu.get("id")))
        except ValueError:
            ids.append("")
            continue
        values[ids[-1]], unknown[ids[-1]] = _device(gpu, book), book.unknown
    if any("partitions" in told for told in values.values()):
        names = read_names(tools.run(SMI, "-L").text)
        for index, one in enumerate(ids):
            for mig in values.get(one, {}).get("partitions", ()):
                mig["profile"], mig["uuid"] = names.get((index, mig.pop("index")), (None, None))
    links, links_unknown = _links(tools, ids, rows, values) if len(ids) > 1 else ((), None)
    lost = [one for one, told in values.items() if not told["uuid"]]
    if lost:
        reason = f"{SMI} tells little of {', '.join(lost)}" + (f"; {reason}" if reason else "")
    silent = tools.judge(SMI, rows, values, reason or links_unknown)
    versions = {"tool": value(SMI, logs[0].findtext("driver_version")).value}
    return Heard(values, unknown, silent, links, links_unknown, versions)


def _one_by_one(tools: Tools, rows: Mapping[str, Row]) -> Iterator[Any]:
    for one in rows:
        try:
            yield read_xml(tools.run(SMI, "-q", "-x", "-i", one).text)
        except ValueError:
            continue


def read_xml(text: str) -> Any:
    """The log in what was printed (warnings stand before and after it). Raises ValueError."""
    from xml.etree import ElementTree

    start, end = text.find("<nvidia_smi_log"), text.rfind("</nvidia_smi_log>")
    if start < 0 or end < start or "<!ENTITY" in text:
        raise ValueError("" if start < 0 else "XML that ends early" if end < start else "XML with entities")
    try:
        # Clocks are most of the text, and no fact.
        log = re.sub(r"<supported_clocks>.*?</supported_clocks>", "", text[start:end], flags=re.DOTALL)
        return ElementTree.fromstring(log + "</nvidia_smi_log>")
    except ElementTree.ParseError as error:
        raise ValueError(f"XML that cannot be read ({error})") from None


def _device(gpu: Any, book: Book) -> dict[str, Any]:
    values = fields(SMI, _WANTED, gpu.findtext, book)
    # The clique as labels name it: the domain's UUID and the clique in it. A lone node has the UUID of zeros.
    clique, cluster = value(SMI, gpu.findtext("fabric/cliqueId")), (gpu.findtext("fabric/clusterUuid") or "").strip()
    if clique.value is not None and not cluster.strip("0- "):
        clique = Answer(None, "in no NVLink domain of several nodes")
    put(values, book, "fabric.clique", clique, lambda text: f"{cluster}.{text}")
    rows_book = Book()
    rows = fields(SMI, _ROWS, gpu.findtext, rows_book)["memory_health"]["remapped_rows"]
    if all(one is None for one in rows.values()):
        rows = book.miss("memory_health.remapped_rows", next(iter(rows_book.unknown.values())))
    else:
        book.unknown.update(rows_book.unknown)
    values["memory_health"]["remapped_rows"] = rows
    migs = [_mig(one) for one in gpu.findall("mig_devices/mig_device")]
    if migs:
        minor = value(SMI, gpu.findtext("minor_number")).value or "0"
        migs.sort(key=lambda one: (one.pop("gi"), one.pop("ci")))
        values["partitions"] = [{"id": f"{minor}:{n}", **one} for n, one in enumerate(migs)]
    return values


def _mig(one: Any) -> dict[str, Any]:
    paths = {
        "index": "index",
        "gi": "gpu_instance_id",
        "ci": "compute_instance_id",
        "memory_mib": "fb_memory_usage/total",
    }
    texts = {key: value(SMI, one.findtext(path)).value for key, path in paths.items()}
    return {key: None if text is None else number(text) for key, text in texts.items()}


def read_names(text: str) -> dict[tuple[int, int], tuple[str, str]]:
    """Profile and UUID of MIG devices by the index of the GPU and their own, from ``nvidia-smi -L``."""
    found, gpu = {}, -1
    for line in text.splitlines():
        outer = re.match(r"GPU (\d+):", line)
        inner = re.match(r"\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[^)]+)\)", line)
        gpu = int(outer.group(1)) if outer is not None else gpu
        if inner is not None:
            found[(gpu, int(inner.group(2)))] = (inner.group(1), inner.group(3))
    return found


def _links(
    tools: Tools, ids: list[str], rows: Mapping[str, Row], values: Mapping[str, Any]
) -> tuple[tuple[dict[str, Any], ...], Optional[str]]:
    said = tools.run(SMI, "topo", "-m")
    counts = dict(read_matrix(said.text))
    if not counts or max(map(max, counts)) >= len(ids):
        return (), f"{SMI} topo counts other GPUs" if counts else said.why
    return tuple(
        pair_row(ids[a], ids[b], "nvlink", 2 if _is_switched(rows.get(ids[a]), values[ids[a]]) else 1, count, SMI)
        for (a, b), count in sorted(counts.items())
        if count and ids[a] and ids[b]
    ), None


def _is_switched(row: Optional[Row], told: Mapping[str, Any]) -> bool:
    """Behind an NVSwitch: one is on the bus, or the GPU has registered with a fabric, which only switches have."""
    return bool(told["fabric"]["state"] or ((row or {}).get("fabric") or {}).get("kind"))


def read_matrix(text: str) -> Iterator[tuple[tuple[int, int], int]]:
    """Pairs of GPU numbers and their active NVLinks (0: none) from the matrix of ``nvidia-smi topo -m``."""
    columns: list[str] = []
    for line in re.sub(r"\x1b\[\d*m", "", text).splitlines():
        words = line.split()
        if not columns:
            columns = [word for word in words if re.fullmatch(r"(GPU|NIC)\d+", word)] if "GPU0" in words else []
        elif words and re.fullmatch(r"GPU\d+", words[0]):
            for column, word in zip(columns, words[1:]):
                found = re.fullmatch(r"NV(\d+)", word)
                if column.startswith("GPU") and int(words[0][3:]) < int(column[3:]):
                    yield (int(words[0][3:]), int(column[3:])), int(found.group(1)) if found is not None else 0
