"""Solve linear models in integers with CP-SAT."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any, Final

from formulations.linear import LinearModel, TooLargeError
from formulations.search import Found, Search
from tangram_opt.errors import InputError

LARGEST: Final = 1 << 62
"""Sums stay below it: CP-SAT computes with integers of 64 bits."""


def cpsat_model(linear: LinearModel) -> tuple[Any, list[Any]]:
    """Write a linear model for CP-SAT.

    Parameters
    ----------
    linear : LinearModel
        The model.

    Returns
    -------
    CpModel, list of IntVar
        The model and its variables; the objective is ``(objective - constant) / step``.

    Raises
    ------
    TooLargeError
        Numbers are too large.
    """
    from ortools.sat.python import cp_model

    largest = linear.largest_magnitude(linear.step)
    if largest >= LARGEST:
        raise TooLargeError(f"sums up to {largest} occur, expected less than 2^62 for CP-SAT")
    model = cp_model.CpModel()
    variables = [model.new_int_var(v.lower, v.upper, v.name) for v in linear.variables]
    for row in linear.rows:
        expression = cp_model.LinearExpr.weighted_sum([variables[i] for i in row.terms], list(row.terms.values()))
        domain = cp_model.Domain(
            cp_model.INT_MIN if row.lower is None else row.lower, cp_model.INT_MAX if row.upper is None else row.upper
        )
        model.add_linear_expression_in_domain(expression, domain).with_name(row.name)
    costs = [v.cost // linear.step for v in linear.variables]
    model.minimize(cp_model.LinearExpr.weighted_sum(variables, costs))
    return model, variables


def integer_bound(bound: float) -> int:
    """Lower bound of an integer objective: what is above an integer by more than rounding errors proves the next."""
    return ceil(bound - 1e-6 - abs(bound) * 2.0**-50)


def solve_cpsat(
    linear: LinearModel,
    search: Search[Any, Any],
    start: Sequence[int] | None,
    on_values: Callable[[Sequence[int]], object],
    on_bound: Callable[[int], object],
    before: Callable[[Any, list[Any]], object],
) -> Found:
    """Solve a linear model.

    Parameters
    ----------
    linear : LinearModel
        The model.
    search : Search
        Limits.
    start : sequence of int or None
        A solution to start from.
    on_values, on_bound : callable
        Told about better solutions and bounds while it runs.
    before : callable
        Gets the model and its variables before the solve, and may add constraints.

    Returns
    -------
    Found
        The best solution and bound.
    """
    from ortools.sat.python import cp_model

    model, variables = cpsat_model(linear)
    before(model, variables)
    if start is not None:
        for variable, value in zip(variables, start, strict=True):
            model.add_hint(variable, value)

    solver = cp_model.CpSolver()
    solver.parameters.cp_model_presolve = linear.presolve
    if linear.tight:
        _lean_on_relaxation(solver.parameters)
    status = run_cpsat(
        model,
        solver,
        search,
        lambda values: on_values([values.value(variable) for variable in variables]),
        lambda inner: on_bound(linear.constant + linear.step * integer_bound(inner)),
    )
    if status == cp_model.INFEASIBLE:
        return Found(None, None, infeasible=True)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Found(None, None)
    values = linear.settled([solver.value(variable) for variable in variables])
    # As an integer: the same bound in floating point is not exact beyond 2^53.
    return Found(values, linear.constant + linear.step * solver.response_proto.inner_objective_lower_bound)


def run_cpsat(
    model: Any,
    solver: Any,
    search: Search[Any, Any],
    on_solution: Callable[[Any], object],
    on_bound: Callable[[float], object],
) -> Any:
    """Run CP-SAT within the limits of a search.

    Parameters
    ----------
    model : CpModel
        The model.
    solver : CpSolver
        Keeps the solution.
    search : Search
        Limits.
    on_solution : callable
        Gets an object with the method `value` of variables for every better solution.
    on_bound : callable
        Gets every better bound of the model's objective.

    Returns
    -------
    CpSolverStatus
        UNKNOWN also where it had to be left behind.

    Raises
    ------
    InputError
        CP-SAT does not take the numbers, or a parameter.
    """
    from ortools.sat.python import cp_model

    refused = model.validate()
    if refused:
        raise InputError(f"problem {search.problem.name!r}: CP-SAT refuses the model: {refused.splitlines()[0]}")

    class Listener(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            search.listen(lambda: on_solution(self), self.stop_search)

    _set_parameters(solver.parameters, search)
    solver.best_bound_callback = lambda bound: search.listen(lambda: on_bound(bound), solver.stop_search)
    listener = Listener()
    status = cp_model.UNKNOWN

    def run() -> None:
        nonlocal status
        status = solver.solve(model, listener)

    if not search.run(run, solver.stop_search):
        return cp_model.UNKNOWN
    if status == cp_model.MODEL_INVALID:  # The model itself was looked at before.
        raise InputError(f"problem {search.problem.name!r}: CP-SAT refuses: {solver.response_proto.solution_info}")
    return status


def take_answer(status: Any, solver: Any, search: Search[Any, Any], read: Callable[[Any], Any]) -> bool:
    """Take note of what CP-SAT found, where the objective of its model is that of the search.

    Parameters
    ----------
    status : CpSolverStatus
        Of the solve.
    solver : CpSolver
        With the solution.
    search : Search
        Gets solution and bound.
    read : callable
        Reads the solution from an object with the method `value` of variables.

    Returns
    -------
    bool
        Whether there is proven to be no solution.

    Raises
    ------
    RuntimeError
        What it calls optimal is not worth what it says.
    """
    from ortools.sat.python import cp_model

    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        objective, claimed = search.offer(read(solver)), round(solver.objective_value)
        if status == cp_model.OPTIMAL and claimed != objective:
            raise RuntimeError(
                f"CP-SAT on {search.problem.name!r}: claims {claimed} ns, re-evaluation gives {objective} ns"
            )
        search.prove(integer_bound(solver.best_objective_bound))
    return bool(status == cp_model.INFEASIBLE)


def _lean_on_relaxation(parameters: Any) -> None:
    """Have all constraints in the linear relaxation from the start: of a lone worker, and of one of several."""
    worker = type(parameters)()
    worker.name = "relaxation"
    for each in (parameters, worker):
        each.linearization_level = 2
        each.add_lp_constraints_lazily = False
    parameters.subsolver_params.append(worker)
    parameters.extra_subsolvers.append(worker.name)


def _set_parameters(parameters: Any, search: Search[Any, Any]) -> None:
    options = search.options
    set_parameters(parameters, {"num_workers": options.threads, "random_seed": options.seed})
    parameters.cp_model_probing_level = 0  # it takes longer than what is left of these models is worth
    parameters.catch_sigint_signal = False  # Ctrl-C stops the search, see Search.run
    if search.left_s is not None:
        parameters.max_time_in_seconds = search.left_s
    set_parameters(parameters, options.parameters)


def set_parameters(parameters: Any, given: Mapping[str, Any]) -> None:
    """Set parameters of CP-SAT; one that it does not have, or does not take, is an InputError."""
    for name, value in given.items():
        try:
            setattr(parameters, name, value)
        except (AttributeError, TypeError, ValueError) as error:
            wrong = "has no such parameter" if isinstance(error, AttributeError) else "does not take the value"
            raise InputError(f"parameter {name} = {value!r}: CP-SAT {wrong}") from None
