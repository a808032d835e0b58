#!/usr/bin/python
# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: generation_info
short_description: See what this collection changed on a node, and what a rollback would do now
version_added: 0.1.0
description:
  - Returns the generations that are kept, what each changed, what is still due, and the way back to one of them as it
    would be now.
  - What a human or another tool changed since is found and named. Nothing is changed.
author:
  - accelerator.ops contributors (@accelerator-ops)
options:
  to:
    description: Also tell what a rollback to this generation would do now.
    type: int
extends_documentation_fragment:
  - accelerator.ops.attributes
  - accelerator.ops.attributes.reads
seealso:
  - module: accelerator.ops.generation
"""

EXAMPLES = r"""
- name: See what a rollback to the state before the first generation would do
  accelerator.ops.generation_info:
    to: 0
"""

RETURN = r"""
current:
  description: The newest generation, 0 before the first.
  returned: success
  type: int
  sample: 3
generations:
  description: The generations that are kept, oldest first, with what each changed in all.
  returned: success
  type: list
  elements: dict
  sample:
    - generation: 1
      at: "2026-12-01T05:00:00Z"
      run: ctl01 4711-9038
      modules: [kernel_config]
      changes:
        - subject: /etc/modprobe.d/accelerator-ops-blacklist.conf
          before: absent
          after: file 0644 0:0 sha256 5891b5b522d5
journal:
  description: The open journal, or null. C(is_cut_off) tells whether a crash left it half done.
  returned: success
  type: dict
  sample: null
due:
  description: What must still be made again or started anew.
  returned: success
  type: list
  elements: dict
  sample: []
changed_since:
  description: Things of ours that somebody changed since, with what is there now.
  returned: success
  type: list
  elements: dict
  sample: []
rollback:
  description: What a rollback to O(to) would do now, null when O(to) is not set.
  returned: success
  type: dict
  sample:
    to: 0
    plan: []
    conflicts: []
error:
  description: What went wrong, as data.
  returned: failure
  type: dict
  sample:
    code: recovery
    subject: the state in /var/lib/accelerator-ops
    found: "generations/2/manifest.json: its checksum does not fit its content"
    expected: what was written there
    next_step: restore /var/lib/accelerator-ops from a backup
    details: {}
"""

from ansible_collections.accelerator.ops.plugins.module_utils.edge import look, run
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.generation_info import observe

SPEC = {"root": {"type": "path", "default": "/"}, "to": {"type": "int"}}


def main():
    run(SPEC, lambda wish: look(wish["root"], lambda host: observe(host, wish["to"])))


if __name__ == "__main__":
    main()
