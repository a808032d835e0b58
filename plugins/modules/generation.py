#!/usr/bin/python
# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: generation
short_description: Commit, recover, and roll back what this collection changed on a node
version_added: 0.1.0
description:
  - Every change that this collection makes on a node is journaled there first, below C(/var/lib/accelerator-ops). A
    committed set of changes is a generation; the node can be brought back to each one that is kept.
  - A run that was cut off is taken back by the next call of any changing module, or by O(state=recovered).
author:
  - accelerator.ops contributors (@accelerator-ops)
options:
  state:
    description:
      - V(committed) looks once more at all that this run changed, and makes it a generation.
      - V(recovered) takes back what a run that was cut off left half done, finishes what it had done, and makes again
        what depends on it.
      - V(rolled_back) brings the node to the generation O(to). That is a new generation, and can be rolled back too.
      - V(restarted) starts anew the services that are due and that O(restart) allows, and sees that each runs on.
        Where one does not come up, all that this run changed is taken back (where the change is a generation already,
        that is a rollback to the one before it), the service is started with what it had before, and the error has its
        own last words.
      - V(released) lets the next run have a journal that another run left open. Only a human knows whether that run is
        over when neither its process nor its lease tells.
      - V(pruned) forgets all generations but the newest O(keep), and the contents that only those needed.
      - V(sealed) makes a golden image of O(root), with one generation and no journal or lock in it.
    type: str
    choices: [committed, recovered, rolled_back, restarted, released, pruned, sealed]
    default: committed
  to:
    description:
      - The generation to go to, which O(state=rolled_back) needs; V(0) is the node before the first one.
      - With another state it is an error.
    type: int
  services:
    description:
      - Which of the services that are due O(state=restarted) starts anew. Not set, all of them.
      - With another state it is an error.
    type: list
    elements: str
  keep:
    description: How many generations O(state=pruned) keeps.
    type: int
    default: 20
extends_documentation_fragment:
  - accelerator.ops.attributes
  - accelerator.ops.attributes.changes
notes:
  - Nothing of what this module does is left open, so that O(commit=later) is an error.
seealso:
  - module: accelerator.ops.generation_info
"""

EXAMPLES = r"""
- name: Commit what the tasks before have changed
  accelerator.ops.generation:

- name: Start anew what is due and whose restart stops no workload
  accelerator.ops.generation:
    state: restarted

- name: Bring the node back to generation 3
  accelerator.ops.generation:
    state: rolled_back
    to: 3
"""

RETURN = r"""
plan:
  description: The steps in order, each with its undo class.
  returned: success
  type: list
  elements: dict
  sample:
    - kind: path
      subject: /etc/modprobe.d/accelerator-ops-blacklist.conf
      change: remove
      undo: exact
      why: as it was then
generation:
  description: The number of the generation that was made; null when nothing has changed, and in check mode.
  returned: success
  type: int
  sample: 4
journal:
  description: The journal that is open afterwards, or null.
  returned: success
  type: str
  sample: null
taken_back:
  description: What was put back of a run that was cut off.
  returned: O(state=recovered)
  type: list
  elements: str
  sample: [/etc/modprobe.d/accelerator-ops-blacklist.conf]
pruned:
  description: The generations that were forgotten.
  returned: O(state=pruned)
  type: list
  elements: int
  sample: [1, 2]
deferred:
  description: What this root cannot have done now.
  returned: success
  type: list
  elements: str
  sample: []
restart:
  description: Services that must be started anew, each with the reason, and whether O(restart) allows it now.
  returned: success
  type: list
  elements: dict
  sample: []
reboot_required:
  description: Whether the node must boot anew before all is in effect.
  returned: success
  type: bool
  sample: false
reboot_reasons:
  description: Why.
  returned: success
  type: list
  elements: str
  sample: []
error:
  description: What went wrong, as data.
  returned: failure
  type: dict
  sample:
    code: conflict
    subject: /etc/modprobe.d/accelerator-ops-blacklist.conf
    found: file 0644 0:0 sha256 5891b5b522d5
    expected: absent (as before)
    next_step: "look at it, then say on_conflict: overwrite (it is kept in the generation) or keep"
    details: {}
"""

from ansible_collections.accelerator.ops.plugins.module_utils import runner
from ansible_collections.accelerator.ops.plugins.module_utils.edge import run_call
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.generation import sensible

STATES = {
    "committed": runner.committed,
    "recovered": runner.recovered,
    "rolled_back": runner.rolled_back,
    "restarted": runner.restarted,
    "released": runner.released,
    "pruned": runner.pruned,
    "sealed": runner.sealed,
}
SPEC = {
    **runner.SHARED,
    "state": {"type": "str", "choices": list(STATES), "default": "committed"},
    "to": {"type": "int"},
    "services": {"type": "list", "elements": "str"},
    "keep": {"type": "int", "default": 20},
}


def main():
    run_call(SPEC, lambda call: STATES[call.wish["state"]](sensible(call)))


if __name__ == "__main__":
    main()
