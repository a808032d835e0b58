# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our reading of CDI specs against the loaders that engines embed: the same files load, the same names resolve."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import subprocess
from pathlib import Path

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import cdi, cdi_lint, document
from ansible_collections.accelerator.ops.plugins.module_utils.codec.cdi_lint import Observed, SpecFile
from ansible_collections.accelerator.ops.plugins.module_utils.model.cdi import ENDINGS, Engine
from ansible_collections.accelerator.ops.tests.cdi import made_specs

SEED = int(os.environ.get("ACCELERATOR_OPS_SEED", "20261201"))
COUNT = 1000 if os.environ.get("ACCELERATOR_OPS_WHOLE") else 300
CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def loaders():
    """The folder with a program for each release of the library."""
    place = os.environ.get("ACCELERATOR_OPS_CDI_LOADERS")
    if place is None:
        pytest.skip("the layer cdi of tests/run/checks.py builds the loaders")
    return Path(place)


def lay_out(cases, place):
    """Write cases where a loader looks for them. A case is a list of spec folders in rising precedence."""
    for number, folders in enumerate(cases):
        for rank, files in enumerate(folders):
            folder = place / f"{number:05}" / str(rank)
            folder.mkdir(parents=True)
            for name, text in files.items():
                (folder / name).write_text(text, encoding="utf-8")
    return place


