"""What runs: a pipeline of stages under the 1F1B schedule, and one iteration of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tangram_opt.data.plan import PlannedStage

Times = NDArray[np.int64]

LONGEST_NS: Final = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class Link:
    """A link that carries the transfers of several boundaries, one after the other.

    Attributes
    ----------
    name : str
        For reports.
    activations, gradients : tuple of int
        The boundaries whose activations (to the back) and whose gradients (to the front) it carries; boundary s lies
        between stages s and s + 1.
    """

    name: str
    activations: tuple[int, ...] = ()
    gradients: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A chain of p stages that trains n micro-batches per iteration under 1F1B.

    Attributes
    ----------
    forward_ns, backward_ns : tuple of int, length p
        Time of one micro-batch on each stage.
    transfer_ns : tuple of int, length p - 1
        One-way transfer time over each boundary between neighbouring stages, the same both ways.
    sync_ns : tuple of int, length p
        What each stage does after its last backward.
    micro_batches : int
        n.
    depths : tuple of int, length p
        The most micro-batches that each stage keeps in flight: stage s runs ``min(depths[s], n) - 1`` warm-up
        forwards, then one forward and one backward in turn, then the backwards that are left. Left out they are
        those of standard 1F1B, stages after + 1. A stage must be at least as deep as the one behind it: otherwise
        that one waits for a forward that never comes.
    links : tuple of Link
        Links that several transfers share. What is not on one of them neither blocks anything nor waits for
        anything: it takes its time.

    Raises
    ------
    ValueError
        If the lengths do not fit together, a time is negative, there is no stage or no micro-batch, depths increase
        from a stage to the next, a link carries nothing, what is not there or what another one carries, or the times
        are too long for 64-bit nanoseconds.
    """

    forward_ns: tuple[int, ...]
    backward_ns: tuple[int, ...]
    transfer_ns: tuple[int, ...]
    sync_ns: tuple[int, ...]
    micro_batches: int
    depths: tuple[int, ...] = ()
    links: tuple[Link, ...] = ()

    def __post_init__(self) -> None:
        if not self.depths:
            object.__setattr__(self, "depths", standard_depths(self.stages))
        _check_lengths(self)
        _check_depths(self.depths)
        _check_links(self.links, self.stages - 1)
        # One pass after the other is the longest any schedule takes.
        serial = self.micro_batches * (sum(self.times_ns) + 2 * sum(self.transfer_ns)) + sum(self.sync_ns)
        if serial > LONGEST_NS:
            raise ValueError(f"times: up to {serial} ns in all, expected less than 2^63 ns")

    @property
    def stages(self) -> int:
        """Number of stages, p."""
        return len(self.forward_ns)

    @property
    def times_ns(self) -> tuple[int, ...]:
        """Forward and backward time of one micro-batch on each stage."""
        return tuple(f + b for f, b in zip(self.forward_ns, self.backward_ns, strict=True))

    def without_sync(self) -> Pipeline:
        """Make the same pipeline without synchronisation at the end."""
        return replace(self, sync_ns=(0,) * self.stages)

    def without_transfers(self) -> Pipeline:
        """Make the same pipeline with transfers that take no time and wait for no link."""
        return replace(self, transfer_ns=(0,) * (self.stages - 1), links=())


def of_stages(stages: Sequence[PlannedStage], micro_batches: int) -> Pipeline:
    """Make the 1F1B pipeline of planned stages, front to back, with their micro-batches in flight."""
    return Pipeline(
        tuple(stage.forward_ns for stage in stages),
        tuple(stage.backward_ns for stage in stages),
        tuple(stage.transfer_ns for stage in stages[:-1]),
        tuple(stage.sync_ns for stage in stages),
        micro_batches,
        depths_of([stage.in_flight for stage in stages], micro_batches),
    )


def depths_of(in_flight: Sequence[int], micro_batches: int) -> tuple[int, ...]:
    """Take the micro-batches in flight of stages as depths; those that hold all of them are as deep as in 1F1B."""
    standard = standard_depths(len(in_flight))
    return tuple(
        max(held, depth) if held >= micro_batches else held for held, depth in zip(in_flight, standard, strict=True)
    )


def standard_depths(stages: int) -> tuple[int, ...]:
    """Micro-batches in flight of standard 1F1B: stages after + 1."""
    return tuple(range(stages, 0, -1))


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """One iteration of a pipeline.

    Attributes
    ----------
    forward_start_ns, backward_start_ns : array of int64, shape (stages, micro_batches)
        When each stage starts its passes.
    activation_start_ns, gradient_start_ns : array of int64, shape (stages - 1, micro_batches)
        When each boundary starts its transfers, to the back and to the front.
    makespan_ns : int
        When the last stage has synchronised its gradients: the iteration time.
    """

    forward_start_ns: Times
    backward_start_ns: Times
    activation_start_ns: Times
    gradient_start_ns: Times
    makespan_ns: int


@dataclass(frozen=True, slots=True)
class Cycle:
    """Passes and transfers that wait for one another in a circle, from a micro-batch to a later one.

    Attributes
    ----------
    duration_ns : int
        Once around.
    micro_batches : int
        How many micro-batches later it comes back to the same pass.
    stages, boundaries : tuple of int
        The stages whose passes, and the boundaries whose transfers are on it, front to back.
    """

    duration_ns: int
    micro_batches: int
    stages: tuple[int, ...]
    boundaries: tuple[int, ...]

    @property
    def period_ns(self) -> Fraction:
        """Time per micro-batch."""
        return Fraction(self.duration_ns, self.micro_batches)


def _check_lengths(pipeline: Pipeline) -> None:
    stages = pipeline.stages
    if stages == 0:
        raise ValueError("forward_ns: no stages, expected at least one")
    if pipeline.micro_batches < 1:
        raise ValueError(f"micro_batches: {pipeline.micro_batches}, expected at least 1")
    for what, values, expected in (
        ("forward_ns", pipeline.forward_ns, stages),
        ("backward_ns", pipeline.backward_ns, stages),
        ("transfer_ns", pipeline.transfer_ns, stages - 1),
        ("sync_ns", pipeline.sync_ns, stages),
        ("depths", pipeline.depths, stages),
    ):
        if len(values) != expected:
            raise ValueError(f"{what}: {len(values)} values, expected {expected} for {stages} stages")
        if min(values, default=0) < 0:
            raise ValueError(f"{what}: {min(values)}, expected no negative value")


def _check_depths(depths: Sequence[int]) -> None:
    if depths[-1] < 1:
        raise ValueError(f"depths[{len(depths) - 1}]: {depths[-1]}, expected at least 1")
    for s in range(len(depths) - 1):
        if depths[s] < depths[s + 1]:
            raise ValueError(f"depths[{s}]: {depths[s]}, expected at least the {depths[s + 1]} of the stage behind it")


def _check_links(links: Sequence[Link], boundaries: int) -> None:
    for link in links:
        if not (link.activations or link.gradients):
            raise ValueError(f"links: {link.name!r} carries nothing, expected at least one boundary")
    for what in ("activations", "gradients"):
        carried = [boundary for link in links for boundary in getattr(link, what)]
        for boundary in carried:
            if not 0 <= boundary < boundaries:
                raise ValueError(f"links: {what} of boundary {boundary}, expected a boundary of 0 to {boundaries - 1}")
            if carried.count(boundary) > 1:
                raise ValueError(f"links: {what} of boundary {boundary} {carried.count(boundary)} times, expected once")
