# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""containerd: the one of the node, and those that k3s and rke2 bring along.

Our own drop-in carries what is asked. Where nothing imports its folder, one entry of ``imports`` in the root file does,
and that is the only line of a human's that is touched. Facts of 1.6.20 to 2.4.2, read and tried 2026-12.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, Optional

from ..codec import toml, toml_edit
from ..host import command, disk
from ..host.door import Host
from ..model.errors import ConflictError, InputError, ProbeError, UnsupportedError, VerifyError
from ..model.plan import Found, Plan, Restart, file_step
from . import containerd_merge as rules
from . import service as services
from .asked import OWNED, VALIDATOR_KEYS, Asked, remembered
from .containerd_merge import Document
from .kinds import KINDS, Kind, Version, has
from .others import masked
from .running import Running, from_crictl
from .service import ASK_SECONDS, SHIMS, Service, told
from .values import unfit

NAME = "90-accelerator-ops.toml"
FOLDER = "/etc/containerd/conf.d"
PATTERN = f"{FOLDER}/*-accelerator-ops.toml"
"""What is added to ``imports``. A file named there must exist, a pattern need not match; and it means no other file."""

_NOTE = "accelerator.ops"
_NRI_SOCKET = "/var/run/nri/nri.sock"


class Seen(NamedTuple):
    """A containerd that is here.

    ``order`` are the files in the order of their reading, our own at its place there (or where it would be), with
    ``is_imported``. ``documents`` are all others that could be read. ``problem`` says why the files cannot be used,
    ``folder`` is where our file belongs, None where there is no such place. ``stale`` is our file where it no longer
    belongs. ``dump`` is the configuration as the daemon makes it, where it could be asked, ``silence`` why its program
    gives no answer.
    """

    name: str
    service: Optional[Service]
    binary: str
    version: Optional[Version]
    root: str
    root_found: Found
    order: tuple[str, ...]
    documents: tuple[Document, ...]
    is_imported: bool
    problem: Optional[str]
    folder: Optional[str]
    ours: Found
    stale: Optional[tuple[str, Found]] = None
    dump: Optional[str] = None
    dump_problem: Optional[str] = None
    silence: Optional[str] = None

    @property
    def ours_path(self) -> str:
        """Where our file is, or would be."""
        return f"{self.folder or FOLDER}/{NAME}"

    @property
    def is_missed(self) -> bool:
        """Whether the root imports our file by the entry that is added for it, and it is not there."""
        return self.is_imported and PATTERN.encode() in self.root_found.content and self.ours.state.kind == "absent"

    @property
    def config_version(self) -> int:
        """The version of the root file. Where there is none: the one that every daemon of its kind takes."""
        for document in self.documents:
            if document.path == self.root:
                return document.version
        return 3 if self.version is not None and self.version >= rules.MERGES else 2


def look(host: Host, name: str) -> Optional[Seen]:
    """What is found of a containerd, or None where there is none. Raises ProbeError."""
    kind = KINDS[name]
    daemon = services.daemon(host, kind)
    if daemon is None:
        return None
    service, binary, version = daemon
    root = (None if kind.embedded is not None or service is None else service.flag("--config", "-c")) or kind.config
    found = disk.found(host, root)
    if found.state.kind == "link":
        found = found._replace(content=(host.read_bytes(root)[0] or b""))
    table, problem = ({}, None) if found.state.kind == "absent" else _read(root, found.content)
    folder = _folder(root, table, kind, version)
    reader = _Reader(host, f"{folder or FOLDER}/{NAME}", version)
    reader.read(root, table, found.state.kind != "absent")
    old = f"{FOLDER}/{NAME}"
    stale = (old, disk.found(host, old)) if folder not in (None, FOLDER) and kind.embedded is None else None
    dump = dump_problem = None
    silence = services.silence(host, binary)
    if silence is None and found.state.kind != "absent" and not (problem or reader.problem):
        # From 2.0 to 2.2 dump passes over what a root of version 2 says, which the daemon does not, nor migrate.
        show = "migrate" if version is not None and version >= rules.MERGES else "dump"
        argv = (binary, "--config", root, "config", show)
        ran = command.run(host, argv, ASK_SECONDS)
        silence = services.silence(host, *argv)
        if ran.reason is None:
            dump = ran.stdout
        elif silence is None:
            dump_problem = _words(host, argv) or ran.reason
    return Seen(
        name,
        service,
        binary,
        version,
        root,
        found,
        *reader.result(),
        problem or reader.problem,
        folder,
        disk.found(host, reader.ours),
        stale if stale is not None and stale[1].state.kind != "absent" else None,
        dump,
        # a root that is not running here has not been asked, and that is no fault of its configuration
        dump_problem if host.is_live else None,
        silence,
    )


