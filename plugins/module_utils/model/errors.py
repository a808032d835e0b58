# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The typed errors of the house. Raised anywhere below the edge, turned into a result once, at the edge."""

from __future__ import annotations

from collections.abc import Sequence


class OpsError(Exception):
    """One line for a human, and the same as data.

    The line reads ``cannot <verb> <subject>: <found>, expected <expected>; <next_step>``.
    """

    code = "input"

    def __init__(
        self,
        verb: str,
        subject: str,
        found: str,
        expected: str,
        next_step: str,
        details: dict[str, object] | None = None,
    ) -> None:
        line = f"cannot {verb} {subject}: {found}, expected {expected}; {next_step}"
        super().__init__(" ".join(line.splitlines()))  # what was found may hold line ends
        self.subject = subject
        self.found = found
        self.expected = expected
        self.next_step = next_step
        self.details = details or {}

    def as_dict(self) -> dict[str, object]:
        """The ``error`` key of a failed result (stable code, see docs/generations.md)."""
        return {
            "code": self.code,
            "subject": self.subject,
            "found": self.found,
            "expected": self.expected,
            "next_step": self.next_step,
            "details": self.details,
        }


class InputError(OpsError):
    """What the user gave cannot be used."""

    code = "input"


class ProbeError(OpsError):
    """The node could not be looked at."""

    code = "probe"


class BusyError(OpsError):
    """Another run has what is asked for; ``details`` say whose it is and since when."""

    code = "busy"


class UnsupportedError(OpsError):
    """This node has not what the change needs."""

    code = "unsupported"


class ConflictError(OpsError):
    """Something is there that belongs to a human or to another tool; ``details`` name both versions."""

    code = "conflict"


class ApplyError(OpsError):
    """A step could not be done; ``details`` say what was changed, and in which journal."""

    code = "apply"


class VerifyError(OpsError):
    """What was done cannot be seen on the node."""

    code = "verify"


class RecoveryError(OpsError):
    """The state of earlier runs on the node is damaged, or cannot be put back by itself."""

    code = "recovery"


def joined(errors: Sequence[OpsError]) -> OpsError:
    """One error of several (at least one), of the kind of the first.

    ``details.blockers`` has each of them, ``details.conflicts`` the files of others that any of them names. One alone
    keeps its own line.
    """
    first = errors[0]
    details: dict[str, object] = {"blockers": [{"message": str(one), **one.as_dict()} for one in errors]}
    conflicts: dict[str, object] = {}
    for one in errors:
        named = one.details.get("conflicts")
        conflicts.update(named if isinstance(named, dict) else {})
    if conflicts:
        details["conflicts"] = conflicts
    if len(errors) == 1:
        first.details = {**first.details, **details}
        return first
    lines = " ".join(f"({number}) {one}" for number, one in enumerate(errors, 1))
    found = f"{len(errors)} things stand in the way"
    return type(first)("change", "this node", found, "none", f"mend all of them: {lines}", details)
