"""Families of islands problems, from a family's name, a number of nodes and a seed.

What a family is about is in the docstring of the function that makes it. Figures are small numbers, as only their
ratios and their order matter.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tangram_opt.crosscheck.numbers import choice, integer
from tangram_opt.data.cluster import Cluster, Gpu, MatrixNetwork, Node, TierNetwork
from tangram_opt.data.island import IslandsProblem, Tolerances

FIGURES: Final = (100, 109, 110, 119, 120, 121, 131, 132, 144, 145, 158)
"""Around the ratios that tolerances of 0.1 and 0.2 allow, and the next above them."""
FEW_FIGURES: Final = (100, 120, 144)


def generate_islands(family: str, nodes: int, seed: int) -> IslandsProblem:
    """Make the islands problem of a family, a size and a seed: always the same.

    Parameters
    ----------
    family : str
        One of `ISLANDS_FAMILIES`.
    nodes : int
        Number of nodes.
    seed : int
        Of the random numbers.

    Returns
    -------
    IslandsProblem
        Named ``<family>-<nodes>-<seed>``.
    """
    name = f"{family}-{nodes}-{seed}"
    return ISLANDS_FAMILIES[family](name, nodes, random.Random(name))


def random_islands_problems(count: int, seed: int) -> Iterator[IslandsProblem]:
    """Make small islands problems of all families in turn.

    Parameters
    ----------
    count : int
        How many.
    seed : int
        Of the random numbers.

    Yields
    ------
    IslandsProblem
        With three to nine nodes.
    """
    families = sorted(ISLANDS_FAMILIES)
    for number in range(count):
        family = families[number % len(families)]
        nodes = integer(random.Random(f"{seed}-{number}"), 3, 9)
        problem = generate_islands(family, nodes, 1_000_000 * seed + number)
        yield replace(problem, name=f"{family}-{nodes}-{seed}.{number}")


def _boxes(name: str, size: int, rng: random.Random) -> IslandsProblem:
    """All links equally fast, and nodes that overlap in three figures: covering boxes."""
    nodes = tuple(_node(number, rng, FIGURES) for number in range(size))
    return _problem(name, nodes, TierNetwork((5,), ((),) * size), Tolerances(0.2, 0.2, 0.2))


def _line(name: str, size: int, rng: random.Random) -> IslandsProblem:
    """All links equally fast, and a chain of nodes that differ in compute alone, each like the next."""
    compute = 100
    nodes = []
    for number in range(size):
        nodes.append(_plain(number, compute))
        compute += integer(rng, 0, compute // 5)
    return _problem(name, nodes, TierNetwork((5,), ((),) * size), Tolerances(0.2))


def _tiers(name: str, size: int, rng: random.Random) -> IslandsProblem:
    """Pods and racks of nodes of a few kinds."""
    return _problem(name, _of_kinds(size, rng, 3), _pods(size, rng, (1, 4, 9)), Tolerances())


def _loose_tiers(name: str, size: int, rng: random.Random) -> IslandsProblem:
    """Tiers of which a tolerance on the network takes some for equally fast, but not all."""
    tolerances = Tolerances(network=choice(rng, (0.25, 0.5, 1.0)), fast_link_bytes_per_s=choice(rng, (None, 12)))
    return _problem(name, _of_kinds(size, rng, 3), _pods(size, rng, (8, 10, 13)), tolerances)


def _asymmetric(name: str, size: int, rng: random.Random) -> IslandsProblem:
    """Links of a few speeds, different in each direction."""
    return _problem(name, _of_kinds(size, rng, 2), _matrix(size, lambda: integer(rng, 1, 3)), Tolerances())


def _mostly_fast(name: str, size: int, rng: random.Random) -> IslandsProblem:
    """Fast links but for a few: which pairs may be together is anybody's guess."""
    nodes = [_node(number, rng, FEW_FIGURES) for number in range(size)]
    wide = Tolerances(0.2, 0.2, 0.2, choice(rng, (0.0, 0.1)))
    return _problem(name, nodes, _matrix(size, lambda: choice(rng, (10, 10, 10, 9, 5))), wide)


def _tastes(name: str, size: int, rng: random.Random) -> IslandsProblem:
    """Nodes to which all others are equally close, and a few that tell them apart: these ask for third nodes."""
    rows = []
    for i in range(size):
        speeds = choice(rng, ((3,), (3,), (3, 3, 2, 1)))
        rows.append(tuple(0 if i == j else choice(rng, speeds) for j in range(size)))
    nodes = [_plain(number, choice(rng, (100, 110, 120, 121))) for number in range(size)]
    return _problem(name, nodes, MatrixNetwork(tuple(rows)), Tolerances())


