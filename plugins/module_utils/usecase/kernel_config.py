# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the kernel that last: modules, sysctl, huge pages, the command line, and what is made from them.

One wish, one look, one plan. Each aspect is decided in a file of its own in the folder ``kernel``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..host.door import Host
from ..model.plan import Plan, attempted, together
from .kernel import boot, modules, ramdisk, values
from .kernel.look import look
from .kernel.seen import Seen
from .kernel.wish import OPTIONS, read

__all__ = ["OPTIONS", "Seen", "decide", "observe"]


def observe(host: Host, wish: Mapping[str, Any]) -> Seen:
    """What the node has of all that the wish names. Raises InputError for a wish that is none, ProbeError."""
    return look(host, read(wish))


def decide(seen: Seen, wish: Mapping[str, Any]) -> Plan:
    """The plan that makes the node as wished. Raises InputError for a wish that is none.

    What cannot be for one aspect is a blocker of the plan, and hides nothing of the others.
    """
    asked = read(wish)
    about_modules = attempted(lambda: modules.decide(seen, asked))
    images = attempted(lambda: ramdisk.decide(seen, about_modules)) if asked.needs_initramfs else Plan()
    about_values = attempted(lambda: values.decide(seen, asked))
    return together((about_modules, images, about_values, attempted(lambda: boot.decide(seen, asked))))
