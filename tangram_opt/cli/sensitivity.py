"""``tangram-opt sensitivity``: what the islands, and plans on them, become as tolerances move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from tangram_opt import documents, solvers
from tangram_opt.cli.options import AsJson, Seed, Solver, Threads, TimeLimit, Workers
from tangram_opt.cli.output import check_writable, print_json, say_notes, say_written, stdout_console
from tangram_opt.cli.planning import make_plan
from tangram_opt.cli.progress import reporting
from tangram_opt.data.cluster import Cluster
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.data.plan import Plan
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.errors import InputError
from tangram_opt.islands import TOLERANCES, Interval, Tolerance, slowest_link
from tangram_opt.islands import sensitivity as islands_sensitivity
from tangram_opt.result import Result, StopReason
from tangram_opt.show import check_picture, draw_sensitivity, machine_notes, print_sensitivity

MOST = 1000
ALIKE = ("compute", "memory", "intra_bandwidth")
"""The tolerances that move unless others are asked for."""


def sensitivity(
    instance: Annotated[
        Path,
        typer.Argument(metavar="INSTANCE", help="A cluster, an islands or a planning problem.", show_default=False),
    ],
    which: Annotated[
        str,
        typer.Option("--which", metavar="A,B,...", help=f"Tolerances that move together, of {', '.join(TOLERANCES)}."),
    ] = ",".join(ALIKE),
    low: Annotated[str, typer.Option("--from", metavar="X", help="Smallest tolerance.")] = "0.02",
    high: Annotated[str, typer.Option("--to", metavar="X", help="Largest tolerance.")] = "0.5",
    solver: Solver = "auto",
    time_limit: TimeLimit = None,
    threads: Threads = 1,
    seed: Seed = 0,
    workers: Workers = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw the figures over the tolerance (.png or .svg)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the islands for every tolerance of a range, with the exact tolerances at which they change.

    Of a planning problem also the iteration time of the plan on each of these islands.
    """
    check_writable(picture, read=[instance])
    if picture is not None:
        check_picture(picture)
    moved = _moved(which)
    ends = _number("--from", low), _number("--to", high)
    if ends[0] > ends[1]:
        raise InputError(f"--from: {low}, expected at most the {high} of --to")
    loaded = documents.load_cluster_or_problem(instance)
    cluster = loaded if isinstance(loaded, Cluster) else loaded.cluster
    problem = (
        IslandsProblem(cluster.name, cluster)
        if isinstance(loaded, Cluster)
        else IslandsProblem(loaded.name, cluster, loaded.tolerances)
    )
    with reporting(problem.name) as report:

        def solve(at: IslandsProblem) -> Result[Partition]:
            report(f"tolerance {getattr(at.tolerances, moved[0]):g}")
            return solvers.solve(at, solver, time_limit=time_limit, threads=threads, seed=seed)

        intervals = islands_sensitivity(problem, moved, *ends, solve)
    plans = None
    if isinstance(loaded, PlanningProblem):
        plans = _plans(loaded, intervals, workers, time_limit, threads, seed)
    if picture is not None:
        shown = None if plans is None else [None if planned is None else planned.solution for planned in plans]
        draw_sensitivity(cluster, moved, intervals, shown, picture)
        say_written(picture)
    if as_json:
        print_json(_describe(problem, moved, intervals, plans))
    else:
        say_notes(machine_notes(cluster))
        print_sensitivity(cluster, intervals, plans, stdout_console())


def _plans(
    problem: PlanningProblem,
    intervals: Sequence[Interval],
    workers: int | None,
    time_limit: float | None,
    threads: int,
    seed: int,
) -> list[Result[Plan] | None]:
    """Plan on the islands of each interval; after an interruption the others are not planned."""
    plans: list[Result[Plan] | None] = []
    for interval in intervals:
        at = replace(problem, tolerances=interval.tolerances)
        try:
            plans.append(make_plan(at, workers=workers, time_limit_s=time_limit, threads=threads, seed=seed))
        except KeyboardInterrupt:
            break
        if plans[-1] is not None and plans[-1].stop_reason is StopReason.INTERRUPTED:
            break
    if len(plans) < len(intervals):
        say_notes(["interrupted: islands of the other tolerances were not planned on"])
    return [*plans, *[None] * (len(intervals) - len(plans))]


def _moved(text: str) -> list[Tolerance]:
    names = text.replace("-", "_").split(",")
    for name in names:
        if name not in TOLERANCES:
            raise InputError(f"--which: {name!r}, expected some of {', '.join(TOLERANCES)}")
    return [name for name in TOLERANCES if name in names]


def _number(option: str, text: str) -> Fraction:
    # Read as it is written: 0.2 is one fifth.
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        value = Fraction(-1)
    if not 0 <= value <= MOST or "/" in text:
        raise InputError(f"{option}: {text!r}, expected a number from 0 to {MOST}")
    return value


def _describe(
    problem: IslandsProblem,
    moved: Sequence[str],
    intervals: Sequence[Interval],
    plans: Sequence[Result[Plan] | None] | None,
) -> dict[str, Any]:
    rows = []
    for number, interval in enumerate(intervals):
        row = {
            "start": float(interval.start),
            "start_exact": str(interval.start),
            "end": float(interval.end),
            "end_exact": str(interval.end),
            "tolerances": asdict(interval.tolerances),
            **interval.value._asdict(),
            "slowest_link_bytes_per_s": slowest_link(problem, interval.partition),
            "proven": interval.proven,
            "partition": [list(names) for names in interval.partition.islands],
        }
        if plans is not None:
            planned = plans[number]
            plan = None if planned is None else planned.solution
            row["iteration_ns"] = None if plan is None else plan.iteration_ns
            row["plan_outcome"] = "unknown" if planned is None else planned.outcome
        rows.append(row)
    return {
        "instance": problem.name,
        "moved": list(moved),
        "intervals": rows,
        "notes": list(machine_notes(problem.cluster)),
    }
