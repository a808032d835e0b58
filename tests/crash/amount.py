# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much the crash tests try, and by which chance."""

from __future__ import annotations

import os
import time
from typing import Optional

IS_WHOLE = os.environ.get("ACCELERATOR_OPS_WHOLE") == "1"
SEED = int(os.environ.get("ACCELERATOR_OPS_SEED") or time.time_ns() % 1_000_000)
os.environ["ACCELERATOR_OPS_SEED"] = str(SEED)  # all processes of pytest-xdist have the same


def part(count: int) -> Optional[int]:
    """So many of something, or all of it (None) where the whole is asked for."""
    return None if IS_WHOLE else count
