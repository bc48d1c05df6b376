"""What a solver has, in one line for people."""

from __future__ import annotations

from typing import Any

from tangram_opt.backend import Problem
from tangram_opt.data.composition import CompositionProblem
from tangram_opt.data.island import IslandsProblem
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.result import Result, relative_gap
from tangram_opt.show.units import duration, percent


def kind_of(problem: Problem | PlanningProblem) -> str:
    """Name the kind of a problem: islands, composition or planning."""
    if isinstance(problem, IslandsProblem):
        return "islands"
    return "composition" if isinstance(problem, CompositionProblem) else "planning"


def standing(kind: str, objective: int | None, bound: int | None) -> str:
    """Write the best solution, the bound and the gap, as far as they are known.

    Parameters
    ----------
    kind : str
        Kind of the problem: the objective is a count for islands, nanoseconds for the others.
    objective, bound : int or None
        Of the search so far.

    Returns
    -------
    str
        Empty where nothing is known.
    """
    parts = []
    if objective is not None:
        parts.append(_value(kind, objective))
    if bound is not None:
        parts.append(f"bound {_value(kind, bound)}")
    if objective is not None and bound is not None:
        parts.append(f"gap {percent(relative_gap(objective, bound))}")
    return ", ".join(parts)


def summarise(kind: str, result: Result[Any]) -> str:
    """Say in one line what a solver found, who it is and why it stopped."""
    found = standing(kind, result.objective, result.bound)
    return (
        f"{result.outcome}{': ' if found else ''}{found}{_open_level(result)}"
        f" ({result.solver} {result.solver_version}, {result.stop_reason}, {result.wall_s:.2f} s)"
    )


def _open_level(result: Result[Any]) -> str:
    """Name the first further objective that is not proven, where the first one is."""
    if result.bound != result.objective or result.objective is None:
        return ""
    for level in result.levels:
        if level.bound != level.value:
            bound = "no bound" if level.bound is None else f"bound {level.bound}"
            return f"; not proven: {level.name} {level.value}, {bound}"
    return ""


def _value(kind: str, value: int) -> str:
    return f"{value} island{'' if value == 1 else 's'}" if kind == "islands" else duration(value)
