# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules: their options, those that are kept from loading, and those that are loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Optional

from ...codec import modprobe
from ...codec.kernel import same_name
from ...model.errors import ConflictError, UnsupportedError
from ...model.plan import Command, PathStep, Plan, file_step
from .seen import BLACKLIST_FILE, LOAD_FILE, OPTIONS_FILE, Module, Seen
from .wish import Wish

if TYPE_CHECKING:
    from ...vendor.ids import Maker


def _rivalled() -> tuple[Maker, ...]:
    """The makers whose devices another module may take."""
    from ...vendor.ids import MAKERS  # compiled only where rivals are asked for

    return tuple(maker for maker in MAKERS if maker.rivals)


def needed(wish: Wish) -> tuple[str, ...]:
    """The modules to look at: those that are named, and where rivals are asked for, rivals and the makers' own."""
    names = wish.modules
    if wish.rivals != "never":
        names += tuple(one for maker in _rivalled() for one in (maker.modules[0], *maker.rivals))
    return tuple(dict.fromkeys(names))


def decide(seen: Seen, wish: Wish) -> Plan:
    """Files of modprobe.d and modules-load.d, and the modules that are loaded now."""
    deferred: list[str] = []
    steps: list[PathStep | Command] = []
    refused = _refused(seen, wish, deferred)
    if wish.options is not None:
        steps += _options_steps(seen, wish)
    if refused is not None:
        text = modprobe.refused_text(refused, wish.is_hard).encode() if refused else None
        steps += file_step(BLACKLIST_FILE, seen.at(BLACKLIST_FILE), text, f"keeps {_named(refused)} from loading")
    loaded = modprobe.read_load(_text(seen, LOAD_FILE)) if wish.load is None else wish.load
    if refused is not None or wish.load is not None:
        held = [one.module for one in modprobe.read(_text(seen, BLACKLIST_FILE)).refused]
        _check_load(seen, tuple(map(same_name, loaded)), held if refused is None else refused)
    if wish.load is not None:
        load = modprobe.load_text(wish.load).encode() if wish.load else None
        steps += file_step(LOAD_FILE, seen.at(LOAD_FILE), load, f"loads {_named(wish.load)} at boot")
        if seen.is_live and wish.is_loaded_now:
            steps += _load_steps(seen, wish.load)
    return Plan(tuple(steps), reboot=tuple(_reboot(seen, wish, refused or ())), deferred=tuple(deferred))


def _text(seen: Seen, path: str) -> str:
    return seen.at(path).content.decode("utf-8", "replace")


