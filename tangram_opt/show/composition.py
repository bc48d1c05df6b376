"""A composition in a terminal."""

from __future__ import annotations

from rich.console import Console

from tangram_opt.composition import evaluate
from tangram_opt.data.composition import Composition, CompositionProblem
from tangram_opt.show.objectives import by_objective
from tangram_opt.show.stages import number_range, strategy_text
from tangram_opt.show.tables import Column, print_line, print_table
from tangram_opt.show.units import duration, milliseconds


def print_composition(problem: CompositionProblem, composition: Composition, console: Console) -> None:
    """Print the options of a composition in their places, and its iteration time.

    Parameters
    ----------
    problem : CompositionProblem
        The problem.
    composition : Composition
        Its solution, allowed or not.
    console : rich.console.Console
        Where to.

    Raises
    ------
    InputError
        There is no pick, or one names an option that does not exist.
    """
    evaluation = evaluate(problem, composition)
    columns = [
        Column("option", number=True),
        Column("island"),
        Column("atoms", number=True),
        Column("stages", number=True),
        Column("slowest\nstage ms", number=True),
        Column("all stages\nms", number=True),
        Column("transfer\nout ms", number=True),
        Column("stages behind\n(at most)", number=True),
        Column("strategy"),
    ]
    rows, stage = [], 0
    for pick in composition.picks:
        option = problem.options[pick.option]
        last = stage + len(option.stages) - 1
        most = "any" if option.max_stages_after is None else f"{option.max_stages_after}"
        rows.append(
            [
                f"{pick.option}",
                option.island,
                number_range(pick.first_atom, option.length),
                number_range(stage, len(option.stages)),
                milliseconds(option.bottleneck_ns),
                milliseconds(option.sum_ns),
                milliseconds(evaluation.transfers_ns[last]) if last < len(evaluation.transfers_ns) else "",
                f"{evaluation.stages_after[last]} ({most})",
                strategy_text(option.strategy),
            ]
        )
        stage = last + 1
    print_table(console, columns, rows)
    print_line(
        console,
        f"iteration time: {duration(evaluation.objective_ns)} {by_objective(problem.objective)}, "
        f"for {problem.micro_batches} micro-batches in {stage} stage{'s' if stage > 1 else ''}",
    )
    if problem.depths == "chosen":
        print_line(console, f"in flight, front to back: {', '.join(map(str, evaluation.in_flight))}")
