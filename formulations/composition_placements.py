"""Options in their places, as far as the place matters.

A *run* is a longest stretch of equal atoms. A *placement* is an option in a place, as far as the place matters: the
slice lies inside one run (*interior*: where in the run is left open), or it *crosses* from one run into another, which
fixes its position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from tangram_opt.composition import depth_limit
from tangram_opt.data.composition import CompositionProblem, SignatureRun


@dataclass(frozen=True, slots=True)
class Placement:
    """An option in a place.

    Attributes
    ----------
    name : str
        ``x_<option>_<first atom>``; for an interior one the first atom of its run.
    option : int
        Index in the problem.
    island : int
        Index of the island class.
    slice : int
        Options with equal numbers have equal slices.
    first_run, last_run : int
        The runs in which its slice begins and ends; equal where it is interior.
    head, tail : int
        How many atoms of `first_run` and of `last_run` it takes; both are its length where it is interior.
    first_atoms : range
        Where it may begin.
    length, stages : int
        Atoms and pipeline stages, S.
    limit : int or None
        The most stages that may come after it, D; None where there can never be more.
    sum_ns, bottleneck_ns, sync_ns : int
        Its share of the three parts of the objective; the bottleneck is its slowest stage, or its own period.
    entry, exit : int
        Merged ports: column and row of the transfer times.
    most : int
        How often it can be used.
    """

    name: str
    option: int
    island: int
    slice: int
    first_run: int
    last_run: int
    head: int
    tail: int
    first_atoms: range
    length: int
    stages: int
    limit: int | None
    sum_ns: int
    bottleneck_ns: int
    sync_ns: int
    entry: int
    exit: int
    most: int

    @property
    def interior(self) -> bool:
        """Whether it lies inside one run."""
        return self.first_run == self.last_run

    @property
    def due(self) -> int | None:
        """Due date S + D: counted from the back, its first stage is at most this one; None where it is free."""
        return None if self.limit is None else self.stages + self.limit

    def atoms_of(self, run: int, count: int) -> int:
        """How many of the `count` atoms of a run it takes."""
        if run == self.first_run:
            return self.head
        if run == self.last_run:
            return self.tail
        return count if self.first_run < run < self.last_run else 0


def placements(
    problem: CompositionProblem,
    runs: Sequence[SignatureRun],
    counts: Sequence[int],
    most_stages: int,
    index: int,
    pieces: Sequence[SignatureRun],
    slice_number: int,
    slowest_ns: int,
) -> Iterable[Placement]:
    """Place an option wherever its slice fits; nowhere if it runs out of memory even as the last of the pipeline.

    Parameters
    ----------
    problem : CompositionProblem
        The problem.
    runs : sequence of SignatureRun
        The model, neighbouring runs unequal.
    counts : sequence of int
        Islands of each class.
    most_stages : int
        No composition has more stages.
    index : int
        The option.
    pieces : sequence of SignatureRun
        Its slice, neighbouring runs unequal.
    slice_number : int
        Equal slices have equal numbers.
    slowest_ns : int
        Its slowest stage, or its own period where that counts.

    Yields
    ------
    Placement
        One for each run that the slice can begin in.
    """
    option = problem.options[index]
    island = problem.class_index[option.island]
    limit = depth_limit(option, problem.islands[island], problem.micro_batches)
    if limit is not None and limit < 0:
        return
    if limit is not None and limit >= most_stages - len(option.stages):
        limit = None
    begin = 0
    for first, run in enumerate(runs):
        last = first + len(pieces) - 1
        if _fits(runs[first : last + 1], pieces):
            interior = last == first
            start = begin if interior else begin + run.count - pieces[0].count
            yield Placement(
                name=f"x_{index}_{start}",
                option=index,
                island=island,
                slice=slice_number,
                first_run=first,
                last_run=last,
                head=pieces[0].count,
                tail=pieces[-1].count,
                first_atoms=range(start, start + (run.count - option.length if interior else 0) + 1),
                length=option.length,
                stages=len(option.stages),
                limit=limit,
                sum_ns=option.sum_ns,
                bottleneck_ns=slowest_ns,
                sync_ns=option.sync_ns,
                entry=problem.port_index[option.entry_port],
                exit=problem.port_index[option.exit_port],
                most=min(counts[island], run.count // option.length) if interior else 1,
            )
        begin += run.count


def _fits(runs: Sequence[SignatureRun], pieces: Sequence[SignatureRun]) -> bool:
    """Whether a slice can begin in the first of some runs and end in the last, the runs between taken whole."""
    if [run.signature for run in runs] != [piece.signature for piece in pieces]:
        return False
    whole = all(run.count == piece.count for run, piece in list(zip(runs, pieces, strict=True))[1:-1])
    return whole and pieces[0].count <= runs[0].count and pieces[-1].count <= runs[-1].count


def merged_runs(runs: Iterable[SignatureRun]) -> tuple[SignatureRun, ...]:
    """Make one run of neighbouring runs of one signature."""
    return tuple(
        SignatureRun(signature, sum(run.count for run in equal))
        for signature, equal in groupby(runs, key=lambda run: run.signature)
    )
