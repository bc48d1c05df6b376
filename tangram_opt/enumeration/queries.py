"""Ask the parallelizer, in this process or in several."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from tangram_opt.data.workload import Workload
from tangram_opt.enumeration.pairs import Pair
from tangram_opt.interrupts import end_with, interrupts_blocked
from tangram_opt.parallelizers.interface import Parallelizer, SlicePlan

CHUNKS_PER_WORKER = 16
"""Work is handed out in about as many parts per worker: few enough to be cheap, many enough to share evenly."""


@dataclass(frozen=True, slots=True)
class Query:
    """One pair under one workload."""

    pair: Pair
    workload: Workload


@dataclass(frozen=True)
class PairAnswer:
    """The plans of one pair under one workload, or the reason why there is none.

    Attributes
    ----------
    query : Query
        What was asked.
    plans : tuple of SlicePlan
        For every number of stages after the slice that some plan tolerates.
    queries : int
        How often the parallelizer was asked.
    reason : str
        Why there is no plan; empty where there is one.
    """

    query: Query
    plans: tuple[SlicePlan, ...]
    queries: int
    reason: str


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """How many of the queries are answered."""

    done: int
    total: int


def run_queries(parallelizer: Parallelizer, queries: Sequence[Query], *, workers: int = 1) -> Iterator[PairAnswer]:
    """Answer all queries.

    Parameters
    ----------
    parallelizer : Parallelizer
        Whom to ask; it is sent to the workers.
    queries : sequence of Query
        What to ask.
    workers : int
        Processes; 1 asks in this one, when an answer is wanted.

    Yields
    ------
    PairAnswer
        In the order of the queries. Workers go on while an answer is made use of; they end with the iterator.
    """
    if workers == 1:
        yield from _ask_all(parallelizer, queries)
        return
    size = max(1, len(queries) // (workers * CHUNKS_PER_WORKER))
    chunks = [queries[i : i + size] for i in range(0, len(queries), size)]
    # Spawned rather than forked: the parent may run threads (progress bars, solvers).
    pool = ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=end_with, initargs=(os.getpid(),)
    )
    finished = False
    try:
        # The workers start while the chunks are handed out.
        with interrupts_blocked():
            answered = pool.map(_ask_chunk, [parallelizer] * len(chunks), chunks)
        for answers in answered:
            yield from answers
        finished = True
    finally:
        # A question may take minutes, and at its exit Python waits for the workers: they are ended. (Python 3.14 has a
        # method for that.)
        unfinished = () if finished else tuple((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in unfinished:
            process.kill()


def _ask_chunk(parallelizer: Parallelizer, queries: Sequence[Query]) -> list[PairAnswer]:
    return list(_ask_all(parallelizer, queries))


def _ask_all(parallelizer: Parallelizer, queries: Iterable[Query]) -> Iterator[PairAnswer]:
    for query in queries:
        yield ask(parallelizer, query)


def ask(parallelizer: Parallelizer, query: Query) -> PairAnswer:
    """Ask for plans with ever more stages after the slice until there are none (paper section 5.2).

    A plan is reused for every smaller number of stages after it, so the next question is for one stage more than
    the most tolerant plan so far allows.
    """
    plans: dict[SlicePlanKey, SlicePlan] = {}
    asked = stages_after = 0
    reason = ""
    while stages_after < query.workload.micro_batches or not asked:
        answer = parallelizer.parallelize(query.pair.model_slice, query.pair.island, query.workload, stages_after)
        asked += 1
        plans.update({plan_key(plan): plan for plan in answer.plans})
        if not answer.plans:
            reason = "" if plans else answer.reason
            break
        if answer.complete or any(plan.max_stages_after is None for plan in answer.plans):
            break
        deepest = max(plan.max_stages_after or 0 for plan in answer.plans)
        if deepest < stages_after:
            raise ValueError(
                f"parallelizer {parallelizer.name!r} was asked for plans with {stages_after} stages after them and "
                f"answered with plans for at most {deepest}"
            )
        stages_after = deepest + 1
    return PairAnswer(query, tuple(plans.values()), asked, reason)


SlicePlanKey = tuple[object, ...]


def plan_key(plan: SlicePlan) -> SlicePlanKey:
    """What tells two plans apart."""
    return (plan.stages, plan.inner_transfers_ns, plan.max_stages_after, plan.boundary_nodes)
