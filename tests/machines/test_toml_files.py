# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The TOML that engines are configured with in the field, read by our reader and by Python's own."""

from __future__ import annotations

import sys

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import toml


def _judged(read, text):
    try:
        return repr(read(text))
    except ValueError:
        return None


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is the judge, from Python 3.11 on")
def test_the_reader_agrees_with_tomllib_on_every_file(data):
    import tomllib

    # Templates are no TOML: both readers must refuse those too.
    files = sorted(
        path
        for path in data.rglob("*")
        if path.is_file() and (".toml" in path.name or path.parent.name == "containers-conf")
    )
    documents = [path.read_text(encoding="utf-8") for path in files]
    outcomes = [(_judged(toml.read_strictly, text), _judged(tomllib.loads, text)) for text in documents]
    assert [path.name for path, (ours, judge) in zip(files, outcomes) if ours != judge] == []
    whole = [text for text, (_ours, judge) in zip(documents, outcomes) if judge is not None]
    print(f"{len(files)} files, {len(whole)} of them TOML")
    assert len(whole) >= 20
    for text in whole:
        table = tomllib.loads(text)
        assert tomllib.loads(toml.write(table)) == toml.read_strictly(toml.write(table)) == table
