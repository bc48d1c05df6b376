"""A partitioned cluster as a graph to draw: islands, the slowest links between them, and where each goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log, sqrt
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from tangram_opt.data.cluster import Cluster
from tangram_opt.data.island import Partition
from tangram_opt.data.units import GIGA
from tangram_opt.islands import IslandGroup, build_islands, links
from tangram_opt.show.units import count, decimals

MOST_DISCS = 40
"""More islands than this are drawn by class, and more classes as dots in the neighbourhoods that fast links make."""
MOST_DOTS = 600
"""Nodes that are drawn one by one, as long as no island has more than `MOST_DOTS_IN_ONE`."""
MOST_DOTS_IN_ONE = 150
MOST_EDGES = 45
"""Of more links than these the fastest are drawn, and what it takes to connect all that is connected."""
GAP = 3.5
"""Between two discs, in units of the spacing of dots."""
ROUNDS = 400

Speeds = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Dot:
    """A node of an island, or an island of a neighbourhood: what its colour stands for.

    Attributes
    ----------
    island : str
        Class of the island.
    gpu : str
        GPU model.
    """

    island: str
    gpu: str


@dataclass(frozen=True, slots=True)
class Disc:
    """A vertex of the graph.

    Attributes
    ----------
    label : str
        What it is, in full.
    short : str
        What is written into it where there is no room for labels and no dot.
    dots : tuple of Dot
        What it holds; of an island that is too large to draw its nodes a single one.
    nodes : int
        Number of nodes.
    dotted : bool
        Whether the dots are drawn.
    """

    label: str
    short: str
    dots: tuple[Dot, ...]
    nodes: int
    dotted: bool

    @property
    def radius(self) -> float:
        """Radius, in units of the spacing of dots."""
        return 0.75 + 0.55 * sqrt(len(self.dots)) if self.dotted else 2 + 0.2 * log(self.nodes, 2)


@dataclass(frozen=True)
class ClusterGraph:
    """What is drawn.

    Attributes
    ----------
    discs : tuple of Disc
        Islands, classes of islands, or neighbourhoods of classes.
    edges : dict of tuple of int to int
        Pairs of discs that are joined by a line, with the slowest link between them in either direction; between
        neighbourhoods the fastest of these.
    left_out : tuple of int
        Speeds of the links that are not drawn, ascending.
    places : ndarray, discs x 2
        Middle of each disc.
    meaning : str
        What discs and dots are, where dots are not nodes.
    """

    discs: tuple[Disc, ...]
    edges: dict[tuple[int, int], int]
    left_out: tuple[int, ...]
    places: NDArray[np.float64]
    meaning: str


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
        Fast links are short as far as that is possible, and no two discs overlap.
    """
    groups = build_islands(cluster, partition)
    between = np.array(links(cluster, groups))
    between = np.minimum(between, between.T)
    meaning = ""
    if len(groups) > MOST_DISCS:
        discs, between, meaning = _neighbourhoods(groups, between)
    else:
        one_by_one = len(partition.islands) <= MOST_DISCS
        owner = [number for number, group in enumerate(groups) for _ in range(group.count if one_by_one else 1)]
        sizes = [groups[number].island.nodes for number in owner]
        dotted = sum(sizes) <= MOST_DOTS and max(sizes) <= MOST_DOTS_IN_ONE
        discs = [_disc(groups[number], 1 if one_by_one else groups[number].count, dotted=dotted) for number in owner]
        between = between[np.ix_(owner, owner)]
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(discs)))
    for i, j in combinations(range(len(discs)), 2):
        if between[i, j]:
            graph.add_edge(i, j, speed=int(between[i, j]))
    edges = _edges_to_draw(graph)
    left_out = sorted(graph.edges[pair]["speed"] for pair in graph.edges if pair not in edges)
    places = _places([disc.radius for disc in discs], graph)
    return ClusterGraph(tuple(discs), edges, tuple(left_out), places, meaning)


def _disc(group: IslandGroup, islands: int, *, dotted: bool) -> Disc:
    island = group.island
    times = "" if islands == 1 else f"{count(islands)} islands of\n"
    inside = f"\n{decimals(island.network_bytes_per_s / GIGA, 3)} GB/s inside" if island.nodes > 1 else ""
    return Disc(
        label=f"{times}{island.name}\n{count(island.nodes)} x {island.gpus_per_node} GPUs{inside}",
        short=count(island.nodes) if islands == 1 else f"{count(islands)} x\n{count(island.nodes)}",
        dots=(Dot(island.name, island.gpu.name),) * (island.nodes if dotted else 1),
        nodes=island.nodes,
        dotted=dotted,
    )


def _neighbourhoods(groups: Sequence[IslandGroup], between: Speeds) -> tuple[list[Disc], Speeds, str]:
    """Gather classes of islands whose links are fast, by the fastest speed that leaves few enough neighbourhoods."""
    for speed in np.unique(between)[::-1]:
        parts, owner = connected_components(between >= speed, directed=False)
        if parts <= MOST_DISCS:
            break
    discs = []
    for part in range(parts):
        own = [group for group, of in zip(groups, owner, strict=True) if of == part]
        islands, nodes = sum(each.count for each in own), sum(each.count * each.island.nodes for each in own)
        dots = tuple(Dot(each.island.name, each.island.gpu.name) for each in own)
        discs.append(Disc(f"{count(islands)} islands, {count(nodes)} nodes", "", dots, nodes, dotted=True))
    members = [np.flatnonzero(owner == part) for part in range(parts)]
    fastest = np.array([[between[np.ix_(own, other)].max() for other in members] for own in members])
    fast = decimals(speed / GIGA, 3)
    meaning = f"a dot is a class of equal islands, a disc those that are linked at {fast} GB/s or more"
    return discs, fastest, meaning


def _edges_to_draw(graph: nx.Graph[int]) -> dict[tuple[int, int], int]:
    if len(graph.edges) > MOST_EDGES and len({graph.edges[pair]["speed"] for pair in graph.edges}) == 1:
        return {}  # All discs are equally close: any choice would mislead.
    fastest = sorted(graph.edges, key=lambda pair: (-graph.edges[pair]["speed"], pair))
    needed = nx.maximum_spanning_edges(graph, weight="speed", data=False)
    chosen = {(min(i, j), max(i, j)) for i, j in needed}
    for i, j in fastest:
        if len(chosen) >= MOST_EDGES:
            break
        chosen.add((min(i, j), max(i, j)))
    return {(i, j): graph.edges[i, j]["speed"] for i, j in sorted(chosen)}


def _places(radii: Sequence[float], graph: nx.Graph[int]) -> NDArray[np.float64]:
    """Lay out by Kamada and Kawai, faster links shorter, and then push overlapping discs apart."""
    if len(radii) == 1:
        return np.zeros((1, 2))
    speeds = sorted({graph.edges[pair]["speed"] for pair in graph.edges}, reverse=True)
    length = {speed: 1 + rank / len(speeds) for rank, speed in enumerate(speeds)}
    wanted: dict[int, dict[int, float]] = {i: {} for i in graph}
    for i, j in combinations(graph, 2):
        speed = graph.edges[i, j]["speed"] if graph.has_edge(i, j) else None
        wanted[i][j] = wanted[j][i] = 2.5 if speed is None else length[speed]
    found: Any = nx.kamada_kawai_layout(graph, dist=wanted, weight=None)
    places = np.array([found[i] for i in graph])
    least = np.add.outer(radii, radii) + GAP
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
