# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CDI loader that an engine embeds."""

from __future__ import annotations

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import cdi
from ansible_collections.accelerator.ops.plugins.module_utils.engine import cdi_loader


@pytest.mark.parametrize(
    ("engine", "release", "version"),
    [
        ("containerd", (1, 6, 20), None),
        ("containerd", (1, 7, 0), "0.5.0"),
        ("containerd", (1, 7, 11), "0.5.0"),
        ("containerd", (1, 7, 12), "0.6.0"),
        ("containerd", (1, 7, 35), "0.8.0"),
        ("containerd", (2, 0, 4), "0.8.0"),
        ("containerd", (2, 1, 9), "1.0.0"),
        ("containerd", (2, 3, 4), "1.1.0"),
        ("podman", (3, 4), None),
        ("podman", (4, 1, 1), "0.4.0"),
        ("podman", (4, 3, 1), "0.5.0"),
        ("podman", (4, 9, 4), "0.6.0"),
        ("podman", (5, 4, 2), "0.8.0"),
        ("podman", (5, 8, 0), "1.0.0"),
        ("docker", (20, 10, 24), None),
        ("docker", (26, 1, 5), "0.6.0"),
        ("docker", (29, 7, 2), "1.1.0"),
        ("crio", (1, 34, 1), "1.0.0"),
        ("garden", (1, 0), None),
    ],
)
def test_the_highest_version_that_an_engine_accepts(engine, release, version):
    library = cdi_loader.embedded_loader(engine, release)
    assert (library and cdi.accepted_version(library)) == version


def test_every_library_is_like_one_that_was_tried():
    tried = {cdi.accepted_version(release) for release in cdi.LOADERS}
    libraries = [library for steps in cdi_loader._EMBEDDED.values() for _since, library in steps if library]
    strange = {library for library in libraries if cdi.accepted_version(library) not in tried}
    assert strange == {"0.4.0", "0.3.0"}, "older than what can be built today"
    for steps in cdi_loader._EMBEDDED.values():
        assert [since for since, _library in steps] == sorted(since for since, _library in steps)
