"""The paper's greedy islands (section 4.1): agglomerative clustering, kept to the conditions exactly.

SciPy's hierarchical clustering proposes which nodes to join: the fastest links first, among them the most alike
nodes (complete linkage, so that two clusters are as far apart as their worst pair). A proposal is taken only where
the conditions hold in exact integers, so the result is always valid; it is not always the smallest partition.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from tangram_opt.backend import SolveOptions
from tangram_opt.data.cluster import MatrixNetwork
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands.answer import answer, partition_of
from tangram_opt.islands.bandwidths import FASTEST, IntArray, Units, faster_outside, gather_units, reach
from tangram_opt.islands.base import IslandsMethod
from tangram_opt.islands.likeness import Attributes, alike, attributes, ratio_limit, ratio_limits
from tangram_opt.islands.network import fastest_told_apart, links_of
from tangram_opt.islands.parts import Groups, Part
from tangram_opt.result import Result, StopReason


class AgglomerativeBackend(IslandsMethod):
    """The paper's reference method for islands problems."""

    name = "agglomerative"
    summary = "islands by agglomerative clustering (SciPy), the paper's greedy method; proves nothing by itself"
    formulation = "complete-linkage"
    distribution = "scipy"

    def solve(self, problem: Any, options: SolveOptions) -> Result[Partition]:
        """Solve an islands problem.

        Parameters
        ----------
        problem : IslandsProblem
            Cluster and tolerances.
        options : SolveOptions
            None counts: the method takes no decisions that time or chance could change.

        Returns
        -------
        Result
            A valid partition; the bound of the number of islands is that of :func:`likeness_bound`.
        """
        self.check_options(options)
        start = time.perf_counter()
        partition = agglomerate(problem)
        # Of the compute lost and the slowest link it knows only what no partition can beat.
        single = len(partition.islands) == len(problem.cluster.nodes)
        bounds = likeness_bound(problem), 0, 0 if single else links_of(problem).fastest
        return answer(
            problem,
            partition,
            bounds=bounds,
            stop_reason=StopReason.HEURISTIC,
            wall_s=time.perf_counter() - start,
            solver=self.name,
            solver_version=self.version(),
            formulation=self.formulation,
        )


def agglomerate(problem: IslandsProblem) -> Partition:
    """Partition a cluster into few islands, greedily.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.

    Returns
    -------
    Partition
        Islands that satisfy every condition, by their first node; nodes in the order of the cluster.
    """
    nodes = problem.cluster.nodes
    units = _units(problem)
    boxes = [(nodes[unit[0]].gpus, attributes(nodes[unit[0]]), attributes(nodes[unit[0]])) for unit in units.members]
    compatible = alike(boxes, ratio_limits(problem.tolerances))
    compatible &= (units.bandwidths > 0) & (units.bandwidths.T > 0)
    lows = [low for _, low, _ in boxes]
    islands = _merge(units, lows, compatible, ratio_limit(problem.tolerances.network))
    return partition_of(problem, [[node for unit in island for node in units.members[unit]] for island in islands])


def agglomerate_part(part: Part) -> Groups:
    """Partition the blocks of a part into few islands, greedily and deterministically."""
    units = Units(tuple(block.nodes for block in part.blocks), part.bandwidths)
    islands = _merge(units, [block.low for block in part.blocks], part.together, part.limit)
    return tuple(tuple(sorted(island)) for island in islands)


def likeness_bound(problem: IslandsProblem) -> int:
    """Fewest islands that the likeness of nodes alone allows.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.

    Returns
    -------
    int
        Over the numbers of GPUs per node: the largest number, over the attributes, of ranges of the allowed ratio
        that it takes to cover the values of one attribute, which taking values in ascending order finds.
    """
    bound = 0
    nodes = problem.cluster.nodes
    for gpus in {node.gpus for node in nodes}:
        values = list(zip(*(attributes(node) for node in nodes if node.gpus == gpus), strict=True))
        bound += max(
            _ranges(column, limit) for column, limit in zip(values, ratio_limits(problem.tolerances), strict=True)
        )
    return bound


def _ranges(values: Sequence[int], limit: Fraction) -> int:
    count, end = 0, Fraction(-1)
    for value in sorted(set(values)):
        if value > end:
            count, end = count + 1, value * limit
    return count


