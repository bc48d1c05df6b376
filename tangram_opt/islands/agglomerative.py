"""The paper's greedy islands (section 4.1): agglomerative clustering, kept to the conditions exactly.

SciPy's hierarchical clustering proposes which nodes to join: the fastest links first, among them the most alike
nodes (complete linkage, so that two clusters are as far apart as their worst pair). A proposal is taken only where
the conditions hold in exact integers, so the result is always valid; it is not always the smallest partition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from tangram_opt.data.cluster import MatrixNetwork, TierNetwork
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands.answer import Bounds, partition_of
from tangram_opt.islands.bandwidths import FASTEST, Units, gather_units
from tangram_opt.islands.base import IslandsMethod
from tangram_opt.islands.likeness import alike, attributes, ratio_limit, ratio_limits
from tangram_opt.islands.merging import merge
from tangram_opt.islands.network import fastest_told_apart, links_of
from tangram_opt.islands.parts import Groups, Part
from tangram_opt.islands.splitting import split

MOST_UNITS: Final = 4_000
"""Above it structure splits a network of tiers before the clustering."""


class AgglomerativeBackend(IslandsMethod):
    """The paper's reference method for islands problems."""

    name = "agglomerative"
    summary = "islands by agglomerative clustering (SciPy), the paper's greedy method; proves nothing by itself"
    formulation = "complete-linkage"
    distribution = "scipy"

    def partition(self, problem: IslandsProblem) -> tuple[Partition, Bounds, tuple[str, ...]]:
        """Find islands; the bound of their number is that of :func:`likeness_bound`."""
        found = agglomerate(problem)
        # Of the compute lost and the slowest link it knows only what no partition can beat.
        single = len(found.islands) == len(problem.cluster.nodes)
        return found, (likeness_bound(problem), 0, 0 if single else links_of(problem).fastest), ()


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
    if units is None:
        return partition_of(problem, _by_structure(problem))
    boxes = [(nodes[unit[0]].gpus, attributes(nodes[unit[0]]), attributes(nodes[unit[0]])) for unit in units.members]
    compatible = alike(boxes, ratio_limits(problem.tolerances))
    compatible &= (units.bandwidths > 0) & (units.bandwidths.T > 0)
    lows = [low for _, low, _ in boxes]
    islands = merge(units, lows, compatible, ratio_limit(problem.tolerances.network))
    return partition_of(problem, [[node for unit in island for node in units.members[unit]] for island in islands])


def agglomerate_part(part: Part, stopped: Callable[[], bool] = lambda: False) -> Groups:
    """Partition the blocks of a part into few islands, greedily and deterministically, unless it is stopped."""
    units = Units(tuple(block.nodes for block in part.blocks), part.bandwidths)
    islands = merge(units, [block.low for block in part.blocks], part.together, part.limit, stopped)
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


def _units(problem: IslandsProblem) -> Units | None:
    """Equal nodes in the same place as one, with links as fast as the tolerances tell apart; None if too many."""
    network = problem.cluster.network
    together = isinstance(network, MatrixNetwork) or network.bandwidths_bytes_per_s[-1] > 0
    labels = [(node.gpus, attributes(node), together or i) for i, node in enumerate(problem.cluster.nodes)]
    if isinstance(network, TierNetwork) and len(set(zip(labels, network.positions, strict=True))) > MOST_UNITS:
        return None
    units = gather_units(network, labels)
    bandwidths = np.minimum(units.bandwidths, fastest_told_apart(problem.tolerances))
    bandwidths[units.bandwidths == FASTEST] = FASTEST
    return Units(units.members, bandwidths)


def _by_structure(problem: IslandsProblem) -> list[list[int]]:
    """Islands of the independent parts of a problem, one by one."""
    found = split(problem)
    islands = [list(island.nodes) for component in found.settled for island in component]
    islands += [list(island.nodes) for crowd in found.crowds for island in crowd.islands]
    for part in found.parts:
        islands += [[n for block in group for n in part.blocks[block].nodes] for group in agglomerate_part(part)]
    return islands
