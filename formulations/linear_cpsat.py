"""Solve linear models in integers with CP-SAT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, Final

from formulations.linear import LinearModel
from formulations.search import Found, Search
from tangram_opt.errors import InputError

LARGEST: Final = 1 << 53
"""Sums stay below it: CP-SAT reports objectives as floating-point numbers, exact up to here."""


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
    InputError
        Numbers are too large.
    """
    from ortools.sat.python import cp_model

    if linear.largest_magnitude() >= LARGEST * linear.step:
        raise InputError(f"numbers up to {linear.largest_magnitude()} occur, CP-SAT takes less than 2^53")
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


def solve_cpsat(
    linear: LinearModel,
    search: Search,
    start: Sequence[int] | None,
    on_values: Callable[[Sequence[int]], object],
    on_bound: Callable[[int], object],
    extend: Callable[[Any, list[Any]], object] = lambda _model, _variables: None,
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
    extend : callable
        Adds what is not linear to the model, given its variables.

    Returns
    -------
    Found
        The best solution and bound.
    """
    from ortools.sat.python import cp_model

    model, variables = cpsat_model(linear)
    extend(model, variables)
    if search.options.on_model is not None:
        search.options.on_model(model)
    if start is not None:
        for variable, value in zip(variables, start, strict=True):
            model.add_hint(variable, value)
    invalid = model.validate()
    if invalid:
        raise RuntimeError(f"CP-SAT refuses the model: {invalid}")

    class Listener(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        def on_solution_callback(self) -> None:
            values = [self.value(variable) for variable in variables]
            search.listen(lambda: on_values(values), self.stop_search)

    def bound_of(inner: float) -> int:
        # The inner objective is an integer below 2^53, so whatever is above an integer proves the next one.
        return linear.constant + linear.step * ceil(inner - 1e-6)

    solver = cp_model.CpSolver()
    _set_parameters(solver.parameters, search)
    solver.best_bound_callback = lambda inner: search.listen(lambda: on_bound(bound_of(inner)), solver.stop_search)
    listener = Listener()
    status = cp_model.UNKNOWN

    def run() -> None:
        nonlocal status
        status = solver.solve(model, listener)

    if not search.run(run, solver.stop_search) or status == cp_model.UNKNOWN:
        return Found(None, None)
    if status == cp_model.MODEL_INVALID:
        raise RuntimeError("CP-SAT refuses the model")
    if status == cp_model.INFEASIBLE:
        return Found(None, None, infeasible=True)
    return Found([solver.value(variable) for variable in variables], bound_of(solver.best_objective_bound))


def _set_parameters(parameters: Any, search: Search) -> None:
    options = search.options
    parameters.num_workers = options.threads
    parameters.random_seed = options.seed
    parameters.catch_sigint_signal = False  # Ctrl-C stops the search, see Search.run
    if search.left_s is not None:
        parameters.max_time_in_seconds = search.left_s
    for name, value in options.parameters.items():
        try:
            setattr(parameters, name, value)
        except (AttributeError, TypeError, ValueError) as error:
            raise InputError(f"parameter {name} = {value!r}: CP-SAT does not take it ({error})") from None
