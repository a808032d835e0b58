# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Carries a grub.cfg out as far as its menu, to tell which entry GRUB starts next.

The script is followed with three-valued logic: what only the firmware or a key press decides is unknown,
and an answer that depends on it is refused. Sources, read 2026-11: GRUB 2.12 manual (script language,
environment block) and ``normal/menu.c``; ``blscfg.c`` of Fedora's GRUB 2.06.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Optional, Union

from ..model.answer import MISSING, Answer
from .boot_entry import DEVICE, IMAGE, Kernel, Snippet, Undecidable, snippet_kernel


class Entry(NamedTuple):
    """A GRUB menu entry or, with ``body`` a block and ``is_submenu``, a submenu."""

    title: str
    id: str
    is_submenu: bool
    is_certain: bool
    body: Sequence[Node]
    variables: Mapping[str, Optional[str]]
    kernel: Optional[Kernel]


class Files(NamedTuple):
    """What GRUB can reach: files in its own folder, and the entries that ``blscfg`` would list."""

    folder: str
    read: Callable[[str], Answer]
    snippets: Callable[[], Sequence[Snippet]]


# --- script to tree ----------------------------------------------------------------------

_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|\\\n)"
    r"|(?P<comment>\#[^\n]*)"
    r"|(?P<end>[\n;])"
    r"|(?P<word>(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|\$\{[^}\n]*\}|[^\s;'\"\\])+)",
    re.DOTALL,
)
_PART = re.compile(
    r"'(?P<plain>[^']*)'|\"(?P<quoted>(?:\\.|[^\"\\])*)\"|\\(?P<escaped>.)|(?P<bare>(?:\$\{[^}\n]*\}|[^'\"\\])+)",
    re.DOTALL,
)
_ASSIGNMENT = re.compile(r"(?P<name>\w+)=(?P<value>.*)\Z", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>[^}]*)\}|(?P<name>\w+|\?))")
_NUMBER = re.compile(r"[0-9]{1,9}\Z")
_MAX_DEPTH = 40


class Command(NamedTuple):
    """A command with its words as written."""

    words: tuple[str, ...]


class Choice(NamedTuple):
    """``if``: pairs of condition and block; the condition of ``else`` is empty."""

    branches: tuple[tuple[tuple[Node, ...], tuple[Node, ...]], ...]


class Block(NamedTuple):
    """A command that ends in a block: ``menuentry``, ``submenu``, ``function``; or a loop."""

    words: tuple[str, ...]
    body: tuple[Node, ...]


Node = Union[Command, Choice, Block]


def parse_grub(text: str) -> tuple[Node, ...]:
    """The statements of a grub.cfg. ValueError where a quote, block or condition does not end."""
    tokens: list[str] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"a quote is not closed in line {text.count(chr(10), 0, at) + 1}")
        at = token.end()
        if token.lastgroup == "end":
            tokens.append("\n")
        elif token.lastgroup == "word":
            tokens.append(token.group())
    reader = _Reader(tokens)
    nodes = reader.block((), 0)
    if reader.at < len(tokens):
        raise ValueError(f"unexpected {tokens[reader.at]!r}")
    return nodes


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0

    def block(self, ends: tuple[str, ...], depth: int) -> tuple[Node, ...]:
        """Statements up to one of the words ``ends``, which is left to read."""
        if depth > _MAX_DEPTH:
            raise ValueError("blocks are nested too deeply")
        nodes: list[Node] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token in ends:
                return tuple(nodes)
            if token == "\n":
                self.at += 1
            elif token == "if":
                nodes.append(self._choice(depth))
            elif token in ("while", "until", "for"):
                # What a loop leaves behind is not followed: it is kept as a block whose outcome is open.
                self.at += 1
                head = self.block(("do",), depth + 1)
                self._expect("do")
                body = self.block(("done",), depth + 1)
                self._expect("done")
                nodes.append(Block((token,), head + body))
            elif token in ("}", "then", "elif", "else", "fi", "do", "done"):
                raise ValueError(f"unexpected {token!r}")
            else:
                nodes.append(self._command(depth))
        if ends:
            raise ValueError(f"{ends[0]!r} is missing")
        return tuple(nodes)

    def _expect(self, word: str) -> None:
        if self.at >= len(self.tokens) or self.tokens[self.at] != word:
            raise ValueError(f"{word!r} is missing")
        self.at += 1

    def _choice(self, depth: int) -> Choice:
        branches: list[tuple[tuple[Node, ...], tuple[Node, ...]]] = []
        self._expect("if")
        while True:
            condition = self.block(("then",), depth + 1)
            self._expect("then")
            branches.append((condition, self.block(("elif", "else", "fi"), depth + 1)))
            word = self.tokens[self.at]
            self.at += 1
            if word == "else":
                branches.append(((), self.block(("fi",), depth + 1)))
                self._expect("fi")
            if word != "elif":
                return Choice(tuple(branches))

    def _command(self, depth: int) -> Node:
        words: list[str] = []
        while self.at < len(self.tokens) and self.tokens[self.at] != "\n":
            token = self.tokens[self.at]
            if token == "{":
                self.at += 1
                body = self.block(("}",), depth + 1)
                self._expect("}")
                return Block(tuple(words), body)
            if token == "}":
                break
            words.append(token)
            self.at += 1
        return Command(tuple(words))


