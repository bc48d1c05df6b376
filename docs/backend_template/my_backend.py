"""A solver backend to start from: it tries every sequence of options, exact, and slow beyond small problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from time import monotonic

from tangram_opt.backend import Problem, Progress, SolveOptions, refuse_what_needs_a_library
from tangram_opt.composition import answer, check, evaluate, positions, why_infeasible
from tangram_opt.data.composition import Composition, CompositionProblem, Pick
from tangram_opt.result import Result, StopReason


class Exhaustive:
    """Tries everything."""

    name = "exhaustive"
    summary = "tries every sequence of options, proves its answers"
    exact = True
    formulation = "sequences"

    def version(self) -> str:
        """Version of the library behind it, here its own."""
        return "0.1.0"

    def missing(self) -> str | None:
        """Name the package that must be installed first: import solver libraries in `solve`, not above."""
        return None

    def unsupported(self, problem: Problem) -> str | None:
        """Say why it cannot take a problem."""
        return None if isinstance(problem, CompositionProblem) else "it solves composition problems only"

    def formulations(self, problem: Problem) -> tuple[str, ...]:  # noqa: ARG002
        """Name the formulations that are exact for a problem, the strongest first."""
        return (self.formulation,)

    def solve(self, problem: CompositionProblem, options: SolveOptions) -> Result[Composition]:
        """Keep the best composition that `check` allows, by the iteration time that `evaluate` gives it."""
        refuse_what_needs_a_library(self.name, self.formulation, options)
        start = monotonic()
        best, best_ns, stop_reason = None, None, StopReason.PROVED
        try:
            for composition in _tilings(problem):
                if options.time_limit_s is not None and monotonic() - start > options.time_limit_s:
                    stop_reason = StopReason.TIME_LIMIT
                    break
                if check(problem, composition):
                    continue
                objective_ns = evaluate(problem, composition).objective_ns
                if best_ns is None or objective_ns < best_ns:
                    best, best_ns = composition, objective_ns
                    if options.on_progress is not None:
                        options.on_progress(Progress(best_ns, None, monotonic() - start))
        except KeyboardInterrupt:
            stop_reason = StopReason.INTERRUPTED
        proved = stop_reason is StopReason.PROVED
        # `answer` evaluates once more and calls optimal only what has bound == objective.
        return answer(
            problem,
            best,
            bound=best_ns if proved else None,
            claimed=best_ns,
            stop_reason=stop_reason,
            wall_s=monotonic() - start,
            solver=self.name,
            solver_version=self.version(),
            formulation=self.formulation,
            log=(why_infeasible(problem, lambda: False),) if proved and best is None else (),
        )


def _tilings(problem: CompositionProblem) -> Iterator[Composition]:
    """Every sequence of options that tiles the model and uses no class more often than it has islands."""
    counts = {island.name: island.count for island in problem.islands}
    at: dict[int, list[int]] = {}
    for index, option in enumerate(problem.options):
        for first in positions(problem, option):
            at.setdefault(first, []).append(index)

    def grow(first: int, picks: tuple[Pick, ...], used: Counter[str]) -> Iterator[Composition]:
        if first == problem.length:
            yield Composition(problem.name, picks)
            return
        for index in at.get(first, ()):
            option = problem.options[index]
            if used[option.island] < counts[option.island]:
                yield from grow(first + option.length, (*picks, Pick(index, first)), used + Counter([option.island]))

    yield from grow(0, (), Counter())