def _words(host: Host, argv: Sequence[str]) -> Optional[str]:
    """What a program that fails says last: its warnings come before its error."""
    ran = command.run(host, ("sh", "-c", 'exec "$@" 2>&1 >/dev/null', "sh", *argv), ASK_SECONDS)
    lines = ran.stdout.strip().splitlines()
    return lines[-1][:300] if lines else None


def _read(path: str, content: bytes) -> tuple[dict[str, Any], Optional[str]]:
    """A file of containerd, and why it cannot be used."""
    try:
        table = toml.read(content.decode())
    except ValueError as error:
        return {}, f"{path} is {_what(content)} ({error})"
    wrong = unfit(table, rules.FORM)
    return (table, None) if wrong is None else ({}, f"in {path} {wrong}")


def _what(content: bytes) -> str:
    if b"{{" in content or b"{%" in content:
        return "a template, which its own program renders"
    if content.lstrip()[:1] == b"{":
        return "JSON"
    return "no TOML"


def _folder(root: str, table: Mapping[str, Any], kind: Kind, daemon: Optional[Version]) -> Optional[str]:
    """Where our file belongs: the first folder that the root imports all of, else ours (an embedded one has none)."""
    for pattern in _imports(table):
        folder, _slash, leaf = _absolute(root, pattern).rpartition("/")
        if leaf == "*.toml" and "*" not in folder and _is_clear(pattern, daemon):
            return folder
    return FOLDER if kind.embedded is None else None


def _is_clear(pattern: str, daemon: Optional[Version]) -> bool:
    """Whether a pattern means the same to all releases that the daemon may be."""
    return pattern.startswith("/") or (daemon is not None and daemon >= rules.MERGES)


def _imports(table: Mapping[str, Any]) -> list[str]:
    said = table.get("imports")
    return [one for one in said if isinstance(one, str)] if isinstance(said, list) else []


def _absolute(parent: str, path: str) -> str:
    whole = path if path.startswith("/") else f"{parent.rpartition('/')[0]}/{path}"
    parts: list[str] = []
    for part in whole.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


