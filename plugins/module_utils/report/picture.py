# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node as an SVG picture.

NUMA nodes stand left and right of a channel. From the outside to the channel: root complex, switches,
cards. A box is as tall as what hangs at it, so every link is a straight line and no two can cross. The
scale-up links run in the channel: a band where every pair is joined, arcs where not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Union

from .markup import safe, tag
from .spread import model_of, size_text
from .texts import short_model
from .wiring import (
    ACCELERATORS,
    Capability,
    Card,
    Domain,
    Fabric,
    Root,
    Switch,
    Wiring,
    count_cpus,
    part,
)

# All sizes are pixels.
_ROW, _GAP, _ROOT_GAP = 38, 8, 12
_CARD_WIDTH, _SWITCH_WIDTH, _ROOT_WIDTH, _EDGE = 232, 104, 98, 72
_PAD, _HEAD, _DOMAIN_GAP = 12, 32, 16
_BAND_WIDTH, _BAND_GAP, _CHANNEL_PAD, _ARC_CHANNEL = 44, 14, 34, 190
_LANES = {16: 4.5, 8: 3.0, 4: 2.0, 2: 1.4, 1: 1.0}
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
"""PCI Express generations by speed in GT/s (PCI-SIG, PCI Express Base Specification 1.0 to 7.0)."""
_LENT = "vfio-pci"
_NARROW, _WIDE = "iljtfrI.,:;'|!()[] -/·", "mwMW@%"


class Flaw(NamedTuple):
    """A degraded link at one place of the tree; ``text`` says on which nodes and how."""

    text: str


class Frame(NamedTuple):
    """Where a box lies."""

    x: float
    y: float
    width: float
    height: float


def text_width(text: str, size: float, is_mono: bool = False) -> float:
    """About how wide a text is, on the wide side (measured against DejaVu Sans, the widest system font in use)."""
    if is_mono:
        return len(text) * size * 0.605
    wide = sum(
        0.38 if sign in _NARROW else 0.95 if sign in _WIDE else 0.72 if sign.isupper() else 0.625 for sign in text
    )
    return wide * size


def fit(text: str, width: float, size: float, is_mono: bool = False) -> str:
    """The text, cut with an ellipsis where it is too wide."""
    if text_width(text, size, is_mono) <= width:
        return text
    while text and text_width(text + "…", size, is_mono) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def draw(wiring: Wiring, texts: Mapping[str, str], label: str, flaws: Mapping[str, Flaw]) -> str:
    """The SVG element. ``flaws`` are degraded links by the id of the function or bridge below them."""
    return _Canvas(wiring, texts, flaws).draw(label)


