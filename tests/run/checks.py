# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the checks, cheapest first and two at a time, and close with what ran, what did not, and why.

Exit status 0: everything that could run passed. What could not run on this machine is counted as skipped
and named; it never passes for a check that ran.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, NamedTuple, Optional

import cdi_loaders
import interpreters
import node_image
import surroundings
import this_machine
from surroundings import HERE, LINKED, SetupError, Venv

COMMUNITY_PACKAGES = {
    "2.21": "14.5.0",
    "2.20": "13.8.0",
    "2.19": "12.3.0",
    "2.18": "11.13.0",
    "2.17": "10.7.0",
    "2.16": "9.13.0",
}
"""The community package whose collections fit each core, 2026-11-30."""

_TEST_PROGRAMS = {
    "lstopo-no-graphics": "hwloc-nox",
    "chromium": "chromium",
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf": "fonts-dejavu-core",
}
"""What the tests ask for a second opinion, and look at the page with."""

LANES = 2
"""How many layers run at once: most of them use one processor."""

_lane = threading.local()
"""``heading``: what each line of the layer that this thread runs begins with, where others print beside it."""

_GET_PIP_VERSIONS = ("25_2", "24_2", "23_1_2", "21_3_1", "20_3_4")


class Outcome(NamedTuple):
    """How one layer ended: checks passed and failed, what was skipped in it, and why it did not run at all."""

    passed: int
    failed: int
    skipped: int = 0
    not_run: Optional[str] = None
    note: str = ""


class House:
    """The machine's Pythons and the environments the layers share; each is made when first asked for."""

    def __init__(self) -> None:
        self.pythons = interpreters.find()
        self.cores = interpreters.runnable_cores(self.pythons)
        if not self.cores:
            raise SetupError(
                "cannot find a Python for ansible-core: expected 3.10 to 3.14 with venv; install python3-venv"
            )
        self.newest, self.oldest = self.cores[-1], self.cores[0]
        self.data = surroundings.data_folder()
        surroundings.link()

    def core(self, core: str, *beside: str) -> Venv:
        """The environment with this ansible-core and the requirements ``beside`` it, and nothing else."""
        python = interpreters.for_core(core, self.pythons)
        if python is None:
            raise SetupError(f"no Python here runs ansible-core {core}")
        return surroundings.venv(python, f"core-{core}.txt", *beside)

    def develop(self) -> Venv:
        """The environment with the newest core and all tools."""
        return self.core(self.newest, "develop.txt")

    def test_environment(self, tool: Venv) -> dict[str, str]:
        """What the tests see: the linked collection, and the folder of captured files where there is one."""
        more = {"PYTHONPATH": str(LINKED)}
        if self.data is not None:
            more["ACCELERATOR_OPS_DATA"] = str(self.data)
        return surroundings.environment(tool, **more)


_PIP_NOISE = re.compile(
    r"\s*(Collecting|Downloading|Using cached|Installing|Successfully installed|Preparing metadata|Requirement already"
    r"|Building wheel|Created wheel|Stored in directory|Getting requirements|━)|\s*$"
)


def run(
    command: list[str], env: dict[str, str], cwd: str = str(HERE), noise: Optional[re.Pattern[str]] = None
) -> tuple[int, str]:
    """Run a command, show its output as it comes (less the noise), and return its exit status and that output."""
    lines = []
    with subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if noise is None or not noise.match(line):
                print(getattr(_lane, "heading", "") + line, end="", flush=True)
            lines.append(line)
    return process.returncode, "".join(lines)


def all_of(commands: list[list[str]], env: dict[str, str], cwd: str = str(HERE)) -> Outcome:
    """Each command is one check."""
    results = [run(command, env, cwd)[0] for command in commands]
    return Outcome(results.count(0), len(results) - results.count(0))


def pytest_outcome(status: int, text: str) -> Outcome:
    """The counts of pytest's closing line. No test collected is a failure: a layer that tests nothing is broken."""
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|error)", _last(text))}
    failed = counts.get("failed", 0) + counts.get("error", 0)
    if status != 0 and failed == 0:
        failed = 1
    return Outcome(counts.get("passed", 0), failed, counts.get("skipped", 0))


def _last(text: str) -> str:
    closing = [line for line in text.splitlines() if re.search(r"\d+ (passed|failed|error|skipped).* in [\d.]+s", line)]
    return closing[-1] if closing else ""


