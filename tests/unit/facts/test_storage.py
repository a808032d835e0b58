# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVMe controllers from small trees."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host
from ansible_collections.accelerator.ops.plugins.module_utils.usecase.facts import pci, storage

PLACE = "pci0000:10/0000:10:02.0/0000:12:00.0"
SYS = f"/sys/devices/{PLACE}"


def observed(host: Host) -> tuple[list[dict[str, Any]], dict[str, str]]:
    found, unknown = storage.observe(host, pci.functions(host)[0] or {})
    assert found is not None
    return found, unknown


def only(host: Host) -> dict[str, Any]:
    found, unknown = observed(host)
    assert unknown == {}
    assert len(found) == 1
    return found[0]


@pytest.fixture
def slot(pci_function: Any) -> dict[str, Any]:
    """An NVMe function with its driver."""
    return {
        **pci_function("pci0000:10/0000:10:02.0", "8086", "352b", "060400"),
        **pci_function(PLACE, "144d", "a80a", "010802", driver="-> ../../../../bus/pci/drivers/nvme"),
        "/sys/bus/pci/drivers/nvme/module": "-> ../../../../module/nvme",
        "/sys/module/nvme/version": "1.0",
    }


@pytest.fixture
def drive(slot: Any) -> dict[str, Any]:
    """The same with a controller and one namespace of 4 GiB."""
    return {
        **slot,
        "/sys/class/nvme/nvme0": f"-> ../../devices/{PLACE}/nvme/nvme0",
        f"{SYS}/nvme/nvme0/model": "Sample SSD 4T                           ",
        f"{SYS}/nvme/nvme0/serial": "S0000",
        f"{SYS}/nvme/nvme0/nvme0n1/size": "8388608",
        f"{SYS}/nvme/nvme0/nvme0n1/nvme0n1p1/size": "2048",
        f"{SYS}/nvme/nvme0/ng0n1/dev": "240:0",
    }


def test_a_whole_controller(grow: Any, drive: Any) -> None:
    one = only(grow(drive))
    assert list(one) == ["id", "names", "model", "size_mib", "numa_node", "cpus", "pci", "path", "link", "unknown"]
    assert one["pci"]["class"] == "010802"
    assert one["link"]["speed_gts"] == 32.0
    assert {key: one[key] for key in one if key not in ("pci", "link")} == {
        "id": "0000:12:00.0",
        "names": ["nvme0", "nvme0n1"],
        "model": "Sample SSD 4T",
        "size_mib": 4096,
        "numa_node": 1,
        "cpus": "8-15",
        "path": ["0000:10:02.0"],
        "unknown": {},
    }


def test_namespaces_are_added_up_in_their_order(grow: Any, drive: Any) -> None:
    more = {f"{SYS}/nvme/nvme0/nvme0n{number}/size": "2048" for number in (2, 10)}
    one = only(grow({**drive, **more}))
    assert one["names"] == ["nvme0", "nvme0n1", "nvme0n2", "nvme0n10"]
    assert one["size_mib"] == 4098


def test_multipath_names_the_block_device_and_not_the_path(grow: Any, slot: Any) -> None:
    head = "virtual/nvme-subsystem/nvme-subsys3/nvme3n1"
    files = {
        **slot,
        "/sys/class/nvme/nvme5": f"-> ../../devices/{PLACE}/nvme/nvme5",
        f"{SYS}/nvme/nvme5/model": "Sample",
        f"{SYS}/nvme/nvme5/nvme3c5n1/size": "4096",
        "/sys/class/block/nvme3n1": f"-> ../../devices/{head}",
        f"/sys/devices/{head}/size": "4096",
    }
    one = only(grow(files))
    assert (one["names"], one["size_mib"]) == (["nvme5", "nvme3n1"], 2)


def test_a_hidden_path_without_size_takes_that_of_its_block_device(grow: Any, slot: Any) -> None:
    head = "virtual/nvme-subsystem/nvme-subsys3/nvme3n1"
    files = {
        **slot,
        f"{SYS}/nvme/nvme5/model": "Sample",
        f"{SYS}/nvme/nvme5/nvme3c5n1": None,
        "/sys/class/block/nvme3n1": f"-> ../../devices/{head}",
        f"/sys/devices/{head}/size": "4096",
    }
    assert only(grow(files))["size_mib"] == 2


def test_the_layout_of_old_kernels(grow: Any, slot: Any) -> None:
    files = {
        **slot,
        "/sys/class/block/nvme0n1": f"-> ../../devices/{PLACE}/block/nvme0n1",
        "/sys/class/block/nvme0n1p1": f"-> ../../devices/{PLACE}/block/nvme0n1/nvme0n1p1",
        f"{SYS}/block/nvme0n1/size": "4096",
        f"{SYS}/block/nvme0n1/nvme0n1p1/size": "2048",
    }
    one = only(grow(files))
    assert (one["names"], one["size_mib"], one["model"]) == (["nvme0n1"], 2, None)
    assert one["unknown"] == {"model": "the kernel shows no controller above the namespaces"}


