"""Running the planner with progress, and stating its answer like any solver's."""

from __future__ import annotations

import os
import time

from tangram_opt import solvers
from tangram_opt.backend import Progress
from tangram_opt.cli.progress import reporting
from tangram_opt.cli.text import standing
from tangram_opt.data.plan import Plan
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.enumeration import QueryProgress
from tangram_opt.errors import NoPlanError, UndecidedError
from tangram_opt.planner import plan_problem
from tangram_opt.result import Outcome, Result, StopReason


def make_plan(
    problem: PlanningProblem,
    *,
    workers: int | None,
    time_limit_s: float | None,
    solver: str = "auto",
    threads: int = 1,
    seed: int = 0,
) -> Result[Plan]:
    """Plan with progress on standard error.

    Parameters
    ----------
    problem : PlanningProblem
        What to plan.
    workers : int or None
        Processes that plan slices; None for one per core.
    time_limit_s : float or None
        Stop each solver after this time with the best it has.
    solver : str
        Composes the slice plans.
    threads, seed : int
        For the solver.

    Returns
    -------
    Result
        With the plan and its iteration time, or with the reason why there is none.
    """
    start = time.monotonic()
    try:
        with reporting(problem.name) as report:

            def on_progress(progress: QueryProgress | Progress) -> None:
                if isinstance(progress, Progress):
                    report(standing("planning", progress.objective, progress.bound) or "composing")
                else:
                    report("queries", progress.done, progress.total)

            plan = plan_problem(
                problem,
                solver=solver,
                workers=workers or os.cpu_count() or 1,
                time_limit_s=time_limit_s,
                threads=threads,
                seed=seed,
                on_progress=on_progress,
            )
    except NoPlanError as error:
        outcome, stop_reason = Outcome.INFEASIBLE, StopReason.PROVED
        if isinstance(error, UndecidedError):
            outcome, stop_reason = Outcome.UNKNOWN, StopReason(error.stop_reason)
        return Result(
            outcome,
            stop_reason,
            None,
            None,
            time.monotonic() - start,
            None,
            solver="planner",
            solver_version="",
            formulation="",
            log=(str(error),),
        )
    # A plan that is not proven has no bound at its own time: options that were not asked for might beat it.
    bounded = plan.outcome == "optimal" or (plan.bound_ns is not None and plan.bound_ns < plan.iteration_ns)
    return Result(
        Outcome(plan.outcome),
        _why_stopped(plan, time_limit_s, bounded=bounded),
        plan.iteration_ns,
        plan.bound_ns if bounded else None,
        time.monotonic() - start,
        plan,
        solver=plan.search.solver,
        solver_version=plan.search.solver_version,
        formulation=f"options of {plan.search.parallelizer}",
    )


def _why_stopped(plan: Plan, time_limit_s: float | None, *, bounded: bool) -> StopReason:
    if plan.outcome == "optimal":
        return StopReason.PROVED
    if not solvers.get(plan.search.solver).exact:
        return StopReason.HEURISTIC
    # The planner limits the time of some searches itself; after an interruption it has no bound.
    return StopReason.TIME_LIMIT if bounded or time_limit_s is not None else StopReason.INTERRUPTED
