# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Derived things that cannot be made: the node is as before, no journal stays open, and nobody else is in their way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Optional

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import OpsError
from ansible_collections.accelerator.ops.tests.crash import bench, cases, driver, kernel_calls
from ansible_collections.accelerator.ops.tests.crash.bench import RECOVER, Bench
from ansible_collections.accelerator.ops.tests.crash.node import DERIVE, Failed, program

_MAKES = DERIVE.replace("IMAGE", "/boot/derived")
_FAILS = "#!/bin/sh\necho 'a note' >&2\necho 'no space left' >&2\nexit 3\n"
_SAYS = "cannot make derived: no space left, expected exit status 0; mend that and run again"
_DERIVED = {"derived": [cases.PROGRAM, "/srv/derive"]}
_CHANGE = cases.files({cases.A: "two\n", cases.B: "b\n"}, derived=_DERIVED)
_LINE = cases.files({"/etc/other.conf": "other\n"})
_ALONE = cases.files({cases.A: "one\n"}, alone={"derived": ["/srv/derive"]})


@pytest.fixture
def of() -> Iterator[Bench]:
    """A live node with one generation, on which the derived file cannot be made any more."""
    case = cases.EVERYTHING._replace(earlier=(cases.files({cases.A: "one\n"}, derived=_DERIVED),), calls=(_CHANGE,))
    with bench.bench(case) as made:
        program(made.node.root / "srv/derive", _FAILS)
        yield made


def error_of(of: Bench, row: Mapping[str, Any]) -> Optional[dict[str, Any]]:
    """The error of a call on the node, None where it has none."""
    (request,) = of.asked([row])

    def work() -> Optional[dict[str, Any]]:
        try:
            driver.perform(request)
        except OpsError as error:
            return {**error.as_dict(), "line": str(error)}
        return None

    told: Optional[dict[str, Any]] = of.node.inside(work)
    return told


def test_what_cannot_be_made_before_and_after_is_due_and_in_nobodys_way(of: Bench) -> None:
    before = of.node.listing()
    error = error_of(of, _CHANGE)
    assert error is not None
    assert (error["code"], error["line"]) == ("apply", _SAYS)
    assert (error["details"]["left"], error["details"]["due"]) == ("as before", ["derived"])
    assert of.node.listing() == before
    told = of.do([])
    assert (told["journal"], told["due"], told["current"]) == (None, ["derived"], 1)
    assert error_of(of, _LINE) is None
    again = error_of(of, _CHANGE)
    assert again is not None and again["line"] == _SAYS
    recovery = error_of(of, RECOVER)
    assert recovery is not None and recovery["line"] == _SAYS
    assert error_of(of, {"do": "committed", "wish": {}}) is None
    assert of.do([])["due"] == ["derived"]


def test_what_can_be_made_again_is_not_due_any_more(of: Bench) -> None:
    assert error_of(of, _CHANGE) is not None
    program(of.node.root / "srv/derive", _MAKES)
    told = of.do([RECOVER])
    assert (told["due"], of.node.is_derived_fresh()) == ([], True)
    assert error_of(of, _CHANGE) is None
    assert of.node.is_derived_fresh()


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (_FAILS, "apply", _SAYS),
        (
            "#!/bin/sh\necho wrong > /boot/derived\n",
            "verify",
            f"cannot prove derived: {cases.A} is not in it, expected",
        ),
    ],
)
def test_where_nothing_else_was_to_be_done_nothing_is_due(of: Bench, text: str, code: str, says: str) -> None:
    program(of.node.root / "srv/derive", text)
    before = of.node.listing()
    error = error_of(of, _ALONE)
    assert error is not None
    assert error["code"] == code
    assert error["line"].startswith(says)
    assert (error["details"]["left"], error["details"]["due"]) == ("as before", [])
    assert error["details"]["words"]
    assert of.node.listing() == before
    assert of.do([RECOVER])["journal"] is None
    assert error_of(of, _LINE) is None


def test_what_a_run_that_was_cut_off_left_stale_and_cannot_be_made_is_in_nobodys_way(of: Bench) -> None:
    program(of.node.root / "srv/derive", _MAKES)
    before = of.node.listing()
    (of.node.root / "run/kill-derive").write_text("before")
    assert kernel_calls.cut(of.node.base, of.requests)
    program(of.node.root / "srv/derive", _FAILS)
    assert error_of(of, {**_LINE, "wish": {**_LINE["wish"], "files": {}, "dead_run": bench.RUN}}) is None
    program(of.node.root / "srv/derive", _MAKES)
    assert of.node.listing() == before
    assert of.do([])["due"] == ["derived"]
    assert of.do([RECOVER])["due"] == []


def test_steps_that_cannot_be_taken_back_are_a_recovery_that_names_them(of: Bench) -> None:
    human = f"#!/bin/sh\necho his > {cases.B}\necho 'no space left' >&2\nexit 3\n"
    program(of.node.root / "srv/derive", human)
    error = error_of(of, _CHANGE)
    assert error is not None
    assert (error["code"], error["subject"], error["details"]["left"]) == ("recovery", cases.B, "half done")
    assert error["line"].startswith(f"cannot take back {cases.B}: file 0644 0:0 sha256")
    with pytest.raises(Failed, match=cases.B):
        of.do([_LINE])


@pytest.mark.parametrize("module", ["node_config", "cdi_spec"])
def test_a_read_only_folder_of_specs_leaves_the_node_as_before(module: str) -> None:
    case = next(one for one in cases.FIRST_PREPARE if "amd" in one.name)
    with bench.bench(case._replace(calls=())) as of:
        of.node.mount_at("/etc/cdi", "-t", "tmpfs", "-o", "ro", "none")
        before = of.node.listing()
        wish = case.calls[0]["wish"] if module == "node_config" else {}
        with pytest.raises(Failed) as caught:
            of.do([{"do": "change", "module": module, "wish": wish}])
        says = "write in /etc/cdi: a read-only file system" if module == "node_config" else "make CDI specs: "
        assert f"cannot {says}" in str(caught.value)
        assert "Read-only file system" in str(caught.value) or module == "node_config"
        assert "/bin/sh" not in str(caught.value)
        assert of.node.listing() == before
        assert of.do([])["journal"] is None
        of.do([{"do": "change", "module": "container_engine", "wish": {}}])
        assert of.node.listing() != before
