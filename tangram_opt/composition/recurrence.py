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
from heapq import heapify
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tangram_opt.composition.answer import placed
from tangram_opt.composition.evaluation import evaluate
from tangram_opt.composition.exact import Best, BoxSearch, least_threshold
from tangram_opt.composition.front_bounds import FrontBounds
from tangram_opt.composition.labels import Columns
from tangram_opt.composition.objective import check_passes
from tangram_opt.composition.relaxation import ends
from tangram_opt.composition.search import island_code
from tangram_opt.composition.stage_columns import stage_columns
from tangram_opt.composition.table import IMPOSSIBLE, Ints, OptionTable, option_table, undominated
from tangram_opt.data.composition import CompositionProblem
from tangram_opt.errors import InputError

_PAIRS: Final = 1 << 16
"""Most (suffix, option) pairs that are looked at in one step."""

_WIDTH: Final = 1 << 10
"""Suffixes of equally many options that a first dive follows."""

_EVENTS: Final = 1 << 24
"""Passes that are run between two questions whether to stop."""

_MOST_OPEN: Final = 1 << 21
"""With more suffixes than that the longest ones are grown first, whatever their bounds: memory is limited."""

_GOOD_ENOUGH: Final = 256
"""The dynamic program may stop where the gap is one part in so many: its objective is another one."""

_LONGEST_NS: Final = 1 << 62
"""Passes and transfers of accepted problems take less than this one after the other."""


