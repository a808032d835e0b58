# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All engines that are known, by name: what is seen of one, what would be done to it, what its running daemon answers.

Each is loaded only where it is looked for.
"""

from __future__ import annotations

from typing import Any, Optional

from ..host.door import Host
from ..model.errors import UnsupportedError
from ..model.plan import Found, Plan
from .asked import Asked, remembered
from .kinds import KINDS
from .running import Running

KNOWN = tuple(KINDS)


def _engine(name: str) -> Any:
    """The file of an engine, loaded now; None for a containerd, whose functions take more."""
    if name == "crio":
        from . import crio

        return crio
    if name == "podman":
        from . import podman

        return podman
    if name == "docker":
        from . import docker

        return docker
    return None


def look(host: Host, name: str) -> Optional[Any]:
    """What is seen of an engine, None where it is not here. Raises ProbeError."""
    engine = _engine(name)
    if engine is not None:
        return engine.look(host)
    from . import containerd

    return containerd.look(host, name)


def here(host: Host) -> dict[str, Any]:
    """All engines that are here, by name. Raises ProbeError."""
    found = {name: look(host, name) for name in KNOWN}
    return {name: seen for name, seen in found.items() if seen is not None}


def plan(name: str, seen: Any, asked: Asked, imports: str, is_named: bool) -> Plan:
    """What is to be done to one engine. ``is_named``: the user named it, so that what it has not is an error.

    Raises InputError, UnsupportedError, ConflictError, VerifyError.
    """
    asked = _fitting(name, asked)
    engine = _engine(name)
    if engine is not None:
        made: Plan = engine.plan(seen, asked)
        return made
    from . import containerd

    if not seen.problem and not containerd.is_served(seen):
        if is_named:
            found, step = "the plugin cri is disabled", "enable it, or leave it out of engines"
            raise UnsupportedError("configure", name, found, "one that serves Kubernetes", step)
        return Plan()  # it works for Docker, which does all this itself
    return containerd.plan(seen, asked, imports)


def _fitting(name: str, asked: Asked) -> Asked:
    """What of a wish is meant for an engine of this kind."""
    return asked if has_nri(name) else asked._replace(nri=None, nri_validator=None)


def has_ours(seen: Any) -> bool:
    """Whether an engine has a file of ours, which remembers what was asked; Docker has none."""
    return getattr(seen, "ours", Found()).state.kind == "file"


def ours_path(name: str, seen: Any) -> Optional[str]:
    """Where an engine has its file of ours, or would have it; None for Docker."""
    engine = _engine(name)
    found: Optional[str] = seen.ours_path if engine is None else getattr(engine, "OURS", None)
    return found


def is_missed(seen: Any) -> bool:
    """Whether a file of another, as we changed it, names a file of ours that is not there."""
    return bool(getattr(seen, "is_missed", False))


def wanted(name: str, seen: Any, asked: Asked) -> Optional[Asked]:
    """What an engine was made to be: by what a file of ours remembers, and for Docker, which has none, by what is
    asked. None where no file of ours is there."""
    if not hasattr(seen, "ours"):
        return _fitting(name, asked)
    return remembered(seen.ours) if has_ours(seen) else None


def has_nri(name: str) -> bool:
    """Whether an engine of this kind can have NRI at all."""
    return KINDS[name].since.nri is not None


def ask(host: Host, name: str, seen: Any) -> Optional[Running]:
    """What the running daemon of an engine answers; None where none runs."""
    engine = _engine(name)
    if engine is not None:
        heard: Optional[Running] = engine.ask(host, seen)
        return heard
    from . import containerd

    return containerd.ask(host, seen)
