# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration files from the field, each read through a tree that has it, against what is known of it.

Of containerd's files the truth is what six releases of the daemon made of each; of kubelets' files and CDI specs what
the catalogue says of them, and what a reader of YAML that knows nothing of them finds there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

import yaml

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import cdi, document, engines
from ansible_collections.accelerator.ops.tests.machines.conftest import Compare

_PROGRAM = "/usr/bin/containerd"
_KUBELET = {
    "cgroup_driver": "cgroupDriver",
    "cpu_manager_policy": "cpuManagerPolicy",
    "memory_manager_policy": "memoryManagerPolicy",
    "topology_manager_policy": "topologyManagerPolicy",
    "topology_manager_scope": "topologyManagerScope",
    "container_runtime_endpoint": "containerRuntimeEndpoint",
}


def _tree(folder: Path, files: dict[str, bytes]) -> str:
    for path, content in files.items():
        place = folder / path[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return str(folder)


def _containerd(root: str, version: Optional[str]) -> dict[str, Any]:
    host = Host(root)
    if version is not None:
        host.answers[(_PROGRAM, "--version")] = (0, f"containerd x v{version} y", None)
    (row,) = engines.observe(host, version is not None, 1.0)
    return row


def test_containerd_as_each_release_reads_a_file(data: Path, tmp_path: Path, comparison: Compare) -> None:
    with comparison("settings of containerd as its releases see them", 250) as settings:
        for place in sorted((data / "truth/containerd").glob("*.effective.json")):
            name = place.name[: -len(".effective.json")]
            content = (data / "config/containerd" / name).read_bytes()
            root = _tree(tmp_path / name, {_PROGRAM: b"", "/etc/containerd/config.toml": content})
            for version, truth in json.loads(place.read_text(encoding="utf-8")).items():
                _judge(settings, f"{name} {version}", root, version, truth)


def test_containerd_with_imports(data: Path, tmp_path: Path, comparison: Compare) -> None:
    cases = json.loads((data / "truth/containerd/imports-and-version-cases.json").read_text(encoding="utf-8"))
    with comparison("settings of containerd with imports", 95) as settings:
        for number, case in enumerate(cases):
            drop_ins = {f"/etc/containerd/conf.d/{name}": text for name, text in (case.get("dropins") or {}).items()}
            texts = {"/etc/containerd/config.toml": case["main"], **drop_ins, _PROGRAM: ""}
            files = {path: text.replace("@D@", "/etc/containerd").encode() for path, text in texts.items()}
            root = _tree(tmp_path / str(number), files)
            for version, truth in case["effective"].items():
                _judge(settings, f"{case['case']} {version}", root, version, truth)


def _judge(settings: Any, where: str, root: str, version: str, truth: dict[str, Any]) -> None:
    """What a release that starts makes of the files; one without CDI has no such settings."""
    if truth["rc"] != 0 or "cri" in str(truth["disabled_plugins"]):
        return
    row = _containerd(root, version)
    settings.same(f"{where} cdi", row["cdi_enabled"], truth["enable_cdi"] or False)
    settings.same(f"{where} folders", row["cdi_spec_dirs"], truth["cdi_spec_dirs"] or [])


def test_every_file_of_containerd_gives_a_row(data: Path, tmp_path: Path, comparison: Compare) -> None:
    """Templates, JSON and drafts among them: whatever stands there, a value or the reason why there is none."""
    with comparison("files of containerd", 28) as files:
        for place in sorted((data / "config/containerd").iterdir()):
            root = _tree(tmp_path / place.name, {"/etc/containerd/config.toml": place.read_bytes()})
            row = _containerd(root, None)
            is_template = b"{{" in place.read_bytes() or b"{%" in place.read_bytes()
            reason = row["unknown"].get("cdi_spec_dirs", "")
            is_read = not is_template and place.suffix == ".toml"
            files.same(place.name, (reason == "") or "disabled" in reason, is_read)
            files.same(f"{place.name} template", " is a template" in reason, is_template and not is_read)


def test_kubelets(data: Path, tmp_path: Path, comparison: Compare) -> None:
    with comparison("settings of kubelets", 40) as settings:
        for place in sorted((data / "config/kubelet").iterdir()):
            root = _tree(tmp_path / place.name, {"/var/lib/kubelet/config.yaml": place.read_bytes()})
            section = document.observe(Host(root))["kubelet"]
            reasons = [section["unknown"].get(field, "") for field in _KUBELET]
            if place.suffix == ".j2":
                settings.same(place.name, all("config.yaml: " in reason for reason in reasons), True)
                continue
            truth = yaml.safe_load(place.read_text(encoding="utf-8"))
            if truth["kind"] != "KubeletConfiguration":  # what an operator makes one from, in the cluster
                expected = f"/var/lib/kubelet/config.yaml: kind {truth['kind']}, expected KubeletConfiguration"
                settings.same(place.name, set(reasons), {expected})
                inner = yaml.safe_dump(truth["spec"]["kubeletConfig"]).encode()
                root = _tree(tmp_path / f"{place.name}-inner", {"/var/lib/kubelet/config.yaml": inner})
                section, truth = document.observe(Host(root))["kubelet"], truth["spec"]["kubeletConfig"]
            for field, key in _KUBELET.items():
                settings.same(f"{place.name} {field}", section[field], truth.get(key) or None)


def test_a_kubelet_with_its_drop_in(data: Path, tmp_path: Path) -> None:
    names = ("expected-kubelet-config", "expected-kubelet-config-drop-in")
    first, second = ((data / f"config/kubelet/eks-kubelet-config-dir-{name}.json").read_bytes() for name in names)
    folder = "/etc/kubernetes/kubelet/config.json"
    root = _tree(tmp_path, {folder: first, f"{folder}.d/00-nodeadm.conf": second})
    section = document.observe(Host(root))["kubelet"]
    assert (section["config_path"], section["config_dir"]) == (folder, f"{folder}.d")
    assert (section["cgroup_driver"], section["container_runtime_endpoint"]) == (
        "systemd",
        "unix:///run/containerd/containerd.sock",
    )


def test_specs(data: Path, tmp_path: Path, comparison: Compare) -> None:
    with comparison("CDI specs", 45) as specs:
        for place in sorted((data / "config/cdi").iterdir()):
            root = _tree(tmp_path / place.name, {f"/etc/cdi/{place.name}": place.read_bytes()})
            section, _reason = cdi.observe(Host(root))
            (row,) = (section or {})["specs"]
            specs.same(f"{place.name} valid", row["valid"], "-bad-" not in place.name)
            truth = (yaml.safe_load(place.read_text(encoding="utf-8-sig")) or {}) if row["valid"] else {}
            names = [device["name"] for device in truth.get("devices", ())] or None
            for field, value in (("kind", "kind"), ("version", "cdiVersion")):
                specs.same(f"{place.name} {field}", row[field], truth.get(value))
            specs.same(f"{place.name} devices", row["devices"], names)
