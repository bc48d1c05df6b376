"""Options that several commands share."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from tangram_opt.backend import Problem
from tangram_opt.data import composition
from tangram_opt.data.composition import CompositionProblem
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.errors import InputError

ProblemT = TypeVar("ProblemT", bound=Problem | PlanningProblem)


def _check_seconds(seconds: float | None) -> float | None:
    if seconds is not None and not (seconds > 0 and math.isfinite(seconds)):
        raise typer.BadParameter(f"{seconds} is not a number of seconds above 0.")
    return seconds


def _check_parameters(given: list[str] | None) -> list[str] | None:
    for each in given or ():
        if "=" not in each or each.startswith("="):
            raise typer.BadParameter(f"{each!r} is not NAME=VALUE.")
    return given


def parameter_values(given: list[str] | None) -> dict[str, Any]:
    """Make a mapping of parameters given as NAME=VALUE; values are numbers, true, false, or else text."""
    return {name: _scalar(value) for name, _, value in (each.partition("=") for each in given or ())}


def _scalar(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float | str) else text


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="S",
        callback=_check_seconds,
        help="Stop each solver after S seconds with the best found so far.",
    ),
]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Save the result in FILE.")]
Solver = Annotated[str, typer.Option("--solver", metavar="NAME", help="One of those that `tangram-opt solvers` lists.")]
Objective = Annotated[
    composition.Objective | None,
    typer.Option(
        "--objective",
        help="The iteration time to minimise: by the closed form, by the period of the steady state, or simulated. "
        "Unless given or stated, plans on up to six islands take simulated, others period.",
        show_default=False,
    ),
]
Depths = Annotated[
    composition.Depths | None,
    typer.Option(
        "--depths",
        help="Micro-batches in flight: those of 1F1B, or as many more as memory allows and pay.",
        show_default=False,
    ),
]
Formulation = Annotated[
    str,
    typer.Option(
        "--formulation",
        metavar="NAME",
        help="One of the solver's; auto takes the strongest that is exact for the problem.",
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        metavar="NAME=VALUE",
        callback=_check_parameters,
        help="A parameter of the library behind the solver, by its own name; may be repeated.",
        show_default=False,
    ),
]
Threads = Annotated[int, typer.Option("--threads", metavar="N", min=1, help="Threads of the solver.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Random seed of the solver.")]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        help="Processes that plan slices; one per core unless given.",
        show_default=False,
    ),
]


def with_objective(
    problem: ProblemT, objective: composition.Objective | None, depths: composition.Depths | None
) -> ProblemT:
    """Let a problem minimise another iteration time, or have other depths, than it states; None leaves them.

    Raises
    ------
    InputError
        It is an islands problem, or depths are to be chosen for an objective that does not depend on them.
    """
    given: dict[str, Any] = {"objective": objective, "depths": depths}
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        return problem
    if not isinstance(problem, CompositionProblem | PlanningProblem):
        raise InputError(f"{problem.name}: an islands problem, --{next(iter(changes))} is for iteration times")
    try:
        return replace(problem, **changes)
    except ValueError as error:
        raise InputError(f"{problem.name}: {error}") from error
