# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Container engines: case files (a small tree, what programs say, a wish, and the plan).

A case has ``files`` (path to text, or ``{link: target}``), ``answers`` (command line to output, or to
``{status, says}``), ``wish`` (what differs from the defaults) and ``plan`` or ``error``. In a plan stands for each path
what it holds then: the lines of a file of ours without its comments, the whole text of another's file.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError, OpsError, joined
from ansible_collections.accelerator.ops.plugins.module_utils.usecase import container_engine as usecase

yaml = pytest.importorskip("yaml", reason="case files are YAML")

CASES = Path(__file__).resolve().parents[2] / "cases" / "container_engine"
WISH = {name: spec.get("default") for name, spec in usecase.OPTIONS.items()}


def cases(has_plan=False):
    for file in sorted(CASES.glob("*.yml")):
        for case in yaml.safe_load(file.read_text(encoding="utf-8")):
            if not (has_plan and "error" in case):
                yield pytest.param(case, id=f"{file.stem}: {case['case']}")


def opened(node, case):
    files = {path: ("link", one["link"]) if isinstance(one, dict) else one for path, one in case["files"].items()}
    host = node(files)
    for line, said in case.get("answers", {}).items():
        failed = isinstance(said, dict)
        host.answers[tuple(line.split())] = (said["status"], "", said["says"]) if failed else (0, said, None)
    return host


def planned(host, case):
    wish = {**WISH, **case.get("wish", {})}
    plan = usecase.decide(usecase.observe(host, wish), wish)
    if plan.blockers:
        raise joined(plan.blockers)
    return plan


def bare(text):
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def safety(restart):
    if restart.is_safe:
        return "safe"
    return "safe while idle" if restart.busy else "not safe"


def shown(plan):
    told = {}
    for step in plan.steps:
        text = step.new.decode()
        told[step.path] = "absent" if step.after.kind == "absent" else text if step.is_edit else bare(text)
    restarts = [f"{one.service}, {safety(one)}" for one in plan.restarts]
    return {**told, **({"restart": restarts} if restarts else {})}


@pytest.mark.parametrize("case", list(cases()))
def test_case(node, case):
    host = opened(node, case)
    if "error" in case:
        with pytest.raises(OpsError) as caught:
            planned(host, case)
        assert caught.value.code == case["error"]["code"]
        assert case["error"]["says"] in str(caught.value)
        return
    assert shown(planned(host, case)) == (case["plan"] or {})


@pytest.mark.parametrize("case", list(cases(has_plan=True)))
def test_after_its_plan_nothing_is_left_to_do(node, tmp_path, case):
    """What the plan writes, seen again, gives an empty plan: so every real run proves itself."""
    host = opened(node, case)
    for step in planned(host, case).steps:
        place = tmp_path / "node" / step.path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if step.after.kind == "absent":
            place.unlink()
        else:
            place.write_bytes(step.new)
    again = {**case, "files": {}, "answers": {**case.get("answers", {}), **case.get("answers_after", {})}}
    assert shown(planned(opened(node, again), case)) == {}


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({"engines": ["moby"]}, "engine moby"),
        ({"engines": ["podman"]}, "no podman here"),
        ({"cdi_spec_dirs": ["etc/cdi"]}, "absolute paths"),
        ({"runtimes": {"a b": {"binary": "/x"}}}, "the name 'a b'"),
        ({"runtimes": {"a": {}}}, "neither a binary nor a type"),
        ({"runtimes": {"a": {"binary": "x"}}}, "an absolute path"),
        ({"runtimes": {"a": {"binary": "/x", "args": []}}}, "some of binary, type, options"),
        ({"runtimes": {"a": {"binary": "/x", "options": []}}}, "a dictionary"),
        ({"runtimes": {"a": {"binary": "/x", "type": 1}}}, "the name of a shim"),
        ({"runtimes": {"a": {"binary": "/x", "options": {"Root": None}}}}, "no value of TOML: None"),
        ({"runtimes": {"a": {"binary": "/x", "options": {"n": 10**30}}}}, "a number of more than 64 bits"),
        ({"runtimes": {"a": {"binary": "/x", "options": {"n": float("inf")}}}}, "no finite number: inf"),
        ({"nri_validator": {"required_plugins": [float("nan")]}}, "no finite number: nan"),
        ({"runtimes": {"a": {"binary": "/x", "options": {"b": {"a\nb": 1}}}}}, "a key with control characters"),
        ({"runtimes": {"a": {"binary": "/x", "options": {"a\"b'c": 1}}}}, "a quote and what must be escaped"),
        ({"cdi_spec_dirs": ["/a\ud800"]}, "cannot set cdi_spec_dirs: no character of a text"),
        ({"runtimes": {1: {"binary": "/x"}}}, "no key: 1"),
        ({"nri_validator": {"enable": None}}, "cannot set nri_validator: no value of TOML: None"),
        ({"nri": True}, "no engine here"),
    ],
)
def test_wishes_that_are_refused(node, wish, says):
    with pytest.raises(OpsError) as caught:
        planned(node({}), {"wish": wish})
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("program", "path", "content"),
    [
        ("dockerd", "/etc/docker/daemon.json", '{"debug": true}'.encode("utf-16")),
        ("dockerd", "/etc/docker/daemon.json", b'{"a": NaN}'),
        ("dockerd", "/etc/docker/daemon.json", b'{"a": -Infinity}'),
        ("dockerd", "/etc/docker/daemon.json", b'{"a": 1e400}'),
        ("crio", "/etc/crio/crio.conf", "[crio]".encode("utf-16")),
        ("podman", "/etc/containers/containers.conf", "[engine]".encode("utf-16")),
        ("containerd", "/etc/containerd/config.toml", "version = 2".encode("utf-16")),
        ("containerd", "/etc/containerd/config.toml", b'version = "2"'),
        ("containerd", "/etc/containerd/config.toml", b"version = 2.0"),
        ("containerd", "/etc/containerd/config.toml", b"version = true"),
        ("containerd", "/etc/containerd/config.toml", b"version = -1"),
        ("containerd", "/etc/containerd/conf.d/10-a.toml", b'version = "2"'),
    ],
)
def test_files_that_no_engine_takes_are_refused(node, program, path, content):
    root = {"/etc/containerd/config.toml": 'version = 2\nimports = ["/etc/containerd/conf.d/*.toml"]\n'}
    host = node({f"/usr/bin/{program}": "", **(root if program == "containerd" else {}), path: content})
    with pytest.raises(InputError) as caught:
        planned(host, {})
    assert path in str(caught.value)


def test_a_node_without_engines_needs_nothing(node):
    assert shown(planned(node({}), {})) == {}
