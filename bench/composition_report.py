"""The report of the composition bench: tables, and the two customary pictures."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean

from bench.measured import Measured, family, mean, ratio, times
from bench.report import Row, table, write_csv, write_markdown
from bench.solver_report import (
    Times,
    draw_cactus,
    draw_profile,
    families_table,
    how_measured,
    instances_table,
    methods_table,
    preferred,
    table_or_none,
    wrong_answers,
)

WEAK = "arc-flow"
"""The formulation that the others are compared with."""


def write(name: str, rows: Sequence[Measured], limit_s: float, seeds: int) -> None:
    """Write the raw table, the pictures and the report.

    Parameters
    ----------
    name : str
        Of the files.
    rows : sequence of Measured
        All runs.
    limit_s : float
        Time limit of each of them.
    seeds : int
        How many seeds there were.
    """
    write_csv(name, [asdict(row) for row in rows])
    heuristics = {row.solver for row in rows if row.stop_reason == "heuristic"}
    found = times([row for row in rows if row.solver not in heuristics], limit_s)
    chosen = preferred(rows, found)
    draw_profile(name, chosen, limit_s)
    draw_cactus(name, found, limit_s)
    paragraphs = [
        how_measured(name, limit_s, seeds),
        "## All methods",
        "Methods take different instances: means compare only where the numbers of instances are equal.",
        table(methods_table(rows, found, limit_s)),
        "## By family",
        "The formulation that each solver prefers: proven of all instances, and the mean time in s.",
        table(families_table(chosen, limit_s)),
        f"## Against `{WEAK}`",
        f"How many times longer `{WEAK}` takes with the same solver, on the instances that the other formulation "
        f"solves. Where `{WEAK}` fails the time limit counts, so these are lower bounds.",
        table_or_none(_strength(found, limit_s)),
        "## What heuristics lose",
        "Against the proven optimum, on instances that have one.",
        table_or_none(_losses(rows)),
        "## Pictures",
        f"![Performance profile]({name}-profile.png)",
        f"![Instances solved over time]({name}-cactus.png)",
        "## Wrong answers and failures",
        wrong_answers(rows),
        "## All instances",
        "Best objective in ns, and for each solver the time in s of the formulation that it prefers; a dash where it "
        "proves nothing.",
        table(instances_table(rows, chosen, limit_s)),
    ]
    write_markdown(name, "Composition problems", paragraphs)


def _strength(found: Times, limit_s: float) -> list[Row]:
    compared = []
    for method, own in sorted(found.items()):
        solver, _, formulation = method.partition(" ")
        weak = found.get(f"{solver} {WEAK}")
        if weak is not None and formulation != WEAK:
            for each in ("all", *sorted({family(instance) for instance in own})):
                part = {name: value for name, value in own.items() if each in ("all", family(name))}
                times_longer, instances = ratio(weak, part, limit_s)
                if instances:
                    compared.append(
                        {"method": method, "family": each, "instances": instances, "ratio": f"{times_longer:.1f}"}
                    )
    return compared


def _losses(rows: Sequence[Measured]) -> list[Row]:
    optimum = {row.instance: row.objective for row in rows if row.outcome == "optimal"}
    losses: defaultdict[str, list[float]] = defaultdict(list)
    walls: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        best = optimum.get(row.instance)
        if best and row.stop_reason == "heuristic":
            walls[row.solver].append(row.wall_s)
            losses[row.solver].append(math.inf if row.objective is None else row.objective / best - 1)
    return [
        {
            "solver": solver,
            "instances": len(own),
            "optimal": sum(loss == 0 for loss in own),
            "worse": sum(0 < loss < math.inf for loss in own),
            "nothing found": sum(loss == math.inf for loss in own),
            "mean loss where worse": f"{100 * fmean(_worse(own)):.2f} %",
            "largest loss": f"{100 * max(_worse(own)):.2f} %",
            "mean s": f"{mean(walls[solver]):.3f}",
        }
        for solver, own in sorted(losses.items())
    ]


def _worse(losses: Sequence[float]) -> list[float]:
    return [loss for loss in losses if 0 < loss < math.inf] or [0.0]
