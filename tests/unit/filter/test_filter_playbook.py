# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter and ``placement_info`` as users meet them: in a playbook, under the ansible-core that runs the tests.

Facts reach a filter as Ansible's own kinds of strings, numbers, lists and mappings (tagged since core 2.19, and wrapped
once they came from a module or a file); functions of JMESPath refuse those. Run as a script, it needs no pytest:
``python tests/unit/filter/test_filter_playbook.py`` for a core without the tools of the tests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parents[3]
LINKED = HERE / ".cache" / "linked"

# each name of a case, its expression, more arguments of the filter, and what comes out (a list, or a part of the error)
CASES: dict[str, tuple[str, dict[str, str], object]] = {
    "text": ("maker == 'amd'", {}, ["0000:01:00.0"]),
    "number": ("maker == 'amd' && memory_mib >= `65536`", {}, ["0000:01:00.0"]),
    "contains in text": ("contains(model, 'MI300')", {}, ["0000:01:00.0"]),
    "contains in a list": ("contains(path, '0000:00:01.0')", {}, ["0000:01:00.0"]),
    "functions": ("abs(memory_mib) > `1` && length(path) == `1` && starts_with(id, '0000')", {}, ["0000:01:00.0"]),
    "open map": ("contains(keys(firmware), 'smc')", {}, ["0000:01:00.0"]),
    "excluded": ("numa_node == `0`", {"unknown": "exclude"}, ["0000:01:00.0"]),
    "misspelt": ("memory_mb >= `1`", {"unknown": "exclude"}, "no field memory_mb, expected memory_mib"),
    "text and number": ("memory_mib == '65536'", {}, "the same on both sides of =="),
    "unknown": ("numa_node == `0`", {}, "numa_node of 0000:02:00.0 is unknown (platform reports none)"),
    "syntax": ("maker ==", {}, "the expression ends too early"),
}

DEVICES = [
    {
        "id": "0000:01:00.0",
        "maker": "amd",
        "model": "Instinct MI300X",
        "memory_mib": 196608,
        "numa_node": 0,
        "path": ["0000:00:01.0"],
        "firmware": {"smc": "1"},
        "unknown": {},
    },
    {
        "id": "0000:02:00.0",
        "maker": "nvidia",
        "model": "H100",
        "memory_mib": 81559,
        "numa_node": None,
        "path": [],
        "firmware": {},
        "unknown": {"numa_node": "platform reports none"},
    },
]

END: dict[str, object] = {
    "name": "The end was reached",
    "ansible.builtin.copy": {"dest": "{{ path }}.end", "content": "", "mode": "0600"},
}


def tasks(cases: Mapping[str, tuple[str, dict[str, str], object]]) -> list[dict[str, object]]:
    """Each case over facts that came from a file, from a variable, and from a fact that was set."""
    read = "{{ lookup('file', path) | from_json }}"
    found: list[dict[str, object]] = [{"name": "Read the facts", "ansible.builtin.set_fact": {"read": read}}]
    for source in ("given", "read", "hostvars.localhost.read"):
        for name, (expression, more, wanted) in cases.items():
            arguments = "".join(f", {key}={value!r}" for key, value in more.items())
            call = f"{{{{ {source} | accelerator.ops.devices(expression{arguments}) }}}}"
            task: dict[str, object] = {
                "name": f"{name}, {source}",
                "vars": {"expression": expression},
                "ansible.builtin.set_fact": {"answer": call},
                "register": "outcome",
            }
            if isinstance(wanted, str):
                shown = {"that": ["wanted in outcome.msg", "'\\n' not in line"], "quiet": True}
                line = "{{ outcome.msg[outcome.msg.index('cannot select devices'):] }}"
                found.append(
                    {
                        "name": f"{name}, {source}",
                        "block": [task, {"name": "Stop", "ansible.builtin.meta": "end_play"}],
                        "rescue": [
                            {
                                "name": "See the line",
                                "vars": {"wanted": wanted, "line": line},
                                "ansible.builtin.assert": shown,
                            }
                        ],
                    }
                )
            else:
                found += [
                    task,
                    {
                        "name": "See the ids",
                        "vars": {"wanted": wanted},
                        "ansible.builtin.assert": {"that": ["answer == wanted"], "quiet": True},
                    },
                ]
    found += [
        {
            "name": "Whole rows",
            "ansible.builtin.assert": {
                "that": ["(given | accelerator.ops.devices(\"maker == 'amd'\", rows=true))[0].model == given[0].model"],
                "quiet": True,
            },
        },
        END,
    ]
    return found


