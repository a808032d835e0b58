# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hide in a recording what tells one machine, place or person from another, and nothing that facts hang on.

A first pass finds the secrets, by their form (UUIDs, addresses) and by where they stand (a file called ``serial``, a
line ``Serial Number: …``, the kernel's command line, passwd); a second puts numbered masks in their place, everywhere.
Masks have forms of their own, so that a masked recording is left as it is:

=========  ======================================================================================
uuid       ``00000000-0000-0000-0000-000000000001``, or the same without dashes
mac        ``02:00:00:00:00:01``; with eight bytes (GUID, EUI-64) ``02:00:00:00:00:00:00:01``
ipv4       ``192.0.2.1`` (RFC 5737); from the 255th on ``198.18.1.0`` and following (RFC 2544)
ipv6       ``2001:db8::1`` (RFC 3849)
number     ``acce1e0000000001``, in decimal where it was so
serial     ``ACCEL000001``
others     ``masked-host-1``, ``masked-domain-1.invalid``, ``masked-user-1``, ``masked-value-1``
=========  ======================================================================================
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping
from typing import Optional

from ..model.answer import NOT_RECORDED
from ..model.recorded import Item, Recorded, Said
from .mask_configuration import UnreadableError, is_configuration, named, reduced

_HEX = "[0-9A-Fa-f]"
_UUID = re.compile(rf"(?<!{_HEX})({_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}})(?!{_HEX})")
_BARE_UUID = re.compile(rf"(?<![0-9A-Za-z])({_HEX}{{32}})(?![0-9A-Za-z])")
_PAIRS = re.compile(rf"(?<![0-9A-Za-z:])({_HEX}{{2}}(?:(?::{_HEX}{{2}}){{5,}}|(?:-{_HEX}{{2}}){{5,}}))(?![0-9A-Za-z:])")
_GUID = re.compile(rf"(?<![0-9A-Za-z:])({_HEX}{{4}}(?::{_HEX}{{4}}){{3}})(?![0-9A-Za-z:])")
_NAMED_MAC = re.compile(rf"(?<![0-9A-Za-z])(enx|wlx|wwx)({_HEX}{{12}})(?![0-9A-Za-z])")
_IPV4 = re.compile(r"(?<![\w.+~-])(\d{1,3}(?:\.\d{1,3}){3})(?!\.?\w|[+~-])")
_IPV6 = re.compile(
    rf"(?<![\w:.%])((?:{_HEX}{{0,4}}:){{2,7}}{_HEX}{{0,4}}(?:(?<=:)\d{{1,3}}(?:\.\d{{1,3}}){{3}})?)(?![\w:])"
)
_IQN = re.compile(r"\b((?:iqn|nqn)\.\d{4}-\d\d\.[\w.-]{1,200}:)([\w.:-]+)")

# Public UUIDs: vendors of EFI variables (UEFI 2.10 3.3 and 32.5; systemd Boot Loader Interface; shim), read 2026-11.
_PUBLIC_UUIDS = {
    "8be4df6193ca11d2aa0d00e098032b8c",
    "d719b2cb3d3a4596a3bcdad00e67656f",
    "4a67b0820a4c41cfb6c7440b29bb8c4f",
    "605dab50e0464300abb63dd810dd8b23",
}

_KEY = (
    r"(?:serial|\bs/n|asset[ _-]?tag|wwn|wwid|nguid|eui(?:64)?\b|guid|ecid|machine[ _-]?id|\bpdi\b|unique[ _-]?id"
    r"|hive[ _-]?id|fru[ _-]?id|uuid|sig_key)"
)
_NAMED = re.compile(_KEY, re.IGNORECASE)
_END = r"\n\0|,;\"'<>}\]"
_LINE = re.compile(
    rf"((?:\A|[\s\0|,;{{<(\[\"'])[\w()-]{{0,40}}(?: [\w()-]{{1,40}}){{0,3}}?{_KEY}[\w ()#-]{{0,40}}[\"']?[ \t]*)"
    rf"(?:(:|>)([ \t]*[\"']?)([^{_END}]+)"
    rf"|(=)([ \t]*[\"']?)([^{_END}\s]+(?: [^{_END}\s=]+)*(?=[{_END}]|\Z)|[^{_END}\s]+))",
    re.IGNORECASE,
)
_OPTION = re.compile(rf"((?:\A|\s)[\w.-]{{0,60}}{_KEY}[\w.-]{{0,20}}=)(?!\S*=)()(\"[^\"]*\"|\S+)", re.IGNORECASE)
_PROPERTY = re.compile(r"(?m)^((?:unique_id|hive_id) )(\d+)$")
_SECRET_FILE = re.compile(
    r"(?i)(?:\A|_|-)(serial|serial_number|asset_tag|unique_id|wwid|eui|nguid|uuid|subsysnqn|hostnqn|hostid|guid|machine-id|hive_id)\Z"
)
_VOLUME = re.compile(r"(?i)\b((?:PART)?UUID=[\"']?)([\w-]+)")
_FS_UUID = re.compile(r"(--fs-uuid\b[^\n]{0,300}[ \t])([0-9A-Fa-f]{4,16}(?:-[0-9A-Fa-f]{2,8})?)[ \t]*$", re.MULTILINE)
_SECRET_KEY = re.compile(
    r"(?i)((?<![0-9A-Za-z])[\w.-]{0,60}(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|auth[_-]?key|credentials?|psk|private[_-]?key)"
    r"[\w.-]{0,60}[\"']?[ \t]*[=:>][ \t]*[\"']?)([^\s\0\"',;&<>|]+)"
)
_GRUB_PASSWORD = re.compile(r"(?m)^([ \t]*password(?:_pbkdf2)?[ \t]+\S+[ \t]+)(\S+)")
_LOGIN = re.compile(r"(\b[A-Za-z][\w+.-]{0,20}://)([^\s/@:\"']+)(?:(:)([^\s/@\"']+))?@")
_AUTHORITY = re.compile(
    r"(\b[A-Za-z][\w+.-]{0,20}://(?:[^\s/@\"']{1,400}@)?)([A-Za-z0-9](?:[\w-]*\.)+[\w-]+|[A-Za-z][\w-]*)"
)
_TOKEN = re.compile(r"(?<![\w+/.-])([A-Za-z0-9+_-]{20,}={0,2})(?![\w+/=.-])")
_IP_OPTION = re.compile(r"(\bip=(?:[^:\s]{0,80}|\[[^\]\s]{0,80}\]):(?:[^:\s]{0,80}:){3})([^:\s]+)")
_HOST_OPTION = re.compile(r"(\b(?:systemd\.)?(?:hostname|nodename)=)(\S+)")
_IS_OPTIONS = re.compile(r"/proc/cmdline|/boot/|/efi/|/etc/default/grub|/etc/kernel/")
_IS_HOST_FILE = ("/proc/sys/kernel/hostname", "/etc/hostname")

_VERSION = re.compile(
    r"(?i)(?:ver|version|firmware|fw|release|revision|rev|bios|vbios|driver|rom|library)\b[^,;|\n\0]*\Z"
)
_VERSION_FILE = re.compile(r"(?i)(?:\A|[_.-])(?:ver|version|fw|firmware|vbios|release|revision|rev)(?:[_.-]|\Z)")
_EMPTY = re.compile(
    r"(?i)[\[<(]?(?:|n/?a|none|null|unknown|unspecified|not (?:specified|available|supported|present|settable)"
    r"|not applicable|to be filled.*|default string|(?:system|chassis) serial number|no asset.*|redacted|scrubbed"
    r"|requested.*|0x0*|[0.xX:*-]+|true|false|enabled|disabled|yes|no)[\]>)]?"
)
_COMMON = re.compile(
    r"(?i)(?:node|cpu|card|gpu|nvme|eth|ib|port|pci|bond|vlan|team|br|lo|sd|dm|md|loop|tty|render|accel|memory|index|host|tile"
    r"|gt|hwmon|controld|mlx\d_|renderd|policy|state|i2c|usb|worker|master|server|compute|head|login|linux|system|kernel|root"
    r"|boot|data|test|user|admin|daemon|video|audio|sys|proc|dev|etc|lib|usr|run|home|var|opt|tmp|net|class|bus|devices"
    r"|drivers|module|modules|firmware|topology|localhost|localdomain|debian|ubuntu|fedora|centos|rhel|rocky|almalinux|sles"
    r"|suse|opensuse|arch|nobody|nogroup|none|default|vmlinuz|initrd|grub|driver|device|vendor|version|quiet|splash|console"
    r"|example|invalid|local|lan|com|org|net)\d*"
)
_MASKS = {
    "host": "masked-host-{}",
    "domain": "masked-domain-{}.invalid",
    "user": "masked-user-{}",
    "secret": "masked-value-{}",
}
_ANY_MASK = re.compile(
    r"(?:masked-(?:host|user|value)-(\d+)|masked-domain-(\d+)\.invalid|ACCEL(\d{6,}))\Z", re.IGNORECASE
)
_NUMBER_TOP = 0xACCE1E
_PREFIX = r"(?<![0-9A-Za-z])(0[xX]|enx|wlx|wwx)?"
_PACKED = (b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"BZh")


class Masker:
    """Finds the secrets of a recording and masks them.

    ``hints`` are further texts of the node by path (host name, passwd) that tell what is a name but are not in the
    recording. ``public`` are words that stay whatever they name: a host may be called like a driver.
    """

    def __init__(self, recorded: Recorded, hints: Mapping[str, str], public: Collection[str]) -> None:
        self._recorded = recorded
        self._public = {word.casefold() for word in public}
        self._found: dict[tuple[str, str], int] = {}
        self._taken: dict[str, set[int]] = {}
        self._texts: dict[tuple[str, str], str] = {}
        self._literals: dict[str, tuple[str, str]] = {}
        self._by_run: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        self._system = _system_accounts(hints.get("/etc/passwd") or _stored(recorded, "/etc/passwd"))
        self._is_noting = True
        texts = {path: item.content.decode("latin-1") for path, item in recorded.items.items() if item.content}
        self._configurations = named(texts)
        self.left_out = [path for path, item in sorted(recorded.items.items()) if self._is_closed(path, item)]
        self._walk(hints)
        self._number()
        self._is_noting = False
        self._names.clear()

    def counts(self) -> dict[str, int]:
        """How many different secrets of each kind are masked."""
        counted: dict[str, int] = {}
        for kind, _canonical in sorted(self._found):
            counted[kind] = counted.get(kind, 0) + 1
        return counted

    def masked(self) -> Recorded:
        """The recording with its secrets masked. A file that does not show what is in it is left out: one that is
        packed, or the configuration of an engine or a kubelet that cannot be read."""
        items: dict[str, Item] = {}
        for path, item in sorted(self._recorded.items.items()):
            place = self.path(path)
            while place in items:  # two names that differ in case alone
                place += "_"
            items[place] = self._item(path, item)
        said = tuple(
            Said(
                tuple(map(self.path, each.argv)),
                each.status,
                self.text(each.stdout, "") if _is_text(each.stdout) else _fitted(each.stdout, self),
                None if each.reason is None else self.text(each.reason, ""),
            )
            for each in self._recorded.said
        )
        return self._recorded._replace(items=dict(sorted(items.items())), said=said, is_masked=True)

    def path(self, path: str) -> str:
        """A path or a link's target, part by part."""
        return "/".join(map(self._name, path.split("/")))

    def text(self, text: str, path: str) -> str:
        """A text that stands in the file ``path``; empty for a program's."""
        return self._patterns(self._literal(self._contexts(text, path)), path)

    # --- the walk, the same for both passes -----------------------------------------------------

    def _walk(self, hints: Mapping[str, str]) -> None:
        items = self._recorded.items
        for path in sorted({*items, *hints}):
            self._name(path.rpartition("/")[2])
            if path in hints:
                self.text(hints[path], path)
            if path in items:
                self._item(path, items[path])
        for each in self._recorded.said:
            for one in each.argv:
                self.path(one)
            self.text(each.stdout, "")
            self.text(each.reason or "", "")

    def _is_closed(self, path: str, item: Item) -> bool:
        """Whether it cannot be told what stands in a file."""
        if item.content.startswith(_PACKED):
            return True
        kind = self._configurations.get(path, "")
        try:
            reduced(item.content.decode("utf-8"), path, str, kind)
            return False
        except UnreadableError:
            return True
        except UnicodeDecodeError:
            return is_configuration(item.content.decode("latin-1"), path, kind)

    def _item(self, path: str, item: Item) -> Item:
        unread = None if item.unread is None else tuple(sorted(map(self._name, item.unread)))
        if path in self.left_out:
            return item._replace(content=b"", error=NOT_RECORDED, numbers={}, unread=unread)
        return item._replace(content=self._content(path, item.content), target=self.path(item.target), unread=unread)

    def _name(self, name: str) -> str:
        known = self._names.get(name)
        if known is None:
            known = self._names[name] = self._patterns(self._literal(name), "")
        return known

    def _content(self, path: str, content: bytes) -> bytes:
        if not content:
            return content
        if path.startswith("/sys/firmware/efi/efivars/"):
            wide = _wide(content[4:])
            if wide is not None:
                return content[:4] + self.text(wide, path).encode("utf-16-le")
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            text = ""
        if text and _is_text(text):
            return self.text(text, path).encode("utf-8")
        if path.endswith("/config"):
            content = self._serial_number_capability(content)
        return _fitted(content.decode("latin-1"), self).encode("latin-1")

    def _serial_number_capability(self, content: bytes) -> bytes:
        """A function's PCIe device serial number (capability 3), which is made of the first port's MAC."""
        at, seen = 0x100, set()
        while 0x100 <= at <= len(content) - 12 and at not in seen:
            seen.add(at)
            head = int.from_bytes(content[at : at + 4], "little")
            if head & 0xFFFF == 3:
                text = ":".join(f"{byte:02x}" for byte in reversed(content[at + 4 : at + 12]))
                hidden = bytes(int(pair, 16) for pair in reversed(self._sub("mac", text).split(":")))
                content = content[: at + 4] + hidden + content[at + 12 :]
            at = head >> 20
        return content

    # --- where secrets stand --------------------------------------------------------------------

    def _contexts(self, text: str, path: str) -> str:
        if path and path not in self.left_out:
            kind = self._configurations.get(path, "")
            text = reduced(text, path, lambda secret: self._sub("secret", secret), kind)
        leaf = path.rpartition("/")[2]
        if path in _IS_HOST_FILE:
            return "\n".join(self._host(line) for line in text.split("\n"))
        if path in ("/etc/passwd", "/etc/group"):
            return "\n".join(self._account(line, path == "/etc/passwd") for line in text.split("\n"))
        if path and _SECRET_FILE.search(leaf) and "\n" not in text.strip():
            return text.replace(text.strip(), self._value(leaf, text.strip())) if text.strip() else text
        if "_id " in text:
            text = _PROPERTY.sub(lambda match: match.group(1) + self._sub("decimal", match.group(2)), text)
        if _IS_OPTIONS.match(path):
            text = self._options(text)
        elif "/lib/modules/" not in path and _NAMED.search(text):
            text = _LINE.sub(self._line, text)
            if not path:
                text = self._table(text)
        text = _VOLUME.sub(lambda match: match.group(1) + self._value("uuid", match.group(2)), text)
        if ":" in text or "=" in text or ">" in text:
            text = _SECRET_KEY.sub(lambda match: match.group(1) + self._sub("secret", match.group(2)), text)
            text = _LOGIN.sub(self._login, text)
        return _IQN.sub(self._qualified, text)

    def _login(self, match: re.Match[str]) -> str:
        scheme, user, colon, secret = match.groups()
        return scheme + self._sub("secret", user) + (colon + self._sub("secret", secret) if colon else "") + "@"

    def _qualified(self, match: re.Match[str]) -> str:
        name = match.group(2)
        return match.group(1) + (name if _UUID.search(name) else self._sub("serial", name))

    def _options(self, text: str) -> str:
        """The kernel's command line, and the boot loader's files that have it."""
        text = _OPTION.sub(lambda match: match.group(1) + self._value(match.group(1), match.group(3)), text)
        text = _FS_UUID.sub(lambda match: match.group(1) + self._value("uuid", match.group(2)), text)
        text = _GRUB_PASSWORD.sub(lambda match: match.group(1) + self._sub("secret", match.group(2)), text)
        for pattern in (_IP_OPTION, _HOST_OPTION, _AUTHORITY):
            text = pattern.sub(lambda match: match.group(1) + self._host(match.group(2)), text)
        return _TOKEN.sub(lambda match: self._token(match.group(1)), text)

    def _token(self, word: str) -> str:
        kinds = sum(any(test(letter) for letter in word) for test in (str.isupper, str.islower, str.isdigit))
        is_token = kinds == 3 or re.fullmatch(rf"{_HEX}{{33,}}", word) is not None
        return self._sub("secret", word) if is_token else word

    def _line(self, match: re.Match[str]) -> str:
        head, colon, space, value, equals, space2, value2 = match.groups()
        if colon:
            return f"{head}{colon}{space}{self._value(head, value)}"
        return f"{head}{equals}{space2}{self._value(head, value2)}"

    def _table(self, text: str) -> str:
        """Columns of a CSV whose heading names them."""
        lines = text.split("\n")
        heads = [head.strip() for head in lines[0].split(",")]
        columns = [number for number, head in enumerate(heads) if _NAMED.search(head)]
        if len(heads) < 2 or not columns:
            return text
        for at, line in enumerate(lines[1:], 1):
            fields = line.split(",")
            if len(fields) == len(heads):
                for number in columns:
                    bare = fields[number].strip()
                    if bare:
                        fields[number] = fields[number].replace(bare, self._value(heads[number], bare))
                lines[at] = ",".join(fields)
        return "\n".join(lines)

    def _value(self, key: str, value: str) -> str:
        """The value of a key that names a serial or an id; what has a form of its own is left to the patterns."""
        bare = value.strip()
        pairs = _PAIRS.search(bare)
        if _EMPTY.fullmatch(bare) or any(one.search(bare) for one in (_UUID, _BARE_UUID, _GUID)):
            return value
        if pairs is not None and _is_address(_pairs(pairs)):
            return value
        if _IQN.search(bare):
            return _IQN.sub(self._qualified, value)
        is_id = re.search(r"unique|hive|pdi|guid|nguid", key, re.IGNORECASE) is not None
        if re.fullmatch(rf"0[xX]{_HEX}{{9,16}}|{_HEX}{{16}}", bare) and (is_id or not bare.isdigit()):
            return value.replace(bare, self._sub("number", bare))
        if is_id and bare.isdigit():
            return value.replace(bare, self._sub("decimal", bare)) if int(bare) >> 32 else value
        if len(bare) < 3:
            return value
        return value.replace(bare, self._sub("serial", bare))

    def _host(self, name: str) -> str:
        bare = name.strip()
        short, dot, domain = bare.partition(".")
        if not bare or re.fullmatch(r"[\d.]+|\(none\)|localhost(\..*)?|linux|none|off|dhcp", bare, re.IGNORECASE):
            return name
        hidden = self._sub("host", short) + dot + (self._sub("domain", domain) if domain else "")
        return name.replace(bare, hidden)

    def _account(self, line: str, is_user: bool) -> str:
        """A line of passwd or group: names of persons, what is said of them, where they live, who is in a group."""
        fields = line.split(":")
        if len(fields) < 4 or not (fields[2].isascii() and fields[2].isdigit()):
            return line
        is_person = _is_person(fields[2])
        if is_person:
            fields[0] = self._sub("user", fields[0])
        if fields[1] not in ("", "x", "*", "!"):
            fields[1] = "x"
        if is_user:
            if len(fields) > 5:
                fields[4] = ""
                fields[5] = f"/home/{fields[0]}" if is_person and not self._is_noting else fields[5]
        else:
            members = [name for name in fields[3].split(",") if name]
            fields[3] = ",".join(name if name in self._system else self._sub("user", name) for name in members)
        return line if self._is_noting else ":".join(fields)

    # --- forms that tell a secret by themselves --------------------------------------------------

    def _patterns(self, text: str, path: str) -> str:
        if len(text) < 7:
            return text
        text = _UUID.sub(lambda match: self._sub("uuid", match.group(1)), text)
        text = _BARE_UUID.sub(lambda match: self._sub("uuid", match.group(1)), text)
        if ":" in text or "-" in text:
            text = _PAIRS.sub(self._pairs, text)
        if ":" in text:
            text = _GUID.sub(lambda match: self._sub("mac", match.group(1)), text)
            text = _IPV6.sub(lambda match: self._sub("ipv6", match.group(1)), text)
        text = _NAMED_MAC.sub(lambda match: match.group(1) + self._sub("mac", match.group(2)), text)
        if text.count(".") > 2 and not _VERSION_FILE.search(path.rpartition("/")[2]):
            text = _IPV4.sub(lambda match: self._address(match, text), text)
        return text

    def _pairs(self, match: re.Match[str]) -> str:
        pairs, text = _pairs(match), match.group(1)
        if len(pairs) == 7 and text.startswith("01-"):  # BOOTIF=01-…: a type, then the address
            return text[:3] + self._sub("mac", text[3:])
        return self._sub("mac", text) if _is_address(pairs) else text

    def _address(self, match: re.Match[str], text: str) -> str:
        if _VERSION.search(text[max(0, match.start() - 60) : match.start()]):
            return match.group(1)
        return self._sub("ipv4", match.group(1))

    # --- secrets, their numbers, and their masks --------------------------------------------------

    def _sub(self, kind: str, text: str) -> str:
        """What to write for a secret; in the first pass it is only noted."""
        known = _canonical(kind, text)
        if known is None:
            return text
        canonical, taken = known
        spelling, kind = kind, "number" if kind == "decimal" else kind
        if taken is not None:
            self._taken.setdefault(kind, set()).add(taken)
            return text
        if self._is_noting:
            self._found.setdefault((kind, canonical), 0)
            self._texts.setdefault((kind, canonical), text)
            return text
        number = self._found.get((kind, canonical))
        return text if number is None else _mask(spelling, number, text)

    def _number(self) -> None:
        following: dict[str, int] = {}
        for kind, canonical in self._found:
            number = following.get(kind, 0) + 1
            while number in self._taken.get(kind, ()):
                number += 1
            self._found[kind, canonical] = following[kind] = number
        for (kind, canonical), text in self._texts.items():
            for literal in self._forms(kind, canonical, text):
                self._literals.setdefault(literal.casefold(), (kind, canonical))
            if kind == "number" and int(canonical) >> 32:
                self._literals.setdefault(canonical, ("decimal", canonical))
        for literal in self._literals:
            run = max(re.findall(r"[^\W_]+", literal) or [literal], key=len)
            self._by_run.setdefault(run, []).append(literal)

    def _forms(self, kind: str, canonical: str, text: str) -> tuple[str, ...]:
        """The spellings under which a secret is looked for where nothing else tells that it is one."""
        if kind == "number":
            number = int(canonical)
            return (f"{number:016x}", f"{number:x}") if number >> 32 else ()
        if kind == "mac":
            return (canonical,) if len(canonical) in (12, 16) else ()
        if kind == "ipv4":
            return (text,)
        if kind == "serial":
            is_telling = any(map(str.isdigit, text)) and len(text) >= (8 if text.isdigit() else 6)
            return (text,) if is_telling else ()
        if kind in ("host", "user", "domain"):
            is_word = _COMMON.fullmatch(text) is not None or text.casefold() in self._public
            return () if is_word or len(text) < 3 or (kind == "domain" and "." not in text) else (text,)
        return (text,) if kind == "secret" and len(text) >= 6 else ()

    def _literal(self, text: str, keep_length: bool = False) -> str:
        """Known secrets wherever they stand between other signs than letters and digits."""
        if self._is_noting or not self._by_run:
            return text
        folded = text.casefold()
        runs = set(re.findall(r"[^\W_]+", folded))
        runs |= {run[2:] for run in runs if run.startswith("0x")}
        runs |= {run[3:] for run in runs if run.startswith(("enx", "wlx", "wwx"))}
        here = [literal for run in runs & self._by_run.keys() for literal in self._by_run[run]]
        here = [literal for literal in here if literal in folded]
        if not here:
            return text
        every = "|".join(map(re.escape, sorted(here, key=lambda one: (-len(one), one))))

        def hidden(match: re.Match[str]) -> str:
            kind, canonical = self._literals[match.group(2).casefold()]
            number = self._found["number" if kind == "decimal" else kind, canonical]
            mask = _mask(kind, number, match.group(2))
            if keep_length:
                mask = mask[-len(match.group(2)) :].ljust(len(match.group(2)), "x")
            return (match.group(1) or "") + mask

        return re.sub(rf"{_PREFIX}({every})(?![0-9A-Za-z])", hidden, text, flags=re.IGNORECASE)


def _pairs(match: re.Match[str]) -> list[str]:
    return re.split("[:-]", match.group(1))


def _is_address(pairs: list[str]) -> bool:
    """A MAC, an EUI-64, or the link address of an InfiniBand port, which ends with its GID."""
    return len(pairs) in (6, 8) or (len(pairs) == 20 and "".join(pairs[4:6]).lower() == "fe80")


def _stored(recorded: Recorded, path: str) -> str:
    item = recorded.items.get(path)
    return "" if item is None else item.content.decode("utf-8", "replace")


def _system_accounts(passwd: str) -> set[str]:
    rows = [line.split(":") for line in passwd.splitlines()]
    return {row[0] for row in rows if len(row) > 2 and row[2].isascii() and row[2].isdigit() and not _is_person(row[2])}


def _is_person(number: str) -> bool:
    """Whether a user or group number is beyond those of the system (login.defs of every distribution since 2011)."""
    return 1000 <= int(number) != 65534


def _canonical(kind: str, text: str) -> tuple[str, Optional[int]] | None:
    """One spelling for a secret, and its number where it is a mask already; None for what is no secret."""
    if kind in ("uuid", "mac"):
        digits = re.sub("[^0-9a-f]", "", text.lower())
        if kind == "uuid":
            value = int(digits, 16)
            return None if not value or digits in _PUBLIC_UUIDS else (digits, value if value >> 48 == 0 else None)
        if not digits.strip("0") or not digits.strip("f"):
            return None
        rest = int(digits[2:], 16)
        return digits, rest if digits.startswith("02") and rest >> 24 == 0 else None
    if kind in ("ipv4", "ipv6"):
        return _canonical_address(kind, text)
    if kind in ("number", "decimal"):
        value = int(text, 10 if kind == "decimal" else 16)
        return None if not value >> 16 else (str(value), value & 0xFFFFFF if value >> 40 == _NUMBER_TOP else None)
    match = _ANY_MASK.match(text)
    if match is not None:
        return text, int(next(number for number in match.groups() if number))
    return text.casefold(), None


def _canonical_address(kind: str, text: str) -> tuple[str, Optional[int]] | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    value = int(address)
    if kind == "ipv6":
        if address.version != 6 or value < 2 or ("::" not in text and text.count(":") != 7):
            return None
        return str(address), value & 0xFFFFFFFF if value >> 96 == 0x20010DB8 else None
    top = value >> 24
    if top in (0, 127, 255) or value >> 8 in (0xC63364, 0xCB0071):
        return None
    if value >> 8 == 0xC00002:
        return str(address), value & 0xFF
    return str(address), value & 0x1FFFF if value >> 17 == 0xC612 >> 1 else None


def _mask(kind: str, number: int, text: str) -> str:
    """The mask in the form that the secret had."""
    if kind == "uuid":
        digits = f"{number:032x}"
        if "-" not in text:
            return digits
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    if kind == "mac":
        length = len(re.sub("[^0-9A-Fa-f]", "", text))
        digits = f"02{number:0{length - 2}x}"
        width = len(re.split("[:-]", text)[0])
        sign = ":" if ":" in text else "-" if "-" in text else ""
        return sign.join(digits[at : at + width] for at in range(0, length, width)) if sign else digits
    if kind == "ipv4":
        return f"192.0.2.{number}" if number < 255 else str(ipaddress.IPv4Address(0xC6120000 + number))
    if kind == "ipv6":
        address = ipaddress.IPv6Address((0x20010DB8 << 96) + number)
        return address.exploded if "::" not in text else str(address)
    if kind == "number":
        value = (_NUMBER_TOP << 40) + number
        if text[:2] in ("0x", "0X"):
            return f"{text[:2]}{value:016x}"
        return f"{value:016x}"
    if kind == "decimal":
        return str((_NUMBER_TOP << 40) + number)
    return f"ACCEL{number:06d}" if kind == "serial" else _MASKS[kind].format(number)


def _is_text(text: str) -> bool:
    return not text.startswith("\x7fELF") and re.search(r"[\x01-\x08\x0e-\x1a\x1c-\x1f]", text) is None


def _wide(content: bytes) -> str | None:
    """UTF-16 text, as EFI variables hold it; None for anything else."""
    try:
        text = content.decode("utf-16-le")
    except UnicodeDecodeError:
        return None
    return text if text.rstrip("\0").isprintable() and text.rstrip("\0") else None


def _fitted(text: str, masker: Masker) -> str:
    """Bytes (as Latin-1) in which every sign has its place: masks are cut or filled to the length of what they hide."""

    def wide(match: re.Match[str]) -> str:
        return "".join(sign + "\0" for sign in _same_length(match.group()[::2], masker))

    return re.sub(r"(?:[\x20-\x7e]\0){6,}", wide, _same_length(text, masker))


def _same_length(text: str, masker: Masker) -> str:
    text = masker._literal(text, keep_length=True)
    text = _UUID.sub(lambda match: masker._sub("uuid", match.group(1)), text)
    return _PAIRS.sub(masker._pairs, text)
