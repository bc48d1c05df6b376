"""``tangram-opt simulate``: the iteration of a saved plan event by event."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tangram_opt import documents
from tangram_opt.cli.options import AsJson
from tangram_opt.cli.output import check_writable, print_json, say_written, stdout_console
from tangram_opt.composition.objective import closed_form_ns
from tangram_opt.data.plan import Plan
from tangram_opt.errors import InputError
from tangram_opt.pipeline import Analysis, analyse, of_stages
from tangram_opt.show import draw_simulation, print_simulation, write_trace


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
    as_json: AsJson = False,
) -> None:
    """Run the 1F1B iteration of a plan event by event: how long, and where the time and the memory go."""
    for path in (trace, picture):
        check_writable(path)
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
    if as_json:
        print_json(_describe(plan, analysis))
    else:
        print_simulation(plan, analysis, stdout_console())


def _describe(plan: Plan, analysis: Analysis) -> dict[str, Any]:
    """Make the JSON object; times in it are nanoseconds, and tuples have one entry per stage."""
    pipeline, cycle, bubble = analysis.pipeline, analysis.cycle, analysis.bubble
    on_stages, on_boundaries = analysis.on_path_ns()
    return {
        "plan": plan.name,
        "micro_batches": pipeline.micro_batches,
        "simulated_ns": analysis.schedule.makespan_ns,
        "closed_form_ns": closed_form_ns(
            pipeline.micro_batches, pipeline.times_ns, pipeline.transfer_ns, pipeline.sync_ns
        ),
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
                "peak_bytes": stage.static_bytes + held * stage.in_flight_bytes,
                "limit_bytes": stage.memory_limit_bytes,
            }
            for stage, held in zip(plan.stages, analysis.in_flight, strict=True)
        ],
    }
