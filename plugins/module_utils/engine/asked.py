# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of an engine, and how our own files remember it.

A file of ours says in one comment what it was made for. So a later call that does not manage an aspect leaves that
aspect as it is, and whoever looks can tell whether the file is still what it would be made to be.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Optional

from ..model.plan import Found, owned
from .values import EACH, LIST, TRUTH, unfit

OWNED = owned("container_engine")
_ASKED = "# asked: "
_FORM = {"cdi": TRUTH, "cdi_spec_dirs": LIST, "nri": TRUTH, "nri_validator": {}, "runtimes": {EACH: {}}}

VALIDATOR_KEYS = (
    "enable",
    "reject_oci_hook_adjustment",
    "reject_runtime_default_seccomp_adjustment",
    "reject_unconfined_seccomp_adjustment",
    "reject_custom_seccomp_adjustment",
    "reject_namespace_adjustment",
    "reject_sysctl_adjustment",
    "required_plugins",
    "tolerate_missing_plugins_annotation",
)
"""The settings of NRI's built-in validator, by containerd's names (NRI 0.12, read 2026-12)."""


class Asked(NamedTuple):
    """What is wanted of an engine; None: not managed.

    ``runtimes`` are handlers by name, each with ``binary``, ``type`` and ``options`` (those that are given).
    """

    cdi: Optional[bool] = None
    cdi_spec_dirs: Optional[tuple[str, ...]] = None
    nri: Optional[bool] = None
    nri_validator: Optional[Mapping[str, Any]] = None
    runtimes: Optional[Mapping[str, Mapping[str, Any]]] = None

    def over(self, earlier: Asked) -> Asked:
        """This, and where it does not manage something what was asked earlier."""
        said = {name: value for name, value in self._asdict().items() if value is not None}
        return earlier._replace(**said)


def comments(asked: Asked, more: Iterable[str] = ()) -> str:
    """The comments that a file of ours begins with."""
    said = {name: value for name, value in asked._asdict().items() if value is not None}
    lines = [_ASKED + json.dumps(said, sort_keys=True), *(f"# {line}" for line in more)]
    return OWNED + "".join(f"{line}\n" for line in lines)


def remembered(ours: Found) -> Asked:
    """What a file of ours was made for; nothing where the file or its comment is not there, or was spoilt."""
    text = ours.content.decode("utf-8", "replace")
    line = next((line for line in text.splitlines() if line.startswith(_ASKED)), "")
    try:
        said = json.loads(line[len(_ASKED) :]) if line else {}
    except (ValueError, RecursionError):
        return Asked()
    if unfit(said, _FORM) is not None or not set(said) <= set(_FORM):
        return Asked()
    folders = said.get("cdi_spec_dirs")
    return Asked(**{**said, "cdi_spec_dirs": None if folders is None else tuple(folders)})