class _Canvas:
    """Collects the pieces of one picture while it is laid out."""

    def __init__(self, wiring: Wiring, texts: Mapping[str, str], flaws: Mapping[str, Flaw]) -> None:
        self.wiring = wiring
        self.texts = texts
        self.flaws = flaws
        self.depth = max([_levels(root) for domain in wiring.domains for root in domain.roots], default=0)
        self.boxes: list[str] = []
        self.lines: list[str] = []
        self.ports: dict[str, tuple[float, float, int]] = {}  # device id -> x, y and side (1: faces right)

    def draw(self, label: str) -> str:
        drawn, spare = _worth_drawing(self.wiring.domains)
        left, right = _sides(drawn)
        width = _PAD * 2 + _ROOT_WIDTH + _EDGE + self.depth * (_SWITCH_WIDTH + _EDGE) + _CARD_WIDTH
        channel = self._channel_width(bool(right))
        total = width + channel + (width if right else 0)
        height = max(self._side(left, 0, width, 1), self._side(right, total - width, width, -1))
        if spare:
            ids = ", ".join(str(domain.node) for domain in spare)
            note = self.texts["spare_numa"].format(count=len(spare), list=ids)
            self.boxes.append(_text("t muted", _PAD, height + 18, fit(note, total - 2 * _PAD, 12)))
            height += 26
        self._fabrics(width, channel)
        height = max(height, 60)
        size = {
            "viewBox": f"-1 -1 {total + 2:g} {height + 2:g}",
            "width": f"{total + 2:g}",
            "height": f"{height + 2:g}",
        }
        return tag("svg", "".join(self.boxes + self.lines), "wiring", **size, role="img", **{"aria-label": label})

    def _side(self, domains: Sequence[Domain], x: float, width: float, side: int) -> float:
        y = 0.0
        for domain in domains:
            body = self._domain(domain, x, y, width, side)
            y += body + _DOMAIN_GAP
        return max(0.0, y - _DOMAIN_GAP)

    def _domain(self, domain: Domain, x: float, y: float, width: float, side: int) -> float:
        body = sum(_height(root) for root in domain.roots) + _ROOT_GAP * max(0, len(domain.roots) - 1)
        height = _HEAD + (body + _PAD if domain.roots else 22)
        name, detail, title = self._domain_texts(domain)
        used = text_width(name, 13) + 12
        self._box("domain", Frame(x, y, width, height), title)
        self.boxes.append(_text("t strong", x + _PAD, y + 21, name))
        if detail:
            self.boxes.append(_text("t muted", x + _PAD + used, y + 21, fit(detail, width - used - 2 * _PAD, 12)))
        self.boxes.append("</g>")
        if not domain.roots:
            self.boxes.append(_text("t muted", x + _PAD, y + 42, self.texts["nothing_here"]))
        top = y + _HEAD
        for root in domain.roots:
            tall = _height(root)
            self._root(root, x, top, width, tall, side)
            top += tall + _ROOT_GAP
        return height

    def _domain_texts(self, domain: Domain) -> tuple[str, str, str]:
        name = self.texts["numa_unknown"] if domain.node is None else self.texts["numa"].format(node=domain.node)
        details = []
        if domain.record is not None:
            cpus = domain.record.get("cpus")
            count = count_cpus(cpus)
            if count:
                details.append(self.texts["cpus"].format(count=count, list=cpus))
            elif count == 0:
                details.append(self.texts["no_cpus"])
            if domain.record.get("memory_mib") is not None:
                details.insert(0, size_text(domain.record["memory_mib"]))
            for pool in domain.record.get("hugepages") or ():
                if pool.get("total"):
                    details.append(f"{pool['total']} × {size_text(pool['size_kib'] / 1024)} hugepages")
        return name, " · ".join(details), " · ".join([name, *details])

    def _root(self, root: Root, x: float, y: float, width: float, height: float, side: int) -> None:
        left = x + _PAD if side > 0 else x + width - _PAD - _ROOT_WIDTH
        name = root.name or self.texts["path_unknown" if root.name is None else "off_pci"]
        kind = self.texts["kind_root"] if root.name else ""
        frame = Frame(left, y, _ROOT_WIDTH, height)
        self._box("root" if root.name else "root loose", frame, f"{kind} {name}".strip())
        words = (
            [(name, "t mono", True)] if kind else [(word, "t muted", False) for word in _broken(name, _ROOT_WIDTH - 6)]
        )
        self._centred(frame, ([(kind, "t muted", False)] if kind else []) + words)
        self._children(root.children, frame, x, y, width, 0, side)

    def _children(
        self,
        children: Sequence[Union[Switch, Card]],
        above: Frame,
        x: float,
        y: float,
        width: float,
        level: int,
        side: int,
    ) -> None:
        for child in children:
            tall = _height(child)
            if isinstance(child, Switch):
                offset = _PAD + _ROOT_WIDTH + _EDGE + level * (_SWITCH_WIDTH + _EDGE)
                left = x + offset if side > 0 else x + width - offset - _SWITCH_WIDTH
                frame = Frame(left, y, _SWITCH_WIDTH, tall)
                self._edge(above, frame, child.link, child.via, child.id, side)
                self._box("switch", frame, " → ".join([*child.via, child.id]))
                self._centred(frame, [(self.texts["kind_switch"], "t", False), (child.id, "t mono muted", True)])
                self._children(child.children, frame, x, y, width, level + 1, side)
            else:
                left = x + width - _PAD - _CARD_WIDTH if side > 0 else x + _PAD
                frame = Frame(left, y, _CARD_WIDTH, tall)
                self._edge(
                    above,
                    frame,
                    child.link,
                    child.via,
                    child.ids[0],
                    side,
                    is_loose=child.records[0].get("path") is None,
                )
                self._card(child, frame, side)
            y += tall + _GAP

    def _edge(
        self,
        above: Frame,
        below: Frame,
        link: Capability,
        via: Sequence[str],
        name: str,
        side: int,
        is_loose: bool = False,
    ) -> None:
        y = below.y + below.height / 2
        start, end = (above.x + above.width, below.x) if side > 0 else (above.x, below.x + below.width)
        flaw = next((self.flaws[one] for one in (name, *via) if one in self.flaws), None)
        text = edge_text(link)
        title = " → ".join([*via, name]) + (f" · {link.speed_gts:g} GT/s" if link.speed_gts is not None else "")
        if link.width is not None:
            title += f" ×{link.width}"
        if flaw is not None:
            title += f" · {flaw.text}"
        thickness = _LANES.get(link.width or 0, 1.0)
        kind = "edge" + (" flaw" if flaw else "") + (" loose" if is_loose else "")
        self.lines.append("<g>" + tag("title", safe(title)) + _line(kind, start, y, end, y, thickness))
        if text:
            middle = below.x - _EDGE / 2 if side > 0 else below.x + below.width + _EDGE / 2
            self.lines.append(_text("s centre flawed" if flaw else "s centre", middle, y - 5, text))
        self.lines.append("</g>")

    def _card(self, card: Card, frame: Frame, side: int) -> None:
        record = card.records[0]
        driver = part(record, "driver")
        states, marks = [], []
        if card.kind in ACCELERATORS:
            if driver.get("name") == _LENT:
                states.append(self.texts["passed_through"])
            elif (
                driver
                and driver.get("name") is None
                and "driver.name" not in part(record, "unknown")
                and "driver" not in part(record, "unknown")
            ):
                states.append(self.texts["no_driver"])
            if record.get("partitions"):
                states.append(self.texts["partitions"].format(count=len(record["partitions"])))
            if record.get("integrated"):
                states.append(self.texts["integrated"])
        if card.virtual:
            marks.append(self.texts["virtual"].format(count=len(card.virtual)))
        first, second = _card_texts(card)
        if record.get("memory_mib"):
            marks.append(size_text(record["memory_mib"]))
        elif card.kind == "storage":
            sizes = [one["size_mib"] for one in card.records if one.get("size_mib")]
            if sizes:
                marks.append(size_text(sum(sizes)))
        title = " · ".join([*card.ids, first, *([second] if second else []), *marks, *states, *card.virtual])
        self._box(f"card {card.kind}" + (" lent" if driver.get("name") == _LENT else ""), frame, title)
        stripe = frame.x if side < 0 else frame.x + frame.width - 5
        self.boxes.append(_rect("stripe", Frame(stripe, frame.y, 5, frame.height), 0))
        start = frame.x + (14 if side < 0 else 9)
        space = frame.width - 23
        mark = " ".join(marks)
        room = space - (text_width(mark, 11) + 8 if mark else 0)
        self.boxes.append(_text("t strong", start, frame.y + 16, fit(first, room, 12.6)))
        if mark:
            self.boxes.append(_text("s end", start + space, frame.y + 16, mark))
        address = _address_text(card)
        self.boxes.append(_text("s mono", start, frame.y + 31, fit(address, space, 11, True)))
        rest = " · ".join([*states, *([second] if second else [])])
        left = space - text_width(address, 11, True) - 10
        if rest and left > 30:
            self.boxes.append(_text("s end muted", start + space, frame.y + 31, fit(rest, left, 11)))
        self.boxes.append("</g>")
        x = frame.x + frame.width if side > 0 else frame.x
        for index, device in enumerate(card.ids):
            self.ports[device] = (x, frame.y + frame.height * (index + 1) / (len(card.ids) + 1), side)

    def _channel_width(self, has_right: bool) -> float:
        bands = [fabric for fabric in self.wiring.fabrics if _is_band(fabric)]
        arcs = [fabric for fabric in self.wiring.fabrics if not _is_band(fabric)]
        if not self.wiring.fabrics:
            return 24 if has_right else 0
        return (
            _CHANNEL_PAD * 2
            + len(bands) * (_BAND_WIDTH + _BAND_GAP)
            - (_BAND_GAP if bands else 0)
            + (_ARC_CHANNEL if arcs else 0)
        )

    def _fabrics(self, left: float, channel: float) -> None:
        x = left + _CHANNEL_PAD
        for fabric in self.wiring.fabrics:
            if _is_band(fabric):
                self._band(fabric, x)
                x += _BAND_WIDTH + _BAND_GAP
        for fabric in self.wiring.fabrics:
            if not _is_band(fabric):
                self._arcs(fabric, left, channel)

    def _band(self, fabric: Fabric, x: float) -> None:
        ports = [self.ports[member] for member in fabric.members if member in self.ports]
        top, bottom = min(port[1] for port in ports) - 14, max(port[1] for port in ports) + 14
        counts = sorted({link["count"] for link in fabric.links if link.get("count") is not None})
        span = "" if not counts else f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
        how = "band_unknown"
        if fabric.links:
            how = "band_switched" if fabric.links[0].get("hops") == 2 else "band_all"
        lines = [
            self.texts["band"].format(
                kind=fabric_name(fabric.kind), links=self.texts["band_links"].format(count=span) if span else ""
            ),
            self.texts[how].format(devices=len(fabric.members)),
        ]
        title = f"{', '.join(lines)}: {', '.join(fabric.members)}"
        loose = "" if fabric.links else " loose"
        for port_x, y, side in ports:
            end = x if side > 0 else x + _BAND_WIDTH
            self.lines.append(_line(f"scaleup{loose}", port_x, y, end, y, 4))
        self.lines.append('<g class="box-group">' + tag("title", safe(title)))
        self.lines.append(_rect(f"box band{loose}", Frame(x, top, _BAND_WIDTH, bottom - top), 6))
        middle_x, middle_y = x + _BAND_WIDTH / 2, (top + bottom) / 2
        for offset, line in zip((-4, 12), lines):
            place = f"translate({middle_x + offset:g} {middle_y:g}) rotate(-90)"
            text = safe(fit(line, bottom - top - 10, 12.6))
            self.lines.append(tag("text", text, "t centre onband", transform=place))
        self.lines.append("</g>")

    def _arcs(self, fabric: Fabric, left: float, channel: float) -> None:
        for link in fabric.links:
            one, two = self.ports.get(str(link["a"])), self.ports.get(str(link["b"]))
            if one is None or two is None:
                continue
            count = link.get("count")
            title = self.texts["arc"].format(
                a=link["a"], b=link["b"], kind=fabric_name(fabric.kind), count="?" if count is None else count
            )
            (x1, y1, side1), (x2, y2, side2) = one, two
            if side1 == side2:
                reach = min(channel - 30, 24 + abs(y2 - y1) * 0.45)
                curve = f"C {x1 + side1 * reach:g} {y1:g} {x2 + side2 * reach:g} {y2:g} {x2:g} {y2:g}"
            else:
                curve = f"C {x1 + side1 * channel * 0.4:g} {y1:g} {x2 + side2 * channel * 0.4:g} {y2:g} {x2:g} {y2:g}"
            thickness = min(6.0, 1.0 + 0.8 * (1 if count is None else count))
            place = {"d": f"M {x1:g} {y1:g} {curve}", "stroke-width": f"{thickness:g}"}
            self.lines.append(tag("path", tag("title", safe(title)), "scaleup arc", **place))

    def _box(self, kind: str, frame: Frame, title: str) -> None:
        """Open a group with its rectangle; the caller closes it."""
        radius = 10 if kind == "domain" else 5
        self.boxes.append(f'<g class="box-group {kind}">' + tag("title", safe(title)) + _rect("box", frame, radius))

    def _centred(self, frame: Frame, lines: Sequence[tuple[str, str, bool]]) -> None:
        x = frame.x + frame.width / 2
        y = frame.y + frame.height / 2 + 4 - (len(lines) - 1) * 7.5
        for text, style, is_mono in lines:
            size = 11 if is_mono else 12
            self.boxes.append(_text(f"{style} centre", x, y, fit(text, frame.width - 6, size, is_mono)))
            y += 15
        self.boxes.append("</g>")