@dataclass(frozen=True)
class _Suffixes(Columns):
    """Suffixes with equally many options, as columns.

    `path` holds their options, front to back; `used` encodes islands, `state` those that the bounds count; `total` is
    what a micro-batch takes through the suffix and back, `least` what all take at least; `bound` is on the iteration
    time of any completion.
    """

    path: Ints
    used: Ints
    state: Ints
    atom: Ints
    stages: Ints
    entry: Ints
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

    @property
    def bound_ns(self) -> int:
        """No composition is better; it holds at any time, and equals the objective once nothing is left."""
        return min(self.best.objective_ns, self.open[0].bound_ns) if self.open else self.best.objective_ns

    def run(self) -> None:
        """Search until nothing is left or `stop` says so."""
        if self.open and not self.stop():
            self.start()
        if self.open and not self.stop():
            look_ahead = self.look_ahead()
            before = self.best
            self.dive(look_ahead)
            if self.best is not before:
                look_ahead = self.look_ahead()
            while self.bound_ns < self.best.objective_ns and not self.stop():
                self.settle(look_ahead)

    def root(self, bound_ns: int) -> _Block:
        """Make the empty suffix, behind the last atom."""
        values = (0, 0, self.table.atoms, 0, self.table.round_trip_ns.shape[1] - 1, 0, 0, bound_ns)
        path = np.zeros((1, 0), dtype=np.int64)
        return _Block(bound_ns, _Suffixes(path, *(np.array([value], dtype=np.int64) for value in values)))

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

    def look_ahead(self) -> _Growth:
        """Keep what can be part of something better than the best, and begin anew with it."""
        grow = _Growth(self.table.keep(np.flatnonzero(self.own_ns < self.best.objective_ns)))
        root = self.root(max(self.bound_ns, grow.root_bound_ns))
        self.open = [root] if root.bound_ns < self.best.objective_ns else []
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
            suffixes = suffixes.keep(np.argsort(suffixes.bound, kind="stable")[:_WIDTH])

    def settle(self, grow: _Growth) -> None:
        """Grow the most promising suffixes by one option."""
        crowded = sum(len(block.suffixes.atom) for block in self.open) > _MOST_OPEN
        block = max(self.open, key=lambda each: each.suffixes.path.shape[1]) if crowded else self.open[0]
        taken, rest = grow.cut(block.suffixes)
        children = self.completed(grow, grow.prepend(taken, self.best.objective_ns))
        if children is None:
            return
        children = children.keep(np.argsort(children.bound, kind="stable"))
        left = [each for each in self.open if each is not block]
        left += [_Block(int(part.bound[0]), part) for part in (rest, children) if len(part.atom)]
        left = [each for each in left if each.bound_ns < self.best.objective_ns]
        heapify(left)
        # In one assignment: an interrupt finds either the suffixes or what has become of them, and the bound holds.
        self.open = left
        self.report()

    def completed(self, grow: _Growth, suffixes: _Suffixes) -> _Suffixes | None:
        """Run those that are whole pipelines, and return the others; None where there was no time for that."""
        whole = suffixes.keep(np.flatnonzero((suffixes.atom == 0) & grow.meets_requirements(suffixes.used)))
        whole = whole.keep(np.argsort(whole.bound, kind="stable"))
        while len(whole.atom) and whole.bound[0] < self.best.objective_ns:
            if self.stop():
                return None
            passes = 2 * grow.table.micro_batches * np.cumsum(whole.stages)
            part = whole.keep(np.arange(max(1, int(np.searchsorted(passes, _EVENTS)))))
            times = grow.makespans(part.path)
            if times.min() < self.best.objective_ns:
                options = grow.table.option[part.path[times.argmin()]]
                self.best = Best(tuple(options.tolist()), int(times.min()))
            whole = whole.keep(np.arange(len(part.atom), len(whole.atom)))
        return suffixes.keep(np.flatnonzero((suffixes.atom > 0) & (suffixes.bound < self.best.objective_ns)))


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

    def __init__(self, table: OptionTable) -> None:
        self.table = table = table.keep(undominated(table, stage_columns(table).respects()))
        self.columns = stage_columns(table)
        self.by_end = ends(table)
        self.sizes = np.diff(self.by_end.start)
        self.place_value = np.array(island_code(table.count.tolist()), dtype=np.int64)
        self.front = FrontBounds(table, self.by_end, self.columns)
        none, entry = np.zeros(1, dtype=np.int64), np.array([table.round_trip_ns.shape[1] - 1])
        state = (none, entry, none + table.atoms, none)
        self.root_bound_ns = int(max(self.front.sums_ns(*state)[0], self.front.iteration_ns(*state, none)[0]))

    def cut(self, suffixes: _Suffixes) -> tuple[_Suffixes, _Suffixes]:
        """Cut off the first suffixes, as many as are grown in one step."""
        pairs = np.cumsum(self.sizes[suffixes.atom])
        number = max(1, int(np.searchsorted(pairs, _PAIRS)))
        every = np.arange(len(suffixes.atom))
        return suffixes.keep(every[:number]), suffixes.keep(every[number:])

    def prepend(self, suffixes: _Suffixes, cutoff_ns: int) -> _Suffixes:
        """Put every option that fits in front of suffixes, as far as the bounds stay below a cutoff."""
        table, n = self.table, self.table.micro_batches
        sizes = self.sizes[suffixes.atom]
        parent = np.repeat(np.arange(len(sizes)), sizes)
        within = np.arange(len(parent)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        row = self.by_end.row[self.by_end.start[suffixes.atom[parent]] + within]
        island = table.island[row]
        used = suffixes.used[parent] // self.place_value[island] % (table.count[island] + 1)
        link = table.round_trip_ns[table.exit[row], suffixes.entry[parent]]
        tolerated = np.minimum(suffixes.stages[parent], table.depth) <= table.limit[row]
        fits = np.flatnonzero(tolerated & (used < table.count[island]) & (link < IMPOSSIBLE))
        parent, row, link, island = parent[fits], row[fits], link[fits], island[fits]
        state = (
            suffixes.state[parent] + self.front.place_value[island],
            table.entry[row],
            suffixes.atom[parent] - table.length[row],
            suffixes.stages[parent] + table.stages[row],
        )
        behind = suffixes.total[parent] + link
        total = behind + table.sum_ns[row]
        least = suffixes.least[parent] + link + table.sum_ns[row]
        ahead = self.front.sums_ns(*state)
        bound = np.maximum(least + ahead, self.front.iteration_ns(*state, total))
        kept = np.flatnonzero(bound < cutoff_ns)
        if len(kept):
            own = self.columns.least_ns(row[kept], suffixes.stages[parent[kept]], behind[kept], n)
            least[kept] = np.maximum(least[kept], own)
            bound[kept] = np.maximum(bound[kept], least[kept] + ahead[kept])
            kept = kept[bound[kept] < cutoff_ns]
        code, entry, atom, stages = (column[kept] for column in state)
        parent, row = parent[kept], row[kept]
        path = np.hstack([row[:, None], suffixes.path[parent]])
        used = suffixes.used[parent] + self.place_value[island[kept]]
        return _Suffixes(path, used, code, atom, stages, entry, total[kept], least[kept], bound[kept])

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
