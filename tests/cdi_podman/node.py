# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""This machine with the devices of another one: a mount namespace in which ``/dev`` and ``/sys`` are a machine model's.

Run in a mount namespace of its own (``unshare --mount --propagation private``) as root, with one argument, a file of
JSON: ``tree`` a model laid out, ``work`` an empty folder, ``files`` texts by path, ``links`` targets by path, and
``commands``, each ``{argv, user, machine}``: as a user without rights, or with the model's ``/sys``, ``/proc/driver``
and ``/proc/devices`` (engines need the machine's own) and without systemd. Prints for each ``{status, stdout,
stderr}``. Nothing outside of ``work`` and ``tree`` changes: ``/etc``, ``/usr/local`` and ``/opt`` are overlaid, and all
mounts end with the process.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

_KEPT = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "fd", "stdin", "stdout", "stderr", "fuse")
_OVERLAID = ("/etc", "/usr/local", "/opt")
_UID = 2000
_SECONDS = 60
USER = "accelerator-guest"


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)


def devices(tree: Path, work: Path) -> None:
    """A ``/dev`` with the model's device files, with their own numbers and owners."""
    made = work / "dev"
    made.mkdir()
    mount("-t", "tmpfs", "-o", "mode=755,dev", "dev", str(made))
    for name in _KEPT:
        if os.path.lexists(f"/dev/{name}"):
            subprocess.run(["cp", "-a", f"/dev/{name}", str(made / name)], check=True)
    for name in ("pts", "shm", "mqueue"):
        if os.path.isdir(f"/dev/{name}"):
            (made / name).mkdir()
            mount("--bind", f"/dev/{name}", str(made / name))
    noted = json.loads((tree / ".accelerator-manifest.json").read_text(encoding="utf-8"))
    for path, entry in noted.items():
        if path.startswith("/dev/") and entry["kind"] == "char":
            place = made / path[len("/dev/") :]
            place.parent.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(place):
                os.mknod(place, 0o020000 | entry["mode"], os.makedev(entry["major"], entry["minor"]))
                os.chmod(place, entry["mode"])
                os.chown(place, entry["uid"], entry["gid"])
    mount("--rbind", str(made), "/dev")


def overlays(work: Path) -> None:
    upper = work / "upper"
    upper.mkdir()
    mount("-t", "tmpfs", "upper", str(upper))
    for folder in _OVERLAID:
        name = folder.strip("/").replace("/", "-")
        for one in (name, f"{name}-work"):
            (upper / one).mkdir()
        options = f"lowerdir={folder},upperdir={upper / name},workdir={upper / f'{name}-work'}"
        mount("-t", "overlay", "-o", options, "overlay", folder)
    (upper / "state").mkdir()
    Path("/var/lib/accelerator-ops").mkdir(exist_ok=True)
    mount("--bind", str(upper / "state"), "/var/lib/accelerator-ops")


def account(work: Path) -> None:
    """A user without rights that may have a user namespace."""
    home = work / "home"
    (home / "run").mkdir(parents=True)
    for path in (work, home):
        path.chmod(0o755)
    with open("/etc/passwd", "a", encoding="utf-8") as file:
        file.write(f"{USER}:x:{_UID}:{_UID}::{home}:/bin/sh\n")
    with open("/etc/group", "a", encoding="utf-8") as file:
        file.write(f"{USER}:x:{_UID}:\n")
    for path in ("/etc/subuid", "/etc/subgid"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{USER}:300000:65536\n")
    for path in (home, home / "run"):
        os.chown(path, _UID, _UID)
    (home / "run").chmod(0o700)


_AS_MACHINE = """
mount --bind "$0/sys" /sys || exit
for one in driver devices; do
  if test -e "$0/proc/$one"; then mount --bind "$0/proc/$one" "/proc/$one" || exit; fi
done
if test -d /run/systemd; then mount -t tmpfs none /run/systemd || exit; fi
exec "$@"
"""


def run(command: dict[str, object], tree: Path, work: Path) -> dict[str, object]:
    home = work / "home"
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(home)}
    env["CONTAINERS_CONF"] = "/etc/accelerator-ops-containers.conf"
    argv = command["argv"]
    assert isinstance(argv, list)
    if command.get("user"):
        env["XDG_RUNTIME_DIR"] = str(home / "run")
        argv = ["setpriv", f"--reuid={_UID}", f"--regid={_UID}", "--init-groups", *argv]
    if command.get("machine"):
        argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _AS_MACHINE, str(tree), *argv]
    argv = ["timeout", "--signal=QUIT", "--kill-after=5", str(_SECONDS), *argv]
    done = subprocess.run(argv, env=env, cwd="/", capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return {"status": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def main(place: str) -> int:
    plan = json.loads(Path(place).read_text(encoding="utf-8"))
    tree, work = Path(plan["tree"]), Path(plan["work"])
    overlays(work)
    account(work)
    devices(tree, work)
    for path, text in plan.get("files", {}).items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(text, list):
            shutil.copyfile(text[0], path)
        else:
            Path(path).write_text(text, encoding="utf-8")
    for path, target in plan.get("links", {}).items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).symlink_to(target)
    json.dump([run(one, tree, work) for one in plan["commands"]], sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
