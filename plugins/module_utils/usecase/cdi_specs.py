# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which CDI specs this node should have, and which are there: one answer for the play, for the boot and for a check.

Looking changes nothing. ``wanted`` is pure: it makes the specs of what was seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from ..codec import cdi
from ..codec.document import NoYamlError
from ..host.door import Host
from ..model.cdi import ENDINGS, FOLDERS
from ..model.device import Row
from ..model.owner import Owner
from ..model.plan import Found, State
from ..vendor.cdi import LOADERS, Needs, Unit
from . import cdi_record
from .cdi_record import Record
from .facts import devices, pci

MODE = 0o644
"""Everybody may read a spec: rootless engines do."""

_OURS = re.compile(rf"accelerator-({'|'.join(LOADERS)})(-[a-z]+)?\.json\Z")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:-]*[A-Za-z0-9])?\Z")
_KIND = re.compile(r"""(?:^|[{,])[ \t]*["']?kind["']?\s*:\s*["']?([A-Za-z0-9_./-]+)""", re.MULTILINE)
_UNKNOWN = ""  # the kind of a file that cannot be read
_ALL = "all"
_GENERATE_SECONDS = 60.0
_ASK_SECONDS = 20.0


class Asked(NamedTuple):
    """What is wished for: of which makers (None: of those whose devices are here), where, made by whom, how."""

    makers: Optional[tuple[str, ...]] = None
    directory: str = FOLDERS[0]
    source: str = "auto"
    groups: bool = False

    def text(self) -> str:
        """The same as JSON, for the program that makes them."""
        return json.dumps(self._asdict(), sort_keys=True)


def asked(values: Mapping[str, Any]) -> Asked:
    """From options, or from what ``Asked.text`` gave."""
    makers = values["makers"]
    chosen = None if makers is None else tuple(sorted(set(makers)))
    return Asked(chosen, values["directory"].rstrip("/") or "/", values["source"], bool(values["groups"]))


class Look(NamedTuple):
    """What was seen of one maker.

    ``generator`` is the name of the maker's program where it is to be used, ``told`` the spec that it printed, or
    ``failure`` why there is none. ``owner`` is another tool that makes these specs, ``foreign`` are spec files of
    others with the same kind.
    """

    maker: str
    needs: tuple[Needs, ...] = ()
    generator: Optional[str] = None
    told: Optional[str] = None
    failure: Optional[str] = None
    owner: Optional[Owner] = None
    foreign: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """What is not there yet of its devices."""
        return tuple(path for one in self.needs for path in one.missing)


def look(host: Host, wish: Asked) -> Optional[tuple[Look, ...]]:
    """What every wished maker's devices need. None for a root that does not tell which devices there are."""
    if not host.list("/sys").value:
        return None
    functions, _reason = pci.functions(host)
    rows = devices.observe(host, functions or {}).rows
    others = foreign(host, wish.directory)
    found = []
    for maker in LOADERS:
        mine = [row for row in rows if row["maker"] == maker]
        if mine and (wish.makers is None or maker in wish.makers):
            found.append(_look(host, maker, mine, wish, others))
    return tuple(found)


def _look(host: Host, maker: str, rows: list[dict[str, Any]], wish: Asked, others: Mapping[str, str]) -> Look:
    aspect = LOADERS[maker]()
    _name_partitions(host, maker, rows)
    needs = aspect.needs(host, rows)
    if not any(one.units or one.missing for one in needs):
        needs = _without_driver(needs, rows)
    kinds = {one.kind for one in needs if one.units}
    seen = Look(
        maker,
        needs,
        owner=aspect.owner(host),
        foreign=tuple(path for path, kind in others.items() if kind in kinds),
    )
    unread = next((path for path, kind in others.items() if kind == _UNKNOWN), None)
    if not kinds or seen.owner is not None or seen.foreign:
        return seen
    if unread is not None:
        return seen._replace(failure=f"{unread} cannot be read, and may have the same kind")
    if wish.source != "own":
        seen = _generated(host, seen, aspect.generator, is_wished=wish.source == "maker")
    unknown = next((one.failure for one in needs if one.units and one.failure), None)
    return seen._replace(failure=seen.failure or unknown) if seen.told is None else seen


def _without_driver(needs: tuple[Needs, ...], rows: Sequence[Row]) -> tuple[Needs, ...]:
    """Where no device of the maker has its driver, it may come later: they are missing then."""
    absent = tuple(f"driver of {row['id']}" for row in rows if not (row["driver"] or {}).get("name"))
    return (needs[0]._replace(missing=absent), *needs[1:])


