# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Select devices of the facts by a JMESPath expression, and let nothing pass in silence.

Plain JMESPath takes a misspelt field for null and compares null with anything, so that a device stays or goes without
a word. Here the parse tree is first walked against the form of a device (docs/facts.md), which finds unknown fields
and comparisons of text with a number even where there is no device; then each device is looked at by an interpreter
that stops where a value is needed and null is found.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError
from ansible_collections.accelerator.ops.plugins.module_utils.report.form import (
    DEVICE,
    NOTHING,
    NUMBER,
    TEXT,
    TRUTH,
    Form,
    Many,
    Open,
)
from ansible_collections.accelerator.ops.plugins.plugin_utils.edge import plain

try:
    from jmespath import exceptions, functions, parser, visitor
except ImportError:
    IS_HERE = False
    Interpreter: Any = object
    Expression: Any = object
else:
    IS_HERE = True
    Interpreter = visitor.TreeInterpreter
    Expression = visitor._Expression

Node = Mapping[str, Any]

_SAID = {TEXT: "text", NUMBER: "a number", TRUTH: "true or false", NOTHING: "null", "array": "a list"}
_ORDER = ("lt", "lte", "gt", "gte")
_OPERATORS = {"eq": "==", "ne": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_TAKE_NULL = ("not_null", "type")
"""Functions that are asked with null in mind."""
_RETURN = {
    **dict.fromkeys(("abs", "avg", "ceil", "floor", "length", "sum", "to_number"), NUMBER),
    **dict.fromkeys(("contains", "ends_with", "starts_with"), TRUTH),
    **dict.fromkeys(("join", "to_string", "type"), TEXT),
    "keys": Many(TEXT),
}
_QUOTES = "text stands in 'single quotes', a number in `backticks`"


def select(devices: object, expression: object, unknown: object = "error", rows: object = False) -> list[Any]:
    """The ids (with ``rows`` the rows) of the devices that the expression is true for, in their order.

    Raises InputError with one line: for an expression that is none, an unknown field, values that do not compare, and,
    unless ``unknown`` is ``exclude``, for a device whose answer hangs on an unknown value; also where the library
    is missing.
    """
    if not IS_HERE:
        raise InputError(
            "select",
            "devices",
            "the Python library jmespath is not installed",
            "it where ansible-core runs",
            "install jmespath beside ansible-core",
        )
    if unknown not in ("error", "exclude"):
        raise InputError("select", "devices", f"unknown={unknown!r}", "error or exclude", "correct unknown")
    if not isinstance(rows, bool):
        raise InputError("select", "devices", f"rows={rows!r}", "true or false", "correct rows")
    known = _devices(devices)
    text = plain(expression)
    if not isinstance(text, str) or not text.strip():
        raise InputError("select", "devices", f"the expression {text!r}", "JMESPath", "give an expression as text")
    complaint = _Complaint(text)
    try:
        return list(_chosen(known, text, complaint, unknown == "exclude", rows))
    except RecursionError:
        raise complaint("too many parts in one another", "fewer", "make it shorter") from None


def _chosen(
    known: Sequence[dict[str, Any]], text: str, complaint: _Complaint, leave_out: bool, rows: bool
) -> Iterator[Any]:
    tree = _parsed(text, complaint)
    _Walk(complaint).condition(tree, DEVICE)
    for device in known:
        try:
            is_wanted = _Look(device, complaint).truth(tree, device)
        except _UnknownError as error:
            if leave_out:
                continue
            raise complaint.unknown(device, error) from None
        except exceptions.JMESPathError as error:
            raise complaint(f"{device['id']}: {_line(error)}", "values that fit", "correct the expression") from None
        if is_wanted:
            yield device if rows else device["id"]


def _devices(devices: object) -> list[dict[str, Any]]:
    """The rows as plain JSON data: functions of JMESPath look at the type's very name, and Ansible has its own."""
    try:
        known = json.loads(json.dumps(plain(devices)))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError("select", "devices", _line(error), "the devices of the facts", "correct the input") from None
    if known is None:
        raise InputError(
            "select",
            "devices",
            "null: the devices of this node are unknown",
            "a list",
            "see unknown.devices of its facts",
        )
    rows = known if isinstance(known, list) else [None]
    if not all(isinstance(row, dict) and isinstance(row.get("id"), str) for row in rows):
        raise InputError(
            "select",
            "devices",
            "something else than a list of devices with ids",
            "a list",
            "pass ansible_facts.accelerators.devices",
        )
    return rows


class _Complaint:
    """Makes the one line of an error about an expression."""

    def __init__(self, text: str) -> None:
        short = " ".join(text.split())
        self.subject = f'devices by "{short if len(short) <= 120 else short[:119] + "…"}"'

    def __call__(self, found: str, expected: str, next_step: str) -> InputError:
        return InputError("select", self.subject, found, expected, next_step)

    def unknown(self, device: Mapping[str, Any], error: _UnknownError) -> InputError:
        reasons = device.get("unknown") or {}
        parts = [] if error.is_inside else error.path.split(".")
        tried = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
        reason = next((str(reasons[path]) for path in tried if path in reasons), "null, and the facts give no reason")
        return self(
            f"{error.path} of {device['id']} is unknown ({reason})",
            "a value",
            "set unknown='exclude' to leave such devices out, or ask for == `null`",
        )


class _UnknownError(Exception):
    """A value is needed, and null was found; ``is_inside``: in an item of a list, which has reasons of its own."""

    def __init__(self, path: str, is_inside: bool) -> None:
        super().__init__(path)
        self.path = path
        self.is_inside = is_inside


def _line(error: object) -> str:
    return " ".join(str(error).split())


def _parsed(text: str, complaint: _Complaint) -> Node:
    try:
        tree: Node = parser.Parser().parse(text).parsed
    except exceptions.LexerError as error:
        raise complaint(f"{_line(error.message)} at column {error.lexer_position + 1}", "JMESPath", _QUOTES) from None
    except exceptions.IncompleteExpressionError:
        raise complaint("the expression ends too early", "JMESPath", _QUOTES) from None
    except exceptions.ParseError as error:
        where = f"{error.token_value!r} at column {error.lex_position + 1} makes no sense"
        raise complaint(where, "JMESPath", _QUOTES) from None
    except (exceptions.JMESPathError, ValueError) as error:
        raise complaint(_line(error), "JMESPath", _QUOTES) from None
    return tree


def _spoken(node: Node) -> str:
    """A part of the tree as it may have been written."""
    kind, children = node["type"], node.get("children") or []
    if kind == "field":
        return str(node["value"])
    if kind in ("subexpression", "index_expression"):
        parts = [_spoken(child) for child in children]
        return parts[0] + "".join(part if part.startswith("[") else f".{part}" for part in parts[1:])
    if kind == "index":
        return f"[{node['value']}]"
    if kind == "flatten":
        return _list_of(children[0])
    if kind in ("projection", "filter_projection"):
        right = "" if children[1]["type"] == "identity" else f".{_spoken(children[1])}"
        return f"{_list_of(children[0])}{right}"
    if kind == "literal":
        return json.dumps(node["value"])
    if kind == "function_expression":
        return f"{node['value']}()"
    return "@" if kind in ("identity", "current") else "a part of the expression"


def _list_of(node: Node) -> str:
    spoken = _spoken(node)
    return spoken if spoken.endswith("[]") else f"{spoken}[]"


def _name(form: Form) -> Optional[str]:
    """A form as JMESPath calls it."""
    if form is None or isinstance(form, str):
        return form
    return "array" if isinstance(form, Many) else "object"


def _is_null(node: Node) -> bool:
    return bool(node["type"] == "literal" and node["value"] is None)


class _Walk:
    """Walks a parse tree beside the form of what it will be asked about: ``form`` gives the form of the answer."""

    def __init__(self, complaint: _Complaint) -> None:
        self.complaint = complaint

    def condition(self, node: Node, at: Form) -> None:
        """What is asked for true or false has to be that, or a list (which is true when it has items)."""
        form = self.form(node, at)
        if _name(form) not in (None, TRUTH, "array"):
            raise self.complaint(
                f"{_spoken(node)} is {_said(form)}", "a condition", f"compare it with something; {_QUOTES}"
            )

    def form(self, node: Node, at: Form) -> Form:
        """The form of a node's answer where it is asked of a value of the form ``at``."""
        found: Form = getattr(self, f"_{node['type']}")(node, at)
        return found

    def _field(self, node: Node, at: Form) -> Form:
        name = node["value"]
        if at is None:
            return None
        if isinstance(at, Open):
            form: Form = at.of
            return form
        if isinstance(at, Mapping):
            if name in at:
                return at[name]  # type: ignore[no-any-return]
            near = difflib.get_close_matches(name, list(at), 1)
            raise self.complaint(
                f"no field {name}", near[0] if near else f"one of {', '.join(at)}", f"correct the field; {_QUOTES}"
            )
        hint = f"[].{name} asks each item" if isinstance(at, Many) else "leave it out"
        raise self.complaint(f"{_said(at)} has no field {name}", "a mapping before the dot", hint)

    def _fold(self, node: Node, at: Form) -> Form:
        for child in node["children"]:
            at = self.form(child, at)
        return at

    _subexpression = _pipe = _fold

    def _at(self, node: Node, at: Form) -> Form:
        return at

    _identity = _current = _at

    def _literal(self, node: Node, at: Form) -> Form:
        return _form_of(node["value"])

    def _items(self, node: Node, form: Form) -> Form:
        """The form of the items of a list."""
        if form is not None and not isinstance(form, Many):
            raise self.complaint(f"{_spoken(node)} is {_said(form)}", "a list before the bracket", "leave it out")
        items: Form = form.of if isinstance(form, Many) else None
        return items

    def _index_expression(self, node: Node, at: Form) -> Form:
        left, right = node["children"]
        items = self._items(left, self.form(left, at))
        return items if right["type"] == "index" else Many(items)

    def _projection(self, node: Node, at: Form) -> Form:
        left, right = node["children"]
        return Many(self.form(right, self._items(left, self.form(left, at))))

    def _filter_projection(self, node: Node, at: Form) -> Form:
        left, right, condition = node["children"]
        item = self._items(left, self.form(left, at))
        self.condition(condition, item)
        return Many(self.form(right, item))

    def _flatten(self, node: Node, at: Form) -> Form:
        (child,) = node["children"]
        item = self._items(child, self.form(child, at))
        return item if isinstance(item, Many) else Many(item)

    def _value_projection(self, node: Node, at: Form) -> Form:
        left, right = node["children"]
        form = self.form(left, at)
        if _name(form) not in (None, "object"):
            raise self.complaint(f"{_spoken(left)} is {_said(form)}", "a mapping before .*", "leave it out")
        values = [form.of] if isinstance(form, Open) else list(form.values()) if isinstance(form, Mapping) else [None]
        return Many(self.form(right, _common(values)))

    def _comparator(self, node: Node, at: Form) -> Form:
        left, right = node["children"]
        forms = self.form(left, at), self.form(right, at)
        names = {_name(form) for form in forms} - {None}
        operator = _OPERATORS[node["value"]]
        if node["value"] in _ORDER:
            for child, form in zip((left, right), forms):
                if _name(form) not in (None, NUMBER):
                    raise self.complaint(
                        f"{_spoken(child)} is {_said(form)}", f"a number beside {operator}", f"correct it; {_QUOTES}"
                    )
        elif len(names) > 1 and not (_is_null(left) or _is_null(right)):
            raise self.complaint(
                f"{_spoken(left)} is {_said(forms[0])} and {_spoken(right)} is {_said(forms[1])}",
                f"the same on both sides of {operator}",
                f"correct one of them; {_QUOTES}",
            )
        return TRUTH

    def _both(self, node: Node, at: Form) -> Form:
        for child in node["children"]:
            self.condition(child, at)
        return TRUTH

    _and_expression = _or_expression = _not_expression = _both

    def _multi_select_list(self, node: Node, at: Form) -> Form:
        return Many(_common([self.form(child, at) for child in node["children"]]))

    def _multi_select_dict(self, node: Node, at: Form) -> Form:
        return {child["value"]: self.form(child["children"][0], at) for child in node["children"]}

    def _function_expression(self, node: Node, at: Form) -> Form:
        name, children = node["value"], node["children"]
        table = functions.Functions.FUNCTION_TABLE
        if name not in table:
            near = difflib.get_close_matches(name, list(table), 1)
            raise self.complaint(
                f"no function {name}()", f"{near[0]}()" if near else f"one of {', '.join(sorted(table))}", "correct it"
            )
        signature = table[name]["signature"]
        is_open = bool(signature and signature[-1].get("variadic"))
        if len(children) < len(signature) or (len(children) > len(signature) and not is_open):
            raise self.complaint(
                f"{name}() with {len(children)} arguments",
                f"{len(signature)}{' or more' if is_open else ''}",
                "correct the call",
            )
        forms = [None if child["type"] == "expref" else self.form(child, at) for child in children]
        items = next((form.of for form in forms if isinstance(form, Many)), None)
        for number, (child, form) in enumerate(zip(children, forms)):
            wanted = signature[min(number, len(signature) - 1)]["types"]
            if child["type"] == "expref":
                self.form(child["children"][0], items)
            elif wanted and not any(_fits(form, one) for one in wanted):
                raise self.complaint(
                    f"{_spoken(child)} is {_said(form)}",
                    f"{' or '.join(_said(one) for one in wanted)} in {name}()",
                    f"correct it; {_QUOTES}",
                )
        if name == "contains":
            self._contains(children, forms)
        if name == "not_null":
            return _common(forms)
        if name in ("reverse", "sort", "sort_by"):
            return forms[0]
        return items if name in ("max", "max_by", "min", "min_by") else _RETURN.get(name)

    def _contains(self, children: Sequence[Node], forms: Sequence[Form]) -> None:
        inside = forms[0].of if isinstance(forms[0], Many) else forms[0]
        if None not in (_name(inside), _name(forms[1])) and _name(inside) != _name(forms[1]):
            raise self.complaint(
                f"{_spoken(children[1])} is {_said(forms[1])} and {_spoken(children[0])} holds {_said(inside)}",
                "the same in contains()",
                f"correct one of them; {_QUOTES}",
            )

    def _expref(self, node: Node, at: Form) -> Form:
        raise self.complaint("& outside of a function that takes it", "an expression", "leave it out")


def _said(form: Form) -> str:
    """A form for people."""
    name = (_name(form) or "").partition("-")[0]
    return _SAID.get(name, "a mapping" if name == "object" else name or "anything")


def _fits(form: Form, wanted: str) -> bool:
    name, _dash, item = wanted.partition("-")
    if form is None:
        return True
    if _name(form) != name:
        return False
    return not item or not isinstance(form, Many) or _name(form.of) in (None, item)


def _common(forms: Sequence[Form]) -> Form:
    return forms[0] if forms and all(form == forms[0] for form in forms) else None


def _form_of(value: object) -> Form:
    """The form of a JSON value."""
    if isinstance(value, Mapping):
        return {key: _form_of(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return Many(_common([_form_of(inner) for inner in value]))
    if value is None:
        return NOTHING
    return TRUTH if isinstance(value, bool) else TEXT if isinstance(value, str) else NUMBER


def _holds_null(value: object) -> bool:
    if isinstance(value, (Mapping, list)):
        return any(_holds_null(inner) for inner in (value.values() if isinstance(value, Mapping) else value))
    return value is None


class _Expression(Expression):  # type: ignore[misc]
    """``&field`` as an argument: its answer is needed for each item. JMESPath knows it by the name of the class."""

    def visit(self, node: Node, *args: Any, **kwargs: Any) -> Any:
        return self.interpreter.need(node, *args)


class _Look(Interpreter):  # type: ignore[misc]
    """Looks at one device. ``need`` stops at null; what is compared, joined or counted is needed."""

    def __init__(self, device: Mapping[str, Any], complaint: _Complaint) -> None:
        super().__init__()
        self.device = device
        self.complaint = complaint
        self.inside: list[str] = []

    def need(self, node: Node, value: Any) -> Any:
        """What the node answers. Raises _UnknownError for null."""
        found = self.visit(node, value)
        if found is None:
            raise self.lost(node)
        return found

    def lost(self, node: Node) -> _UnknownError:
        is_item = bool(self.inside) and node["type"] in ("identity", "current")
        return _UnknownError(".".join([*self.inside, *([] if is_item else [_spoken(node)])]), bool(self.inside))

    def truth(self, node: Node, value: Any) -> bool:
        """What the node answers, as true or false; a list is true when it has items."""
        found = self.need(node, value)
        if not isinstance(found, (bool, list)):
            raise self.complaint(
                f"{_spoken(node)} of {self.device['id']} is {_said(_form_of(found))}", "a condition", "compare it"
            )
        return bool(found)

    def visit_comparator(self, node: Node, value: Any) -> bool:
        left, right = node["children"]
        operator = node["value"]
        if operator not in _ORDER and (_is_null(left) or _is_null(right)):
            is_unknown = self.visit(left, value) is None and self.visit(right, value) is None
            return is_unknown == (operator == "eq")
        found = [self.need(child, value) for child in (left, right)]
        for child, one in zip((left, right), found):
            if _holds_null(one):
                raise self.lost(child)
        names = [_name(_form_of(one)) for one in found]
        if names[0] != names[1] or (operator in _ORDER and names[0] != NUMBER):
            spoken = [f"{_spoken(child)} is {_said(name)}" for child, name in zip((left, right), names)]
            raise self.complaint(
                f"{self.device['id']}: {' and '.join(spoken)}",
                f"{'numbers' if operator in _ORDER else 'the same'} on both sides of {_OPERATORS[operator]}",
                f"correct one of them; {_QUOTES}",
            )
        return bool(self.COMPARATOR_FUNC[operator](*found))

    def visit_and_expression(self, node: Node, value: Any) -> bool:
        left, right = node["children"]
        return self.truth(left, value) and self.truth(right, value)

    def visit_or_expression(self, node: Node, value: Any) -> bool:
        left, right = node["children"]
        return self.truth(left, value) or self.truth(right, value)

    def visit_not_expression(self, node: Node, value: Any) -> bool:
        return not self.truth(node["children"][0], value)

    def _each(self, label: str, items: Any, wanted: Node, condition: Optional[Node] = None) -> list[Any]:
        self.inside.append(label)
        found = [self.need(wanted, item) for item in items if condition is None or self.truth(condition, item)]
        self.inside.pop()
        return found

    def visit_projection(self, node: Node, value: Any) -> list[Any]:
        left, right = node["children"]
        return self._each(_list_of(left), self.need(left, value), right)

    def visit_value_projection(self, node: Node, value: Any) -> list[Any]:
        left, right = node["children"]
        return self._each(f"{_spoken(left)}.*", self.need(left, value).values(), right)

    def visit_filter_projection(self, node: Node, value: Any) -> list[Any]:
        left, right, condition = node["children"]
        return self._each(_list_of(left), self.need(left, value), right, condition)

    def visit_flatten(self, node: Node, value: Any) -> list[Any]:
        self.need(node["children"][0], value)
        found: list[Any] = super().visit_flatten(node, value)
        return found

    def visit_multi_select_list(self, node: Node, value: Any) -> list[Any]:
        return [self.need(child, value) for child in node["children"]]

    def visit_multi_select_dict(self, node: Node, value: Any) -> dict[str, Any]:
        return {child["value"]: self.need(child["children"][0], value) for child in node["children"]}

    def visit_expref(self, node: Node, value: Any) -> Any:
        return _Expression(node["children"][0], self)

    def visit_function_expression(self, node: Node, value: Any) -> Any:
        ask = self.visit if node["value"] in _TAKE_NULL else self.need
        found = self._functions.call_function(node["value"], [ask(child, value) for child in node["children"]])
        if isinstance(found, list) and None in found:
            raise self.lost(node)
        return found
