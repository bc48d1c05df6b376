"""Bottleneck sweep: a sequence of models with a fixed limit on the slowest stage, instead of one that minimises it.

A maximum in the objective makes linear relaxations weak. With all stages within a limit theta it is gone: what is
left, F(theta) = the least sum of times, transfers and longest sync, is a model of another formulation without M and
with far fewer placements: not only those with slower stages are gone, but also those that were good only for their
short stages. F does not increase in theta, and the problem is to minimise (n - 1) theta + F(theta). Where the objective
is the period form theta limits the period: then its conditions are linear, too (:mod:`.composition_period`).

Data
    b_0 < ... < b_J   the slowest stages that occur: limits between them say nothing new. Periods can lie anywhere
    n                 micro-batches

An interval [l, h] holds the compositions whose slowest part is l to h. With a known f <= F(h) it has
    (1) bound   (n - 1) l + f
and, once there is a best composition, it
    (2) trim    shrinks from above to the limits with (n - 1) h + f < best
The interval with the least bound is taken, and F solved at one of its limits m with the additional constraint
    (3) better  (n - 1) l + objective < best
and without the placements that cannot be in such a solution (:mod:`formulations.composition_completion`).
If there is no solution, nothing from l to m is better. Otherwise two intervals replace the one:
    (4) below   [l, s - 1] with f = F(m), where s <= m is the slowest part of the solution: from s to m the function is
                flat, and the solution is the best of these
    (5) above   [m + 1, h] with the old f
Without a best composition m is a little above l, where models are small. With one it is in the middle, as good
compositions narrow all intervals, or h where there is little between. When no interval has a
bound below the best composition, that one is optimal.

Exact for every problem: each model is of the first formulation of deadline, circuit and arc flow that is exact for the
placements within its limit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from formulations import composition_arc_flow_milp as arc_flow
from formulations import composition_circuit as circuit
from formulations import composition_deadline as deadline
from formulations.composition_arc_flow_milp import ArcFlowMilp
from formulations.composition_circuit import Circuit
from formulations.composition_completion import completable
from formulations.composition_data import CompositionData
from formulations.composition_deadline import Deadline
from formulations.search import Found, Search
from tangram_opt.data.composition import Composition, CompositionProblem

FIRST_STEP: Final = 0.01
"""How far above the lowest threshold a first composition is looked for; doubled until there is one."""
NARROW: Final = 0.01
"""Intervals that are this wide, against their lower end, are cut in halves."""

Model = Deadline | Circuit | ArcFlowMilp
CompositionSearch = Search[CompositionProblem, Composition]


def not_exact(data: CompositionData) -> str | None:  # noqa: ARG001 (the same question for all formulations)
    """It applies to every problem."""
    return None


def model_without_slowest(data: CompositionData) -> Model:
    """Build the smallest exact model without M."""
    if data.period_ns is None and deadline.not_exact(data) is None:
        return deadline.deadline_without_slowest(data)
    if circuit.not_exact(data) is None and circuit.arcs(data) <= arc_flow.places(data):
        return circuit.circuit_without_slowest(data)
    return arc_flow.arc_flow_without_slowest(data)


@dataclass(frozen=True, order=True, slots=True)
class Interval:
    """Compositions whose slowest part is `low_ns` to `high_ns`; `least_ns` bounds F there."""

    bound_ns: int
    low_ns: int
    high_ns: int
    least_ns: int


class Sweep:
    """The sweep over the limits of a problem.

    Parameters
    ----------
    data : CompositionData
        The problem; see :func:`not_exact`.
    search : Search
        Limits, and who is told about solutions and bounds.
    solve : callable
        Solves a model; its solutions are offered to `search` by whoever solves it.
    """

    def __init__(self, data: CompositionData, search: CompositionSearch, solve: Callable[[Model], Found]) -> None:
        self.data = data
        self.search = search
        self.solve = solve
        self.occurring_ns = sorted({p.bottleneck_ns for p in data.placements})
        self.open: list[Interval] = []
        self.unproven_ns: int | None = None
        self.step = FIRST_STEP / 2

    def run(self) -> None:
        """Sweep until nothing is left or the search is stopped."""
        lowest = self.lowest_ns()
        if lowest is not None:
            self.push(lowest, self.data.largest_slowest_ns(), 0)
        self.search.prove(self.bound_ns)
        while self.open and not self.search.stopped():
            interval = heappop(self.open)
            limit = self.next_in(interval)
            found, model = self.look_into(interval, limit)
            self.push(limit + 1, interval.high_ns, interval.least_ns)
            if model is not None and found.values is not None and found.bound is not None:
                slowest = self.data.slowest_ns(model.decode(found.values))
                self.push(interval.low_ns, slowest - 1, found.bound)
                if found.bound < model.linear.objective(found.values):
                    self.leave_unproven(self.price_ns(slowest) + found.bound)
            elif not found.infeasible:
                self.push(interval.low_ns, limit, interval.least_ns)
                break
            self.trim()
            self.search.prove(self.bound_ns)

    def look_into(self, interval: Interval, limit: int) -> tuple[Found, Model | None]:
        """Solve the model within a limit, for what can be better than the best composition."""
        most_ns = None if self.search.objective is None else self.search.objective - 1 - self.price_ns(interval.low_ns)
        data = completable(self.data.within(limit), most_ns)
        if not data.placements:
            return Found(None, None, infeasible=True), None
        model = model_without_slowest(data)
        if most_ns is not None:
            costs = {index: variable.cost for index, variable in enumerate(model.linear.variables)}
            model.linear.add_row("better", costs, upper=most_ns - model.linear.constant)
        return self.solve(model), model

    def leave_unproven(self, bound_ns: int) -> None:
        """Remember the bound of limits that are left with a gap."""
        self.unproven_ns = bound_ns if self.unproven_ns is None else min(self.unproven_ns, bound_ns)

    def lowest_ns(self) -> int | None:
        """Find the first limit at which the longest slices of all islands reach over the model."""
        longest = [0] * len(self.data.counts)
        for p in sorted(self.data.placements, key=lambda p: p.bottleneck_ns):
            longest[p.island] = max(longest[p.island], p.length)
            reach = sum(count * length for count, length in zip(self.data.counts, longest, strict=True))
            if reach >= self.data.problem.length:
                return p.bottleneck_ns
        return None

    def next_in(self, interval: Interval) -> int:
        """Choose the limit of an interval to look at next."""
        if self.search.objective is None:
            self.step *= 2
            return min(interval.low_ns + int(interval.low_ns * self.step), interval.high_ns)
        if interval.high_ns - interval.low_ns > NARROW * interval.low_ns:
            return (interval.low_ns + interval.high_ns) // 2
        return interval.high_ns

    def price_ns(self, slowest_ns: int) -> int:
        """Share of the objective that a slowest part has."""
        return (self.data.micro_batches - 1) * slowest_ns

    def push(self, low_ns: int, high_ns: int, least_ns: int) -> None:
        """Open an interval, if there is anything in it."""
        if not self.data.by_period and low_ns <= high_ns:
            low_ns, high_ns = self.rounded(low_ns, high_ns)
        if low_ns <= high_ns:
            heappush(self.open, Interval(self.price_ns(low_ns) + least_ns, low_ns, high_ns, least_ns))

    def rounded(self, low_ns: int, high_ns: int) -> tuple[int, int]:
        """Round an interval inwards to slowest stages that occur."""
        first, last = bisect_left(self.occurring_ns, low_ns), bisect_right(self.occurring_ns, high_ns) - 1
        return (self.occurring_ns[first], self.occurring_ns[last]) if first <= last else (1, 0)

    def trim(self) -> None:
        """Leave out what cannot be better than the best composition."""
        best_ns = self.search.objective
        if best_ns is None:
            return
        intervals, self.open = self.open, []
        for each in intervals:
            high_ns = each.high_ns
            if self.data.micro_batches > 1:
                high_ns = min(high_ns, (best_ns - 1 - each.least_ns) // (self.data.micro_batches - 1))
            if each.bound_ns < best_ns:
                self.push(each.low_ns, high_ns, each.least_ns)

    @property
    def bound_ns(self) -> int | None:
        """Bound by the best composition, and by what is open or was left unproven; None if there is nothing."""
        bounds = [self.search.objective, self.unproven_ns, *(each.bound_ns for each in self.open[:1])]
        return min((bound for bound in bounds if bound is not None), default=None)