def _name_partitions(host: Host, maker: str, rows: list[dict[str, Any]]) -> None:
    """The maker's own ids of partitions, which often its tool alone tells."""
    nameless = [row for row in rows if any(one["uuid"] is None and one["nodes"] for one in row["partitions"] or ())]
    if not nameless or not host.is_node:
        return
    from ..vendor.tools import Tools, tool_of  # where there are some only

    ask = tool_of(maker)
    heard = None if ask is None else ask(Tools(host, _ASK_SECONDS), {row["id"]: row for row in rows})
    for row in nameless if heard is not None else ():
        told = heard.values.get(row["id"], {}).get("partitions") or () if heard is not None else ()
        if len(told) == len(row["partitions"]):  # both in the order of their instances
            for partition, more in zip(row["partitions"], told):
                partition["uuid"] = partition["uuid"] or more.get("uuid")


def _generated(host: Host, seen: Look, argv: tuple[str, ...], is_wished: bool) -> Look:
    """With what the maker's generator prints, where it is there."""
    from ..vendor.tools import Tools, read_json

    name = argv[0] if argv else "a generator of this maker"
    tools = Tools(host, _GENERATE_SECONDS)
    path = tools.find(argv[0]) if argv and host.is_node else None
    if path is None:
        return seen._replace(generator=name, failure=f"{name} is not installed") if is_wished else seen
    said = tools.run(name, *argv[1:], path=path)
    if said.reason is not None:
        return seen._replace(generator=name, failure=said.why)
    try:
        text = json.dumps(read_json(said.text))
        spec = cdi.parse(text)
    except ValueError as error:
        return seen._replace(generator=name, failure=f"{name} printed no spec ({error})")
    if spec.kind != seen.needs[0].kind:
        return seen._replace(generator=name, failure=f"{name} printed a spec of {spec.kind}")
    return seen._replace(generator=name, told=text)


def foreign(host: Host, directory: str) -> dict[str, str]:
    """The spec files of others beside those in the places of ours (``taken``), by path with their kind."""
    record = cdi_record.read(host)
    here = present(host, directory, record)
    mine = {cdi_record.real(host, path) for path in (*places(directory), *ours(host, here, record))}
    found: dict[str, str] = {}
    for path in files(host, directory):
        if path.endswith(ENDINGS) and cdi_record.real(host, path) not in mine:
            status, _reason = host.status(path)
            if status is None or status.kind != "file":
                continue  # nobody opens a FIFO: its writer would notice
            text = host.read(path).value
            kind = _UNKNOWN if text is None else _kind(text)
            if kind is not None:
                found[path] = kind
    return found


def _kind(text: str) -> Optional[str]:
    """The kind of a spec. One that no loader takes counts too: a small change makes it a spec."""
    try:
        return cdi.parse(text).kind
    except (cdi.SpecError, NoYamlError):
        told = _KIND.search(text)
        return told[1] if told else None


def files(host: Host, *more: str) -> Iterator[str]:
    """The files in the usual folders of specs and in more; a folder that has two names is looked at once."""
    seen = set()
    for folder in dict.fromkeys((*FOLDERS, *more)):
        real = host.resolve(folder).value
        if real is None or real in seen:
            continue
        seen.add(real)
        for name in host.list(folder).value or ():
            yield f"{folder}/{name}"


def present(host: Host, directory: str, record: Record) -> dict[str, Found]:
    """What is there that is called as a spec of ours, in any folder of specs, and where we made some once."""
    real, found = host.resolve(directory).value, {}
    for path in files(host, directory, *(path.rpartition("/")[0] for path in record.digests)):
        folder, _slash, name = path.rpartition("/")
        if _OURS.match(name):
            path = f"{directory}/{name}" if host.resolve(folder).value == real else path
            found[path] = _found(host, path)
    return found


def ours(host: Host, here: Mapping[str, Found], record: Record) -> frozenset[str]:
    """Those that are as the program made them. Where its record cannot be read, the name has to do."""
    is_known = record.reason is None
    return frozenset(path for path in here if not is_known or record.has(cdi_record.real(host, path), here[path]))


def taken(wanted: Mapping[str, str], here: Mapping[str, Found], mine: Iterable[str]) -> dict[str, str]:
    """The places of wanted specs where something else is, with what it is."""
    found = {}
    for path in wanted.keys() & here.keys() - set(mine):
        if not is_right(here[path], wanted[path]):
            kind = here[path].state.kind
            found[path] = "edited by somebody or not made by this collection" if kind == "file" else f"a {kind}"
    return dict(sorted(found.items()))


def wrong(wanted: Mapping[str, str], here: Mapping[str, Found], mine: Iterable[str]) -> list[str]:
    """The wanted specs that are missing or stale, other than those in whose places something else is."""
    left = taken(wanted, here, mine)
    return [path for path in wanted if path not in left and not is_right(here.get(path, Found()), wanted[path])]


def over(looks: Iterable[Look], wanted: Mapping[str, str], mine: Iterable[str]) -> list[str]:
    """The specs of ours that are to go. What is unknown after a failure stays as it was.

    A name that is in two files resolves to nothing: so they go at once.
    """
    failed = tuple(f"accelerator-{one.maker}" for one in looks if one.failure is not None)
    return sorted(path for path in mine if path not in wanted and not path.rpartition("/")[2].startswith(failed))


