# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints everything on the node as JSON: type, mode, owner, extended attributes, content, and values of the kernel."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess

BUT = (
    *("/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp", "/var/log", "/var/lib/systemd"),
    os.path.expanduser("~/.ansible"),
)
"""File systems that are no disk, scratch folders, and what systemd writes by itself."""

MAY_DIFFER = (
    *("/var/lib/accelerator-ops", "/srv/image/var/lib/accelerator-ops"),
    # what groupadd and groupdel leave beside the files that they change
    *("/etc/group-", "/etc/gshadow-", "/etc/.pwd.lock"),
)
"""What docs/generations.md says may differ after a rollback."""

VALUES = ("/proc/sys/net/core/somaxconn", "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


def entry(path: str) -> list[object]:
    """What there is to compare of a path."""
    seen = os.lstat(path)
    names = sorted(os.listxattr(path, follow_symlinks=False))
    xattrs = {name: os.getxattr(path, name, follow_symlinks=False).hex() for name in names}
    content = os.readlink(path) if stat.S_ISLNK(seen.st_mode) else ""
    if stat.S_ISREG(seen.st_mode):
        with open(path, "rb") as source:
            content = hashlib.sha256(source.read()).hexdigest()
    return [seen.st_mode, seen.st_uid, seen.st_gid, seen.st_rdev, xattrs, content]


def main() -> None:
    """List the node."""
    found = {}
    for folder, names, files in os.walk("/"):
        names[:] = [name for name in names if os.path.join(folder, name) not in BUT + MAY_DIFFER]
        for name in [*names, *files]:
            path = os.path.join(folder, name)
            if path not in MAY_DIFFER:
                found[path] = entry(path)
    for path in VALUES:
        with open(path, encoding="ascii") as source:
            found[path] = [source.read().strip()]
    started = ["systemctl", "show", "kubelet.service", "--property=MainPID", "--value"]
    kubelet = subprocess.run(started, capture_output=True, text=True, check=True).stdout.strip()
    print(json.dumps({"kubelet": kubelet, "paths": found}, sort_keys=True))


if __name__ == "__main__":
    main()
