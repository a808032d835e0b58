# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a masked recording keeps of the configuration of kubelets and engines: what facts hang on, and no more.

Such files have registries with their passwords, proxies, labels, names of clusters. They are not searched for what
looks like a secret: every text goes, unless it is a path or stands at a key that is known to hold none.
"""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, Callable

from . import document, toml, unit

Hide = Callable[[str], str]
"""Notes a secret that may stand elsewhere too, and gives its mask."""

_MASK = "masked-value-0"
_KUBELET_KEYS = (
    *("kind", "apiVersion", "cgroupDriver", "cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerPolicy"),
    *("topologyManagerScope", "containerRuntimeEndpoint"),
)
_KEYS = {
    *("imports", "cdi_spec_dirs", "cdi-spec-dirs", "runtime_type", "runtimeType", "type", "disabled_plugins"),
    *("required_plugins", "default_runtime_name", "default_runtime", "default-runtime", "cgroup_manager", "runtime"),
    *("exec-opts", "snapshotter"),
}
_FLAGS = {
    *("--config", "-c", "--config-dir", "--root-dir", "--root", "--container-runtime-endpoint", "--cgroup-driver"),
    *("--cpu-manager-policy", "--memory-manager-policy", "--topology-manager-policy", "--topology-manager-scope"),
    *("--config-file", "--cdi-spec-dir", "--enable-cdi", "--enable-nri", "--cdi-spec-dirs"),
}
_SECRET = re.compile(r"(?i)pass|secret|token|auth|user|cred|key|login|identity")
_NAME = re.compile(r"[A-Za-z_][\w-]{0,60}|io\.(containerd|cri-o|kubernetes)\.[\w.-]{1,80}|[a-z0-9_-]{1,40}", re.ASCII)
_TOML = re.compile(r"/etc/(containerd|crio|containers|k0s)/|/share/containers/|\.toml\Z|/containerd/")
_UNIT = re.compile(r"/systemd/system/")
_COMMAND = re.compile(r"/proc/\d+/cmdline\Z")
_VARIABLES = re.compile(
    r"/etc/(default|sysconfig)/(kubelet|crio|docker|containerd|k3s|k0s|rke2)[\w.-]*\Z|\.env\Z|/environment\Z"
)
_JSON = re.compile(r"/daemon\.json\Z")
_CLUSTER = re.compile(r"(?m)^[\s{]*[\"']?(apiVersion|kind)[\"']?\s*:")
_CLUSTER_PLACE = re.compile(r"/etc/kubernetes/|/var/lib/(kubelet|rancher|k0s)/|kubelet")
_SPEC = re.compile(r"(?m)^[\s{]*[\"']?cdiVersion[\"']?\s*:")
_DOCUMENT = re.compile(r"\.(ya?ml|json|conf)\Z")
_NAMES_OTHERS = re.compile(r"/proc/\d+/cmdline\Z|/systemd/system/|\.toml\Z|\.env\Z|/etc/(default|sysconfig)/")
_ENVIRONMENT = re.compile(r"(?m)^EnvironmentFile=-?(/\S+)")
_CONFIG = re.compile(r"(?:--config(?:-file)?|[\s\0\"']-c)[=\s\0]+(/[^\s\0\"']+)")
_IMPORTS = re.compile(r"imports\s*=\s*\[([^\]]*)\]")


class UnreadableError(ValueError):
    """A configuration that cannot be read, and so cannot be masked."""


def named(texts: Mapping[str, str]) -> dict[str, str]:
    """Files that command lines, units and configurations name, wherever they lie: ``variables`` or ``settings``."""
    found: dict[str, str] = {}
    pending = [path for path in texts if _NAMES_OTHERS.search(path) and not path.startswith("/sys/")]
    while pending:
        path = pending.pop()
        text = texts.get(path, "")
        here = dict.fromkeys(_ENVIRONMENT.findall(text), "variables")
        here.update(dict.fromkeys(_CONFIG.findall(text), "settings"))
        for said in _IMPORTS.findall(text):
            for pattern in re.findall(r"[\"']([^\"']+)[\"']", said):
                whole = pattern if pattern.startswith("/") else f"{path.rpartition('/')[0]}/{pattern}"
                here.update(dict.fromkeys(fnmatch.filter(texts, whole), "settings"))
        pending.extend(here.keys() - found.keys())
        found.update(here)
    return found


def reduced(text: str, path: str, hide: Hide, kind: str = "") -> str:
    """The text of a file as a masked recording has it; as it is where it is no such configuration. UnreadableError.

    ``kind`` is what ``named`` says of the path.
    """
    if path.startswith("/sys/"):
        return text
    if _COMMAND.search(path):
        return "\0".join(_words(text.rstrip("\0").split("\0"), hide)) + ("\0" if text.endswith("\0") else "")
    if _UNIT.search(path):
        return _unit(text, hide)
    if kind == "variables" or (_VARIABLES.search(path) and not _CLUSTER.search(text)):
        lines = (_assigned(line, '{}="{}"', hide) for line in text.splitlines())
        return "".join(f"{line}\n" for line in lines if line)
    try:
        return _settings(text, path, kind, hide)
    except (ValueError, RecursionError):
        raise UnreadableError(path) from None


def _settings(text: str, path: str, kind: str, hide: Hide) -> str:
    """As ``reduced``, of a structured file. ValueError, RecursionError."""
    if _SPEC.search(text) is not None:
        return text
    if _TOML.search(path):
        return toml.write(_tree(toml.read(text), "", hide))
    is_document = _DOCUMENT.search(path) is not None
    if _JSON.search(path) or (kind and text.lstrip()[:1] == "{" and _CLUSTER.search(text) is None):
        return json.dumps(_tree(json.loads(text), "", hide), indent=1) + "\n" if text.strip() else text
    if (_CLUSTER_PLACE.search(path) and is_document) or ((kind or is_document) and _CLUSTER.search(text) is not None):
        return _cluster(text)
    return toml.write(_tree(toml.read(text), "", hide)) if kind else text


def is_configuration(text: str, path: str, kind: str = "") -> bool:
    """Whether a file is one that ``reduced`` changes, or may not read."""
    try:
        return reduced(text, path, str, kind) != text
    except UnreadableError:
        return True


def _cluster(text: str) -> str:
    tree = document.read(text)
    kept = {key: tree[key] for key in _KUBELET_KEYS if key in tree} if isinstance(tree, dict) else {}
    plain = {
        key: None if document.is_null(value) else value
        for key, value in kept.items()
        if value is None or isinstance(value, str)
    }
    return json.dumps(plain, indent=1) + "\n"


def _tree(value: Any, key: str, hide: Hide) -> Any:
    if isinstance(value, dict):
        named = ((_NAME.fullmatch(name), name, inner) for name, inner in value.items())
        return {name if known else _MASK: _tree(inner, name, hide) for known, name, inner in named}
    if isinstance(value, list):
        return [_tree(inner, key, hide) for inner in value]
    if not isinstance(value, str) or not value or key in _KEYS or _is_path(value):
        return value
    return _hidden(key, value, hide)


def _is_path(text: str) -> bool:
    return text.startswith(("/", "unix:/"))


def _hidden(key: str, value: str, hide: Hide) -> str:
    return hide(value) if _SECRET.search(key) and len(value) > 3 else _MASK


def _unit(text: str, hide: Hide) -> str:
    """The sections, the command lines and the environment of a unit."""
    kept = []
    for line in unit.lines(text):
        name, equals, value = (part.strip() for part in line.partition("="))
        if line.startswith("[") or (equals and name in ("EnvironmentFile", "KillMode")):
            kept.append(line)
        elif name == "ExecStart" and equals:
            kept.append(f"{name}={' '.join(_words(value.split(), hide))}")
        elif name == "Environment" and equals:
            kept.append(f"{name}=" + _assigned(value, '"{}={}"', hide))
    return "".join(f"{line}\n" for line in kept)


def _assigned(line: str, form: str, hide: Hide) -> str:
    """Assignments of variables: those to arguments and paths stay."""
    if line.lstrip().startswith(("#", ";")):
        return ""
    try:
        pairs = [word.partition("=") for word in shlex.split(line)]
    except ValueError:
        return ""
    found = []
    for name, equals, value in pairs:
        if equals:
            is_kept = not value or value.startswith("-") or _is_path(value)
            said = " ".join(_words(["", *value.split()], hide)[1:]) if is_kept else _hidden(name, value, hide)
            found.append(form.format(name, said))
    return " ".join(found)


def _words(words: Iterable[str], hide: Hide) -> list[str]:
    """A command line: the program, the options, and the values that tell nothing of a place or a person."""
    found: list[str] = []
    before = ""
    for word in words:
        name, equals, value = word.partition("=")
        if word.startswith("-"):
            before = name
            is_kept = not equals or name in _FLAGS or _is_path(value) or not value
            found.append(word if is_kept else f"{name}={_hidden(name, value, hide)}")
        elif not found or not word or before in _FLAGS or _is_path(word) or word.startswith("$"):
            found.append(word)
        else:
            found.append(_hidden(before, word, hide))
    return found
