"""Connected components of the similarity graph: the mistake of taking pairwise likeness for likeness.

Nodes that may share an island are joined, and whatever hangs together is called an island. Likeness does not chain:
three nodes of which each is within 20 % of the next are not all within 20 % of one another. The method is here to be
measured against. Where its islands happen to be valid they are the best there are, as islands lie within components.
"""

from __future__ import annotations

from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands.answer import Bounds, partition_of
from tangram_opt.islands.base import IslandsMethod
from tangram_opt.islands.conditions import check
from tangram_opt.islands.evaluation import evaluate
from tangram_opt.islands.splitting import split


def similarity_components(problem: IslandsProblem) -> Partition:
    """Partition a cluster into the connected components of the graph of nodes that may share an island.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.

    Returns
    -------
    Partition
        Often not valid, see :func:`tangram_opt.islands.check`; its number of islands is a lower bound.
    """
    components = split(problem)
    blocks = [
        *components.settled,
        *(part.blocks for part in components.parts),
        *(crowd.islands for crowd in components.crowds),
    ]
    return partition_of(problem, [[node for block in each for node in block.nodes] for each in blocks])


class ComponentsBackend(IslandsMethod):
    """The method as a solver, which gives no solution where its islands are none."""

    name = "components"
    summary = "connected components of the similarity graph, which chains unlike nodes; no solution where that is wrong"
    formulation = "similarity-graph"
    distribution = "scipy"

    def partition(self, problem: IslandsProblem) -> tuple[Partition | None, Bounds, tuple[str, ...]]:
        """Take the components, or none of them with a condition that they violate; islands lie within components."""
        found = similarity_components(problem)
        violated = check(problem, found)
        if violated:
            return None, (len(found.islands), None, None), (f"the components are no islands: {violated[0]}",)
        return found, evaluate(problem, found), ()
