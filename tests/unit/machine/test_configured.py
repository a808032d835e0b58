# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a model takes of a tree's configuration is what facts are read from."""

from __future__ import annotations

from ansible_collections.accelerator.ops.plugins.module_utils.machine import configured
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import kubelet, owners


def test_the_same_places_as_the_facts() -> None:
    assert set(configured.OWNED) == {path for _subject, _owner, path in owners._PATHS}
    assert configured.RELEASES == owners._RELEASES
    assert configured._KUBELETS == kubelet._SERVICES
    assert {path for path, _folder in kubelet._PLACES if path} <= set(configured._KUBELET_FILES)
    assert {folder for _path, folder in kubelet._PLACES if folder} <= set(configured._KUBELET_FOLDERS)


def test_what_is_kept_of_a_file() -> None:
    assert configured.kept("/etc/os-release", b'NAME="x"\nID=debian\nVERSION="12"\n') == b"ID=debian\n"
    assert configured.kept("/etc/dgx-release", b"DGX_SERIAL=123\n") == b""
    assert configured.kept("/etc/containerd/conf.d/99-nvidia.toml", b"version = 2\n") == b"version = 2\n"
