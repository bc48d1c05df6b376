"""``tangram-opt solve``: any instance by any solver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tangram_opt import documents
from tangram_opt.cli.answer import give_answer
from tangram_opt.cli.options import (
    AsJson,
    Depths,
    Formulation,
    Objective,
    Output,
    Parameters,
    Seed,
    Solver,
    Threads,
    TimeLimit,
    Workers,
    parameter_values,
    with_objective,
)
from tangram_opt.cli.output import check_writable
from tangram_opt.cli.planning import make_plan
from tangram_opt.cli.solving import solve_with_progress
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.errors import InputError
from tangram_opt.result import Result


def solve(
    instance: Annotated[
        Path,
        typer.Argument(metavar="INSTANCE", help="An islands, composition or planning problem.", show_default=False),
    ],
    solver: Solver = "auto",
    objective: Objective = None,
    depths: Depths = None,
    formulation: Formulation = "auto",
    parameters: Parameters = None,
    time_limit: TimeLimit = None,
    threads: Threads = 1,
    workers: Workers = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Solve an instance; the file says which kind it is."""
    check_writable(output, read=[instance])
    problem = documents.load_instance(instance)
    problem = with_objective(problem, objective, depths)
    result: Result[Any]
    if isinstance(problem, PlanningProblem):
        if formulation != "auto" or parameters:
            raise InputError(
                f"{instance}: --formulation and --parameter are for islands and composition problems, "
                "a planning problem leads to many of them"
            )
        result = make_plan(problem, workers=workers, time_limit_s=time_limit, solver=solver, threads=threads, seed=seed)
    else:
        result = solve_with_progress(
            problem,
            solver,
            formulation=formulation,
            parameters=parameter_values(parameters),
            time_limit=time_limit,
            threads=threads,
            seed=seed,
        )
    give_answer(problem, result, as_json=as_json, output=output)
