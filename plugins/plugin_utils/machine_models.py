# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machine models on the control host: their YAML text, where they lie, and a folder of trees laid out once.

Runs on the control host only, where ansible-core brings PyYAML along.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from typing import Any

import yaml

from ansible_collections.accelerator.ops.plugins.module_utils.host import tree
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.host.sparse import SparseHost
from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout, model, writedown
from ansible_collections.accelerator.ops.plugins.module_utils.machine.records import Heading
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.plugins.plugin_utils import whole_file

SHIPPED = os.path.join(os.path.dirname(__file__), "..", "..", "playbooks", "files", "machines")
_ROOM = os.path.join(os.path.dirname(__file__), "..", "module_utils")


class _Loader(yaml.SafeLoader):
    """Plain YAML, except that a key that stands twice is an error and a date stays the text that it is."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _value in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is there twice", key_node.start_mark)
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", yaml.SafeLoader.construct_yaml_str)


class _Dumper(yaml.SafeDumper):
    """What fits on a line stands on one, as a human would write a model."""

    def represent_mapping(self, tag: str, mapping: Any, flow_style: Any = None) -> yaml.MappingNode:
        node = super().represent_mapping(tag, mapping, flow_style)
        node.flow_style = _width(node) <= _LINE
        return node

    def represent_sequence(self, tag: str, sequence: Any, flow_style: Any = None) -> yaml.SequenceNode:
        node = super().represent_sequence(tag, sequence, flow_style)
        node.flow_style = _width(node) <= _LINE
        return node

    def ignore_aliases(self, data: Any) -> bool:
        return True


class _Top(dict):  # type: ignore[type-arg]
    """The outermost mapping, which never stands on one line."""


def _represent_top(dumper: _Dumper, top: _Top) -> yaml.MappingNode:
    return yaml.SafeDumper.represent_mapping(dumper, "tag:yaml.org,2002:map", top.items(), flow_style=False)


_Dumper.add_representer(_Top, _represent_top)
_LINE = 130


def _width(node: yaml.Node) -> int:
    """About how many columns a node takes on one line."""
    if isinstance(node, yaml.MappingNode):
        return 2 + sum(_width(key) + _width(value) + 4 for key, value in node.value)
    if isinstance(node, yaml.SequenceNode):
        return 2 + sum(_width(item) + 2 for item in node.value)
    return len(node.value) + (1000 if "\n" in node.value else 0)


def dump(mapping: dict[str, Any]) -> str:
    """A model's mapping as text, so short that it can be read; ``parse`` reads the same machine from it."""
    return yaml.dump(
        _Top(mapping), Dumper=_Dumper, sort_keys=False, width=10000, allow_unicode=True, explicit_start=True
    )


def shipped() -> dict[str, str]:
    """The models that come with the collection: name to path."""
    folder = os.path.realpath(SHIPPED)
    names = sorted(name[:-4] for name in os.listdir(folder) if name.endswith(".yml"))
    return {name: os.path.join(folder, f"{name}.yml") for name in names}


def load(path: str) -> model.Machine:
    """The model in a file. Raises InputError with one line for a file that cannot be read or is no model."""
    try:
        with open(path, "rb") as handle:
            text = handle.read()
    except OSError as error:
        raise InputError(
            "read", f"model {path}", str(error.strerror), "a file", "name a model or the path of one"
        ) from None
    return parse(text, path)


def parse(text: bytes | str, path: str) -> model.Machine:
    """The model in a YAML text; ``path`` is named in complaints."""
    try:
        mapping = yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        found = where + " ".join(str(getattr(error, "problem", None) or error).split())
        raise InputError("read", f"model {path}", found, "YAML", "correct the file") from None
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InputError("read", f"model {path}", str(error), "YAML in UTF-8", "correct the file") from None
    except (TypeError, KeyError, IndexError):
        # PyYAML ends so where a tag does not fit its value, or a list or mapping is a key.
        found = "a key or a tagged value that is none"
        raise InputError("read", f"model {path}", found, "plain YAML", "correct the file") from None
    return model.parse(mapping)


def find(name: str) -> str:
    """The path of a model by its name, or a path that is given as such. Raises InputError for an unknown name."""
    known = shipped()
    if name in known:
        return known[name]
    if os.path.isfile(name):
        return name
    raise InputError(
        "find", f"model {name}", "no such model or file", f"one of {', '.join(known)}, or a path", "correct the name"
    )


def written_down(src: str, name: str) -> str:
    """The YAML text of a tree, of a recording, or (``/``) of this machine. Raises InputError where it cannot be said.

    Laid out again, it gives the same facts.
    """
    host = SparseHost(src)
    asked = None
    if os.path.isfile(src):
        reader = Host(src)
        observe(reader)
        asked = {reader.real_path(path) for path in reader.read_paths}
    return dump(writedown.model(host, Heading(name, "", (), ""), asked))


def laid_out(path: str, cache_dir: str) -> tuple[model.Machine, str]:
    """A model and the root of its tree below ``cache_dir``, laid out once for each content of model and code."""
    machine = load(path)
    with open(path, "rb") as handle:
        digest = hashlib.sha256(handle.read() + _code())
    root = os.path.join(cache_dir, f"{machine.heading.name}-{digest.hexdigest()[:16]}")
    whole_file.sweep(cache_dir)
    if os.path.isdir(root):
        return machine, root
    try:
        os.makedirs(cache_dir, exist_ok=True)
        made = whole_file.temporary(cache_dir)
        try:
            tree.write(made, layout.entries(machine))
            _move(made, root)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise InputError(
            "lay out",
            f"model {path}",
            f"{cache_dir}: {error.strerror}",
            "a folder that can be written",
            "set cache_dir",
        ) from None
    except ValueError as error:
        found, expected = str(error), "text that names and files can hold"
        raise InputError("lay out", f"model {path}", found, expected, "correct the model") from None
    return machine, root


def _move(made: str, root: str) -> None:
    """Put a finished tree in its place at one stroke; another run may have been faster, with the same content."""
    try:
        os.rename(made, root)
    except OSError:
        if not os.path.isdir(root):
            raise


def _code() -> bytes:
    """What decides how a model is laid out, so that a newer collection never uses an older tree."""
    parts = []
    for room in ("machine", "model", "host"):
        folder = os.path.join(_ROOM, room)
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py"):
                with open(os.path.join(folder, name), "rb") as handle:
                    parts.append(handle.read())
    return b"".join(parts)
