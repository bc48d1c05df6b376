"""Schedules with a split backward, without a solver: what they are worth, whether they are allowed, simple ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from tangram_opt.data.schedule import ScheduleProblem, SplitSchedule, SplitStage
from tangram_opt.pipeline.data import Pipeline
from tangram_opt.pipeline.memory import level_over_time
from tangram_opt.pipeline.simulation import run


def iteration_ns(problem: ScheduleProblem, schedule: SplitSchedule) -> int:
    """Measure the iteration time of a schedule, allowed or not; see :attr:`.ScheduleProblem.barrier`."""
    begins = [min(starts) for starts in schedule.forward_start_ns]
    ends = [
        max(end for _, end in _passes(schedule, stage, s)) + stage.sync_ns for s, stage in enumerate(problem.stages)
    ]
    if problem.barrier:
        return max(ends) - min(begins)
    return max(end - begin for begin, end in zip(begins, ends, strict=True))


def peak_bytes(problem: ScheduleProblem, schedule: SplitSchedule) -> tuple[int, ...]:
    """Measure the most memory that the micro-batches of each stage take at any time."""
    return tuple(_peak(stage, schedule, s) for s, stage in enumerate(problem.stages))


def check_schedule(problem: ScheduleProblem, schedule: SplitSchedule) -> tuple[str, ...]:
    """Name every condition that a schedule violates.

    Parameters
    ----------
    problem : ScheduleProblem
        The problem.
    schedule : SplitSchedule
        A solution.

    Returns
    -------
    tuple of str
        One sentence per violated condition; empty where the schedule is allowed.
    """
    if schedule.problem != problem.name:
        return (f"problem: {schedule.problem!r}, expected {problem.name!r}",)
    shape = (len(problem.stages), problem.micro_batches)
    for what in ("forward_start_ns", "input_gradient_start_ns", "weight_gradient_start_ns"):
        rows = getattr(schedule, what)
        if len(rows) != shape[0] or any(len(row) != shape[1] for row in rows):
            return (f"{what}: expected {shape[0]} rows of {shape[1]} starts",)
    return (*_orders(problem, schedule), *_overlaps(problem, schedule), *_memory(problem, schedule))


def lower_bound_ns(problem: ScheduleProblem) -> int:
    """Bound the iteration time from below: all passes of a stage, after the first micro-batch has come to it.

    Without a barrier a stage need not wait for it: the stages in front start the iteration earlier.
    """
    longest, arrival = 0, 0
    for stage, hop in zip(problem.stages, (*problem.transfer_ns, 0), strict=True):
        work = problem.micro_batches * stage.time_ns + stage.sync_ns
        longest = max(longest, work + arrival if problem.barrier else work)
        arrival += stage.forward_ns + hop
    return longest


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
        depths.append(min(p - s, fitting, *depths))
    # No stage may be deeper than the one in front of it.
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
        start, pass_, s = min(
            (max(free[s], ready), pass_, s) for s in range(p) for pass_, ready in _ready(problem, starts, s)
        )
        kind = PREFERENCE[pass_]
        starts[kind][s].append(start)
        free[s] = start + _durations(problem.stages[s])[kind]
    return _solution(problem, *starts)


Starts = tuple[list[list[int]], list[list[int]], list[list[int]]]
"""Of forwards, gradients of inputs and gradients of weights: for each stage those that have been scheduled."""

FORWARD, INPUT, WEIGHT = range(3)
PREFERENCE = (INPUT, FORWARD, WEIGHT)


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


def _durations(stage: SplitStage) -> tuple[int, int, int]:
    return stage.forward_ns, stage.input_gradient_ns, stage.weight_gradient_ns


def _rows(schedule: SplitSchedule) -> tuple[tuple[tuple[int, ...], ...], ...]:
    return schedule.forward_start_ns, schedule.input_gradient_start_ns, schedule.weight_gradient_start_ns


def _passes(schedule: SplitSchedule, stage: SplitStage, s: int) -> list[tuple[int, int]]:
    """Start and end of all passes of a stage, sorted."""
    return sorted(
        (start, start + duration)
        for rows, duration in zip(_rows(schedule), _durations(stage), strict=True)
        for start in rows[s]
    )


def _peak(stage: SplitStage, schedule: SplitSchedule, s: int) -> int:
    forwards, inputs, weights = (np.array(rows[s], dtype=np.int64) for rows in _rows(schedule))
    freed = stage.activation_bytes - stage.kept_bytes
    _, levels = level_over_time(
        np.concatenate((forwards, inputs + stage.input_gradient_ns, weights + stage.weight_gradient_ns)),
        np.repeat((stage.activation_bytes, -freed, -stage.kept_bytes), len(forwards)),
    )
    return int(levels.max())


def _orders(problem: ScheduleProblem, schedule: SplitSchedule) -> Iterator[str]:
    """Name the passes that start before their input is there."""
    hops = (0, *problem.transfer_ns)
    for s, stage in enumerate(problem.stages):
        for m in range(problem.micro_batches):
            forward, gradient, weight = (rows[s][m] for rows in _rows(schedule))
            arrival = 0
            if s:
                arrival = schedule.forward_start_ns[s - 1][m] + problem.stages[s - 1].forward_ns + hops[s]
            if forward < arrival:
                yield f"stage {s}: forward {m} starts at {forward} ns, its input is there at {arrival} ns"
            arrival = forward + stage.forward_ns
            if s + 1 < len(problem.stages):
                sent = schedule.input_gradient_start_ns[s + 1][m] + problem.stages[s + 1].input_gradient_ns
                arrival = max(arrival, sent + hops[s + 1])
            if gradient < arrival:
                yield f"stage {s}: input gradient {m} starts at {gradient} ns, its input is there at {arrival} ns"
            if weight < gradient + stage.input_gradient_ns:
                yield f"stage {s}: weight gradient {m} starts at {weight} ns, before its input gradient has ended"


def _overlaps(problem: ScheduleProblem, schedule: SplitSchedule) -> Iterator[str]:
    for s, stage in enumerate(problem.stages):
        for (_, end), (start, _) in pairwise(_passes(schedule, stage, s)):
            if start < end:
                yield f"stage {s}: a pass starts at {start} ns, before the one that runs ends at {end} ns"


def _memory(problem: ScheduleProblem, schedule: SplitSchedule) -> Iterator[str]:
    for s, (stage, peak) in enumerate(zip(problem.stages, peak_bytes(problem, schedule), strict=True)):
        if peak > stage.limit_bytes:
            yield f"stage {s}: micro-batches take {peak} bytes, it has {stage.limit_bytes}"
