# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run inside a root of its own, which is then ``/``: a module's work on a live node, told as one line of JSON.

The argument is what the wish has besides the defaults, as JSON.
"""

from __future__ import annotations

import json
import sys

sys.path.insert(0, "/collection")

from ansible_collections.accelerator.ops.plugins.module_utils import runner
from ansible_collections.accelerator.ops.plugins.module_utils.model.call import Call
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import OpsError
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import container_engine as usecase

if __name__ == "__main__":
    wish = {name: spec.get("default") for name, spec in {**runner.SHARED, **usecase.OPTIONS}.items()}
    call = Call("container_engine", {**wish, "run": "a", **json.loads(sys.argv[1])}, False, True)
    try:
        done = runner.change(call, usecase.observe, usecase.decide)
        told = {"changed": done.changed, "plan": [row["subject"] for row in done.results["plan"]]}
    except OpsError as error:
        told = {"error": str(error), "code": error.code, "details": error.details}
    print(json.dumps(told, default=str))
