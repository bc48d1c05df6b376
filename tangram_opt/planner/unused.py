"""What islands cost that the best plan leaves out: its composition problem again, with one of them required."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from tangram_opt.data.composition import Composition
from tangram_opt.planner.search import Search
from tangram_opt.result import Result
from tangram_opt.solvers import solve

MOST_TOLD_APART: Final = 6
"""Islands of a class that are told apart, each a class of its own: their subsets are many."""

COST_LIMIT_S: Final = 10.0
"""For what an island costs by the simulated time: far from the optimum bounds are weak, and "at most" is an answer."""


def cost_of_using(found: Search, island: str, *, solver: str, time_limit_s: float | None) -> Result[Composition] | None:
    """Solve the best trial's problem again with one more island of a class that must be used.

    Parameters
    ----------
    found : Search
        A finished search.
    island : str
        Name of an island class of which the best composition leaves at least one out.
    solver, time_limit_s
        As for the search.

    Returns
    -------
    Result or None
        Of the problem in which at least one more island of the class serves a slice; None where so many are in use
        that telling them apart is too much.
    """
    problem = found.composition_problem
    composition = found.best.result.solution
    assert composition is not None
    used = sum(problem.options[pick.option].island == island for pick in composition.picks)
    if used > MOST_TOLD_APART:
        return None
    # Each island in use becomes a class of its own, and all of these and the rest of the class are required.
    own = tuple(f"{island} (in use {number})" for number in range(1, used + 1))
    classes = []
    for each in problem.islands:
        if each.name == island:
            classes += [replace(each, name=name, count=1) for name in own]
            each = replace(each, count=each.count - used)
        classes.append(each)
    copies = tuple(
        replace(option, island=name) for name in own for option in problem.options if option.island == island
    )
    forced = replace(
        problem, islands=tuple(classes), options=problem.options + copies, required=(*problem.required, *own, island)
    )
    if forced.objective == "simulated":
        time_limit_s = min(time_limit_s or math.inf, COST_LIMIT_S)
    return solve(forced, solver, time_limit=time_limit_s)
