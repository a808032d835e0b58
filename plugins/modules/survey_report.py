#!/usr/bin/python

# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: survey_report
short_description: Make the fleet page out of the facts of a run
version_added: 0.1.0
description:
  - Reads what M(accelerator.ops.accelerator_facts) left in O(report_dir) during this run of C(ansible-playbook), and
    writes one page and one JSON file about all hosts.
  - The page is one HTML file that needs no network and no script. It shows how the nodes are wired, what is in each,
    what differs from the majority, which links are degraded, and what could not be seen.
  - Where tasks of the run changed nodes and named the same O(report_dir), the page also says what each of them changed,
    what is left to be done, and what stood in the way.
  - A host of which this run has left no facts is on the page as not seen; facts of an earlier run are not used.
  - Fails with the code C(busy) while another run of C(ansible-playbook) has O(report_dir).
  - Runs on the control host, and writes in check mode too.
author:
  - accelerator.ops contributors (@accelerator-ops)
options:
  report_dir:
    description:
      - The folder on the control host that O(accelerator.ops.accelerator_facts#module:report_dir) named.
    type: path
    required: true
  hosts:
    description:
      - Every host that the run was about, such as C(ansible_play_hosts_all).
    type: list
    elements: str
    required: true
  language:
    description:
      - The language of the page.
    type: str
    default: en
    choices:
      - de
      - en
  title:
    description:
      - The heading of the page. Empty for the one that comes with the language.
    type: str
    default: ""
extends_documentation_fragment:
  - accelerator.ops.attributes
attributes:
  check_mode:
    support: full
    details: The report is written in check mode too.
  diff_mode:
    support: none
seealso:
  - module: accelerator.ops.accelerator_facts
"""

EXAMPLES = r"""
- name: Leave the facts of each node on the control host
  accelerator.ops.accelerator_facts:
    report_dir: accelerator-report

- name: Make the page
  accelerator.ops.survey_report:
    report_dir: accelerator-report
    hosts: "{{ ansible_play_hosts_all }}"
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
page:
  description: The path of the HTML file on the control host.
  returned: success
  type: str
  sample: /home/ops/accelerator-report/survey.html
data:
  description: The path of the JSON file on the control host.
  returned: success
  type: str
  sample: /home/ops/accelerator-report/survey.json
summary:
  description: The totals of the run.
  returned: success
  type: dict
  contains:
    nodes_total:
      description: Hosts of the run.
      type: int
    nodes_seen:
      description: Hosts whose facts were read in this run.
      type: int
    nodes_failed:
      description: Hosts where the facts could not be read.
      type: int
    nodes_unreachable:
      description: Hosts that could not be reached.
      type: int
    nodes_missing:
      description: Hosts of which this run has left nothing.
      type: int
    devices_total:
      description: Accelerators in all, without virtual functions.
      type: int
    makers:
      description: How many of which maker and model.
      type: str
      sample: 16 × NVIDIA H100 80GB HBM3
    topologies_total:
      description: Ways in which nodes are wired.
      type: int
    differing_nodes:
      description: Nodes that differ from the majority in a field.
      type: int
    degraded_links:
      description: Links that run with fewer lanes than both of their ends can.
      type: int
    unknown_values:
      description: Values that were not found.
      type: int
stats:
  description:
    - The summary and the two paths in one mapping of scalars, each name with C(survey_) before it, for C(set_stats).
  returned: success
  type: dict
changes:
  description: What the run changed, in totals.
  returned: success
  type: dict
  contains:
    nodes_total:
      description: Hosts of the run.
      type: int
    nodes_not_reached:
      description: Hosts where the run ended before it came to a change.
      type: int
    nodes_changed:
      description: Hosts that were changed, or would be in check mode.
      type: int
    nodes_failed:
      description: Hosts where that failed.
      type: int
    nodes_to_reboot:
      description: Hosts that must boot anew before all is in effect.
      type: int
    restarts_due:
      description: Services that must still be started anew.
      type: int
    deferred:
      description: Things that could not be done on the root in use.
      type: int
    blockers:
      description: Things that stood in the way.
      type: int
change_stats:
  description:
    - The totals of RV(changes) and the two paths in one mapping of scalars, each name with C(changes_) before it, for
      C(set_stats).
  returned: success
  type: dict
error:
  description: What went wrong, as data.
  returned: failure
  type: dict
"""
