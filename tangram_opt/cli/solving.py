"""Running a solver with progress on standard error."""

from __future__ import annotations

from typing import Any

from tangram_opt import solvers
from tangram_opt.backend import Problem, Progress
from tangram_opt.cli.progress import reporting
from tangram_opt.cli.text import kind_of, standing
from tangram_opt.result import Result


def solve_with_progress(problem: Problem, solver: str, **options: Any) -> Result[Any]:
    """Solve a problem, see :func:`tangram_opt.solvers.solve`, and tell how it stands."""
    kind = kind_of(problem)
    with reporting(problem.name) as report:

        def on_progress(progress: Progress) -> None:
            report(standing(kind, progress.objective, progress.bound) or "nothing found yet")

        return solvers.solve(problem, solver, on_progress=on_progress, **options)
