# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's command line from the next boot on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from ...codec import command_line as codec
from ...codec.command_line import Group
from ...model.errors import ConflictError, UnsupportedError
from ...model.plan import Derived, PathStep, Plan, Proof, file_step
from .seen import GRUB_FILE, NOTES_FILE, Seen
from .wish import Wish, size_text

_PROOF = (
    '[ -f "$1" ] || exit 0; lines=$(sed -n "s/^[[:space:]]*linux[a-z0-9]*[[:space:]]\\(.*\\)/ \\1 /p" "$0") || exit 1; '
    'sed -n "s/^# argument: //p" "$1" | { while IFS= read -r one; do '
    'printf "%s\\n" "$lines" | grep -qF -e " $one " || exit 0; done; echo "${1#/}"; }'
)
"""Prints the path of our drop-in where the menu holds each argument that it notes, and nothing where it is absent."""


def decide(seen: Seen, wish: Wish) -> Plan:
    """What gives the kernel that boots next its arguments, and whether the one that runs lacks some."""
    if wish.arguments is None and wish.pages is None:
        return Plan()
    wanted = _wanted(seen, wish)
    reboot = _lacking_now(seen, [(argument,) for argument in wish.arguments or ()])
    if seen.boot.kind == "grub":
        plan = _grub(seen, wanted)
    elif seen.boot.kind == "entries":
        plan = _entries(seen, wanted)
    else:
        plan = _unknown(seen, wanted)
    return plan._replace(reboot=tuple(dict.fromkeys((*reboot, *plan.reboot))))


def _own_groups(seen: Seen) -> tuple[Group, ...]:
    """What our own file says that we added."""
    path = NOTES_FILE if seen.boot.kind == "entries" else GRUB_FILE
    return codec.noted_groups(seen.at(path).content.decode("utf-8", "replace"))


def _wanted(seen: Seen, wish: Wish) -> tuple[Group, ...]:
    """All that is to be on the command line: of an aspect that is not managed, what is there from us."""
    own = _own_groups(seen)
    arguments = [group for group in own if not codec.is_pages(group)]
    if wish.arguments is not None:
        arguments = [(argument,) for argument in wish.arguments]
    pages = [group for group in own if codec.is_pages(group)]
    if wish.pages is not None and (seen.default_kb is not None or not wish.pages):
        sizes = sorted(size_kb for size_kb in wish.pages if size_kb != seen.default_kb)
        pages = [codec.pages_group(size_text(size_kb), wish.pages[size_kb]) for size_kb in sizes if wish.pages[size_kb]]
    return (*arguments, *pages)


def _lacking_now(seen: Seen, wanted: Sequence[Group]) -> list[str]:
    """Huge pages are not among them: the running kernel shows how many it has, wherever they come from."""
    if not seen.is_live or seen.command_line is None:
        return []
    lacking = codec.lacking(seen.command_line, wanted)
    return [f"the running kernel was started without {codec.line_of((group,))}" for group in lacking]


def _unknown(seen: Seen, wanted: Sequence[Group]) -> Plan:
    """Without a boot loader here the command line may come from the network, and hold everything already."""
    if not wanted:
        return Plan(file_step(GRUB_FILE, seen.at(GRUB_FILE), None, "no boot loader here reads it"))
    if seen.is_live and not codec.lacking(seen.command_line or "", wanted):
        return Plan()
    raise UnsupportedError(
        "set",
        f"the kernel command line to hold {codec.line_of(wanted)}",
        seen.boot.reason or "no boot loader's configuration",
        "GRUB with /etc/default/grub.d, or entries of GRUB or systemd-boot",
        "set it where this node's command line comes from",
    )


def _check_pages(line: str, wanted: Sequence[Group], where: str) -> None:
    other = codec.other_pages(line, wanted)
    if other is not None:
        raise ConflictError(
            "set",
            "huge pages on the kernel command line",
            f"{codec.line_of((other,))} in {where}",
            "no other number of that size: the kernel takes the first",
            "take it out there, or out of hugepages",
        )


# ── GRUB with drop-ins ──────────────────────────────────────────────────────────────────────────────────────────────


