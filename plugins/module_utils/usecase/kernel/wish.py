# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user asks of the kernel, checked: each fault is one clear line before anything is looked at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn, Optional

from ...codec import command_line, modprobe, sysctl
from ...codec.kernel import same_name
from ...model.errors import InputError

OPTIONS: dict[str, dict[str, Any]] = {
    "module_options": {"type": "dict"},
    "blacklist": {"type": "list", "elements": "str"},
    "blacklist_rivals": {"type": "str", "choices": ["never", "auto", "always"], "default": "never"},
    "blacklist_hard": {"type": "bool", "default": False},
    "modules_load": {"type": "list", "elements": "str"},
    "load_now": {"type": "bool", "default": True},
    "sysctl": {"type": "dict"},
    "hugepages": {"type": "dict"},
    "hugepages_now": {"type": "bool", "default": True},
    "command_line": {"type": "list", "elements": "str"},
    "initramfs": {"type": "str", "choices": ["auto", "never"], "default": "auto"},
}
"""The options of ``kernel_config`` beside the shared ones."""

PAGES_KEY = "vm/nr_hugepages"

_SIZE = re.compile(r"([1-9][0-9]{0,8})([KMG])B?\Z", re.IGNORECASE)
_UNITS = {"K": 1, "M": 1024, "G": 1024 * 1024}
_MOST_PAGES = 1 << 40
_LONGEST = 1000  # a line that kmod and systemd still read whole
_PAGE_KEYS = ("hugepages", "hugepagesz")


class Wish(NamedTuple):
    """What is asked for. None: this is not managed. Names of modules have underscores, keys of sysctl slashes."""

    options: Optional[Mapping[str, Mapping[str, str]]] = None
    blacklist: Optional[tuple[str, ...]] = None
    rivals: str = "never"
    is_hard: bool = False
    load: Optional[tuple[str, ...]] = None
    is_loaded_now: bool = True
    sysctl: Optional[Mapping[str, str]] = None
    pages: Optional[Mapping[int, int]] = None
    """Number of huge pages by their size in kB."""
    is_given_now: bool = True
    arguments: Optional[tuple[str, ...]] = None
    needs_initramfs: bool = True

    @property
    def modules(self) -> tuple[str, ...]:
        """Every module that is named."""
        return tuple(dict.fromkeys((*(self.options or ()), *(self.blacklist or ()), *(self.load or ()))))


def read(params: Mapping[str, Any]) -> Wish:
    """The options of a call. Raises InputError."""
    blacklist = _modules(params, "blacklist")
    load = _modules(params, "modules_load")
    for name in load or ():
        if name in (blacklist or ()):
            _refuse("modules_load", f"{name}, which blacklist names too", "it in one of the two", "decide for one")
    values, pages = _sysctl(params), _pages(params)
    if pages is not None and PAGES_KEY in (values or {}):
        _refuse("sysctl", "vm.nr_hugepages beside hugepages", "one of the two", "give the number in hugepages")
    return Wish(
        _options(params),
        blacklist,
        params.get("blacklist_rivals") or "never",
        bool(params.get("blacklist_hard")),
        load,
        params.get("load_now") is not False,
        values,
        pages,
        params.get("hugepages_now") is not False,
        _arguments(params),
        params.get("initramfs") != "never",
    )


def size_text(size_kb: int) -> str:
    """A size of huge pages as the kernel's command line has it: ``1G``."""
    for unit in "GM":
        if size_kb % _UNITS[unit] == 0:
            return f"{size_kb // _UNITS[unit]}{unit}"
    return f"{size_kb}K"


def _refuse(option: str, found: str, expected: str, next_step: str) -> NoReturn:
    raise InputError("use", option, found, expected, next_step)


def _modules(params: Mapping[str, Any], option: str) -> Optional[tuple[str, ...]]:
    given = params.get(option)
    return None if given is None else tuple(dict.fromkeys(_module(option, name) for name in given))


def _module(option: str, name: Any) -> str:
    if not isinstance(name, str) or not modprobe.is_module(name):
        _refuse(option, f"{name!r}", "the name of a kernel module (letters, digits, - and _)", "correct the name")
    return same_name(name)


