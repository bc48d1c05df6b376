"""What the options in front of a suffix of the pipeline add to its iteration time at least.

The suffix is known by its first atom, stages, entry port, the islands that it uses, and what a micro-batch takes
through it and back, D. With U for what a micro-batch takes through the stages in front of a stage s and back, d for the
same between s and the suffix, and k = min(stages behind s, n - 1), these hold of every stage s in front
(:func:`tangram_opt.pipeline.lower_bound_ns`), and so of the largest over all of them:

    (1)  T >= U + n t
    (2)  T >= U + n t +     d - k f +   D     (and the same with b for f where n > stages behind + 1)
    (3)  T >= U + n t + 2 d - k t   + 2 D     where n > stages behind + 1

Besides, (0) T >= U + t + d + (what the suffix takes from its first forward to its last backward). The least of each
over all ways to complete the suffix is a shortest path from the front of the model: of (0) a sum, of the others a
maximum to which what is behind a stage is added as it comes, with the least sum for U.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tangram_opt.composition.labels import Columns
from tangram_opt.composition.relaxation import Ends
from tangram_opt.composition.search import island_code
from tangram_opt.composition.stage_columns import StageColumns
from tangram_opt.composition.table import IMPOSSIBLE, Ints, OptionTable

_MOST_STATES: Final = 1 << 22
_MOST_STEPS: Final = 1 << 14
"""Classes of islands are counted as long as there are at most so many states, 32 MB for each of the four bounds, and so
many pairs of a code and an atom, some seconds."""

_MOST_STAGES: Final = 40
"""Suffixes with more stages are alike for the bounds, unless memory tells them apart."""


@dataclass(frozen=True)
class Known(Columns):
    """What the bounds know suffixes by, as columns.

    Attributes
    ----------
    code : array of int
        The islands that a suffix uses: the sum of :attr:`FrontBounds.place_value` over them.
    entry, atom, stages : array of int
        Its entry port, first atom and number of stages.
    """

    code: Ints
    entry: Ints
    atom: Ints
    stages: Ints


class FrontBounds:
    """Bounds for all suffixes that the options of a table can form.

    Parameters
    ----------
    table : OptionTable
        The options.
    by_end : Ends
        The same by the atom behind them.
    columns : StageColumns
        Their stages.
    stop : callable
        Asked often; the bounds are of no use once it answers True.

    Attributes
    ----------
    complete : bool
        Whether it never did.
    place_value : array of int, shape (classes,)
        What an island of each class counts in a code; 0 for classes that are not counted, as if there were any number.
    least_ns : array of int, shape (4, codes, entry ports + 1, atoms + 1, depth + 1 + padding)
        The bounds (0) to (3), without what the suffix adds; of (0) IMPOSSIBLE where it cannot be completed.
    """

    def __init__(self, table: OptionTable, by_end: Ends, columns: StageColumns, stop: Callable[[], bool]) -> None:
        self.micro_batches = table.micro_batches
        most = np.zeros(len(table.count), dtype=np.int64)
        np.maximum.at(most, table.island, table.stages)
        longest = min(int((most * table.count).sum()), table.atoms)
        self.depth = max(table.depth, min(longest, _MOST_STAGES, table.micro_batches))
        padded = self.depth + 1 + int(most.max(initial=0))
        shape = (table.round_trip_ns.shape[1], table.atoms + 1, padded)
        self.counted = _counted(table, int(np.prod(shape)))
        count = np.where(self.counted, table.count, 0)
        self.place_value = np.where(self.counted, np.array(island_code(count.tolist())), 0)
        self.least_ns = np.full((4, int(np.prod(count + 1)), *shape), IMPOSSIBLE, dtype=np.int64)
        self.complete = self._fill(table, by_end, columns, stop)

    def _fill(self, table: OptionTable, by_end: Ends, columns: StageColumns, stop: Callable[[], bool]) -> bool:
        width = self.depth + 1
        row, start, stretch = by_end.row, by_end.start.tolist(), by_end.stretch.tolist()
        first = np.repeat(np.arange(table.atoms + 1), np.diff(by_end.start)) - table.length[row]
        total = table.sum_ns[row] + np.where(first == 0, columns.late_sync_ns()[row], 0)
        allowed = np.minimum(np.arange(width), table.depth) <= table.limit[row][:, None]
        stages = table.stages[row][:, None] + np.arange(width)
        entry, first, total, island = table.entry[row][:, None], first[:, None], total[:, None], table.island[row]
        round_trip = table.round_trip_ns[:, :, None]
        own = [_own_ns(columns, self.micro_batches, width, bound)[row] for bound in (1, 2, 3)]
        for code in reversed(range(self.least_ns.shape[1])):
            used = code // np.maximum(self.place_value, 1) % (table.count + 1)
            if (~self.counted | (used >= table.required)).all():  # nothing need be in front of the first atom
                self.least_ns[:, code, :, 0] = np.array([0, 0, -IMPOSSIBLE, -IMPOSSIBLE])[:, None, None]
            free = (~self.counted | (used < table.count))[island]
            rest = np.where(free, code + self.place_value[island], 0)[:, None]
            if stop():
                return False
            for atom in range(1, table.atoms + 1):
                here = slice(start[atom], start[atom + 1])
                if not free[here].any():
                    continue
                ports = slice(stretch[atom], stretch[atom + 1])
                state = (rest[here], entry[here], first[here], stages[here])
                front = self.least_ns[0][state]
                possible = allowed[here] & free[here][:, None] & (front < IMPOSSIBLE)
                # How often each bound counts what is behind a stage.
                for bound, times in enumerate((1, 0, 1, 2)):
                    reached = front + total[here]
                    if bound:
                        passed = self.least_ns[bound][state] + times * total[here]
                        reached = np.maximum(passed, front + own[bound - 1][here])
                    reached = np.where(possible, reached, IMPOSSIBLE)
                    by_exit = np.minimum.reduceat(reached, by_end.port_start[ports] - here.start, axis=0)
                    links = np.minimum(times * round_trip[by_end.port[ports]], IMPOSSIBLE)
                    into = self.least_ns[bound, code, :, atom]
                    np.minimum((by_exit[:, None] + links).min(axis=0), IMPOSSIBLE, out=into[:, :width])
                    into[:, width:] = into[:, width - 1 : width]
        return True

    def sums_ns(self, suffixes: Known) -> Ints:
        """Bound what a micro-batch takes through all stages in front of suffixes and back."""
        sums: Ints = self.least_ns[0, suffixes.code, suffixes.entry, suffixes.atom, self._stages(suffixes)]
        return sums

    def iteration_ns(self, suffixes: Known, sum_ns: Ints) -> Ints:
        """Bound the iteration time of every completion of suffixes, by the stages in front of them.

        `sum_ns` is what a micro-batch takes through the suffixes and back.
        """
        state = (suffixes.code, suffixes.entry, suffixes.atom, self._stages(suffixes))
        one, two, three = (self.least_ns[bound][state] for bound in (1, 2, 3))
        longest: Ints = np.maximum(np.maximum(one, two + sum_ns), three + 2 * sum_ns)
        return longest

    def _stages(self, suffixes: Known) -> Ints:
        return np.minimum(suffixes.stages, self.depth)


def _counted(table: OptionTable, states: int) -> NDArray[np.bool_]:
    """Choose the classes whose islands are counted: those that hold most, as many as there are states for."""
    capacity = np.zeros(len(table.count), dtype=np.int64)
    np.maximum.at(capacity, table.island, table.length)
    counted = np.zeros(len(table.count), dtype=bool)
    steps = table.atoms
    for island in np.argsort(-capacity, kind="stable").tolist():
        states *= int(table.count[island]) + 1
        steps *= int(table.count[island]) + 1
        if states > _MOST_STATES or steps > _MOST_STEPS:
            break
        counted[island] = True
    return counted


def _own_ns(columns: StageColumns, micro_batches: int, width: int, bound: int) -> Ints:
    """Evaluate a bound of the module for the stages of each option, by the stages behind it; without U and D."""
    n, forward, backward, time = micro_batches, columns.forward_ns, columns.backward_ns, columns.time_ns
    run = columns.before_ns + n * time
    if bound == 1:
        return columns.longest_of_stages(run)[:, None]
    own = []
    for stages in range(width):
        # The last entry stands for all suffixes with as many stages or more.
        after = columns.after + (stages if stages < width - 1 else n)
        hidden, returns = np.minimum(after, n - 1), n > after + 1
        if bound == 2:
            values = run + columns.behind_ns - hidden * np.where(returns, np.minimum(forward, backward), forward)
        else:
            values = np.where(returns, run + 2 * columns.behind_ns - hidden * time, -IMPOSSIBLE)
        own.append(columns.longest_of_stages(values))
    return np.stack(own, axis=1)
