# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that makes CDI specs on a node: a second edge, without Ansible. It needs Python 3.9 and nothing else.

``make`` brings the specs to what the devices are now, and withdraws ours that are over. It leaves a file that it did
not make, or that somebody edited, and ends with status 73. With ``--whole`` it ends with status 75 where device files
are not there yet, so that systemd tries again. ``check`` prints the path of each spec that is right, with ``--left``
also of what ``make`` leaves. ``--root`` names another root than ``/``. The module ``cdi_spec`` writes it with all it
imports.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence

from .host import disk, lock
from .host.door import Host
from .model.errors import InputError, OpsError
from .model.plan import digest
from .usecase import cdi_record, cdi_specs
from .usecase.cdi_specs import Asked, Look

USAGE = "usage: cdi.pyz make [--whole] [--root ROOT] | cdi.pyz check [--left] [--root ROOT]"
NOT_OURS = 73  # EX_CANTCREAT of sysexits(3); the unit knows it
TRY_AGAIN = 75  # EX_TEMPFAIL of sysexits(3)
_MAKE_SECONDS = 30.0
_WAIT_SECONDS = 20.0


def main(arguments: Sequence[str], settings: str) -> int:
    """Do what the arguments say, with the settings that ``cdi_specs.Asked.text`` gave. Returns the exit status."""
    words = list(arguments)
    root = "/"
    if "--root" in words[:-1]:
        place = words.index("--root")
        root = words[place + 1]
        del words[place : place + 2]
    if words not in (["make"], ["make", "--whole"], ["check"], ["check", "--left"]):
        return _said(USAGE, 2)
    wish = cdi_specs.asked(json.loads(settings))
    try:
        if words[0] == "check":
            return _check(Host(root), wish, is_left="--left" in words)
        return _make(root, wish, is_whole="--whole" in words)
    except OpsError as error:
        return _said(str(error), 1)
    except OSError as error:
        return _said(f"cannot write a CDI spec: {error}", 1)


def _check(host: Host, wish: Asked, is_left: bool) -> int:
    looks = cdi_specs.look(host, wish)
    wanted = cdi_specs.wanted(looks or (), wish)
    record = cdi_record.known(host)
    found = cdi_specs.present(host, wish.directory, record)
    mine = cdi_specs.ours(host, found, record)
    for path, there in found.items():
        is_right = path in wanted and cdi_specs.is_right(there, wanted[path])
        if is_right or (is_left and path not in mine and host.exists(path)):
            sys.stdout.write(f"{path}\n")
    return 0


def _make(root: str, wish: Asked, is_whole: bool) -> int:
    looks = cdi_specs.look(Host(root), wish)
    if looks is None:
        return _said(f"{root} has no /sys: the devices are unknown", TRY_AGAIN if is_whole else 0)
    if _made_nodes(Host(root), looks):
        looks = cdi_specs.look(Host(root), wish) or ()
    host = Host(root)
    obstacle = cdi_specs.obstacle(host, wish.directory)
    if obstacle is not None:
        raise InputError("make", "CDI specs", obstacle, "a folder", "mend it, or set directory")
    folder = os.path.dirname(disk.place(host, cdi_record.FILE))
    disk.make_folders(folder, 0o700)
    with lock.alone_in(folder, _WAIT_SECONDS):  # of a unit and of a play: both write the record
        left = _bring(host, wish, looks)
    status = 0
    for path, what in left.items():
        status = _said(f"{path}: {what}; it is left as it is, move it away", NOT_OURS)
    return _told(looks, is_whole) or status


def _bring(host: Host, wish: Asked, looks: Sequence[Look]) -> Mapping[str, str]:
    """Make what is missing or stale, and withdraw what is over. Returns what is in the way of specs, and stays."""
    record = cdi_record.known(host)
    wanted = cdi_specs.wanted(looks, wish)
    found = cdi_specs.present(host, wish.directory, record)
    mine = cdi_specs.ours(host, found, record)
    left = cdi_specs.taken(wanted, found, mine)
    wrong, over = cdi_specs.wrong(wanted, found, mine), cdi_specs.over(looks, wanted, mine)
    for path in {cdi_record.FILE, *cdi_specs.places(wish.directory), *record.digests}:
        folder, _slash, name = disk.place(host, path).rpartition("/")
        if disk.unfinished(name) in disk.names_in(folder):  # of a run that was cut off
            disk.remove(f"{folder}/{disk.unfinished(name)}")
    if wrong or over:
        made = {cdi_record.real(host, path): frozenset((digest(wanted[path].encode()),)) for path in wrong}
        gone = {cdi_record.real(host, path) for path in over}
        folders = (*(_missing(host, wish.directory) if wrong else ()), *record.folders)
        both = {path: some | record.digests.get(path, frozenset()) for path, some in made.items()}
        cdi_record.write(host, record._replace(digests={**record.digests, **both}, folders=folders))
        for path in wrong:
            _write(host, path, wanted[path])
            sys.stdout.write(f"made {path}\n")
        for path in over:
            real = disk.place(host, path)
            disk.remove(real)
            disk.sync_folders([os.path.dirname(real)])
            sys.stdout.write(f"removed {path}\n")
        kept = {path: some for path, some in record.digests.items() if path not in gone}
        cdi_record.write(host, record._replace(digests={**kept, **made}, folders=_kept(host, folders)))
    return left


def _missing(host: Host, folder: str) -> list[str]:
    """The folders that are to be made, the inner ones first."""
    missing = []
    while not host.exists(folder):
        missing.append(host.real_path(folder))
        folder = folder.rpartition("/")[0] or "/"
    return missing


def _kept(host: Host, folders: Sequence[str]) -> tuple[str, ...]:
    """Remove those of our folders that are empty. Returns the rest."""
    kept = []
    for folder in folders:
        real = disk.place(host, folder)
        if os.path.isdir(real) and not os.path.islink(real) and not disk.remove_folder(real):
            kept.append(folder)
    return tuple(kept)


def _made_nodes(host: Host, looks: Sequence[Look]) -> bool:
    """Have the makers' programs make device files that are missing. False: there is nothing to be done."""
    programs = [argv for one in looks for needs in one.needs for argv in needs.again]
    if not programs or not host.is_live:
        return False
    from .host import command  # where it is needed only: it brings subprocess along

    for argv in dict.fromkeys(programs):
        ran = command.run(host, argv, _MAKE_SECONDS)
        if ran.reason is not None:
            _said(ran.reason, 0)
    return True


def _write(host: Host, path: str, text: str) -> None:
    """Put a spec in its place in one step, for everybody to read."""
    real = disk.place(host, path)
    disk.make_folders(os.path.dirname(real))
    disk.put(real, text.encode(), mode=cdi_specs.MODE)


def _told(looks: Sequence[Look], is_whole: bool) -> int:
    status = 0
    for one in looks:
        if one.owner is not None:
            _said(f"{one.maker}: left to {one.owner.name} (seen at {one.owner.seen_at})", 0)
        elif one.foreign:
            _said(f"{one.maker}: left to {', '.join(one.foreign)}", 0)
        elif one.failure is not None:
            status = _said(f"{one.maker}: {one.failure}", TRY_AGAIN if is_whole else 1)
        elif one.missing:
            again = _said(f"{one.maker}: not there: {', '.join(one.missing)}", TRY_AGAIN if is_whole else 0)
            status = status or again
        for note in [note for needs in one.needs for note in needs.notes if needs.units]:
            _said(f"{one.maker}: {note}", 0)
    return status


def _said(line: str, status: int) -> int:
    sys.stderr.write(f"{line}\n")
    return status
