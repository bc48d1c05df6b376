"""What the solvers of composition problems have in common: from a problem to an answer that was checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Final

from formulations import composition_arc_flow_milp as arc_flow
from formulations import composition_circuit as circuit
from formulations import composition_deadline as deadline
from formulations import composition_sweep as sweep
from formulations.composition_choice import choose, exact_formulations
from formulations.composition_data import CompositionData, composition_data
from formulations.linear import OpenModel
from formulations.search import Found, Search
from tangram_opt.backend import Problem, SolveOptions
from tangram_opt.composition.answer import answer
from tangram_opt.composition.evaluation import check
from tangram_opt.composition.infeasible import why_infeasible
from tangram_opt.data.composition import Composition, CompositionProblem
from tangram_opt.result import Result, StopReason

Model = deadline.Deadline | circuit.Circuit | arc_flow.ArcFlowMilp

_BUILD: Final[dict[str, Callable[[CompositionData], Model]]] = {
    "deadline": deadline.deadline,
    "circuit": circuit.circuit,
    "arc-flow": arc_flow.arc_flow,
}


def open_model(search: Search, model: Model, library_model: object, variables: Sequence[object]) -> None:
    """Show a model to whoever asked for it, before it is solved: the library's own, and its variables by name."""
    if search.options.on_model is not None:
        names = (variable.name for variable in model.linear.variables)
        search.options.on_model(OpenModel(library_model, dict(zip(names, variables, strict=True)), model))


class CompositionSolver:
    """A backend for composition problems that offers formulations.

    Subclasses say which library they use and how it solves a model.
    """

    name: str
    library: str
    formulation_names: tuple[str, ...]
    exact = True

    def version(self) -> str:
        """Version of the library."""
        return version(self.library)

    def missing(self) -> str | None:
        """Name the library where it is not installed."""
        return None if find_spec(self.library) else self.library

    def unsupported(self, problem: Problem) -> str | None:
        """Say why it cannot take a problem."""
        if not isinstance(problem, CompositionProblem):
            return "it solves composition problems only"
        if problem.objective == "period" and "sweep" not in self.formulation_names:
            return "it does not minimise the period form, which takes a sequence of models"
        return None

    def formulations(self, problem: Problem) -> tuple[str, ...]:
        """Name the formulations that are exact for a problem, strongest first."""
        if not isinstance(problem, CompositionProblem):
            return ()
        return tuple(each.name for each in exact_formulations(composition_data(problem), self.formulation_names))

    def solve(self, problem: CompositionProblem, options: SolveOptions) -> Result[Composition]:
        """Solve a composition problem.

        Parameters
        ----------
        problem : CompositionProblem
            The problem.
        options : SolveOptions
            All of them count; `on_model` gets an :class:`.OpenModel`, in a sweep one for each model.

        Returns
        -------
        Result
            Optimal where bound and re-evaluated objective are equal; infeasible, with the reason in the log; or what
            is known when it stops before.

        Raises
        ------
        InputError
            The formulation is unknown or not exact for the problem, a parameter is wrong, or numbers are too large.
        """
        search = Search(problem, options)
        data = composition_data(problem)
        formulation = choose(data, self.formulation_names, options.formulation)
        log = [f"{formulation.name}: {formulation.suits}"]
        hint = options.hint if isinstance(options.hint, Composition) and not check(problem, options.hint) else None
        infeasible = False
        try:
            # With constraints of the user's own a hint may not be a solution.
            if hint is not None and options.on_model is None:
                search.offer(hint)
            infeasible = data.impossible or self._search(formulation.name, data, search, hint)
        except KeyboardInterrupt:
            search.interrupted = True
        if infeasible and search.best is not None:
            raise RuntimeError(f"{self.name} on {problem.name!r}: called infeasible, but there is a solution")
        if infeasible and options.on_model is None:
            log.append(why_infeasible(problem, search.stopped))
        interrupted = search.interrupted or options.time_limit_s is None
        unproved = StopReason.INTERRUPTED if interrupted else StopReason.TIME_LIMIT
        return answer(
            problem,
            search.best,
            bound=None if infeasible else search.bound_ns,
            claimed=search.objective_ns,
            stop_reason=StopReason.PROVED if infeasible else unproved,
            wall_s=search.elapsed_s,
            solver=self.name,
            solver_version=self.version(),
            formulation=formulation.name,
            log=tuple(log),
        )

    def solve_linear(
        self,
        model: Model,
        search: Search,
        start: Sequence[int] | None,
        on_values: Callable[[Sequence[int]], object],
        on_bound: Callable[[int], object],
    ) -> Found:
        """Solve a model with the library."""
        raise NotImplementedError

    def _search(self, name: str, data: CompositionData, search: Search, hint: Composition | None) -> bool:
        """Search for the best composition; return whether there is proven to be none."""
        if name == "sweep":
            swept = sweep.Sweep(data, search, lambda model: self._solve_model(model, search, None, lambda _: None))
            swept.run()
            return not swept.open and search.best is None
        model = _BUILD[name](data)
        found = self._solve_model(model, search, hint, search.hear)
        search.prove(found.bound)
        return found.infeasible

    def _solve_model(
        self, model: Model, search: Search, hint: Composition | None, on_bound: Callable[[int], object]
    ) -> Found:
        start = None if hint is None else model.encode(hint)
        found = self.solve_linear(model, search, start, lambda values: search.offer(model.decode(values)), on_bound)
        if found.values is not None:
            objective_ns, claimed_ns = search.offer(model.decode(found.values)), model.linear.objective(found.values)
            if model.slowest is not None and claimed_ns != objective_ns:
                raise RuntimeError(
                    f"{self.name} on {search.problem.name!r}: claims {claimed_ns} ns, "
                    f"re-evaluation gives {objective_ns} ns"
                )
        return found
