# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recording as a tree of what it holds, for one who asks more than was asked when it was recorded."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.answer import NOT_RECORDED
from .door import Host


class SparseHost(Host):
    """A door at which a folder that nobody listed shows what is known to be in it."""

    def _names_in(self, place: str) -> Sequence[str]:
        try:
            return super()._names_in(place)
        except OSError as error:
            if self._archive is None or error.strerror != NOT_RECORDED:
                raise
            return self._archive.known_in(place)
