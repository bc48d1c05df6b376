"""The 1F1B pipeline event by event: when every pass of every stage starts, and when the iteration ends.

Stage s of p runs ``min(p - 1 - s, n)`` warm-up forwards, then one forward and one backward in turn, then the
backwards that are left (PipeDream-flush, Narayanan et al. 2021). Transfers between stages do not block either side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tangram_opt.data.plan import PlannedStage

Times = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """One iteration of a pipeline.

    Attributes
    ----------
    forward_start_ns, backward_start_ns : array of int64, shape (stages, micro_batches)
        When each stage starts its passes.
    makespan_ns : int
        When the last stage has synchronised its gradients: the iteration time.
    """

    forward_start_ns: Times
    backward_start_ns: Times
    makespan_ns: int


def simulate(
    forward_ns: Sequence[int],
    backward_ns: Sequence[int],
    transfer_ns: Sequence[int],
    sync_ns: Sequence[int],
    micro_batches: int,
) -> Schedule:
    """Run one 1F1B iteration, every pass as early as its order and its input allow.

    In the lockstep of unit times stage s runs forward m at tick ``s + 2m`` and backward m at tick
    ``2p - 1 - s + 2m``. By that numbering every stage meets its passes in 1F1B order, and whatever a pass waits
    for is the latest pass of its own stage or of the neighbour that feeds it. So one sweep over the ticks with
    the time at which each stage falls free gives the exact times for any durations, in O(n p).

    Parameters
    ----------
    forward_ns, backward_ns : sequence of int, length p
        Time of one micro-batch on each stage.
    transfer_ns : sequence of int, length p - 1
        One-way transfer time over each boundary between neighbouring stages, the same both ways.
    sync_ns : sequence of int, length p
        What each stage does after its last backward.
    micro_batches : int
        Micro-batches per iteration, n.

    Returns
    -------
    Schedule
        Exact start times and the makespan.

    Raises
    ------
    ValueError
        If the lengths do not fit together, a time is negative, there is no stage or no micro-batch, or the times
        are too long for 64-bit nanoseconds.
    """
    _check(forward_ns, backward_ns, transfer_ns, sync_ns, micro_batches)
    stages, ticks = len(forward_ns), 2 * (micro_batches + len(forward_ns) - 1)
    forward, backward, transfer = (np.array(times, dtype=np.int64) for times in (forward_ns, backward_ns, transfer_ns))
    # The first stage waits for nobody in front and the last for nobody behind: pad with neighbours free at time 0.
    from_front = np.concatenate(([0], transfer))
    from_behind = np.concatenate((transfer, [0]))
    padded = np.zeros(stages + 2, dtype=np.int64)
    free, front, behind = padded[1:-1], padded[:-2], padded[2:]
    start = np.zeros((ticks, stages), dtype=np.int64)

    last = 2 * (micro_batches - 1)
    for tick in range(ticks):
        # Stages of the tick's parity run forward (tick - s) / 2, the others backward (tick + s + 1) / 2 - p, where
        # that is a micro-batch.
        forwards = slice(max(tick - last, tick % 2), min(tick + 1, stages), 2)
        drained = 2 * stages - 1 - tick
        backwards = slice(max(drained, (tick + 1) % 2), min(drained + last + 1, stages), 2)
        np.maximum(free[forwards], front[forwards] + from_front[forwards], out=start[tick, forwards])
        np.maximum(free[backwards], behind[backwards] + from_behind[backwards], out=start[tick, backwards])
        np.add(start[tick, forwards], forward[forwards], out=free[forwards])
        np.add(start[tick, backwards], backward[backwards], out=free[backwards])

    rows = range(stages)
    return Schedule(
        forward_start_ns=np.stack([start[s : s + 2 * micro_batches : 2, s] for s in rows]),
        backward_start_ns=np.stack([start[2 * stages - 1 - s :: 2, s][:micro_batches] for s in rows]),
        makespan_ns=int(np.max(free + np.array(sync_ns, dtype=np.int64))),
    )


def simulate_stages(stages: Sequence[PlannedStage], micro_batches: int) -> Schedule:
    """Run one 1F1B iteration of planned stages, front to back; see :func:`simulate`."""
    return simulate(
        [stage.forward_ns for stage in stages],
        [stage.backward_ns for stage in stages],
        [stage.transfer_ns for stage in stages[:-1]],
        [stage.sync_ns for stage in stages],
        micro_batches,
    )


def _check(
    forward_ns: Sequence[int],
    backward_ns: Sequence[int],
    transfer_ns: Sequence[int],
    sync_ns: Sequence[int],
    micro_batches: int,
) -> None:
    stages = len(forward_ns)
    if stages == 0:
        raise ValueError("forward_ns: no stages, expected at least one")
    if micro_batches < 1:
        raise ValueError(f"micro_batches: {micro_batches}, expected at least 1")
    for what, times, expected in (
        ("forward_ns", forward_ns, stages),
        ("backward_ns", backward_ns, stages),
        ("transfer_ns", transfer_ns, stages - 1),
        ("sync_ns", sync_ns, stages),
    ):
        if len(times) != expected:
            raise ValueError(f"{what}: {len(times)} values, expected {expected} for {stages} stages")
        if min(times, default=0) < 0:
            raise ValueError(f"{what}: {min(times)}, expected no negative time")
    # One pass after the other is the longest any schedule takes.
    serial = micro_batches * (sum(forward_ns) + sum(backward_ns) + 2 * sum(transfer_ns)) + sum(sync_ns)
    if int(serial) > np.iinfo(np.int64).max:
        raise ValueError(f"times: up to {serial} ns in all, expected less than 2^63 ns")
