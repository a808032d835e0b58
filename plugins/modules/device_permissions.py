#!/usr/bin/python
# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: device_permissions
short_description: Say who may open the device files of accelerators
version_added: 0.1.0
description:
  - Gives all device files of makers' devices a group and a mode that last over reboot, reload of the driver and hot
    plug.
  - Where udev makes the files, rules of udev do it, by the PCI device above each file, so that no other maker's files
    and no console's are touched. Where a maker's own programs make them (NVIDIA), options of its kernel module do.
  - The running udev is given the rules at once, and the device files are then looked at. A later run finds a file that
    has another group or mode, and sets it right.
  - For device files that udev does not make, the links in C(/dev/char) are made that keep containers from losing their
    devices at C(systemctl daemon-reload).
  - A group that is not there is created as a system group. What is covered, and what is not, is told in
    U(https://github.com/accelerator-ops/accelerator.ops/blob/main/docs/device-permissions.md).
author:
  - accelerator.ops contributors (@accelerator-ops)
options:
  group:
    description:
      - The group of all these files. It is best a system group, since others are not known when udev starts.
      - Not set, files have the group that is usual for their maker. That is C(render), for C(/dev/dri/card*) and
        NVIDIA's own files C(video), and for Ascend devices C(HwHiAiUser).
    type: str
  mode:
    description:
      - The mode of all these files, octal and in quotes.
    type: str
    default: "0660"
  makers:
    description:
      - The makers whose files these are, by the names that M(accelerator.ops.accelerator_facts) uses.
      - Not set, those whose devices are in the node; where there is none, what is there is left alone. A root without
        C(/sys) does not tell which these are, and then they must be named.
      - An empty list takes away what this module made.
    type: list
    elements: str
  allow_world:
    description: Whether a mode is accepted that lets everybody write.
    type: bool
    default: false
  state:
    description:
      - V(absent) takes away what this module made. Groups stay, since they may have members by then.
    type: str
    choices: [present, absent]
    default: present
extends_documentation_fragment:
  - accelerator.ops.attributes
  - accelerator.ops.attributes.changes
notes:
  - A rule of a human in C(/etc/udev/rules.d) that gives the same files another group or mode is a conflict, with its
    file and line. With O(on_conflict=overwrite) the file stays as it is, and the rules of this module overrule it.
seealso:
  - module: accelerator.ops.accelerator_facts
  - module: accelerator.ops.node_config
  - module: accelerator.ops.generation
"""

EXAMPLES = r"""
- name: Give the device files in the node the groups that are usual
  accelerator.ops.device_permissions:

- name: Let only members of gpu-users open them
  accelerator.ops.device_permissions:
    group: gpu-users

- name: Prepare a golden image for nodes with AMD and NVIDIA devices
  accelerator.ops.device_permissions:
    root: /mnt/image
    makers: [amd, nvidia]
"""

RETURN = r"""
plan:
  description: The steps in order, each with its undo class.
  returned: success
  type: list
  elements: dict
  sample:
    - kind: path
      subject: /etc/udev/rules.d/70-accelerator-ops.rules
      change: create
      undo: exact
      why: groups and modes of device files
    - kind: derived
      subject: udev rules
      change: make again
      undo: derived
      why: rules changed
generation:
  description: The number of the generation; null when nothing has changed, in check mode, and with O(commit=later).
  returned: success
  type: int
  sample: 1
journal:
  description: The journal that is open afterwards, or null.
  returned: success
  type: str
  sample: null
deferred:
  description: What this root cannot have done now.
  returned: success
  type: list
  elements: str
  sample: []
restart:
  description: Services that must be started anew; this module needs none.
  returned: success
  type: list
  elements: dict
  sample: []
reboot_required:
  description: Whether the driver must be loaded anew, or the node boot, before all is in effect.
  returned: success
  type: bool
  sample: true
reboot_reasons:
  description: Why.
  returned: success
  type: list
  elements: str
  sample: [nvidia gives its device files group 0 and mode 0666 until it is loaded anew]
error:
  description: What went wrong, as data.
  returned: failure
  type: dict
  sample:
    code: conflict
    subject: device permissions
    found: MODE=0666 in line 2 of /etc/udev/rules.d/99-mine.rules
    expected: MODE=0660
    next_step: take that line out or wish for the same, or set on_conflict to overwrite
    details: {}
"""

from ansible_collections.accelerator.ops.plugins.module_utils.edge import run_call
from ansible_collections.accelerator.ops.plugins.module_utils.runner import SHARED, change
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.device_permissions import OPTIONS, decide, observe

SPEC = {**SHARED, **OPTIONS}


def main():
    run_call(SPEC, lambda call: change(call, observe, decide))


if __name__ == "__main__":
    main()
