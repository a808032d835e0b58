#!/usr/bin/python
# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_config
short_description: Prepare a node for its accelerators in one call
version_added: 0.1.0
description:
  - Does what M(accelerator.ops.kernel_config), M(accelerator.ops.device_permissions),
    M(accelerator.ops.container_engine) and M(accelerator.ops.cdi_spec) do, with one look at the node, one plan, one
    journal and one proof. What one part writes never changes what another one decides.
author:
  - accelerator.ops contributors (@accelerator-ops)
options:
  kernel:
    description: The options of M(accelerator.ops.kernel_config); not set, the kernel's settings are not managed.
    type: dict
    suboptions:
      module_options:
        description: Options of kernel modules, by module and parameter.
        type: dict
      blacklist:
        description: Modules that are not to be loaded for a device by themselves.
        type: list
        elements: str
      blacklist_rivals:
        description: Whether modules that take the devices before their maker's own are blacklisted.
        type: str
        choices: [never, auto, always]
        default: never
      blacklist_hard:
        description: Whether blacklisted modules cannot be loaded by name either.
        type: bool
        default: false
      modules_load:
        description: Modules that are loaded at boot.
        type: list
        elements: str
      load_now:
        description: Whether they are loaded now too.
        type: bool
        default: true
      sysctl:
        description: Values of the running kernel, by key.
        type: dict
      hugepages:
        description: Numbers of huge pages, by size.
        type: dict
      hugepages_now:
        description: Whether they are taken now too.
        type: bool
        default: true
      command_line:
        description: Arguments of the kernel.
        type: list
        elements: str
      initramfs:
        description: Whether the initramfs of the next kernel is made again where it depends on a change.
        type: str
        choices: [auto, never]
        default: auto
  permissions:
    description:
      - The options of M(accelerator.ops.device_permissions); not set, device files are not managed.
    type: dict
    suboptions:
      group:
        description: The group of device files; not set, the one that is usual for the maker.
        type: str
      mode:
        description: The mode of device files.
        type: str
        default: "0660"
      makers:
        description: The makers; not set, those that are in the node.
        type: list
        elements: str
      allow_world:
        description: Whether everybody may have access.
        type: bool
        default: false
      state:
        description: Whether the rules are there.
        type: str
        choices: [present, absent]
        default: present
  engines:
    description:
      - The options of M(accelerator.ops.container_engine); not set, container engines are not managed.
    type: dict
    suboptions:
      engines:
        description: The engines by name; not set, all that are on the node.
        type: list
        elements: str
      cdi:
        description: Whether CDI is on.
        type: bool
        default: true
      cdi_spec_dirs:
        description: The folders with CDI specs.
        type: list
        elements: path
      nri:
        description: Whether NRI is on.
        type: bool
      nri_validator:
        description: Settings of the validator of NRI.
        type: dict
      runtimes:
        description: Handlers of runtimes, by name.
        type: dict
      imports:
        description: Whether the root file of containerd may be edited to import the folder of drop-ins.
        type: str
        choices: [edit, refuse]
        default: edit
  cdi:
    description:
      - The options of M(accelerator.ops.cdi_spec); not set, CDI specs are not managed.
    type: dict
    suboptions:
      makers:
        description: The makers; not set, those that are in the node.
        type: list
        elements: str
      directory:
        description: The folder of the specs.
        type: path
        default: /etc/cdi
      source:
        description: Who makes the specs.
        type: str
        choices: [auto, maker, own]
        default: auto
      groups:
        description: Whether the specs name the groups of device files.
        type: bool
        default: false
      state:
        description: Whether the program, its units and the specs are there.
        type: str
        choices: [present, absent]
        default: present
extends_documentation_fragment:
  - accelerator.ops.attributes
  - accelerator.ops.attributes.changes
seealso:
  - module: accelerator.ops.kernel_config
  - module: accelerator.ops.device_permissions
  - module: accelerator.ops.container_engine
  - module: accelerator.ops.cdi_spec
  - module: accelerator.ops.generation
"""

EXAMPLES = r"""
- name: Prepare a node for its devices
  accelerator.ops.node_config:
    kernel:
      blacklist_rivals: auto
      hugepages:
        2M: 1024
    permissions:
      group: render
    engines: {}
    cdi: {}
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
      change: create
      undo: exact
      why: modules that are not to be loaded
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
  description: Services that must be started anew, each with the reason, and whether O(restart) allows it now.
  returned: success
  type: list
  elements: dict
  sample: []
reboot_required:
  description: Whether the node must boot anew before all is in effect.
  returned: success
  type: bool
  sample: true
reboot_reasons:
  description: Why.
  returned: success
  type: list
  elements: str
  sample: [nouveau is loaded]
error:
  description: What went wrong, as data.
  returned: failure
  type: dict
  sample:
    code: busy
    subject: this node
    found: run ctl01 4711-9038 has it since 2026-12-01T05:00:00Z
    expected: no other run
    next_step: "wait for it, or when it is surely over run the module generation with state: released"
    details: {}
"""

from ansible_collections.accelerator.ops.plugins.module_utils import cdi_program
from ansible_collections.accelerator.ops.plugins.module_utils.edge import run_call
from ansible_collections.accelerator.ops.plugins.module_utils.runner import SHARED, change
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.node_config import OPTIONS, decide, observe

SPEC = {**SHARED, **OPTIONS}
SENT_ALONG = (cdi_program,)  # the program on the node is made of what is sent


def main():
    run_call(SPEC, lambda call: change(call, observe, decide))


if __name__ == "__main__":
    main()
