"""A training plan in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from tangram_opt.data.plan import Plan, PlannedStage
from tangram_opt.pipeline import standard_depths
from tangram_opt.result import relative_gap
from tangram_opt.show.objectives import by_objective, times_ns
from tangram_opt.show.stages import StageGroup, group_stages, held, strategy_text, where
from tangram_opt.show.tables import Column, print_facts, print_line, print_table
from tangram_opt.show.units import count, duration, gib, magnitude, milliseconds, percent


def print_plan(plan: Plan, console: Console) -> None:
    """Print a plan: what it achieves, every stage, what is left unused, and how it was found.

    Parameters
    ----------
    plan : Plan
        What to print.
    console : rich.console.Console
        Where to. Columns of words wrap to its width; numbers are never cut.
    """
    groups = group_stages(plan.stages)
    print_line(console, f"{plan.model} on {plan.cluster}", style="bold")
    print_facts(console, _headline(plan))
    print_line(console)
    _print_places(groups, console)
    _print_layer_sum(plan, groups, console)
    print_line(console)
    _print_costs(groups, console)
    if len(groups) < len(plan.stages):
        print_line(
            console,
            "Stages listed together differ in place only; memory is the first one's, the most of them.",
        )
    _print_unused(plan, console)
    print_line(console)
    print_facts(console, _search(plan))


def _headline(plan: Plan) -> list[tuple[str, str]]:
    used = sum(stage.gpu_count for stage in plan.stages)
    stages = "1 stage" if len(plan.stages) == 1 else f"{count(len(plan.stages))} stages"
    active = "" if plan.active_parameters == plan.parameters else f" ({magnitude(plan.active_parameters)} active)"
    return [
        ("model", f"{magnitude(plan.parameters)} parameters{active}, {count(plan.layers)} layers"),
        ("cluster", f"{count(plan.cluster_gpus)} GPUs, {count(used)} of them in {stages}"),
        (
            "batch",
            f"{count(plan.global_batch)} sequences of {count(plan.sequence_length)} tokens, as "
            f"{count(plan.micro_batches)} micro-batches of {count(plan.micro_batch)}; recipe {plan.recipe}",
        ),
        ("iteration time", f"{duration(plan.iteration_ns)} {by_objective(plan.objective)}, {_proof(plan)}"),
        *_by_other_objectives(plan),
        *_depths(plan),
        ("throughput", f"{count(plan.tokens_per_s)} tokens/s"),
        ("utilisation", f"{percent(plan.model_flops_utilisation)} of the peak FLOPs of the GPUs in use"),
        ("bubble", f"{percent(plan.bubble_share)} of their time"),
    ]


def _depths(plan: Plan) -> list[tuple[str, str]]:
    """How far stages run ahead of 1F1B, where that was chosen."""
    if plan.depths == "standard":
        return []
    standard = zip(plan.stages, standard_depths(len(plan.stages)), strict=True)
    extra = max(stage.in_flight - min(plan.micro_batches, depth) for stage, depth in standard)
    return [("in flight", f"up to {count(extra)} micro-batches more than 1F1B keeps" if extra else "as in 1F1B")]


def _by_other_objectives(plan: Plan) -> list[tuple[str, str]]:
    """The time of the same pipeline by the other objectives."""
    return [
        (
            "simulated 1F1B" if other == "simulated" else by_objective(other),
            f"{duration(value)} ({100 * (value / plan.iteration_ns - 1):+.1f} %)",
        )
        for other, value in times_ns(plan).items()
        if other != plan.objective
    ]


def _proof(plan: Plan) -> str:
    if plan.outcome == "optimal":
        return "proven optimal"
    if plan.bound_ns is None:
        return "not proven: no bound is known"
    gap = relative_gap(plan.iteration_ns, plan.bound_ns)
    return f"not proven: gap {percent(gap)} (bound {duration(plan.bound_ns)})"


def _print_places(groups: Sequence[StageGroup], console: Console) -> None:
    columns = [
        Column("stage", number=True),
        Column("layers", number=True),
        Column("holds"),
        Column("island: GPUs"),
        Column("where"),
        Column("strategy"),
    ]
    rows = []
    for group in groups:
        stage = group.stages[0]
        rows.append(
            [
                group.label,
                group.each(stage.layers),
                held(group.stages),
                f"{group.islands}: {group.each(stage.gpu_count)} {stage.gpu}",
                where(group.stages),
                strategy_text(stage.strategy),
            ]
        )
    print_table(console, columns, rows)


def _print_layer_sum(plan: Plan, groups: Sequence[StageGroup], console: Console) -> None:
    terms = [group.each(group.stages[0].layers) for group in groups]
    total = sum(stage.layers for stage in plan.stages)
    agrees = total == plan.layers
    verdict = "all layers of the model" if agrees else f"NOT the {plan.layers} layers of the model"
    print_line(console, f"layers: {' + '.join(terms)} = {total}, {verdict}", style="" if agrees else "bold red")


def _print_costs(groups: Sequence[StageGroup], console: Console) -> None:
    columns = [
        Column("stage", number=True),
        Column("forward\nms", number=True),
        Column("backward\nms", number=True),
        Column("transfer\nms", number=True),
        Column("sync\nms", number=True),
        Column("GiB per GPU: static +\nin flight x activation\n= total / limit", number=True),
        Column("used\n%", number=True),
    ]
    rows = []
    for group in groups:
        stage = group.stages[0]
        rows.append(
            [
                group.label,
                milliseconds(stage.forward_ns),
                milliseconds(stage.backward_ns),
                _transfer(group.stages),
                milliseconds(stage.sync_ns),
                _memory(stage),
                f"{100 * stage.memory_bytes / stage.memory_limit_bytes:.1f}",
            ]
        )
    print_table(console, columns, rows)


def _transfer(stages: Sequence[PlannedStage]) -> str:
    low, high = (milliseconds(pick(stage.transfer_ns for stage in stages)) for pick in (min, max))
    return low if low == high else f"{low}-{high}"


def _memory(stage: PlannedStage) -> str:
    return (
        f"{gib(stage.static_bytes)} + {stage.in_flight} x {gib(stage.in_flight_bytes)} = {gib(stage.memory_bytes)}"
        f" / {gib(stage.memory_limit_bytes)}"
    )


def _print_unused(plan: Plan, console: Console) -> None:
    if plan.unused:
        print_line(console)
        columns = [
            Column("unused island"),
            Column("islands", number=True),
            Column("GPUs", number=True),
            Column("using one\nmore costs", number=True),
            Column("why"),
        ]
        rows = []
        for island in plan.unused:
            cost = "no plan" if island.extra_ns is None else f"+{duration(island.extra_ns)}"
            rows.append([island.island, count(island.count), count(island.gpus), cost, island.reason])
        print_table(console, columns, rows)
    if plan.idle_gpus:
        print_line(console, f"idle: {count(plan.idle_gpus)} GPUs of used islands run no stage")


def _search(plan: Plan) -> list[tuple[str, str]]:
    search = plan.search
    pruned = ", ".join(f"{count(pairs)} by {policy}" for policy, pairs in search.pruned.items())
    sizes = ", ".join(count(size) for size in search.micro_batches_tried)
    ruled_out = ", ".join(count(size) for size in search.micro_batches_ruled_out)
    return [
        *([] if search.islands_proven else [("islands", "not proven to be the best: their search ran out of time")]),
        ("search", f"{count(search.pairs)} slice/island pairs; pruned: {pruned or 'none'}"),
        ("queries", f"{count(search.queries)} to {search.parallelizer}, which gave {count(search.options)} options"),
        (
            "micro-batches",
            f"of {sizes} sequences tried" + (f"; {ruled_out} ruled out by their bounds" if ruled_out else ""),
        ),
        (
            "time",
            f"{search.enumeration_s:,.2f} s for queries, {search.composition_s:,.2f} s for compositions "
            f"by {' '.join((search.solver, search.solver_version)).strip()}",
        ),
    ]
