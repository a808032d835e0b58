# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lay a machine model out in a new or empty folder: ``python tests/machines/lay_out.py NAME_OR_PATH FOLDER``.

Needs the checkout on the path as ``ansible_collections/accelerator/ops`` (see docs/machine-models.md).
"""

from __future__ import annotations

import sys

from ansible_collections.accelerator.ops.plugins.module_utils.host import tree
from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import OpsError
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models


def main(arguments: list[str]) -> int:
    """Exit code 0, 1 with one line for a model or a folder that cannot be used, 2 for a wrong call."""
    if len(arguments) != 2:
        print(f"usage: lay_out.py MODEL FOLDER\nmodels: {', '.join(machine_models.shipped())}", file=sys.stderr)
        return 2
    try:
        machine = machine_models.load(machine_models.find(arguments[0]))
        entries = layout.entries(machine)
        tree.write(arguments[1], entries)
    except OpsError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{machine.heading.name}: {len(machine.functions)} PCI functions, {len(entries)} entries in {arguments[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
