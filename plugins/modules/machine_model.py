#!/usr/bin/python

# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_model
short_description: Write a recording down as a machine model
version_added: 0.1.0
description:
  - Makes a YAML file of what a recording of M(accelerator.ops.machine_recording) says of a machine, short enough to
    read and to edit. The inventory plugin P(accelerator.ops.machines#inventory) makes hosts of such files.
  - Laid out again, the model gives the same facts as the recording, but for what makers' tools said. What facts are not
    read from is in no recording, and so in no model of one.
  - Everything happens on the control host; no node is asked.
author:
  - accelerator.ops contributors (@accelerator-ops)
options:
  src:
    description:
      - A recording on the control host, or the root of a tree that stands for a machine. V(/) is the control host
        itself.
    type: path
    required: true
  dest:
    description:
      - The file to write on the control host, or a folder that is there. In a folder the file is called like the model,
        with C(.yml) behind it.
      - A file that is there is replaced. It can be read by its owner alone. A symbolic link to a file is replaced too,
        and what it points to stays as it is.
    type: path
    required: true
  name:
    description:
      - The name of the model.
    type: str
    required: true
extends_documentation_fragment:
  - accelerator.ops.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
seealso:
  - module: accelerator.ops.machine_recording
  - plugin: accelerator.ops.machines
    plugin_type: inventory
"""

EXAMPLES = r"""
- name: Write a recorded node down as a model
  accelerator.ops.machine_model:
    src: "{{ playbook_dir }}/recordings/gpu-17.tar.gz"
    dest: "{{ playbook_dir }}/models/"
    name: our-node
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
dest:
  description: The path of the model on the control host.
  returned: success
  type: str
  sample: /home/ops/models/our-node.yml
functions:
  description: How many PCI functions are in it.
  returned: success
  type: int
error:
  description: What went wrong, as data.
  returned: failure
  type: dict
"""

# The action plugin of the same name does the work, on the control host.
