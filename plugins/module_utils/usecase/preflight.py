# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands in the way of any change of a node: rights, room, and tools that own what is to be changed.

Only what is certain is a blocker. It is looked for before the first change, and all of it is told at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Optional

from ..codec.kernel import same_name
from ..host.door import Host
from ..host.room import Room, is_root, room
from ..model.errors import ApplyError, ConflictError, InputError, OpsError
from ..model.owner import Owner
from ..state.store import STATE
from ..vendor import owners

_NEEDED_KIB = 1024
"""Contents, journal and manifest of a node's settings are some ten files of a few KiB, twice."""
_NEEDED_INODES = 64


class Seen(NamedTuple):
    """Who calls, the room where settings and where our state lie, the owners of drivers, and the room of CDI specs."""

    is_live: bool
    is_root: bool
    rooms: tuple[Room, ...]
    owners: tuple[Owner, ...]
    specs: Optional[Room] = None


def observe(host: Host, wish: Mapping[str, Any]) -> Seen:
    """Look at rights, room and owners. Raises OSError where a file system does not answer."""
    rooms = dict.fromkeys(room(host, path) for path in ("/etc", STATE))
    folder = (wish.get("cdi") or {}).get("directory") or ""
    specs = room(host, folder) if folder.startswith("/") and host.is_live else None  # a tree makes its own at boot
    return Seen(host.is_live, is_root(), tuple(rooms), owners.found(host), specs)


def decide(seen: Seen, wish: Mapping[str, Any], derived: Iterable[str] = ()) -> tuple[OpsError, ...]:
    """Everything that stands in the way of a change that is needed. ``derived`` are the keys of what it makes."""
    if seen.is_live and not seen.is_root:
        found, step = "not run as root", "set become: true"
        return (InputError("change", "this node", found, "root", step), *_owned(seen, wish))
    rooms = dict.fromkeys(seen.rooms)
    if seen.specs is not None and "CDI specs" in derived:
        rooms[seen.specs] = None
    return (*(error for one in rooms for error in _lacking(one)), *_owned(seen, wish))


def _lacking(one: Room) -> Iterator[OpsError]:
    if one.is_read_only:
        yield ApplyError("write in", one.path, "a read-only file system", "a writable one", "mount it for writing")
    elif not one.is_writable:
        yield ApplyError("write in", one.path, "no right to", "a folder of this account", "run as its owner")
    if one.free_kib is not None and one.free_kib < _NEEDED_KIB:
        expected = f"{_NEEDED_KIB} KiB or more"
        yield ApplyError("write in", one.path, f"{one.free_kib} KiB free", expected, "make room there")
    if one.free_inodes is not None and one.free_inodes < _NEEDED_INODES:
        found = f"room for {one.free_inodes} more files"
        yield ApplyError("write in", one.path, found, f"{_NEEDED_INODES} or more", "remove files there")


def _owned(seen: Seen, wish: Mapping[str, Any]) -> Iterator[OpsError]:
    kernel, permissions = wish.get("kernel") or {}, wish.get("permissions")
    for owner in seen.owners:
        details: dict[str, object] = {"owner": owner.name, "seen_at": owner.seen_at, "switch": owner.switch}
        found = f"{owner.name} has the driver (seen at {owner.seen_at})"
        for option in ("module_options", "modules_load", "blacklist"):
            named = [name for name in kernel.get(option) or () if same_name(str(name)) in owner.modules]
            if named:
                step = f"leave them out of {option}, or take the driver from the operator with {owner.switch}"
                subject = f"{option} of {', '.join(named)}"
                yield ConflictError("set", subject, found, "a driver of the node's own", step, details)
        makers = permissions and permissions.get("makers")
        is_wished = permissions is not None and permissions.get("state") != "absent"
        if is_wished and (makers is None or owner.maker in makers):
            step = f"name the other makers in makers, or take the driver from the operator with {owner.switch}"
            subject = f"permissions of {owner.maker} devices"
            yield ConflictError("set", subject, found, "a driver of the node's own", step, details)
