"""Micro-batches in flight over time: each from the start of its forward to the end of its backward."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tangram_opt.pipeline.data import Schedule, Times


def in_flight_over_time(schedule: Schedule, backward_ns: Sequence[int]) -> list[tuple[Times, Times]]:
    """Count the micro-batches in flight of every stage whenever their number changes.

    Parameters
    ----------
    schedule : Schedule
        One iteration.
    backward_ns : sequence of int
        Backward time of each stage.

    Returns
    -------
    list of (times, counts)
        For each stage the times in ascending order, and the number from each of them on. What ends makes room for
        what starts at the same time.
    """
    curves = []
    for starts, backward_starts, backward in zip(
        schedule.forward_start_ns, schedule.backward_start_ns, backward_ns, strict=True
    ):
        changes = np.repeat((1, -1), len(starts))
        curves.append(level_over_time(np.concatenate((starts, backward_starts + backward)), changes))
    return curves


def peak_in_flight(schedule: Schedule, backward_ns: Sequence[int]) -> tuple[int, ...]:
    """Count the most micro-batches that each stage ever has in flight."""
    return tuple(int(counts.max()) for _, counts in in_flight_over_time(schedule, backward_ns))


def level_over_time(times_ns: Times, changes: Times) -> tuple[Times, Times]:
    """Add up changes: the distinct times in ascending order, and the level from each of them on."""
    distinct, which = np.unique(times_ns, return_inverse=True)
    sums = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(sums, which, changes)
    return distinct, np.cumsum(sums)
