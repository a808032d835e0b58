#!/usr/bin/python
# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cdi_spec
short_description: Give accelerators to containers by CDI specs that stay right
version_added: 0.1.0
description:
  - Makes one spec file of the Container Device Interface for each maker whose devices are in the node, with every
    device and every partition under its stable name, its PCI address and its index, and V(all).
  - A program on the node makes the specs, and this module writes it. It needs Python 3.9 and nothing else, and runs in
    the play, at each boot and when a driver, its libraries or a maker's generator change.
  - Where a maker's generator is installed, it makes the spec with its hooks, and names that it does not give are added.
  - A spec has the lowest C(cdiVersion) that its fields need. Where an engine on the node accepts less, the module fails
    before it changes anything.
  - What is in a spec of each maker, and what is not, is told in
    U(https://github.com/accelerator-ops/accelerator.ops/blob/main/docs/cdi.md).
author:
  - accelerator.ops contributors (@accelerator-ops)
options:
  makers:
    description:
      - The makers of the devices, by the names that M(accelerator.ops.accelerator_facts) uses.
      - Not set, all makers that are in the node and whose kinds are known. One whose kind is not known gets no spec.
      - Specs that this module made for other makers are removed.
    type: list
    elements: str
  directory:
    description:
      - The folder of the specs, an absolute path without C(.) and C(..), outside of C(/dev), C(/proc) and C(/sys).
        Engines look into C(/etc/cdi) and C(/var/run/cdi) by themselves.
      - What the program made in another folder before is removed.
    type: path
    default: /etc/cdi
  source:
    description:
      - Who makes a spec. V(maker) is the maker's generator (C(nvidia-ctk), C(amd-ctk)), and an error where it is not
        installed; V(own) is this collection; V(auto) is the generator where it is installed.
    type: str
    choices: [auto, maker, own]
    default: auto
  groups:
    description:
      - Whether specs of our own name the groups that may open the device files (C(additionalGids)). This needs
        C(cdiVersion) 0.7.0, which many engines do not accept.
      - Without it, engines that run as root give a device file to the user that the container starts as, and a rootless
        Podman keeps the user's own groups with C(--group-add keep-groups).
    type: bool
    default: false
  state:
    description:
      - V(absent) removes the program, its units, and the specs that the program made, with a folder that it made for
        them where it is empty.
      - V(checked) changes nothing, and returns what is wrong with all specs on the node, whoever made them, as
        RV(findings).
    type: str
    choices: [present, absent, checked]
    default: present
extends_documentation_fragment:
  - accelerator.ops.attributes
  - accelerator.ops.attributes.changes
notes:
  - Another file with the same kind is a conflict, whoever made it, since a name that is in two files resolves to
    nothing, or to the other one. So is another tool that makes a maker's specs on this node, such as
    C(nvidia-cdi-refresh) or the NVIDIA GPU Operator. The error names it and its own switch. To keep
    theirs, leave the maker out of O(makers).
  - A file in the place of a spec that the program did not make, or that somebody edited, is a conflict whatever
    O(on_conflict) says, and nothing overwrites or removes it.
  - In another root than V(/) only the program and its units are written, where it has a Python from 3.9 on
    (C(/usr/bin/python3) leads to a C(python3.N)). The specs make themselves at the first boot.
seealso:
  - module: accelerator.ops.accelerator_facts
  - module: accelerator.ops.device_permissions
  - module: accelerator.ops.generation
"""

EXAMPLES = r"""
- name: Give all devices to containers
  accelerator.ops.cdi_spec:

- name: Make specs without the makers' generators, for NVIDIA only
  accelerator.ops.cdi_spec:
    makers: [nvidia]
    source: own

- name: See whether the specs are right
  accelerator.ops.cdi_spec:
    state: checked
  register: specs

- name: Let a golden image make its specs at first boot
  accelerator.ops.cdi_spec:
    root: /mnt/image
"""

RETURN = r"""
plan:
  description: The steps in order, each with its undo class.
  returned: success
  type: list
  elements: dict
  sample:
    - kind: path
      subject: /usr/local/lib/accelerator-ops/cdi.pyz
      change: create
      undo: exact
      why: makes the CDI specs, at boot too
    - kind: derived
      subject: CDI specs
      change: make again
      undo: derived
      why: /etc/cdi/accelerator-nvidia.json is not there
findings:
  description:
    - What is wrong with the specs, whoever made them, and what stands in the way of ours.
    - V(fail) is wrong now, V(warn) may be, V(info) is told only, V(unknown) could not be judged.
  returned: O(state=checked)
  type: list
  elements: dict
  sample:
    - check: spec
      verdict: fail
      subject: CDI specs
      reason: /etc/cdi/accelerator-nvidia.json is not what the devices are now
      next_step: make them again with state present
      evidence: []
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
  description: Services that must be started anew; this module needs none, since engines read specs when they are used.
  returned: success
  type: list
  elements: dict
  sample: []
reboot_required:
  description: Always false.
  returned: success
  type: bool
  sample: false
reboot_reasons:
  description: Always empty.
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
    subject: the CDI spec of nvidia
    found: the NVIDIA GPU Operator makes it here (seen at /run/nvidia/driver/usr/bin)
    expected: one owner
    next_step: "leave nvidia out of makers, or turn that off (toolkit.enabled: false and cdi.enabled: false)"
    details:
      owner: the NVIDIA GPU Operator
"""

from ansible_collections.accelerator.ops.plugins.module_utils import cdi_program
from ansible_collections.accelerator.ops.plugins.module_utils.edge import run_call
from ansible_collections.accelerator.ops.plugins.module_utils.runner import SHARED, change
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.cdi import OPTIONS, decide, look, observe

SPEC = {**SHARED, **OPTIONS}
SENT_ALONG = (cdi_program,)  # the use case writes its source on the node


def main():
    run_call(SPEC, lambda call: look(call) or change(call, observe, decide))


if __name__ == "__main__":
    main()
