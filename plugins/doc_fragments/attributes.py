# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules of this collection share in their documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """The fragment C(accelerator.ops.attributes), and its variants for modules that only read and for facts."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying the target.
  diff_mode:
    description: Returns details on what has changed, or would change in C(check_mode), when in diff mode.
  platform:
    description: The operating systems that the module can run against.
    platforms: posix
    support: full
  action_group:
    description: Use C(group/accelerator.ops.ops) in C(module_defaults) to set defaults for all modules of this group.
    support: full
    membership:
      - accelerator.ops.ops
"""

    READS = r"""
options:
  root:
    description:
      - The tree that stands for the node, such as a machine model laid out, a recording, or a mounted disk.
      - With another root than V(/) nothing is asked of the running kernel.
    type: path
    default: /
attributes:
  check_mode:
    support: full
    details: This module only reads.
  diff_mode:
    support: N/A
    details: This module changes nothing.
"""

    LOOKS = r"""
options:
  tools:
    description:
      - Whether makers' tools are asked. V(auto) asks those that are installed, of makers that are in the node.
      - Of another root than V(/) none is asked; a recording answers with what its tools said.
    type: str
    choices: [auto, none]
    default: auto
  tool_deadline_seconds:
    description:
      - How long each tool may take. It is then stopped with all its children, and its values are null with that reason.
    type: float
    default: 10
"""

    FACTS = r"""
options: {}
attributes:
  facts:
    description: Returns RV(ignore:ansible_facts) that stay with the host for the rest of the play.
    support: full
"""