def ruff(house: House) -> Outcome:
    """Style and format."""
    tool = house.develop()
    program = tool.program("ruff")
    return all_of([[program, "check", "."], [program, "format", "--check", "."]], surroundings.environment(tool))


def mypy(house: House) -> Outcome:
    """Strict types in everything that runs on a managed node, as Python 3.9 sees it."""
    tool = house.develop()
    package = "ansible_collections.accelerator.ops.plugins.module_utils"
    return all_of(
        [[tool.program("mypy"), "--config-file", str(HERE / "pyproject.toml"), "-p", package]],
        surroundings.environment(tool, MYPYPATH=str(LINKED)),
    )


def unit(house: House) -> Outcome:
    """The tests, on the newest core."""
    tool = house.develop()
    lack = surroundings.lacking(_TEST_PROGRAMS)
    command = [tool.program("python"), "-m", "pytest", "-q", "tests/unit", "tests/machines"]
    outcome = pytest_outcome(*run(command, house.test_environment(tool)))
    notes = [lack] if lack else []
    if house.data is None:
        notes.append("captured machines are not here (ACCELERATOR_OPS_DATA): nothing was compared with them")
    return outcome._replace(note="; ".join(notes))


def oldest_python(house: House) -> Outcome:
    """The rooms that run on managed nodes, under the oldest Python that a managed node may have."""
    python = house.pythons.get((3, 9))
    if python is None:
        return Outcome(0, 0, not_run="no Python 3.9 on this machine")
    tool = surroundings.venv(python, "oldest-python.txt")
    command = [tool.program("python"), "-m", "pytest", "-q", "tests/unit"]
    return pytest_outcome(*run(command, house.test_environment(tool)))


def cdi(house: House) -> Outcome:
    """CDI specs as the loaders have them that engines embed."""
    lack = cdi_loaders.lacking()
    if lack:
        return Outcome(0, 0, not_run=lack)
    tool = house.develop()
    env = {**house.test_environment(tool), "ACCELERATOR_OPS_CDI_LOADERS": str(cdi_loaders.folder())}
    command = [tool.program("python"), "-m", "pytest", "-q", "--capture=no", "tests/cdi"]
    return pytest_outcome(*run(command, env))


def engines(house: House) -> Outcome:
    """Configurations of container engines, as the daemons of several versions have them, and one that runs."""
    tool = house.develop()
    env = house.test_environment(tool)
    needed = {"podman": "podman", "runc": "runc", "debootstrap": "debootstrap"}
    lack = "no root" if os.getuid() != 0 else surroundings.lacking(needed)
    if lack is None:
        env |= {"CONTAINERS_CONF": str(node_image.containers_conf()), "OPS_CONTAINER_IMAGE": node_image.ensure()}
    command = [tool.program("python"), "-m", "pytest", "-q", "--capture=no", "tests/engines"]
    return pytest_outcome(*run(command, env))


def cdi_podman(house: House) -> Outcome:
    """Containers of a real Podman with the devices of machine models, by our specs, and a node that boots with them."""
    if os.getuid() != 0:
        return Outcome(0, 0, not_run="mount namespaces with device files need root")
    needed = {"podman": "podman", "runc": "runc", "debootstrap": "debootstrap", "newuidmap": "uidmap"}
    lack = surroundings.lacking(needed)
    if lack:
        return Outcome(0, 0, not_run=lack)
    tool = house.develop()
    image = {"CONTAINERS_CONF": str(node_image.containers_conf()), "OPS_CONTAINER_IMAGE": node_image.ensure()}
    command = [tool.program("python"), "-m", "pytest", "-q", "tests/cdi_podman"]
    return pytest_outcome(*run(command, {**house.test_environment(tool), **image}))


def crash(house: House) -> Outcome:
    """Changes that are killed at their steps, and power cuts: the node is as before, or as it was to become."""
    if os.getuid() != 0:
        return Outcome(0, 0, not_run="killing a module on a node of its own needs root")
    lack = surroundings.lacking({"strace": "strace"})
    if lack:
        return Outcome(0, 0, not_run=lack)
    tool = house.develop()
    command = [tool.program("python"), "-m", "pytest", "-q", "tests/crash"]
    if os.environ.get("ACCELERATOR_OPS_WHOLE"):  # two hours and more by one process
        command += ["-n", str(os.cpu_count() or 1), "--dist", "worksteal"]
    status, text = run(command, house.test_environment(tool))
    tried = re.findall(r"^  (kills|states after a power cut|seeded faults found): (\d+)$", text, re.MULTILINE)
    return pytest_outcome(status, text)._replace(note=", ".join(f"{count} {name}" for name, count in tried))


