# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that makes CDI specs on a node: a second edge, without Ansible. It needs Python 3.9 and nothing else.

``make`` brings the specs to what the devices are now, and withdraws ours that are over; with ``--whole`` it ends with
status 75 where device files are not there yet, so that systemd tries again. ``check`` prints the path of each spec of
ours that is right. ``--root`` names another root than ``/``. The module ``cdi_spec`` writes it with all it imports.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from .host import disk
from .host.door import Host
from .model.errors import OpsError
from .model.plan import State
from .usecase import cdi_specs
from .usecase.cdi_specs import Asked, Look

USAGE = "usage: cdi.pyz make [--whole] [--root ROOT] | cdi.pyz check [--root ROOT]"
TRY_AGAIN = 75  # EX_TEMPFAIL of sysexits(3)
_MAKE_SECONDS = 30.0


def main(arguments: Sequence[str], settings: str) -> int:
    """Do what the arguments say, with the settings that ``cdi_specs.Asked.text`` gave. Returns the exit status."""
    words = list(arguments)
    root = "/"
    if "--root" in words[:-1]:
        place = words.index("--root")
        root = words[place + 1]
        del words[place : place + 2]
    if words not in (["make"], ["make", "--whole"], ["check"]):
        return _said(USAGE, 2)
    wish = cdi_specs.asked(json.loads(settings))
    try:
        if words == ["check"]:
            return _check(Host(root), wish)
        return _make(root, wish, is_whole="--whole" in words)
    except OpsError as error:
        return _said(str(error), 1)
    except OSError as error:
        return _said(f"cannot write a CDI spec: {error}", 1)


def _check(host: Host, wish: Asked) -> int:
    looks = cdi_specs.look(host, wish)
    wanted = cdi_specs.wanted(looks or (), wish)
    found = cdi_specs.present(host, wish.directory)
    for path, text in wanted.items():
        if path in found and cdi_specs.is_right(found[path], text):
            sys.stdout.write(f"{path}\n")
    return 0


def _make(root: str, wish: Asked, is_whole: bool) -> int:
    looks = cdi_specs.look(Host(root), wish)
    if looks is None:
        return _said(f"{root} has no /sys: the devices are unknown", TRY_AGAIN if is_whole else 0)
    if _made_nodes(Host(root), looks):
        looks = cdi_specs.look(Host(root), wish) or ()
    host = Host(root)
    wanted = cdi_specs.wanted(looks, wish)
    found = cdi_specs.present(host, wish.directory)
    for path, text in wanted.items():
        if path not in found or not cdi_specs.is_right(found[path], text):
            _write(host, path, text)
            sys.stdout.write(f"made {path}\n")
    # A name that is in two files resolves to nothing: what is over goes at once. That of a failure stays as it was.
    failed = {f"accelerator-{one.maker}" for one in looks if one.failure is not None}
    for path in found:
        if path not in wanted and not path.rpartition("/")[2].partition(".")[0].startswith(tuple(failed)):
            real = disk.place(host, path)
            disk.remove(real)
            disk.sync_folders([os.path.dirname(real)])
            sys.stdout.write(f"removed {path}\n")
    return _told(looks, is_whole)


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
    folder = os.path.dirname(real)
    disk.make_folders(folder)
    made = disk.stage(
        real, f".{os.path.basename(real)}.tmp", State("file", cdi_specs.MODE, os.geteuid(), os.getegid()), text.encode()
    )
    disk.swap(made, real)
    disk.sync_folders([folder])


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
