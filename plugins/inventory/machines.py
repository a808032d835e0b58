# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: machines
short_description: Hosts that are machine models, captured trees, or this machine
version_added: 0.1.0
author:
  - accelerator.ops contributors (@accelerator-ops)
description:
  - Lays machine models out as trees of F(/sys), F(/proc) and F(/dev) and gives one host for each, so that playbooks of
    this collection can be tried, and their decisions looked at, without the machine.
  - Every host gets C(accelerator_root), a local connection and the interpreter that runs Ansible. No root is needed.
  - A model is laid out once for each content of its file; a later run uses the tree that is there.
  - Hosts are grouped by the makers of their accelerators (C(maker_nvidia), C(maker_amd), ...); those without any are in
    the group C(without_accelerators).
options:
  plugin:
    description: Must be C(accelerator.ops.machines).
    type: str
    required: true
    choices:
      - accelerator.ops.machines
  models:
    description:
      - Names of models that come with the collection, or paths of models, relative to this configuration file.
      - V(all) stands for every model that comes with the collection.
    type: list
    elements: str
    default:
      - all
  trees:
    description:
      - Folders, or patterns of folders, relative to this configuration file. Every folder in them that holds a
        F(sys) or a F(proc) is the root of a machine, and becomes a host named after it.
      - A folder that is not there is passed over.
    type: list
    elements: str
    default: []
  this_machine:
    description:
      - Whether the machine that Ansible runs on is a host too, as C(this-machine). It is no model; the playbooks
        C(prepare) and C(rollback) change it.
    type: bool
    default: false
  cache_dir:
    description: Where models are laid out, relative to this configuration file.
    type: str
    default: ~/.cache/accelerator-ops/machines
"""

EXAMPLES = r"""
# Two models of the collection; without models it is every one. The name of the file ends in machines.yml.
plugin: accelerator.ops.machines
models:
  - nvidia-hgx-h100-8gpu
  - amd-mi300x-8gpu

# Your own beside them:
#
#   models:
#     - models/our-node.yml   # a model that you wrote
#   trees:
#     - captures              # trees that were captured on real machines
#   this_machine: true        # the control host itself: prepare and rollback change it
"""

import glob
import os
import re
import sys

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import OpsError
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import pci
from ansible_collections.accelerator.ops.plugins.module_utils.vendor import ids
from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models


class InventoryModule(BaseInventoryPlugin):
    """Machine models and trees as hosts."""

    NAME = "accelerator.ops.machines"

    def verify_file(self, path):
        """Whether a file is a configuration of this plugin, by its name."""
        return super().verify_file(path) and path.endswith(("machines.yml", "machines.yaml"))

    def parse(self, inventory, loader, path, cache=True):
        """Add a host for every model and tree."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        folder = os.path.dirname(os.path.realpath(path))
        roots = {}
        try:
            for name, root in self._roots(folder):
                if name in roots:
                    raise AnsibleParserError(
                        f"cannot add machine {name}: {roots[name]} and {root} would both be it, expected one of them; "
                        "rename one"
                    )
                roots[name] = root
                self._add(name, root)
        except OpsError as error:
            raise AnsibleParserError(str(error)) from None

    def _roots(self, folder):
        """Names and roots of all machines."""
        cache_dir = os.path.normpath(os.path.join(folder, os.path.expanduser(str(self.get_option("cache_dir")))))
        for wanted in self.get_option("models"):
            if wanted == "all":
                paths = list(machine_models.shipped().values())
            else:
                beside = os.path.join(folder, os.path.expanduser(wanted))
                paths = [beside if os.path.isfile(beside) else machine_models.find(str(wanted))]
            for found in paths:
                machine, root = machine_models.laid_out(found, cache_dir)
                yield machine.heading.name, root
        for pattern in self.get_option("trees"):
            for place in sorted(glob.glob(os.path.join(folder, os.path.expanduser(pattern)))):
                yield from self._trees(place)
        if self.get_option("this_machine"):
            yield "this-machine", "/"

    def _trees(self, place):
        """The roots in a folder."""
        for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
            root = os.path.join(place, name)
            if any(os.path.isdir(os.path.join(root, top)) for top in ("sys", "proc")):
                yield re.sub(r"[^A-Za-z0-9_.+-]", "_", name), root

    def _add(self, name, root):
        """Add one host with its variables and groups."""
        self.inventory.add_host(name)
        self.inventory.set_variable(name, "accelerator_root", root)
        self.inventory.set_variable(name, "ansible_connection", "local")
        self.inventory.set_variable(name, "ansible_python_interpreter", sys.executable)
        for group in self._groups(root):
            self.inventory.add_group(group)
            self.inventory.add_child(group, name)

    def _groups(self, root):
        """Groups by the makers of the accelerators in a tree."""
        functions, _reason = pci.functions(Host(root))
        if functions is None:
            return []
        devices = [function for function in functions.values() if ids.is_device(function)]
        makers = {maker.name for maker in map(ids.maker_of, devices) if maker is not None}
        if not devices:
            return ["without_accelerators"]
        return sorted(f"maker_{re.sub(r'[^a-z0-9_]', '_', maker)}" for maker in makers)
