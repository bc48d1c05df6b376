"""Solve linear models in integers with HiGHS, through highspy.

HiGHS computes in floating point with absolute tolerances (1e-6 for pruning, 1e-7 for reduced costs). Costs are given
to it in a unit of 2^k ns, so that they stay exact and the largest is about 10^6: tolerances are then far below 1 ns
for iteration times up to hours. A floating-point bound proves the next integer above it only after a tolerance of
2e-6 units and some rounding errors was taken off. Where that costs a nanosecond the answer is not called optimal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, inf
from typing import Any, Final

import numpy as np

from formulations.linear import LinearModel, Row, Variable
from formulations.search import Found, Search
from tangram_opt.errors import InputError

LARGEST_COST_BITS: Final = 20
"""The largest cost has about as many bits in its unit."""
TOLERANCE: Final = 2e-6
"""What a bound may be off by the solver's absolute tolerances, in units of the cost."""
ROUNDING: Final = 2.0**-48
"""Share of a bound that it may be off by rounding errors."""
UNSOUND: Final = ("objective_bound",)
"""Parameters after which a status of HiGHS proves nothing."""
STRONG: Final[Mapping[str, Any]] = {
    "presolve": "off",
    "mip_heuristic_run_feasibility_jump": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_root_reduced_cost": False,
}
"""Settings for small models with a strong relaxation: what is left out takes longer than it saves there."""


def unit_ns(linear: LinearModel) -> int:
    """Unit of the costs: the power of two that makes the largest of them about a million."""
    largest = max((abs(v.cost) for v in linear.variables), default=0) // linear.step
    return 1 << max(largest.bit_length() - LARGEST_COST_BITS, 0)


def proven_bound(linear: LinearModel, dual_bound: float) -> int | None:
    """Lower bound of the objective in integers that a bound in floating point proves.

    Parameters
    ----------
    linear : LinearModel
        The model.
    dual_bound : float
        Lower bound of the cost in steps per unit, without the constant.

    Returns
    -------
    int or None
        None where it proves nothing.
    """
    if not abs(dual_bound) < 1e18:
        return None
    steps = (dual_bound - TOLERANCE - ROUNDING * abs(dual_bound)) * unit_ns(linear)
    return linear.constant + linear.step * ceil(steps)


def _column_unit(variable: Variable) -> int:
    """Variables that need not be integers are counted in units of at most 2^-10 of their range."""
    return 1 << max(max(abs(variable.upper), abs(variable.lower)).bit_length() - 10, 0) if not variable.integral else 1


def _row_unit(row: Row, columns: Sequence[int]) -> int:
    """Rows are divided so that their largest coefficient is about a thousand."""
    largest = max((abs(c) * columns[i] for i, c in row.terms.items()), default=0)
    return 1 << max(largest.bit_length() - 10, 0)


def highs_model(linear: LinearModel) -> Any:
    """Write a linear model for HiGHS.

    Parameters
    ----------
    linear : LinearModel
        The model.

    Returns
    -------
    Highs
        A new object with the model; its objective is ``(objective - constant) / step`` in units of :func:`unit_ns`.
    """
    columns = [_column_unit(v) for v in linear.variables]
    rows = [_row_unit(r, columns) for r in linear.rows]
    return _in_units(linear, linear.step * unit_ns(linear), columns, rows)


def plain_highs_model(linear: LinearModel) -> Any:
    """Write a linear model for HiGHS as it stands: costs in ns, the constant included."""
    highs = _in_units(linear, 1, [1] * len(linear.variables), [1] * len(linear.rows))
    highs.changeObjectiveOffset(float(linear.constant))
    return highs


def silent_highs() -> Any:
    """Make a Highs object: HiGHS 1.16 prints a banner when one is made, unless that is switched off even earlier."""
    import highspy

    class SilentHighs(highspy.Highs):
        def enableCallbacks(self) -> None:  # noqa: N802 (the library's name)
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()  # type: ignore[no-untyped-call]

    return SilentHighs()  # type: ignore[no-untyped-call]


def set_parameters(highs: Any, parameters: Mapping[str, Any]) -> None:
    """Set options of HiGHS; one that it does not have, or a value of the wrong type, is an InputError."""
    import highspy

    for name, value in parameters.items():
        if name in UNSOUND:
            raise InputError(f"parameter {name} = {value!r}: with it HiGHS calls solvable problems infeasible")
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise InputError(f"parameter {name} = {value!r}: HiGHS has no such option or does not take the value")


def _in_units(linear: LinearModel, cost_unit: int, columns: Sequence[int], rows: Sequence[int]) -> Any:
    """Write a linear model without its constant, with units for costs, variables and rows."""
    import highspy

    costs = [v.cost * c / cost_unit for v, c in zip(linear.variables, columns, strict=True)]
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(linear.variables), len(linear.rows)
    lp.col_cost_ = np.array(costs, dtype=np.float64)
    lp.col_lower_ = np.array([v.lower / c for v, c in zip(linear.variables, columns, strict=True)], dtype=np.float64)
    lp.col_upper_ = np.array([v.upper / c for v, c in zip(linear.variables, columns, strict=True)], dtype=np.float64)
    kinds = highspy.HighsVarType
    lp.integrality_ = [kinds.kInteger if v.integral else kinds.kContinuous for v in linear.variables]
    lower = [-inf if r.lower is None else r.lower / unit for r, unit in zip(linear.rows, rows, strict=True)]
    upper = [inf if r.upper is None else r.upper / unit for r, unit in zip(linear.rows, rows, strict=True)]
    values = [c * columns[i] / unit for r, unit in zip(linear.rows, rows, strict=True) for i, c in r.terms.items()]
    lp.row_lower_ = np.array(lower, dtype=np.float64)
    lp.row_upper_ = np.array(upper, dtype=np.float64)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.cumsum([0, *(len(r.terms) for r in linear.rows)], dtype=np.int32)
    lp.a_matrix_.index_ = np.array([i for r in linear.rows for i in r.terms], dtype=np.int32)
    lp.a_matrix_.value_ = np.array(values, dtype=np.float64)
    lp.col_names_ = [v.name for v in linear.variables]
    lp.row_names_ = [r.name for r in linear.rows]
    highs = silent_highs()
    if highs.passModel(lp) == highspy.HighsStatus.kError:
        raise RuntimeError("HiGHS refuses the model")
    return highs


