# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may open the device files of accelerators: a group and a mode that last.

One rules file of udev for all files that udev makes; options of the kernel module where a driver's own programs make
them. What is in force is judged by the files as they are now.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Optional

from ..codec import kernel, modprobe, udev
from ..codec.udev import Pair, Rule
from ..host import command, disk
from ..host.door import Host
from ..host.drop_ins import drop_ins, text_of
from ..model.errors import ConflictError, InputError
from ..model.plan import Command, Derived, Found, PathStep, Plan, file_step, owned
from ..vendor import permissions
from ..vendor.ids import OFF_PCI_DRIVERS, is_device, maker_of
from ..vendor.permissions import Driven, Held, Match, SelfMade
from .facts import pci

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "group": {"type": "str"},
    "mode": {"type": "str", "default": "0660"},
    "makers": {"type": "list", "elements": "str"},
    "allow_world": {"type": "bool", "default": False},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}

RULES = "/etc/udev/rules.d/70-accelerator-ops.rules"
MODULE_OPTIONS = "/etc/modprobe.d/accelerator-ops-permissions.conf"

_OWNED = owned("device_permissions")
_FINAL = "The colons make an assignment final: no rule that is read later changes it."
_GROUP = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}\Z")
_MODE = re.compile(r"0?[0-7]{3}\Z")
_SYSTEM_GIDS = range(999, 100, -1)  # shadow's defaults (login.defs of shadow 4.13), in the order that it takes them
_ASK_SECONDS = 10.0
_HAS_MEMBERS = 'test -n "$(getent group "$0" | cut -d: -f4)"'
_MAKE_SECONDS = 60.0


class Node(NamedTuple):
    """A device file that udev made, as it is now, and the group that it usually has."""

    path: str
    usual_group: str
    gid: int
    mode: int


class Seen(NamedTuple):
    """What was found.

    ``present`` are the makers in the node, None where this root cannot tell. ``groups`` are numbers by name, of
    the node's own files; ``distant_groups`` are those wanted ones that only its name service knows.
    ``other_rules`` and ``other_options`` are the texts of others' files by path: those that give a group or mode, and
    those about a module of a driver that makes its own device files. ``held`` is by maker; ``unlinked`` are the files
    without a link in ``/dev/char``.
    """

    is_live: bool
    has_udev: bool
    present: Optional[tuple[str, ...]]
    rules: Found
    options: Found
    groups: Mapping[str, int]
    nodes: tuple[Node, ...] = ()
    other_rules: Mapping[str, str] = {}
    other_options: Mapping[str, str] = {}
    held: Mapping[str, Held] = {}
    unlinked: tuple[SelfMade, ...] = ()
    distant_groups: tuple[str, ...] = ()


def observe(host: Host, wish: Mapping[str, Any]) -> Seen:
    """Look at our two files, at others' of their kind, at the groups, and on a live node at the device files."""
    present = _present(host)
    chosen = {name for name in _chosen(wish, present) if name in permissions.known()}
    aspects = {name: permissions.permissions_of(name) for name in sorted(chosen)}
    driven = {name: one.driven for name, one in aspects.items() if one.driven is not None}
    held = {name: one.held(host) for name, one in driven.items()} if host.is_live else {}
    groups = _groups(host)
    matches = [match for one in aspects.values() for match in one.matches]
    usual = {match.group for match in matches} | {one.group for one in driven.values()}
    wanted = {wish["group"] or one for one in usual} - groups.keys()
    return Seen(
        host.is_live,
        host.is_live and host.exists("/run/udev/control"),
        present,
        disk.found(host, RULES),
        disk.found(host, MODULE_OPTIONS),
        groups,
        tuple(node for match in matches if host.is_live for node in nodes(host, match)),
        _texts(host, drop_ins(host, "udev/rules.d", ".rules"), RULES, ("GROUP", "MODE")),
        _texts(host, drop_ins(host, "modprobe.d", ".conf"), MODULE_OPTIONS, [one.module for one in driven.values()]),
        held,
        tuple(node for one in held.values() for node in one.nodes if not _is_linked(host, node)),
        tuple(sorted(one for one in wanted if host.is_live and _is_distant(host, one))),
    )


