"""The solver ``cpsat``: OR-tools CP-SAT as a backend.

CP-SAT's own status is not taken for a proof: an answer is optimal where its bound, rounded up to an integer, equals
the re-evaluated objective.
"""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec
from math import ceil
from time import monotonic
from typing import Any

from formulations import composition_arc_flow
from tangram_opt.backend import Problem, Progress, SolveOptions
from tangram_opt.composition.answer import answer
from tangram_opt.data.composition import Composition, CompositionProblem
from tangram_opt.errors import InputError
from tangram_opt.result import Result, StopReason


class CpSat:
    """Composition problems as a positioned arc flow."""

    name = "cpsat"
    summary = "CP-SAT on a positioned arc flow over layer boundaries, proves its answers"
    exact = True

    def version(self) -> str:
        """Version of OR-tools."""
        return version("ortools")

    def missing(self) -> str | None:
        """Name OR-tools where it is not installed."""
        return None if find_spec("ortools") else "ortools"

    def unsupported(self, problem: Problem) -> str | None:
        """Say why it cannot take a problem."""
        return None if isinstance(problem, CompositionProblem) else "it solves composition problems only"

    def formulations(self, problem: Problem) -> tuple[str, ...]:  # noqa: ARG002 (the same for all)
        """Name the one formulation."""
        return ("arc-flow",)

    def solve(self, problem: CompositionProblem, options: SolveOptions) -> Result[Composition]:
        """Solve a composition problem.

        Parameters
        ----------
        problem : CompositionProblem
            The problem.
        options : SolveOptions
            All of them count; parameters are those of CP-SAT, and `on_model` gets the :class:`.ArcFlow`.

        Returns
        -------
        Result
            Optimal, infeasible, or what it has when it is stopped.

        Raises
        ------
        InputError
            The times are too long for CP-SAT's 64-bit integers, or a parameter does not exist.
        """
        from ortools.sat.python import cp_model

        start = monotonic()
        flow = composition_arc_flow.build(problem)
        if isinstance(options.hint, Composition):
            composition_arc_flow.add_hint(problem, flow, options.hint)
        if options.on_model is not None:
            options.on_model(flow)
        refused = flow.model.validate()
        if refused:
            raise InputError(f"problem {problem.name!r}: its times are too long for CP-SAT: {refused.splitlines()[0]}")
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = options.threads
        solver.parameters.random_seed = options.seed
        if options.time_limit_s is not None:
            solver.parameters.max_time_in_seconds = max(0.0, options.time_limit_s - (monotonic() - start))
        for key, value in options.parameters.items():
            try:
                setattr(solver.parameters, key, value)
            except (AttributeError, TypeError, ValueError) as error:
                raise InputError(f"parameters.{key}: {value!r}, expected a parameter of CP-SAT: {error}") from error
        callback, raised = _watch(options, start)
        status = solver.solve(flow.model, callback)
        if raised:
            raise raised[0]
        has_solution = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        composition = composition_arc_flow.read(problem, flow, solver) if has_solution else None
        proved = status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
        in_time = options.time_limit_s is None or monotonic() - start < options.time_limit_s
        unproved = StopReason.INTERRUPTED if in_time else StopReason.TIME_LIMIT
        return answer(
            problem,
            composition,
            bound=ceil(solver.best_objective_bound) if has_solution else None,
            claimed=round(solver.objective_value) if has_solution else None,
            stop_reason=StopReason.PROVED if proved else unproved,
            wall_s=monotonic() - start,
            solver=self.name,
            solver_version=self.version(),
            formulation="arc-flow",
        )


def _watch(options: SolveOptions, start: float) -> tuple[Any, list[Exception]]:
    """Make a callback that reports each solution, and a list for what the report raises.

    CP-SAT calls it outside the main thread, where an exception would be lost: it stops the search and is raised again
    after it.
    """
    from ortools.sat.python.cp_model import CpSolverSolutionCallback

    raised: list[Exception] = []

    class Watch(CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            if options.on_progress is None:
                return
            bound = ceil(self.best_objective_bound)
            try:
                options.on_progress(Progress(round(self.objective_value), bound, monotonic() - start))
            except Exception as error:
                raised.append(error)
                self.stop_search()

    return Watch(), raised
