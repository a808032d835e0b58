# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every model, every captured machine and this one, recorded, opened, and recorded again."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.host.recorder import Recorder
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts.document import observe
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.recording import take
from ansible_collections.accelerator.ops.tests.machines.conftest import CompareAll, Comparison
from ansible_collections.accelerator.ops.tests.machines.unpack import sources

_MASK = re.compile(
    r"masked-(host|user|value)-\d+|masked-domain-\d+\.invalid|ACCEL\d{6}|acce1e[0-9a-f]{10}"
    r"|0{8}-(0{4}-){3}[0-9a-f]{12}|02(:00)+(:[0-9a-f]{2})+|0200000000[0-9a-f]{2}|192\.0\.2\.\d+|2001:db8::"
)
_NAMES = {"/etc/group", "/etc/hostname", "/etc/passwd", "/proc/sys/kernel/hostname"}


def _held(name: str, root: str, below: Path, facts: Comparison, again: Comparison) -> None:
    """One root, through all ways of recording it."""

    def opened(archive: bytes, kind: str) -> str:
        (below / f"{kind}.tar.gz").write_bytes(archive)
        return str(below / f"{kind}.tar.gz")

    seen = observe(Host(root))
    plain = take(Recorder(root), False)
    at = opened(plain.archive, "plain")
    facts.same(f"{name}: facts of the recording", _flat(observe(Host(at))), _flat(seen))
    again.same(f"{name}: recorded again", take(Recorder(at), False).archive == plain.archive, True)
    masked = take(Recorder(root), True)
    at_masked = opened(masked.archive, "masked")
    ours, truth = _flat(observe(Host(at_masked))), _flat(seen)
    facts.same(f"{name}: fields of the masked recording", [_shown(key) for key in ours], [_shown(key) for key in truth])
    left = [key for key in ours if ours[key] != truth.get(key) and not _MASK.search(f"{key} {ours[key]}")]
    facts.same(f"{name}: facts that differ by more than a mask", left, [])
    for mask in (True, False):
        same = take(Recorder(at_masked), mask).archive == masked.archive
        again.same(f"{name}: the masked one recorded again, mask {mask}", same, True)
    later = take(Recorder(at), True).recorded
    items = {path: item for path, item in later.items.items() if path not in _NAMES}
    kept = {path: item for path, item in masked.recorded.items.items() if path not in _NAMES}
    again.same(f"{name}: masked later", items.keys() - {"/etc"}, kept.keys() - {"/etc"})
    again.same(f"{name}: left out", masked.left_out, [])


def _shown(key: str) -> str:
    return _MASK.sub("…", key)


def _flat(facts: Any) -> dict[str, Any]:
    def walk(value: Any, path: str) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict) and value:
            for key, inner in value.items():
                yield from walk(inner, f"{path}.{key}")
        elif isinstance(value, list) and value:
            for at, inner in enumerate(value):
                yield from walk(inner, f"{path}.{at}")
        else:
            yield path, value

    return dict(walk(facts, ""))


def test_every_model(models: dict[str, Path], tmp_path: Path, comparisons: CompareAll) -> None:
    with comparisons(("recorded models' facts", 24), ("recordings recorded again", 40)) as (facts, again):
        for name, root in models.items():
            _held(name, str(root), tmp_path, facts, again)


def test_every_captured_machine(
    data: Path, trees: Callable[[str], Path], tmp_path: Path, comparisons: CompareAll
) -> None:
    with comparisons(("recorded captures' facts", 150), ("recordings recorded again", 250)) as (facts, again):
        for name in sources(data):
            _held(name, str(trees(name)), tmp_path, facts, again)


def _live() -> tuple[dict[str, Any], bytes, bytes]:
    """The facts of this machine as the recorder saw them, and both its recordings."""
    host = Recorder("/")
    plain = take(host, False).archive
    return observe(host, "auto"), plain, take(Recorder("/"), True).archive


def _as_nobody() -> tuple[dict[str, Any], bytes, bytes]:
    """The same as user 65534, in a child: what a process gives up it does not get back."""
    with tempfile.TemporaryFile() as answer:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.setgroups([])
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
                facts, plain, masked = _live()
                answer.write(json.dumps([facts, plain.hex(), masked.hex()]).encode())
                answer.flush()
                status = 0
            finally:
                os._exit(status)
        _pid, ended = os.waitpid(child, 0)
        assert ended == 0, "the child failed"
        answer.seek(0)
        seen, plain_hex, masked_hex = json.loads(answer.read())
        return seen, bytes.fromhex(plain_hex), bytes.fromhex(masked_hex)


@pytest.mark.parametrize("who", ["myself", "nobody"])
def test_this_machine(who: str, tmp_path: Path, comparisons: CompareAll) -> None:
    if who == "nobody" and os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    own = _live()  # imports all that the child needs before it may not read it any more
    seen, plain, masked = own if who == "myself" else _as_nobody()
    with comparisons(("facts of this machine from its recording", 2), ("recordings recorded again", 2)) as (
        facts,
        again,
    ):
        (tmp_path / "plain.tar.gz").write_bytes(plain)
        (tmp_path / "masked.tar.gz").write_bytes(masked)
        facts.same(f"as {who}", _flat(observe(Host(str(tmp_path / "plain.tar.gz")), "auto")), _flat(seen))
        again.same(f"as {who}", take(Recorder(str(tmp_path / "plain.tar.gz")), False).archive == plain, True)
        again.same(f"as {who}, masked", take(Recorder(str(tmp_path / "masked.tar.gz")), True).archive == masked, True)
        hidden = _flat(observe(Host(str(tmp_path / "masked.tar.gz")), "auto"))
        facts.same(f"as {who}, fields", [_shown(key) for key in hidden], [_shown(key) for key in _flat(seen)])
