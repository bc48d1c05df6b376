"""The mistake that an exact method is measured against: islands as connected components of alike nodes."""

from __future__ import annotations

from scipy.sparse.csgraph import connected_components

from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands.likeness import alike, attributes, ratio_limits


def similarity_components(problem: IslandsProblem) -> Partition:
    """Gather the connected components of the graph that joins any two nodes which are alike.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.

    Returns
    -------
    Partition
        Most often not allowed: being alike is not transitive, so a chain of nodes, each like the next, is one
        component although its ends are unlike; and the network is not looked at. `check` tells.
    """
    nodes = problem.cluster.nodes
    figures = [(node.gpus, attributes(node)) for node in nodes]
    kinds = list(dict.fromkeys(figures))
    joined = alike([(gpus, own, own) for gpus, own in kinds], ratio_limits(problem.tolerances))
    component = dict(zip(kinds, connected_components(joined, directed=False)[1].tolist(), strict=True))
    islands: dict[int, list[str]] = {}
    for node, kind in zip(nodes, figures, strict=True):
        islands.setdefault(component[kind], []).append(node.name)
    return Partition(problem.name, tuple(tuple(names) for names in islands.values()))
