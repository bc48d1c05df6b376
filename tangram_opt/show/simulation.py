"""The 1F1B iteration of a plan in a terminal: how long, why, and where the time and the memory go."""

from __future__ import annotations

from rich.console import Console

from tangram_opt.composition.objective import closed_form_of_ns
from tangram_opt.data.plan import Plan
from tangram_opt.pipeline import Analysis
from tangram_opt.show.stages import number_range
from tangram_opt.show.tables import Column, print_facts, print_line, print_table
from tangram_opt.show.units import count, duration, gib, milliseconds, percent

PATH_STAGES = 3
"""The critical path names the stages that take most of it, up to so many."""


def print_simulation(plan: Plan, analysis: Analysis, console: Console) -> None:
    """Print what the iteration of a plan takes, what makes it so long, and what every stage does with the time.

    Parameters
    ----------
    plan : Plan
        What was planned.
    analysis : Analysis
        Its pipeline.
    console : rich.console.Console
        Where to.
    """
    pipeline = analysis.pipeline
    stages = "1 stage" if pipeline.stages == 1 else f"{count(pipeline.stages)} stages"
    print_line(
        console,
        f"{plan.model} on {plan.cluster}: 1F1B of {count(pipeline.micro_batches)} micro-batches through {stages}",
        style="bold",
    )
    print_facts(console, [*_times(analysis), *_causes(analysis)])
    print_line(console)
    _print_stages(plan, analysis, console)


def _times(analysis: Analysis) -> list[tuple[str, str]]:
    pipeline, makespan = analysis.pipeline, analysis.schedule.makespan_ns
    closed = closed_form_of_ns(pipeline)
    upper = "" if analysis.upper_ns is None else f" to {duration(analysis.upper_ns)}"
    return [
        ("iteration time", f"{duration(makespan)}, event by event"),
        ("closed form", f"{duration(closed)} ({_difference(closed, makespan)})"),
        ("period form", f"{duration(analysis.period_form_ns)} ({_difference(analysis.period_form_ns, makespan)})"),
        ("bounds", f"{duration(analysis.lower_ns)}{upper}"),
    ]


def _causes(analysis: Analysis) -> list[tuple[str, str]]:
    cycle, bubble, makespan = analysis.cycle, analysis.bubble, analysis.schedule.makespan_ns
    around = f"{duration(float(cycle.period_ns))} per micro-batch, set by {_cycle_text(analysis)}"
    idle = sum(bubble.idle_ns) / len(bubble.idle_ns)
    shares = (
        ("imbalance", sum(bubble.imbalance_ns) / len(bubble.imbalance_ns)),
        ("fill and drain", bubble.fill_and_drain_ns),
        ("transfers", bubble.transfers_ns),
        ("sync", bubble.sync_ns),
    )
    causes = ", ".join(f"{name} {percent(share / makespan)}" for name, share in shares)
    return [
        ("steady state", around),
        ("critical path", _path_text(analysis)),
        ("idle", f"{percent(idle / makespan)} of the stages' time: {causes}"),
    ]


def _cycle_text(analysis: Analysis) -> str:
    cycle = analysis.cycle
    if len(cycle.stages) == 1 and not cycle.boundaries:
        return f"stage {cycle.stages[0]} alone"
    rounds = "one micro-batch" if cycle.micro_batches == 1 else f"{count(cycle.micro_batches)} micro-batches"
    first, last = cycle.stages[0], cycle.stages[-1]
    stages = f"the round trip through stages {number_range(first, last - first + 1)}"
    return f"{stages}: {duration(cycle.duration_ns)} for {rounds}"


def _path_text(analysis: Analysis) -> str:
    stages, boundaries = analysis.on_path_ns()
    longest = sorted((stage for stage, time in enumerate(stages) if time), key=lambda stage: -stages[stage])
    named, others = longest[:PATH_STAGES], longest[PATH_STAGES:]
    parts = [f"{duration(stages[stage])} on stage {stage}" for stage in named]
    if others:
        rest = "another stage" if len(others) == 1 else f"{count(len(others))} other stages"
        parts.append(f"{duration(sum(stages[stage] for stage in others))} on {rest}")
    if any(boundaries):
        parts.append(f"{duration(sum(boundaries))} in transfers")
    return ", ".join(parts)


def _print_stages(plan: Plan, analysis: Analysis, console: Console) -> None:
    columns = [
        Column("stage", number=True),
        Column("computes\n%", number=True),
        Column("idle\n%", number=True),
        Column("imbalance\n%", number=True),
        Column("on critical\npath ms", number=True),
        Column("transfers on it\nms", number=True),
        Column("GiB per GPU at the peak:\nin flight, total / limit", number=True),
        Column("used\n%", number=True),
    ]
    makespan = analysis.schedule.makespan_ns
    on_stage, on_boundary = analysis.on_path_ns()
    rows = []
    for s, stage in enumerate(plan.stages):
        idle, held = analysis.bubble.idle_ns[s], analysis.in_flight[s]
        memory = stage.memory_with_bytes(held)
        rows.append(
            [
                f"{s}",
                *(
                    f"{100 * share / makespan:.1f}"
                    for share in (makespan - idle, idle, analysis.bubble.imbalance_ns[s])
                ),
                milliseconds(on_stage[s]),
                milliseconds(on_boundary[s]) if s < len(on_boundary) else "0",
                f"{held}, {gib(memory)} / {gib(stage.memory_limit_bytes)}",
                f"{100 * memory / stage.memory_limit_bytes:.1f}",
            ]
        )
    print_table(console, columns, rows)
    print_line(
        console,
        "Imbalance is what a stage is faster than the slowest one; the other idle time is the same on all stages.",
    )


def _difference(estimate_ns: int, makespan_ns: int) -> str:
    return f"{100 * (estimate_ns / makespan_ns - 1):+.1f} %"
