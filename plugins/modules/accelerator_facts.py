#!/usr/bin/python
# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: accelerator_facts
short_description: See the accelerators of a node and what they are wired to
version_added: 0.1.0
description:
  - Returns one document of what is in a node, how it is wired, and what could not be found out and why, for
    accelerators of any maker.
  - Reads sysfs and procfs. It needs no tool of a maker and no root, and changes nothing. As an ordinary user the few
    values that need root are null with that reason.
  - Where a maker's tool is installed, it is asked for what the kernel does not tell, such as links, memory health and
    power limits. One that hangs, fails or prints rubbish costs only the values that it alone tells.
  - A value that was not found is null, and the C(unknown) map beside it says why.
author:
  - accelerator.ops contributors (@accelerator-ops)
options:
  report_dir:
    description:
      - A folder on the control host. The facts, or the error, are also written there as C(facts/HOST.json) for
        M(accelerator.ops.survey_report), in check mode too.
      - Nothing is written when it is not set. While another run of C(ansible-playbook) has the folder, the task fails
        with the code C(busy).
    type: path
extends_documentation_fragment:
  - accelerator.ops.attributes
  - accelerator.ops.attributes.reads
  - accelerator.ops.attributes.looks
  - accelerator.ops.attributes.facts
seealso:
  - module: accelerator.ops.survey_report
"""

EXAMPLES = r"""
- name: See what is in the node
  accelerator.ops.accelerator_facts:

- name: See a machine model that was laid out as a tree
  accelerator.ops.accelerator_facts:
    root: /srv/machines/dgx-h100
"""

RETURN = r"""
ansible_facts:
  description: The facts, below the key C(accelerators).
  returned: success
  type: dict
  contains:
    accelerators:
      description:
        - The document, schema 1. Each section and field is described in
          U(https://github.com/accelerator-ops/accelerator.ops/blob/main/docs/facts.md).
      type: dict
      sample:
        schema: 1
        devices:
          - id: "0000:18:00.0"
            kind: gpu
            maker: nvidia
            model: H100 SXM5 80GB
            numa_node: 0
error:
  description: What went wrong, as data.
  returned: failure
  type: dict
  sample:
    code: input
    subject: root /nowhere
    found: no such folder
    expected: a folder
    next_step: name the root of a node's tree
    details: {}
"""

from ansible_collections.accelerator.ops.plugins.module_utils.edge import look, run
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import WISH, seen

SPEC = {**WISH, "report_dir": {"type": "path"}}


def main():
    run(SPEC, lambda wish: look(wish["root"], lambda host: {"ansible_facts": {"accelerators": seen(host, wish)}}))


if __name__ == "__main__":
    main()
