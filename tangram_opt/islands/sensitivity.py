"""How the islands change as tolerances move: exact breakpoints, few solves."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any

from tangram_opt.data.island import IslandsProblem, Partition, Tolerances
from tangram_opt.errors import NoPlanError
from tangram_opt.islands.breakpoints import Tolerance, breakpoints
from tangram_opt.islands.evaluation import PartitionValue, evaluate
from tangram_opt.result import Outcome, Result

Solve = Callable[[IslandsProblem], Result[Partition]]


@dataclass(frozen=True, slots=True)
class Interval:
    """Tolerances with the same best islands.

    Attributes
    ----------
    start, end : Fraction
        From `start` on, and below `end`; the last interval includes its end.
    tolerances : Tolerances
        Some of the interval, in few digits.
    partition : Partition
        The islands.
    value : PartitionValue
        What they are worth.
    proven : bool
        Whether no other islands are better, at any tolerance of the interval.
    """

    start: Fraction
    end: Fraction
    tolerances: Tolerances
    partition: Partition
    value: PartitionValue
    proven: bool


def sensitivity(
    problem: IslandsProblem, moved: Collection[Tolerance], low: Fraction, high: Fraction, solve: Solve
) -> tuple[Interval, ...]:
    """Find the best islands for every tolerance of a range.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster, and the tolerances that stay.
    moved : collection of str
        The tolerances that move together.
    low, high : Fraction
        The range.
    solve : callable
        Solves an islands problem.

    Returns
    -------
    tuple of Interval
        The whole range, ascending; neighbours differ in the value of their islands.

    Notes
    -----
    A larger tolerance allows every partition that a smaller one allows, so the best value can only improve. Where it
    is the same at two tolerances it is so at all between them, which saves the solves there; for the same reason a
    proof at the last of them is one for all. A partition that was found at a smaller tolerance is kept where a solver
    finds nothing better at a larger one.
    """
    starts = (low, *breakpoints(problem, moved, low, high))
    ends = (*starts[1:], high)
    found: dict[int, Interval] = {}

    def look(number: int) -> Interval:
        shortest = shortest_decimal(starts[number], ends[number])
        values: dict[str, Any] = dict.fromkeys(moved, float(shortest))
        tolerances = replace(problem.tolerances, **values)
        at = replace(problem, tolerances=tolerances)
        result = solve(at)
        partition = result.solution
        if partition is None:
            raise NoPlanError(f"{problem.name}: no islands found by {result.solver}: {'; '.join(result.log)}")
        proven = result.outcome is Outcome.OPTIMAL
        found[number] = Interval(starts[number], ends[number], tolerances, partition, evaluate(at, partition), proven)
        return found[number]

    todo = [(0, len(starts) - 1)]
    look(0)
    if len(starts) > 1:
        look(len(starts) - 1)
    while todo:
        first, last = todo.pop()
        if last - first > 1 and found[first].value != found[last].value:
            middle = (first + last) // 2
            look(middle)
            todo += [(first, middle), (middle, last)]
    return _joined([found[number] for number in sorted(found)], high)


def shortest_decimal(low: Fraction, high: Fraction) -> Fraction:
    """Find a number of few decimals that is at least `low` and below `high`, or `low` itself where these are equal."""
    digits = 0
    while True:
        scale = 10**digits
        number = Fraction(ceil(low * scale), scale)
        if number < high or low == high == number:
            return number
        digits += 1


def _joined(found: list[Interval], high: Fraction) -> tuple[Interval, ...]:
    """Let each interval reach to the next one that is better."""
    kept = [found[0]]
    for interval in found[1:]:
        if interval.value.costs < kept[-1].value.costs:
            kept[-1] = replace(kept[-1], end=interval.start)
            kept.append(interval)
        else:
            kept[-1] = replace(kept[-1], proven=interval.proven)
    kept[-1] = replace(kept[-1], end=high)
    return tuple(kept)
