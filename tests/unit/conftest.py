# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What unit tests share: small trees that stand for a node."""

from __future__ import annotations

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host


@pytest.fixture
def node(tmp_path):
    """A function that writes ``{path: text | bytes | ("link", target)}`` below a new root and opens it."""

    def build(files, door=Host):
        root = tmp_path / "node"
        root.mkdir(exist_ok=True)
        for path, content in files.items():
            place = root / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, tuple):
                place.unlink(missing_ok=True)
                place.symlink_to(content[1])
            elif isinstance(content, bytes):
                place.write_bytes(content)
            else:
                place.write_text(content)
        return door(str(root))

    return build
