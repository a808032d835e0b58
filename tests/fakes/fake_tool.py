# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program that stands in for a maker's tool: installed under its name, it does what a file beside it says.

``<its path>.json`` maps the joined arguments (or ``*``) to ``{print, file, half, times, status, then}``:
text or a file to print, only its first half, so many times, the exit status, and what comes then:
``hang``, ``hang in a child`` (and end), ``hang with a child``, ``crash``, ``slow``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time


def main() -> int:
    with open(f"{sys.argv[0]}.json", encoding="utf-8") as file:
        answers = json.load(file)
    with open(f"{sys.argv[0]}.log", "a", encoding="utf-8") as log:
        log.write(f"{os.getpid()} {' '.join(sys.argv[1:])}\n")
    answer = answers.get(" ".join(sys.argv[1:]), answers.get("*"))
    if answer is None:
        print("unknown option", file=sys.stderr)
        return 2
    said = answer.get("print", "").encode("utf-8")
    if "file" in answer:
        with open(answer["file"], "rb") as file:
            said = file.read()
    if "bytes" in answer:
        said = bytes.fromhex(answer["bytes"])
    if answer.get("half"):
        said = said[: len(said) // 2]
    then = answer.get("then", "")
    if then == "slow":
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline:
            os.sched_yield()
    for _time in range(answer.get("times", 1)):
        sys.stdout.buffer.write(said)
    sys.stdout.buffer.flush()
    sys.stderr.write(answer.get("error", ""))
    if then.startswith("hang "):
        ready, begun = os.pipe()
        if os.fork() == 0:
            with open(f"{sys.argv[0]}.log", "a", encoding="utf-8") as log:
                log.write(f"{os.getpid()} child\n")
            os.write(begun, b".")
            signal.pause()
        os.read(ready, 1)
        if then == "hang in a child":
            return int(answer.get("status", 0))
    if then.startswith("hang"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            signal.pause()
    if then == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    return int(answer.get("status", 0))


if __name__ == "__main__":
    sys.exit(main())