def _text(kind: str, x: float, y: float, text: str) -> str:
    return tag("text", safe(text), kind, x=f"{x:g}", y=f"{y:g}")


def _rect(kind: str, frame: Frame, radius: float) -> str:
    place = {"x": frame.x, "y": frame.y, "width": frame.width, "height": frame.height, "rx": radius}
    return tag("rect", "", kind, **{key: f"{value:g}" for key, value in place.items()})


def _line(kind: str, x1: float, y1: float, x2: float, y2: float, thickness: float) -> str:
    place = {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "stroke-width": thickness}
    return tag("line", "", kind, **{key: f"{value:g}" for key, value in place.items()})


def edge_text(link: Capability) -> str:
    """``Gen5 ×16``, with what is not known left out."""
    parts = []
    if link.speed_gts is not None:
        generation = _GENERATIONS.get(link.speed_gts)
        parts.append(f"Gen{generation}" if generation else f"{link.speed_gts:g} GT/s")
    if link.width is not None:
        parts.append(f"×{link.width}")
    return " ".join(parts)


def fabric_name(kind: str) -> str:
    """How a kind of link is written."""
    return {"nvlink": "NVLink", "xgmi": "xGMI", "scaleup": "scale-up"}.get(kind, kind)


def _is_band(fabric: Fabric) -> bool:
    return fabric.is_complete or not fabric.links


