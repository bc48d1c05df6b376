"""The time in which stages do not compute, by what it would take to be rid of it."""

from __future__ import annotations

from dataclasses import dataclass

from tangram_opt.pipeline.data import Pipeline
from tangram_opt.pipeline.simulation import run


@dataclass(frozen=True, slots=True)
class Bubble:
    """What every stage does with the time of an iteration besides computing; the causes add up to all of it.

    Each cause is what it adds when they are put in one after the other: a pipeline whose stages all take as long as
    the slowest one, the time to fill and drain it, transfers, synchronisation.

    Attributes
    ----------
    imbalance_ns : tuple of int, one per stage
        n times what the stage is faster than the slowest stage: what equal stages would compute instead.
    fill_and_drain_ns : int
        The iteration without transfers and synchronisation, beyond n passes of the slowest stage: what a schedule
        without bubbles, or more micro-batches, would save. With depths too small for a full pipeline, what they cost.
    transfers_ns : int
        How much longer transfers, and waiting for shared links, make the iteration.
    sync_ns : int
        How much longer synchronisation makes it; the rest of it runs while other stages still compute.
    """

    imbalance_ns: tuple[int, ...]
    fill_and_drain_ns: int
    transfers_ns: int
    sync_ns: int

    @property
    def idle_ns(self) -> tuple[int, ...]:
        """Time of the iteration in which each stage runs no pass."""
        common = self.fill_and_drain_ns + self.transfers_ns + self.sync_ns
        return tuple(common + imbalance for imbalance in self.imbalance_ns)


def bubble_by_cause(pipeline: Pipeline) -> Bubble:
    """Attribute the idle time of every stage to its causes.

    Parameters
    ----------
    pipeline : Pipeline
        With any depths and links.

    Returns
    -------
    Bubble
        No part of it is negative: whatever takes less time, or is not there, delays nothing.
    """
    without_sync = pipeline.without_sync()
    makespan, passes, computation = (
        run(each).makespan_ns for each in (pipeline, without_sync, without_sync.without_transfers())
    )
    slowest = max(pipeline.times_ns)
    return Bubble(
        imbalance_ns=tuple(pipeline.micro_batches * (slowest - time) for time in pipeline.times_ns),
        fill_and_drain_ns=computation - pipeline.micro_batches * slowest,
        transfers_ns=passes - computation,
        sync_ns=makespan - passes,
    )
