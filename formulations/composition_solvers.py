"""What the solvers of composition problems have in common: from a problem to an answer that was checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from formulations import composition_arc_flow_milp as arc_flow
from formulations import composition_circuit as circuit
from formulations import composition_deadline as deadline
from formulations.composition_choice import choose, exact_formulations
from formulations.composition_data import CompositionData, composition_data
from formulations.composition_sweep import CompositionSearch, Model, Sweep
from formulations.library import LinearLibrary
from formulations.search import Found, Search
from tangram_opt.backend import SolveOptions
from tangram_opt.composition.answer import answer
from tangram_opt.composition.base import NO_RECURRENCE
from tangram_opt.composition.evaluation import check, evaluate
from tangram_opt.composition.infeasible import why_infeasible
from tangram_opt.data.composition import Composition, CompositionProblem
from tangram_opt.result import Result, StopReason

_BUILD: Final[dict[str, Callable[[CompositionData], Model]]] = {
    "deadline": deadline.deadline,
    "circuit": circuit.circuit,
    "arc-flow": arc_flow.arc_flow,
}


class CompositionSolver(LinearLibrary):
    """Solves composition problems in formulations.

    Subclasses say which library they use and how it solves a model.
    """

    formulation_names: tuple[str, ...] = ("deadline", "sweep", "circuit", "arc-flow")

    def unsupported(self, problem: CompositionProblem) -> str | None:
        """Say why it cannot take a problem."""
        if problem.objective == "simulated":
            return NO_RECURRENCE
        if problem.objective == "period" and "sweep" not in self.formulation_names:
            return "it does not minimise the period form, which takes a sequence of models"
        return None

    def formulations(self, problem: CompositionProblem) -> tuple[str, ...]:
        """Name the formulations that are exact for a problem, strongest first."""
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
        search: CompositionSearch = Search(problem, options, lambda composition: _worth(problem, composition))
        data = replace(composition_data(problem), constrained=options.on_model is not None)
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
        return answer(
            problem,
            search.best,
            bound=None if infeasible else search.bound,
            claimed=search.objective,
            stop_reason=StopReason.PROVED if infeasible else search.why_unproved,
            wall_s=search.elapsed_s,
            solver=self.name,
            solver_version=self.version(),
            formulation=formulation.name,
            log=tuple(log),
        )

    def _search(self, name: str, data: CompositionData, search: CompositionSearch, hint: Composition | None) -> bool:
        """Search for the best composition; return whether there is proven to be none."""
        if name == "sweep":
            swept = Sweep(data, search, lambda model: self._solve_model(model, search, None, lambda _: None))
            swept.run()
            return not swept.open and search.best is None
        model = _BUILD[name](data)
        found = self._solve_model(model, search, hint, search.hear)
        search.prove(found.bound)
        return found.infeasible

    def _solve_model(
        self, model: Model, search: CompositionSearch, hint: Composition | None, on_bound: Callable[[int], object]
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


def _worth(problem: CompositionProblem, composition: Composition) -> tuple[int]:
    """Iteration time of an allowed composition, by solver-free evaluation."""
    violations = check(problem, composition)
    if violations:
        raise RuntimeError(f"a solution of {problem.name!r} is not allowed: {violations[0]}")
    return (evaluate(problem, composition).objective_ns,)
