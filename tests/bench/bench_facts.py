# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the facts of a node with 8 devices and 40 bridges cost beside an empty module, in time and on the wire.

Both modules are built by Ansible as it would send them, and run in turn; the figure is the ratio of the medians.
Limits: 1.5 times the empty module (goal 1.3) and 100 kB more on the wire.
"""

from __future__ import annotations

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import yaml
from ansible import constants as C
from ansible.executor.module_common import modify_module
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.template import Templar

HERE = pathlib.Path(__file__).resolve().parent
COLLECTION = HERE.parent.parent
RUNS = 21
DEVICES, BRIDGES = 8, 40
LIMIT_RATIO, GOAL_RATIO, LIMIT_BYTES = 1.5, 1.3, 100_000


def built(path: pathlib.Path, name: str, arguments: dict[str, object]) -> bytes:
    """The module as Ansible sends it to a node."""
    options = {"_ansible_check_mode": False, "_ansible_verbosity": 0, **arguments}
    facts = {"ansible_python_interpreter": sys.executable}
    module = modify_module(
        module_name=name,
        module_path=str(path),
        module_args=options,
        templar=Templar(loader=DataLoader()),
        task_vars=facts,
        module_compression=C.DEFAULT_MODULE_COMPRESSION,
    )
    return module.b_module_data


def seconds(payload: pathlib.Path) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, str(payload)], check=True, capture_output=True)
    return time.perf_counter() - start


def machine() -> dict[str, object]:
    """The H100 model with eight equal switches for its PCI tree: 5 bridges, a GPU, a NIC and an SSD each."""
    text = (COLLECTION / "playbooks/files/machines/nvidia-hgx-h100-8gpu.yml").read_text(encoding="utf-8")
    model: dict[str, object] = yaml.safe_load(text)
    buses: dict[str, object] = {}
    for number in range(DEVICES):
        bus = 0x10 + number * 0x10
        name = f"GPU-00000000-0000-4000-8000-{number:012d}"
        gpu = {"nvidia": {"minor": number, "uuid": name}, "drm": {"card": number, "render": 128 + number}}
        slots = {
            f"{bus + 2:02x}:00.0 down": {f"{bus + 3:02x}:00.0 h100": gpu},
            f"{bus + 2:02x}:01.0 down": {
                f"{bus + 4:02x}:00.0 cx7": {
                    "net": f"rdma{number}",
                    "rdma": {"name": f"mlx5_{number}", "uverbs": number},
                }
            },
            f"{bus + 2:02x}:02.0 down": {f"{bus + 5:02x}:00.0 ssd": {"nvme": f"nvme{number}"}},
        }
        place = {"numa": number // 4, f"{bus:02x}:01.0 port > {bus + 1:02x}:00.0 up": slots}
        buses[f"pci0000:{bus:02x}"] = place
    return {**model, "pci": buses}


def lay_out(root: pathlib.Path) -> tuple[int, int]:
    """The machine as a tree; how many devices and bridges its facts name. Imported through Ansible's own loader."""
    from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
    from ansible_collections.accelerator.ops.plugins.module_utils.host.tree import write
    from ansible_collections.accelerator.ops.plugins.module_utils.machine.layout import entries
    from ansible_collections.accelerator.ops.plugins.module_utils.machine.model import parse
    from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe

    write(str(root), entries(parse(machine())))
    facts = observe(Host(str(root)))
    return len(facts["devices"]), len(facts["bridges"])


def main() -> int:
    init_plugin_loader()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "node"
        if lay_out(root) != (DEVICES, BRIDGES):
            print(f"the machine to measure has not {DEVICES} devices and {BRIDGES} bridges")
            return 1
        payloads = {}
        for name, path, arguments in (
            ("empty", HERE / "empty_module.py", {}),
            ("facts", COLLECTION / "plugins/modules/accelerator_facts.py", {"root": str(root)}),
        ):
            payloads[name] = pathlib.Path(folder) / f"{name}.py"
            payloads[name].write_bytes(built(path, f"accelerator.ops.{path.stem}", arguments))
        times: dict[str, list[float]] = {"empty": [], "facts": []}
        for run in range(RUNS + 1):
            for name, payload in payloads.items():
                took = seconds(payload)
                if run:  # the first pair only warms the caches
                    times[name].append(took)
        more = payloads["facts"].stat().st_size - payloads["empty"].stat().st_size
    medians = {name: statistics.median(values) for name, values in times.items()}
    ratio = medians["facts"] / medians["empty"]
    print(f"facts module: {medians['facts']:.3f} s, empty module: {medians['empty']:.3f} s (medians of {RUNS})")
    print(f"ratio {ratio:.2f} (limit {LIMIT_RATIO}, goal {GOAL_RATIO})")
    print(f"{more} bytes more on the wire (limit {LIMIT_BYTES})")
    return 0 if ratio <= LIMIT_RATIO and more <= LIMIT_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