def _chosen(wish: Mapping[str, Any], present: Optional[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(wish["makers"]) if wish["makers"] is not None else present or ()


def _present(host: Host) -> Optional[tuple[str, ...]]:
    """The makers of the devices that are here; None where the root has no ``/sys``."""
    if not host.list("/sys").value:
        return None
    functions, _reason = pci.functions(host)
    makers = [maker_of(one) for one in (functions or {}).values() if is_device(one)]
    found = {maker.name for maker in makers if maker is not None}
    for name in host.list("/sys/class/accel").value or ():
        driver = (host.link(f"/sys/class/accel/{name}/device/driver").value or "").rpartition("/")[2]
        found |= {OFF_PCI_DRIVERS[driver]} if driver in OFF_PCI_DRIVERS else set()
    return tuple(sorted(found))


def _groups(host: Host) -> dict[str, int]:
    """All groups of the node's own files."""
    found: dict[str, int] = {}
    # Images whose /etc is not theirs keep the system's groups in /usr/lib (nss-altfiles).
    for path in ("/usr/lib/group", "/etc/group"):
        found.update(_rows(text_of(host, path)))
    return found


def _is_distant(host: Host, group: str) -> bool:
    ran = command.run(host, ("getent", "group", group), _ASK_SECONDS)
    return ran.status == 0 and any(name == group for name, _number in _rows(ran.stdout))


def _rows(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        fields = line.split(":")
        if len(fields) > 2 and re.match("[0-9]{1,10}\\Z", fields[2]):
            yield fields[0], int(fields[2])


def nodes(host: Host, match: Match) -> Iterator[Node]:
    """The device files of a match that are here now."""
    if not match.subsystem:
        for name in host.list("/dev").value or ():
            if udev.fits(match.names, name):
                yield from _node(host, f"/dev/{name}", match)
    for subsystem in match.subsystem.split("|") if match.subsystem else ():
        for name in host.list(f"/sys/class/{subsystem}").value or ():
            place = f"/sys/class/{subsystem}/{name}"
            file = re.search(r"^DEVNAME=(.+)$", host.read(f"{place}/uevent").value or "", re.MULTILINE)
            if file and udev.fits(match.names or "*", name) and _is_below(host, f"{place}/device", match):
                yield from _node(host, f"/dev/{file.group(1)}", match)


def _is_below(host: Host, device: str, match: Match) -> bool:
    """Whether the device of a device file is the one that the match means."""
    if match.vendor_ids:
        vendor, function = (host.read(f"{device}/{one}").value or "" for one in ("vendor", "device"))
        if vendor[2:] not in match.vendor_ids or function[2:] in match.not_devices:
            return False
    if match.parents and not udev.fits(match.parents, (host.resolve(device).value or "").rpartition("/")[2]):
        return False
    driver = (host.link(f"{device}/driver").value or "").rpartition("/")[2] if match.drivers else ""
    return not match.drivers or udev.fits(match.drivers, driver)


def _node(host: Host, path: str, match: Match) -> Iterator[Node]:
    status, _reason = host.status(path)
    # What has no entry here is no device file of the kernel's own making, and udev never sees it.
    if status is not None and status.kind == "char" and host.exists(f"/sys/dev/char/{status.major}:{status.minor}"):
        yield Node(path, match.group, status.gid, status.mode)


def _texts(host: Host, paths: Iterable[str], ours: str, words: Iterable[str]) -> dict[str, str]:
    """Others' files that have one of the words. One that has our file's name is none once ours is there."""
    name = ours.rpartition("/")[2]
    found = {path: text_of(host, path) for path in paths if path.rpartition("/")[2] != name}
    return {path: text for path, text in found.items() if any(word in text for word in words)}


def _is_linked(host: Host, node: SelfMade) -> bool:
    return host.resolve(f"/dev/char/{node.major}:{node.minor}").value == node.path


def decide(seen: Seen, wish: Mapping[str, Any]) -> Plan:
    """What is to be done. Raises InputError, and ConflictError where another's file says otherwise of these files."""
    mode = _mode(wish)
    if wish["group"] is not None and not _GROUP.match(wish["group"]):
        found, expected = f"group {wish['group']!r}", "a name of letters, digits, dots, dashes and underscores"
        raise InputError("set", "the group of device files", found, expected, "name the group, not its number")
    if wish["state"] == "absent":
        return _plan(seen, wish, (), mode, {})
    makers = _wanted_makers(seen, wish)
    if not makers and wish["makers"] is None:
        return Plan()  # no device is here now, and a rule that waits for one to come back stays
    aspects = {name: permissions.permissions_of(name) for name in makers}
    matches = tuple(dict.fromkeys(match for one in aspects.values() for match in one.matches))
    driven = {name: one.driven for name, one in aspects.items() if one.driven is not None}
    return _plan(seen, wish, matches, mode, driven)


def _mode(wish: Mapping[str, Any]) -> int:
    text = wish["mode"]
    mode = int(text, 8) if _MODE.match(text) else 0
    # A bare 0660 in YAML is the number 432: an owner without a right, or one that may execute, gives that away.
    if mode & 0o600 != 0o600 or mode & 0o111:
        step = 'write it in quotes, as "0660"'
        raise InputError("set", "the mode of device files", f"mode {text!r}", "an octal mode from 0600 to 0666", step)
    if mode & 0o002 and not wish["allow_world"]:
        step = "leave others out, or set allow_world"
        raise InputError("set", "the mode of device files", f"mode {text!r}, writable by all", "0660 or less", step)
    return mode


def _wanted_makers(seen: Seen, wish: Mapping[str, Any]) -> tuple[str, ...]:
    known = permissions.known()
    strange = sorted(set(wish["makers"] or ()) - set(known))
    if strange:
        expected = f"some of {', '.join(known)}"
        raise InputError("set", "device permissions", f"maker {', '.join(strange)}", expected, "correct makers")
    if wish["makers"] is None and seen.present is None:
        found = "a root without /sys, whose devices are unknown"
        raise InputError("set", "device permissions", found, "the names of makers", "name them in makers")
    return tuple(sorted(set(_chosen(wish, seen.present))))


def _plan(
    seen: Seen, wish: Mapping[str, Any], matches: tuple[Match, ...], mode: int, driven: Mapping[str, Driven]
) -> Plan:
    usual = {one.group for one in matches} | {one.group for one in driven.values()}
    groups, commands = _with_groups(seen, sorted({wish["group"] or one for one in usual}))
    rules = [_rule(match, wish["group"] or match.group, mode) for match in matches]
    _judge_rules(seen, wish, matches, mode)
    text = (_OWNED + udev.render((_FINAL,), rules)).encode() if rules else None
    steps = file_step(RULES, seen.rules, text, "groups and modes of device files")
    option_steps, reboot, deferred = _options(seen, wish, groups, mode, driven)
    derived: list[Derived] = []
    wrong = [node for node in seen.nodes if matches and _differs(node, groups, wish, mode)]
    if not seen.has_udev:
        deferred += [f"{RULES}: udev does not run here, and reads it when it does"] if steps and seen.is_live else []
    elif steps or wrong or (commands and rules):
        reason = f"{wrong[0].path} is not as wanted" if wrong and not steps else "rules changed"
        derived.append(_applied([*_rules_of(seen.rules), *rules], reason))
    derived += _self_made(seen, wish, groups, mode, driven) if wish["state"] == "present" else ()
    return Plan((*commands, *steps, *option_steps), tuple(derived), (), tuple(reboot), tuple(deferred))


def _with_groups(seen: Seen, names: Iterable[str]) -> tuple[dict[str, int], list[Command]]:
    """All groups with those that are to be made, under numbers that are free, and the steps that make them."""
    groups, commands = dict(seen.groups), []
    for name in names:
        if name in groups:
            continue
        if name in seen.distant_groups:
            # udev asks before there is a network, and passes over what it does not find.
            found, expected = "one that only the name service knows", "one of /etc/group"
            raise InputError("use", f"group {name}", found, expected, "name a group of this node, or none")
        taken = set(groups.values())
        number = next((one for one in _SYSTEM_GIDS if one not in taken), None)
        if number is None:
            found = "no number from 101 to 999 that is free"
            raise InputError("create", f"group {name}", found, "a group that is there", "create it, or name another")
        groups[name] = number
        run = ("groupadd", "--system", "--gid", str(number), name)
        probe = ("getent", "group", name)
        why = "device files belong to it"
        used = ("/bin/sh", "-c", _HAS_MEMBERS, name)
        commands.append(Command(f"group {name}", False, True, run, ("groupdel", name), probe, why, used))
    return groups, commands


def _rule(match: Match, group: str, mode: int) -> Rule:
    pairs = []
    if match.subsystem:
        pairs.append(Pair("SUBSYSTEM", "==", match.subsystem))
    if match.names:
        pairs.append(Pair("KERNEL", "==", match.names))
    if match.vendor_ids:
        # All of these hold for one device above. A bridge has a vendor too, and leads to others' devices.
        pairs.append(Pair("SUBSYSTEMS", "==", "pci"))
        pairs.append(Pair("ATTRS{vendor}", "==", "|".join(f"0x{one}" for one in match.vendor_ids)))
        pairs.append(Pair("ATTRS{class}", "!=", "0x06*"))
    if match.not_devices:
        pairs.append(Pair("ATTRS{device}", "!=", "|".join(f"0x{one}" for one in match.not_devices)))
    if match.parents:
        pairs.append(Pair("KERNELS", "==", match.parents))
    if match.drivers:
        pairs.append(Pair("DRIVERS", "==", match.drivers))
    return Rule((*pairs, Pair("GROUP", ":=", group), Pair("MODE", ":=", f"{mode:04o}")))


def _rules_of(found: Found) -> list[Rule]:
    """The rules of our file as it is; none where it is damaged."""
    try:
        return udev.parse(found.text())
    except ValueError:
        return []


def _applied(rules: Iterable[Rule], why: str) -> Derived:
    """The running udev with the rules of now, and all device files that they are about."""
    subsystems: dict[str, None] = {}
    names: dict[str, None] = {}
    for rule in rules:
        pairs = {pair.key: pair.value for pair in rule.pairs}
        of_class = pairs.get("SUBSYSTEM", "")
        target = subsystems if of_class else names
        target.update(dict.fromkeys((of_class or pairs.get("KERNEL", "")).split("|")))
    trigger = ("udevadm", "trigger", "--action=change")
    make: list[tuple[str, ...]] = [("udevadm", "control", "--reload")]
    if subsystems:
        make.append((*trigger, *(f"--subsystem-match={one}" for one in subsystems)))
    if names:
        make.append((*trigger, *(f"--sysname-match={one}" for one in names)))
    make.append(("udevadm", "settle", f"--timeout={_MAKE_SECONDS:g}"))
    return Derived("udev rules", tuple(make), why, None, _MAKE_SECONDS + _ASK_SECONDS)


def _differs(node: Node, groups: Mapping[str, int], wish: Mapping[str, Any], mode: int) -> bool:
    return (node.gid, node.mode) != (groups.get(wish["group"] or node.usual_group), mode)


def _judge_rules(seen: Seen, wish: Mapping[str, Any], matches: Iterable[Match], mode: int) -> None:
    """Raises ConflictError for another's rule that says otherwise of the same device files.

    Ours is final: it holds against all that is read later, and against what is read before unless that is final too.
    A file in ``/etc`` or ``/run`` is a human's word all the same, and only ``on_conflict: overwrite`` passes over it.
    """
    for match in matches:
        group = wish["group"] or match.group
        wanted = {"GROUP": (group, str(seen.groups.get(group, group))), "MODE": (f"{mode:04o}", f"{mode:03o}")}
        for path, text in seen.other_rules.items():
            is_before = path.rpartition("/")[2] < RULES.rpartition("/")[2]
            is_a_humans = path.startswith(("/etc/", "/run/")) and wish.get("on_conflict") != "overwrite"
            for key, value, line, is_final in _said(text, match):
                overrules = is_final and is_before
                if value not in wanted[key] and (overrules or is_a_humans):
                    raise _contrary(path, line, f"{key}={value}", f"{key}={wanted[key][0]}", not overrules)


def _said(text: str, match: Match) -> Iterator[tuple[str, str, int, bool]]:
    """What a file finally gives to the files of a match: key, value, line, and whether no later file can change it."""
    rules = udev.assignments(text)
    vendors = tuple(f"0x{one}" for one in match.vendor_ids)
    for name in _samples(match):
        last: dict[str, tuple[str, int, bool]] = {}
        for line, rule in rules:
            if not udev.may_meet(rule, match.subsystem.split("|")[0], name, vendors):
                continue
            for key in ("GROUP", "MODE"):
                value = rule.assigned(key)
                if value is not None and not (key in last and last[key][2]):
                    last[key] = (value, line, rule.is_final(key))
        for key, said in last.items():
            yield (key, *said)


def _samples(match: Match) -> list[str]:
    """A name for each pattern of a match, to try others' rules on."""
    return [re.sub(r"\[0-9\]\*|\*", "0", one) for one in match.names.split("|")]


def _contrary(path: str, line: int, found: str, expected: str, may_overrule: bool) -> ConflictError:
    step = "take that line out or wish for the same" + (", or set on_conflict to overwrite" if may_overrule else "")
    details: dict[str, object] = {"path": path, "line": line, "found": found, "wanted": expected}
    return ConflictError(
        "set", "device permissions", f"{found} in line {line} of {path}", expected, step, details=details
    )


def _options(
    seen: Seen, wish: Mapping[str, Any], groups: Mapping[str, int], mode: int, driven: Mapping[str, Driven]
) -> tuple[tuple[PathStep, ...], list[str], list[str]]:
    """The step of the file of module options, reasons to reboot, and what is deferred."""
    reboot: list[str] = []
    lines: list[str] = []
    for name, one in driven.items():
        group = wish["group"] or one.group
        if group not in seen.groups and not seen.is_live:
            # The number that the node will give the group is not known before it does.
            return (), [], [f"{MODULE_OPTIONS}: needs the number of group {group}, which this root does not have"]
        options = one.options(groups[group], mode)
        stand_ins = [kernel.find_stand_in(text, one.module) for text in seen.other_options.values()]
        modules = dict.fromkeys([one.module, *(each for each in stand_ins if each is not None)])
        wished = dict.fromkeys(modules, options)
        for path, found in modprobe.overruling(seen.other_options.items(), MODULE_OPTIONS, wished):
            said, expected = (f"{found.parameter}={value}" for value in (found.value, options[found.parameter]))
            raise _contrary(path, found.line, said, expected, False)
        values = " ".join(f"{key}={value}" for key, value in options.items())
        lines += [f"options {module} {values}" for module in modules]
        held = seen.held.get(name, Held(None, None))
        if held.mode is not None and (held.gid, held.mode) != (groups[group], mode):
            reboot.append(
                f"{one.module} gives its device files group {held.gid} and mode {held.mode:04o} until it is loaded anew"
            )
    content = (_OWNED + "".join(f"{line}\n" for line in lines)).encode() if lines else None
    return file_step(MODULE_OPTIONS, seen.options, content, "group and mode of device files"), reboot, []


def _self_made(
    seen: Seen, wish: Mapping[str, Any], groups: Mapping[str, int], mode: int, driven: Mapping[str, Driven]
) -> Iterator[Derived]:
    """Device files that no udev makes: those that are not what their driver holds, and links that are missing."""
    for name, one in driven.items():
        held = seen.held.get(name, Held(None, None))
        wanted = (groups.get(wish["group"] or one.group), mode)
        wrong = [node for node in held.nodes if node.again and (node.gid, node.mode) != wanted]
        if wrong and (held.gid, held.mode) == wanted:
            make = tuple(dict.fromkeys(node.again for node in wrong))
            yield Derived(
                f"device files of {one.module}", make, f"{wrong[0].path} is not as wanted", None, _MAKE_SECONDS
            )
    if seen.unlinked:
        links = tuple(
            ("ln", "-sfn", f"../{node.path[len('/dev/') :]}", f"/dev/char/{node.major}:{node.minor}")
            for node in seen.unlinked
        )
        why = f"systemd finds {seen.unlinked[0].path} by its number there"
        yield Derived("links in /dev/char", links, why, None, _MAKE_SECONDS)
