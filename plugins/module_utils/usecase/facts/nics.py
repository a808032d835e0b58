# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NICs: network and InfiniBand functions with their network devices, bonds, VLANs and RDMA ports.

Hardware addresses and GUIDs are never read into the facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

from ...codec import network, sysfs
from ...host.door import Host
from ...model.answer import MISSING, Answer, Book
from ...model.pci import Function
from . import pci

NET = "/sys/class/net"
INFINIBAND = "/sys/class/infiniband"
VLAN_CONFIG = "/proc/net/vlan/config"

NOT_ON_PCI = "not on PCI"
NO_LINKS = "this tree has no link from the RDMA device to its PCI function"
LINK_DOWN = "link is down"
PORT_DOWN = "port is down"
NO_SPEED = "the driver tells no speed"
NO_STATE = "the driver tells no state"

# An accelerator's own network ports (Gaudi) and the virtual ones of a Xeon Phi are a part of the accelerator.
_ACCELERATOR_CLASSES = ("03", "0b", "12")
# What the speed file says where there is none: -1, and the same as unsigned before Linux 3.18.
_NO_SPEEDS = ("-1", "4294967295", "65535", "")


class Children(NamedTuple):
    """The network or RDMA devices of one kind: folders by name, under the PCI function above each.

    ``elsewhere`` are those below no PCI function. ``reason`` says why the class folder could not be listed,
    None where it was.
    """

    of: dict[str, dict[str, str]]
    elsewhere: dict[str, str]
    reason: Optional[str]


class Network(NamedTuple):
    """What all NICs share: bonds by member, rows of the VLAN configuration and why there are none."""

    bonds: dict[str, str]
    vlans: list[network.Vlan]
    vlan_reason: Optional[str]


def observe(host: Host, functions: Mapping[str, Function]) -> tuple[Optional[list[dict[str, Any]]], dict[str, str]]:
    """The NICs in the order of ``functions``, those off PCI behind them; None with the reason under ``nics``.

    A network or RDMA device whose links cannot be followed is in no NIC, and is told of as ``nics.<name>``.
    """
    unknown: dict[str, str] = {}
    netdevs = _children(host, NET, functions, unknown)
    rdma = _children(host, INFINIBAND, functions, unknown)
    if not functions and rdma.reason is not None:
        listed = host.list(pci.DEVICES)
        if listed.value is None:
            return None, {"nics": f"{pci.DEVICES} {listed.reason}"}
    shared = _network(host)
    found = []
    for function in functions.values():
        is_adapter = network.is_adapter_class(function.pci_class)
        if is_adapter or (function.id in rdma.of and not (function.pci_class or "").startswith(_ACCELERATOR_CLASSES)):
            found.append(_on_pci(host, function, functions, netdevs, rdma, shared))
        elif function.pci_class is None:
            # Then what its driver shows below it decides.
            if host.list(f"{function.place}/net").value or host.list(f"{function.place}/infiniband").value:
                found.append(_on_pci(host, function, functions, netdevs, rdma, shared))
            else:
                unknown[f"nics.{function.id}"] = pci.NO_CLASS
    found.extend(_off_pci(host, netdevs, rdma, shared))
    return found, unknown


def _children(host: Host, folder: str, functions: Mapping[str, Function], unknown: dict[str, str]) -> Children:
    names = host.list(folder)
    of, elsewhere = pci.owned(host, folder, names.value or (), functions, "nics", unknown)
    return Children(of, elsewhere, names.reason)


def _on_pci(
    host: Host,
    function: Function,
    functions: Mapping[str, Function],
    netdevs: Children,
    rdma: Children,
    shared: Network,
) -> dict[str, Any]:
    book = Book()
    fields = pci.shared_fields(host, function, functions, book)
    model = network.model(function.vendor_id, function.device_id)
    parent = functions.get((fields["sriov"] or {}).get("physical_function") or "")
    if model.value is None and parent is not None:
        # mlx5 gives the virtual functions of all its generations one id: the physical one tells the model.
        model = network.model(parent.vendor_id, parent.device_id)
    driver = fields["driver"]["name"]
    own_netdevs, why_no_netdevs = _own(host, function, "net", netdevs)
    own_rdma, why_no_rdma = _own(host, function, "infiniband", rdma)
    if why_no_rdma == MISSING and netdevs.reason is None:
        own_rdma = {}  # the tree has its classes, and RDMA is none of them: no RDMA driver is loaded
    return {
        "id": function.id,
        "maker": book.take("maker", network.maker(function.vendor_id), str),
        "model": book.take("model", model, str),
        **{key: fields[key] for key in ("numa_node", "cpus", "pci", "path", "link", "sriov", "driver")},
        "netdevs": _listed_netdevs(host, own_netdevs, why_no_netdevs, shared, book),
        "rdma": _listed_rdma(host, own_rdma, why_no_rdma, driver, book),
        "unknown": book.unknown,
    }


