# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A JSON or YAML text as a tree in which nothing is decided yet: ``no`` may be a word or a negation.

Programs written in Go read YAML by other rules than Python does, and each of their libraries by its own. So a scalar
without quotes stays the text that it is, and who knows the reader decides what it means.
"""

from __future__ import annotations

import json
import re
from typing import Any, Union

NO_YAML = "the Python package yaml (PyYAML, python3-yaml) is not there, which reads what is not JSON"

_UNPRINTABLE = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # 6 ms to compile: where used
_JSON_ONLY = re.compile(r"(?<!\\)(?:\\\\)*\\(?:/|u[dD][89a-fA-F])")  # escapes that YAML 1.1 does not know


_DEEPEST = 100
"""Levels of lists and mappings in a text. libyaml's bindings know no end, and take the interpreter along."""
_TOO_DEEP = "it is nested too deeply, or an anchor holds itself"


class Plain(str):
    """A scalar without quotes, as it stands in the text."""

    __slots__ = ()


_NULLS = ("", "~", "null", "Null", "NULL")


def is_null(value: Any) -> bool:
    """Whether a value is one of the words for none, without quotes."""
    return isinstance(value, Plain) and value in _NULLS


Tree = Union[None, str, "list[Any]", "dict[str, Any]"]
"""None (an empty document), a text (``Plain`` without quotes), a list, or a mapping in the order of the text."""


class DocumentError(ValueError):
    """The text is neither JSON nor YAML."""


class NoYamlError(ValueError):
    """The text is not JSON, and this Python cannot read YAML: what it says is not known."""


def read(text: str) -> Tree:
    """The tree of a text's first document. DocumentError, NoYamlError."""
    text = text[1:] if text.startswith("\ufeff") else text
    strange = re.search(_UNPRINTABLE, text)
    if strange is not None:
        raise DocumentError(f"the character {strange[0]!r} stands in it")
    try:
        return _from_json(text)
    except DocumentError:
        raise
    except RecursionError:
        raise DocumentError(_TOO_DEEP) from None
    except ValueError:
        return _from_yaml(text)


def _from_json(text: str) -> Tree:
    """The tree of a JSON text. ValueError where it is none, DocumentError where only a reader of YAML refuses it."""
    tree = json.loads(
        text,
        object_pairs_hook=_mapping,
        parse_int=Plain,
        parse_float=Plain,
        parse_constant=_no_constant,
    )
    if _JSON_ONLY.search(text):
        raise DocumentError("an escape of JSON that YAML does not know stands in it")
    words: Tree = _words(tree)
    return words


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise DocumentError(f"{name!r} stands twice in one mapping")
        found[name] = _words(value)
    return found


def _words(value: Any) -> Any:
    """``true``, ``false`` and ``null`` as they stood in the text."""
    if isinstance(value, list):
        return [_words(part) for part in value]
    return Plain(json.dumps(value)) if value is None or isinstance(value, bool) else value


def _from_yaml(text: str) -> Tree:
    try:
        import yaml
    except ImportError:
        raise NoYamlError(NO_YAML) from None
    made = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # what libyaml takes, Go takes: it is a port of it
    loader = made(text)
    try:
        _bounded(yaml, made(text))
        node = loader.get_node() if loader.check_node() else None
        return None if node is None else _Nodes(yaml).tree(node)
    except yaml.YAMLError as error:
        raise DocumentError(" ".join(str(error).split())) from None
    except RecursionError:
        raise DocumentError(_TOO_DEEP) from None
    finally:
        loader.dispose()


def _bounded(yaml: Any, loader: Any) -> None:
    """Refuse a first document that is nested too deeply: events alone need no stack."""
    depth = 0
    try:
        while loader.check_event() and not loader.check_event(yaml.DocumentEndEvent):
            event = loader.get_event()
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise DocumentError(_TOO_DEEP)
    finally:
        loader.dispose()


class _Nodes:
    """Nodes of PyYAML as trees, each made once: an anchor may stand for much, often."""

    def __init__(self, yaml: Any) -> None:
        self.yaml = yaml
        self.made: dict[int, Tree] = {}

    def tree(self, node: Any) -> Tree:
        if id(node) not in self.made:
            self.made[id(node)] = self._tree(node)
        return self.made[id(node)]

    def _tree(self, node: Any) -> Tree:
        if isinstance(node, self.yaml.SequenceNode):
            return [self.tree(part) for part in node.value]
        if isinstance(node, self.yaml.MappingNode):
            return self._mapping(node)
        return node.value if node.style in ("'", '"', "|", ">") else Plain(node.value)

    def _mapping(self, node: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self.tree(key_node)
            if not isinstance(key, str):
                raise DocumentError("a key that is no text stands in it")
            if key in found:
                raise DocumentError(f"{str(key)!r} stands twice in one mapping")
            value = self.tree(value_node)
            if key == "<<" and isinstance(key, Plain):
                merged = {**self._merged(value), **merged}
            else:
                found[key] = value
        return {**merged, **found}

    def _merged(self, value: Tree) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for part in value if isinstance(value, list) else [value]:
            if not isinstance(part, dict):
                raise DocumentError("<< does not stand before a mapping")
            found = {**part, **found}
        return found