# --- tree to menu ------------------------------------------------------------------------

# Set by GRUB itself; whether it is 2.00 or later decides, and all in use are.
_FEATURES = (
    "feature_chainloader_bpb",
    "feature_ntldr",
    "feature_platform_search_hint",
    "feature_default_font_path",
    "feature_all_video_module",
    "feature_menuentry_id",
    "feature_menuentry_options",
    "feature_200_final",
    "feature_nativedisk_cmd",
    "feature_timeout_style",
)
# Known to the running GRUB only.
_FIRMWARE = ("?", "grub_platform", "grub_cpu", "root", "config_file", "cmdpath", "lockdown", "shim_lock", "secure_boot")
_KERNEL_COMMANDS = ("linux", "linux16", "linuxefi")
_XEN_COMMANDS = ("module", "module2")


class GrubMenu:
    """A grub.cfg carried out as far as its menu: entries in order, and the variable ``default``."""

    def __init__(self, text: str, files: Files) -> None:
        self._files = files
        self._hidden: Optional[str] = None  # why any variable that is not set here may still be set
        self._depth = 0
        self.variables: dict[str, Optional[str]] = dict.fromkeys(_FEATURES, "y")
        self.variables.update(dict.fromkeys(_FIRMWARE))
        self.variables.update(prefix=files.folder, config_directory=files.folder)
        self.entries: list[Entry] = []
        self._found: list[str] = []  # kernels of the entry that is being carried out
        self._run(parse_grub(text), True)

    def next_kernel(self) -> Kernel:
        """What starts without a key press. Raises Undecidable."""
        wish = self._value("default")
        if wish is None:
            raise Undecidable(self._hidden or "grub.cfg sets its default by what only GRUB sees while booting")
        entries = self.entries
        parts = [part.replace(">>", ">").strip() for part in re.split(r"(?<!>)>(?!>)", wish)]
        for level, part in enumerate(parts):
            entry = self._choose(entries, part)
            if not entry.is_submenu:
                return self._kernel(entry)
            if level + 1 == len(parts):
                raise Undecidable(f"the default of GRUB is the submenu {entry.title!r}, which waits for a key")
            entries = self._open(entry)
        raise Undecidable("GRUB has no menu entry")

    def _choose(self, entries: list[Entry], wish: str) -> Entry:
        if not entries:
            raise Undecidable("GRUB has no menu entry")
        named = [entry for entry in entries if wish and wish in (entry.title, entry.id)]
        if named and not _NUMBER.match(wish):
            before = [named[0]]
        else:
            # As GRUB does with a default that is not there: the first.
            index = int(wish) if _NUMBER.match(wish) and int(wish) < len(entries) else 0
            before = entries[: index + 1]
        if not all(entry.is_certain for entry in before):
            raise Undecidable("GRUB's menu depends on what only GRUB sees while booting")
        return before[-1]

    def _open(self, entry: Entry) -> list[Entry]:
        self.variables, self.entries = dict(entry.variables), []
        self._run(entry.body, True)
        return self.entries

    def _kernel(self, entry: Entry) -> Kernel:
        if entry.kernel is not None:
            return entry.kernel
        self.variables, self._found = dict(entry.variables), []
        self._run(entry.body, True)
        images = set(self._found)
        if not images:
            raise Undecidable(f"GRUB's entry {entry.title!r} starts no Linux kernel")
        if len(images) > 1:
            raise Undecidable(f"GRUB's entry {entry.title!r} starts one of {', '.join(sorted(images))}")
        return Kernel(images.pop(), None)

    def _value(self, name: str) -> Optional[str]:
        if name in self.variables:
            return self.variables[name]
        return "" if self._hidden is None else None

    def _expand(self, word: str) -> Optional[str]:
        """The word as GRUB reads it; None where a variable in it is unknown."""
        text = ""
        for part in _PART.finditer(word):
            if part["plain"] is not None:
                text += part["plain"]
            elif part["escaped"] is not None:
                text += part["escaped"]
            else:
                raw = part["bare"] if part["bare"] is not None else part["quoted"]
                at = 0
                for variable in _VARIABLE.finditer(raw):
                    value = self._value(variable["braced"] or variable["name"] or "")
                    if value is None:
                        return None
                    text += raw[at : variable.start()] + value
                    at = variable.end()
                text += raw[at:]
                if part["quoted"] is not None:
                    text = re.sub(r"\\([\\\"$])", r"\1", text)
        return text

    def _words(self, words: Sequence[str]) -> list[Optional[str]]:
        expanded = [(word, self._expand(word)) for word in words]
        # An unquoted word of nothing but empty variables vanishes.
        return [text for word, text in expanded if text != "" or word[0] in "'\""]

    def _run(self, nodes: Sequence[Node], is_certain: bool) -> Optional[bool]:
        """Carry statements out; the status of the last one, None where it is unknown."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise Undecidable("grub.cfg reads files in a circle")
        status: Optional[bool] = True
        for node in nodes:
            if isinstance(node, Command):
                status = self._command(node, is_certain)
            elif isinstance(node, Choice):
                status = self._choice(node.branches, is_certain)
            elif node.words[:1] in (("while",), ("until",), ("for",)):
                self._open_outcome([node.body, ()])
                status = None
            elif node.words[:1] in (("menuentry",), ("submenu",)):
                self._add(node, is_certain)
                status = True
            # Else a function: what a call of it does is not followed (GRUB's own only save the entry).
        self._depth -= 1
        return status

    def _choice(self, branches: Sequence[tuple[Sequence[Node], Sequence[Node]]], is_certain: bool) -> Optional[bool]:
        for at, (condition, block) in enumerate(branches):
            holds = self._run(condition, is_certain) if condition else True
            if holds:
                return self._run(block, is_certain)
            if holds is None:
                rest = [one for _condition, one in branches[at:]]
                if branches[-1][0]:
                    rest.append(())
                self._open_outcome(rest)
                return None
        return True

    def _open_outcome(self, blocks: Sequence[Sequence[Node]]) -> None:
        """Carry out each block from the same start: what differs after them is unknown."""
        before = dict(self.variables)
        outcomes = []
        for block in blocks:
            self.variables = dict(before)
            self._run(block, False)
            outcomes.append(self.variables)
        names = {name for outcome in outcomes for name in outcome}
        merged: dict[str, Optional[str]] = {}
        for name in names:
            values = {outcome.get(name, "" if self._hidden is None else None) for outcome in outcomes}
            merged[name] = values.pop() if len(values) == 1 else None
        self.variables = merged

    def _add(self, node: Block, is_certain: bool) -> None:
        words = self._words(node.words[1:])
        title = words[0] if words else ""
        identity: Optional[str] = title
        for option, value in zip(words[1:], words[2:]):
            if option == "--id":
                identity = value
        for option in words[1:]:
            if option is not None and option.startswith("--id="):
                identity = option[len("--id=") :]
        self.entries.append(
            Entry(
                title or "",
                identity or "",
                node.words[0] == "submenu",
                is_certain and title is not None and identity is not None,
                node.body,
                dict(self.variables),
                None,
            )
        )

    def _command(self, node: Command, is_certain: bool) -> Optional[bool]:
        words = self._words(node.words)
        name = words[0] if words else ""
        if name is None:
            return None
        status: Optional[bool] = True
        if name in ("[", "test"):
            return _test(words[1:-1] if name == "[" else words[1:], self._is_file)
        assigned = [_ASSIGNMENT.match(word) for word in node.words[1:] or node.words]
        if name == "set" or (len(words) == 1 and assigned[0]):
            for one in assigned:
                if one is not None:
                    self.variables[one["name"]] = self._expand(one["value"])
        elif name == "unset":
            self.variables.update({one or "": "" for one in words[1:]})
        elif name in ("increment", "decrement"):
            for variable in words[1:]:
                number = self._value(variable or "") or ""
                step = 1 if name == "increment" else -1
                is_number = _NUMBER.match(number.lstrip("-")) is not None
                self.variables[variable or ""] = str(int(number) + step) if is_number else None
        elif name == "load_env":
            self._load_environment(words[1:])
        elif name in ("source", "configfile", "."):
            self._source(words[1] if len(words) > 1 else None, is_certain)
        elif name == "blscfg":
            for snippet in sorted(self._files.snippets(), key=functools.cmp_to_key(_grub_order)):
                title = snippet.fields.get("title", snippet.id)
                kernel = snippet_kernel(snippet)
                if kernel is not None:
                    self.entries.append(Entry(title, snippet.id, False, is_certain, (), {}, kernel))
        elif name == "uki":
            self.entries.append(Entry("", "", False, False, (), {}, None))
        elif name in _KERNEL_COMMANDS or name in _XEN_COMMANDS:
            self._note_kernel(name, self._words([DEVICE.sub("", word) for word in node.words]))
        elif name in ("true", "false"):
            status = name == "true"
        elif name not in ("export", "insmod", "save_env", "echo", "initrd"):
            status = None
            for at, word in enumerate(words):
                # search --set=root, probe --set root, read NAME: the outcome is known while booting only.
                if word is not None and word.startswith("--set="):
                    self.variables[word[len("--set=") :]] = None
                elif word in ("--set", "-s") or (name == "read" and at == 0):
                    self.variables.update({one or "": None for one in words[at + 1 : at + 2]})
        self.variables["?"] = None
        return status

    def _note_kernel(self, name: str, words: Sequence[Optional[str]]) -> None:
        image = next((word for word in words[1:] if word is None or not word.startswith("--")), None)
        if name in _XEN_COMMANDS:
            if image is not None and IMAGE.match(image.rpartition("/")[2]):
                self._found.append(image)
            return
        if image is None:
            raise Undecidable("GRUB's entry names its kernel by what only GRUB sees while booting")
        self._found.append(image)

    def _is_file(self, path: Optional[str]) -> Optional[bool]:
        if path is None or not path.startswith(self._files.folder + "/"):
            return None
        answer = self._files.read(path)
        if answer.value is not None:
            return True
        return False if answer.reason == MISSING else None

    def _load_environment(self, words: Sequence[Optional[str]]) -> None:
        path: Optional[str] = f"{self._files.folder}/grubenv"
        for option, value in zip(words, words[1:]):
            if option in ("-f", "--file"):
                path = value
        if path is None or not path.startswith(self._files.folder + "/"):
            self._hidden = "grub.cfg reads an environment block that is not beside it"
            return
        answer = self._files.read(path)
        if answer.value is None:
            if answer.reason != MISSING:
                self._hidden = f"{path}: {answer.reason}"
            return
        self.variables.update(read_environment(answer.value))

    def _source(self, path: Optional[str], is_certain: bool) -> None:
        if path is None or not path.startswith(self._files.folder + "/"):
            raise Undecidable(f"grub.cfg reads {path or 'a file'}, which is not in {self._files.folder}")
        answer = self._files.read(path)
        if answer.value is None:
            if answer.reason == MISSING:
                return
            raise Undecidable(f"{path}: {answer.reason}")
        self._run(parse_grub(answer.value), is_certain)


def read_environment(text: str) -> dict[str, Optional[str]]:
    """The variables of a GRUB environment block (``grubenv``). ValueError without its first line."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith("# GRUB Environment Block"):
        raise ValueError("grubenv is no GRUB environment block")
    variables: dict[str, Optional[str]] = {}
    for line in lines[1:]:
        name, equals, value = line.partition("=")
        if equals and not name.startswith("#"):
            variables[name] = re.sub(r"\\(.)", r"\1", value)
    return variables


