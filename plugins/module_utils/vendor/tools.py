# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The registry of the aspect *tool*: what makers' programs tell beyond the kernel, and how they are asked.

A tool is a function ``ask(tools, rows) -> Heard``, imported only when a device of its maker is here. Tools hang, fail
and change their output; each has a deadline, and whatever one does costs no more than the values that it alone tells.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Callable, NamedTuple, Optional

from ..host.door import Host
from ..model.answer import Answer, Book
from ..model.device import Heard, Row

FOLDERS = (
    *("/usr/bin", "/usr/local/bin", "/opt/rocm/bin", "/usr/sbin", "/usr/local/sbin"),
    *("/bin", "/usr/lib/wsl/lib", "/run/current-system/sw/bin"),
)
"""Where makers and distributions put their tools (looked at 2026-12-01); the PATH of the run says little."""

_ADDRESS = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_NO_VALUE = re.compile(
    r"\[?(|n/?a|none|null|not supported|not available|unknown( error)?|err!?|gpu is lost|gpu requires reset"
    r"|insufficient permissions|requested functionality has been deprecated)\]?",
    re.IGNORECASE,
)
_ASK_SECONDS = 0.05  # with less left no program is started

Wanted = Sequence[tuple[str, tuple[str, ...], Callable[[str], Any]]]
"""Paths in the facts, the names that the tool has had for each, newest first, and how its text is read."""


class Said(NamedTuple):
    """What a tool printed, and why that may be worth little; ``stopped`` at its deadline."""

    name: str
    text: str
    reason: Optional[str]
    stopped: bool = False

    @property
    def why(self) -> str:
        """Why it is of no use: how the program ended, and the first line that it printed."""
        line = next((line.strip() for line in self.text.splitlines() if line.strip()), "")[:160]
        if self.reason is None:
            return f"{self.name} printed {line!r}" if line else f"{self.name} printed nothing"
        return f"{self.reason}: {line}" if line and ": " not in self.reason else self.reason


class Tools:
    """The programs of one maker on a node: where they are, the time each may take, and how each one answered."""

    def __init__(self, host: Host, deadline_seconds: float) -> None:
        self.host = host
        self.sources: list[dict[str, Any]] = []
        self._deadline = deadline_seconds
        self._ends: dict[str, float] = {}

    def find(self, name: str) -> str | None:
        """The path of a program that is installed."""
        return next((f"{folder}/{name}" for folder in FOLDERS if self.host.exists(f"{folder}/{name}")), None)

    def run(self, name: str, *arguments: str, path: Optional[str] = None) -> Said:
        """Run it. A tool has one deadline for all that it is asked, and no reason names another time."""
        from ..host import command  # where it is needed only: it brings subprocess along

        path = path or self.find(name)
        if path is None:
            return Said(name, "", f"{name} is not installed")
        now = time.monotonic()
        left = self._ends.setdefault(name, now + self._deadline) - now
        ran = command.run(self.host, [path, *arguments], left) if left > _ASK_SECONDS else None
        if ran is None or (ran.status is None and "stopped after" in (ran.reason or "")):
            held = ", and hangs in the kernel" if ran is not None and "kernel" in (ran.reason or "") else ""
            return Said(name, "", f"{name} was stopped after {self._deadline:g} s{held}", True)
        return Said(name, ran.stdout, None if ran.reason is None else ran.reason.replace(path, name, 1))

    def note(self, name: str, status: str, reason: Optional[str] = None) -> str:
        """A row for the section *sources*; returns the reason, or an empty text."""
        self.sources.append({"name": name, "status": status, "reason": reason})
        return reason or ""

    def lost(self, said: Said, status: str = "failed") -> Heard:
        """Nothing was heard of this tool."""
        why = self.note(said.name, status, said.why)
        return Heard({}, {}, why, (), why, is_mismatch="version mismatch" in f"{why} {said.text}".lower())

    def absent(self, name: str) -> Heard | None:
        """What is heard of a tool that is not installed; None of one that is."""
        return None if self.find(name) else self.lost(Said(name, "", f"{name} is not installed"), "absent")

    def judge(self, name: str, rows: Mapping[str, Row], told: Mapping[str, Any], reason: Optional[str]) -> str:
        """Note a tool that answered, ``partial`` where it left devices out or ended badly; why the rest is unknown."""
        missing = [one for one, row in rows.items() if one not in told and _is_listed(row)]
        if missing:
            reason = f"{name} does not list {', '.join(missing)}" + (f"; {reason}" if reason else "")
        self.note(name, "partial" if reason else "ok", reason)
        return f"{name} does not tell either"


