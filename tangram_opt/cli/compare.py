"""``tangram-opt compare``: all solvers on the same problems, and whether they agree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from tangram_opt import documents
from tangram_opt.backend import Problem
from tangram_opt.cli.description import describe_levels
from tangram_opt.cli.options import AsJson, Depths, Objective, Seed, TimeLimit, with_objective
from tangram_opt.cli.output import print_json, say_written, stdout_console
from tangram_opt.cli.progress import reporting
from tangram_opt.crosscheck import (
    Report,
    Row,
    crosscheck,
    random_islands_problems,
    random_problems,
    save_disagreements,
)
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.errors import InputError, NoPlanError
from tangram_opt.show.tables import Column, print_line, print_table

DEFAULT_TIME_LIMIT_S = 60.0
RANDOM: Final[dict[str, Callable[[int, int], Iterator[Any]]]] = {
    "composition": random_problems,
    "islands": random_islands_problems,
}


def compare(
    instances: Annotated[
        list[Path] | None,
        typer.Argument(metavar="INSTANCE...", help="Islands or composition problems.", show_default=False),
    ] = None,
    solvers: Annotated[
        str | None,
        typer.Option("--solvers", metavar="A,B,...", help="Solvers to compare; all unless given.", show_default=False),
    ] = None,
    random: Annotated[
        int | None,
        typer.Option(
            "--random", metavar="N", min=1, help="Compare on N small random problems of a kind.", show_default=False
        ),
    ] = None,
    kind: Annotated[
        Literal["composition", "islands"], typer.Option("--kind", help="Kind of the random problems.")
    ] = "composition",
    objective: Objective = None,
    depths: Depths = None,
    seed: Seed = 0,
    time_limit: TimeLimit = DEFAULT_TIME_LIMIT_S,
    workers: Annotated[int, typer.Option("--workers", metavar="N", min=1, help="Solvers that run at a time.")] = 1,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save-disagreements",
            metavar="DIR",
            file_okay=False,
            help="Save the smallest problems found on which solvers disagree.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare solvers: run each in every formulation, check each answer, and see whether they fit together."""
    names = None if solvers is None else list(dict.fromkeys(solvers.split(",")))
    limit = DEFAULT_TIME_LIMIT_S if time_limit is None else time_limit
    given = [with_objective(_load(path), objective, depths) for path in instances or ()]
    if not given and random is None:
        raise InputError("compare: nothing to compare, expected INSTANCE files or --random N")
    reports = []
    if given:
        reports.append(_crosscheck(given, names, limit, workers, seed, fresh=True))
    if random is not None:
        problems = [with_objective(problem, objective, depths) for problem in RANDOM[kind](random, seed)]
        reports.append(_crosscheck(problems, names, limit, workers, seed, fresh=False))
    report = Report(
        tuple(row for each in reports for row in each.rows),
        tuple(disagreement for each in reports for disagreement in each.disagreements),
    )
    saved = [] if save is None or report.agree else save_disagreements(report.disagreements, save)
    if as_json:
        print_json(_describe(report))
    else:
        if given:
            _print_rows(reports[0].rows)
        if random is not None:
            _print_totals(reports[-1].rows)
        for disagreement in report.disagreements:
            print_line(stdout_console(), disagreement.text)
    for path in saved:
        say_written(path)
    if not report.agree:
        first, *others = report.disagreements
        raise NoPlanError(f"the solvers disagree: {first.text}{f' (and {len(others)} more)' if others else ''}")
    if not as_json:
        print_line(stdout_console(), f"{len(report.rows)} answers, no disagreement")


def _load(path: Path) -> Problem:
    problem = documents.load_instance(path)
    if isinstance(problem, PlanningProblem):
        raise InputError(f"{path}: a planning problem, expected an islands problem or a composition problem")
    return problem


def _crosscheck(
    problems: Sequence[Problem], solvers: list[str] | None, limit: float, workers: int, seed: int, *, fresh: bool
) -> Report:
    with reporting("compare") as report:

        def on_answer(done: int, total: int) -> None:
            report("answers", done, total)

        return crosscheck(
            problems, solvers, time_limit_s=limit, workers=workers, seed=seed, fresh=fresh, on_answer=on_answer
        )


def _describe(report: Report) -> dict[str, object]:
    return {
        "agree": report.agree,
        "rows": [asdict(row) | {"levels": describe_levels(row.levels)} for row in report.rows],
        "disagreements": [
            {
                "instance": each.problem.name,
                "fault": each.fault,
                "solvers": list(each.solvers),
                "text": each.text,
            }
            for each in report.disagreements
        ],
    }


def _print_rows(rows: Sequence[Row]) -> None:
    columns = [Column(title) for title in ("instance", "solver", "formulation", "outcome", "stopped")]
    numbers = [Column(title, number=True) for title in ("objective", "bound", "time s")]
    print_table(
        stdout_console(),
        [*columns, *numbers],
        [
            (
                *(row.instance, row.solver, row.formulation, row.outcome, row.error or row.stop_reason),
                *(_number(row.objective), _number(row.bound), f"{row.wall_s:.2f}"),
            )
            for row in rows
        ],
    )


def _print_totals(rows: Sequence[Row]) -> None:
    """Print how often each solver came to which outcome."""
    outcomes: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    times: defaultdict[tuple[str, str], float] = defaultdict(float)
    for row in rows:
        outcomes[row.solver, row.formulation][row.outcome] += 1
        times[row.solver, row.formulation] += row.wall_s
    titles = ("optimal", "feasible", "infeasible", "unknown", "error")
    print_table(
        stdout_console(),
        [Column("solver"), Column("formulation"), *(Column(title, number=True) for title in (*titles, "total s"))],
        [
            (*who, *(str(counts[title]) for title in titles), f"{times[who]:.2f}")
            for who, counts in sorted(outcomes.items())
        ],
    )


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