def solve_highs(
    linear: LinearModel,
    search: Search[Any, Any],
    start: Sequence[int] | None,
    on_values: Callable[[Sequence[int]], object],
    on_bound: Callable[[int], object],
    before: Callable[[Any, list[Any]], object],
    settings: Mapping[str, Any],
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
    settings : mapping of str to value
        Options of HiGHS; the user's own parameters go before them.

    Returns
    -------
    Found
        The best solution and bound.

    Raises
    ------
    InputError
        HiGHS does not take a parameter.
    RuntimeError
        HiGHS fails.
    """
    import highspy

    statuses = highspy.HighsModelStatus
    # HiGHS 1.16 presolves some infeasible models to a solution that it then finds wrong: "solve error". And some starts
    # become better solutions while it presolves: it then calls optimal what it does not have.
    attempts = [(settings, start), (settings, None), ({**settings, "presolve": "off"}, None)]
    # Without a start the second one would be the first once more.
    for attempt, begin in attempts if start is not None else attempts[1:]:
        highs = _run(linear, search, begin, on_values, on_bound, before, attempt)
        if highs is None:
            return Found(None, None)
        status, info = highs.getModelStatus(), highs.getInfo()
        if status != statuses.kSolveError and not (status == statuses.kOptimal and _overstated(linear, highs)):
            break
    if status == statuses.kInfeasible:
        return Found(None, None, infeasible=True)
    if status == statuses.kNotset and search.stopped():
        return Found(None, None)
    if status in (statuses.kSolveError, statuses.kNotset):
        raise RuntimeError(f"HiGHS fails: {highs.modelStatusToString(status)}")
    bound = proven_bound(linear, info.mip_dual_bound)
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return Found(None, bound)
    values = linear.settled(highs.getSolution().col_value)
    # With very large numbers its tolerances let pass what no integers allow: then there is a bound, and no solution.
    return Found(None if linear.violated(values) else values, bound)


def _overstated(linear: LinearModel, highs: Any) -> bool:
    """Whether a solution is worse than HiGHS says."""
    claimed = highs.getInfo().objective_function_value * unit_ns(linear)
    steps = (linear.objective(linear.settled(highs.getSolution().col_value)) - linear.constant) / linear.step
    return bool(steps - claimed > max(0.5, 1e-9 * abs(claimed)))


def _run(
    linear: LinearModel,
    search: Search[Any, Any],
    start: Sequence[int] | None,
    on_values: Callable[[Sequence[int]], object],
    on_bound: Callable[[int], object],
    before: Callable[[Any, list[Any]], object],
    settings: Mapping[str, Any],
) -> Any:
    """Run a new Highs object; return it, or None where it had to be left behind."""
    import highspy

    # The scheduler keeps the number of threads of the first solve in a process unless it is reset.
    highspy.Highs.resetGlobalScheduler(True)
    highs = highs_model(linear)
    _set_options(highs, search, settings)
    before(highs, highs.getVariables())
    if start is not None:
        solution = highspy.HighsSolution()
        pairs = zip(linear.variables, start, strict=True)
        solution.col_value = [value / _column_unit(variable) for variable, value in pairs]
        highs.setSolution(solution)
    stop = False

    def ask_to_stop() -> None:
        nonlocal stop
        stop = True

    def interrupt(event: Any) -> None:
        event.data_in.user_interrupt = stop

    def improved(event: Any) -> None:
        values = linear.settled(event.data_out.mip_solution)
        if not linear.violated(values):
            search.listen(lambda: on_values(values), ask_to_stop)

    def logged(event: Any) -> None:
        bound = proven_bound(linear, event.data_out.mip_dual_bound)
        if bound is not None:
            search.listen(lambda: on_bound(bound), ask_to_stop)

    highs.cbMipInterrupt.subscribe(interrupt)
    highs.cbSimplexInterrupt.subscribe(interrupt)
    highs.cbMipImprovingSolution.subscribe(improved)
    highs.cbMipLogging.subscribe(logged)
    return highs if search.run(highs.run, ask_to_stop) else None


def _set_options(highs: Any, search: Search[Any, Any], settings: Mapping[str, Any]) -> None:
    options = search.options
    values: dict[str, Any] = {
        **settings,
        "mip_rel_gap": 0.0,
        "mip_abs_gap": 0.0,
        "primal_feasibility_tolerance": 1e-9,
        "mip_feasibility_tolerance": 1e-9,
        "threads": options.threads,
        "random_seed": options.seed,
        "mip_min_logging_interval": 0.5,
    }
    if search.left_s is not None:
        values["time_limit"] = search.left_s
    set_parameters(highs, values | dict(options.parameters))
