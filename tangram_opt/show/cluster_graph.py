"""A partitioned cluster as a graph to draw: islands, the slowest links between them, and where each goes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import log, sqrt
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from tangram_opt.data.cluster import Cluster
from tangram_opt.data.island import Partition
from tangram_opt.islands import build_islands, links

MOST_ISLANDS = 40
"""More islands than this are drawn by class: one vertex for all that are alike."""
MOST_DOTS = 600
"""Nodes that are drawn one by one, as long as no island has more than `MOST_DOTS_IN_ONE`."""
MOST_DOTS_IN_ONE = 150
MOST_EDGES = 45
"""Of more links than these the fastest are drawn, and what it takes to connect all that is connected."""
GAP = 3.5
"""Between two islands, in units of the spacing of nodes."""
ROUNDS = 400


@dataclass(frozen=True, slots=True)
class Vertex:
    """One island, or all islands of a class.

    Attributes
    ----------
    name : str
        Of the class.
    count : int
        Islands that the vertex stands for.
    nodes, gpus_per_node : int
        Size of each of them.
    gpu : str
        GPU model.
    inside_bytes_per_s : int
        Slowest link between two of its nodes; 0 for a single node.
    dots : bool
        Whether its nodes are drawn one by one.
    """

    name: str
    count: int
    nodes: int
    gpus_per_node: int
    gpu: str
    inside_bytes_per_s: int
    dots: bool

    @property
    def radius(self) -> float:
        """Radius of its disc, in units of the spacing of nodes."""
        return 0.75 + 0.55 * sqrt(self.nodes) if self.dots else 2 + 0.2 * log(self.nodes, 2)


@dataclass(frozen=True)
class ClusterGraph:
    """What is drawn.

    Attributes
    ----------
    vertices : tuple of Vertex
        Islands, or classes of them.
    edges : dict of tuple of int to int
        Pairs of vertices that are joined by a line, with the slowest link between them in either direction.
    left_out : int
        Pairs whose links are not drawn.
    places : ndarray, vertices x 2
        Middle of each vertex.
    """

    vertices: tuple[Vertex, ...]
    edges: dict[tuple[int, int], int]
    left_out: int
    places: NDArray[np.float64]


def cluster_graph(cluster: Cluster, partition: Partition) -> ClusterGraph:
    """Make the graph of a partitioned cluster.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    partition : Partition
        Its islands.

    Returns
    -------
    ClusterGraph
        Fast links are short as far as that is possible, and no two islands overlap.
    """
    groups = build_islands(cluster, partition)
    one_by_one = len(partition.islands) <= MOST_ISLANDS
    sizes = [group.island.nodes for group in groups for _ in range(group.count if one_by_one else 1)]
    dots = sum(sizes) <= MOST_DOTS and max(sizes) <= MOST_DOTS_IN_ONE
    owner, vertices = [], []
    for number, group in enumerate(groups):
        copies = group.count if one_by_one else 1
        owner += [number] * copies
        vertices += [
            Vertex(
                name=group.island.name,
                count=group.count // copies,
                nodes=group.island.nodes,
                gpus_per_node=group.island.gpus_per_node,
                gpu=group.island.gpu.name,
                inside_bytes_per_s=group.island.network_bytes_per_s,
                dots=dots,
            )
        ] * copies
    between = links(cluster, groups)
    slowest: nx.Graph[int] = nx.Graph()
    slowest.add_nodes_from(range(len(vertices)))
    for i, j in combinations(range(len(vertices)), 2):
        speed = min(between[owner[i]][owner[j]], between[owner[j]][owner[i]])
        if speed:
            slowest.add_edge(i, j, speed=speed)
    edges = _edges_to_draw(slowest)
    return ClusterGraph(tuple(vertices), edges, slowest.number_of_edges() - len(edges), _places(vertices, slowest))


def _edges_to_draw(graph: nx.Graph[int]) -> dict[tuple[int, int], int]:
    fastest = sorted(graph.edges, key=lambda pair: (-graph.edges[pair]["speed"], pair))
    needed = nx.maximum_spanning_edges(graph, weight="speed", data=False)
    chosen = {(min(i, j), max(i, j)) for i, j in needed}
    for i, j in fastest:
        if len(chosen) >= MOST_EDGES:
            break
        chosen.add((min(i, j), max(i, j)))
    return {(i, j): graph.edges[i, j]["speed"] for i, j in sorted(chosen)}


def _places(vertices: list[Vertex], graph: nx.Graph[int]) -> NDArray[np.float64]:
    """Lay out by Kamada and Kawai, faster links shorter, and then push overlapping islands apart."""
    radii = np.array([vertex.radius for vertex in vertices])
    if len(vertices) == 1:
        return np.zeros((1, 2))
    speeds = sorted({graph.edges[pair]["speed"] for pair in graph.edges}, reverse=True)
    length = {speed: 1 + rank / len(speeds) for rank, speed in enumerate(speeds)}
    wanted: dict[int, dict[int, float]] = {i: {} for i in graph}
    for i, j in combinations(graph, 2):
        speed = graph.edges[i, j]["speed"] if graph.has_edge(i, j) else None
        wanted[i][j] = wanted[j][i] = 2.5 if speed is None else length[speed]
    found: Any = nx.kamada_kawai_layout(graph, dist=wanted, weight=None)
    places = np.array([found[i] for i in graph])
    least = radii[:, None] + radii[None, :] + GAP
    places *= 0.8 * np.sqrt((least[0] ** 2).sum()) / max(np.abs(places).max(), 1e-9) / 2
    np.fill_diagonal(least, 0)
    for _ in range(ROUNDS):
        apart = places[:, None, :] - places[None, :, :]
        distance = np.sqrt((apart**2).sum(axis=2))
        lacking = np.maximum(least - distance, 0)
        if lacking.max() < 1e-3:
            break
        direction = apart / np.maximum(distance, 1e-9)[:, :, None]
        places = places + 0.3 * (direction * lacking[:, :, None]).sum(axis=1)
    return places
