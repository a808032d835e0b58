# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of an engine's files, which may be of any type: a human wrote them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

EACH = "*"
"""In a form: every key of a table."""


def table_at(whole: Any, key: str) -> Mapping[str, Any]:
    """The table of a name, empty where there is none."""
    found = whole.get(key) if isinstance(whole, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def texts(value: Any) -> Optional[tuple[str, ...]]:
    """A list of texts; None for anything else."""
    is_list = isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)
    return tuple(value) if is_list else None


LIST = ("a list of texts", lambda value: texts(value) is not None)
TRUTH = ("true or false", lambda value: isinstance(value, bool))


def unfit(value: Any, form: Any, key: str = "") -> Optional[str]:
    """What is wrong with the first value that has not its form; None where all have. Null is as good as nothing.

    A form is a table of forms by key, or a pair: what is expected, and whether a value is that.
    """
    if value is None:
        return None
    if not isinstance(form, Mapping):
        expected, is_fit = form
        return None if is_fit(value) else f"{key} is {value!r}, and not {expected}"[:300]
    if not isinstance(value, Mapping):
        return f"{key} is {value!r}, and not a table"[:300]
    for name, below in value.items():
        wanted = form.get(name, form.get(EACH))
        found = unfit(below, wanted, f"{key}.{name}".lstrip(".")) if wanted is not None else None
        if found is not None:
            return found
    return None
