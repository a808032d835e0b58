# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the running kernel that last: sysctl, and huge pages of the default size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...codec import sysctl
from ...model.errors import ConflictError, InputError, UnsupportedError
from ...model.plan import PathStep, Plan, Restart, Setting, file_step
from .seen import SYSCTL_FILE, Seen
from .wish import PAGES_KEY, Wish, size_text

PAGES_FOLDER = "/sys/kernel/mm/hugepages"


def decide(seen: Seen, wish: Wish) -> Plan:
    """Our file of sysctl.d, and the values that the running kernel has otherwise."""
    if wish.sysctl is None and wish.pages is None:
        return Plan()
    values = _whole(seen, wish)
    given = {path: value for path, value in values.items() if path in _asked(seen, wish)}
    _check_later(seen, given)
    text = sysctl.text(values).encode() if values else None
    steps: list[PathStep | Setting] = [*file_step(SYSCTL_FILE, seen.at(SYSCTL_FILE), text, "sets values at boot")]
    restarts: tuple[Restart, ...] = ()
    reboot: list[str] = []
    if seen.is_live:
        steps += _settings(seen, wish.sysctl or {})
        pages = _page_settings(seen, wish, reboot)
        steps += pages
        if pages and seen.is_kubelet:
            restarts = (Restart("kubelet.service", "it reads the number of huge pages only when it starts", True),)
    return Plan(tuple(steps), restarts=restarts, reboot=tuple(reboot), deferred=_deferred(seen, wish))


def pages_path(size_kb: int) -> str:
    """Where the running kernel shows and takes the number of huge pages of a size."""
    return f"{PAGES_FOLDER}/hugepages-{size_kb}kB/nr_hugepages"


def _deferred(seen: Seen, wish: Wish) -> tuple[str, ...]:
    if wish.pages and seen.default_kb is None:
        return ("hugepages: which size is the default one, only the running kernel knows",)
    return ()


def _asked(seen: Seen, wish: Wish) -> Mapping[str, str]:
    """What this call asks of the file."""
    values = dict(wish.sysctl or {})
    if wish.pages is not None and seen.default_kb is not None and seen.default_kb in wish.pages:
        values[PAGES_KEY] = str(wish.pages[seen.default_kb])
    return values


def _whole(seen: Seen, wish: Wish) -> dict[str, str]:
    """What our file is to hold: of an aspect that is not managed, what it has already."""
    held = {one.path: one.value for one in sysctl.read(seen.at(SYSCTL_FILE).content.decode("utf-8", "replace"))}
    is_kept = wish.pages is None or (wish.pages and seen.default_kb is None)
    kept = {
        path: value
        for path, value in held.items()
        if (path == PAGES_KEY and is_kept) or (path != PAGES_KEY and wish.sysctl is None)
    }
    return {**kept, **_asked(seen, wish)}


def _check_later(seen: Seen, values: Mapping[str, str]) -> None:
    """Raises ConflictError where a file that is read after ours sets a key otherwise."""
    ours = SYSCTL_FILE.rpartition("/")[2]
    last = {}
    for file in seen.sysctl_files:
        if file.path.rpartition("/")[2] > ours:
            last.update({one.path: (file.path, one) for one in sysctl.read(file.text)})
    for path, (file_path, one) in sorted(last.items()):
        wished = values.get(path)
        if wished is not None and not sysctl.is_same(one.value, wished):
            raise ConflictError(
                "set",
                f"sysctl {sysctl.key_of(path)}",
                f"{one.value!r} in {file_path} line {one.number}, which is read after ours",
                f"{wished!r}",
                "take it out of that file, or out of the wish",
                {"path": file_path, "line": one.number, "found": one.value, "wished": wished},
            )


def _settings(seen: Seen, values: Mapping[str, str]) -> Iterator[Setting]:
    for path, wished in sorted(values.items()):
        place = f"/proc/sys/{path}"
        before = seen.values.get(place)
        if before is None:
            raise UnsupportedError(
                "set",
                f"sysctl {sysctl.key_of(path)}",
                f"the running kernel shows no {place}",
                "a key that it has",
                "correct the key, or load the module that has it in a task before",
            )
        if not sysctl.is_same(before, wished):
            after = sysctl.as_shown(wished, before)
            yield Setting(place, sysctl.plain(before), after, "the running kernel has another value")


def _page_settings(seen: Seen, wish: Wish, reboot: list[str]) -> list[Setting]:
    """Huge pages of every size, as far as the running kernel may still give them; ``reboot`` gets the rest."""
    pages = wish.pages or {}
    _check_pages(seen, pages)
    found = []
    for size_kb, wished in sorted(pages.items()):
        path = pages_path(size_kb)
        before = int(seen.values[path])
        if before == wished:
            continue
        more_kb = (wished - before) * size_kb
        lacks = seen.available_kb is not None and more_kb > seen.available_kb
        if not wish.is_given_now or lacks:
            why = "the memory that is free does not hold them" if lacks else "hugepages_now is false"
            reboot.append(f"{before} of {wished} huge pages of {size_text(size_kb)} are there: {why}")
        else:
            found.append(Setting(path, str(before), str(wished), "the running kernel has another number"))
    return found


def _check_pages(seen: Seen, pages: Mapping[int, int]) -> None:
    for size_kb in pages:
        if not seen.values.get(pages_path(size_kb), "").isdigit():
            known = ", ".join(size_text(one) for one in seen.pages_kb) or "none"
            subject = f"huge pages of {size_text(size_kb)}"
            raise UnsupportedError(
                "set", subject, f"the running kernel knows {known}", "a size that it knows", "change the size"
            )
    wished_kb = sum(size_kb * count for size_kb, count in pages.items())
    if seen.memory_kb is not None and wished_kb >= seen.memory_kb:
        raise InputError(
            "use",
            "hugepages",
            f"{wished_kb} kB in all",
            f"less than the {seen.memory_kb} kB that the node has",
            "lower the numbers",
        )
