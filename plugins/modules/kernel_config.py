#!/usr/bin/python
# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_config
short_description: Settings of the kernel that accelerators need, so that they last
version_added: 0.1.0
description:
  - Manages options of modules, modules that are not to be loaded, modules that are, values of sysctl, huge pages, and
    arguments of the kernel, in files of its own. What a change makes stale is made again and proven, namely the initial
    RAM disk of the kernel that boots next, and the menu of GRUB.
  - An option that is not set is not managed, and leaves everything as it is. One that is set is the whole of it in the
    collection's own file; an empty one removes that file.
  - Values of the running kernel are set at once where it takes them; RV(reboot_reasons) has the rest.
  - What each option writes, and how the way back to the previous kernel is kept, is in
    U(https://github.com/accelerator-ops/accelerator.ops/blob/main/docs/kernel-config.md).
author:
  - accelerator.ops contributors (@accelerator-ops)
options:
  module_options:
    description:
      - Options of kernel modules, as a dictionary of parameters and values for each module.
      - A boolean becomes C(1) or C(0).
      - A file of C(modprobe.d) that is read later and says otherwise is a conflict.
    type: dict
  blacklist:
    description: Modules that are not to be loaded for a device by themselves. Dashes and underscores are equal.
    type: list
    elements: str
  blacklist_rivals:
    description:
      - Whether modules are blacklisted that take devices before their maker's own driver, such as C(nouveau).
      - V(auto) does so for makers that are in the node and whose own driver is on disk for the kernel that boots next.
      - V(always) does so for every maker, without a look at the devices.
      - Only modules that this kernel has are written. Where devices or modules are not known, nothing is taken away or
        added, and RV(deferred) says so.
    type: str
    choices: [never, auto, always]
    default: never
  blacklist_hard:
    description: Whether blacklisted modules cannot be loaded by name either (C(install NAME /bin/false)).
    type: bool
    default: false
  modules_load:
    description: Modules that are loaded at boot, in this order.
    type: list
    elements: str
  load_now:
    description: Whether those of O(modules_load) that are not loaded are loaded now, with the options given here.
    type: bool
    default: true
  sysctl:
    description:
      - Values of the kernel by key, as in C(sysctl.d). They are also set now.
      - A file that is read later and says otherwise is a conflict.
    type: dict
  hugepages:
    description:
      - Numbers of huge pages by their size, such as C(2M) or C(1G).
      - The default size lasts by C(vm.nr_hugepages), others by the command line of the kernel.
      - RV(restart) then has C(kubelet.service) where it runs, since it reads them only when it starts.
    type: dict
  hugepages_now:
    description:
      - Whether the running kernel is asked for them now. What free memory cannot hold waits for the next boot.
      - Memory in pieces may give the kernel fewer; the task then fails, and everything is as before. With V(false)
        they come with the next boot.
    type: bool
    default: true
  command_line:
    description:
      - Arguments that the kernel is to be started with, such as C(iommu=pt), one in each entry.
      - One that a human's own configuration already gives is left there. Huge pages are given in O(hugepages).
    type: list
    elements: str
  initramfs:
    description:
      - Whether the initial RAM disk of the kernel that boots next is made again after a change of what it holds.
      - Images of other kernels stay as they were.
    type: str
    choices: [auto, never]
    default: auto
extends_documentation_fragment:
  - accelerator.ops.attributes
  - accelerator.ops.attributes.changes
seealso:
  - module: accelerator.ops.node_config
  - module: accelerator.ops.generation
"""

EXAMPLES = r"""
- name: Leave the devices to their maker's driver
  accelerator.ops.kernel_config:
    blacklist_rivals: auto
    module_options:
      nvidia:
        NVreg_EnableStreamMemOPs: 1
  register: kernel

- name: Boot anew where that is needed
  ansible.builtin.reboot:
  when: kernel.reboot_required

- name: Huge pages, the IOMMU out of the way, and no automatic NUMA balancing
  accelerator.ops.kernel_config:
    hugepages:
      2M: 1024
      1G: 16
    command_line: [iommu=pt]
    sysctl:
      kernel.numa_balancing: 0
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
      why: keeps nouveau from loading
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
  description: What could not be decided or done on this root, and why.
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
  sample: ["module nouveau is loaded, and is not to be"]
error:
  description: What went wrong, as data.
  returned: failure
  type: dict
  sample:
    code: conflict
    subject: option modeset of nvidia
    found: "'0' in /etc/modprobe.d/nvidia.conf line 2, which is read after ours"
    expected: "'1'"
    next_step: take it out of that file or out of module_options
    details: {path: /etc/modprobe.d/nvidia.conf, line: 2, found: "0", wished: "1"}
"""

from ansible_collections.accelerator.ops.plugins.module_utils.edge import run_call
from ansible_collections.accelerator.ops.plugins.module_utils.runner import SHARED, change
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.kernel_config import OPTIONS, decide, observe

SPEC = {**SHARED, **OPTIONS}


def main():
    run_call(SPEC, lambda call: change(call, observe, decide))


if __name__ == "__main__":
    main()
