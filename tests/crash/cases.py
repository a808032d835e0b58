# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cases of the crash tests."""

from __future__ import annotations

import os
import subprocess
from typing import Any, Optional

from ansible_collections.accelerator.ops.tests.crash.bench import Case
from ansible_collections.accelerator.ops.tests.crash.node import Node
from ansible_collections.accelerator.ops.tests.crash.small_use_case import PROGRAM

A, B, GONE = (f"/etc/modprobe.d/accelerator-ops-{name}.conf" for name in ("a", "b", "gone"))
HUMAN, DEEP, VALUE = "/etc/human.conf", "/etc/new/deep/er.conf", "/sys/fake/value"
PROGRAMS = ("groupadd", "groupdel", "derive")
"""Programs of the case EVERYTHING that can kill the module that started them."""
_USE_CASE = "tests.crash.small_use_case"


def human(node: Node) -> None:
    """What is there before us: a human's file with all that a file can have, and a link."""
    path = node.root / HUMAN[1:]
    path.write_text("his\n")
    os.chown(path, 12, 34)
    os.chmod(path, 0o640)
    os.setxattr(path, "user.note", b"\x00\xff")
    (node.root / "etc/link").symlink_to("/of/his")


def live(node: Node) -> None:
    """The same on a live node, with a value of the kernel, and a derived file made from what is there."""
    human(node)
    (node.root / "sys/fake").mkdir()
    (node.root / VALUE[1:]).write_text("10\n")
    (node.root / "etc/modprobe.d/his.conf").write_text("options his one=1\n")
    subprocess.run(["chroot", str(node.root), "/srv/derive"], check=True)


def files(wanted: dict[str, Optional[str]], **more: Any) -> dict[str, Any]:
    """A call that changes files and whatever else is named."""
    options = {name: more.pop(name) for name in ("run", "commit", "on_conflict") if name in more}
    return {"do": "change", "use_case": _USE_CASE, "wish": {"files": wanted, **more, **options}}


_MORE: dict[str, Any] = {"derived": {"derived": [PROGRAM, "/srv/derive"]}, "restarts": ["reader.service"]}
_FIRST = files({A: "one\n", GONE: "gone\n"}, links={"/etc/ours": "/a"})
_SECOND_FILES: dict[str, Optional[str]] = {A: "two\n", GONE: None, B: "b\n", DEEP: "deep\n" * 9000}
_SECOND = {"edits": {HUMAN: "ours"}, "links": {"/etc/ours": "/b", "/etc/more": "/c", "/etc/link": "/d"}}
_LIVE_FIRST = files({A: "one\n", GONE: "gone\n"}, groups={"earlier": True}, settings={VALUE: "15"}, **_MORE)
_LIVE_SECOND = files(
    {A: "two\n", GONE: None, B: "b\n", DEEP: "deep\n"},
    edits={HUMAN: "ours"},
    links={"/etc/ours": "/b"},
    groups={"earlier": False, "later": True},
    settings={VALUE: "20"},
    **_MORE,
)
_LONG = (
    files({A: "1\n", B: "b\n"}),
    files({A: "2\n", B: None, DEEP: "deep\n"}),
    files({A: "3\n", DEEP: None, GONE: "gone\n"}),
    files({A: "4\n", GONE: None}),
)

FILES = Case("files", human, (_FIRST,), (files(_SECOND_FILES, **_SECOND, on_conflict="overwrite"),))
FIRST_EVER = Case("first change ever", human, (), (files(_SECOND_FILES, edits={HUMAN: "ours"}),))
EVERYTHING = Case("everything", live, (_LIVE_FIRST,), (_LIVE_SECOND,), is_live=True)
BACK = Case("rollback", live, (_LIVE_FIRST, _LIVE_SECOND), ({"do": "rolled_back", "wish": {"to": 0}},), is_live=True)
TASKS = Case(
    "three tasks",
    live,
    (_LIVE_FIRST,),
    (
        files({A: "two\n", DEEP: "deep\n"}, commit="later", settings={VALUE: "20"}, **_MORE),
        files({A: "three\n", GONE: None}, commit="later", groups={"later": True}, **_MORE),
        {"do": "committed", "wish": {}},
    ),
    is_live=True,
)
PUT_BACK = Case(
    "put back",
    live,
    (_LIVE_FIRST,),
    (TASKS.calls[1], {"do": "put_back", "wish": {"restart": "always", "services": None}}),
    is_live=True,
)
FEW = Case(
    "few files",
    human,
    (files({A: "one\n", GONE: "gone\n"}),),
    (files({A: "two\n", GONE: None, "/etc/new/a.conf": "new\n"}, edits={HUMAN: "ours"}),),
)
FILES_BACK = Case(
    "rollback of files", human, (FEW.earlier[0], FEW.calls[0]), ({"do": "rolled_back", "wish": {"to": 0}},)
)
PRUNE = Case(
    "prune",
    human,
    _LONG,
    ({"do": "pruned", "wish": {"keep": 2}},),
    between=({"do": "pruned", "wish": {"keep": 3}},),
)
SEAL = Case("seal", human, _LONG, ({"do": "sealed", "wish": {}},))
SMALL = (FILES, FEW, FIRST_EVER, EVERYTHING, BACK, TASKS, PUT_BACK, PRUNE, SEAL)

_MAKERS = (
    "nvidia-t4-vm",
    "amd-mi300x-8gpu",
    "intel-max1550-4gpu",
    "habana-gaudi2-8",
    "aws-trn1-2xlarge",
    "huawei-ascend-vfio",
    "tenstorrent-n300-4card",
)
"""A machine of each maker that has one among the machine models."""


def _prepare(commit: str, **kernel: Any) -> dict[str, Any]:
    """What the role prepare calls, on a node where the wishes are those of its defaults and these."""
    told = {"blacklist_rivals": "auto", "load_now": False, **kernel}
    parts = {"kernel": told, "permissions": {"mode": "0660"}, "engines": {}, "cdi": {}}
    return {"do": "change", "module": "node_config", "wish": {**parts, "commit": commit}}


def _nothing(_node: Node) -> None:
    """A machine has what it needs."""


PREPARE = tuple(
    Case(
        f"prepare {name}",
        _nothing,
        (_prepare("now", blacklist=["nouveau"]),),
        (
            _prepare(
                "later",
                blacklist=["nova_core"],
                modules_load=["vfio-pci"],
                hugepages={"2M": 4},
                command_line=["iommu=pt"],
            ),
            {"do": "committed", "wish": {}},
        ),
        is_live=True,
        machine=name,
    )
    for name in _MAKERS
)
FIRST_PREPARE = tuple(one._replace(name=f"first {one.name}", earlier=()) for one in PREPARE)
MACHINES = (*FIRST_PREPARE, PREPARE[0])