class _Reader:
    """Reads files as the daemon does: each file's imports after all that waits already, each file once.

    A relative pattern means files beside the importing one; 1.6.20 and 1.7.0 took it from the folder that they were
    started in, 1.6.38 and 1.7.35 do not.
    """

    def __init__(self, host: Host, ours: str, daemon: Optional[Version]) -> None:
        self.host = host
        self.ours = ours
        self.daemon = daemon
        self.order: list[str] = []
        self.documents: list[Document] = []
        self.problem: Optional[str] = None
        self.would_be = 1

    def read(self, root: str, table: Mapping[str, Any], is_there: bool) -> None:
        version = rules.taken_as(rules.version_of(table, 1), self.daemon)
        pending: list[tuple[str, Optional[Mapping[str, Any]]]] = [(root, table)]
        while pending:
            path, known = pending.pop(0)
            if path in self.order:
                continue
            self.order.append(path)
            if path == self.ours:
                continue
            if known is None:
                known = self.import_of(path)
            # An empty root has a version too, and imports once it is edited; an empty import says nothing.
            if known or (path == root and is_there):
                said = rules.taken_as(rules.version_of(known, version), self.daemon)
                self.documents.append(Document(path, known, said))
            for pattern in _imports(known):
                is_clear = self.is_clear(path, pattern)
                pending += [(one, None) for one in self.matches(_absolute(path, pattern), counts_ours=is_clear)]
            if path == root:
                self.would_be = 1 + len(dict.fromkeys(one for one, _known in pending if one != root))

    def is_clear(self, parent: str, pattern: str) -> bool:
        """Whether a pattern means one thing to all releases; a problem where files are there that only some read."""
        if "*" not in pattern or _is_clear(pattern, self.daemon):
            return True
        if self.matches(_absolute(parent, pattern), False) != self.matches(_absolute("/", pattern), False):
            found = f"{pattern} in {parent} means other files to some releases before 2.0"
            self.problem = self.problem or f"{found}; write it with its whole path"
        return False

    def import_of(self, path: str) -> Mapping[str, Any]:
        text, reason = self.host.read(path)
        if text is None:
            self.problem = self.problem or f"{path}, which is imported, {reason}"
            return {}
        table, problem = _read(path, text.encode())
        self.problem = self.problem or problem
        return table

    def matches(self, pattern: str, counts_ours: bool) -> list[str]:
        """The files that an entry of ``imports`` means; with ``counts_ours`` our own counts as there."""
        if "*" not in pattern:
            return [pattern]
        found = [""]
        parts = pattern.split("/")[1:]
        for number, part in enumerate(parts):
            here = []
            for folder in found:
                if not re.search(r"[*?\[]", part):
                    here.append(f"{folder}/{part}")
                    continue
                names = set(self.host.list(folder or "/").value or ())
                here += [f"{folder}/{name}" for name in sorted(names) if fnmatchcase(name, part)]
            found = here if number == len(parts) - 1 else [one for one in here if self.host.exists(one)]
        pairs = list(zip(self.ours.split("/"), pattern.split("/")))
        is_as_deep = self.ours.count("/") == pattern.count("/")
        if counts_ours and is_as_deep and all(fnmatchcase(*pair) for pair in pairs):
            found = sorted({*found, self.ours})
        return found

    def result(self) -> tuple[tuple[str, ...], tuple[Document, ...], bool]:
        """The order with our file in it, the other documents, and whether our file is imported now."""
        is_imported = self.ours in self.order
        if not is_imported:
            self.order.insert(min(self.would_be, len(self.order)), self.ours)
        return tuple(self.order), tuple(self.documents), is_imported


def is_served(seen: Seen) -> bool:
    """Whether this containerd serves Kubernetes; one that serves Docker alone has nothing to be configured."""
    return not rules.is_cri_off(seen.documents)


def plan(seen: Seen, given: Asked, imports: str) -> Plan:
    """What is to be done. Raises InputError, UnsupportedError, ConflictError, and VerifyError where all is done and the
    daemon shows something else."""
    _usable(seen)
    asked = given.over(remembered(seen.ours))
    _supported(seen, asked)
    version = seen.config_version
    changes = rules.needed(asked, rules.effective(seen.documents, seen.version, version), seen.version, version)
    place = seen.order.index(seen.ours_path)
    earlier = [one for one in seen.documents if seen.order.index(one.path) < place]
    later = [one for one in seen.documents if seen.order.index(one.path) > place]
    _may_win(seen, changes, later)
    content: Optional[bytes] = None
    if changes:
        _one_version(seen)
        content = rules.drop_in(asked, changes, earlier, seen.version, version).encode()
    steps = file_step(seen.ours_path, seen.ours, content, f"what is asked of {seen.name}")
    if seen.stale is not None:
        steps += file_step(seen.stale[0], seen.stale[1], None, f"the file belongs to {seen.folder}")
    steps += _root_step(seen, bool(changes), imports)
    if not steps:
        _shown(seen, asked)
        return Plan()
    service = seen.service
    return Plan(steps, restarts=(_restart(seen.name, service),) if service is not None and service.is_active else ())