def _named(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing any more"


def _module(seen: Seen, name: str) -> Module:
    return seen.modules.get(name, Module())


def _next_kernel(seen: Seen) -> str:
    return f"kernel {seen.next}" if seen.next else "the kernel that boots next"


def _options_steps(seen: Seen, wish: Wish) -> tuple[PathStep, ...]:
    options = {module: parameters for module, parameters in (wish.options or {}).items() if parameters}
    for module in options:
        if _module(seen, module).next == "built in":
            raise UnsupportedError(
                "set",
                f"options of {module}",
                f"it is built into {_next_kernel(seen)}",
                "a module that modprobe loads",
                f"give {module}.PARAMETER=VALUE in command_line",
            )
    for path, one in modprobe.overruling(seen.modprobe_files, OPTIONS_FILE, options):
        wished = options[one.module][one.parameter]
        raise ConflictError(
            "set",
            f"option {one.parameter} of {one.module}",
            f"{one.value!r} in {path} line {one.line}, which is read after ours",
            f"{wished!r}",
            "take it out of that file or out of module_options",
            {"path": path, "line": one.line, "found": one.value, "wished": wished},
        )
    text = modprobe.options_text(options).encode() if options else None
    return file_step(OPTIONS_FILE, seen.at(OPTIONS_FILE), text, f"sets options of {_named(options)}")


def _refused(seen: Seen, wish: Wish, deferred: list[str]) -> Optional[tuple[str, ...]]:
    """The modules that our blacklist is to hold; None where it is not managed."""
    if wish.blacklist is None and wish.rivals == "never":
        return None
    names = list(wish.blacklist or ())
    if wish.rivals != "never":
        rivals = _rivals(seen, wish, deferred)
        # What is not known takes nothing away: rivals that our file holds stay there.
        names += _held(seen) if rivals is None else rivals
    for name in dict.fromkeys(names):
        if _module(seen, name).next == "built in":
            raise UnsupportedError(
                "keep from loading",
                name,
                f"it is built into {_next_kernel(seen)}",
                "a module that modprobe loads",
                "give the name of its start function in command_line, as initcall_blacklist=NAME",
            )
    return tuple(dict.fromkeys(names))


def _held(seen: Seen) -> list[str]:
    held = modprobe.read(_text(seen, BLACKLIST_FILE)).refused
    rivals = {rival for maker in _rivalled() for rival in maker.rivals}
    return [one.module for one in held if one.module in rivals]


def _rivals(seen: Seen, wish: Wish, deferred: list[str]) -> Optional[list[str]]:
    """Rivals that the installed kernel has; None, with the reason deferred, where it cannot be told."""
    is_auto = wish.rivals == "auto"
    if is_auto and seen.makers is None:
        deferred.append(f"rivals of the drivers: the devices are not known ({seen.makers_reason})")
        return None
    names: list[str] = []
    for maker in _rivalled():
        if is_auto and maker.name not in (seen.makers or ()):
            continue
        own = maker.modules[0]
        if any(_module(seen, name).next is None for name in (own, *maker.rivals)):
            reason = seen.next_reason or f"no list of modules of {_next_kernel(seen)}"
            deferred.append(f"rivals of the drivers: the modules on disk are not known ({reason})")
            return None
        if is_auto and _module(seen, own).next == "none":
            continue  # without its own driver the rival is all that shows a picture
        names += [name for name in maker.rivals if _module(seen, name).next != "none"]
    return names


def _check_load(seen: Seen, load: Sequence[str], refused: Sequence[str]) -> None:
    for name in load:
        if name in refused:
            found = "a blacklist of ours that holds it"
            raise ConflictError("load", f"{name} at boot", found, "it in one of the two", "decide for one")
    for file in seen.modprobe_files:
        for one in modprobe.read(file.text).refused:
            if one.module in load:
                raise ConflictError(
                    "load",
                    f"{one.module} at boot",
                    f"{file.path} line {one.line}, which keeps it from loading",
                    "no file against it",
                    "take it out of that file or out of modules_load",
                    {"path": file.path, "line": one.line},
                )


def _load_steps(seen: Seen, load: tuple[str, ...]) -> Iterator[Command]:
    for name in load:
        module = _module(seen, name)
        if module.is_loaded or module.running == "built in":
            continue
        subject = f"{name} into kernel {seen.running or 'that runs'}"
        if seen.cannot_load:
            raise UnsupportedError("load", subject, seen.cannot_load, "the right to load", "set load_now to false")
        if module.running != "file":
            found = "its modules are not on this disk" if module.running is None else "that kernel has no such module"
            next_step = "install it for that kernel, boot the one that has it, or set load_now to false"
            raise UnsupportedError("load", subject, found, "a module file listed in modules.dep", next_step)
        yield Command(
            f"module {name}",
            False,
            True,
            ("modprobe", name),
            ("modprobe", "-r", name),
            ("test", "-d", f"/sys/module/{same_name(name)}"),
            "modules_load names it, and it is not loaded",
        )


def _reboot(seen: Seen, wish: Wish, refused: tuple[str, ...]) -> Iterator[str]:
    for name in refused:
        if _module(seen, name).is_loaded:
            yield f"module {name} is loaded, and is not to be"
    for module, parameters in (wish.options or {}).items():
        for parameter, value in parameters.items():
            shown = _module(seen, module).parameters.get(parameter)
            if shown is not None and not modprobe.is_same_value(shown, value):
                yield f"module {module} was loaded with {parameter}={shown}, and is to have {value}"