def _broken(text: str, width: float) -> list[str]:
    """A text in two lines, where it is too wide for one."""
    if text_width(text, 12) <= width:
        return [text]
    first, _space, rest = text.partition(" ")
    return [first, rest] if rest else [first]


def _height(place: Union[Root, Switch, Card]) -> float:
    if isinstance(place, Card):
        return _ROW
    return sum(_height(child) for child in place.children) + _GAP * (len(place.children) - 1)


def _levels(place: Union[Root, Switch, Card]) -> int:
    if isinstance(place, Card):
        return 0
    return max(_levels(child) for child in place.children) + (1 if isinstance(place, Switch) else 0)


def _worth_drawing(domains: Sequence[Domain]) -> tuple[list[Domain], list[Domain]]:
    """NUMA nodes that the platform keeps for later (no CPUs, no memory, no cards) are counted, not drawn."""
    spare = [
        domain
        for domain in domains
        if not domain.roots
        and domain.record is not None
        and count_cpus(domain.record.get("cpus")) == 0
        and domain.record.get("memory_mib") == 0
    ]
    return [domain for domain in domains if domain not in spare], spare


def _sides(domains: Sequence[Domain]) -> tuple[list[Domain], list[Domain]]:
    """First half of the NUMA nodes left, second half right; cards of unknown NUMA node where there is more room."""
    known = [domain for domain in domains if domain.node is not None]
    half = (len(known) + 1) // 2
    left, right = known[:half], known[half:]
    for domain in domains:
        if domain.node is None:
            (left if _tall(left) <= _tall(right) else right).append(domain)
    return left, right


