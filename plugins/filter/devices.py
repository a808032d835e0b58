# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter that selects devices of the facts; all it does stands in ``plugin_utils/selection.py``."""

from __future__ import annotations

DOCUMENTATION = r"""
name: devices
short_description: Select devices of the facts by a JMESPath expression
version_added: 0.1.0
description:
  - Returns the ids of the devices that an expression is true for, in the order of the facts, for options such as
    O(accelerator.ops.placement_info#module:devices).
  - Plain JMESPath drops or keeps a device in silence where a field is misspelt or its value unknown. Here an unknown
    field, a comparison of text with a number, and a needed value that is null each end in one line that says which.
  - Parts are looked at from the left. What cannot change the answer any more is not looked at, so that
    C(maker == 'amd' && memory_mib >= `65536`) does not ask devices of other makers for their memory.
  - To ask whether a value is known, compare it with V(`null`).
author:
  - accelerator.ops contributors (@accelerator-ops)
requirements:
  - jmespath on the control host
positional: expression
options:
  _input:
    description: The devices, as in RV(accelerator.ops.accelerator_facts#module:ansible_facts.accelerators).
    type: list
    elements: dict
    required: true
  expression:
    description:
      - A JMESPath expression over one device. C(firmware) and C(unknown) have the keys that a device has. The
        fields are described in U(https://github.com/accelerator-ops/accelerator.ops/blob/main/docs/facts.md).
      - Text stands in single quotes, a number in backticks.
    type: str
    required: true
  unknown:
    description: What to do with a device whose answer hangs on a value that is not known.
    type: str
    choices:
      error: Fail, with the device, the field and the reason.
      exclude: Leave the device out.
    default: error
  rows:
    description: Return the whole devices and not their ids.
    type: bool
    default: false
seealso:
  - module: accelerator.ops.accelerator_facts
  - module: accelerator.ops.placement_info
"""

EXAMPLES = r"""
- name: Devices of one maker with much memory
  ansible.builtin.set_fact:
    large: "{{ ansible_facts.accelerators.devices
      | accelerator.ops.devices(\"maker == 'amd' && memory_mib >= `65536`\") }}"

- name: Devices on NUMA node 0, without those whose node is not known
  ansible.builtin.debug:
    msg: "{{ ansible_facts.accelerators.devices | accelerator.ops.devices('numa_node == `0`', unknown='exclude') }}"

- name: Models of the devices that have no driver
  ansible.builtin.debug:
    msg: "{{ ansible_facts.accelerators.devices | accelerator.ops.devices('driver.name == `null`', rows=true)
      | map(attribute='model') | unique }}"
"""

RETURN = r"""
_value:
  description: The ids of the selected devices, or with O(rows=true) the devices.
  type: list
  elements: raw
"""

from ansible.errors import AnsibleFilterError

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import OpsError
from ansible_collections.accelerator.ops.plugins.plugin_utils.selection import select


def devices(value, expression, unknown="error", rows=False):
    """The filter: a typed error becomes Ansible's own kind, with the same line."""
    try:
        return select(value, expression, unknown, rows)
    except OpsError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """How Ansible finds the filter."""

    def filters(self):
        return {"devices": devices}
