"""The solver ``note-dp``: a published note's recurrence over islands in a fixed order. A heuristic.

f[l][k] is the least iteration time of the atoms from l on, run by the islands from the k-th on:

    f[l][k] = min( f[l][k+1],  min over options of island k for atoms l..m-1 of  option in front of f[m][k+1] )

with the islands in the problem's order, front to back, and equal islands one by one. It loses solutions twice:

- The order of the islands is given, so the island with the most memory cannot move to the front, where most
  micro-batches are in flight.
- One value is kept per state, though a suffix has several that matter: its slowest stage, its sum of times, its
  stages, its entry port. The suffix with the best value can be the wrong one for what comes in front of it.

The last island of a required class is not skipped.
"""

from __future__ import annotations

from time import monotonic

from tangram_opt.backend import SolveOptions
from tangram_opt.composition.base import CompositionBackend
from tangram_opt.composition.partial import EMPTY, Partial, better, candidates_by_end, heuristic_answer, prepend
from tangram_opt.data.composition import Composition, CompositionProblem
from tangram_opt.result import Result, StopReason


class NoteDynamicProgram(CompositionBackend):
    """Islands in the problem's order, one value per state."""

    name = "note-dp"
    summary = "a published note's dynamic program over islands in a fixed order: a heuristic, proves nothing"
    exact = False
    formulation = "fixed-order"

    def solve(self, problem: CompositionProblem, options: SolveOptions) -> Result[Composition]:
        """Solve a composition problem.

        Parameters
        ----------
        problem : CompositionProblem
            The problem.
        options : SolveOptions
            Only the time limit counts.

        Returns
        -------
        Result
            Feasible, or unknown; never a bound.
        """
        self.check_options(options)
        start = monotonic()
        by_end = candidates_by_end(problem)
        best: list[Partial | None] = [None] * problem.length + [EMPTY]
        # From the last island to the first; of a class that must be used the one that comes last is not skipped.
        for island in reversed(range(len(problem.islands))):
            must = problem.islands[island].name in problem.required
            for _ in range(min(problem.islands[island].count, problem.length)):
                if options.time_limit_s is not None and monotonic() - start > options.time_limit_s:
                    return heuristic_answer(self, problem, None, StopReason.TIME_LIMIT, monotonic() - start)
                longer: list[Partial | None] = [None] * (problem.length + 1) if must else list(best)
                for end, suffix in enumerate(best):
                    if suffix is None:
                        continue
                    for candidate in by_end[end]:
                        if candidate.island == island:
                            first = end - candidate.option.length
                            longer[first] = better(longer[first], prepend(problem, candidate, suffix))
                best, must = longer, False
        return heuristic_answer(self, problem, best[0], StopReason.HEURISTIC, monotonic() - start)
