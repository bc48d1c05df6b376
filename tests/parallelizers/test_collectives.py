"""Collective operations against rings followed GPU by GPU, and known values."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parallelizer_atoms import GIGA, bridged_links, island, islands
from scalar_model import all_to_all, ring_rate

from tangram_opt.data.island import Island
from tangram_opt.parallelizers.collectives import (
    all_gather_ns,
    all_reduce_ns,
    all_to_all_ns,
    host_bandwidth,
    ring_bandwidth,
)


def ring(where: Island, size: int, stride: int = 1) -> float:
    return float(ring_bandwidth(where, np.array([size]), np.array([stride]))[0])


def exchange_ns(where: Island, message: float, size: int, stride: int = 1) -> float:
    return float(all_to_all_ns(where, np.array([message]), np.array([size]), np.array([stride]))[0])


def ns(function: object, message: float, size: int, bandwidth: float) -> float:
    return float(function(np.array([message]), np.array([size]), np.array([bandwidth]))[0])  # type: ignore[operator]


@st.composite
def aligned_groups(draw: st.DrawFn) -> tuple[Island, int, int]:
    """An island, and a size and stride of groups that fill nodes or divide one."""
    where = draw(islands())
    node = where.gpus_per_node
    reach = where.gpus if where.network_bytes_per_s else node
    fitting = [
        (size, stride)
        for stride in range(1, reach + 1)
        for size in range(1, reach // stride + 1)
        if all(node % span == 0 or span % node == 0 for span in (stride, size * stride))
    ]
    return where, *draw(st.sampled_from(fitting))


@given(aligned_groups())
def test_the_slowest_ring_of_all_that_run_together(groups: tuple[Island, int, int]) -> None:
    assert ring(*groups) == pytest.approx(ring_rate(*groups), rel=1e-12)


@given(aligned_groups(), st.integers(1, 10**10))
def test_all_to_all_takes_the_busiest_link(groups: tuple[Island, int, int], message: int) -> None:
    where, size, stride = groups
    assert exchange_ns(where, message, size, stride) == pytest.approx(
        1e9 * all_to_all(where, message, size, stride), rel=1e-9
    )


@given(st.integers(1, 64), st.integers(1, 10**9), st.integers(1, 10**12))
def test_a_ring_all_reduce_moves_each_byte_twice_but_for_its_own_share(size: int, message: int, rate: int) -> None:
    assert ns(all_reduce_ns, message, size, rate) == pytest.approx(2e9 * (size - 1) / size * message / rate)
    assert ns(all_gather_ns, message, size, rate) == pytest.approx(1e9 * (size - 1) / size * message / rate)


def test_one_gigabyte_over_four_ranks() -> None:
    assert ns(all_reduce_ns, 1e9, 4, 100e9) == pytest.approx(15e6)  # 2 * 3/4 * 1 GB / 100 GB/s = 15 ms


def test_pairs_with_bridges_are_fast_and_their_fours_slow() -> None:
    where = replace(island(1, 4), link_bytes_per_s=bridged_links(2, 200 * GIGA, 8 * GIGA))
    assert ring(where, 2) == 200 * GIGA
    assert ring(where, 4) == 8 * GIGA
    assert ring(where, 2, stride=2) == 8 * GIGA


def test_rings_side_by_side_share_the_network_link_of_a_node() -> None:
    where = island(4, 8, link=300 * GIGA, network=24 * GIGA)
    assert ring(where, 32) == 24 * GIGA
    assert ring(where, 8, stride=4) == 6 * GIGA
    assert ring(where, 4, stride=8) == 3 * GIGA
    # Rings over every second node: still eight leave each node.
    assert ring(where, 2, stride=16) == 3 * GIGA


def test_a_ring_across_nodes_is_no_faster_than_the_links_inside() -> None:
    assert ring(island(2, 4, link=5 * GIGA, network=50 * GIGA), 8) == 5 * GIGA
    assert ring(island(2, 4, link=5 * GIGA, network=50 * GIGA), 2, stride=4) == 12.5 * GIGA


def test_all_to_all_inside_a_node() -> None:
    # A quarter stays where it is, three quarters leave over the GPU's link.
    assert exchange_ns(island(1, 4, link=100 * GIGA), 4e9, 4) == pytest.approx(30e6)


def test_all_to_all_across_nodes_shares_the_network_link() -> None:
    # Half of what each of 4 GPUs sends leaves the node: 4 * 2 GB over 10 GB/s.
    assert exchange_ns(island(2, 4, network=10 * GIGA), 4e9, 8) == pytest.approx(800e6)


def test_nothing_runs_without_bandwidth_and_nothing_needs_none() -> None:
    dark = island(2, 4, link=0, network=0)
    assert ring(dark, 4) == 0
    assert exchange_ns(dark, 1.0, 4) == exchange_ns(dark, 1.0, 8) == inf
    assert exchange_ns(dark, 1.0, 1) == exchange_ns(dark, 0.0, 8) == 0
    for collective in (all_gather_ns, all_reduce_ns):
        assert ns(collective, 1.0, 2, 0.0) == inf
        assert ns(collective, 0.0, 2, 0.0) == 0
        assert ns(collective, 1.0, 1, ring(dark, 1)) == 0


def test_what_gpus_send_to_the_host_is_no_faster_than_what_they_send_through_it() -> None:
    assert host_bandwidth(island(1, 4, link=300 * GIGA)) == 16 * GIGA
    assert host_bandwidth(island(1, 4, link=5 * GIGA)) == 5 * GIGA
    assert host_bandwidth(island(4, 1)) == 16 * GIGA
