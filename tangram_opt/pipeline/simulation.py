"""When every pass of every stage starts and when the iteration ends, for one pipeline or for many at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tangram_opt.data.plan import PlannedStage
from tangram_opt.pipeline.data import Pipeline, Schedule, Times, of_stages
from tangram_opt.pipeline.graph import EventGraph, one_f_one_b_graph

EVENTS_AT_ONCE = 2**19
"""Many pipelines are evaluated in parts of so many events, which stay in the caches of a processor."""


def simulate(
    forward_ns: Sequence[int],
    backward_ns: Sequence[int],
    transfer_ns: Sequence[int],
    sync_ns: Sequence[int],
    micro_batches: int,
) -> Schedule:
    """Run one iteration of standard 1F1B; the parameters are those of :class:`.Pipeline`, see :func:`run`."""
    return run(Pipeline(tuple(forward_ns), tuple(backward_ns), tuple(transfer_ns), tuple(sync_ns), micro_batches))


def simulate_stages(stages: Sequence[PlannedStage], micro_batches: int) -> Schedule:
    """Run one iteration of planned stages, front to back, with their micro-batches in flight; see :func:`run`."""
    return run(of_stages(stages, micro_batches))


def run(pipeline: Pipeline) -> Schedule:
    """Run one 1F1B iteration, every pass and transfer as early as its order and its input allow.

    Parameters
    ----------
    pipeline : Pipeline
        What to run.

    Returns
    -------
    Schedule
        Exact start times and the makespan, in O(n p).
    """
    graph = one_f_one_b_graph(pipeline.depths, pipeline.micro_batches, pipeline.links)
    return schedule_of(graph, pipeline)


def schedule_of(graph: EventGraph, pipeline: Pipeline) -> Schedule:
    """Run the stages of a pipeline in the order of any event graph of its shape."""
    end = graph.ends(duration_table(pipeline))
    forward_end, backward_end = end[graph.number[:2]]
    forward, backward = (np.array(times)[:, np.newaxis] for times in (pipeline.forward_ns, pipeline.backward_ns))
    transfer = np.array(pipeline.transfer_ns, dtype=np.int64)[:, np.newaxis]
    # What is not on a shared link starts when the pass before it ends.
    activations, gradients = (
        np.where(events >= 0, end[events] - transfer, sent)
        for events, sent in zip(graph.number[2:, :-1], (forward_end[:-1], backward_end[1:]), strict=True)
    )
    return Schedule(
        forward_start_ns=forward_end - forward,
        backward_start_ns=backward_end - backward,
        activation_start_ns=activations,
        gradient_start_ns=gradients,
        makespan_ns=int(np.max(backward_end.max(axis=1) + np.array(pipeline.sync_ns, dtype=np.int64))),
    )


def duration_table(pipeline: Pipeline) -> Times:
    """Make the table of durations that :meth:`.EventGraph.ends` takes."""
    rows = (*pipeline.forward_ns, *pipeline.backward_ns, *pipeline.transfer_ns, 0)
    return np.array(rows, dtype=np.int64)


def makespans(
    forward_ns: ArrayLike,
    backward_ns: ArrayLike,
    transfer_ns: ArrayLike,
    sync_ns: ArrayLike,
    micro_batches: int,
    depths: Sequence[int] = (),
) -> Times:
    """Evaluate many 1F1B pipelines of equally many stages at once; :func:`run` says the same of each of them.

    Parameters
    ----------
    forward_ns, backward_ns, sync_ns : array of int, shape (pipelines, p)
        Times of each stage.
    transfer_ns : array of int, shape (pipelines, p - 1)
        One-way transfer times.
    micro_batches : int
        n, of all of them.
    depths : sequence of int, length p
        The most micro-batches in flight, of all of them; left out those of standard 1F1B.

    Returns
    -------
    array of int64, shape (pipelines,)
        Iteration times.

    Raises
    ------
    ValueError
        As for :class:`.Pipeline`; times are too long where the longest of all of them together would be.
    """
    forward, backward, transfer, sync = (
        np.asarray(times, dtype=np.int64) for times in (forward_ns, backward_ns, transfer_ns, sync_ns)
    )
    if not (forward.ndim == 2 and forward.shape == backward.shape == sync.shape):
        raise ValueError(f"forward_ns, backward_ns, sync_ns: shapes {forward.shape}, {backward.shape}, {sync.shape}")
    if len(forward) == 0:
        return np.zeros(0, dtype=np.int64)
    if transfer.shape != (len(forward), forward.shape[1] - 1):
        raise ValueError(f"transfer_ns: shape {transfer.shape}, expected {(len(forward), forward.shape[1] - 1)}")
    columns = (forward, backward, transfer, sync)
    if any(times.min(initial=0) < 0 for times in columns):
        raise ValueError("times: a negative one, expected none")
    # The slowest of every column: a pipeline that no other one is longer than.
    f, b, c, y = (tuple(times.max(axis=0).tolist()) for times in columns)
    slowest = Pipeline(f, b, c, y, micro_batches, tuple(depths))
    graph = one_f_one_b_graph(slowest.depths, micro_batches)
    tables = np.concatenate((forward, backward, transfer, np.zeros((len(forward), 1), dtype=np.int64)), axis=1).T
    step = max(1, EVENTS_AT_ONCE // len(graph.row))
    parts = []
    for first in range(0, len(forward), step):
        chosen = slice(first, first + step)
        last = graph.ends(tables[:, chosen])[graph.number[1, :, -1]]
        parts.append(np.max(last + sync[chosen].T, axis=0))
    return np.concatenate(parts)