def _value(option: str, value: Any) -> str:
    """A value as text in one line. A boolean of YAML is what the kernel takes for one."""
    if isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, (str, int, float)):
        _refuse(option, f"{value!r}", "a text or a number", "give one value")
    done = str(value).strip(" \t")
    if not done:
        _refuse(option, "an empty value", "a text or a number", "give a value, or leave the line out")
    if not done.isprintable() and not done.replace("\t", " ").isprintable():
        _refuse(option, f"{done!r}", "no line end and no control character", "give the value in one line")
    if len(done) > _LONGEST:
        _refuse(option, f"a value of {len(done)} characters", f"at most {_LONGEST}", "shorten it")
    return done


def _options(params: Mapping[str, Any]) -> Optional[Mapping[str, Mapping[str, str]]]:
    given = params.get("module_options")
    if given is None:
        return None
    done: dict[str, dict[str, str]] = {}
    for module, parameters in given.items():
        name = _module("module_options", module)
        where = f"module_options.{name}"
        if name in done:
            _refuse(where, "the module twice", "it once (- and _ are equal)", "put its parameters together")
        if not isinstance(parameters, Mapping):
            _refuse(where, f"{parameters!r}", "a dictionary of parameters", "write it as one")
        done[name] = {}
        for parameter, value in parameters.items():
            if not isinstance(parameter, str) or not modprobe.is_parameter(parameter):
                _refuse(where, f"{parameter!r}", "the name of a parameter", "correct the name")
            text = _value(f"{where}.{parameter}", value)
            if not modprobe.is_value(text):
                expected = "no quote, backslash or tab, which modprobe and the kernel would not keep"
                _refuse(f"{where}.{parameter}", f"{text!r}", expected, "leave it out")
            if same_name(parameter) in done[name]:
                _refuse(where, f"{parameter} twice", "it once (- and _ are equal)", "give one value")
            done[name][same_name(parameter)] = text
    return done


def _sysctl(params: Mapping[str, Any]) -> Optional[Mapping[str, str]]:
    given = params.get("sysctl")
    if given is None:
        return None
    done: dict[str, str] = {}
    for key, value in given.items():
        path = sysctl.path_of(key) if isinstance(key, str) else None
        if path is None:
            _refuse("sysctl", f"{key!r}", "a key such as vm.swappiness, without patterns", "correct the key")
        if path in done:
            _refuse("sysctl", f"{key} twice", "it once (dots and slashes are equal)", "give one value")
        done[path] = sysctl.plain(_value(f"sysctl.{key}", value))
    return done


def _pages(params: Mapping[str, Any]) -> Optional[Mapping[int, int]]:
    given = params.get("hugepages")
    if given is None:
        return None
    done: dict[int, int] = {}
    for size, count in given.items():
        match = _SIZE.match(size) if isinstance(size, str) else None
        if match is None:
            _refuse("hugepages", f"the size {size!r}", "one such as 2M or 1G", "correct the size")
        is_number = isinstance(count, int) or (isinstance(count, str) and count.isascii() and count.isdigit())
        if isinstance(count, bool) or not is_number or not 0 <= int(count) < _MOST_PAGES:
            _refuse(f"hugepages.{size}", f"{count!r}", "a number of pages, 0 or more", "correct the number")
        size_kb = int(match[1]) * _UNITS[match[2].upper()]
        if size_kb in done:
            _refuse("hugepages", f"the size {size} twice", "it once", "give one number")
        done[size_kb] = int(count)
    return done


def _arguments(params: Mapping[str, Any]) -> Optional[tuple[str, ...]]:
    given = params.get("command_line")
    if given is None:
        return None
    done: dict[str, None] = {}
    for one in given:
        text = _value("command_line", one)
        words = command_line.arguments(text)
        if len(words) != 1 or text.count('"') % 2:
            found = f"{text!r}, which the kernel reads as {len(words)} arguments"
            if text.count('"') % 2:
                found = f"{text!r} with a quote that is not closed"
            _refuse("command_line", found, "one argument in each entry", 'quote spaces as in key="a b"')
        argument = words[0]
        if not command_line.is_argument(argument):
            expected = "letters, digits, spaces in quotes and _.,:=/@+-!%*~^"
            _refuse(
                "command_line", f"{text!r}", expected, "boot loaders read other characters themselves; leave them out"
            )
        if command_line.key_of(argument) in _PAGE_KEYS:
            _refuse("command_line", text, "no size or number of huge pages here", "give them in hugepages")
        done[argument] = None
    return tuple(done)