def judged(program, place):
    """What a loader makes of each case: the files that load, why the others do not, and the devices that resolve."""
    done = subprocess.run([str(program), str(place)], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@functools.cache
def tree(text):
    try:
        return document.read(text)
    except document.DocumentError as error:
        return error


def parse(text, release):
    read = tree(text)
    if isinstance(read, document.DocumentError):
        raise cdi.SpecError(str(read))
    return cdi.from_tree(read, release)


def ours(release, folders):
    """The same by our reading."""
    loaded, refused, names = set(), {}, set()
    for rank, files in enumerate(folders):
        for name, text in sorted(files.items()):
            try:
                spec = parse(text, release)
            except cdi.SpecError as error:
                refused[f"{rank}/{name}"] = error
            else:
                loaded.add(f"{rank}/{name}")
                if name.endswith(ENDINGS):
                    names.update(spec.names)
    return loaded, refused, names - lost(release, folders)


def lost(release, folders):
    """The names of which the lint says that they resolve to nothing in an engine with this loader."""
    files = [SpecFile(f"/{rank}/{name}", text) for rank, some in enumerate(folders) for name, text in some.items()]
    engine = Engine("an engine", "1.0", release, tuple(f"/{rank}" for rank in range(len(folders))))
    found = cdi_lint.lint(files, Observed(engines=(engine,))) if len(files) > 1 else ()
    return {name for one in found if one.check == "duplicate" for name in one.evidence}


def differences(release, cases, answers):
    found = []
    for folders, answer in zip(cases, answers):
        loaded, refused, names = ours(release, folders)
        panics = {path for path, reason in answer["refused"].items() if reason.startswith("panic")}
        if set(answer["loaded"]) != loaded:
            found.append(f"{release} loads {answer['loaded']}, not {sorted(loaded)}: {answer['refused']} {folders}")
        elif not answer["crashed"] and set(answer["devices"] or ()) != names:
            found.append(f"{release} resolves {answer['devices']}, not {sorted(names)}: {folders}")
        elif not panics <= {path for path, error in refused.items() if error.is_crash}:
            found.append(f"{release} goes down at {sorted(panics)}: {folders}")
    return found


def refusals(text):
    """The loaders that refuse a text, by our reading."""
    found = set()
    for release in cdi.LOADERS:
        try:
            parse(text, release)
        except cdi.SpecError:
            found.add(release)
    return found


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Cases of one file made by the throw of a dice, and where they lie."""
    dice = random.Random(SEED)
    texts = [made_specs.text(dice) for _number in range(COUNT)]
    refused = [refusals(text) for text in texts]
    print(
        f"\nseed {SEED}: {COUNT} specs, some loader refuses {sum(map(bool, refused))}, "
        f"the newest {sum(cdi.NEWEST in reasons for reasons in refused)}, "
        f"every one {sum(len(reasons) == len(cdi.LOADERS) for reasons in refused)}"
    )
    cases = [[{"spec.yaml": text}] for text in texts]
    return cases, lay_out(cases, tmp_path_factory.mktemp("made"))


@pytest.mark.parametrize("release", cdi.LOADERS)
def test_made_specs_load_as_we_say(loaders, made, release):
    cases, place = made
    answers = judged(loaders / release, place)
    assert len(answers) == COUNT
    refused = sum(not answer["loaded"] for answer in answers)
    assert COUNT * 0.3 <= refused <= COUNT * 0.9, "a good part must load, and a good part must not"
    assert differences(release, cases, answers) == []


@pytest.mark.parametrize("release", cdi.LOADERS)
def test_the_lint_says_what_does_not_load(loaders, made, release):
    cases, place = made
    engine = Engine("an engine", "1.0", release, ("/etc/cdi",))
    for (folder,), answer in list(zip(cases, judged(loaders / release, place)))[:150]:
        found = cdi_lint.lint([SpecFile("/etc/cdi/spec.yaml", folder["spec.yaml"])], Observed(engines=(engine,)))
        fails = [one for one in found if one.verdict == "fail" and one.check in ("schema", "engine")]
        assert bool(fails) is not bool(answer["loaded"]), (found, answer)


@pytest.fixture(scope="session")
def made_folders(tmp_path_factory):
    """Cases of two folders of files that share names, and where they lie."""
    dice = random.Random(f"{SEED} folders")
    cases = [made_specs.folders(dice) for _number in range(COUNT // 2)]
    gone, won = 0, 0
    for folders in cases:
        names = [name for files in folders for spec in loadable(files) for name in spec.names]
        without = lost(cdi.NEWEST, folders)
        gone += len(without)
        won += sum(names.count(name) > 1 for name in set(names) - without)
    print(f"\nseed {SEED}: {COUNT // 2} pairs of folders, {gone} names lost, {won} won by the later folder")
    assert min(gone, won) >= COUNT // 40, "both must be among them"
    return cases, lay_out(cases, tmp_path_factory.mktemp("folders"))


def loadable(files):
    for name, text in sorted(files.items()):
        if name.endswith(ENDINGS):
            with contextlib.suppress(cdi.SpecError):
                yield parse(text, cdi.NEWEST)


@pytest.mark.parametrize("release", cdi.LOADERS)
def test_folders_resolve_as_we_say(loaders, made_folders, release):
    cases, place = made_folders
    assert differences(release, cases, judged(loaders / release, place)) == []


@pytest.mark.parametrize("release", cdi.LOADERS)
def test_specs_from_the_field_load_as_we_say(loaders, release, tmp_path):
    folder = Path(os.environ.get("ACCELERATOR_OPS_DATA") or CHECKOUT.parent / "shared" / "data") / "config" / "cdi"
    if not folder.is_dir():
        pytest.skip("the captured machines are not here (set ACCELERATOR_OPS_DATA)")
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())]
    cases = [[{"spec.yaml": text}] for text in texts]
    answers = judged(loaders / release, lay_out(cases, tmp_path))
    print(f"{len(answers)} specs, {release} loads {sum(bool(answer['loaded']) for answer in answers)}")
    assert len(answers) >= 10
    assert differences(release, cases, answers) == []


@pytest.mark.parametrize("release", cdi.LOADERS)
def test_what_we_write_loads(loaders, release, tmp_path):
    dice = random.Random(f"{SEED} written")
    specs = []
    while len(specs) < 50:
        spec = cdi.parse(made_specs.flow(made_specs.whole(dice)))
        # An engine takes a spec that states the lowest version that its fields need.
        spec = spec._replace(version=cdi.needed_version(spec))
        if cdi.is_at_least(cdi.accepted_version(release), spec.version):
            specs.append(spec)
    cases = [[{"spec.json": cdi.render(spec)}] for spec in specs]
    answers = judged(loaders / release, lay_out(cases, tmp_path))
    assert [answer["refused"] for answer in answers if answer["refused"]] == []
    assert [sorted(answer["devices"]) for answer in answers] == [sorted(spec.names) for spec in specs]