def _missing(name: str, size: int, rng: random.Random) -> IslandsProblem:
    """Like nodes, and links that are not there in one direction or both."""
    nodes = [_plain(number, choice(rng, (100, 110, 121))) for number in range(size)]
    return _problem(name, nodes, _matrix(size, lambda: choice(rng, (3, 3, 3, 0))), Tolerances())


def _sites(name: str, size: int, rng: random.Random) -> IslandsProblem:
    """Sites far apart, whose inner links were measured with noise, which a tolerance is to absorb."""
    site = [integer(rng, 0, 2) for _ in range(size)]
    rows = tuple(
        tuple(
            0 if i == j else integer(rng, 95, 100) if site[i] == site[j] else integer(rng, 8, 12) for j in range(size)
        )
        for i in range(size)
    )
    tolerances = Tolerances(network=choice(rng, (0.0, 0.02, 0.05, 0.06)))
    return _problem(name, _of_kinds(size, rng, 2), MatrixNetwork(rows), tolerances)


def _twins(name: str, size: int, rng: random.Random) -> IslandsProblem:
    """Many equal nodes, in places that are nearly equal."""
    place = [integer(rng, 0, 1) for _ in range(size)]
    between = [[choice(rng, (4, 5)) for _ in range(2)] for _ in range(2)]
    rows = [[0 if i == j else between[place[i]][place[j]] for j in range(size)] for i in range(size)]
    i, j = integer(rng, 0, size - 1), integer(rng, 0, size - 1)
    if i != j:
        rows[i][j] = 6
    nodes = [_plain(number, choice(rng, (100, 120))) for number in range(size)]
    return _problem(name, nodes, MatrixNetwork(tuple(map(tuple, rows))), Tolerances())


def _speeds(name: str, size: int, rng: random.Random) -> IslandsProblem:
    """Equal nodes with links of several speeds, all tolerated, or none: the slowest link decides among partitions."""
    rows = [[0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i):
            rows[i][j] = rows[j][i] = choice(rng, (0, 5, 6, 7, 8))
    nodes = [_plain(number, 100) for number in range(size)]
    return _problem(name, nodes, MatrixNetwork(tuple(map(tuple, rows))), Tolerances(network=1.0))


ISLANDS_FAMILIES: Final[Mapping[str, Callable[[str, int, random.Random], IslandsProblem]]] = {
    "boxes": _boxes,
    "line": _line,
    "tiers": _tiers,
    "loose-tiers": _loose_tiers,
    "asymmetric": _asymmetric,
    "mostly-fast": _mostly_fast,
    "tastes": _tastes,
    "missing": _missing,
    "sites": _sites,
    "twins": _twins,
    "speeds": _speeds,
}


def _problem(
    name: str, nodes: Sequence[Node], network: MatrixNetwork | TierNetwork, tolerances: Tolerances
) -> IslandsProblem:
    return IslandsProblem(name, Cluster(name, tuple(nodes), network), tolerances)


def _made(number: int, compute: int, memory: int, bandwidth: int, gpus: int) -> Node:
    gpu = Gpu("gpu", 2 * compute, compute, memory, 1, 1)
    links = tuple(tuple(0 if a == b else bandwidth for b in range(gpus)) for a in range(gpus))
    return Node(f"node-{number}", gpu, gpus, links)


def _plain(number: int, compute: int) -> Node:
    return _made(number, compute, 100, 100, 2)


def _node(number: int, rng: random.Random, figures: Sequence[int]) -> Node:
    return _made(number, choice(rng, figures), choice(rng, figures), choice(rng, figures), 2)


def _of_kinds(size: int, rng: random.Random, kinds: int) -> list[Node]:
    """Nodes of a few kinds, with one or two GPUs, some of them a little slow."""
    figures = [(choice(rng, FIGURES), choice(rng, FEW_FIGURES), integer(rng, 1, 2)) for _ in range(kinds)]
    nodes = []
    for number in range(size):
        compute, memory, gpus = choice(rng, figures)
        nodes.append(_made(number, compute - integer(rng, 0, 9) * integer(rng, 0, 1), memory, 100, gpus))
    return nodes


def _pods(size: int, rng: random.Random, bandwidths: tuple[int, ...]) -> TierNetwork:
    return TierNetwork(bandwidths, tuple((f"p{integer(rng, 0, 1)}", f"r{integer(rng, 0, 1)}") for _ in range(size)))


def _matrix(size: int, entry: Callable[[], int]) -> MatrixNetwork:
    return MatrixNetwork(tuple(tuple(0 if i == j else entry() for j in range(size)) for i in range(size)))
