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
from numpy.typing import NDArray

from tangram_opt.composition.answer import placed
from tangram_opt.composition.evaluation import evaluate
from tangram_opt.composition.exact import Best, BoxSearch, least_threshold
from tangram_opt.composition.front_bounds import FrontBounds, Known
from tangram_opt.composition.objective import check_passes
from tangram_opt.composition.relaxation import ends
from tangram_opt.composition.search import island_code
from tangram_opt.composition.stage_columns import stage_columns
from tangram_opt.composition.table import IMPOSSIBLE, Ints, OptionTable, option_table, undominated
from tangram_opt.data.composition import CompositionProblem
from tangram_opt.errors import InputError

_PAIRS: Final = 1 << 16
"""Most (suffix, option) pairs that are looked at in one step."""

_WIDTH: Final = 1 << 13
_ALIKE: Final = 8
"""Suffixes of equally many options that a first dive follows, and how many of them with the same islands and atoms."""

_EVENTS: Final = 1 << 24
"""Passes that are run between two questions whether to stop."""

_MOST_OPEN: Final = 1 << 21
"""With more suffixes than that the longest ones are grown first, whatever their bounds: memory is limited."""

_GOOD_ENOUGH: Final = 50
"""The dynamic program may stop where the gap is one part in so many: its objective is another one."""

_LONGEST_NS: Final = 1 << 62
"""Passes and transfers of accepted problems take less than this one after the other."""


@dataclass(frozen=True)
class _Suffixes(Known):
    """Suffixes with equally many options, as columns.

    `path` holds their options, front to back; `used` encodes all islands; `total` is what a micro-batch takes through
    the suffix and back, `least` what all take at least; `bound` is on the iteration time of any completion.
    """

    path: Ints
    used: Ints
    total: Ints
    least: Ints
    bound: Ints


@dataclass(frozen=True, order=True)
class _Block:
    """Suffixes in the order of their bounds, the first of which is that of the block."""

    bound_ns: int
    suffixes: _Suffixes = field(compare=False)


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
        root = _Suffixes(none, entry, none + self.table.atoms, none, path, none, none, none, none + bound_ns)
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

    def look_ahead(self) -> _Growth | None:
        """Keep what can be part of something better than the best, and begin anew with it; None where time is up."""
        grow = _Growth(self.table.keep(np.flatnonzero(self.own_ns < self.best.objective_ns)), self.stop)
        if not grow.front.complete:
            return None
        nothing = self.root(0).suffixes
        ahead = np.maximum(grow.front.sums_ns(nothing), grow.front.iteration_ns(nothing, nothing.total))
        root = self.root(max(self.bound_ns, int(ahead[0])))
        self.open = [root] if root.bound_ns < self.best.objective_ns else []
        self.waiting = 1
        return grow

    def dive(self, grow: _Growth) -> None:
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
            suffixes = _Suffixes.joined(grown)
            suffixes = suffixes.keep(_promising(suffixes))

    def settle(self, grow: _Growth) -> None:
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

    def completed(self, grow: _Growth, suffixes: _Suffixes) -> _Suffixes | None:
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


def _promising(suffixes: _Suffixes) -> Ints:
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


class _Growth:
    """How suffixes grow by the options of a table, and what bounds them."""

    def __init__(self, table: OptionTable, stop: Callable[[], bool]) -> None:
        self.table = table = table.keep(undominated(table, stage_columns(table).respects()))
        self.columns = stage_columns(table)
        self.place_value = np.array(island_code(table.count.tolist()), dtype=np.int64)
        by_end = ends(table)
        self.front = FrontBounds(table, by_end, self.columns, stop)
        # Options by the atom behind their slice, and by class among those of an atom.
        classes = len(table.count)
        group = np.repeat(np.arange(table.atoms + 1), np.diff(by_end.start)) * classes + table.island[by_end.row]
        order = np.argsort(group, kind="stable")
        self.row = by_end.row[order]
        self.start = np.searchsorted(group[order], np.arange((table.atoms + 1) * classes)).reshape(-1, classes)
        self.sizes = np.diff(self.start.ravel(), append=len(order)).reshape(-1, classes)

    def cut(self, suffixes: _Suffixes) -> tuple[_Suffixes, _Suffixes]:
        """Cut off the first suffixes, as many as are grown in one step."""
        pairs = np.cumsum(self.sizes[suffixes.atom].sum(axis=1))
        number = max(1, int(np.searchsorted(pairs, _PAIRS)))
        return suffixes.keep(slice(number)), suffixes.keep(slice(number, None))

    def prepend(self, suffixes: _Suffixes, cutoff_ns: int) -> _Suffixes:
        """Put every option that fits in front of suffixes, as far as the bounds stay below a cutoff."""
        table, n = self.table, self.table.micro_batches
        free = suffixes.used[:, None] // self.place_value % (table.count + 1) < table.count
        sizes = np.where(free, self.sizes[suffixes.atom], 0)
        parent = np.repeat(np.arange(len(sizes)), sizes.sum(axis=1))
        sizes = sizes.ravel()
        within = np.arange(len(parent)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        row = self.row[np.repeat(self.start[suffixes.atom].ravel(), sizes) + within]
        link = table.round_trip_ns[table.exit[row], suffixes.entry[parent]]
        tolerated = np.minimum(suffixes.stages[parent], table.depth) <= table.limit[row]
        fits = np.flatnonzero(tolerated & (link < IMPOSSIBLE))
        parent, row, link = parent[fits], row[fits], link[fits]
        island = table.island[row]
        known = Known(
            code=suffixes.code[parent] + self.front.place_value[island],
            entry=table.entry[row],
            atom=suffixes.atom[parent] - table.length[row],
            stages=suffixes.stages[parent] + table.stages[row],
        )
        behind = suffixes.total[parent] + link
        total = behind + table.sum_ns[row]
        least = suffixes.least[parent] + link + table.sum_ns[row]
        ahead = self.front.sums_ns(known)
        bound = least + ahead
        # From the cheapest bound to the dearest, each for what the ones before have left.
        kept = np.flatnonzero(bound < cutoff_ns)
        bound[kept] = np.maximum(bound[kept], self.front.iteration_ns(known.keep(kept), total[kept]))
        kept = kept[bound[kept] < cutoff_ns]
        if len(kept):
            own = self.columns.least_ns(row[kept], suffixes.stages[parent[kept]], behind[kept], n)
            least[kept] = np.maximum(least[kept], own)
            bound[kept] = np.maximum(bound[kept], least[kept] + ahead[kept])
            kept = kept[bound[kept] < cutoff_ns]
        known = known.keep(kept)
        path = np.hstack([row[kept][:, None], suffixes.path[parent[kept]]])
        used = suffixes.used[parent[kept]] + self.place_value[island[kept]]
        return _Suffixes(
            known.code, known.entry, known.atom, known.stages, path, used, total[kept], least[kept], bound[kept]
        )

    def meets_requirements(self, used: Ints) -> NDArray[np.bool_]:
        """Tell which codes contain an island of every required class."""
        table = self.table
        needed = np.flatnonzero(table.required)
        counted = used[:, None] // self.place_value[needed] % (table.count[needed] + 1)
        met: NDArray[np.bool_] = np.all(counted > 0, axis=1)
        return met

    def makespans(self, paths: Ints) -> Ints:
        """Run pipelines event by event."""
        table = self.table
        links = table.round_trip_ns[table.exit[paths[:, :-1]], table.entry[paths[:, 1:]]] // 2
        return self.columns.makespans(paths, links, table.micro_batches)
