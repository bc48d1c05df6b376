"""The best composition by the exact recurrence: an enumeration of suffixes, back to front, with bounds.

Under 1F1B what a suffix of the pipeline does depends on what is in front of it by the arrival of activations only. So a
suffix has a duration of its own, from its first forward to its last backward, to which the stages in front add what
:mod:`.front_bounds` knows. Suffixes whose bound reaches the best known iteration time are dropped; what is left of them
in the end is run event by event, many at once. A composition that is good by the period form comes first, from the
dynamic program, and makes most options impossible: each stage alone runs n micro-batches.

Forward and backward times matter one by one here, so options are compared stage by stage, and of two suffixes with the
same atoms none can replace the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np

from tangram_opt.composition.answer import placed
from tangram_opt.composition.evaluation import evaluate
from tangram_opt.composition.exact import Best, BoxSearch, least_threshold
from tangram_opt.composition.objective import check_passes
from tangram_opt.composition.stage_columns import stage_columns
from tangram_opt.composition.suffixes import Growth, Suffixes
from tangram_opt.composition.table import Ints, option_table
from tangram_opt.data.composition import CompositionProblem
from tangram_opt.errors import InputError

_WIDTH: Final = 1 << 13
"""Suffixes of equally many options that a first dive follows."""

_ALIKE: Final = 8
"""How many of them may have the same islands and the same first atom."""

_EVENTS: Final = 1 << 24
"""Passes that are run between two questions whether to stop."""

_MOST_OPEN: Final = 1 << 21
"""With more suffixes than that the longest ones are grown first, whatever their bounds: memory is limited."""

_GOOD_ENOUGH: Final = 50
"""The dynamic program may stop where the gap is one part in so many: its objective is another one."""

_LONGEST_NS: Final = 1 << 62
"""Passes and transfers of accepted problems take less than this one after the other."""


@dataclass(frozen=True, order=True)
class _Block:
    """Suffixes in the order of their bounds, the first of which is that of the block."""

    bound_ns: int
    suffixes: Suffixes = field(compare=False)


class RecurrenceSearch:
    """The search for the composition with the shortest iteration by the recurrence.

    Parameters
    ----------
    problem : CompositionProblem
        The problem; its objective is ``simulated``.
    start : Best
        The best composition known beforehand.
    stop, stop_dp : callable
        Asked often; the search, and the dynamic program at its beginning, end once they answer True.
    report : callable
        Called after every step.

    Attributes
    ----------
    best : Best
        The best composition so far.
    open : list of _Block
        A heap of what is left to search.
    waiting : int
        About as many suffixes are in it.
    """

    def __init__(
        self,
        problem: CompositionProblem,
        start: Best,
        stop: Callable[[], bool],
        stop_dp: Callable[[], bool],
        report: Callable[[], None],
    ) -> None:
        _check_range(problem)
        self.problem = problem
        self.best = start
        self.stop = stop
        self.stop_dp = stop_dp
        self.report = report
        self.table = option_table(problem)
        self.own_ns = stage_columns(self.table).own_ns(problem.micro_batches)
        least = least_threshold(self.table, self.own_ns)
        self.open = [] if least is None else [self.root(least)]
        self.waiting = 1

    @property
    def bound_ns(self) -> int:
        """No composition is better; it holds at any time, and equals the objective once nothing is left."""
        return min(self.best.objective_ns, self.open[0].bound_ns) if self.open else self.best.objective_ns

    def run(self) -> None:
        """Search until nothing is left or `stop` says so."""
        if self.open and not self.stop():
            self.start()
        grow = self.look_ahead() if self.open else None
        if grow is not None:
            before = self.best
            self.dive(grow)
            if self.best is not before:
                grow = self.look_ahead()
        while grow is not None and self.bound_ns < self.best.objective_ns and not self.stop():
            self.settle(grow)

    def root(self, bound_ns: int) -> _Block:
        """Make the empty suffix, behind the last atom."""
        none = np.zeros(1, dtype=np.int64)
        entry, path = none + self.table.round_trip_ns.shape[1] - 1, np.zeros((1, 0), dtype=np.int64)
        root = Suffixes(none, entry, none + self.table.atoms, none, path, none, none, none, none + bound_ns)
        return _Block(bound_ns, root)

    def start(self) -> None:
        """Take what the dynamic program finds by the period form."""

        def stop() -> bool:
            gap = search.best.objective_ns - search.bound_ns
            good = bool(search.best.options) and gap * _GOOD_ENOUGH <= search.best.objective_ns
            return good or self.stop_dp()

        search = BoxSearch(option_table(replace(self.problem, objective="period")), Best(), stop, self.report)
        try:
            search.run()
        finally:
            if search.best.options:
                self.offer(search.best.options)
        if not (search.open or search.best.options):
            self.open = []  # There is no composition, whatever the objective.

    def offer(self, options: tuple[int, ...]) -> None:
        """Take note of an allowed composition."""
        objective = evaluate(self.problem, placed(self.problem, options)).objective_ns
        if objective < self.best.objective_ns:
            self.best = Best(options, objective)

    def look_ahead(self) -> Growth | None:
        """Keep what can be part of something better than the best, and begin anew with it; None where time is up."""
        grow = Growth(self.table.keep(np.flatnonzero(self.own_ns < self.best.objective_ns)), self.stop)
        if not grow.front.complete:
            return None
        nothing = self.root(0).suffixes
        ahead = np.maximum(grow.front.sums_ns(nothing), grow.front.iteration_ns(nothing, nothing.total))
        root = self.root(max(self.bound_ns, int(ahead[0])))
        self.open = [root] if root.bound_ns < self.best.objective_ns else []
        self.waiting = 1
        return grow

    def dive(self, grow: Growth) -> None:
        """Follow the most promising suffixes only, to find better compositions early."""
        suffixes = self.root(0).suffixes
        while len(suffixes.atom):
            grown = []
            while len(suffixes.atom):
                taken, suffixes = grow.cut(suffixes)
                children = self.completed(grow, grow.prepend(taken, self.best.objective_ns))
                if children is None:
                    return
                grown.append(children)
            suffixes = Suffixes.joined(grown)
            suffixes = suffixes.keep(_promising(suffixes))

    def settle(self, grow: Growth) -> None:
        """Grow the most promising suffixes by one option."""
        crowded = self.waiting > _MOST_OPEN
        block = max(self.open, key=lambda each: each.suffixes.path.shape[1]) if crowded else self.open[0]
        taken, rest = grow.cut(block.suffixes)
        children = self.completed(grow, grow.prepend(taken, self.best.objective_ns))
        if children is None:
            return
        children = children.keep(np.argsort(children.bound, kind="stable"))
        # First what comes of the suffixes, then they go: the bound holds whenever an interrupt comes.
        for part in (rest, children):
            if len(part.atom) and part.bound[0] < self.best.objective_ns:
                heappush(self.open, _Block(int(part.bound[0]), part))
        if block is self.open[0]:
            heappop(self.open)
        else:
            left = [each for each in self.open if each is not block]
            heapify(left)
            self.open = left
        self.waiting += len(children.atom) - len(taken.atom)
        self.report()

    def completed(self, grow: Growth, suffixes: Suffixes) -> Suffixes | None:
        """Run those that are whole pipelines, and return the others; None where there was no time for that."""
        whole = suffixes.keep(np.flatnonzero((suffixes.atom == 0) & grow.meets_requirements(suffixes.used)))
        whole = whole.keep(np.argsort(whole.bound, kind="stable"))
        while len(whole.atom) and whole.bound[0] < self.best.objective_ns:
            if self.stop():
                return None
            passes = 2 * grow.table.micro_batches * np.cumsum(whole.stages)
            part = whole.keep(slice(max(1, int(np.searchsorted(passes, _EVENTS)))))
            times = grow.makespans(part.path)
            if times.min() < self.best.objective_ns:
                options = grow.table.option[part.path[times.argmin()]]
                self.best = Best(tuple(options.tolist()), int(times.min()))
            whole = whole.keep(slice(len(part.atom), None))
        return suffixes.keep(np.flatnonzero((suffixes.atom > 0) & (suffixes.bound < self.best.objective_ns)))


def _promising(suffixes: Suffixes) -> Ints:
    """Choose suffixes of low bounds, with all kinds of first atoms: the bounds of short and of long ones differ."""
    order = np.lexsort((suffixes.bound, suffixes.atom, suffixes.used))
    used, atom = suffixes.used[order], suffixes.atom[order]
    first = np.flatnonzero((np.diff(used, prepend=-1) != 0) | (np.diff(atom, prepend=-1) != 0))
    rank = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
    kept = order[rank < _ALIKE]
    by_bound: Ints = kept[np.argsort(suffixes.bound[kept], kind="stable")]
    return by_bound[:_WIDTH]


def quick_makespan_bound_ns(problem: CompositionProblem, cutoff_ns: int) -> int:
    """Bound the iteration time of any composition by the recurrence from below, without a search.

    Parameters
    ----------
    problem : CompositionProblem
        Its objective is ``simulated``.
    cutoff_ns : int
        Compositions that take as long do not matter.

    Returns
    -------
    int
        Nanoseconds, at most the cutoff.
    """
    search = RecurrenceSearch(problem, Best((), cutoff_ns), lambda: False, lambda: False, lambda: None)
    if search.bound_ns < cutoff_ns:
        search.look_ahead()
    return search.bound_ns


def _check_range(problem: CompositionProblem) -> None:
    """Refuse pipelines that are too large, and times of which sums and products do not fit 64-bit integers."""
    most: Counter[str] = Counter()
    for option in problem.options:
        most[option.island] = max(most[option.island], len(option.stages))
    stages = min(sum(most[island.name] * island.count for island in problem.islands), problem.length)
    check_passes(problem.name, problem.micro_batches, stages)
    longest = max((option.sum_ns + option.sync_ns for option in problem.options), default=0)
    transfer = max(max(row) for row in problem.transfer_ns)
    total = 2 * problem.micro_batches * problem.length * (longest + transfer)
    if total >= _LONGEST_NS:
        raise InputError(
            f"problem {problem.name!r}: all passes one after the other could take {total} ns, the objective "
            f"'simulated' expects less than {_LONGEST_NS} ns (2^62)"
        )
