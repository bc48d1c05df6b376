"""The exact dynamic program: box search over the slowest stage, or the period, and the longest synchronisation.

The objective has a maximum in it, so the best suffix is not always part of the best whole, and one value per state is
not enough. With the slowest stage at most theta and the synchronisation at most sigma it is: what is left is the sum
F(theta, sigma), which :mod:`.search` minimises. A *box* holds the compositions whose slowest stage and sync lie in
given ranges; (n-1) theta_low + F(theta_high, sigma_high) + sigma_low bounds them. Boxes are taken best bound first,
discarded against the best composition found so far, or split; what is left when nothing is left is optimal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from heapq import heapify
from typing import Final

import numpy as np

from tangram_opt.composition.objective import largest_slowest_ns
from tangram_opt.composition.order_free import OrderFree, order_is_free
from tangram_opt.composition.potentials import potentials
from tangram_opt.composition.prices import Found, Way
from tangram_opt.composition.sequences import Sequences
from tangram_opt.composition.table import IMPOSSIBLE, Ints, OptionTable, option_table, undominated
from tangram_opt.data.composition import CompositionProblem

_WIDTH: Final = 256
"""Labels per layer in a first search."""

_ROUNDS: Final = 16
"""Price steps for a box that a first search does not solve; twice as many with each effort."""

_GROWTH: Final = 4
"""How many times more labels each effort may keep."""

_MARGINS: Final = (0.1, 0.3, 1.0)
"""How far above the least slowest stage that could hold all atoms a first composition is looked for."""


@dataclass(order=True, frozen=True)
class Box:
    """Compositions whose slowest stage and longest synchronisation lie in ranges, both ends included.

    Attributes
    ----------
    bound_ns : int
        None of them is better.
    theta_low, theta_high, sigma_low, sigma_high : int
        The ranges, in nanoseconds.
    sum_low : int
        Bound on their sums of times.
    effort : int
        How many wider searches went into it and the boxes that it was part of.
    price_ns : array of int
        Prices to start from, of whatever the relaxation prices.
    """

    bound_ns: int
    theta_low: int = field(compare=False)
    theta_high: int
    sigma_low: int = field(compare=False)
    sigma_high: int
    sum_low: int = field(compare=False)
    effort: int = field(compare=False)
    price_ns: Ints = field(compare=False, repr=False)


@dataclass(frozen=True)
class Best:
    """The best composition known.

    Attributes
    ----------
    options : tuple of int
        Its options, as indices of the problem, front to back; empty where none is known.
    objective_ns : int
        Its iteration time; IMPOSSIBLE where none is known.
    """

    options: tuple[int, ...] = ()
    objective_ns: int = IMPOSSIBLE


class BoxSearch:
    """The search for the best composition of a table.

    Parameters
    ----------
    table : OptionTable
        The options.
    start : Best
        The best composition known beforehand.
    stop : callable
        Asked often; the search ends once it answers True.
    report : callable
        Called after every step.

    Attributes
    ----------
    best : Best
        The best composition so far.
    open : list of Box
        A heap of what is left to search.
    """

    def __init__(self, table: OptionTable, start: Best, stop: Callable[[], bool], report: Callable[[], None]) -> None:
        self.table = table
        self.best = start
        self.stop = stop
        self.report = report
        self.bottlenecks = np.unique(table.bottleneck_ns)
        self.syncs = np.unique(table.sync_ns)
        self.open: list[Box] = []
        self.way: type[Way] = OrderFree if order_is_free(table) else Sequences
        theta_low = least_threshold(table, table.bottleneck_ns)
        sigma_low = least_threshold(table, table.sync_ns)
        if theta_low is not None and sigma_low is not None:
            root = Box(
                bound_ns=table.objective_ns(theta_low, 0, sigma_low),
                theta_low=theta_low,
                theta_high=self.largest_theta_ns(),
                sigma_low=sigma_low,
                sigma_high=int(self.syncs[-1]),
                sum_low=0,
                effort=0,
                price_ns=self.way.free(table),
            )
            self.open = [root]

    def largest_theta_ns(self) -> int:
        """Bound the slowest part of any composition from above.

        A stretch of stages takes, per stage, no longer than the slowest of its options alone and a boundary both ways.
        That is so for the depths of 1F1B, and other depths are chosen only where they do better.
        """
        table, slowest = self.table, int(self.bottlenecks[-1])
        if table.chooses_depths:  # Alone an option may run ahead further than in front of others.
            slowest = largest_slowest_ns(table.problem.options[i] for i in table.option)
        links = table.round_trip_ns[table.round_trip_ns < IMPOSSIBLE]
        return slowest + int(links.max(initial=0)) if table.by_period else slowest

    @staticmethod
    def costs_within(options: OptionTable, box: Box) -> tuple[Ints, ...]:
        """List what counts as cost of an option within a box: the sum, and the excess over the period."""
        if not options.by_period:
            return (options.sum_ns,)
        return (options.sum_ns, *potentials(options, box.theta_high).costs)

    @property
    def bound_ns(self) -> int:
        """No composition is better; it holds at any time, and equals the objective once nothing is left."""
        return min(self.best.objective_ns, self.open[0].bound_ns) if self.open else self.best.objective_ns

    def run(self) -> None:
        """Search until nothing is left or `stop` says so."""
        self.dive()
        while self.bound_ns < self.best.objective_ns and not self.stop():
            self.settle(self.open[0])

    def dive(self) -> None:
        """Find a first composition, where the slowest stage is a little above the least."""
        least = self.open[0].theta_low if self.open else 0
        for margin in _MARGINS:
            if not self.open or self.best.options or self.stop():
                break
            root = self.open[0]
            theta_high = min(int(least * (1 + margin)), root.theta_high)
            if theta_high >= root.theta_low and not self.look_into(replace(root, theta_high=theta_high)):
                # Nothing there, unless a composition was found, which then is the best up to here.
                rest = self.shrink(replace(root, theta_low=theta_high + 1))
                self.open = [] if rest is None else [rest]

    def settle(self, box: Box) -> None:
        """Put what is left of a box in its place."""
        left = [*self.look_into(box), *(other for other in self.open if other is not box)]
        left = [other for other in left if other.bound_ns < self.best.objective_ns]
        heapify(left)
        # In one assignment: an interrupt finds either the box or what is left of it, and the bound holds.
        self.open = left
        self.report()

    def look_into(self, box: Box) -> list[Box]:
        """Improve the bound of a box or the best composition, and return what is left of it."""
        tightened = self.tighten(box)
        if tightened is None:
            return []
        box, inside = tightened
        options = self.table.keep(inside)
        box, found = self.solve_corner(box, options)
        if not found.rows:
            return self.halves(box) if found.floor_ns < self.cutoff_ns(box) else []
        rows = list(found.rows)
        theta, sigma = options.slowest_ns(rows), int(options.sync_ns[rows].max())
        objective = self.table.objective_ns(theta, found.sum_ns, sigma)
        if objective < self.best.objective_ns:
            self.best = Best(tuple(options.option[rows].tolist()), objective)
        if found.floor_ns < found.sum_ns:
            return self.halves(box)
        # The corner is solved: nothing with a slowest stage from theta on and a sync from sigma on is better.
        rest = [replace(box, theta_high=theta - 1)] if theta > box.theta_low else []
        if sigma > box.sigma_low:
            rest.append(self.with_sum(replace(box, theta_low=max(theta, box.theta_low), sigma_high=sigma - 1), 0))
        return rest

    def tighten(self, box: Box) -> tuple[Box, Ints] | None:
        """Pull in the ends of a box as far as they go; return it with the options that can matter in it."""
        table = self.table
        while True:
            inside = np.flatnonzero((table.bottleneck_ns <= box.theta_high) & (table.sync_ns <= box.sigma_high))
            options = table.keep(inside)
            theta_low = least_threshold(options, options.bottleneck_ns)
            sigma_low = least_threshold(options, options.sync_ns)
            if theta_low is None or sigma_low is None:
                return None
            tighter = self.shrink(
                replace(box, theta_low=max(box.theta_low, theta_low), sigma_low=max(box.sigma_low, sigma_low))
            )
            if tighter is None:
                return None
            if (tighter.theta_high, tighter.sigma_high) == (box.theta_high, box.sigma_high):
                return tighter, inside[undominated(options, self.costs_within(options, tighter))]
            box = tighter

    def solve_corner(self, box: Box, options: OptionTable) -> tuple[Box, Found]:
        """Look for the least sum of times with the options of a box, narrowly at first."""
        way = self.way(options, box.theta_high)
        cutoff = min(self.cutoff_ns(box), largest_sum(options) + 1)
        relaxed = way.relax(box.price_ns)
        found = way.search(relaxed, cutoff, _WIDTH, self.stop)
        if found.floor_ns < min(found.sum_ns, cutoff):
            target = min(found.sum_ns, cutoff)
            relaxed = way.improve(relaxed, target, self.hoped_ns, _ROUNDS << box.effort, self.stop)
            # Where the box is wide for the gap that is left, halves of it are easier than the whole.
            spread = self.table.objective_ns(box.theta_high - box.theta_low, 0, box.sigma_high - box.sigma_low)
            if 2 * spread < cutoff - relaxed.bound_ns:
                box = replace(box, effort=box.effort + 1)
                found = way.search(relaxed, cutoff, _WIDTH * _GROWTH**box.effort, self.stop)
        box = replace(box, price_ns=relaxed.price_ns)
        return self.with_sum(box, max(relaxed.bound_ns, min(found.sum_ns, found.floor_ns, cutoff))), found

    def hoped_ns(self, bound_ns: int) -> int:
        """Hope for no more than a bound half as high again as long as no composition is known."""
        return IMPOSSIBLE if self.best.options else bound_ns + bound_ns // 2

    def cutoff_ns(self, box: Box) -> int:
        """Sum of times from which on no composition in a box is an improvement."""
        if not self.best.options:
            return IMPOSSIBLE // 2
        return self.best.objective_ns - self.table.objective_ns(box.theta_low, 0, box.sigma_low)

    def shrink(self, box: Box) -> Box | None:
        """Cut off what cannot improve on the best composition, and round to values that options have."""
        theta_high, sigma_high = box.theta_high, box.sigma_high
        if self.best.options:
            slack = self.best.objective_ns - 1 - self.table.objective_ns(box.theta_low, box.sum_low, box.sigma_low)
            if slack < 0:
                return None
            sigma_high = min(sigma_high, box.sigma_low + slack)
            if self.table.micro_batches > 1:
                theta_high = min(theta_high, box.theta_low + slack // (self.table.micro_batches - 1))
        theta_low = box.theta_low
        if not self.table.by_period:  # A period may lie between those that options have on their own.
            theta_low, theta_high = _round_to(self.bottlenecks, theta_low, theta_high)
        sigma_low, sigma_high = _round_to(self.syncs, box.sigma_low, sigma_high)
        if theta_low > theta_high or sigma_low > sigma_high:
            return None
        box = replace(box, theta_low=theta_low, theta_high=theta_high, sigma_low=sigma_low, sigma_high=sigma_high)
        return self.with_sum(box, 0)

    def with_sum(self, box: Box, sum_ns: int) -> Box:
        """Tighten the bound of a box by one on its sums."""
        sum_low = max(box.sum_low, sum_ns)
        bound = max(box.bound_ns, self.table.objective_ns(box.theta_low, sum_low, box.sigma_low))
        return replace(box, sum_low=sum_low, bound_ns=bound)

    def halves(self, box: Box) -> list[Box]:
        """Split a box that was too much for one search; one with a single value in each range comes back whole."""
        thetas = self.bottlenecks[(self.bottlenecks >= box.theta_low) & (self.bottlenecks <= box.theta_high)]
        if self.table.by_period:
            thetas = np.unique([box.theta_low, (box.theta_low + box.theta_high) // 2, box.theta_high])
        sigmas = self.syncs[(self.syncs >= box.sigma_low) & (self.syncs <= box.sigma_high)]
        spread = (self.table.micro_batches - 1) * (box.theta_high - box.theta_low)
        if len(thetas) > 1 and spread >= box.sigma_high - box.sigma_low:
            middle = int(thetas[(len(thetas) - 1) // 2])
            parts = [replace(box, theta_high=middle), replace(box, theta_low=middle + 1)]
        elif len(sigmas) > 1:
            middle = int(sigmas[(len(sigmas) - 1) // 2])
            parts = [replace(box, sigma_high=middle), replace(box, sigma_low=middle + 1)]
        else:
            return [box]
        return [part for half in parts if (part := self.shrink(half)) is not None]


def quick_bound_ns(problem: CompositionProblem) -> int:
    """Bound the iteration time of any composition from below, in about the time of reading the problem.

    Parameters
    ----------
    problem : CompositionProblem
        The problem.

    Returns
    -------
    int
        Nanoseconds; :data:`.table.IMPOSSIBLE` where it finds out that there is no composition.
    """
    search = BoxSearch(option_table(problem), Best(), lambda: False, lambda: None)
    if not search.open:
        return IMPOSSIBLE
    root = search.open[0]
    relaxed = search.way(search.table, root.theta_high).relax(root.price_ns)
    return min(search.with_sum(root, relaxed.bound_ns).bound_ns, IMPOSSIBLE)


def least_threshold(table: OptionTable, cost: Ints) -> int | None:
    """Bound the largest cost of the options of any composition from below.

    Parameters
    ----------
    table : OptionTable
        The options.
    cost : array of int, shape (options,)
        Slowest stage, or synchronisation.

    Returns
    -------
    int or None
        Least threshold at which all islands together can hold as many atoms as the model has; None where there is
        none.
    """
    order = np.argsort(cost, kind="stable")
    held = np.zeros(len(order), dtype=np.int64)
    for island, count in enumerate(table.count):
        length = np.where(table.island[order] == island, table.length[order], 0)
        held += np.maximum.accumulate(length) * count
    enough = np.flatnonzero(held >= table.atoms)
    return int(cost[order[enough[0]]]) if len(enough) else None


def largest_sum(table: OptionTable) -> int:
    """Bound the sum of times of any composition from above."""
    links = table.round_trip_ns[table.round_trip_ns < IMPOSSIBLE]
    return min(int(table.count.sum()), table.atoms) * (int(table.sum_ns.max(initial=0)) + int(links.max(initial=0)))


def _round_to(values: Ints, low: int, high: int) -> tuple[int, int]:
    """Round a range inwards to values of a sorted array; low > high where it holds none."""
    first, last = int(np.searchsorted(values, low)), int(np.searchsorted(values, high, side="right")) - 1
    return (int(values[first]), int(values[last])) if first <= last else (1, 0)
