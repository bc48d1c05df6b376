"""``tangram-opt simulate``: the iteration of a saved plan event by event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from tangram_opt import documents
from tangram_opt.cli.options import AsJson, Threads, TimeLimit
from tangram_opt.cli.output import check_writable, print_json, say_written, stdout_console
from tangram_opt.composition.objective import closed_form_of_ns
from tangram_opt.data.plan import Plan
from tangram_opt.errors import InputError
from tangram_opt.pipeline import Analysis, analyse, of_stages
from tangram_opt.pipeline.schedules import standard_schedules
from tangram_opt.planner.schedules import MOST_STAGES, SearchedSchedules, search_schedules
from tangram_opt.show import check_picture, draw_simulation, print_schedules, print_simulation, write_trace
from tangram_opt.show.tables import print_line

SEARCH_S: Final = 30.0
"""A search for schedules ends after so many seconds unless told otherwise."""


def simulate(
    file: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan.", show_default=False)],
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="FILE", help="Write a trace for Perfetto or Chrome (.json)."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw the timeline and the time of each stage (.png or .svg)."),
    ] = None,
    schedules: Annotated[
        bool, typer.Option("--schedules", help="Compare schedules, and search for the best one with a split backward.")
    ] = False,
    time_limit: TimeLimit = SEARCH_S,
    threads: Threads = 1,
    as_json: AsJson = False,
) -> None:
    """Run the 1F1B iteration of a plan event by event: how long, and where the time and the memory go."""
    check_writable(trace, picture, read=[file])
    if picture is not None:
        check_picture(picture)
    plan = documents.load_plan(file)
    try:
        analysis = analyse(of_stages(plan.stages, plan.micro_batches))
    except ValueError as error:
        raise InputError(f"{file}: no such pipeline can run: {error}") from error
    if trace is not None:
        write_trace(plan, analysis, trace)
        say_written(trace)
    if picture is not None:
        draw_simulation(plan, analysis, picture)
        say_written(picture)
    answer = _describe(plan, analysis)
    standard = standard_schedules(plan.stages, plan.micro_batches) if schedules else []
    searched = search_schedules(plan, time_limit=time_limit or SEARCH_S, threads=threads) if schedules else ()
    if as_json:
        if schedules:
            answer["schedules"] = [asdict(cost) for cost in standard]
            answer["searched_schedules"] = [_describe_search(found) for found in searched]
        print_json(answer)
        return
    console = stdout_console()
    print_simulation(plan, analysis, console)
    if schedules:
        print_line(console)
        print_schedules(plan, standard, console)
        _print_searched(plan, searched, console)


def _print_searched(plan: Plan, searched: Sequence[SearchedSchedules], console: Console) -> None:
    if not searched:
        stages = len(plan.stages)
        print_line(console, f"Not searched for a better schedule: {stages} stages, at most {MOST_STAGES} can be.")
        return
    costs = [cost for found in searched for cost in (found.one_f_one_b, found.zero_bubble, found.best)]
    bounds = [bound for found in searched for bound in (None, None, found.result.bound)]
    print_line(console)
    print_line(
        console,
        f"{searched[0].problem.micro_batches} of {plan.micro_batches} micro-batches with a split backward, with and "
        "without a barrier between iterations:",
    )
    print_schedules(plan, costs, console, bounds)
    print_line(
        console,
        "The gradient of the weights is taken to be as long as the forward, and at most half of the backward; the "
        "memory of a micro-batch to be free after it. What a stage that recomputes would keep for it is not counted.",
    )


def _describe_search(found: SearchedSchedules) -> dict[str, Any]:
    return {
        "micro_batches": found.problem.micro_batches,
        "barrier": found.problem.barrier,
        "outcome": found.result.outcome,
        "bound_ns": found.result.bound,
        "schedules": [asdict(cost) for cost in (found.one_f_one_b, found.zero_bubble, found.best)],
        "best": asdict(found.result.solution) if found.result.solution else None,
    }


def _describe(plan: Plan, analysis: Analysis) -> dict[str, Any]:
    """Make the JSON object; times in it are nanoseconds, and tuples have one entry per stage."""
    pipeline, cycle, bubble = analysis.pipeline, analysis.cycle, analysis.bubble
    on_stages, on_boundaries = analysis.on_path_ns()
    return {
        "plan": plan.name,
        "micro_batches": pipeline.micro_batches,
        "simulated_ns": analysis.schedule.makespan_ns,
        "closed_form_ns": closed_form_of_ns(pipeline),
        "period_form_ns": analysis.period_form_ns,
        "lower_bound_ns": analysis.lower_ns,
        "upper_bound_ns": analysis.upper_ns,
        "critical_cycle": {
            "duration_ns": cycle.duration_ns,
            "micro_batches": cycle.micro_batches,
            "period_ns": float(cycle.period_ns),
            "stages": list(cycle.stages),
            "boundaries": list(cycle.boundaries),
        },
        "critical_path": {"stages_ns": on_stages, "boundaries_ns": on_boundaries},
        "bubble": {
            "idle_ns": list(bubble.idle_ns),
            "imbalance_ns": list(bubble.imbalance_ns),
            "fill_and_drain_ns": bubble.fill_and_drain_ns,
            "transfers_ns": bubble.transfers_ns,
            "sync_ns": bubble.sync_ns,
        },
        "memory": [
            {
                "in_flight": held,
                "peak_bytes": stage.memory_with_bytes(held),
                "limit_bytes": stage.memory_limit_bytes,
            }
            for stage, held in zip(plan.stages, analysis.in_flight, strict=True)
        ],
    }
