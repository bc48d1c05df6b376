"""The picture of a cluster shows every node once, and no island covers another."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands import agglomerate
from tangram_opt.show import draw_cluster
from tangram_opt.show.cluster_figure import cluster_figure
from tangram_opt.show.cluster_graph import MOST_EDGES, ClusterGraph, cluster_graph

GIGA = 10**9


def node(name: str, compute: int = 100, gpus: int = 1) -> Node:
    return Node(name, Gpu("G", compute, compute, 80, 9, 8), gpus, ((0,) * gpus,) * gpus)


def alone(cluster: Cluster) -> Partition:
    return Partition("p", tuple((node.name,) for node in cluster.nodes))


def racks(nodes: int, per_rack: int) -> Cluster:
    network = TierNetwork((GIGA, 10 * GIGA), tuple((f"r{i // per_rack}",) for i in range(nodes)))
    return Cluster("racks", tuple(node(f"n{i}", 100 + 30 * (i // per_rack % 3)) for i in range(nodes)), network)


def random_matrix(nodes: int, seed: int) -> Cluster:
    speeds = np.random.default_rng(seed).integers(1, 100, (nodes, nodes)) * GIGA
    rows = tuple(tuple(0 if i == j else int(speeds[i, j]) for j in range(nodes)) for i in range(nodes))
    return Cluster("matrix", tuple(node(f"n{i}") for i in range(nodes)), MatrixNetwork(rows))


def graph_of(cluster: Cluster) -> ClusterGraph:
    return cluster_graph(cluster, agglomerate(IslandsProblem("p", cluster)))


CLUSTERS = [racks(1, 1), racks(8, 4), racks(60, 4), racks(5000, 50), random_matrix(12, 1), random_matrix(50, 2)]


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda cluster: f"{cluster.name}-{len(cluster.nodes)}")
def test_islands_do_not_overlap_and_hold_all_nodes(cluster: Cluster) -> None:
    graph = graph_of(cluster)
    assert sum(disc.nodes for disc in graph.discs) == len(cluster.nodes)
    for i, j in combinations(range(len(graph.discs)), 2):
        apart = np.hypot(*(graph.places[i] - graph.places[j]))
        assert apart > graph.discs[i].radius + graph.discs[j].radius


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda cluster: f"{cluster.name}-{len(cluster.nodes)}")
def test_a_dot_for_every_node_unless_there_are_too_many(cluster: Cluster) -> None:
    graph = graph_of(cluster)
    figure = cluster_figure(cluster, agglomerate(IslandsProblem("p", cluster)))
    (axes,) = figure.axes
    dots = sum(len(each.get_offsets()) for each in axes.collections if each.get_zorder() == 3)
    assert dots == (len(cluster.nodes) if graph.discs[0].dotted else 0)
    assert graph.discs[0].dotted == (len(cluster.nodes) < 600)


def test_of_many_links_those_are_drawn_that_connect_and_the_fastest() -> None:
    cluster = random_matrix(30, 3)
    graph = cluster_graph(cluster, alone(cluster))
    assert len(graph.edges) == MOST_EDGES
    assert len(graph.left_out) == 30 * 29 // 2 - MOST_EDGES
    assert nx.is_connected(nx.Graph(list(graph.edges)))
    slowest = {
        pair: min(cluster.network.bandwidth_bytes_per_s(*pair[::step]) for step in (1, -1)) for pair in graph.edges
    }
    assert slowest == graph.edges


def test_nodes_that_cannot_reach_each_other_have_no_line() -> None:
    nodes = (node("a"), node("b", 200), node("c", 400))
    one_way = MatrixNetwork(((0, GIGA, GIGA), (GIGA, 0, 0), (GIGA, GIGA, 0)))
    graph = cluster_graph(Cluster("c", nodes, one_way), Partition("p", (("a",), ("b",), ("c",))))
    assert set(graph.edges) == {(0, 1), (0, 2)}


def test_many_equal_islands_are_one_disc() -> None:
    cluster = Cluster("c", tuple(node(f"n{i}") for i in range(50)), TierNetwork((GIGA,), ((),) * 50))
    (disc,) = cluster_graph(cluster, alone(cluster)).discs
    assert (disc.short, disc.nodes, len(disc.dots)) == ("50 x\n1", 1, 1)


def test_many_islands_are_dots_of_the_neighbourhoods_that_fast_links_make() -> None:
    network = TierNetwork((GIGA, 10 * GIGA), tuple((f"pod{i % 3}",) for i in range(90)))
    cluster = Cluster("c", tuple(node(f"n{i}", 100 + i) for i in range(90)), network)
    graph = cluster_graph(cluster, alone(cluster))
    assert [(len(disc.dots), disc.nodes) for disc in graph.discs] == [(30, 30)] * 3
    assert graph.edges == {(0, 1): GIGA, (0, 2): GIGA, (1, 2): GIGA}
    assert "10.0 GB/s or more" in graph.meaning


def test_of_many_equally_fast_links_none_is_drawn() -> None:
    cluster = Cluster("c", tuple(node(f"n{i}", 100 + i) for i in range(30)), TierNetwork((GIGA,), ((),) * 30))
    graph = cluster_graph(cluster, alone(cluster))
    assert graph.edges == {}
    assert graph.left_out == (GIGA,) * (30 * 29 // 2)


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_same_cluster_gives_the_same_file(tmp_path: Path, suffix: str) -> None:
    cluster = racks(8, 4)
    partition = agglomerate(IslandsProblem("p", cluster))
    for name in ("one", "two"):
        draw_cluster(cluster, partition, tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()
