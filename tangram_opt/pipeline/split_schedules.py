"""Simple schedules with a split backward: 1F1B, and a greedy one that fills gaps with gradients of weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tangram_opt.data.schedule import ScheduleProblem, SplitSchedule
from tangram_opt.pipeline.data import Pipeline
from tangram_opt.pipeline.simulation import run

Starts = tuple[list[list[int]], list[list[int]], list[list[int]]]
"""Of forwards, gradients of inputs and gradients of weights: for each stage those that have been scheduled."""

FORWARD, INPUT, WEIGHT = range(3)
PREFERENCE = (INPUT, FORWARD, WEIGHT)


def as_one_f_one_b(problem: ScheduleProblem) -> SplitSchedule:
    """Schedule by 1F1B, both gradients one after the other; each stage as deep as its memory and standard 1F1B allow.

    Parameters
    ----------
    problem : ScheduleProblem
        The problem.

    Returns
    -------
    SplitSchedule
        An allowed schedule.
    """
    p, n = len(problem.stages), problem.micro_batches
    depths: list[int] = []
    for s, stage in enumerate(problem.stages):
        fitting = stage.limit_bytes // stage.activation_bytes if stage.activation_bytes else n
        depths.append(min(p - s, fitting, *depths))  # no deeper than the stage in front of it
    schedule = run(
        Pipeline(
            tuple(stage.forward_ns for stage in problem.stages),
            tuple(stage.input_gradient_ns + stage.weight_gradient_ns for stage in problem.stages),
            problem.transfer_ns,
            tuple(stage.sync_ns for stage in problem.stages),
            n,
            tuple(depths),
        )
    )
    inputs = schedule.backward_start_ns
    after = np.array([[stage.input_gradient_ns] for stage in problem.stages])
    return _solution(problem, schedule.forward_start_ns.tolist(), inputs.tolist(), (inputs + after).tolist())


def as_zero_bubble(problem: ScheduleProblem) -> SplitSchedule:
    """Schedule greedily: whenever a stage is free, a gradient of the input before a forward before one of the weights.

    Gradients of weights fill the gaps, in the manner of the schedules ZB-H1 and ZB-H2 (Qi et al. 2023); how many
    forwards run ahead is up to the memory.

    Parameters
    ----------
    problem : ScheduleProblem
        The problem.

    Returns
    -------
    SplitSchedule
        An allowed schedule.
    """
    p, n = len(problem.stages), problem.micro_batches
    starts: Starts = ([[] for _ in range(p)], [[] for _ in range(p)], [[] for _ in range(p)])
    free = [0] * p
    # The stage that can start a pass first starts it: what is still unknown can only come later.
    for _ in range(3 * p * n):
        start, choice, s = min(
            (max(free[s], ready), choice, s) for s in range(p) for choice, ready in _ready(problem, starts, s)
        )
        kind = PREFERENCE[choice]
        stage = problem.stages[s]
        starts[kind][s].append(start)
        free[s] = start + (stage.forward_ns, stage.input_gradient_ns, stage.weight_gradient_ns)[kind]
    return _solution(problem, *starts)


def _ready(problem: ScheduleProblem, starts: Starts, s: int) -> Iterator[tuple[int, int]]:
    """List the passes that a stage can run next, by their place in `PREFERENCE`, and when their input is there."""
    stage, last = problem.stages[s], len(problem.stages) - 1
    forwards, inputs, weights = (len(rows[s]) for rows in starts)
    if inputs < forwards:
        if s == last:
            yield 0, starts[FORWARD][s][inputs] + stage.forward_ns
        elif inputs < len(starts[INPUT][s + 1]):
            behind = problem.stages[s + 1].input_gradient_ns + problem.transfer_ns[s]
            yield 0, starts[INPUT][s + 1][inputs] + behind
    held = (forwards - inputs + 1) * stage.activation_bytes + (inputs - weights) * stage.kept_bytes
    if forwards < problem.micro_batches and held <= stage.limit_bytes:
        if s == 0:
            yield 1, 0
        elif forwards < len(starts[FORWARD][s - 1]):
            in_front = problem.stages[s - 1].forward_ns + problem.transfer_ns[s - 1]
            yield 1, starts[FORWARD][s - 1][forwards] + in_front
    if weights < inputs:
        yield 2, 0


def _solution(
    problem: ScheduleProblem,
    forwards: Sequence[Sequence[int]],
    inputs: Sequence[Sequence[int]],
    weights: Sequence[Sequence[int]],
) -> SplitSchedule:
    return SplitSchedule(problem.name, *(tuple(tuple(row) for row in rows) for rows in (forwards, inputs, weights)))
