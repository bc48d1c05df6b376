"""The cheapest sequence of options that respects the number of islands: a dynamic program, back to front.

A label is a suffix of the pipeline: its first atom, its stages, its entry port, the islands that it uses (counted per
class) and its cost. Labels grow by one option per layer; of labels that agree only the cheapest is kept. Those whose
cost plus the relaxation's bound on the rest reaches the cutoff are dropped, and where more than `width` are left in
a layer the least promising are, too: the answer then says how good a sequence could have been lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tangram_opt.composition.labels import CHUNK, LOOK_BACK, Columns
from tangram_opt.composition.potentials import Potentials
from tangram_opt.composition.prices import Found
from tangram_opt.composition.relaxation import Ends, Relaxation, refund_ns
from tangram_opt.composition.table import IMPOSSIBLE, Ints, OptionTable


@dataclass(frozen=True)
class _Labels(Columns):
    """Suffixes with equally many options, as columns.

    `parent` is the label in the layer before that `row` of the table was prepended to; `used` encodes islands;
    `refund` is what the relaxation's distance overstates at most, as prices of unused islands; `head` is that of
    :mod:`.potentials`; `bound` is on the cost of any completion.
    """

    parent: Ints
    row: Ints
    used: Ints
    atom: Ints
    stages: Ints
    entry: Ints
    cost: Ints
    refund: Ints
    head: Ints
    bound: Ints


def island_code(count: Sequence[int]) -> tuple[int, ...] | None:
    """Place values of a mixed-radix number that counts used islands per class; None where 62 bits are too few."""
    values, value = [], 1
    for islands in count:
        values.append(value)
        value *= islands + 1
    return tuple(values) if value < 1 << 62 else None


def search(
    table: OptionTable,
    by_end: Ends,
    excess: Potentials | None,
    relaxed: Relaxation,
    cutoff_ns: int,
    width: int,
    stop: Callable[[], bool],
) -> Found:
    """Find the cheapest sequence below a cutoff.

    Parameters
    ----------
    table, by_end : OptionTable, Ends
        The options.
    excess : Potentials or None
        Excesses of the options over a period that the sequence must keep; None where there is none to keep.
    relaxed : Relaxation
        Guide and bound, for the same options.
    cutoff_ns : int
        Sequences that cost as much do not matter.
    width : int
        Most labels per layer.
    stop : callable
        Asked between pieces of work; once it answers True the search ends.

    Returns
    -------
    Found
        The sequence, and what may have been missed.
    """
    grow = _Growth(table, by_end, excess, relaxed)
    layers = [grow.root()]
    best_cost, floor = cutoff_ns, IMPOSSIBLE
    best: tuple[int, ...] = ()
    while len(layers[-1].atom):
        grown = []
        for first, last in _chunks(grow.sizes[layers[-1].atom]):
            if stop():
                floor = min(floor, int(layers[-1].bound[first:].min()))
                break
            grown.append(grow.prepend(layers[-1], np.arange(first, last), best_cost))
        if not grown:
            break
        labels = _Labels.joined(grown)
        complete = np.flatnonzero((labels.atom == 0) & grow.meets_requirements(labels.used))
        if len(complete):
            cheapest = complete[np.argmin(labels.cost[complete])]
            if labels.cost[cheapest] < best_cost:
                best_cost = int(labels.cost[cheapest])
                layers.append(labels)
                best = _path(layers, int(cheapest))
                layers.pop()
        labels = labels.keep(np.flatnonzero((labels.atom > 0) & (labels.bound < best_cost)))
        labels = labels.keep(grow.undominated(labels))
        if len(labels.atom) > width:
            order = np.argpartition(labels.bound, width)
            floor = min(floor, int(labels.bound[order[width:]].min()))
            labels = labels.keep(order[:width])
        layers.append(labels)
    return Found(best_cost, best, floor) if best else Found(IMPOSSIBLE, (), floor)


class _Growth:
    """How labels grow, under given prices."""

    def __init__(self, table: OptionTable, by_end: Ends, excess: Potentials | None, relaxed: Relaxation) -> None:
        self.table = table
        self.by_end = by_end
        self.excess = excess
        self.relaxed = relaxed
        self.sizes = np.diff(by_end.start)
        self.place_value = np.array(island_code(table.count.tolist()), dtype=np.int64)
        # Two neighbours of one swap group: if either order fits, so does the one where the option with the earlier
        # due date (stages + limit, counted from the back) is behind. Only that order is built.
        due = np.where(table.limit < table.depth, table.stages + table.limit, IMPOSSIBLE)
        self.rank = np.empty_like(due)
        self.rank[np.lexsort((table.island, due))] = np.arange(len(due))

    def root(self) -> _Labels:
        """The empty suffix, behind the last atom."""
        table, prices = self.table, self.relaxed
        refund = int(refund_ns(prices.price_ns, table.count, table.required).sum())
        values = (-1, -1, 0, table.atoms, 0, table.round_trip_ns.shape[1] - 1, 0, refund, -IMPOSSIBLE, prices.bound_ns)
        return _Labels(*(np.array([value], dtype=np.int64) for value in values))

    def prepend(self, labels: _Labels, which: Ints, cutoff_ns: int) -> _Labels:
        """Put every option that fits in front of some labels, as far as the bound stays below the cutoff."""
        table, by_end, price = self.table, self.by_end, self.relaxed.price_ns
        sizes = self.sizes[labels.atom[which]]
        parent = np.repeat(which, sizes)
        within = np.arange(len(parent)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        row = by_end.row[by_end.start[labels.atom[parent]] + within]
        island = table.island[row]
        used = labels.used[parent] // self.place_value[island] % (table.count[island] + 1)
        behind = labels.row[parent]
        fits = (labels.stages[parent] <= table.limit[row]) & (used < table.count[island])
        fits &= (
            (table.swap_group[row] < 0)
            | (behind < 0)
            | (table.swap_group[row] != table.swap_group[behind])
            | (self.rank[row] >= self.rank[behind])
        )
        over = labels.head[parent] + table.round_trip_ns[table.exit[row], labels.entry[parent]]
        parent, row, island, used, head = parent[fits], row[fits], island[fits], used[fits], over[fits]
        if self.excess is not None:
            kept, head = self.excess.prepend(row, head, labels.stages[parent])
            parent, row, island, used, head = parent[kept], row[kept], island[kept], used[kept], head[kept]
        atom = labels.atom[parent] - table.length[row]
        stages = np.minimum(labels.stages[parent] + table.stages[row], table.depth)
        entry = table.entry[row]
        cost = labels.cost[parent] + table.sum_ns[row] + table.round_trip_ns[table.exit[row], labels.entry[parent]]
        returned = (price[island] > 0) | ((price[island] < 0) & (used == 0))
        refund = labels.refund[parent] - np.where(returned, price[island], 0)
        bound = cost + self.relaxed.to_front_ns[entry, atom, stages] - refund
        code = labels.used[parent] + self.place_value[island]
        promising = np.flatnonzero((bound < cutoff_ns) & (cost < cutoff_ns))
        return _Labels(parent, row, code, atom, stages, entry, cost, refund, head, bound).keep(promising)

    def meets_requirements(self, used: Ints) -> NDArray[np.bool_]:
        """Tell which codes contain an island of every required class."""
        table = self.table
        met = np.ones(len(used), dtype=bool)
        for island in np.flatnonzero(table.required):
            met &= used // self.place_value[island] % (table.count[island] + 1) > 0
        return met

    def undominated(self, labels: _Labels) -> Ints:
        """Drop labels that another one can replace in every completion."""
        place = labels.atom * self.table.round_trip_ns.shape[1] + labels.entry
        order = np.lexsort((labels.stages, labels.cost, place, labels.used))
        used, place, stages, row = labels.used[order], place[order], labels.stages[order], labels.row[order]
        head = labels.head[order]
        group, rank = self.table.swap_group[row], self.rank[row]
        kept = np.ones(len(order), dtype=bool)
        # In this order a label is at most as cheap as those before it. Looking at a few of them removes nearly all.
        for step in range(1, min(LOOK_BACK + 1, len(order))):
            replaced = (used[step:] == used[:-step]) & (place[step:] == place[:-step])
            replaced &= stages[:-step] <= stages[step:]
            if self.excess is not None:
                replaced &= head[:-step] <= head[step:]
            replaced &= (group[:-step] < 0) | ((group[:-step] == group[step:]) & (rank[:-step] <= rank[step:]))
            kept[step:] &= ~replaced
        return order[kept]


def _chunks(sizes: Ints) -> Iterator[tuple[int, int]]:
    """Cut labels into ranges of about `CHUNK` pairs."""
    total = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        before = int(total[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(total, before + CHUNK, side="right")))
        yield first, last
        first = last


def _path(layers: list[_Labels], label: int) -> tuple[int, ...]:
    rows = []
    for labels in reversed(layers[1:]):
        rows.append(int(labels.row[label]))
        label = int(labels.parent[label])
    return tuple(rows)
