"""What a schedule with a split backward is worth and whether it is allowed, without any solver."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tangram_opt.data.schedule import ScheduleProblem, SplitSchedule, SplitStage
from tangram_opt.pipeline.memory import level_over_time


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
