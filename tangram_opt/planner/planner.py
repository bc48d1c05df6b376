"""The planner: a planning problem in, a plan out."""

from __future__ import annotations

from tangram_opt.data.plan import Plan
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.parallelizers import Parallelizer, UniformParallelizer
from tangram_opt.planner.report import plan_report
from tangram_opt.planner.search import OnProgress, search
from tangram_opt.planner.unused import cost_of_using


def plan_problem(
    problem: PlanningProblem,
    *,
    parallelizer: Parallelizer | None = None,
    solver: str = "auto",
    workers: int = 1,
    time_limit_s: float | None = None,
    threads: int = 1,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Plan:
    """Find the training pipeline with the shortest iteration.

    Parameters
    ----------
    problem : PlanningProblem
        Cluster, model, batch.
    parallelizer : Parallelizer, optional
        Plans slices on islands; the built-in ``uniform`` unless another one is given.
    solver : str
        Composes the slice plans.
    workers : int
        Processes that query the parallelizer; with more than one, a script needs the usual
        ``if __name__ == "__main__"`` guard of :mod:`multiprocessing`.
    time_limit_s : float or None
        For the islands, and for each composition problem; one by the simulated time that nobody asked for gets a minute
        at most.
    threads, seed : int
        For the solver.
    on_progress : callable or None
        Told of queries and of the solver's progress.

    Returns
    -------
    Plan
        The best plan, proven over all options that were asked for unless its outcome says otherwise.

    Raises
    ------
    NoPlanError
        There is no plan; the text says why.
    """
    found = search(
        problem,
        parallelizer or UniformParallelizer(),
        solver=solver,
        workers=workers,
        time_limit_s=time_limit_s,
        threads=threads,
        seed=seed,
        on_progress=on_progress,
    )
    return plan_report(found, lambda island: cost_of_using(found, island, solver=solver, time_limit_s=time_limit_s))
