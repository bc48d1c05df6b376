"""What 1F1B leaves on the table: the best schedule of a plan's stages with a split backward, by search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tangram_opt.data.plan import Plan
from tangram_opt.data.schedule import ScheduleProblem, SplitSchedule
from tangram_opt.errors import InputError
from tangram_opt.pipeline.schedules import ScheduleCost, split_problem
from tangram_opt.pipeline.split import iteration_ns, peak_bytes
from tangram_opt.pipeline.split_schedules import as_one_f_one_b, as_zero_bubble
from tangram_opt.result import Result
from tangram_opt.solvers import solve

MOST_STAGES: Final = 8
MOST_MICRO_BATCHES: Final = 16
"""What can be searched exactly in seconds to minutes."""


@dataclass(frozen=True, slots=True)
class SearchedSchedules:
    """Schedules of the first micro-batches of a plan.

    Attributes
    ----------
    problem : ScheduleProblem
        What was asked.
    one_f_one_b, zero_bubble : ScheduleCost
        1F1B, and the greedy schedule that fills gaps with gradients of weights.
    best : ScheduleCost
        The best schedule that was found.
    result : Result
        How good it is known to be.
    """

    problem: ScheduleProblem
    one_f_one_b: ScheduleCost
    zero_bubble: ScheduleCost
    best: ScheduleCost
    result: Result[SplitSchedule]


def search_schedules(plan: Plan, *, time_limit: float, threads: int) -> tuple[SearchedSchedules, ...]:
    """Search for the best schedules of a plan, with and without a barrier between iterations.

    Parameters
    ----------
    plan : Plan
        Of at most `MOST_STAGES` stages; of its micro-batches at most `MOST_MICRO_BATCHES` are looked at.
    time_limit : float
        Seconds for each of the two searches.
    threads : int
        Of the solver.

    Returns
    -------
    tuple of SearchedSchedules
        With a barrier, and without; none where the plan has too many stages.

    Raises
    ------
    InputError
        A stage has no memory for a single micro-batch.
    """
    if len(plan.stages) > MOST_STAGES:
        return ()
    found = []
    n = min(plan.micro_batches, MOST_MICRO_BATCHES)
    for barrier, suffix in ((True, ""), (False, ", no barrier")):
        try:
            problem = split_problem(plan.name, plan.stages, n, barrier=barrier)
        except ValueError as error:
            raise InputError(f"plan {plan.name!r}: {error}") from error
        result: Result[SplitSchedule] = solve(problem, time_limit=time_limit, threads=threads)
        assert result.solution is not None
        found.append(
            SearchedSchedules(
                problem,
                _cost(f"1F1B{suffix}", plan, problem, as_one_f_one_b(problem)),
                _cost(f"zero bubble, greedy{suffix}", plan, problem, as_zero_bubble(problem)),
                _cost(f"best found{suffix}", plan, problem, result.solution),
                result,
            )
        )
    return tuple(found)


def _cost(name: str, plan: Plan, problem: ScheduleProblem, schedule: SplitSchedule) -> ScheduleCost:
    held = zip(plan.stages, peak_bytes(problem, schedule), strict=True)
    return ScheduleCost(name, iteration_ns(problem, schedule), tuple(stage.static_bytes + size for stage, size in held))
