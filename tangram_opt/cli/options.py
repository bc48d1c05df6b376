"""Options that several commands share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer


def _check_seconds(seconds: float | None) -> float | None:
    if seconds is not None and not (seconds > 0 and math.isfinite(seconds)):
        raise typer.BadParameter(f"{seconds} is not a number of seconds above 0.")
    return seconds


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