def ansible_lint(house: House) -> Outcome:
    """The production profile of ansible-lint."""
    tool = house.develop()
    command = [tool.program("ansible-lint"), "--offline", "--profile", "production", "-q"]
    return all_of([command], surroundings.environment(tool, ANSIBLE_COLLECTIONS_PATH=_with_podman(house, tool)))


def docs(house: House) -> Outcome:
    """The documentation of the plugins, roles and the site."""
    tool = house.develop()
    command = [
        tool.program("antsibull-docs"), "lint-collection-docs", ".", "--plugin-docs", "--skip-rstcheck",
        "--validate-collection-refs=all", "--disallow-unknown-collection-refs",
    ]  # fmt: skip
    return all_of([command], surroundings.environment(tool), str(LINKED / "ansible_collections/accelerator/ops"))


def changelog(house: House) -> Outcome:
    """The changelog and its fragments."""
    tool = house.develop()
    place = str(LINKED / "ansible_collections/accelerator/ops")
    return all_of([[tool.program("antsibull-changelog"), "lint"]], surroundings.environment(tool), place)


def package(house: House) -> Outcome:
    """The collection builds and installs, and the archive holds what users need and nothing of the workshop."""
    tool = house.core(house.newest)
    place = surroundings.copy_tree("package")
    env = surroundings.environment(tool)
    galaxy = tool.program("ansible-galaxy")
    archive = place / "accelerator-ops-0.1.0.tar.gz"
    steps = [
        [galaxy, "collection", "build", "--force", "--output-path", str(place), str(place)],
        [
            galaxy,
            "collection",
            "install",
            "--force",
            "--offline",
            "--no-deps",
            "-p",
            str(place / "installed"),
            str(archive),
        ],
    ]
    outcome = all_of(steps, env, str(place))
    installed = place / "installed" / "ansible_collections" / "accelerator" / "ops"
    wrong = [name for name in ("tests", ".ci", "Makefile", "docs", "molecule") if (installed / name).exists()]
    wrong += [name for name in ("meta/runtime.yml", "plugins", "roles", "README.md") if not (installed / name).exists()]
    if wrong:
        print(f"the archive should not hold, or lacks: {', '.join(wrong)}")
    return outcome._replace(passed=outcome.passed + (not wrong), failed=outcome.failed + bool(wrong))


def sanity(core: str) -> Callable[[House], Outcome]:
    """ansible-test sanity of one core, with every Python that it finds here."""

    def layer(house: House) -> Outcome:
        tool = house.core(core)
        place = surroundings.copy_tree(f"sanity-{core}")
        home = surroundings.CACHE / f"ansible-test-home-{core}"
        _stand_in_for_get_pip(home)
        env = surroundings.environment(tool, HOME=str(home))
        for name in [name for name in env if name.startswith("ANSIBLE_")]:
            del env[name]
        env["PATH"] = ":".join([env["PATH"], *(os.path.dirname(python.path) for python in house.pythons.values())])
        lack = surroundings.lacking({"shellcheck": "shellcheck"})
        status, text = run(
            [tool.program("ansible-test"), "sanity", "--local", "--color", "no"], env, str(place), _PIP_NOISE
        )
        tests = len(set(re.findall(r"^Running sanity test .*", text, re.MULTILINE)))
        counted = re.search(r"The (\d+) sanity test\(s\) listed below \(out of (\d+)\) failed", text)
        if counted:
            failed, tests = int(counted.group(1)), int(counted.group(2))
        else:
            failed = 1 if status or not tests else 0
        return Outcome(max(tests - failed, 0), failed, note=lack or "")

    return layer


