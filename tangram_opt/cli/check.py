"""``tangram-opt check``: whether a solution is allowed, found out without any solver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tangram_opt import composition, documents, islands, planner
from tangram_opt.cli.output import stdout_console
from tangram_opt.data.composition import CompositionProblem
from tangram_opt.data.island import IslandsProblem
from tangram_opt.errors import NoPlanError


def check(
    instance: Annotated[
        Path,
        typer.Argument(metavar="INSTANCE", help="An islands, composition or planning problem.", show_default=False),
    ],
    solution: Annotated[
        Path, typer.Argument(metavar="SOLUTION", help="A partition, composition or plan for it.", show_default=False)
    ],
) -> None:
    """Check a solution against its instance, and name every condition that it violates."""
    problem = documents.load_instance(instance)
    if isinstance(problem, IslandsProblem):
        violations = islands.check(problem, documents.load_partition(solution))
    elif isinstance(problem, CompositionProblem):
        violations = composition.check(problem, documents.load_composition(solution))
    else:
        violations = planner.check(problem, documents.load_plan(solution))
    console = stdout_console()
    for violation in violations:
        console.print(violation, soft_wrap=True)
    if violations:
        count = "one condition" if len(violations) == 1 else f"{len(violations)} conditions"
        raise NoPlanError(f"{solution}: violates {count} of {problem.name!r}")
    console.print(f"{solution}: allowed for {problem.name!r}", soft_wrap=True)