def _test(words: Sequence[Optional[str]], is_file: Callable[[Optional[str]], Optional[bool]]) -> Optional[bool]:
    """``[ … ]`` with ``-a`` before ``-o``, as GRUB's own; None where the outcome is unknown."""
    alternatives: list[Optional[bool]] = []
    for alternative in _split(words, "-o"):
        terms = [_term(term, is_file) for term in _split(alternative, "-a")]
        alternatives.append(False if False in terms else None if None in terms else True)
    return True if True in alternatives else None if None in alternatives else False


def _split(words: Sequence[Optional[str]], mark: str) -> list[list[Optional[str]]]:
    parts: list[list[Optional[str]]] = [[]]
    for word in words:
        if word == mark:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _term(words: list[Optional[str]], is_file: Callable[[Optional[str]], Optional[bool]]) -> Optional[bool]:
    if words[:1] == ["!"]:
        marks = next((at for at, word in enumerate(words) if word != "!"), len(words))
        inner = _term(words[marks:], is_file)
        return None if inner is None else inner is (marks % 2 == 0)
    if len(words) == 3 and words[1] in ("=", "==", "!="):
        if words[0] is None or words[2] is None:
            return None
        return (words[0] == words[2]) is (words[1] != "!=")
    if len(words) == 2 and words[0] in ("-f", "-s", "-e", "-d"):
        return is_file(words[1])
    if len(words) <= 2 and words[:1] in (["-n"], ["-z"]):
        text = words[1] if len(words) == 2 else ""
        return None if text is None else (text != "") is (words[0] == "-n")
    if len(words) <= 1:
        text = words[0] if words else ""
        return None if text is None else text != ""
    return None


