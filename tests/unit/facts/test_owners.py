# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who owns what on a node: a row where an owner's path is, none where it is not."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import owners


def rows(host: Any) -> list[tuple[str, str, str]]:
    found, reason = owners.observe(host)
    assert found is not None and reason is None
    return [(row["subject"], row["owner"], row["evidence"]) for row in found]


def test_looked_and_none(grow: Any) -> None:
    assert rows(grow({"/etc/os-release": 'NAME="Debian GNU/Linux"\nID=debian'})) == []


def test_a_tree_without_files_of_a_node(grow: Any) -> None:
    assert owners.observe(grow({"/sys/kernel/x": ""})) == (None, "/etc not there")


def test_a_node_of_the_gpu_operator(grow: Any) -> None:
    files = {
        "/etc/os-release": "ID=ubuntu",
        "/run/nvidia/driver/usr/bin/nvidia-smi": "",
        "/run/nvidia/validations/driver-ready": "",
        "/usr/local/nvidia/toolkit/nvidia-ctk": "",
        "/etc/containerd/conf.d/99-nvidia.toml": "",
        "/var/run": "-> ../run",
        "/run/cdi/management.nvidia.com-gpu.yaml": "",
        "/run/cdi/k8s.device-plugin.nvidia.com-gpu.json": "",
    }
    assert rows(grow(files)) == [
        ("driver", "NVIDIA GPU Operator", "/run/nvidia/driver/usr/bin"),
        ("validation", "NVIDIA GPU Operator", "/run/nvidia/validations"),
        ("toolkit", "NVIDIA GPU Operator", "/usr/local/nvidia/toolkit"),
        ("engine", "NVIDIA Container Toolkit", "/etc/containerd/conf.d/99-nvidia.toml"),
        ("cdi", "NVIDIA device plugin", "/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json"),
        ("cdi", "NVIDIA GPU Operator", "/var/run/cdi/management.nvidia.com-gpu.yaml"),
    ]


def test_the_folder_that_a_driver_on_the_node_has_too_is_no_sign(grow: Any) -> None:
    assert rows(grow({"/etc/hosts": "", "/run/nvidia/driver": None})) == []


def test_one_unit_seen_through_two_paths_is_one_row(grow: Any) -> None:
    files = {"/etc/hosts": "", "/lib": "-> usr/lib", "/usr/lib/systemd/system/nvidia-cdi-refresh.path": "[Path]"}
    assert rows(grow(files)) == [("cdi", "nvidia-cdi-refresh", "/usr/lib/systemd/system/nvidia-cdi-refresh.path")]


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ('NAME=x\nID="rhcos"\nID_LIKE="rhel"', "Red Hat CoreOS"),
        ("ID=talos", "Talos Linux"),
        ("ID=cos", "Container-Optimized OS"),
        ("ID=bottlerocket", "Bottlerocket"),
        ("ID_LIKE=talos\nID=debian", None),
        ("VARIANT_ID=cos", None),
    ],
)
def test_an_image(grow: Any, text: str, owner: object) -> None:
    expected = [] if owner is None else [("system", owner, "/etc/os-release")]
    assert rows(grow({"/etc/os-release": text})) == expected


@pytest.mark.parametrize(
    ("path", "subject", "owner"),
    [
        ("/etc/modprobe.d/blacklist-amdgpu-by-operator.conf", "driver", "AMD GPU Operator"),
        ("/run/habana/driver/x", "driver", "Intel Gaudi Operator"),
        ("/etc/dgx-release", "system", "NVIDIA DGX OS"),
        ("/etc/cdi/amd.json", "cdi", "AMD Container Toolkit"),
        ("/etc/cdi/nvidia.yaml", "cdi", "NVIDIA Container Toolkit"),
        ("/etc/cdi/accelerator-nvidia.json", "cdi", "accelerator.ops"),
        ("/var/lib/accelerator-ops/current/x", "settings", "accelerator.ops"),
    ],
)
def test_each_sign(grow: Any, path: str, subject: str, owner: str) -> None:
    assert [row[:2] for row in rows(grow({"/etc/hosts": "", path: ""}))] == [(subject, owner)]


@pytest.mark.parametrize(
    ("text", "count"),
    [("# added by gpu operator \nblacklist amdgpu", 1), ("blacklist amdgpu", 0), ("# not added by gpu operator", 0)],
)
def test_a_file_that_says_who_wrote_it(grow: Any, text: str, count: int) -> None:
    assert len(rows(grow({"/etc/modprobe.d/blacklist-amdgpu.conf": text}))) == count


@pytest.mark.parametrize("name", ["nvidia.yaml.tmp", "my-nvidia.yaml", "accelerator-.json", "vendor.json"])
def test_a_spec_with_another_name_has_no_known_owner(grow: Any, name: str) -> None:
    assert rows(grow({f"/etc/cdi/{name}": ""})) == []
