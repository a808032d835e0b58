# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel command line, and the files that boot loaders take it from."""

from __future__ import annotations

import random
import subprocess

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.codec import command_line as codec

SEED = 20261201
LETTERS = "abcABC019_.,:=/@+!%*~^-"


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("", ()),
        ("ro  quiet\tiommu=pt", ("ro", "quiet", "iommu=pt")),
        ('dyndbg="file a.c +p" x', ("dyndbg=file a.c +p", "x")),
        ('"dyndbg=file a.c +p" x', ("dyndbg=file a.c +p", "x")),
    ],
)
def test_arguments(line, arguments):
    assert codec.arguments(line) == arguments


def random_argument(chance):
    word = "".join(chance.choice(LETTERS) for _letter in range(chance.randrange(1, 12))).strip("=-") or "a"
    if chance.random() < 0.3:
        word += "=" + " ".join("x" + chance.choice(LETTERS) for _part in range(3))
    return word


def random_groups(chance):
    words = [random_argument(chance) for _word in range(chance.randrange(1, 6))]
    groups = [(word,) for word in dict.fromkeys(words) if codec.is_argument(word)]
    if chance.random() < 0.5:
        groups.append(codec.pages_group("1G", chance.randrange(9)))
    return tuple(groups)


def test_the_drop_in_comes_back_and_a_real_shell_reads_it(tmp_path):
    chance = random.Random(SEED)
    checked = 0
    for number in range(300):
        groups = random_groups(chance)
        if not groups:
            continue
        checked += 1
        text = codec.drop_in_text(groups)
        assert codec.noted_groups(text) == groups
        told = codec.defaults([("/etc/default/grub", 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\n'), ("ours", text)])
        line = told.values["GRUB_CMDLINE_LINUX_DEFAULT"]
        assert codec.arguments(line) == ("quiet", *(one for group in groups for one in group))
        if number < 60:
            (tmp_path / "ours.cfg").write_text(text)
            script = 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"; . "$1"; printf %s "$GRUB_CMDLINE_LINUX_DEFAULT"'
            run = subprocess.run(
                ["sh", "-c", script, "sh", str(tmp_path / "ours.cfg")], capture_output=True, check=True, text=True
            )
            assert run.stdout == line, f"round {number} of seed {SEED}"
    assert checked > 250


SCRIPTS = [
    'GRUB_CMDLINE_LINUX="a b"\nGRUB_CMDLINE_LINUX_DEFAULT=quiet\n',
    "GRUB_CMDLINE_LINUX_DEFAULT='a \"b c\" $x'\n",
    'GRUB_CMDLINE_LINUX="a"\nGRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX b"\n',
    'GRUB_CMDLINE_LINUX="a"\nGRUB_CMDLINE_LINUX="${GRUB_CMDLINE_LINUX} c" # d\n',
    'export GRUB_CMDLINE_LINUX="a \\"b c\\" \\$d \\e"\n',
    'GRUB_CMDLINE_LINUX="a"\' b\'" c"\n',
    'GRUB_CMDLINE_LINUX="a \\\n b"\n',
    '#GRUB_CMDLINE_LINUX="a"\nGRUB_CMDLINE_LINUX=\n',
    'GRUB_CMDLINE_LINUX="a" ; GRUB_TIMEOUT=1\n',
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_a_real_shell_makes_of_the_defaults(script, tmp_path):
    (tmp_path / "grub").write_text(script)
    show = '. "$1"; printf "%s\\n%s" "$GRUB_CMDLINE_LINUX" "$GRUB_CMDLINE_LINUX_DEFAULT"'
    run = subprocess.run(["sh", "-c", show, "sh", str(tmp_path / "grub")], capture_output=True, check=True, text=True)
    values = codec.defaults([("grub", script)]).values
    assert [" ".join(values[name].split()) for name in codec.DEFAULTS] == [
        " ".join(line.split()) for line in run.stdout.split("\n")
    ]


@pytest.mark.parametrize(
    "script",
    [
        "GRUB_CMDLINE_LINUX=$(cat /proc/cmdline)\n",
        'GRUB_CMDLINE_LINUX="$OTHER x"\n',
        'if true; then\n  GRUB_CMDLINE_LINUX="x"\nfi\n',
        'GRUB_CMDLINE_LINUX="`echo x`"\n',
        'GRUB_CMDLINE_LINUX="not closed\n',
    ],
)
def test_what_takes_a_shell_to_know_counts_as_empty(script):
    assert codec.defaults([("grub", script)]).values["GRUB_CMDLINE_LINUX"] == ""


def test_the_line_that_takes_away_what_was_there_is_named():
    files = [("a", 'GRUB_CMDLINE_LINUX_DEFAULT="x"\n'), ("b", '# c\nGRUB_CMDLINE_LINUX_DEFAULT="y"\n')]
    assert codec.defaults(files).replaced == ("b", 2)
    assert codec.defaults([*files, ("c", 'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT z"\n')]).replaced == (
        "b",
        2,
    )


PAGES = codec.pages_group("1G", 16)


@pytest.mark.parametrize(
    ("line", "wanted", "lacking"),
    [
        ("ro iommu=pt", [("iommu=pt",)], []),
        ("ro", [("iommu=pt",)], [("iommu=pt",)]),
        ("iommu=pt iommu=off", [("iommu=pt",)], [("iommu=pt",)]),
        ("iommu=off iommu=pt", [("iommu=pt",)], []),
        ("intel-iommu=on intel_iommu=off", [("intel-iommu=on",)], [("intel-iommu=on",)]),
        ("pci=realloc=off pci=noaer", [("pci=realloc=off",)], []),
        ("console=tty0 console=ttyS0", [("console=tty0",), ("console=ttyS0",)], []),
        ("iommu=pt iommu=soft", [("iommu=pt",), ("iommu=soft",)], []),
        ("quiet", [("quiet",)], []),
        ("quietly", [("quiet",)], [("quiet",)]),
        ('dyndbg="file a +p"', [("dyndbg=file a +p",)], []),
        ("hugepagesz=1G hugepages=16", [PAGES], []),
        ("hugepagesz=1G x hugepages=16", [PAGES], [PAGES]),
        ("hugepagesz=2M hugepages=16 hugepagesz=1G hugepages=1", [PAGES], [PAGES]),
    ],
)
def test_what_a_line_lacks(line, wanted, lacking):
    assert list(codec.lacking(line, wanted)) == lacking


def test_another_number_of_the_same_pages_is_found():
    assert codec.other_pages("hugepagesz=1G hugepages=8 x", [PAGES]) == ("hugepagesz=1G", "hugepages=8")
    assert codec.other_pages("hugepagesz=1G hugepages=16 hugepagesz=2M hugepages=8", [PAGES]) is None


def test_adding_and_dropping_leaves_the_rest_as_it_is():
    chance = random.Random(SEED)
    for _round in range(500):
        groups = random_groups(chance)
        theirs = 'root=UUID=1 ro dyndbg="file a +p"'
        with_ours = codec.with_arguments(theirs, groups, ())
        assert codec.lacking(with_ours, groups) == ()
        assert codec.with_arguments(with_ours, (), groups) == theirs


ENTRY = "title Fedora\nversion 6.1\nlinux /vmlinuz-6.1\n# c\noptions $kernelopts ro $tuned_params\ngrub_class fedora\n"


def test_an_entry_changes_in_its_last_options_line_only():
    changed = codec.entry_text(ENTRY, [("iommu=pt",)], ())
    assert changed == ENTRY.replace("$tuned_params", "$tuned_params iommu=pt")
    assert codec.entry_text(changed, (), [("iommu=pt",)]) == ENTRY
    assert codec.entry_options(ENTRY, {"kernelopts": "root=/dev/a iommu=pt"}).split() == [
        "root=/dev/a",
        "iommu=pt",
        "ro",
    ]
    assert codec.entry_text("linux /x\n", [("a",)], ()) == "linux /x\noptions a\n"
    assert codec.entry_text(ENTRY, (), ()) == ENTRY


@pytest.mark.parametrize(
    "argument",
    ["", "a;b", "a$b", "a'b", "a\\b", "a&b", "a|b", "a<b", "a#b", "a(b", "-x", "=x", "a\tb", "a\nb", "ä", " a"],
)
def test_arguments_that_a_boot_loader_would_read_itself(argument):
    assert not (argument and codec.is_argument(argument))
