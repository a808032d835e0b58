# Copyright: (c) 2026, accelerator.ops contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Distances from places in the PCI tree, as tables."""

from __future__ import annotations

import pytest

from ansible_collections.accelerator.ops.plugins.module_utils.topology.distance import (
    Endpoint,
    distance,
    distances,
    nearest,
)

SWITCH = ("0000:16:01.0", "0000:17:00.0")  # root port, upstream port


def end(name, *bridges, root="pci0000:16", numa=0):
    return Endpoint(name, root, bridges, numa)


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        pytest.param(end("a", *SWITCH, "d1"), end("b", *SWITCH, "d2"), "pix", id="two ports of one switch"),
        pytest.param(end("a", *SWITCH, "d1"), end("b", *SWITCH, "d1"), "pix", id="two functions of one card"),
        pytest.param(end("a", "0000:16:01.0"), end("b", "0000:16:01.0"), "pix", id="two functions behind a root port"),
        pytest.param(
            end("a", *SWITCH, "d1", "u2", "d3"), end("b", *SWITCH, "d2"), "pxb", id="a switch below the other one"
        ),
        pytest.param(
            end("a", *SWITCH, "d1", "u2", "d3"),
            end("b", *SWITCH, "d2", "u3", "d4"),
            "pxb",
            id="cards with own switches",
        ),
        pytest.param(end("a", "0000:16:01.0"), end("b", "0000:16:02.0"), "phb", id="two root ports"),
        pytest.param(end("a"), end("b"), "phb", id="both on the root bus"),
        pytest.param(end("a", root="pci0000:16"), end("b", root="pci0000:26"), "node", id="two root buses of a node"),
        pytest.param(end("a"), end("b", root="pci0000:a0", numa=1), "sys", id="two sockets"),
        pytest.param(end("a", numa=None), end("b", numa=None), "phb", id="one root bus needs no NUMA node"),
    ],
)
def test_kind(left, right, kind):
    assert distance(left, right) == (kind, None)
    assert distance(right, left) == (kind, None)


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        (end("a"), end("b", root="pci0000:a0", numa=None), "NUMA node of b is unknown"),
        (end("a", numa=None), end("b", root="pci0000:a0"), "NUMA node of a is unknown"),
        (Endpoint("a", None, None, 0), end("b"), "not in this root"),
    ],
)
def test_unknown_has_a_reason(left, right, words):
    kind, reason = distance(left, right)
    assert kind is None
    assert words in reason


def test_rows_keep_the_order_of_the_endpoints():
    rows = distances([end("a"), end("b"), end("c", root="pci0000:a0", numa=None)])
    assert [(row["a"], row["b"], row["kind"]) for row in rows] == [
        ("a", "b", "phb"),
        ("a", "c", None),
        ("b", "c", None),
    ]
    assert all(bool(row["unknown"]) == (row["kind"] is None) for row in rows)


def test_nearest_are_all_at_the_least_distance():
    gpu = end("gpu", *SWITCH, "d1")
    near = [end("nic1", *SWITCH, "d2"), end("nic2", *SWITCH, "d3")]
    far = end("nic3", root="pci0000:a0", numa=1)
    assert nearest(gpu, [far, *near]) == ["nic1", "nic2"]
    assert nearest(gpu, [far]) == ["nic3"]
    assert nearest(gpu, []) == []
    assert nearest(gpu, [far._replace(numa_node=None)]) is None