# --- order of entries -----------------------------------------------------------------------------

_RPM_PARTS = re.compile(r"\d+|[A-Za-z]+|~")


def compare_rpm(one: str, two: str) -> int:
    """-1, 0 or 1 as rpmvercmp without carets, which GRUB sorts entries by."""
    ones, twos = _RPM_PARTS.findall(one), _RPM_PARTS.findall(two)
    for left, right in zip(ones, twos):
        if left == right:
            continue
        if "~" in (left, right):
            return -1 if left == "~" else 1
        if left.isdigit() != right.isdigit():
            return 1 if left.isdigit() else -1
        if left.isdigit():
            if int(left) != int(right):
                return _sign(int(left) - int(right))
            continue
        return 1 if left > right else -1
    if len(ones) == len(twos):
        return 0
    rest, sign = (ones[len(twos) :], 1) if len(ones) > len(twos) else (twos[len(ones) :], -1)
    return -sign if rest[0] == "~" else sign


def _grub_order(one: Snippet, two: Snippet) -> int:
    """Newest first, by the parts of ``name-version-release`` in the file name."""
    parts_one, parts_two = _name_version_release(one.id), _name_version_release(two.id)
    for left, right in zip(parts_one, parts_two):
        order = compare_rpm(left, right)
        if order:
            return -order
    return 0


def _name_version_release(text: str) -> tuple[str, str, str]:
    parts = text.rsplit("-", 2)
    if len(parts) == 3:
        return parts[0], parts[1], parts[2]
    return (parts[0], parts[1], "") if len(parts) == 2 else (text, "", "")


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
