# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder on the control host where a run leaves the facts of each host, and its report.

``facts/<host>.json`` is written by the action plugin of ``accelerator_facts``. Each file names the run that it
belongs to, so that what an earlier run saw is never reported as seen now.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any, Optional
from urllib.parse import quote

from ansible_collections.accelerator.ops.plugins.module_utils.model.errors import InputError
from ansible_collections.accelerator.ops.plugins.plugin_utils import whole_file

_LONGEST = 200  # bytes of a file name; file systems take 255


def run_id() -> str:
    """The run that a worker of Ansible belongs to: the process that started it, and since when that runs.

    A process number alone may come again after a reboot. Where there is no ``/proc`` (a control host that is not
    Linux) the number is all there is.
    """
    parent = os.getppid()
    try:
        with open(f"/proc/{parent}/stat", encoding="utf-8", errors="replace") as stat:
            # the second field is the name in parentheses and may hold spaces; the start time is field 22
            started = stat.read().rpartition(")")[2].split()[19]
    except OSError:
        return str(parent)
    return f"{parent}-{started}"


def facts_name(host: str) -> str:
    """The file of a host below the folder; any inventory name gives a safe and distinct one."""
    name = quote(host, safe="", errors="surrogatepass")
    if len(name) > _LONGEST:
        name = f"{name[: _LONGEST - 33]}~{hashlib.sha256(host.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
    return f"facts/{name}.json"


class ReportDir:
    """Reads and writes files of one report folder. Raises InputError where the folder cannot be used."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(os.path.expandvars(os.path.expanduser(path)))

    def place(self, name: str) -> str:
        """The full path of a file of the folder."""
        return os.path.join(self.path, name)

    def read(self, name: str) -> Optional[str]:
        """The text of a file; None where there is none."""
        try:
            with open(self.place(name), encoding="utf-8", errors="replace", newline="") as source:
                return source.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable("read", name, error) from None

    def remove(self, name: str) -> None:
        """Remove a file that may be there."""
        try:
            os.unlink(self.place(name))
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._unusable("remove", name, error) from None

    def write(self, name: str, text: str) -> str:
        """Write a file: whole or not at all, and still there after a power cut. Returns its path."""
        return self.write_all({name: text})[0]

    def write_all(self, texts: Mapping[str, str]) -> list[str]:
        """Write files of one folder, none before there is room for all; they take their places in this order."""
        places = [self.place(name) for name in texts]
        try:
            os.makedirs(os.path.dirname(places[0]), exist_ok=True)
            contents = [text.encode("utf-8", "replace") for text in texts.values()]
            whole_file.write_all(list(zip(places, contents)), 0o666)
        except OSError as error:
            raise self._unusable("write", next(iter(texts)), error) from None
        return places

    def sweep(self) -> None:
        """Remove what killed runs left unfinished."""
        for folder in (self.path, self.place("facts")):
            whole_file.sweep(folder)

    def write_host(self, host: str, entry: dict[str, Any]) -> str:
        """Write what this run saw of a host."""
        return self.write(
            facts_name(host), json.dumps({"run": run_id(), "host": host, **entry}, indent=1, sort_keys=True) + "\n"
        )

    def _unusable(self, verb: str, name: str, error: OSError) -> InputError:
        return InputError(
            verb,
            f"report file {self.place(name)}",
            os.strerror(error.errno or 0),
            "a folder on the control host that can be written",
            "set report_dir to one",
        )
