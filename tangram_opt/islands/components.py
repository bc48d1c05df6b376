"""Connected components of the similarity graph: the mistake of taking pairwise likeness for likeness.

Nodes that may share an island are joined, and whatever hangs together is called an island. Likeness does not chain:
three nodes of which each is within 20 % of the next are not all within 20 % of one another. The method is here to be
measured against. Where its islands happen to be valid they are the best there are, as islands lie within components.
"""

from __future__ import annotations

import time
from typing import Any

from tangram_opt.backend import SolveOptions
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands.answer import Bounds, answer, partition_of
from tangram_opt.islands.base import IslandsMethod
from tangram_opt.islands.conditions import check
from tangram_opt.islands.evaluation import evaluate
from tangram_opt.islands.splitting import split
from tangram_opt.result import Result, StopReason


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

    def solve(self, problem: Any, options: SolveOptions) -> Result[Partition]:
        """Solve an islands problem.

        Parameters
        ----------
        problem : IslandsProblem
            Cluster and tolerances.
        options : SolveOptions
            None counts: the method takes no decisions.

        Returns
        -------
        Result
            Optimal where the components are islands, and otherwise unknown, with a condition that they violate.
        """
        self.check_options(options)
        start = time.perf_counter()
        partition = similarity_components(problem)
        violated = check(problem, partition)
        bounds: Bounds = (len(partition.islands), None, None) if violated else evaluate(problem, partition)
        return answer(
            problem,
            None if violated else partition,
            bounds=bounds,
            stop_reason=StopReason.HEURISTIC,
            wall_s=time.perf_counter() - start,
            solver=self.name,
            solver_version=self.version(),
            formulation=self.formulation,
            log=tuple(f"the components are no islands: {text}" for text in violated[:1]),
        )
