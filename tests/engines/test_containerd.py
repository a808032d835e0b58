# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every containerd configuration that was captured, and some small ones, before and after: judged by the daemons.

What the daemon makes of its files afterwards must be what it made before and what was asked, ``imports`` aside, and
nothing else; or the change is refused, with the keys that would be masked.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import toml
from ansible_collections.accelerator.ops.plugins.module_utils.engine import containerd as engine
from ansible_collections.accelerator.ops.plugins.module_utils.engine import containerd_merge as rules
from ansible_collections.accelerator.ops.plugins.module_utils.engine.asked import Asked
from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import (
    ConflictError,
    InputError,
    UnsupportedError,
)
from ansible_collections.accelerator.ops.tests.engines.judge import VERSIONS, Root

DATA = Path(os.environ.get("ACCELERATOR_OPS_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
FILES = sorted((DATA / "config" / "containerd").glob("*")) if DATA.is_dir() else []
IS_RENDERED = (".j2", ".tmpl", ".gtpl", ".json")
"""Endings of what no daemon reads: templates, and a table of pairs in JSON."""

ROOT_FILE = "etc/containerd/config.toml"
CRI = {2: "io.containerd.grpc.v1.cri", 3: "io.containerd.cri.v1.runtime", 4: "io.containerd.cri.v1.runtime"}
NRI = "io.containerd.nri.v1.nri"
BINARY = "/usr/local/bin/ops-runtime"
DIRS = ("/etc/cdi", "/opt/cdi")


@pytest.fixture(scope="session", params=VERSIONS)
def root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Root:
    """A root with the daemon of one version."""
    return Root(tmp_path_factory.mktemp("containerd") / "root", request.param)


def lay(root: Root, files: Mapping[str, str]) -> None:
    """Give the root these files, and no other configuration."""
    shutil.rmtree(root.folder / "etc", ignore_errors=True)
    (root.folder / "etc/containerd").mkdir(parents=True)
    for path, text in files.items():
        place = root.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def seen(root: Root) -> engine.Seen:
    """What is seen of the daemon in the root; it says its version itself."""
    host = Host(str(root.folder))
    argv = ("/usr/bin/containerd", "--version")
    host.answers[argv] = (0, root.ask("--version")[1], None)
    found = engine.look(host, "containerd")
    assert found is not None
    assert found.version is not None
    return found


def asked(version: str) -> Asked:
    """All that the version has; 1.6 has no CDI and no NRI."""
    runtimes = {"ops": {"binary": BINARY}}
    if version.startswith("1.6"):
        return Asked(cdi=False, runtimes=runtimes)
    return Asked(cdi=True, cdi_spec_dirs=DIRS, nri=True, runtimes=runtimes)


def change(root: Root, wish: Asked) -> None:
    """Do what is planned."""
    for step in engine.plan(seen(root), wish, "edit").steps:
        place = root.folder / step.path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if step.after.kind == "absent":
            place.unlink()
        else:
            place.write_bytes(step.new)


def flat(table: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values of a table by their whole names."""
    for name, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, (*above, name))
        else:
            yield (*above, name), value


def differences(before: str, after: str) -> dict[tuple[str, ...], Any]:
    """What is new or other in the second, and what is gone (None), ``imports`` aside."""
    one, two = dict(flat(toml.read(before))), dict(flat(toml.read(after)))
    found = {key: value for key, value in two.items() if one.get(key, ...) != value}
    found.update({key: None for key in one if key not in two})
    found.pop(("imports",), None)
    return found


def wrong(before: str, after: str, wish: Asked, default: str) -> list[str]:
    """In what the second is not the first and what was asked. ``default``: what the daemon has by itself."""
    old, new = toml.read(before), toml.read(after)
    cri = new["plugins"][CRI[new["version"]]]
    was = old["plugins"][CRI[old["version"]]]
    found = []
    place = ("plugins", CRI[new["version"]])
    for key, value in differences(before, after).items():
        if key[:2] == place and key[2:] in (("enable_cdi",), ("cdi_spec_dirs",)):
            continue
        if key[:2] == place and key[2:5] == ("containerd", "runtimes", "ops"):
            continue
        if key == ("plugins", NRI, "disable"):
            continue
        found.append(f"{'.'.join(key)} is {value!r} now")
    if wish.cdi:
        found += [] if cri.get("enable_cdi", True) is True else ["CDI is off"]  # 2.4 has no switch any more
        found += [] if tuple(cri["cdi_spec_dirs"]) == DIRS else [f"cdi_spec_dirs is {cri['cdi_spec_dirs']}"]
        found += [] if new["plugins"][NRI]["disable"] is False else ["NRI is off"]
    entry = cri["containerd"]["runtimes"].get("ops", {})
    runc = was["containerd"]["runtimes"].get("runc", {})
    found += [] if entry.get("options", {}).get("BinaryName") == BINARY else ["the handler has another program"]
    own = dict(flat(toml.read(default)["plugins"][place[1]]["containerd"]["runtimes"]["runc"]))
    for key, value in flat(runc):
        known = dict(flat(entry)).get(key)
        # What the daemon gives runc by itself it gives every handler at its start, where its file says nothing.
        if key[-1] not in ("BinaryName", "runtime_type") and value not in (known, own.get(key), {}):
            found.append(f"the handler has {known!r} for runc's {'.'.join(key)} {value!r}")
    return found


@pytest.mark.skipif(not FILES, reason="no captured configurations here (ACCELERATOR_OPS_DATA)")
def test_captured_configurations(root: Root) -> None:
    counts = {"as asked": 0, "refused": 0, "not for this daemon": 0, "no file of a daemon": 0}
    wish = asked(root.version)
    default = root.ask("config", "default")[1]
    bad = []
    for file in FILES:
        if file.name.endswith(IS_RENDERED):
            counts["no file of a daemon"] += 1
            continue
        lay(root, {ROOT_FILE: file.read_text(encoding="utf-8")})
        status, before, _error = root.dump()
        if status:
            counts["not for this daemon"] += 1
            continue
        try:
            change(root, wish)
        except (ConflictError, UnsupportedError) as error:
            counts["refused"] += 1
            print(f"{root.version} {file.name}: {error}")
            continue
        status, after, error = root.dump()
        found = [error] if status else wrong(before, after, wish, default)
        found += [f"{step.path} again" for step in engine.plan(seen(root), wish, "edit").steps]
        bad += [f"{file.name}: {one}" for one in found]
        counts["as asked"] += not found
    print(f"containerd {root.version}: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    assert not bad, "\n".join(bad)
    assert counts["as asked"] > 0


def test_no_root_file(root: Root) -> None:
    """What lay unread in the folder stays unread, and all else is as the daemon has it by itself."""
    version = 3 if root.version.startswith("2") else 2
    lay(root, {"etc/containerd/conf.d/10-unread.toml": f"version = {version}\noom_score = -7\n"})
    wish = asked(root.version)
    before = root.ask("config", "default")[1] if root.version.startswith("1") else root.dump()[1]
    change(root, wish)
    status, after, error = root.dump()
    assert (status, error if status else "") == (0, "")
    assert wrong(before, after, wish, root.ask("config", "default")[1]) == []
    assert toml.read(after)["oom_score"] == 0
    assert engine.plan(seen(root), wish, "edit").steps == ()


@pytest.mark.parametrize("text", ["", "\n", "# mine\n"])
@pytest.mark.parametrize("nri", [True, False])
def test_a_root_file_that_says_nothing(root: Root, text: str, nri: bool) -> None:
    """It has a version nevertheless, and our file has that one too, before and after the edit."""
    wish = asked(root.version)
    wish = wish if wish.nri is None else wish._replace(nri=nri)
    lay(root, {ROOT_FILE: text})
    change(root, wish)
    assert engine.plan(seen(root), wish, "edit").steps == ()
    status, after, error = root.dump()
    assert (status, error if status else "") == (0, "")
    assert rules.lacking(wish, toml.read(after), seen(root).version) == []


@pytest.mark.parametrize("key", ['a"b', "a'b", "a b", "a\\b", "\u00e4"])
def test_a_key_of_an_option_is_read_by_the_daemon(root: Root, key: str) -> None:
    lay(root, {ROOT_FILE: "version = 2\n"})
    handler = {"type": "io.containerd.other.v1", "options": {key: {key: 7}}}
    change(root, Asked(runtimes={"other": handler}))
    status, after, error = root.dump()
    assert (status, error if status else "") == (0, "")
    made = toml.read(after)
    options = made["plugins"][CRI[made["version"]]]["containerd"]["runtimes"]["other"]["options"]
    assert options == {key: {key: 7}}


@pytest.mark.parametrize("line", ['version = "2"', "version = 2.0", "version = true"])
def test_a_version_that_the_daemon_refuses_is_refused(root: Root, line: str) -> None:
    lay(root, {ROOT_FILE: f"{line}\n"})
    assert root.dump()[0] != 0
    with pytest.raises(InputError, match="version is"):
        change(root, asked(root.version))


def test_the_daemon_still_starts_where_our_file_is_gone(root: Root) -> None:
    lay(root, {ROOT_FILE: "version = 2\noom_score = -7\n"})
    before = root.dump()[1]
    change(root, asked(root.version))
    (root.folder / "etc/containerd/conf.d" / engine.NAME).unlink()
    status, after, error = root.dump()
    assert (status, error if status else "") == (0, "")
    assert differences(before, after) == {}


def test_what_is_not_asked_any_more_goes(root: Root) -> None:
    text = "# mine\nversion = 2\noom_score = -7\n"
    lay(root, {ROOT_FILE: text})
    wish = asked(root.version)
    change(root, wish)
    assert (root.folder / ROOT_FILE).read_text(encoding="utf-8") != text
    is_on = not root.version.startswith("1")  # what the version has by itself
    change(root, Asked(cdi=is_on, cdi_spec_dirs=(), nri=is_on, runtimes={}))
    assert (root.folder / ROOT_FILE).read_text(encoding="utf-8") == text
    assert (root.folder / "etc/containerd/conf.d" / engine.NAME).exists() is False


LATER = """version = {version}
[plugins."{cri}"]
enable_selinux = false
cdi_spec_dirs = ["/later"]
[plugins."{cri}".containerd.runtimes.later]
runtime_type = "io.containerd.runc.v2"
[plugins."{cri}".containerd.runtimes.runc.options]
SystemdCgroup = false
"""
EARLIER = """version = {version}
imports = ["/etc/containerd/conf.d/*.toml"]
[plugins."{cri}"]
enable_selinux = true
max_container_log_line_size = 7
cdi_spec_dirs = ["/earlier", "/more"]
[plugins."{cri}".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."{cri}".containerd.runtimes.runc.options]
SystemdCgroup = true
BinaryName = "/runc"
"""


@pytest.mark.parametrize("version", [2, 3])
def test_our_rule_of_merging_is_the_daemons(root: Root, version: int) -> None:
    """Every value that we compute is the daemon's: also false over true, and a list over a longer one."""
    if version > 2 and root.version.startswith("1"):
        pytest.skip("this daemon knows no version 3")
    names = {"version": version, "cri": CRI[version]}
    lay(root, {ROOT_FILE: EARLIER.format(**names), "etc/containerd/conf.d/50-later.toml": LATER.format(**names)})
    status, dump, error = root.dump()
    assert (status, error if status else "") == (0, "")
    found = seen(root)
    ours = rules.effective(found.documents, found.version, version)[rules.CRI]
    shown = toml.read(dump)
    theirs = dict(flat(shown["plugins"][CRI[shown["version"]]]))
    if root.version.startswith("1.6"):
        ours.pop("cdi_spec_dirs")
    assert {key: theirs.get(key) for key, _value in flat(ours)} == dict(flat(ours))
    is_replaced = "max_container_log_line_size" not in ours
    assert is_replaced is root.version.startswith("1")
    assert (theirs["max_container_log_line_size",] == 7) is not is_replaced


def test_a_file_that_is_read_later_is_refused_where_it_would_win(root: Root) -> None:
    names = {"version": 2, "cri": CRI[2]}
    lay(root, {ROOT_FILE: EARLIER.format(**names), "etc/containerd/conf.d/99-later.toml": LATER.format(**names)})
    wish = (
        Asked(cdi_spec_dirs=DIRS) if not root.version.startswith("1.6") else Asked(runtimes={"a": {"binary": BINARY}})
    )
    with pytest.raises(ConflictError) as caught:
        change(root, wish)
    key = "containerd.runtimes.a" if root.version.startswith("1.6") else "cdi_spec_dirs"
    masked = caught.value.details["masked"]
    assert isinstance(masked, dict)
    assert any(one.startswith(key) for one in masked["/etc/containerd/conf.d/99-later.toml"])


def test_a_validator_of_nri(root: Root) -> None:
    lay(root, {ROOT_FILE: "version = 2\n"})
    settings = {"enable": True, "reject_oci_hook_adjustment": True, "required_plugins": ["a"]}
    wish = Asked(nri=True, nri_validator=settings)
    if tuple(map(int, root.version.split("."))) < (2, 2):
        with pytest.raises(UnsupportedError):
            change(root, wish)
        return
    change(root, wish)
    status, dump, _error = root.dump()
    assert status == 0
    shown = toml.read(dump)["plugins"][NRI]["default_validator"]
    assert {key: shown[key] for key in settings} == settings


def test_what_the_daemon_shows_is_compared_with_what_is_asked(root: Root) -> None:
    """The rule that takes a change back sees the daemon's own words, in the form of each version."""
    lay(root, {ROOT_FILE: "version = 2\n"})
    wish = asked(root.version)
    change(root, wish)
    version = seen(root).version
    assert rules.lacking(wish, toml.read(root.dump()[1]), version) == []
    other = wish._replace(runtimes={"other": {"binary": BINARY}})
    assert any("other" in one for one in rules.lacking(other, toml.read(root.dump()[1]), version))
