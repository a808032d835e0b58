# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small trees that stand for nodes."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Optional, Union

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.host.door import Host

Files = Mapping[str, Union[str, bytes, None]]
Grow = Callable[..., Host]


class FailingHost(Host):
    """A node on which reading the paths that match ``broken`` fails with EIO, as a device that fell off the bus does.

    What matches ``gone`` is removed between being listed and being read.
    """

    broken: Optional[re.Pattern[str]] = None
    gone: Optional[re.Pattern[str]] = None

    def _read_raw(self, place: str, limit: int, offset: int = 0) -> bytes:
        for pattern, number in ((self.broken, errno.EIO), (self.gone, errno.ENOENT)):
            if pattern is not None and pattern.search(place):
                raise OSError(number, os.strerror(number))
        return super()._read_raw(place, limit, offset)


@pytest.fixture
def grow(tmp_path: Path) -> Grow:
    """A function that writes ``{path: content}`` as a tree and opens it.

    ``-> target`` is a symbolic link, None an empty folder; a text ends with a new line as in sysfs.
    """

    def write(files: Files, broken: Optional[str] = None, gone: Optional[str] = None) -> Host:
        for path, content in files.items():
            place = tmp_path / path.lstrip("/")
            if content is None:
                place.mkdir(parents=True, exist_ok=True)
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                place.write_bytes(content)
            elif content.startswith("-> "):
                place.symlink_to(content[3:])
            else:
                place.write_text(content + "\n", encoding="utf-8")
        host = FailingHost(str(tmp_path))
        host.broken = None if broken is None else re.compile(broken)
        host.gone = None if gone is None else re.compile(gone)
        return host

    return write


def pci_function(
    place: str, vendor: str, device: str, pci_class: str, **more: Optional[str]
) -> dict[str, Optional[str]]:
    """The files of a PCI function below ``/sys/devices``, and its entry in the list of the bus."""
    address = place.rpartition("/")[2]
    files: dict[str, Optional[str]] = {
        f"/sys/bus/pci/devices/{address}": f"-> ../../../devices/{place}",
        f"/sys/devices/{place}/vendor": f"0x{vendor}",
        f"/sys/devices/{place}/device": f"0x{device}",
        f"/sys/devices/{place}/subsystem_vendor": f"0x{vendor}",
        f"/sys/devices/{place}/subsystem_device": "0x0001",
        f"/sys/devices/{place}/class": f"0x{pci_class}",
        f"/sys/devices/{place}/revision": "0x01",
        f"/sys/devices/{place}/numa_node": "1",
        f"/sys/devices/{place}/local_cpulist": "8-15",
        f"/sys/devices/{place}/current_link_speed": "32.0 GT/s PCIe",
        f"/sys/devices/{place}/current_link_width": "16",
        f"/sys/devices/{place}/max_link_speed": "32.0 GT/s PCIe",
        f"/sys/devices/{place}/max_link_width": "16",
        f"/sys/devices/{place}/uevent": "",
    }
    files.update({f"/sys/devices/{place}/{name}": content for name, content in more.items()})
    return files


@pytest.fixture(name="pci_function")
def _pci_function() -> Callable[..., dict[str, Optional[str]]]:
    return pci_function