def _usable(seen: Seen) -> None:
    """Raises InputError for files that the daemon, or we, cannot take, ProbeError where it cannot be asked."""
    if seen.problem is not None:
        expected = "TOML that the daemon reads"
        raise InputError("configure", seen.name, seen.problem, expected, "mend that, or leave it out of engines")
    services.answers(seen.name, seen.silence)
    if seen.dump_problem is not None:
        step = "mend what it names"
        raise InputError("configure", seen.name, seen.dump_problem, "a configuration that it loads", step)
    if seen.folder is None:
        is_there = seen.root_found.state.kind != "absent"
        found = f"{seen.root} imports no folder" if is_there else f"no {seen.root}"
        step = "update it (k3s and rke2 of 2026-02 and later have one)" if is_there else "start it once"
        raise UnsupportedError("configure", seen.name, found, "an import folder of its own", step)
    newest = 4 if seen.version is None else rules.newest_config(seen.version)
    if seen.config_version > newest:
        found = f"version {seen.config_version} in {seen.root}, and containerd {told(seen.version)}"
        step = "write it for this containerd: it passes over what it does not know"
        raise UnsupportedError("configure", seen.name, found, f"version {newest} or lower", step)
    if seen.version is None and not rules.is_merging(None, seen.config_version):
        several = [one.path for one in seen.documents if rules.tables_of(one, None)]
        if len(several) > 1:
            found = f"one of unknown version, and {len(several)} files with the same tables"
            raise UnsupportedError("configure", seen.name, found, "a known version", "do it on the running node")


def _supported(seen: Seen, asked: Asked) -> None:
    """Raises UnsupportedError for what this version does not have, InputError for unknown settings."""
    strange = sorted(set(asked.nri_validator or ()) - set(VALIDATOR_KEYS))
    if strange:
        expected = f"some of {', '.join(VALIDATOR_KEYS)}"
        raise InputError("set", "nri_validator", f"setting {', '.join(strange)}", expected, "correct it")
    if asked.cdi is False:
        _can_turn_off(seen)
    first = KINDS[seen.name].since
    wants = (
        (bool(asked.cdi or asked.cdi_spec_dirs), "CDI", first.cdi),
        (bool(asked.nri), "NRI", first.nri),
        (bool(asked.nri_validator), "a validator of NRI", first.validator),
    )
    for is_wanted, what, since in wants:
        if is_wanted and has(seen.version, since) is False:
            step = f"update it, or leave {seen.name} out of engines"
            raise UnsupportedError(
                "turn on", f"{what} in {seen.name}", told(seen.version), f"{told(since)} or later", step
            )


def _can_turn_off(seen: Seen) -> None:
    if seen.version is not None and seen.version >= rules.CDI_ALWAYS:
        step = f"set cdi to true, or leave {seen.name} out of engines"
        raise UnsupportedError("turn off", f"CDI in {seen.name}", told(seen.version), "one before 2.4", step)


def _one_version(seen: Seen) -> None:
    """Raises ConflictError where files differ in their version, and the daemon loses settings silently by that."""
    if seen.version is not None and seen.version >= rules.MIGRATES_EACH:
        return
    others = {one.path: one.version for one in seen.documents if one.version != seen.config_version}
    for path, version in others.items():
        found = f"version {version} in {path}, version {seen.config_version} in {seen.root}"
        step = "give that file the version of the root, and the plugin names of that version"
        raise ConflictError("configure", seen.name, found, "one version in all files", step)


def _may_win(seen: Seen, changes: rules.Tables, later: Sequence[Document]) -> None:
    """Raises ConflictError where a file that is read after ours would undo what ours says."""
    found = rules.overruled(changes, later, seen.version, seen.config_version)
    if found:
        raise masked(seen.name, {path: sorted(set(keys)) for path, keys in found.items()}, NAME)