def _grub(seen: Seen, wanted: Sequence[Group]) -> Plan:
    boot = seen.boot
    before = [file for file in boot.defaults if "/grub.d/" not in file.path or file.path < GRUB_FILE]
    after = [file for file in boot.defaults if file not in before]
    theirs = _line(codec.defaults([*before, *after]))
    _check_pages(theirs, wanted, "/etc/default/grub or a file of /etc/default/grub.d")
    needed = codec.lacking(theirs, wanted)
    text = codec.drop_in_text(needed) if needed else None
    if text is not None:
        _check_effect([*before, (GRUB_FILE, text), *after], needed)
    content = None if text is None else text.encode()
    steps = file_step(GRUB_FILE, seen.at(GRUB_FILE), content, f"adds {codec.line_of(needed) or 'nothing any more'}")
    derived: tuple[Derived, ...] = ()
    if boot.menu is not None and steps:
        lines = ((GRUB_FILE.lstrip("/"), GRUB_FILE),)
        proof = Proof(("sh", "-c", _PROOF, boot.menu, GRUB_FILE), lines)
        derived = (Derived(f"boot menu {boot.menu}", (boot.makes_menu,), f"it is made from {GRUB_FILE}", proof),)
    return Plan(steps, derived, reboot=_dropped(seen, needed, steps))


def _line(default: codec.Default) -> str:
    return " ".join(default.values[name] for name in codec.DEFAULTS)


def _check_effect(files: Sequence[tuple[str, str]], needed: Sequence[Group]) -> None:
    """Raises ConflictError where a file that is read after ours takes our arguments away."""
    default = codec.defaults(files)
    lost = codec.lacking(_line(default), needed)
    if not lost:
        return
    where, details = "a file that is read after ours", {}
    if default.replaced is not None and default.replaced[0] > GRUB_FILE:
        where = f"{default.replaced[0]} line {default.replaced[1]}, which is read after ours"
        details = {"path": default.replaced[0], "line": default.replaced[1]}
    raise ConflictError(
        "set",
        f"the kernel command line to hold {codec.line_of(lost)}",
        f"another value in {where}",
        f"one that keeps ${codec.DEFAULTS[1]}",
        "change that file, or take the argument out of the wish",
        details,
    )


def _dropped(seen: Seen, needed: Sequence[Group], steps: Sequence[PathStep]) -> tuple[str, ...]:
    gone = [group for group in _own_groups(seen) if group not in needed] if steps and seen.is_live else []
    return tuple(
        f"the running kernel was started with {codec.line_of((group,))}, and the next is not" for group in gone
    )


# ── entries in text files ───────────────────────────────────────────────────────────────────────────────────────────


def _entries(seen: Seen, wanted: Sequence[Group]) -> Plan:
    boot, own = seen.boot, _own_groups(seen)
    entry, later = boot.entry or "", boot.later
    drop = [group for group in own if group not in wanted]
    line = codec.with_arguments(codec.entry_options(_read(seen, entry), boot.variables), (), drop)
    _check_pages(line, wanted, entry)
    add = codec.lacking(line, wanted)
    added = [group for group in wanted if group in own or group in add]
    notes = codec.notes_text(added).encode() if added else None
    steps = list(file_step(NOTES_FILE, seen.at(NOTES_FILE), notes, "notes which arguments were added by us"))
    why = _why(added, drop)
    if add or drop:
        text = codec.entry_text(_read(seen, entry), add, drop)
        steps += _edit(seen, entry, text, why)
    if later is not None:
        before = _read(seen, later)
        missing = codec.lacking(codec.with_arguments(before, (), drop), added)
        after = codec.with_arguments(before, missing, drop) + "\n"
        steps += _edit(seen, later, after if missing or drop else before, why)
    return Plan(tuple(steps), reboot=_dropped(seen, added, steps))


def _why(added: Sequence[Group], drop: Sequence[Group]) -> str:
    told = [f"adds {codec.line_of(added)}"] if added else []
    return " and ".join([*told, *([f"takes away {codec.line_of(drop)}"] if drop else [])])


def _read(seen: Seen, path: str) -> str:
    try:
        return seen.at(path).text()
    except ValueError:
        raise UnsupportedError("edit", path, "it is not UTF-8 text", "text", "correct it") from None


def _edit(seen: Seen, path: str, text: Optional[str], why: str) -> tuple[PathStep, ...]:
    found = seen.at(path)
    if text is None or text == _read(seen, path):
        return ()
    return file_step(path, found, text.encode(), why, is_edit=True)
