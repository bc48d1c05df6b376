"""The search for a plan: one composition problem per micro-batch size, and the best of their solutions."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tangram_opt.backend import Progress
from tangram_opt.composition.exact import quick_bound_ns
from tangram_opt.composition.objective import can_be_run
from tangram_opt.composition.recurrence import quick_makespan_bound_ns
from tangram_opt.data.composition import Composition, CompositionProblem, Objective
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.data.workload import Workload
from tangram_opt.enumeration import (
    PairAnswer,
    Query,
    QueryProgress,
    composition_problem,
    enumerate_pairs,
    run_queries,
)
from tangram_opt.errors import NoPlanError, UndecidedError
from tangram_opt.islands import IslandGroup
from tangram_opt.parallelizers.interface import Parallelizer
from tangram_opt.parallelizers.layout import divisors
from tangram_opt.planner.islands import find_islands
from tangram_opt.planner.no_plan import why_not
from tangram_opt.result import Outcome, Result, StopReason
from tangram_opt.solvers import solve

MOST_SIMULATED: Final = 6
"""Islands up to which the simulated time is minimised unless another objective is asked for: it takes seconds."""

MOST_SUFFIXES: Final = 2**18
"""Ways to use the islands x atoms x stages: the search for the simulated time tells suffixes apart by these."""

SIMULATED_LIMIT_S: Final = 60.0
"""For each composition problem whose objective was not asked for; what is not proven by then has a gap."""

OnProgress = Callable[[QueryProgress | Progress], None]


@dataclass(frozen=True)
class Trial:
    """One micro-batch size.

    Attributes
    ----------
    workload : Workload
        The iteration with this micro-batch.
    options : int
        Options of its composition problem.
    result : Result
        What the solver found.
    """

    workload: Workload
    options: int
    result: Result[Composition]


@dataclass(frozen=True)
class Search:
    """Everything that a plan is made from.

    Attributes
    ----------
    problem : PlanningProblem
        What was asked.
    parallelizer : Parallelizer
        Who planned slices.
    groups : tuple of IslandGroup
        Island classes with their members.
    islands_proven : bool
        Whether no partition of the cluster is better than theirs.
    trials : tuple of Trial
        One per micro-batch size for which any slice has a plan.
    ruled_out : tuple of Workload
        Those whose bound is no better than the best trial, so that they needed no solver.
    best : Trial
        The one with the shortest iteration.
    composition_problem : CompositionProblem
        That of the best trial.
    complete : bool
        Whether every query was answered, and a solver was given every composition problem.
    pairs, queries : int
        Slice/island pairs before pruning, and questions to the parallelizer, over all micro-batch sizes.
    removed : mapping of str to int
        Pairs removed, by pruning policy.
    enumeration_s, composition_s : float
        Time spent waiting for answers, and composing them.
    """

    problem: PlanningProblem
    parallelizer: Parallelizer
    groups: tuple[IslandGroup, ...]
    islands_proven: bool
    trials: tuple[Trial, ...]
    ruled_out: tuple[Workload, ...]
    best: Trial
    composition_problem: CompositionProblem
    complete: bool
    pairs: int
    queries: int
    removed: Mapping[str, int]
    enumeration_s: float
    composition_s: float

    @property
    def bound_ns(self) -> int | None:
        """No plan from any options is faster, at any micro-batch size; None where that is not proven."""
        bounds = [trial.result.bound for trial in self.trials if trial.result.outcome is not Outcome.INFEASIBLE]
        if not self.complete or None in bounds:
            return None
        return min(bound for bound in bounds if bound is not None)


def search(
    problem: PlanningProblem,
    parallelizer: Parallelizer,
    *,
    solver: str = "auto",
    workers: int = 1,
    time_limit_s: float | None = None,
    threads: int = 1,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Search:
    """Search for the fastest pipeline.

    Parameters
    ----------
    problem : PlanningProblem
        Cluster, model, batch.
    parallelizer : Parallelizer
        Plans slices on islands.
    solver : str
        Composes the slice plans.
    workers : int
        Processes that query the parallelizer.
    time_limit_s : float or None
        For the islands, and for each composition problem; one by the simulated time that nobody asked for gets a minute
        at most.
    threads, seed : int
        For the solver.
    on_progress : callable or None
        Told of queries and of the solver's progress.

    Returns
    -------
    Search
        With at least one composition. After an interruption (Ctrl-C) it is made from what was known by then.

    Raises
    ------
    NoPlanError
        There is none; the text says why. An UndecidedError where a solver stopped before it could tell.
    KeyboardInterrupt
        It was interrupted before it had any plan.
    """
    groups, between, islands_proven = find_islands(problem, time_limit_s=time_limit_s, threads=threads, seed=seed)
    compose = _Composer(problem, groups, between, solver, time_limit_s, threads, seed, on_progress)
    workloads = _workloads(problem)
    reports = [enumerate_pairs(parallelizer, problem.model, groups, load, problem.pruning) for load in workloads]
    queries = [Query(pair, load) for load, report in zip(workloads, reports, strict=True) for pair in report.pairs]
    started = time.perf_counter()
    asked, failed = 0, []
    known: list[PairAnswer] = []
    complete = True
    try:
        stream = run_queries(parallelizer, queries, workers=workers)
        for number, answer in enumerate(stream, start=1):
            known.append(answer)
            asked += answer.queries
            if answer.reason:
                failed.append(answer)
            if on_progress is not None:
                on_progress(QueryProgress(number, len(queries)))
            last_of_its_load = number == len(queries) or queries[number].workload != answer.query.workload
            if last_of_its_load:
                answered, known = known, []
                compose(answer.query.workload, answered)
    except KeyboardInterrupt:
        complete = False
        if known:
            compose(known[0].query.workload, known)
    if compose.best is None or compose.best_problem is None:
        if not complete:
            raise KeyboardInterrupt
        results = [trial.result for trial in compose.trials]
        why = why_not(problem, parallelizer, groups, reports, failed, results)
        undecided = next((result for result in results if result.outcome is Outcome.UNKNOWN), None)
        raise NoPlanError(why) if undecided is None else UndecidedError(why, undecided.stop_reason)
    removed: Counter[str] = Counter()
    for report in reports:
        removed.update(report.removed)
    return Search(
        problem=problem,
        parallelizer=parallelizer,
        groups=groups,
        islands_proven=islands_proven,
        trials=tuple(compose.trials),
        ruled_out=tuple(compose.ruled_out),
        best=compose.best,
        composition_problem=compose.best_problem,
        complete=complete,
        pairs=sum(report.total for report in reports),
        queries=asked,
        removed=dict(removed),
        enumeration_s=time.perf_counter() - started - compose.elapsed_s,
        composition_s=compose.elapsed_s,
    )


class _Composer:
    """Composes the answers of one workload after the other and remembers the best; lets go of the rest."""

    def __init__(
        self,
        problem: PlanningProblem,
        groups: tuple[IslandGroup, ...],
        links_bytes_per_s: tuple[tuple[int, ...], ...],
        solver: str,
        time_limit_s: float | None,
        threads: int,
        seed: int,
        on_progress: OnProgress | None,
    ) -> None:
        self.problem = problem
        self.groups = groups
        self.links_bytes_per_s = links_bytes_per_s
        self.objective = problem.objective or best_affordable(problem, groups, solver)
        if problem.objective is None and self.objective == "simulated":
            time_limit_s = min(time_limit_s or math.inf, SIMULATED_LIMIT_S)
        self.solve = partial(
            solve, solver=solver, time_limit=time_limit_s, threads=threads, seed=seed, on_progress=on_progress
        )
        self.trials: list[Trial] = []
        self.ruled_out: list[Workload] = []
        self.best: Trial | None = None
        self.best_problem: CompositionProblem | None = None
        self.elapsed_s = 0.0

    def __call__(self, workload: Workload, answers: Sequence[PairAnswer]) -> None:
        """Solve the composition problem of one workload, unless no slice has a plan."""
        if not any(answer.plans for answer in answers):
            return
        started = time.perf_counter()
        problem = composition_problem(
            self.problem.name, self.problem.model, self.groups, self.links_bytes_per_s, workload, answers
        )
        problem = replace(problem, objective=self.objective, depths=self.problem.depths)
        if self.best is not None and _cannot_beat(problem, self.best.result.objective or 0):
            self.ruled_out.append(workload)
            self.elapsed_s += time.perf_counter() - started
            return
        trial = Trial(workload, len(problem.options), self.solve(problem))
        self.trials.append(trial)
        objective = trial.result.objective
        if objective is not None and (self.best is None or objective < (self.best.result.objective or 0)):
            self.best, self.best_problem = trial, problem
        self.elapsed_s += time.perf_counter() - started
        if trial.result.stop_reason is StopReason.INTERRUPTED:
            raise KeyboardInterrupt


def best_affordable(problem: PlanningProblem, groups: Sequence[IslandGroup], solver: str) -> Objective:
    """Choose the objective of a planning problem that does not state one.

    Parameters
    ----------
    problem : PlanningProblem
        It has the batch.
    groups : sequence of IslandGroup
        Its islands.
    solver : str
        Composes the slice plans.

    Returns
    -------
    {"simulated", "period"}
        The simulated time of few islands and atoms, where the longest pipeline of the most micro-batches can be run,
        depths are those of 1F1B and the solver is the one that minimises it; otherwise the period form.
    """
    islands, atoms = sum(group.count for group in groups), sum(1 for _ in problem.model.atoms())
    stages = min(problem.cluster.gpus, atoms)
    suffixes = math.prod(group.count + 1 for group in groups) * atoms * stages
    most = max(load.micro_batches for load in _workloads(problem))
    affordable = (
        problem.depths == "standard"
        and solver in ("auto", "dp")
        and islands <= MOST_SIMULATED
        and suffixes <= MOST_SUFFIXES
        and can_be_run(most, stages)
    )
    return "simulated" if affordable else "period"


def _cannot_beat(problem: CompositionProblem, best_ns: int) -> bool:
    """Tell, without a search, whether no composition takes less time."""
    if problem.objective == "simulated":
        return quick_makespan_bound_ns(problem, best_ns) >= best_ns
    return quick_bound_ns(problem) >= best_ns


def _workloads(problem: PlanningProblem) -> list[Workload]:
    batch = problem.global_batch
    sizes = [problem.micro_batch] if problem.micro_batch is not None else list(divisors(batch))
    return [Workload(batch, problem.sequence_length, size, problem.recipe) for size in sizes]