def obstacle(host: Host, directory: str) -> Optional[str]:
    """What keeps a folder of specs from being one; None: nothing does."""
    parts = directory.split("/")
    for depth in range(2, len(parts) + 1):
        path = "/".join(parts[:depth])
        if not host.exists(path):
            return None if host.link(path).value is None else f"{path} is a link that leads nowhere"
        status, _reason = host.status(path)
        if status is not None and status.kind != "dir":
            return f"{path} is a {status.kind}"
    real = host.real_path(directory)
    return f"{directory} leads to {real}" if is_kernels(real) else None


def is_kernels(directory: str) -> bool:
    """Whether a folder is one that the kernel fills, or the root."""
    return directory.split("/")[1] in ("", "dev", "proc", "sys")


def _found(host: Host, path: str) -> Found:
    """What is at a path, as far as it tells whether a spec is right; of a recording too."""
    target = host.link(path).value
    if target is not None:
        return Found(State("link", target=target))
    status, _reason = host.status(path)
    if status is None:
        return Found()
    content, _reason = host.read_bytes(path) if status.kind == "file" else (b"", None)
    return Found(State(status.kind, status.mode, status.uid, status.gid), content or b"")


def is_right(found: Found, text: str) -> bool:
    """Whether what is at a path is this spec, for everybody to read."""
    return found.state.kind == "file" and found.state.mode == MODE and found.content == text.encode()


def wanted(looks: Iterable[Look], wish: Asked) -> dict[str, str]:
    """The spec files that there should be: text by path. None of a maker whose specs are another's."""
    return {path: cdi.render(spec) for path, spec in specs(looks, wish).items()}


def specs(looks: Iterable[Look], wish: Asked) -> dict[str, cdi.Spec]:
    """As ``wanted``, as specs."""
    found = {}
    for one in looks:
        if one.owner is not None or one.foreign or one.failure is not None:
            continue
        for number, needs in enumerate(one.needs):
            if needs.units:
                told = one.told if number == 0 else None
                found[_place(wish.directory, one.maker, number, needs.kind)] = _spec(needs, told, wish.groups)
    return found


def places(directory: str) -> list[str]:
    """Every spec file that could be made."""
    kinds = {maker: load().kinds for maker, load in LOADERS.items()}
    return [_place(directory, maker, *one) for maker, some in kinds.items() for one in enumerate(some)]


def _place(directory: str, maker: str, number: int, kind: str) -> str:
    """The file of a maker's kind: its first one has no ending."""
    ending = f"-{kind.partition('/')[2]}" if number else ""
    return f"{directory}/accelerator-{maker}{ending}.json"


def _spec(needs: Needs, told: Optional[str], with_groups: bool) -> cdi.Spec:
    """Ours, or the maker's with our names beside its own. At the lowest version that its fields need."""
    spec = _own(needs, with_groups) if told is None else _named(cdi.parse(told), needs)
    return spec._replace(version=cdi.needed_version(spec))


def _own(needs: Needs, with_groups: bool) -> cdi.Spec:
    gids = needs.gids if with_groups else {}
    shared = cdi.Edits(needs.env, _nodes(needs.shared), (), needs.hooks, needs.mounts, None, _some(gids, needs.shared))
    every = Unit((_ALL,), tuple(dict.fromkeys(path for unit in needs.units for path in unit.nodes)))
    found: dict[str, cdi.Device] = {}
    for unit in (*needs.units, every):
        edits = cdi.Edits(nodes=_nodes(unit.nodes), additional_gids=_some(gids, unit.nodes))
        for name in unit.names:
            if _NAME.match(name):
                found.setdefault(name, cdi.Device(name, edits))
    return cdi.Spec(cdi.VERSIONS[0], needs.kind, tuple(found.values()), shared)


def _nodes(paths: Iterable[str]) -> tuple[cdi.Node, ...]:
    """Without numbers: the engine looks at the file when a container starts, and so they are never stale."""
    return tuple(cdi.Node(path, permissions="rw") for path in paths)


def _some(gids: Mapping[str, int], paths: Iterable[str]) -> tuple[int, ...]:
    return tuple(sorted({gids[path] for path in paths if path in gids}))


def _named(spec: cdi.Spec, needs: Needs) -> cdi.Spec:
    """The maker's spec with our names: each on the maker's device that has the same device files and the fewest more.

    A device that the maker leaves out (one that has partitions) is made as in a spec of our own.
    """
    known = {device.name: device for device in spec.devices}
    paths = {
        name: {node.path for edits in (device.edits, spec.edits) for node in edits.nodes}
        for name, device in known.items()
        if name != _ALL
    }
    for device in _own(needs, False).devices:
        if device.name in known:
            continue
        mine = {node.path for node in device.edits.nodes}
        fitting = [name for name, theirs in paths.items() if mine <= theirs]
        if fitting and device.name != _ALL:
            device = known[min(fitting, key=lambda name: len(paths[name]))]._replace(name=device.name)
        known[device.name] = device
    return spec._replace(devices=tuple(known.values()))
