#!/usr/bin/python
# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: container_engine
short_description: Configure container engines for accelerators
version_added: 0.1.0
description:
  - Turns CDI on in the container engines of a node, and where asked sets its folders, NRI with its validator, and
    handlers of runtimes. Knows containerd 1.6 to 2.4 (also that of k3s and rke2), CRI-O, Podman and Docker.
  - Writes a drop-in of its own wherever the engine reads any. What is so already is not written, so that no engine is
    started anew for nothing. Where containerd imports no folder, one entry of C(imports) is added to its root file, and
    nothing else in it is touched. Docker has no drop-ins, so keys of C(daemon.json) are set in place.
  - Up to 1.7 containerd takes a plugin's whole table from the last file that has one. There the drop-in carries the
    table that it stands in for, says whose that is, and follows it at the next run.
  - Where an engine can judge its configuration (C(containerd config dump), C(dockerd --validate)), it does, before and
    after the change and before any restart; what it does not take, or shows otherwise, is taken back.
  - The files of each engine, their rules and what is refused are told in
    U(https://github.com/accelerator-ops/accelerator.ops/blob/main/docs/container-engine.md).
author:
  - accelerator.ops contributors (@accelerator-ops)
options:
  engines:
    description:
      - The engines that are configured, by name, of V(containerd), V(k3s), V(rke2), V(crio), V(podman) and V(docker).
      - Not set, all that are on the node. A containerd that serves Docker alone is then left out.
    type: list
    elements: str
  cdi:
    description:
      - Whether CDI is on. Engines that cannot turn it off (CRI-O, Podman, containerd 2.4 and later) refuse V(false).
    type: bool
    default: true
  cdi_spec_dirs:
    description:
      - The folders with CDI specs, in their order. A later one takes precedence.
      - Not set, they are not managed; every engine has C(/etc/cdi) and C(/var/run/cdi). Empty, the engine's own.
    type: list
    elements: path
  nri:
    description:
      - Whether NRI is on, in containerd and CRI-O; the others are passed over. Not set, it is not managed.
    type: bool
  nri_validator:
    description:
      - Settings of NRI's built-in validator (containerd 2.2 or CRI-O 1.34 and later), such as
        C(reject_oci_hook_adjustment), by containerd's names. Not set, they are not managed.
    type: dict
  runtimes:
    description:
      - Handlers of runtimes by name, each a dictionary of C(binary) (an absolute path), C(type) (the shim; not set,
        that of runc) and C(options) (of that shim).
      - A handler with runc's shim inherits what the node's runc handler has, such as C(SystemdCgroup).
      - Not set, they are not managed. Empty, those that this module added are taken away (not from C(daemon.json)).
    type: dict
  imports:
    description:
      - Whether the root file of containerd may be edited where it imports no folder of drop-ins.
    type: str
    choices: [edit, refuse]
    default: edit
  state:
    description:
      - V(checked) changes nothing, and returns as RV(findings) what has come over the drop-ins of this module since
        they were made, and what the daemons that run show otherwise. The drop-ins remember what was asked, so the other
        options are passed over, but for O(engines). Docker has no drop-in, and is compared with the options.
    type: str
    choices: [present, checked]
    default: present
extends_documentation_fragment:
  - accelerator.ops.attributes
  - accelerator.ops.attributes.changes
notes:
  - This module starts no service anew. RV(restart) says which must be, and whether O(restart) allows it now. A restart
    of containerd (C(KillMode=process)) and CRI-O leaves containers running; one of Docker does with C(live-restore)
    alone. Where it would end them, it is allowed while none runs.
seealso:
  - module: accelerator.ops.node_config
  - module: accelerator.ops.generation
"""

EXAMPLES = r"""
- name: Turn CDI on in all engines of the node
  accelerator.ops.container_engine:

- name: Add a handler that inherits the settings of runc
  accelerator.ops.container_engine:
    engines: [containerd]
    runtimes:
      nvidia:
        binary: /usr/bin/nvidia-container-runtime

- name: Turn NRI on, and keep plugins from adding hooks
  accelerator.ops.container_engine:
    nri: true
    nri_validator:
      enable: true
      reject_oci_hook_adjustment: true

- name: See whether what was asked of the engines still holds
  accelerator.ops.container_engine:
    state: checked
  register: engines
"""

RETURN = r"""
plan:
  description: The steps in order, each with its undo class.
  returned: success
  type: list
  elements: dict
  sample:
    - kind: path
      subject: /etc/containerd/conf.d/90-accelerator-ops.toml
      change: create
      undo: exact
      why: what is asked of containerd
    - kind: path
      subject: /etc/containerd/config.toml
      change: change
      undo: exact
      why: the drop-in is read
findings:
  description:
    - What has come over the drop-ins since they were made (C(drift)), and where a daemon that runs shows something else
      than was asked (C(running), with the service as C(evidence)). What it does not say is V(unknown), with the reason.
  returned: O(state=checked)
  type: list
  elements: dict
  sample:
    - check: drift
      verdict: warn
      subject: /etc/containerd/conf.d/90-accelerator-ops.toml
      reason: "it is not what containerd needs now: the files that it builds on have changed since it was made"
      next_step: make it again with state present
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
  description: Services that must be started anew before the change is in effect.
  returned: success
  type: list
  elements: dict
  sample:
    - service: containerd.service
      reason: containerd reads its configuration at its start
      restart_due: true
      restart_allowed: true
reboot_required:
  description: Whether the node must boot anew; this module never needs it.
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
  description: What went wrong, as data. C(details.masked) names keys that another file would undo.
  returned: failure
  type: dict
  sample:
    code: conflict
    subject: containerd
    found: /etc/containerd/conf.d/99-nvidia.toml is read later and says otherwise of enable_cdi
    expected: a drop-in that is read last
    next_step: take that out of it, or give it a name that is read before 90-accelerator-ops.toml
    details:
      masked:
        /etc/containerd/conf.d/99-nvidia.toml: [enable_cdi]
"""

from ansible_collections.accelerator.ops.plugins.module_utils.edge import run_call
from ansible_collections.accelerator.ops.plugins.module_utils.runner import SHARED, change
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import container_engine

STATE = {"type": "str", "choices": ["present", "checked"], "default": "present"}
SPEC = {**SHARED, **container_engine.OPTIONS, "state": STATE}


def main():
    observe, decide = container_engine.observe, container_engine.decide
    run_call(SPEC, lambda call: container_engine.look(call) or change(call, observe, decide))


if __name__ == "__main__":
    main()