def _is_listed(row: Row) -> bool:
    """Whether a tool can know the device: not one in the processor, nor one given to a virtual machine."""
    return not row.get("integrated") and (row.get("driver") or {}).get("name") != "vfio-pci"


def address(text: object) -> str:
    """A PCI address as the kernel prints it, from one as a tool does: ``00000000:3B:00.0`` is ``0000:3b:00.0``."""
    plain = str(text).strip().lower()
    if not re.fullmatch(_ADDRESS, plain):
        raise ValueError(plain)
    domain, _colon, rest = plain.partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def value(name: str, text: object) -> Answer:
    """A tool's text for one value, or the reason why it is none (it has many words for that)."""
    plain = str(text).strip()
    if text is None or _NO_VALUE.fullmatch(plain):
        return Answer(None, f"{name} does not tell" if text is None else f"{name} says {plain!r}")
    return Answer(plain, None)


def number(text: object) -> float:
    """The number before a unit; whole ones as int. Raises ValueError."""
    found = re.match(r"[0-9.]{1,32}(?![0-9.])", str(text))
    plain = float(found.group() if found is not None else "")
    return int(plain) if plain == int(plain) else plain


def put(values: dict[str, Any], book: Book, path: str, answer: Answer, parse: Callable[[str], Any] = str) -> None:
    """Set what ``parse`` makes of an answer at a dotted path, or None and its reason."""
    place(values, path, book.take(path, answer, parse))


def place(values: dict[str, Any], path: str, what: Any) -> None:
    """Set the value at a dotted path."""
    *folders, leaf = path.split(".")
    for folder in folders:
        values = values.setdefault(folder, {})
    values[leaf] = what


def fields(name: str, wanted: Wanted, look: Callable[[str], object], book: Book) -> dict[str, Any]:
    """The wanted fields of one device. ``look`` finds the text of a name; the first that is a value is taken."""
    values: dict[str, Any] = {}
    for path, names, parse in wanted:
        answers = [value(name, look(one)) for one in names]
        put(values, book, path, next((one for one in answers if one.value is not None), answers[-1]), parse)
        if book.unknown.get(path, "").startswith("unexpected"):
            book.unknown[path] = f"{name}: {book.unknown[path]}"
    return values


def read_json(text: str) -> Any:
    """The first JSON text after whatever warnings a tool prints before it. Raises ValueError."""
    found = re.search(r"^\s*[\[{]", text, re.MULTILINE)
    if found is None:
        raise ValueError("no JSON")
    try:
        return json.JSONDecoder().raw_decode(text[found.end() - 1 :])[0]
    except RecursionError:
        raise ValueError("JSON that is too deep") from None


def read_table(text: str) -> Iterator[dict[str, str]]:
    """The devices of a table in the form that nvidia-smi set: two lines each, an address in the first."""
    lines = text.splitlines()
    for line, following in zip(lines, [*lines[1:], ""]):
        found = re.search(rf"\|\s*\d+\s+(.*?)\s\s.*\|\s*({_ADDRESS})", line)
        if found is not None:
            row = {"name": found.group(1), "bus": found.group(2)}
            for key, pattern in (("power", r"/\s*(\d+)\s*W"), ("memory", r"/\s*(\d+)\s*MiB")):
                cap = re.search(pattern, following)
                row.update({} if cap is None else {key: cap.group(1)})
            yield row


def pair_row(a: str, b: str, kind: str, hops: Optional[int], count: Optional[int], tool: str) -> dict[str, Any]:
    """A row of the section *links*."""
    a, b = sorted((a, b))
    row: dict[str, Any] = {"a": a, "b": b, "kind": kind, "hops": hops, "count": count}
    row["state"] = "active" if count else None
    row["unknown"] = {key: f"{tool} does not tell" for key in ("hops", "count", "state") if row[key] is None}
    return row


Ask = Callable[[Tools, Mapping[str, Row]], Heard]


def _nvidia() -> Ask:
    from .nvidia.tool import ask

    return ask


def _amd() -> Ask:
    from .amd.tool import ask

    return ask


def _intel() -> Ask:
    from .intel.tool import ask

    return ask


def _habana() -> Ask:
    from .habana.tool import ask

    return ask


LOADERS: dict[str, Callable[[], Ask]] = {"nvidia": _nvidia, "amd": _amd, "intel": _intel, "habana": _habana}


def tool_of(maker: str) -> Optional[Ask]:
    """How the maker's tools are asked, loaded now; None for a maker whose tools are not known."""
    loader = LOADERS.get(maker)
    return None if loader is None else loader()
