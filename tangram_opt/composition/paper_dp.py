"""The solver ``paper-dp``: pipeline composition as the paper's section 5.2 describes it. A heuristic.

Options are allowed in the order of their slowest stage. After each step sequences are built back to front by
putting allowed options in front of memoised ones, and the best sequence is memoised for every state: first atom, and
how many islands of each class it uses. The steps end when a slower slowest stage cannot pay any more: when
(n-1) times it, plus the least sum of times of any tiling, is no better than the best composition found.

It loses solutions because one sequence per state is not enough. A sequence is memoised for its iteration time alone;
one that takes longer, but has fewer stages (so that more options fit in front of it), a smaller sum under a
slowest stage that comes in front of it anyway, or an entry port with a faster link, is forgotten.
"""

from __future__ import annotations

from itertools import groupby
from time import monotonic

from tangram_opt.backend import SolveOptions
from tangram_opt.composition.base import CompositionBackend
from tangram_opt.composition.objective import iteration_of_parts_ns
from tangram_opt.composition.partial import (
    EMPTY,
    Candidate,
    Partial,
    better,
    candidates_by_end,
    heuristic_answer,
    prepend,
)
from tangram_opt.data.composition import Composition, CompositionProblem
from tangram_opt.result import Result, StopReason

Used = tuple[int, ...]
"""Islands used, by class."""


class PaperDynamicProgram(CompositionBackend):
    """Increasing imbalance, one sequence per first atom and islands used."""

    name = "paper-dp"
    summary = "the paper's dynamic program (section 5.2): one sequence per state, a heuristic, proves nothing"
    exact = False
    formulation = "rising-bottleneck"

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
        stop_reason = StopReason.HEURISTIC
        by_end = candidates_by_end(problem)
        ranked = sorted(
            ((c.option.bottleneck_ns, end, c) for end, group in enumerate(by_end) for c in group),
            key=lambda entry: entry[0],
        )
        least_sum = _least_sum_ns(by_end)
        memo = _Memo(problem)
        for bottleneck, group in groupby(ranked, key=lambda entry: entry[0]):
            best = memo.best()
            if best is not None and (
                iteration_of_parts_ns(problem.micro_batches, bottleneck, least_sum, 0) >= best.value_ns
            ):
                break
            if options.time_limit_s is not None and monotonic() - start > options.time_limit_s:
                stop_reason = StopReason.TIME_LIMIT
                break
            memo.allow([(end, candidate) for _, end, candidate in group])
        return heuristic_answer(self, problem, memo.best(), stop_reason, monotonic() - start)


class _Memo:
    """The best sequence of every state, for the options allowed so far."""

    def __init__(self, problem: CompositionProblem) -> None:
        self.problem = problem
        self.count = [island.count for island in problem.islands]
        self.allowed: list[list[Candidate]] = [[] for _ in range(problem.length + 1)]
        self.states: list[dict[Used, Partial]] = [{} for _ in range(problem.length + 1)]
        self.states[-1][(0,) * len(self.count)] = EMPTY

    def allow(self, options: list[tuple[int, Candidate]]) -> None:
        """Allow more options, each at the atom behind its slice, and bring all states up to date."""
        new: dict[int, list[Candidate]] = {}
        for end, candidate in options:
            new.setdefault(end, []).append(candidate)
        improved: list[set[Used]] = [set() for _ in self.states]
        for end in range(len(self.states) - 1, 0, -1):
            for used, suffix in self.states[end].items():
                fresh = used in improved[end]
                for candidate in self.allowed[end] if fresh else ():
                    self._put(candidate, used, suffix, end, improved)
                for candidate in new.get(end, ()):
                    self._put(candidate, used, suffix, end, improved)
            self.allowed[end] += new.get(end, [])

    def _put(self, candidate: Candidate, used: Used, suffix: Partial, end: int, improved: list[set[Used]]) -> None:
        island = candidate.island
        if used[island] == self.count[island]:
            return
        longer = prepend(self.problem, candidate, suffix)
        first = end - candidate.option.length
        state = (*used[:island], used[island] + 1, *used[island + 1 :])
        known = self.states[first].get(state)
        if longer is not None and (known is None or longer.value_ns < known.value_ns):
            self.states[first][state] = longer
            improved[first].add(state)

    def best(self) -> Partial | None:
        """The best sequence of all atoms that uses the required classes."""
        required = [self.problem.class_index[name] for name in self.problem.required]
        best: Partial | None = None
        for used, whole in self.states[0].items():
            if all(used[island] for island in required):
                best = better(best, whole)
        return best


def _least_sum_ns(by_end: list[list[Candidate]]) -> int:
    """Least sum of times of any tiling, with as many islands as it likes and free links; 0 where there is none."""
    least: list[int | None] = [0]
    for end in range(1, len(by_end)):
        sums = [before + c.option.sum_ns for c in by_end[end] if (before := least[end - c.option.length]) is not None]
        least.append(min(sums, default=None))
    return least[-1] or 0