def test_a_controller_without_namespaces(grow: Any, drive: Any) -> None:
    one = only(grow({path: text for path, text in drive.items() if "nvme0n1" not in path}))
    assert (one["names"], one["size_mib"], one["unknown"]) == (["nvme0"], 0, {})


@pytest.mark.parametrize(
    ("driver", "names", "reason"),
    [
        (None, [], "no driver is bound"),
        ("vfio-pci", [], "driver vfio-pci shows no controller"),
        ("nvme", None, "/sys/class/nvme not there"),
    ],
)
def test_functions_without_controller(
    grow: Any, pci_function: Any, driver: Optional[str], names: Any, reason: str
) -> None:
    files = pci_function(PLACE, "144d", "a80a", "010802")
    if driver is not None:
        files[f"{SYS}/driver"] = f"-> ../../../../bus/pci/drivers/{driver}"
        files[f"/sys/bus/pci/drivers/{driver}"] = None
    one = only(grow(files))
    expected = {"model": reason, "size_mib": reason, **({"names": reason} if names is None else {})}
    assert (one["names"], one["unknown"]) == (names, expected)


def test_a_class_that_is_not_told_is_found_by_its_controller(grow: Any, drive: Any) -> None:
    one = only(grow(drive, broken=f"{PLACE}/class"))
    assert one["unknown"] == {"pci.class": "cannot be read (Input/output error)"}
    assert one["size_mib"] == 4096


def test_what_is_no_nvme_on_pci_is_not_told(grow: Any, pci_function: Any) -> None:
    fabric = "virtual/nvme-fabrics/ctl/nvme7"
    files = {
        **pci_function("pci0000:00/0000:00:17.0", "8086", "a352", "010601"),
        "/sys/class/nvme/nvme7": f"-> ../../devices/{fabric}",
        f"/sys/devices/{fabric}/model": "Remote",
    }
    assert observed(grow(files)) == ([], {})


def test_a_flat_tree_with_device_links(grow: Any) -> None:
    bus = "/sys/bus/pci/devices/0000:12:00.0"
    files = {
        f"{bus}/vendor": "0x144d",
        f"{bus}/class": "0x010802",
        "/sys/class/nvme/nvme0/device": "-> ../../../bus/pci/devices/0000:12:00.0",
        "/sys/class/nvme/nvme0/model": "Sample",
        "/sys/class/nvme/nvme0/nvme0n1/size": "2048",
    }
    one = only(grow(files))
    assert (one["names"], one["model"], one["size_mib"]) == (["nvme0", "nvme0n1"], "Sample", 1)


@pytest.mark.parametrize(
    ("path", "content", "unknown"),
    [
        ("model", "", {"model": "the drive tells none"}),
        ("model", b"\xff\xff", {"model": "not UTF-8 text"}),
        ("nvme0n1/size", "-5", {"size_mib": "unexpected content '-5'"}),
    ],
)
def test_what_is_not_understood(grow: Any, drive: Any, path: str, content: Any, unknown: Any) -> None:
    assert only(grow({**drive, f"{SYS}/nvme/nvme0/{path}": content}))["unknown"] == unknown


@pytest.mark.parametrize(("how", "reason"), [("broken", "cannot be read (Input/output error)"), ("gone", "not there")])
def test_files_that_fail_or_vanish(grow: Any, drive: Any, how: str, reason: str) -> None:
    one = only(grow(drive, **{how: "nvme/nvme0/"}))
    assert one["unknown"] == {"model": reason, "size_mib": reason}
    assert one["names"] == ["nvme0", "nvme0n1"]


def test_a_loop_of_links_is_told(grow: Any, drive: Any) -> None:
    found, unknown = observed(grow({**drive, "/sys/class/nvme/nvme1": "-> nvme1"}))
    assert len(found) == 1
    assert set(unknown) == {"storage.nvme1"}
    assert "symbolic links" in unknown["storage.nvme1"]


def test_nothing_to_look_at(grow: Any) -> None:
    assert storage.observe(grow({}), {}) == (None, {"storage": "/sys/bus/pci/devices not there"})
    assert storage.observe(grow({"/sys/bus/pci/devices": None}), {}) == ([], {})


def test_this_machine() -> None:
    host = Host("/")
    found, unknown = storage.observe(host, pci.functions(host)[0] or {})
    assert (found is None) == ("storage" in unknown)
