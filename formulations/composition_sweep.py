"""Bottleneck sweep: a sequence of models with a fixed limit on the slowest stage, instead of one that minimises it.

A maximum in the objective makes linear relaxations weak. With all stages within a threshold theta it is gone: what is
left, F(theta) = the least sum of times, transfers and longest sync, is a deadline or circuit model with fewer
placements and without M. F does not increase in theta, and the problem is to minimise (n - 1) theta + F(theta).

Data
    b_0 < ... < b_J   the slowest stages that occur: the thresholds to look at
    n                 micro-batches

An interval [l, h] holds the compositions whose slowest stage is one of b_l to b_h. With a known f <= F(b_h) it has
    (1) bound   (n - 1) b_l + f
and may shrink from above to the thresholds with
    (2) trim    (n - 1) b_h + f < best
The interval with the least bound is taken, F solved in its middle m, and the interval replaced by two:
    (3) below   [l, j - 1] with f = F(b_m), where b_j <= b_m is the slowest stage of the solution: from b_j to b_m the
                function is flat, and the solution is the best of these
    (4) above   [m + 1, h] with the old f
If no composition stays within b_m there is no interval below. When no interval has a bound below the best composition,
that one is optimal.

Exact where the deadline or the circuit formulation is; the former is taken where both are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

from formulations.composition_circuit import Circuit, circuit_without_slowest
from formulations.composition_circuit import not_exact as circuit_not_exact
from formulations.composition_data import CompositionData
from formulations.composition_deadline import Deadline, deadline_without_slowest
from formulations.composition_deadline import not_exact as deadline_not_exact
from formulations.search import Found, Search


def not_exact(data: CompositionData) -> str | None:
    """Say why this formulation does not apply to a problem; None where it does."""
    order_matters, atoms_differ = deadline_not_exact(data), circuit_not_exact(data)
    return f"{order_matters}, and {atoms_differ}" if order_matters and atoms_differ else None


@dataclass(frozen=True, order=True, slots=True)
class Interval:
    """Compositions whose slowest stage is one of the thresholds `low` to `high`; `least` bounds F there."""

    bound_ns: int
    low: int
    high: int
    least_ns: int


class Sweep:
    """The sweep over the thresholds of a problem.

    Parameters
    ----------
    data : CompositionData
        The problem; see :func:`not_exact`.
    search : Search
        Limits, and who is told about solutions and bounds.
    solve : callable
        Solves a model; its solutions are offered to `search` by whoever solves it.
    """

    def __init__(self, data: CompositionData, search: Search, solve: Callable[[Deadline | Circuit], Found]) -> None:
        self.data = data
        self.search = search
        self.solve = solve
        self.build = circuit_without_slowest if deadline_not_exact(data) else deadline_without_slowest
        self.thresholds_ns = sorted({p.bottleneck_ns for p in data.placements})
        self.open: list[Interval] = []
        self.unproven_ns: int | None = None

    def run(self) -> None:
        """Sweep until nothing is left or the search is stopped."""
        self.push(0, len(self.thresholds_ns) - 1, 0)
        self.search.prove(self.bound_ns)
        while self.open and not self.search.stopped():
            interval = self.open[0]
            middle = (interval.low + interval.high) // 2
            model = self.build(self.data.within(self.thresholds_ns[middle]))
            found = self.solve(model)
            if found.infeasible:
                heappop(self.open)
            elif found.values is not None and found.bound is not None:
                heappop(self.open)
                used = self.data.placements_of(model.decode(found.values))
                slowest = self.thresholds_ns.index(max(p.bottleneck_ns for p in used))
                self.push(interval.low, slowest - 1, found.bound)
                if found.bound < model.linear.objective(found.values):
                    gap_left = self.price_ns(slowest) + found.bound
                    self.unproven_ns = gap_left if self.unproven_ns is None else min(self.unproven_ns, gap_left)
            else:
                # What is known of F(b_m) bounds all thresholds up to it.
                heappop(self.open)
                self.push(interval.low, middle, max(interval.least_ns, found.bound or 0))
                self.push(middle + 1, interval.high, interval.least_ns)
                break
            self.push(middle + 1, interval.high, interval.least_ns)
            self.trim()
            self.search.prove(self.bound_ns)

    def price_ns(self, threshold: int) -> int:
        """Share of the objective that a slowest stage has."""
        return (self.data.micro_batches - 1) * self.thresholds_ns[threshold]

    def push(self, low: int, high: int, least_ns: int) -> None:
        """Open an interval, if there is anything in it."""
        if low <= high:
            heappush(self.open, Interval(self.price_ns(low) + least_ns, low, high, least_ns))

    def trim(self) -> None:
        """Leave out what cannot be better than the best composition."""
        best_ns = self.search.objective_ns
        if best_ns is None:
            return
        trimmed = []
        for each in self.open:
            high = each.high
            while high >= each.low and self.price_ns(high) + each.least_ns >= best_ns:
                high -= 1
            if high >= each.low:
                trimmed.append(replace(each, high=high))
        heapify(trimmed)
        self.open = trimmed

    @property
    def bound_ns(self) -> int | None:
        """Bound by the best composition, and by what is open or was left unproven; None if there is nothing."""
        bounds = [self.search.objective_ns, self.unproven_ns, *(each.bound_ns for each in self.open[:1])]
        return min((bound for bound in bounds if bound is not None), default=None)
