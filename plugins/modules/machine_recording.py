#!/usr/bin/python

# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_recording
short_description: Record a node, to hand it in with a bug report or to try things without it
version_added: 0.1.0
description:
  - Writes one archive of what the facts of a node are read from, and of nothing else. With the archive as
    O(accelerator.ops.accelerator_facts#module:root), M(accelerator.ops.accelerator_facts) returns the same facts as on
    the node.
  - What tells one machine, place or person from another is masked, unless O(mask=false). Look into the archive before
    you hand it on.
  - A recording of the same node in the same state has the same bytes.
author:
  - accelerator.ops contributors (@accelerator-ops)
options:
  dest:
    description:
      - The file to write on the control host, or a folder that is there. In a folder the file is called like the host,
        with C(.tar.gz) behind it.
      - A file that is there is replaced. It can be read by its owner alone. A symbolic link to a file is replaced too,
        and what it points to stays as it is.
    type: path
    required: true
  root:
    description:
      - The tree that stands for the node. A recording can be recorded again, for one to mask it.
    type: path
    default: /
  mask:
    description:
      - Number serials, UUIDs, hardware and network addresses, host and user names, and secrets on the kernel's command
        line, the same one everywhere by the same number.
      - Versions, PCI addresses and ids of makers and models stay.
    type: bool
    default: true
  tool_deadline_seconds:
    description:
      - How long each maker's tool may take, as with M(accelerator.ops.accelerator_facts). What it says is recorded.
    type: float
    default: 10
extends_documentation_fragment:
  - accelerator.ops.attributes
attributes:
  check_mode:
    support: full
    details: The node is read, and no file is written.
  diff_mode:
    support: none
seealso:
  - module: accelerator.ops.accelerator_facts
"""

EXAMPLES = r"""
- name: Record each node into a folder on the control host
  accelerator.ops.machine_recording:
    dest: "{{ playbook_dir }}/recordings/"

- name: See the facts of a recorded node
  accelerator.ops.accelerator_facts:
    root: "{{ playbook_dir }}/recordings/gpu-17.tar.gz"
  delegate_to: localhost

- name: Mask a recording that was made without
  accelerator.ops.machine_recording:
    root: "{{ playbook_dir }}/recordings/gpu-17.tar.gz"
    dest: "{{ playbook_dir }}/recordings/masked.tar.gz"
  delegate_to: localhost
"""

RETURN = r"""
dest:
  description: The path of the archive on the control host.
  returned: success
  type: str
  sample: /home/ops/recordings/gpu-17.tar.gz
size_bytes:
  description: The size of the archive.
  returned: success
  type: int
files:
  description: How many files are in it.
  returned: success
  type: int
commands:
  description: Of how many programs the output is in it.
  returned: success
  type: int
masked:
  description: How many different values of each kind were masked. Null with O(mask=false).
  returned: success
  type: dict
  sample:
    uuid: 8
    mac: 18
    host: 1
left_out:
  description:
    - Files that were left out because nothing can be masked inside of them. What is read from them is unknown in the
      recording.
  returned: success
  type: list
  elements: str
error:
  description: What went wrong, as data.
  returned: failure
  type: dict
"""

from ansible_collections.accelerator.ops.plugins.module_utils.edge import run
from ansible_collections.accelerator.ops.plugins.module_utils.model.call import Outcome
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import WISH
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.recording import record

SPEC = {
    "dest": {"type": "path", "required": True},
    "root": WISH["root"],
    "mask": {"type": "bool", "default": True},
    "tool_deadline_seconds": WISH["tool_deadline_seconds"],
}


def main():
    # The file is written by the action plugin, on the control host.
    run(SPEC, lambda wish: Outcome(False, record(wish["root"], wish["mask"], wish["tool_deadline_seconds"])))


if __name__ == "__main__":
    main()
