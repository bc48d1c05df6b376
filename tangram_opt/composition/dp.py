"""The solver ``dp``: the exact dynamic program, and the enumeration that it starts, as a backend."""

from __future__ import annotations

from time import monotonic

from tangram_opt.backend import Problem, Progress, SolveOptions, refuse_what_needs_a_library
from tangram_opt.composition.answer import answer, placed
from tangram_opt.composition.base import CompositionBackend
from tangram_opt.composition.evaluation import check, evaluate
from tangram_opt.composition.exact import Best, BoxSearch
from tangram_opt.composition.infeasible import why_infeasible
from tangram_opt.composition.objective import OBJECTIVES
from tangram_opt.composition.order_free import order_is_free
from tangram_opt.composition.recurrence import RecurrenceSearch
from tangram_opt.composition.search import island_code
from tangram_opt.composition.table import option_table
from tangram_opt.data.composition import Composition, CompositionProblem
from tangram_opt.result import Result, StopReason


class DynamicProgram(CompositionBackend):
    """Exact, with a bound that holds whenever it is stopped."""

    name = "dp"
    summary = "exact: box search over slowest stage or period, and sync; enumeration for simulated; proves its answers"
    exact = True
    formulation = "box-search"
    objectives = OBJECTIVES

    def unsupported(self, problem: Problem) -> str | None:
        """Say why it cannot take a problem."""
        reason = super().unsupported(problem)
        if reason is not None or not isinstance(problem, CompositionProblem):
            return reason
        many = island_code([min(island.count, problem.length) for island in problem.islands]) is None
        if many and (problem.objective == "simulated" or not order_is_free(option_table(problem))):
            return "there are 2^62 or more ways to use the islands, and their order matters"
        return None

    def formulations(self, problem: Problem) -> tuple[str, ...]:
        """Name the one that is exact for the objective."""
        simulated = isinstance(problem, CompositionProblem) and problem.objective == "simulated"
        return ("enumeration" if simulated else self.formulation,)

    def solve(self, problem: CompositionProblem, options: SolveOptions) -> Result[Composition]:
        """Solve a composition problem.

        Parameters
        ----------
        problem : CompositionProblem
            The problem.
        options : SolveOptions
            The time limit, a composition as hint, and the progress callback count; threads and seed do not.

        Returns
        -------
        Result
            Optimal, infeasible with the reason in the log, or what it has when time is up or on Ctrl-C.

        Raises
        ------
        InputError
            Times do not fit 64-bit integers, or an option is for solvers with a library.
        """
        (formulation,) = self.formulations(problem)
        refuse_what_needs_a_library(self.name, formulation, options)
        start = monotonic()
        interrupted = False
        log: tuple[str, ...] = ()

        def out_of_time() -> bool:
            return options.time_limit_s is not None and monotonic() - start > options.time_limit_s

        def first_quarter_is_over() -> bool:
            return options.time_limit_s is not None and monotonic() - start > options.time_limit_s / 4

        def report() -> None:
            if options.on_progress is not None:
                objective = search.best.objective_ns if search.best.options else None
                options.on_progress(Progress(objective, search.bound_ns, monotonic() - start))

        known = _known(problem, options.hint)
        search: BoxSearch | RecurrenceSearch
        if problem.objective == "simulated":
            search = RecurrenceSearch(problem, known, out_of_time, first_quarter_is_over, report)
        else:
            search = BoxSearch(option_table(problem), known, out_of_time, report)
        try:
            search.run()
            if not search.open and not search.best.options:
                log = (why_infeasible(problem, out_of_time),)
        except KeyboardInterrupt:
            interrupted = True
        found = search.best.options
        proved = not search.open or search.bound_ns == search.best.objective_ns
        unproved = StopReason.INTERRUPTED if interrupted else StopReason.TIME_LIMIT
        return answer(
            problem,
            placed(problem, found) if found else None,
            bound=None if proved and not found else search.bound_ns,
            claimed=search.best.objective_ns if found else None,
            stop_reason=StopReason.PROVED if proved else unproved,
            wall_s=monotonic() - start,
            solver=self.name,
            solver_version=self.version(),
            formulation=formulation,
            log=log,
        )


def _known(problem: CompositionProblem, hint: object) -> Best:
    """Start from a hint where it is an allowed composition."""
    if not isinstance(hint, Composition) or check(problem, hint):
        return Best()
    return Best(tuple(pick.option for pick in hint.picks), evaluate(problem, hint).objective_ns)
