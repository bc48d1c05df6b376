"""The closed-form iteration time: the one place that says what a composition is worth."""

from __future__ import annotations

from collections.abc import Sequence


def closed_form_ns(
    micro_batches: int, times_ns: Sequence[int], transfers_ns: Sequence[int], syncs_ns: Sequence[int]
) -> int:
    """Iteration time of a pipeline: (n-1) max t + sum t + 2 sum c + max sync.

    Parameters
    ----------
    micro_batches : int
        Micro-batches per iteration, n.
    times_ns, syncs_ns : sequence of int
        Forward and backward time of one micro-batch, and gradient synchronisation, of each of the S stages.
    transfers_ns : sequence of int
        One-way transfer time over each of the S-1 boundaries between neighbouring stages.

    Returns
    -------
    int
        Nanoseconds. The last term bounds the end of the iteration from above: no stage synchronises later than
        the last backward pass ends; with it 0 this is the form of the paper's section 5.2.
    """
    return closed_form_of_parts_ns(micro_batches, max(times_ns), sum(times_ns) + 2 * sum(transfers_ns), max(syncs_ns))


def closed_form_of_parts_ns(micro_batches: int, bottleneck_ns: int, sum_ns: int, sync_ns: int) -> int:
    """Write the closed form by its three parts: slowest stage, sum of times and transfers, longest sync.

    It increases in every part, so lower bounds of the parts give a lower bound of the iteration time.
    """
    return (micro_batches - 1) * bottleneck_ns + sum_ns + sync_ns
