# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record a node: what its facts are read from, as one archive that the door opens on again (docs/recordings.md)."""

from __future__ import annotations

import base64
from typing import Any

from ..host.recorder import Recorder, pack
from .facts.document import observe


def record(root: str, mask: bool) -> dict[str, Any]:
    """The archive as Base64 text under ``archive``, and what is in it."""
    host = Recorder(root)
    observe(host)
    recorded = host.recorded()
    archive = pack(recorded)
    return {
        "archive": base64.b64encode(archive).decode("ascii"),
        "size_bytes": len(archive),
        "files": sum(item.kind == "file" for item in recorded.items.values()),
        "commands": len(recorded.said),
    }
