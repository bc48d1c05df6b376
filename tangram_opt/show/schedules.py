"""Schedules of a plan's stages side by side in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from tangram_opt.data.plan import Plan
from tangram_opt.pipeline.schedules import ScheduleCost
from tangram_opt.show.tables import Column, print_table
from tangram_opt.show.units import duration, gib

COLUMNS = (
    Column("schedule"),
    Column("iteration", number=True),
    Column("against the\nfirst %", number=True),
    Column("proven", number=True),
    Column("fullest\nstage", number=True),
    Column("its GiB per GPU:\npeak / limit", number=True),
    Column("fits"),
)


def print_schedules(
    plan: Plan, costs: Sequence[ScheduleCost], console: Console, bounds_ns: Sequence[int | None] = ()
) -> None:
    """Print what schedules take.

    Parameters
    ----------
    plan : Plan
        Whose stages they run.
    costs : sequence of ScheduleCost
        The first one is what the others are compared with.
    console : rich.console.Console
        Where to.
    bounds_ns : sequence of int or None
        Proven lower bounds of their iteration times, as far as there are any.
    """
    rows = []
    limits = [stage.memory_limit_bytes for stage in plan.stages]
    bounds = (*bounds_ns, *[None] * (len(costs) - len(bounds_ns)))
    for cost, bound in zip(costs, bounds, strict=True):
        used = [held / limit for held, limit in zip(cost.memory_bytes, limits, strict=True)]
        fullest = used.index(max(used))
        rows.append(
            [
                cost.name,
                duration(cost.makespan_ns),
                f"{100 * (cost.makespan_ns / costs[0].makespan_ns - 1):+.1f}",
                "" if bound is None else "optimal" if bound == cost.makespan_ns else f"at least {duration(bound)}",
                f"{fullest}",
                f"{gib(cost.memory_bytes[fullest])} / {gib(limits[fullest])}",
                "yes" if cost.memory_bytes[fullest] <= limits[fullest] else "no",
            ]
        )
    print_table(console, COLUMNS, rows)
