"""How islands change with the tolerances, in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rich.console import Console

from tangram_opt.data.cluster import Cluster
from tangram_opt.data.island import IslandsProblem
from tangram_opt.data.plan import Plan
from tangram_opt.data.units import GIGA, TERA
from tangram_opt.islands.evaluation import slowest_link
from tangram_opt.islands.sensitivity import Interval
from tangram_opt.result import Outcome, Result
from tangram_opt.show.tables import Column, print_line, print_table
from tangram_opt.show.units import count, decimals, duration, percent


def print_sensitivity(
    cluster: Cluster, intervals: Sequence[Interval], plans: Sequence[Result[Plan] | None] | None, console: Console
) -> None:
    """Print the islands of every interval of tolerances, and what a plan on them takes.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    intervals : sequence of Interval
        Ascending.
    plans : sequence of Result or None
        What planning on the islands of each interval gave, None where nobody planned; None instead of a sequence when
        nothing was to be planned.
    console : rich.console.Console
        Where to.
    """
    columns = [
        Column("tolerance\nfrom", number=True),
        Column("below", number=True),
        Column("islands", number=True),
        Column("compute lost\nTFLOP/s", number=True),
        Column("of all", number=True),
        Column("slowest link\nGB/s", number=True),
    ]
    if plans is not None:
        columns.append(Column("iteration", number=True))
    columns.append(Column("islands\nare"))
    rows = []
    for number, interval in enumerate(intervals):
        value, slowest = interval.value, slowest_link(IslandsProblem(cluster.name, cluster), interval.partition)
        row = [
            _tolerance(interval.start),
            _tolerance(interval.end),
            count(value.islands),
            decimals(value.compute_lost_flops_per_s / TERA, 3),
            percent(compute_lost_share(cluster, interval)),
            decimals(slowest / GIGA, 3) if slowest else "",
        ]
        if plans is not None:
            row.append(_iteration(plans[number]))
        rows.append([*row, "proven" if interval.proven else "best found"])
    print_table(console, columns, rows)
    print_line(
        console,
        "Lines begin where the tolerance reaches a ratio of two figures less 1, rounded up; the last includes its end.",
    )


def _iteration(planned: Result[Plan] | None) -> str:
    if planned is None:
        return "not planned"
    if planned.solution is None:
        return "no plan" if planned.outcome is Outcome.INFEASIBLE else "none found"
    time = duration(planned.solution.iteration_ns)
    return time if planned.outcome is Outcome.OPTIMAL else f"at most {time}"


def compute_lost_share(cluster: Cluster, interval: Interval) -> float:
    """Compute lost, as a share of that of the whole cluster."""
    whole = sum(node.gpus * node.gpu.matmul_flops_per_s for node in cluster.nodes)
    return interval.value.compute_lost_flops_per_s / whole


def _tolerance(value: Fraction) -> str:
    """Round up to six decimals, so that the tolerance that is read allows what the exact one allows."""
    return f"{-(-value * 10**6 // 1) / 10**6:g}"