def _root_step(seen: Seen, is_needed: bool, imports: str) -> tuple[Any, ...]:
    """The edit of ``imports``, the root file where there is none, or what takes them back where they are ours."""
    minimal = _minimal(seen)
    kind = seen.root_found.state.kind
    why = "the drop-in is read"
    if is_needed and kind == "absent":
        return file_step(seen.root, seen.root_found, minimal, why)
    if is_needed and seen.is_imported:
        return ()
    if not is_needed and seen.root_found.content == minimal:
        return file_step(seen.root, seen.root_found, None, "nothing is asked any more")
    if not is_needed and not (kind == "file" and PATTERN.encode() in seen.root_found.content):
        return ()
    text = seen.root_found.text()
    entry = f'"{PATTERN}" in imports of {seen.root}'
    if is_needed and imports == "refuse":
        found, step = f"{seen.root} imports no folder of drop-ins", f"add {entry}, or set imports to edit"
        raise ConflictError("configure", seen.name, found, "one that is imported", step)
    if kind != "file":
        found, step = f"{seen.root} is a {kind}", f"have {entry} where it is made"
        raise ConflictError("edit", seen.root, found, "a file", step)
    change = toml_edit.added if is_needed else toml_edit.removed
    new = change(text, "imports", PATTERN, _NOTE)
    if new is None and is_needed:
        found, step = "imports in a form that is not edited safely", f"add {entry} by hand"
        raise ConflictError("edit", seen.root, found, "a list in brackets", step)
    if new is None:
        return ()  # an entry that matches no file does no harm
    return file_step(
        seen.root, seen.root_found, new.encode(), why if is_needed else "nothing is asked any more", is_edit=True
    )


def _minimal(seen: Seen) -> bytes:
    """The root file where there is none. It reads no other drop-ins: those that were not read before stay unread."""
    version = 2 if seen.version is None or seen.version < rules.MERGES else 3
    head = "The daemon reads drop-ins only where this file is."
    return f'{OWNED}# {head}\nversion = {version}\nimports = ["{PATTERN}"]\n'.encode()


def _restart(name: str, service: Service) -> Restart:
    why = f"{name} reads its configuration at its start"
    if "server" in service.name or service.name == "k3s.service":
        return Restart(service.name, f"{why}, and is the control plane too")
    if service.kill_mode == "process":
        return Restart(service.name, why, True)
    return Restart(service.name, f"{why}, and with KillMode={service.kill_mode} that ends every container", busy=SHIMS)


def _shown(seen: Seen, asked: Asked) -> None:
    """Raises VerifyError where the daemon itself makes something else of the files."""
    if seen.dump is None:
        return
    try:
        left = rules.lacking(asked, toml.read(seen.dump), seen.version)
    except ValueError as error:
        raise ProbeError("read", f"what {seen.binary} says", str(error), "TOML", "look at it by hand") from None
    if left:
        found = f"{seen.binary} itself shows otherwise: {', '.join(left)}"
        step = "see which file is read after it"
        raise VerifyError("configure", seen.name, found, "what is asked", step, {"lacking": left})


def ask(host: Host, seen: Seen) -> Optional[Running]:
    """Ask the running daemon (``crictl info``), not its files. NRI is on where its socket is. None where none runs."""
    if seen.service is None or not seen.service.is_active:
        return None
    tables = rules.effective(seen.documents, seen.version, seen.config_version)
    status, _reason = host.status(str(tables[rules.NRI].get("socket_path") or _NRI_SOCKET))
    has_socket = status is not None and status.kind == "socket"
    kind = KINDS[seen.name]
    endpoint = kind.socket
    if kind.embedded is None:
        endpoint = seen.service.flag("--address", "-a") or endpoint
    ran = command.run(host, ("crictl", "--runtime-endpoint", f"unix://{endpoint}", "info"), ASK_SECONDS)
    if ran.reason is not None:
        return Running(nri=has_socket).told(ran.reason, "mend that crictl can be run here")
    return from_crictl(ran.stdout, has_socket, seen.version is not None and seen.version >= rules.CDI_ALWAYS)