def _tall(domains: Sequence[Domain]) -> float:
    return sum(_HEAD + _PAD + sum(_height(root) + _ROOT_GAP for root in domain.roots) for domain in domains)


def _address_text(card: Card) -> str:
    if card.fold > 1:
        return f"{card.ids[0]} … {card.ids[-1].rpartition(':')[2]}"
    if len(card.ids) == 1:
        return card.ids[0]
    return card.ids[0] + "".join(f",{one.rpartition('.')[2]}" for one in card.ids[1:])


def _card_texts(card: Card) -> tuple[str, str]:
    """What a card is, and what is worth saying beside its address."""
    record = card.records[0]
    model = short_model(record.get("maker"), model_of(record))
    if card.kind == "nic":
        nets = [net for one in card.records for net in one.get("netdevs") or ()]
        ports = [port for one in card.records for port in one.get("rdma") or ()]
        speeds = [port["rate_gbps"] for port in ports if port.get("rate_gbps")] or [
            net["speed_mbps"] / 1000 for net in nets if (net.get("speed_mbps") or 0) > 0
        ]
        kinds = {"infiniband": "IB", "roce": "RoCE", "iwarp": "iWARP", "omnipath": "OPA"}
        protocols = sorted(
            {kinds.get(str(port.get("protocol")), str(port.get("protocol"))) for port in ports if port.get("protocol")}
        )
        words = [*protocols, *([f"{max(speeds):g} Gb/s"] if speeds else [])]
        return _times(card, model), " ".join(words)
    if card.kind == "storage":
        names = [str(name) for one in card.records for name in one.get("names") or ()]
        return _times(card, names[0] if names and card.fold == 1 else "NVMe"), str(record.get("model") or "")
    driver = part(record, "driver")
    version = driver.get("version")
    name = str(driver.get("name")) if driver.get("name") not in (None, _LENT) else ""
    return model, f"{name} {version}" if name and version else name


def _times(card: Card, text: str) -> str:
    return f"{card.fold} × {text}" if card.fold > 1 else text
