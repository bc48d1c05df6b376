"""Schedules beside standard 1F1B on the same stages: what each takes in time and memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tangram_opt.data.plan import PlannedStage
from tangram_opt.data.schedule import ScheduleProblem, SplitStage
from tangram_opt.pipeline.data import Pipeline, Schedule, of_stages, standard_depths
from tangram_opt.pipeline.graph import event_graph
from tangram_opt.pipeline.memory import level_over_time
from tangram_opt.pipeline.orders import gpipe, interleaved
from tangram_opt.pipeline.simulation import run, schedule_of

CHUNKS = (2, 4)
"""Interleaved schedules that are tried, by the chunks of layers on each stage."""


@dataclass(frozen=True, slots=True)
class ScheduleCost:
    """What a schedule takes.

    Attributes
    ----------
    name : str
        Name of the schedule.
    makespan_ns : int
        Iteration time.
    memory_bytes : tuple of int
        Peak memory of a GPU of each stage.
    """

    name: str
    makespan_ns: int
    memory_bytes: tuple[int, ...]


def standard_schedules(stages: Sequence[PlannedStage], micro_batches: int) -> list[ScheduleCost]:
    """Run the stages of a plan under the schedules of the literature.

    Interleaved 1F1B cuts every stage into equal chunks. It is there where every stage has enough layers for them and
    the micro-batches are a multiple of the stages; the way from the last stage back to the first, which a plan does
    not tell, is taken to be as slow as the slowest transfer between neighbours.

    Parameters
    ----------
    stages : sequence of PlannedStage
        Front to back.
    micro_batches : int
        Per iteration.

    Returns
    -------
    list of ScheduleCost
        That of the plan first: 1F1B, with the depths of the plan if they are others.
    """
    planned = of_stages(stages, micro_batches)
    p, n = planned.stages, micro_batches
    pipeline = replace(planned, depths=standard_depths(p))
    deep = replace(pipeline, depths=tuple(2 * depth - 1 for depth in pipeline.depths))
    costs = [] if planned == pipeline else [_cost("1F1B, depths as planned", stages, planned, run(planned))]
    costs += [
        _cost("1F1B", stages, pipeline, run(pipeline)),
        _cost("1F1B, warm-up doubled", stages, deep, run(deep)),
        _cost("GPipe", stages, pipeline, schedule_of(event_graph(gpipe(p, n), p, n), pipeline)),
    ]
    for chunks in CHUNKS:
        if p > 1 and n % p == 0 and min(stage.layers for stage in stages) >= chunks:
            chunked = interleaved_pipeline(pipeline, chunks)
            graph = event_graph(interleaved(p, chunks, n), p * chunks, n)
            schedule = schedule_of(graph, chunked)
            costs.append(_cost(f"interleaved 1F1B, {chunks} chunks", stages, chunked, schedule))
    return costs


def interleaved_pipeline(pipeline: Pipeline, chunks: int) -> Pipeline:
    """Cut every stage into chunks, and put them in the order in which a micro-batch goes through them."""
    back = max(pipeline.transfer_ns, default=0)

    def cut(times_ns: Sequence[int]) -> tuple[int, ...]:
        # Earlier chunks take what does not divide.
        return tuple(time // chunks + (chunk < time % chunks) for chunk in range(chunks) for time in times_ns)

    return Pipeline(
        forward_ns=cut(pipeline.forward_ns),
        backward_ns=cut(pipeline.backward_ns),
        transfer_ns=((*pipeline.transfer_ns, back) * chunks)[:-1],
        sync_ns=pipeline.sync_ns * chunks,
        micro_batches=pipeline.micro_batches,
    )


def split_problem(name: str, stages: Sequence[PlannedStage], micro_batches: int, *, barrier: bool) -> ScheduleProblem:
    """Ask for the best schedule of the stages of a plan, with their backward in two passes.

    A plan does not say how long the gradient of the weights takes. It has as many multiplications as the forward, and
    at most half of those of a backward: it is taken to be as long as the forward, and at most half of the backward.
    The memory of a micro-batch is taken to be needed until its last pass.

    Parameters
    ----------
    name : str
        Name of the problem.
    stages : sequence of PlannedStage
        Front to back.
    micro_batches : int
        Per iteration.
    barrier : bool
        See :class:`.ScheduleProblem`.

    Returns
    -------
    ScheduleProblem
        The problem.
    """
    split = []
    for stage in stages:
        weight = min(stage.forward_ns, stage.backward_ns // 2)
        split.append(
            SplitStage(
                forward_ns=stage.forward_ns,
                input_gradient_ns=stage.backward_ns - weight,
                weight_gradient_ns=weight,
                sync_ns=stage.sync_ns,
                activation_bytes=stage.in_flight_bytes,
                kept_bytes=stage.in_flight_bytes,
                limit_bytes=stage.memory_limit_bytes - stage.static_bytes,
            )
        )
    return ScheduleProblem(
        name, tuple(split), tuple(stage.transfer_ns for stage in stages[:-1]), micro_batches, barrier
    )


def _cost(name: str, stages: Sequence[PlannedStage], pipeline: Pipeline, schedule: Schedule) -> ScheduleCost:
    chunks = pipeline.stages // len(stages)
    backward = np.array(pipeline.backward_ns)[:, np.newaxis]
    taken, freed = schedule.forward_start_ns, schedule.backward_start_ns + backward
    memory = []
    for s, stage in enumerate(stages):
        own = slice(s, None, len(stages))
        times = np.concatenate((taken[own].ravel(), freed[own].ravel()))
        _, held = level_over_time(times, np.repeat((1, -1), chunks * pipeline.micro_batches))
        memory.append(stage.static_bytes - int(held.max()) * stage.in_flight_bytes // -chunks)
    return ScheduleCost(name, schedule.makespan_ns, tuple(memory))