def _own(
    host: Host, function: Function, kind: str, children: Children
) -> tuple[Optional[dict[str, str]], Optional[str]]:
    """The devices of one kind below a function, from the class folder and from the function's own."""
    found = dict(children.of.get(function.id, {}))
    folder = f"{function.place}/{kind}"
    below = host.list(folder)
    for name in below.value or ():
        found.setdefault(name, f"{folder}/{name}")
    if not found and below.value is None and children.reason is not None:
        return None, children.reason if below.reason == MISSING else below.reason
    return found, None


def _off_pci(host: Host, netdevs: Children, rdma: Children, shared: Network) -> list[dict[str, Any]]:
    """RDMA devices that no PCI function stands above, by the path of their parent; those of software are none."""
    parents: dict[str, dict[str, str]] = {}
    for name, place in rdma.elsewhere.items():
        if _is_linked(place):
            parents.setdefault(place.partition("/infiniband/")[0], {})[name] = place
        elif not place.startswith("/sys/devices/") and host.exists(f"{place}/ports"):
            parents[place] = {name: place}
    found = []
    for parent in sorted(parents):
        book = Book()
        is_linked = parent.startswith("/sys/devices/")
        why = NOT_ON_PCI if is_linked else NO_LINKS
        numa_node, driver, why_no_netdevs = None, {"name": None, "version": None}, netdevs.reason
        if is_linked:
            numa_node = pci.numa_node(host, Function(parent, parent, None, None, None, None, None), book)
            driver = pci.driver(host, parent, book)
        else:
            why_no_netdevs = why
            for key in ("numa_node", "driver.name", "driver.version"):
                book.miss(key, why)
        own = {name: place for name, place in netdevs.elsewhere.items() if place.startswith(f"{parent}/")}
        maker, model = _by_hca_type(host, next(iter(parents[parent].values())), book)
        found.append(
            {
                "id": parent.partition("/sys/devices/" if is_linked else "/sys/")[2],
                "maker": maker,
                "model": model,
                "numa_node": numa_node,
                **{key: book.miss(key, why) for key in ("cpus", "pci", "path", "link", "sriov")},
                "driver": driver,
                "netdevs": _listed_netdevs(host, None if why_no_netdevs else own, why_no_netdevs, shared, book),
                "rdma": _listed_rdma(host, parents[parent], None, driver["name"], book),
                "unknown": book.unknown,
            }
        )
    return found


def _is_linked(place: str) -> bool:
    """Whether an RDMA device stands below a piece of hardware; the kernel puts software (rxe, siw) below virtual."""
    return place.startswith("/sys/devices/") and not place.startswith("/sys/devices/virtual/")


def _by_hca_type(host: Host, place: str, book: Book) -> tuple[Optional[str], Optional[str]]:
    """Maker and model of an RDMA device without a PCI function: mlx4 and mlx5 write the device id into hca_type."""
    answer = host.read(f"{place}/hca_type")
    device = book.take("model", answer, network.device_of_hca_type)
    if device is None:
        book.miss("maker", f"hca_type {answer.reason or 'does not tell it'}")
        return None, None
    model = book.take("model", network.model(network.MLX_VENDOR, device), str)
    return network.MAKERS[network.MLX_VENDOR], model


def _network(host: Host) -> Network:
    bonds: dict[str, str] = {}
    for bond in (host.read(f"{NET}/bonding_masters").value or "").split():
        for member in (host.read(f"{NET}/{bond}/bonding/slaves").value or "").split():
            bonds[member] = bond
    config = host.read(VLAN_CONFIG)
    if config.value is None:
        return Network(bonds, [], config.reason)
    try:
        return Network(bonds, network.vlans(config.value), None)
    except ValueError as error:
        return Network(bonds, [], f"unexpected content {str(error)[:40]!r}")


def _listed_netdevs(
    host: Host, own: Optional[dict[str, str]], reason: Optional[str], shared: Network, book: Book
) -> Optional[list[dict[str, Any]]]:
    if own is None:
        book.miss("netdevs", _told(NET, reason))
        return None
    return [_netdev(host, name, own[name], shared, f"netdevs.{at}", book) for at, name in enumerate(sorted(own))]


def _told(folder: str, reason: Optional[str]) -> str:
    return f"{folder} {MISSING}" if reason in (None, MISSING) else str(reason)


