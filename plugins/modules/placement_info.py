#!/usr/bin/python
# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: placement_info
short_description: Choose accelerators of a node that belong together
version_added: 0.1.0
description:
  - Returns the best sets of a number of devices, with the CPUs, memory nodes and NICs to go with them, and why.
  - A set is better by its fabric first (NVLink, XGMI, scale-up links), then by distance on PCIe, then by NUMA. Equal
    sets come in the order of their ids, so that two runs on an unchanged node answer the same.
  - What is not known makes a set worse and is named in RV(placements[].unknown); nothing is guessed. The rules are in
    U(https://github.com/accelerator-ops/accelerator.ops/blob/main/docs/placement.md).
author:
  - accelerator.ops contributors (@accelerator-ops)
options:
  count:
    description: How many devices to take.
    type: int
    required: true
  devices:
    description:
      - The ids of the devices to choose from, such as the P(accelerator.ops.devices#filter) filter selects.
      - When not set, a set is of devices of one model. Virtual functions are left out, and devices that are a part of
        the processor where there are others.
    type: list
    elements: str
  limit:
    description: How many sets to return at most.
    type: int
    default: 1
extends_documentation_fragment:
  - accelerator.ops.attributes
  - accelerator.ops.attributes.reads
  - accelerator.ops.attributes.looks
seealso:
  - module: accelerator.ops.accelerator_facts
  - plugin: accelerator.ops.devices
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Choose four devices that belong together
  accelerator.ops.placement_info:
    count: 4
  register: chosen

- name: Show which, and why
  ansible.builtin.debug:
    msg: "{{ chosen.placements[0].devices | join(' ') }}: {{ chosen.placements[0].why | join('; ') }}"

- name: The three best pairs among the devices with much memory
  accelerator.ops.placement_info:
    count: 2
    limit: 3
    devices: "{{ ansible_facts.accelerators.devices | accelerator.ops.devices('memory_mib >= `65536`') }}"
"""

RETURN = r"""
placements:
  description: The best sets, best first.
  returned: success
  type: list
  elements: dict
  contains:
    devices:
      description: The ids of the devices.
      type: list
      elements: str
    fabric:
      description: How many pairs are linked by which kinds, with how many links, the fewest of a pair, the most hops.
      type: dict
    distance:
      description: The worst distance on PCIe, and the number of pairs of each kind.
      type: dict
    numa:
      description: The NUMA nodes of the devices, and the greatest distance between two of them.
      type: dict
    cpus:
      description: The CPUs beside the devices, as a cpulist.
      type: str
    memory_nodes:
      description: The NUMA nodes to take memory from.
      type: list
      elements: int
    nics:
      description: The NICs nearest to a device of the set, with their distance and those devices.
      type: list
      elements: dict
    why:
      description: What each rule found, and what makes the set better than the next one.
      type: list
      elements: str
    unknown:
      description: The reason for each value that is not known, under its dotted path.
      type: dict
  sample:
    - devices: ["0000:18:00.0", "0000:2a:00.0"]
      fabric: {kinds: [nvlink], pairs: 1, linked_pairs: 1, links: 18, fewest_links: 18, most_hops: 2}
      distance: {worst: pix, pairs: {pix: 1}, unknown_pairs: 0}
      numa: {nodes: [0], farthest: null}
      cpus: 0-31
      memory_nodes: [0]
      nics: [{id: "0000:19:00.0", distance: pix, devices: ["0000:18:00.0", "0000:2a:00.0"]}]
      why:
        - "fabric: 1 of 1 pairs linked by nvlink, 18 links, at most 2 hops"
        - "distance: 1 pix"
        - "NUMA: 1 node"
        - "as good as the next set: the lower ids come first"
      unknown: {numa.farthest: one NUMA node}
candidates:
  description: The ids of the devices that were chosen from.
  returned: success
  type: list
  elements: str
unknown:
  description: What the facts as a whole do not know of devices, links, distances, NICs and NUMA nodes, and why.
  returned: success
  type: dict
error:
  description: What went wrong, as data.
  returned: failure
  type: dict
  sample:
    code: input
    subject: 8 devices
    found: 4 of one model
    expected: at least 8
    next_step: lower count, or name devices of several models
    details: {devices: 4}
"""

from ansible_collections.accelerator.ops.plugins.module_utils.edge import look, run
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import WISH, seen
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.placement import advise

SPEC = {
    **WISH,
    "count": {"type": "int", "required": True},
    "devices": {"type": "list", "elements": "str"},
    "limit": {"type": "int", "default": 1},
}


def main():
    run(
        SPEC,
        lambda wish: look(
            wish["root"], lambda host: advise(seen(host, wish), wish["count"], wish["devices"], wish["limit"])
        ),
    )


if __name__ == "__main__":
    main()
