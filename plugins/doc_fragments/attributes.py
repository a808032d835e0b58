# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes that the modules of this collection share in their documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """The fragment C(accelerator.ops.attributes), its variant for modules that only read, and the action group."""

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
"""

    FACTS = r"""
options: {}
attributes:
  check_mode:
    support: full
    details: This module only reads.
  diff_mode:
    support: N/A
    details: This module changes nothing.
  facts:
    description: Returns RV(ignore:ansible_facts) that stay with the host for the rest of the play.
    support: full
"""

    OPS = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/accelerator.ops.ops) in C(module_defaults) to set defaults for all modules of this group.
    support: full
    membership:
      - accelerator.ops.ops
"""
