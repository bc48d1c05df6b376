"""The levels of the objective of islands, which the Pyomo formulations write in the same way."""

from __future__ import annotations

from typing import Any

from formulations.islands_levels import Target


def add_target(m: Any, target: Target, islands: Any, lost: Any, unit_flops_per_s: int) -> None:
    """Add the objective of a level, and the limits of those before.

    Parameters
    ----------
    m : pyomo.environ.ConcreteModel
        The model.
    target : Target
        Which level, and the limits.
    islands, lost : expression
        Number of islands, and compute lost in units of `unit_flops_per_s`.
    unit_flops_per_s : int
        Unit of compute.
    """
    import pyomo.environ as pyo

    # Objective
    if target.most_islands is None:
        m.fewest = pyo.Objective(expr=islands)
    elif target.most_lost_flops_per_s is None:
        m.least_lost = pyo.Objective(expr=lost)
    else:
        m.nothing = pyo.Objective(expr=0)

    # Constraints
    if target.most_islands is not None:
        m.islands = pyo.Constraint(expr=islands <= target.most_islands)
    if target.most_lost_flops_per_s is not None:
        m.lost = pyo.Constraint(expr=(None, lost, target.most_lost_flops_per_s / unit_flops_per_s))
