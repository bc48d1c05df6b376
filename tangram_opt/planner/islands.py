"""The islands that a plan is made on: the best partition, proven unless time is short, and all of them linked."""

from __future__ import annotations

from collections.abc import Sequence

from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.errors import InputError
from tangram_opt.islands import IslandGroup, build_islands, links
from tangram_opt.result import Outcome, StopReason
from tangram_opt.solvers import solve


def find_islands(
    problem: PlanningProblem, *, time_limit_s: float | None, threads: int, seed: int
) -> tuple[tuple[IslandGroup, ...], tuple[tuple[int, ...], ...], bool]:
    """Find the islands of a planning problem.

    Parameters
    ----------
    problem : PlanningProblem
        Its cluster and tolerances.
    time_limit_s : float or None
        After which the best islands so far are taken.
    threads, seed : int
        For the solver.

    Returns
    -------
    groups : tuple of IslandGroup
        Classes of equal islands.
    links : tuple of tuple of int, classes x classes
        Bandwidths between them, see :func:`tangram_opt.islands.links`.
    proven : bool
        Whether no partition is better.

    Raises
    ------
    InputError
        Two islands have no link.
    KeyboardInterrupt
        The search for islands was interrupted.
    """
    result = solve(
        IslandsProblem(problem.name, problem.cluster, problem.tolerances),
        time_limit=time_limit_s,
        threads=threads,
        seed=seed,
    )
    if result.stop_reason is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    partition: Partition | None = result.solution
    assert partition is not None  # Nodes one by one are islands, so there always is one.
    groups = build_islands(problem.cluster, partition)
    between = links(problem.cluster, groups)
    _check_linked(problem.cluster.name, groups, between)
    return groups, between, result.outcome is Outcome.OPTIMAL


def _check_linked(cluster: str, groups: Sequence[IslandGroup], links_bytes_per_s: Sequence[Sequence[int]]) -> None:
    """Refuse a cluster with islands that cannot reach one another; the nodes of an island always can."""
    for a, here in enumerate(groups):
        for b, there in enumerate(groups):
            if (a != b or here.count > 1) and not links_bytes_per_s[a][b]:
                raise InputError(
                    f"cluster {cluster!r}: network: no link from island {here.island.name!r} to island "
                    f"{there.island.name!r}, expected a bandwidth above 0 between every two islands "
                    "(leave out nodes that cannot be reached)"
                )
