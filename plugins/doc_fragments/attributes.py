# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules of this collection share in their documentation."""

from __future__ import annotations


class ModuleDocFragment:
    """The fragment C(accelerator.ops.attributes), and its variants for modules that only read and for facts."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying the target.
  diff_mode:
    description: Returns details on what has changed, or would change in C(check_mode), when in diff mode.
  platform:
    description: The operating systems that the module can run against.
    platforms: posix
    support: full
  action_group:
    description: Use C(group/accelerator.ops.ops) in C(module_defaults) to set defaults for all modules of this group.
    support: full
    membership:
      - accelerator.ops.ops
"""

    READS = r"""
options:
  root:
    description:
      - The tree that stands for the node, such as a machine model laid out, a recording, or a mounted disk.
      - With another root than V(/) nothing is asked of the running kernel.
      - Where it is not set and the host has the variable C(accelerator_root), that is taken.
    type: path
    default: /
attributes:
  check_mode:
    support: full
    details: This module only reads.
  diff_mode:
    support: N/A
    details: This module changes nothing.
"""

    LOOKS = r"""
options:
  tools:
    description:
      - Whether makers' tools are asked. V(auto) asks those that are installed, of makers that are in the node.
        Container engines and the kubelet are asked for their versions then, too.
      - Of another root than V(/) none is asked; a recording answers with what its tools said.
    type: str
    choices: [auto, none]
    default: auto
  tool_deadline_seconds:
    description:
      - How long each tool may take. It is then stopped with all its children, and its values are null with that reason.
    type: float
    default: 10
"""

    FACTS = r"""
options: {}
attributes:
  facts:
    description: Returns RV(ignore:ansible_facts) that stay with the host for the rest of the play.
    support: full
"""

    CHANGES = r"""
options:
  root:
    description:
      - The tree that stands for the node, such as a chroot of a golden image, a mounted disk, or a machine model laid
        out. With another root than V(/) only files are changed; what needs the running kernel is listed as C(deferred).
      - Where it is not set and the host has the variable C(accelerator_root), that is taken.
    type: path
    default: /
  commit:
    description:
      - V(now) makes what the task changed a generation at once.
      - V(later) leaves it in the open journal of the run, for other tasks of it to join, until
        M(accelerator.ops.generation) commits it.
    type: str
    choices: [now, later]
    default: now
  on_conflict:
    description:
      - What happens where a file is there that a human or another tool made or changed.
      - V(refuse) fails before anything is changed, and names both versions. V(overwrite) replaces the file, and keeps
        it in the generation. V(keep) leaves it as it is and does the rest.
    type: str
    choices: [refuse, overwrite, keep]
    default: refuse
  restart:
    description:
      - Whether services that must be started anew may be. A module that changes something restarts nothing; it says in
        C(restart) which are due, and which of them this option allows now. M(accelerator.ops.generation) starts them
        anew, with its C(state=restarted).
      - V(if_idle) allows those whose restart stops no workload now.
    type: str
    choices: [never, if_idle, always]
    default: if_idle
  run:
    description:
      - The run that the change belongs to. Tasks of one run share a journal.
      - Set by the action plugin of the collection to the run of C(ansible-playbook), or to the job of AWX.
    type: str
  dead_run:
    description: A run that is known to be over, so that its open journal may be adopted. Set by the action plugin.
    type: str
  report_dir:
    description:
      - A folder on the control host where the result is left for the page that M(accelerator.ops.survey_report) makes,
        in check mode too.
    type: path
attributes:
  check_mode:
    support: full
    details: Foresees exactly the steps that a real run would do, and writes nothing.
  diff_mode:
    support: full
"""