def _stand_in_for_get_pip(home: os.PathLike[str]) -> None:
    """ansible-test loads a pip installer from a host of its own for each environment; ensurepip does as well.

    It runs in a process of its own: inside this one it would leave PIP_CONFIG_FILE at /dev/null behind.
    """
    cache = os.path.join(home, ".ansible", "test", "cache")
    os.makedirs(cache, exist_ok=True)
    text = (
        "import subprocess, sys\n"
        "subprocess.check_call([sys.executable, '-m', 'ensurepip'], stdout=subprocess.DEVNULL)\n"
        "wanted = [a for a in sys.argv[1:] if a.startswith('pip==')]\n"
        "if wanted:\n"
        "    pip = [sys.executable, '-m', 'pip', 'install', '-q', '--disable-pip-version-check']\n"
        "    subprocess.check_call(pip + wanted)\n"
    )
    for version in _GET_PIP_VERSIONS:
        with open(os.path.join(cache, f"get_pip_{version}.py"), "w", encoding="ascii") as file:
            file.write(text)
    for place in (".config/pip", ".pip"):  # where the person told pip which registry to use
        own, seen = os.path.join(os.path.expanduser("~"), place), os.path.join(home, place)
        if os.path.isdir(own) and not os.path.lexists(seen):
            os.makedirs(os.path.dirname(seen), exist_ok=True)
            os.symlink(own, seen)


def survey(core: str) -> Callable[[House], Outcome]:
    """The playbook on this very machine, by each account that can be had here."""

    def layer(house: House) -> Outcome:
        tool = house.core(core)
        hosts_file, folder, hosts = this_machine.inventory(core)
        command = [tool.program("ansible-playbook"), "accelerator.ops.survey", "-i", str(hosts_file)]
        status, _text = run([*command, "-e", f"accelerator_report_dir={folder}"], surroundings.local_play(tool))
        if status:
            return Outcome(0, len(hosts))
        wrong = this_machine.flaws(folder, hosts)
        for line in wrong:
            print(line)
        return Outcome(0 if wrong else len(hosts), len(wrong), note=f"as {', '.join(hosts)}")

    return layer


def selection(core: str) -> Callable[[House], Outcome]:
    """The filter devices and the module placement_info in playbooks; the newest core runs the same in ``unit``."""

    def layer(house: House) -> Outcome:
        tool = house.core(core, "filter.txt")
        script = str(HERE / "tests" / "unit" / "filter" / "test_filter_playbook.py")
        return all_of([[tool.program("python"), script]], house.test_environment(tool))

    return layer


def prepare(house: House) -> Outcome:
    """The playbooks prepare and rollback on trees, as a user runs them, and two of them at once."""
    tool = house.develop()
    command = [tool.program("python"), "-m", "pytest", "-q", "tests/prepare"]
    return pytest_outcome(*run(command, house.test_environment(tool)))


def no_node() -> Optional[str]:
    """Why a container with systemd cannot be had here, or None."""
    if os.getuid() != 0:
        return "containers with systemd need root"
    return surroundings.lacking({"podman": "podman", "runc": "runc", "debootstrap": "debootstrap"})


def node_environment(house: House, tool: Venv) -> dict[str, str]:
    """What starts and reaches containers that are nodes, where ``no_node`` has nothing to say."""
    return {
        "CONTAINERS_CONF": str(node_image.containers_conf()),
        "ANSIBLE_COLLECTIONS_PATH": _with_podman(house, tool),
        "OPS_CONTAINER_IMAGE": node_image.ensure(),
    }


def molecule(house: House) -> Outcome:
    """The roles on containers that run systemd, as root and as an unprivileged user."""
    lack = no_node()
    if lack:
        return Outcome(0, 0, not_run=lack)
    tool = house.develop()
    env = surroundings.environment(tool, **node_environment(house, tool))
    status, text = run([tool.program("molecule"), "test", "--all"], env)
    tests = sum(int(count) for count in re.findall(r"(\d+) passed", text))
    if status or not tests:
        return Outcome(tests, 1)
    return Outcome(tests, 0)


def vm(house: House) -> Outcome:
    """The playbooks on a machine with a kernel of its own, which boots anew and loses its power."""
    tool = house.develop()
    env = house.test_environment(tool)
    status, text = run([tool.program("python"), "tests/vm/image.py"], env)
    last = ([line for line in text.splitlines() if line.strip()] or ["it said nothing"])[-1]
    if status:
        return Outcome(0, 0, not_run=last) if status == 3 else Outcome(0, 1, note=last)
    command = [tool.program("python"), "-m", "pytest", "-v", "--capture=no", "tests/vm"]
    return pytest_outcome(*run(command, env))


def _with_podman(house: House, tool: Venv) -> str:
    """The collections path with the collection that starts and reaches containers, which only Molecule needs."""
    beside = surroundings.community_collections(tool, COMMUNITY_PACKAGES[house.newest], "containers.podman")
    return f"{LINKED}:{beside}"


