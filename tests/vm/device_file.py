# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in the guest: has the kernel make a device file with the name of a maker's, for as long as this runs.

No emulated device has a maker's driver that comes up. CUSE makes a character device of any name that is as real to the
kernel and to udev as each other one (Linux, include/uapi/linux/fuse.h, fs/fuse/cuse.c).
"""

from __future__ import annotations

import errno
import os
import struct
import sys

_INIT = 4096
_HEADER = struct.Struct("<IIQ")  # of a request: length, operation, number of it
_ANSWER = struct.Struct("<IiQ")
_MOST_BYTES = 131072


def main(name: str) -> None:
    """Answer the kernel: its first question with the name, all others with "not implemented"."""
    door = os.open("/dev/cuse", os.O_RDWR)
    while True:
        request = os.read(door, 2 * _MOST_BYTES)
        _length, operation, number = _HEADER.unpack_from(request)
        if operation == _INIT:
            major, minor = struct.unpack_from("<II", request, 40)
            told = struct.pack("<8I40x", major, minor, 0, 0, _MOST_BYTES, _MOST_BYTES, 0, 0)
            told += f"DEVNAME={name}".encode() + b"\0"
            os.write(door, _ANSWER.pack(_ANSWER.size + len(told), 0, number) + told)
        else:
            os.write(door, _ANSWER.pack(_ANSWER.size, -errno.ENOSYS, number))


if __name__ == "__main__":
    main(sys.argv[1])