def module_tasks(root: str) -> list[dict[str, object]]:
    """The module with what the filter selects from the facts of the same tree, and an error of it."""
    return [
        {"name": "See", "accelerator.ops.accelerator_facts": {"root": root}},
        {
            "name": "Choose",
            "accelerator.ops.placement_info": {
                "root": root,
                "count": 2,
                "limit": 2,
                "devices": "{{ ansible_facts.accelerators.devices | accelerator.ops.devices('numa_node == `1`') }}",
            },
            "check_mode": True,
            "register": "chosen",
        },
        {
            "name": "Two of the four devices on NUMA node 1",
            "ansible.builtin.assert": {
                "that": [
                    "not chosen.changed",
                    "chosen.candidates | length == 4",
                    "chosen.placements | length == 2",
                    "chosen.placements[0].numa.nodes == [1]",
                    "chosen.placements[0].devices | difference(chosen.candidates) == []",
                    "chosen.placements[0].cpus == '56-111,168-223'",
                ],
            },
        },
        {
            "name": "Too many",
            "block": [
                {"name": "Ask", "accelerator.ops.placement_info": {"root": root, "count": 9}, "register": "outcome"},
                {"name": "Stop", "ansible.builtin.meta": "end_play"},
            ],
            "rescue": [
                {
                    "name": "One line and data",
                    "ansible.builtin.assert": {
                        "that": [
                            "outcome.msg == 'cannot place 9 devices: 8 of one model, expected at least 9; "
                            "lower count, or name devices of several models'",
                            "outcome.error.code == 'input'",
                        ]
                    },
                }
            ],
        },
        END,
    ]


def play(folder: Path, these: list[dict[str, object]]) -> subprocess.CompletedProcess[str]:
    """Run tasks with this Python's own ansible-playbook; ``facts.json.end`` is there when the last one ran."""
    facts = folder / "facts.json"
    facts.write_text(json.dumps(DEVICES), encoding="utf-8")
    variables = {"path": str(facts), "given": DEVICES, "ansible_python_interpreter": sys.executable}
    book = [{"name": "Select", "hosts": "localhost", "gather_facts": False, "vars": variables, "tasks": these}]
    (folder / "play.yml").write_text(json.dumps(book), encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "ansible", "playbook", "-i", "localhost,", "-c", "local", str(folder / "play.yml")],
        env={
            **{key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_")},
            "ANSIBLE_COLLECTIONS_PATH": str(LINKED),
            "ANSIBLE_HOME": str(folder / "home"),
            "ANSIBLE_NOCOLOR": "1",
            "LC_ALL": "C.UTF-8",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=folder,
    )


def model_tree(folder: Path) -> Path:
    """A machine model with four devices on each of two NUMA nodes, laid out."""
    from ansible_collections.accelerator.ops.plugins.module_utils.host import tree
    from ansible_collections.accelerator.ops.plugins.module_utils.machine import layout
    from ansible_collections.accelerator.ops.plugins.plugin_utils import machine_models

    found = machine_models.load(machine_models.find("nvidia-hgx-h100-8gpu"))
    tree.write(str(folder / "node"), layout.entries(found))
    return folder / "node"


def check(folder: Path, these: list[dict[str, object]]) -> None:
    """Run tasks to their end."""
    done = play(folder, these)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert (folder / "facts.json.end").is_file(), done.stdout[-3000:]


if __name__ != "__main__":
    import pytest

    pytest.importorskip("ansible")
    pytest.importorskip("jmespath")

    def test_every_case_in_a_playbook(tmp_path: Path) -> None:
        check(tmp_path, tasks(CASES))

    def test_the_module_with_what_the_filter_selects(tmp_path: Path) -> None:
        check(tmp_path, module_tasks(str(model_tree(tmp_path))))

    def test_a_wrong_answer_is_found(tmp_path: Path) -> None:
        done = play(tmp_path, tasks({"wrong": ("maker == 'amd'", {}, ["0000:02:00.0"])}))
        assert done.returncode != 0
        assert "Assertion failed" in done.stdout + done.stderr

    def test_an_error_that_does_not_come_is_found(tmp_path: Path) -> None:
        play(tmp_path, tasks({"no error": ("memory_mib >= `1`", {}, "no field")}))
        assert not (tmp_path / "facts.json.end").exists()
else:
    sys.path.insert(0, str(LINKED))
    with tempfile.TemporaryDirectory() as below:
        check(Path(below), tasks(CASES))
    with tempfile.TemporaryDirectory() as below:
        check(Path(below), module_tasks(str(model_tree(Path(below)))))
    print("the filter and placement_info work in a playbook of this core")