def chosen_layers(house: House, all_cores: bool) -> dict[str, Callable[[House], Outcome]]:
    """The layers by name: quick ones first, and the long ones early enough that no lane waits at the end."""
    cores = house.cores if all_cores else list(dict.fromkeys([house.newest, house.oldest]))
    return {
        "ruff": ruff,
        "mypy": mypy,
        "ansible-lint": ansible_lint,
        "docs": docs,
        "changelog": changelog,
        "package": package,
        "unit": unit,
        **{f"sanity-{core}": sanity(core) for core in cores},
        "engines": engines,
        "oldest-python": oldest_python,
        "vm": vm,
        "crash": crash,
        "cdi": cdi,
        **{f"survey-{core}": survey(core) for core in cores},
        **{f"selection-{core}": selection(core) for core in cores if core != house.newest},
        "cdi-podman": cdi_podman,
        "prepare": prepare,
        "molecule": molecule,
    }


def main() -> int:
    """Run the layers; 1 when one failed."""
    surroundings.require_python()
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--all-cores", action="store_true", help="sanity on every core that the Pythons here run")
    arguments.add_argument("--only", default="", help="comma-separated names of layers")
    wishes = arguments.parse_args()
    try:
        house = House()
    except SetupError as error:
        print(error)
        return 1
    layers = chosen_layers(house, wishes.all_cores)
    only = [name for name in wishes.only.split(",") if name]
    unknown = [name for name in only if name not in layers]
    if unknown:
        print(f"no layer is called {', '.join(unknown)}; there are {', '.join(layers)}")
        return 1
    print("Pythons: " + ", ".join(python.path for python in house.pythons.values()))
    print(f"ansible-core: newest {house.newest}, oldest {house.oldest}")
    print(f"captured machines: {house.data or 'not here (ACCELERATOR_OPS_DATA)'}")
    chosen = {name: layer for name, layer in layers.items() if not only or name in only}
    return report(dict(zip(chosen, in_lanes(chosen, house))))


def in_lanes(layers: dict[str, Callable[[House], Outcome]], house: House) -> list[tuple[Outcome, float]]:
    """Every layer's outcome and seconds, in their order. They begin in it, so many at a time as there are lanes."""
    lanes = min(LANES, os.cpu_count() or 1, len(layers))

    def one(item: tuple[str, Callable[[House], Outcome]]) -> tuple[Outcome, float]:
        _lane.heading = f"{item[0]} | " if lanes > 1 else ""
        return timed(*item, house)

    with ThreadPoolExecutor(lanes) as pool:
        return list(pool.map(one, layers.items()))


def timed(name: str, layer: Callable[[House], Outcome], house: House) -> tuple[Outcome, float]:
    """One layer with its heading, its closing line and its seconds."""
    print(f"\n=== {name}", flush=True)
    start = time.monotonic()
    try:
        outcome = layer(house)
    except SetupError as error:
        print(error)
        outcome = Outcome(0, 1, note=str(error))
    seconds = time.monotonic() - start
    if outcome.not_run:
        print(f"{name}: not run: {outcome.not_run}", flush=True)
    else:
        print(f"{name}: {outcome.passed} passed, {outcome.failed} failed, {outcome.skipped} skipped", flush=True)
    return outcome, seconds


def report(results: dict[str, tuple[Outcome, float]]) -> int:
    """The closing summary; 1 when a layer failed."""
    print("\n=== summary")
    for name, (outcome, seconds) in results.items():
        state = "not run" if outcome.not_run else "FAILED" if outcome.failed else "passed"
        counts = f"{outcome.passed} passed, {outcome.failed} failed, {outcome.skipped} skipped"
        print(
            f"{name:15} {state:8} {seconds:6.1f} s  {outcome.not_run or counts}"
            + (f"; {outcome.note}" if outcome.note else "")
        )
    failed = [name for name, (outcome, _seconds) in results.items() if outcome.failed]
    skipped = [name for name, (outcome, _seconds) in results.items() if outcome.not_run]
    print(f"seconds of all layers: {sum(seconds for _outcome, seconds in results.values()):.0f}")
    print(f"layers: {len(results) - len(failed) - len(skipped)} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or len(skipped) == len(results) else 0


if __name__ == "__main__":
    sys.exit(main())
