# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record a node: what its facts are read from, as one archive that the door opens on again (docs/recordings.md)."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

from ..codec import module_file
from ..codec.mask import Masker
from ..codec.module_file import ModuleFile
from ..host.door import Host
from ..host.recorder import Recorder, pack
from ..machine import module_image
from ..model.recorded import Recorded
from ..vendor.ids import MAKERS, OFF_PCI_DRIVERS
from .facts import module_files
from .facts.document import observe

_NAMES = ("/proc/sys/kernel/hostname", "/etc/hostname", "/etc/passwd", "/etc/group")
"""What tells which words are names of this node and of its users."""

_MODULE = re.compile(r"/lib/modules/([^/]+)/.*\.ko(?:\.(gz|xz|zst))?\Z")


class Taken(NamedTuple):
    """A recording: its archive, what it holds, how many secrets of each kind are masked (None: mask was not asked)."""

    archive: bytes
    recorded: Recorded
    masked: Optional[dict[str, int]]
    left_out: list[str]


def record(root: str, mask: bool, tool_deadline_seconds: float) -> dict[str, Any]:
    """What the module returns: the archive as Base64 text under ``archive``, and what is in it."""
    taken = take(Recorder(root), mask, tool_deadline_seconds)
    return {
        "archive": base64.b64encode(taken.archive).decode("ascii"),
        "size_bytes": len(taken.archive),
        "files": sum(item.kind == "file" for item in taken.recorded.items.values()),
        "commands": len(taken.recorded.said),
        "masked": taken.masked,
        "left_out": taken.left_out,
    }


def take(host: Recorder, mask: bool, tool_deadline_seconds: float = 10.0) -> Taken:
    """Look at the node as the facts do, and keep what they saw. Raises InputError where that is too much."""
    observe(host, "auto", tool_deadline_seconds)
    if not mask:
        for path in _NAMES:
            host.read(path)  # so that the recording can be masked later as well as the node itself
    recorded = host.recorded()
    modules = _modules(host, recorded)
    if not mask:
        recorded = _with_images(recorded, {path: _image(path, seen) for path, seen in modules.items()})
        return Taken(pack(recorded), recorded, None, [])
    aside = Host(host.root)
    hints = {path: aside.read(path).value or "" for path in _NAMES}
    bare = _with_images(recorded, dict.fromkeys(modules, b""))
    masker = Masker(bare, {path: text for path, text in hints.items() if text}, _words())
    images = {
        masker.path(path): _image(
            path, seen._replace(version=_masked(masker, seen.version), signer=_masked(masker, seen.signer))
        )
        for path, seen in modules.items()
    }
    recorded = _with_images(masker.masked(), images)
    return Taken(pack(recorded), recorded, masker.counts(), masker.left_out)


def _masked(masker: Masker, text: Optional[str]) -> Optional[str]:
    return None if text is None else masker.text(text, "")


def _words() -> set[str]:
    """Words that stay even where a node or a user is called so."""
    words = set(OFF_PCI_DRIVERS) | set(OFF_PCI_DRIVERS.values())
    for maker in MAKERS:
        words.update((maker.name, *maker.modules, *maker.rivals))
    return words


def _modules(host: Host, recorded: Recorded) -> dict[str, ModuleFile]:
    """The module files of which an image says the same: nobody needs the maker's program in a recording."""
    found = {}
    for path, item in recorded.items.items():
        if item.kind == "file" and item.content and _MODULE.search(path):
            seen = module_files.read_file(host, path)
            if _says(path, _image(path, seen)) in (seen, None):
                found[path] = seen
    return found


def _image(path: str, seen: ModuleFile) -> bytes:
    match = _MODULE.search(path)
    release = match.group(1) if match else ""
    if path.endswith(".zst"):
        content = module_image.image(path[: -len(".zst")], release, seen.version, seen.signer)
        # A frame of one raw block (RFC 8878): no Python before 3.14 packs Zstandard.
        head = b"\x28\xb5\x2f\xfd\xa0" + len(content).to_bytes(4, "little")
        return head + (len(content) << 3 | 1).to_bytes(3, "little") + content
    return module_image.image(path, release, seen.version, seen.signer)


def _says(path: str, content: bytes) -> ModuleFile | None:
    """What is read from an image; None where this Python cannot unpack it, and so did not read the file either."""
    kind = path.rpartition(".ko")[2].lstrip(".")
    if kind:
        try:
            content = module_file.unpack(kind, module_file.within(content))
        except ImportError:
            return None
    return module_file.read_module(module_file.within(content), len(content))


def _with_images(recorded: Recorded, images: Mapping[str, bytes]) -> Recorded:
    items = dict(recorded.items)
    for path, content in images.items():
        items[path] = items[path]._replace(content=content, numbers={})
    return recorded._replace(items=items)
