"""What the reference methods have in common as backends."""

from __future__ import annotations

import time
from typing import Any

from tangram_opt.backend import SolveOptions
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands.answer import Bounds, answer
from tangram_opt.method import Method
from tangram_opt.result import Result, StopReason


class IslandsMethod(Method):
    """A method for islands problems that proves little or nothing by itself."""

    takes = IslandsProblem
    refusal = "it solves islands problems only"
    exact = False

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
            Optimal where the bounds of the method happen to prove it.
        """
        self.check_options(options)
        start = time.perf_counter()
        partition, bounds, log = self.partition(problem)
        return answer(
            problem,
            partition,
            bounds=bounds,
            stop_reason=StopReason.HEURISTIC,
            wall_s=time.perf_counter() - start,
            solver=self.name,
            solver_version=self.version(),
            formulation=self.formulation,
            log=log,
        )

    def partition(self, problem: IslandsProblem) -> tuple[Partition | None, Bounds, tuple[str, ...]]:
        """Find islands, what is proven of the objectives, and what there is to say."""
        raise NotImplementedError