def _netdev(host: Host, name: str, place: str, shared: Network, key: str, book: Book) -> dict[str, Any]:
    state = host.read(f"{place}/operstate")
    if state.value == "unknown" or state.value == "":
        state = Answer(None, NO_STATE)
    bond = _bond(host, name, place, shared)
    return {
        "name": name,
        "mtu": book.take(f"{key}.mtu", host.read(f"{place}/mtu"), sysfs.integer),
        "speed_mbps": book.take(f"{key}.speed_mbps", _speed(host, place, state), sysfs.integer),
        "state": book.take(f"{key}.state", state, str),
        "bond": bond,
        "vlans": _vlans(host, name, place, bond, shared, f"{key}.vlans", book),
    }


def _speed(host: Host, place: str, state: Answer) -> Answer:
    """The speed; a link that is down has none, and the kernel then says so by an error or by -1."""
    answer = host.read(f"{place}/speed")
    refused = answer.value is None and (answer.reason or "").endswith("(Invalid argument)")
    if refused or answer.value in _NO_SPEEDS:
        return Answer(None, NO_SPEED if state.value in (None, "up") else LINK_DOWN)
    return answer


def _bond(host: Host, name: str, place: str, shared: Network) -> Optional[str]:
    """The bond that a network device is a member of; other masters (bridges, VRFs) are none."""
    master = (host.resolve(f"{place}/master").value or "").rpartition("/")[2]
    if master and host.exists(f"{NET}/{master}/bonding"):
        return master
    return shared.bonds.get(name)


def _vlans(
    host: Host, name: str, place: str, bond: Optional[str], shared: Network, key: str, book: Book
) -> list[dict[str, Any]]:
    """The VLANs on a network device and on its bond. Only root may read their numbers on most kernels."""
    found: dict[str, Optional[int]] = {}
    lowers = {name: place} if bond is None else {name: place, bond: f"{NET}/{bond}"}
    for folder in lowers.values():
        for entry in host.list(folder).value or ():
            upper = entry[len("upper_") :]
            if entry.startswith("upper_") and _is_vlan(host, f"{folder}/{entry}"):
                found[upper] = None
    found.update((vlan.name, vlan.id) for vlan in shared.vlans if vlan.parent in lowers)
    for at, vlan_name in enumerate(sorted(found)):
        if found[vlan_name] is None:
            book.miss(f"{key}.{at}.id", f"{VLAN_CONFIG} {shared.vlan_reason or 'does not list it'}")
    return [{"name": vlan_name, "id": found[vlan_name]} for vlan_name in sorted(found)]


def _is_vlan(host: Host, place: str) -> bool:
    return sysfs.uevent(host.read(f"{place}/uevent").value or "").get("DEVTYPE") == "vlan"


def _listed_rdma(
    host: Host, own: Optional[dict[str, str]], reason: Optional[str], driver: Optional[str], book: Book
) -> Optional[list[dict[str, Any]]]:
    if own is None:
        book.miss("rdma", _told(INFINIBAND, reason))
        return None
    rows: list[dict[str, Any]] = []
    for name in sorted(own):
        ports = host.list(f"{own[name]}/ports")
        numbers = sorted(int(port) for port in ports.value or () if port.isascii() and port.isdigit())
        for port in numbers:
            rows.append(_port(host, name, own[name], port, driver, f"rdma.{len(rows)}", book))
        if not numbers:
            why = f"{own[name]}/ports {ports.reason or 'lists no port'}"
            keys = ("port", "protocol", "state", "rate_gbps")
            rows.append({"name": name, **{key: book.miss(f"rdma.{len(rows)}.{key}", why) for key in keys}})
    return rows


def _port(host: Host, name: str, place: str, port: int, driver: Optional[str], key: str, book: Book) -> dict[str, Any]:
    folder = f"{place}/ports/{port}"
    state = book.take(f"{key}.state", host.read(f"{folder}/state"), network.port_state)
    rate = host.read(f"{folder}/rate")
    if state == "down":
        rate = Answer(None, PORT_DOWN)  # the file then has the lowest rate there is, which is no rate of this port
    return {
        "name": name,
        "port": port,
        "protocol": _protocol(host, place, folder, driver, f"{key}.protocol", book),
        "state": state,
        "rate_gbps": book.take(f"{key}.rate_gbps", rate, network.rate_gbps),
    }


def _protocol(host: Host, place: str, folder: str, driver: Optional[str], key: str, book: Book) -> Optional[str]:
    layer = host.read(f"{folder}/link_layer")
    if layer.value is None:
        book.miss(key, f"link_layer {layer.reason}")
        return None
    node = host.read(f"{place}/node_type")
    board = host.read(f"{place}/board_id").value if driver is None else None
    hca = host.read(f"{place}/hca_type").value if driver is None else None
    try:
        return network.protocol(layer.value, node.value, driver, board, hca)
    except ValueError:
        book.miss(key, f"link layer {layer.value[:40]!r}, node type {(node.value or str(node.reason))[:40]!r}")
        return None
