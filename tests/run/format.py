# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Let ruff mend what it can, in the whole checkout or in the paths named."""

from __future__ import annotations

import subprocess
import sys

import surroundings
from checks import House


def main() -> int:
    """Mend, then format; the status of what is left."""
    surroundings.require_python()
    try:
        program = House().develop().program("ruff")
    except surroundings.SetupError as error:
        print(error)
        return 1
    paths = sys.argv[1:] or ["."]
    left = subprocess.run([program, "check", "--fix", *paths], cwd=surroundings.HERE, check=False).returncode
    return left or subprocess.run([program, "format", *paths], cwd=surroundings.HERE, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
