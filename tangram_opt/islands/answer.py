"""From what a solver claims about islands to a result that has been re-evaluated."""

from __future__ import annotations

from collections.abc import Sequence

from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.islands.conditions import check
from tangram_opt.islands.evaluation import evaluate
from tangram_opt.result import Level, Outcome, Result, StopReason

Bounds = tuple[int | None, int | None, int | None]
"""Bounds of the number of islands, the compute lost and the slowest link, as far as they are proven."""


def partition_of(problem: IslandsProblem, islands: Sequence[Sequence[int]]) -> Partition:
    """Make a partition of islands by node indices: by their first nodes, and nodes in the order of the cluster."""
    nodes = problem.cluster.nodes
    return Partition(
        problem.name, tuple(tuple(nodes[i].name for i in island) for island in sorted(map(sorted, islands)))
    )


def answer(
    problem: IslandsProblem,
    partition: Partition | None,
    *,
    bounds: Bounds,
    stop_reason: StopReason,
    wall_s: float,
    solver: str,
    solver_version: str,
    formulation: str,
    log: tuple[str, ...] = (),
) -> Result[Partition]:
    """Re-evaluate a partition and state what is known of it.

    Parameters
    ----------
    problem : IslandsProblem
        The problem.
    partition : Partition or None
        The best one found.
    bounds : tuple of int or None
        No partition has fewer islands; none with as many loses less compute; none with as many that loses as much has
        a faster slowest link.
    stop_reason : StopReason
        Why the solver stopped; without a partition, `PROVED` means that there is none, which constraints of the
        user's own can bring about.
    wall_s : float
        Elapsed time.
    solver, solver_version, formulation : str
        Who found it.
    log : tuple of str
        What the solver has to say.

    Returns
    -------
    Result
        Optimal only where bound and re-evaluated objective are equal at every level.

    Raises
    ------
    RuntimeError
        The partition is not valid or better than a bound: a defect of the solver.
    """
    objective: int | None = None
    levels: tuple[Level, ...] = ()
    if partition is None:
        outcome = Outcome.INFEASIBLE if stop_reason is StopReason.PROVED else Outcome.UNKNOWN
    else:
        violated = check(problem, partition)
        if violated:
            raise RuntimeError(f"{solver} on {problem.name!r}: not allowed: {violated[0]}")
        value = evaluate(problem, partition)
        objective = value.islands
        # A bound says something only where everything before it is at its bound.
        lost_bound = bounds[1] if bounds[0] == value.islands else None
        link_bound = bounds[2] if lost_bound == value.compute_lost_flops_per_s else None
        levels = (
            Level("compute_lost_flops_per_s", value.compute_lost_flops_per_s, lost_bound),
            Level("slowest_link_bytes_per_s", value.slowest_link_bytes_per_s, link_bound, larger_is_better=True),
        )
        proven = (bounds[0], lost_bound, link_bound) == tuple(value)
        outcome = Outcome.OPTIMAL if proven else Outcome.FEASIBLE
        if (
            (bounds[0] is not None and bounds[0] > value.islands)
            or (lost_bound is not None and lost_bound > value.compute_lost_flops_per_s)
            or (link_bound is not None and link_bound < value.slowest_link_bytes_per_s)
        ):
            raise RuntimeError(
                f"{solver} on {problem.name!r}: claims bounds of {bounds}, re-evaluation gives {tuple(value)}"
            )
    return Result(
        outcome=outcome,
        stop_reason=StopReason.PROVED if outcome is Outcome.OPTIMAL else stop_reason,
        objective=objective,
        bound=bounds[0],
        wall_s=wall_s,
        solution=partition,
        solver=solver,
        solver_version=solver_version,
        formulation=formulation,
        log=log,
        levels=levels,
    )
