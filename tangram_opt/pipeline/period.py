"""The steady state of 1F1B: the time per micro-batch, and the cycle of passes and transfers that sets it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tangram_opt.pipeline.data import Cycle, Pipeline, standard_depths
from tangram_opt.pipeline.shared import slowest_cycle


def period_ns(times_ns: Sequence[int], transfers_ns: Sequence[int], depths: Sequence[int] = ()) -> Fraction:
    """Time per micro-batch of 1F1B in the steady state, where no link is shared.

    It is the longest, per micro-batch, of all round trips: from a stage s to a stage e behind it and back,
    ``(sum of t over s..e + 2 * sum of c between them) / (k_s - k_e + 1)``, k being the in-flight depths: so many
    micro-batches later stage s runs the forward that waits for it. The event graph has no other simple cycles.

    Parameters
    ----------
    times_ns : sequence of int, length p
        Forward and backward time of one micro-batch on each stage.
    transfers_ns : sequence of int, length p - 1
        One-way transfer times.
    depths : sequence of int, length p
        The most micro-batches in flight; left out those of standard 1F1B.

    Returns
    -------
    Fraction
        Nanoseconds, exact.
    """
    return slowest_round_trip(times_ns, transfers_ns, depths).period_ns


def slowest_round_trip(times_ns: Sequence[int], transfers_ns: Sequence[int], depths: Sequence[int] = ()) -> Cycle:
    """Find the round trip that sets :func:`period_ns`; of equally slow ones the shortest, then the front one."""
    k = depths or standard_depths(len(times_ns))
    slowest, turns, first, last = times_ns[0], 1, 0, 0
    for s in range(len(times_ns)):
        around = 0
        for e in range(s, len(times_ns)):
            around += times_ns[e] + (2 * transfers_ns[e - 1] if e > s else 0)
            # Cross-multiplied, as fractions would take most of the time.
            longer = around * turns - slowest * (k[s] - k[e] + 1)
            if longer > 0 or (longer == 0 and e - s < last - first):
                slowest, turns, first, last = around, k[s] - k[e] + 1, s, e
    return Cycle(slowest, turns, tuple(range(first, last + 1)), tuple(range(first, last)))


def critical_cycle(pipeline: Pipeline) -> Cycle:
    """Find the cycle that sets the steady state of a pipeline, with what its shared links add.

    Parameters
    ----------
    pipeline : Pipeline
        With any depths and links.

    Returns
    -------
    Cycle
        One of those that take longest per micro-batch.
    """
    if pipeline.links:
        return slowest_cycle(pipeline)
    return slowest_round_trip(pipeline.times_ns, pipeline.transfer_ns, pipeline.depths)
