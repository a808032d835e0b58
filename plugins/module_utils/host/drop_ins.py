# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of configuration that lie in several folders: a human's before those of packages.

Source: modprobe.d(5) of kmod 30, sysctl.d(5), udev(7) and systemd.unit(5) of systemd 257; read 2026-12.
"""

from __future__ import annotations

from .door import Host

ABOVE = ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib")
"""The folders above, in falling precedence."""


def drop_ins(host: Host, folder: str, ending: str) -> tuple[str, ...]:
    """The paths of the files in force in ``folder`` (``sysctl.d``), in the order in which they are read.

    That is the order of their names; of several with one name only the first folder's counts.
    """
    found: dict[str, str] = {}
    for above in ABOVE:
        for name in host.list(f"{above}/{folder}").value or ():
            if name.endswith(ending):
                found.setdefault(name, f"{above}/{folder}/{name}")
    return tuple(path for _name, path in sorted(found.items()))


def text_of(host: Host, path: str) -> str:
    """What a file of others says to its programs, which care for no encoding; empty where it cannot be read."""
    return (host.read_bytes(path)[0] or b"").decode("utf-8", "replace")


def unit_texts(host: Host, name: str) -> list[str]:
    """The file in force of a unit of systemd, then its drop-ins. Empty where there is no such unit."""
    places = (f"{above}/systemd/system/{name}" for above in ABOVE)
    main = next((text for text in (text_of(host, place) for place in places) if text), None)
    if main is None:
        return []
    return [main, *(text_of(host, path) for path in drop_ins(host, f"systemd/system/{name}.d", ".conf"))]
