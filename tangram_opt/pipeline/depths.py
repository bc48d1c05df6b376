"""How many micro-batches each stage should keep in flight, where that is a decision.

A stage that keeps more of them in flight than 1F1B does runs ahead and hides the transfers behind it. To keep a period
P, every round trip from a stage s to a stage e behind it must fit into the micro-batches that are in flight between
them: ``sum of t over s..e + 2 * sum of c between them <= (k_s - k_e + 1) P``. For a given P these are constraints on
differences, so there is one solution that is the least at every stage. It is built from the back.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from tangram_opt.pipeline.data import standard_depths
from tangram_opt.pipeline.period import period_ns


def least_depths(
    times_ns: Sequence[int], transfers_ns: Sequence[int], period: int, most: Sequence[int | None]
) -> tuple[int, ...] | None:
    """Find the least depths from those of 1F1B up that keep a period.

    Parameters
    ----------
    times_ns : sequence of int, length p
        Forward and backward time of one micro-batch on each stage, none of them 0.
    transfers_ns : sequence of int, length p - 1
        One-way transfer times.
    period : int
        Nanoseconds per micro-batch.
    most : sequence of int or None, length p
        The most micro-batches that each stage may keep in flight, at least those of 1F1B; None for any number.

    Returns
    -------
    tuple of int or None
        In-flight depths, never increasing from a stage to the next; None where no depths keep the period.
    """
    depths: list[int] = []
    # The longest, over all stages e from s on, of the round trip from s to e plus k_e periods.
    reach = 0
    for s in reversed(range(len(times_ns))):
        around = times_ns[s] + (2 * transfers_ns[s] + reach if depths else 0)
        depth = max(len(depths) + 1, -(-around // period) - 1)
        limit = most[s]
        if times_ns[s] > period or (limit is not None and depth > limit):
            return None
        depths.append(depth)
        reach = max(times_ns[s] + depth * period, around)
    return tuple(reversed(depths))


def least_period_ns(times_ns: Sequence[int], transfers_ns: Sequence[int], most: Sequence[int | None]) -> int:
    """Find the least period that any depths from those of 1F1B up keep, in whole nanoseconds.

    Parameters
    ----------
    times_ns, transfers_ns, most
        As for :func:`least_depths`.

    Returns
    -------
    int
        It is never above the period of 1F1B, and never below the time of the slowest stage.
    """
    low, high = max(times_ns), ceil(period_ns(times_ns, transfers_ns))
    # What a stage cannot bear rules out a period and all shorter ones.
    while low < high:
        middle = (low + high) // 2
        if least_depths(times_ns, transfers_ns, middle, most) is None:
            low = middle + 1
        else:
            high = middle
    return low


def bearable_depths(stages_in_flight: Sequence[int], micro_batches: int) -> tuple[int | None, ...]:
    """Take the micro-batches in flight of a pipeline as the most that its stages may keep; all of them are no limit."""
    return tuple(
        None if held >= micro_batches else max(held, standard)
        for held, standard in zip(stages_in_flight, standard_depths(len(stages_in_flight)), strict=True)
    )
