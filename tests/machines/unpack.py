# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lay the captured machines out: every archive of a data folder as a tree that stands for its node.

Run as ``python tests/machines/unpack.py DATA BELOW``; prints one ``name<TAB>root`` line per tree. A second run
leaves trees alone whose source has not changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
import shutil
import sys
import tarfile
from pathlib import Path

_SUFFIX = re.compile(r"(\.sysinfo)?(\.tar\.(gz|bz2|xz)|\.tgz)\Z")

# Archives that hold a folder of the node and not its root: where on the node that folder is, and where it begins
# in the archive (a member's name, or the name of a folder above the members). Source: README.md of the data.
_PLACES = (
    (re.compile(r"kfd/"), ("topology",), "sys/class/kfd/kfd"),
    (re.compile(r"kfd/"), ("nodes",), "sys/class/kfd/kfd/topology"),
    (re.compile(r"sysfs/gpud-h100-class-infiniband"), ("mlx5_0",), "sys/class/infiniband"),
    (re.compile(r"sysfs/cadvisor-edac"), ("edac",), "sys/devices/system"),
)


def sources(data: Path) -> dict[str, Path]:
    """Each tree's name and the file it is made from: archives, and JSON dumps of ``{sysfs path: content}``.

    Raises ValueError when two files would make trees of one name.
    """
    found: dict[str, Path] = {}
    for path in sorted(data.rglob("*")):
        name = _SUFFIX.sub("", path.name)
        if name == path.name:
            if path.parent.name != "sysfs-json" or path.suffix != ".json" or _dump(path) is None:
                continue
            name = path.stem
        if name in found:
            raise ValueError(f"{path} and {found[name]} would both be tree {name}")
        found[name] = path
    return found


def unpack(data: Path, below: Path) -> dict[str, Path]:
    """Lay every capture of ``data`` out in ``below``: the root of each tree by its name.

    A root is a folder that holds ``sys`` or ``proc`` or both. What an archive has outside of it is left out.
    """
    return {
        name: unpack_one(path, below / name, path.relative_to(data).as_posix()) for name, path in sources(data).items()
    }


def unpack_one(source: Path, root: Path, kind: str) -> Path:
    """Lay one capture out as ``root``; ``kind`` is its path in the data folder. Returns ``root``."""
    stamp = root.parent / f".{root.name}.source"
    digest = hashlib.sha256(source.read_bytes() + Path(__file__).read_bytes()).hexdigest()
    if root.is_dir() and stamp.is_file() and stamp.read_text(encoding="ascii") == digest:
        return root
    stamp.unlink(missing_ok=True)
    fresh = root.parent / f".{root.name}.fresh"
    for old in (root, fresh):
        if old.exists():
            shutil.rmtree(old)
    fresh.mkdir(parents=True)
    if source.suffix == ".json":
        dump = _dump(source)
        assert dump is not None, f"{source} is no dump of sysfs"
        for path, content in dump.items():
            _write(fresh, _inside(path.lstrip("/"), source), content.encode("utf-8"))
    else:
        _extract(source, fresh, kind)
    if not ((fresh / "sys").is_dir() or (fresh / "proc").is_dir()):
        raise ValueError(f"{source} holds neither sys nor proc")
    fresh.rename(root)
    stamp.write_text(digest, encoding="ascii")
    return root


def _dump(path: Path) -> dict[str, str] | None:
    content = json.loads(path.read_text(encoding="utf-8"))
    is_dump = isinstance(content, dict) and content and all(key.startswith("/sys/") for key in content)
    return content if is_dump else None


def _extract(source: Path, root: Path, kind: str) -> None:
    """Files first and links last, so that nothing is ever written through a link of the archive."""
    with tarfile.open(source) as archive:
        members = {_inside(member.name, source): member for member in archive.getmembers()}
        above, place = _where(list(members), kind)
        wanted = [
            (_inside(posixpath.join(place, path[len(above) :].lstrip("/")), source), member)
            for path, member in members.items()
            if path != above and (not above or path.startswith(above + "/")) and _is_of_node(path[len(above) :], place)
        ]
        for path, member in wanted:
            if member.isdir():
                (root / path).mkdir(parents=True, exist_ok=True)
            elif member.isreg() or member.islnk():
                content = archive.extractfile(member)
                assert content is not None
                with content:
                    _write(root, path, content.read())
        for path, member in wanted:
            if member.issym() and not os.path.lexists(root / path):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).symlink_to(member.linkname)


def _where(paths: list[str], kind: str) -> tuple[str, str]:
    """The folder of the archive that is a folder of the node, and which one it is there (empty: its root)."""
    for pattern, starts, place in _PLACES:
        if pattern.match(kind):
            for path in sorted(paths, key=lambda path: path.count("/")):
                if posixpath.basename(path) in starts:
                    return posixpath.dirname(path), place
    for path in sorted(paths, key=lambda path: (path.count("/"), path)):
        parts = path.split("/")
        for position, part in enumerate(parts):
            if part in ("sys", "proc"):
                return "/".join(parts[:position]), ""
    raise ValueError(f"{kind} holds no sys and no proc")


def _is_of_node(path: str, place: str) -> bool:
    """Of a node's root, the folders that a node has; captures carry files of their makers beside them."""
    return bool(place) or path.lstrip("/").split("/")[0] in ("sys", "proc", "dev", "run", "etc", "usr", "lib", "boot")


def _inside(path: str, source: Path) -> str:
    """A member's name without ``./``; raises ValueError for one that leads out of the tree."""
    clean = posixpath.normpath(path)
    if clean.startswith(("/", "../")) or clean == "..":
        raise ValueError(f"{source} holds {path}, which leads out of its tree")
    return "" if clean == "." else clean


def _write(root: Path, path: str, content: bytes) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


if __name__ == "__main__":
    if len(sys.argv) != 3 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: unpack.py DATA BELOW (DATA: the folder with the captured machines, BELOW: where the trees go)")
    for tree, where in unpack(Path(sys.argv[1]), Path(sys.argv[2])).items():
        print(f"{tree}\t{where}")