def _units(problem: IslandsProblem) -> Units:
    """Equal nodes in the same place as one, with links as fast as the tolerances tell apart."""
    network = problem.cluster.network
    together = isinstance(network, MatrixNetwork) or network.bandwidths_bytes_per_s[-1] > 0
    labels = [(node.gpus, attributes(node), together or i) for i, node in enumerate(problem.cluster.nodes)]
    units = gather_units(network, labels)
    bandwidths = np.minimum(units.bandwidths, fastest_told_apart(problem.tolerances))
    bandwidths[units.bandwidths == FASTEST] = FASTEST
    return Units(units.members, bandwidths)


def _merge(
    units: Units, values: Sequence[Attributes], compatible: NDArray[np.bool_], limit: Fraction
) -> list[list[int]]:
    """Islands as lists of units."""
    size = len(values)
    faster = _faster_links(units, limit)
    sizes = np.array([len(members) for members in units.members])
    # parts[c]: the islands that cluster c of the dendrogram consists of, most often one.
    parts: dict[int, list[list[int]]] = {unit: [[unit]] for unit in range(size)}
    for step, (left, right) in enumerate(_proposals(units, values, compatible)):
        ours, theirs = parts.pop(left), parts.pop(right)
        whole = [unit for island in ours + theirs for unit in island]
        if _is_island(whole, units, compatible, limit):
            parts[size + step] = [whole]
            continue
        first = np.array([other[0] for other in theirs])
        nodes_in = np.array([sizes[other].sum() for other in theirs])
        free = np.ones(len(theirs), dtype=bool)
        for island in ours:
            # Whoever has a faster link from one node to the other must be inside, so there may be only so many.
            room = sizes[island].sum() + nodes_in - 2
            hopeful = free & compatible[island[0], first]
            hopeful &= (faster[island[0], first] <= room) & (faster[first, island[0]] <= room)
            for position in np.flatnonzero(hopeful):
                if _is_island(island + theirs[position], units, compatible, limit):
                    island += theirs[position]
                    free[position] = False
        theirs = [other for position, other in enumerate(theirs) if free[position]]
        parts[size + step] = ours + theirs
    return [island for islands in parts.values() for island in islands]


def _is_island(island: list[int], units: Units, compatible: NDArray[np.bool_], limit: Fraction) -> bool:
    chosen = np.array(island)
    if not compatible[np.ix_(chosen, chosen)].all():
        return False
    return faster_outside(units.bandwidths, chosen, limit) is None


def _faster_links(units: Units, limit: Fraction) -> IntArray:
    """For each pair of units, how many nodes have a faster link from the row's unit than the column's allows."""
    counts = np.empty_like(units.bandwidths)
    sizes = np.array([len(members) for members in units.members])
    for unit, row in enumerate(units.bandwidths):
        others = np.delete(np.arange(len(row)), unit)
        order = others[np.argsort(-row[others], kind="stable")]
        before = np.concatenate(([0], np.cumsum(sizes[order])))
        counts[unit, order] = before[np.searchsorted(-row[order], -reach(row[order], limit))]
    return counts


def _proposals(units: Units, values: Sequence[Attributes], compatible: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Pairs of clusters in the order in which complete linkage joins them, ``size + step`` naming a joined one."""
    if len(values) < 2:
        return []
    both_ways = np.minimum(units.bandwidths, units.bandwidths.T)
    rank = np.unique(-both_ways, return_inverse=True)[1].reshape(both_ways.shape)
    unlikeness = np.zeros(both_ways.shape)
    for column in zip(*values, strict=True):
        logs = np.log(np.array(column, dtype=float) + 1)
        np.maximum(unlikeness, np.abs(np.subtract.outer(logs, logs)), out=unlikeness)
    # Bandwidth decides, likeness breaks ties (it is brought below one rank), and the incompatible come last.
    distance = np.where(compatible, rank + unlikeness / (1 + unlikeness.max()), float(rank.max() + 2))
    np.fill_diagonal(distance, 0)
    steps = linkage(squareform(distance, checks=False), method="complete")
    return [(int(left), int(right)) for left, right, *_ in steps]
