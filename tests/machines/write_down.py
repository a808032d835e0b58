# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write a tree, a recording or the machine at hand down as a model: ``python tests/machines/write_down.py ROOT NAME``.

Needs the checkout on the path as ``ansible_collections/accelerator/ops`` (see docs/machine-models.md).
"""

from __future__ import annotations

import sys

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import OpsError
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models


def main(arguments: list[str]) -> int:
    """Exit code 0, 1 with one line for a tree that cannot be written down, 2 for a wrong call."""
    if len(arguments) != 2:
        print("usage: write_down.py ROOT NAME", file=sys.stderr)
        return 2
    try:
        text = machine_models.written_down(*arguments)
    except OpsError as error:
        print(error, file=sys.stderr)
        return 1
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
