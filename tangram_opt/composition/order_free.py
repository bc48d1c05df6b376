"""The cheapest set of options where their order need not be decided: a dynamic program over islands.

Where all slices are of equal atoms and every boundary costs the same, options can stand in any order that memory
allows, and whether there is one is a question of due dates: counted from the back, an option with S stages that
tolerates D behind it must end by S + D, and a set of options fits if and only if the stages of those due by d are at
most d, for every d (earliest due date first, Jackson 1955). So islands are decided one after the other, not places.

A label is a choice for the classes up to some class: atoms, stages by due date, and cost. For prices on the due dates
(Lagrangian relaxation) the rest depends on the atoms only, and its least cost gives a bound that counts islands
exactly. It complements :mod:`.sequences`, which prices islands and counts stages exactly: with many islands this one
is tight, as memory then limits few of the places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tangram_opt.composition.labels import CHUNK, LOOK_BACK, Columns
from tangram_opt.composition.prices import Found, raise_prices
from tangram_opt.composition.table import IMPOSSIBLE, Ints, OptionTable


def order_is_free(table: OptionTable) -> bool:
    """Tell whether the options of a table can stand anywhere, and change places at no cost."""
    if not len(table.option):
        return False
    boundary_ns = table.round_trip_ns[table.exit[0], table.entry[0]]
    places = np.diff(table.first_atom_start)[table.slice]
    return bool(
        table.swap_group[0] >= 0
        and (table.swap_group == table.swap_group[0]).all()
        and (places == table.atoms - table.length + 1).all()
        and boundary_ns < IMPOSSIBLE
    )


@dataclass(frozen=True)
class DueDatePrices:
    """Least costs of covering atoms, for given prices of due dates.

    Attributes
    ----------
    price_ns : array of int, shape (dates + 1,)
        Of a stage that is due by a date, by date.
    reduced_ns : array of int, shape (options,)
        Costs of the options with what their stages pay.
    start_ns : list of array of int, shape (atoms + 1,)
        By class, and behind the last one: least cost of covering so many atoms with its islands and those of all
        classes behind it.
    left_ns : list of list of array of int, shape (atoms + 1,)
        By class and number of its islands that are left, where one of them is used already or none need be. A list
        ends where more islands are of no use.
    bound_ns : int
        Lower bound on the sum of times of a composition; IMPOSSIBLE where there is none at all.
    late : array of int, shape (dates + 1,)
        By how many stages the cheapest choice misses each date; negative where it has room.
    """

    price_ns: Ints
    reduced_ns: Ints
    start_ns: list[Ints]
    left_ns: list[list[Ints]]
    bound_ns: int
    late: Ints


@dataclass(frozen=True)
class _Labels(Columns):
    """Choices as columns.

    `node` is the last step of the way there, `reduced` the cost with prices, and `bound` is on the cost of any
    completion. `due` has a column for each date that can be missed.
    """

    node: Ints
    atoms: Ints
    due: Ints
    cost: Ints
    reduced: Ints
    bound: Ints


class OrderFree:
    """The options of a table whose order is free.

    Parameters
    ----------
    table : OptionTable
        See :func:`order_is_free`.
    slowest_ns : int
        The slowest stage that is allowed.
    """

    def __init__(self, table: OptionTable, slowest_ns: int) -> None:  # noqa: ARG002 (its options keep it)
        self.table = table
        self.rows = [np.flatnonzero(table.island == island) for island in range(len(table.count))]
        self.boundary_ns = int(table.round_trip_ns[table.exit[0], table.entry[0]]) if len(table.exit) else 0
        self.cost = table.sum_ns + self.boundary_ns
        # Limits from `depth` on never bind.
        self.due = np.where(table.limit < table.depth, table.stages + table.limit, IMPOSSIBLE)
        dates = np.unique(self.due[self.due < IMPOSSIBLE])
        by_date = np.where(self.due[:, None] <= dates, table.stages[:, None], 0)
        most = np.zeros((len(table.count), len(dates)), dtype=np.int64)
        np.maximum.at(most, table.island, by_date)
        can_be_missed = np.minimum(table.count @ most, table.atoms) > dates
        self.dates = dates[can_be_missed]
        self.by_date = np.ascontiguousarray(by_date[:, can_be_missed])
        atoms = np.arange(table.atoms + 1)
        # rest[l, k] are the atoms left of l after k; the place behind the last atom stands for "too many".
        self.rest = atoms[:, None] - atoms
        self.rest[self.rest < 0] = table.atoms + 1

    @staticmethod
    def free(table: OptionTable) -> Ints:
        """Stages at no price, whatever their due date."""
        return np.zeros(table.depth + int(table.stages.max(initial=0)) + 1, dtype=np.int64)

    def relax(self, price_ns: Ints) -> DueDatePrices:
        """Compute the least costs for given prices."""
        table = self.table
        price = price_ns[self.dates]
        reduced = self.cost + self.by_date @ price
        behind = np.full(table.atoms + 1, IMPOSSIBLE, dtype=np.int64)
        behind[0] = 0
        start, left, picks = [behind], [], []
        for island in reversed(range(len(self.rows))):
            rows = self.cheapest_by_length(island, reduced)
            costs, picked = [behind], [np.full(table.atoms + 1, -1)]
            for _ in range(table.count[island]):
                cost, pick = self.take_one(costs[-1], rows, reduced)
                better = cost < behind
                if (np.where(better, cost, behind) == costs[-1]).all():
                    break
                costs.append(np.where(better, cost, behind))
                picked.append(np.where(better, pick, -1))
            left.append(costs)
            picks.append(picked)
            behind = costs[-1]
            if table.required[island]:
                used_up = costs[min(int(table.count[island]), len(costs)) - 1]
                behind, pick = self.take_one(used_up, rows, reduced)
                picked.append(pick)
            start.append(behind)
        start.reverse()
        left.reverse()
        picks.reverse()
        value = int(behind[-1])
        if value >= IMPOSSIBLE // 2:
            return DueDatePrices(price_ns, reduced, start, left, IMPOSSIBLE, np.zeros_like(price_ns))
        late = np.zeros_like(price_ns)
        late[self.dates] = self.by_date[self.cheapest_choice(picks)].sum(axis=0) - self.dates
        return DueDatePrices(price_ns, reduced, start, left, value - int(price @ self.dates) - self.boundary_ns, late)

    def cheapest_by_length(self, island: int, reduced: Ints) -> Ints:
        """List the options of a class, for each length only the cheapest."""
        rows = self.rows[island]
        rows = rows[np.lexsort((reduced[rows], self.table.length[rows]))]
        kept: Ints = rows[np.diff(self.table.length[rows], prepend=0) > 0]
        return kept

    def take_one(self, behind: Ints, rows: Ints, reduced: Ints) -> tuple[Ints, Ints]:
        """Put one of some options in front of the least costs behind it; return costs and options by atoms."""
        if not len(rows):
            return np.full_like(behind, IMPOSSIBLE), np.full_like(behind, -1)
        ways = np.append(behind, IMPOSSIBLE)[self.rest[:, self.table.length[rows]]] + reduced[rows]
        pick = ways.argmin(axis=1)
        cost = np.minimum(np.take_along_axis(ways, pick[:, None], axis=1)[:, 0], IMPOSSIBLE)
        return cost, rows[pick]

    def cheapest_choice(self, picks: list[list[Ints]]) -> list[int]:
        """Follow the options that led to the least cost of covering the model."""
        rows, atoms = [], self.table.atoms
        for island, picked in enumerate(picks):
            levels = list(picked)
            if self.table.required[island]:
                rows.append(int(levels.pop()[atoms]))
                atoms -= int(self.table.length[rows[-1]])
                levels = levels[: int(self.table.count[island])]
            while levels and (row := int(levels.pop()[atoms])) >= 0:
                rows.append(row)
                atoms -= int(self.table.length[row])
        return rows

    def improve(
        self, relaxed: DueDatePrices, target_ns: int, hoped: Callable[[int], int], rounds: int, stop: Callable[[], bool]
    ) -> DueDatePrices:
        """Raise prices towards a target; see :func:`.prices.raise_prices`."""
        highest = IMPOSSIBLE // (16 * self.table.atoms)

        def relax(price: NDArray[np.float64]) -> DueDatePrices:
            return self.relax(np.rint(np.clip(price, 0, highest)).astype(np.int64))

        def slope(current: DueDatePrices) -> Ints:
            return np.where((current.price_ns > 0) | (current.late > 0), current.late, 0)

        return raise_prices(relax, slope, relaxed, min(target_ns, hoped(relaxed.bound_ns)), rounds, stop)

    def search(self, relaxed: DueDatePrices, cutoff_ns: int, width: int, stop: Callable[[], bool]) -> Found:
        """Find the cheapest set below a cutoff.

        Parameters
        ----------
        relaxed : DueDatePrices
            Guide and bound.
        cutoff_ns : int
            Sets that cost as much do not matter.
        width : int
            Most labels per class.
        stop : callable
            Asked between pieces of work; once it answers True the search ends.

        Returns
        -------
        Found
            The set, in an order that memory allows, and what may have been missed.
        """
        return _Choice(self, relaxed, cutoff_ns, width, stop).find()


class _Choice:
    """One search: labels class by class, and the ways that led to them."""

    def __init__(
        self, options: OrderFree, relaxed: DueDatePrices, cutoff_ns: int, width: int, stop: Callable[[], bool]
    ) -> None:
        self.options = options
        self.relaxed = relaxed
        self.cutoff_ns = cutoff_ns
        self.width = width
        self.stop = stop
        self.paid_ns = int(relaxed.price_ns[options.dates] @ options.dates) + options.boundary_ns
        self.floor_ns = IMPOSSIBLE
        self.parents: list[Ints] = [np.array([-1])]
        self.steps: list[Ints] = [np.array([-1])]
        self.nodes = 1

    def find(self) -> Found:
        """Decide class after class."""
        labels = self.root()
        for island in range(len(self.options.rows)):
            labels = self.narrow(self.decide(labels, island))
        whole = np.flatnonzero(labels.atoms == self.options.table.atoms)
        if not len(whole):
            return Found(IMPOSSIBLE, (), self.floor_ns)
        best = whole[np.argmin(labels.cost[whole])]
        rows = self.way_to(int(labels.node[best]))
        # From the back by due date: if any order fits, this one does.
        rows.sort(key=lambda row: -int(self.options.due[row]))
        return Found(int(labels.cost[best]) - self.options.boundary_ns, tuple(rows), self.floor_ns)

    def root(self) -> _Labels:
        """Nothing is decided."""
        zero = np.zeros(1, dtype=np.int64)
        due = np.zeros((1, len(self.options.dates)), dtype=np.int64)
        return _Labels(zero, zero, due, zero, zero, zero + self.relaxed.bound_ns)

    def decide(self, labels: _Labels, island: int) -> _Labels:
        """Use some islands of a class."""
        table, left = self.options.table, self.relaxed.left_ns[island]
        behind = self.relaxed.start_ns[island + 1]
        decided = [] if table.required[island] else [self.bounded(labels, behind)]
        for used in range(1, int(table.count[island]) + 1):
            rest = left[min(int(table.count[island]) - used, len(left) - 1)]
            labels = self.narrow(self.use_one(labels, island, rest))
            if not len(labels.node):
                break
            decided.append(self.bounded(labels, behind))
        return _Labels.joined(decided) if decided else labels

    def bounded(self, labels: _Labels, behind: Ints) -> _Labels:
        """Bound labels by the least costs of what is behind them; drop those that reach the cutoff."""
        bound = labels.reduced + behind[self.options.table.atoms - labels.atoms] - self.paid_ns
        labels = _Labels(labels.node, labels.atoms, labels.due, labels.cost, labels.reduced, bound)
        return labels.keep(bound < self.cutoff_ns)

    def use_one(self, labels: _Labels, island: int, rest: Ints) -> _Labels:
        """Add every option of a class that fits to every label."""
        rows = self.options.rows[island]
        parts = [labels.keep(np.zeros(0, dtype=np.int64))]
        step = max(CHUNK // max(len(rows), 1), 1)
        for first in range(0, len(labels.node) if len(rows) else 0, step):
            if self.stop():
                self.floor_ns = min(self.floor_ns, int(labels.bound[first:].min()))
                break
            parts.append(self.pairs(labels.keep(np.arange(first, min(first + step, len(labels.node)))), rows, rest))
        return _Labels.joined(parts)

    def pairs(self, labels: _Labels, rows: Ints, rest: Ints) -> _Labels:
        """Add options to labels, as far as bound and due dates allow."""
        table = self.options.table
        atoms = labels.atoms[:, None] + table.length[rows]
        reduced = labels.reduced[:, None] + self.relaxed.reduced_ns[rows]
        ahead = np.append(rest, IMPOSSIBLE)[np.where(atoms <= table.atoms, table.atoms - atoms, -1)]
        label, column = np.nonzero(reduced + ahead - self.paid_ns < self.cutoff_ns)
        due = labels.due[label] + self.options.by_date[rows[column]]
        fits = (due <= self.options.dates).all(axis=1)
        label, column, due = label[fits], column[fits], due[fits]
        row = rows[column]
        node = np.arange(self.nodes, self.nodes + len(label))
        self.nodes += len(label)
        self.parents.append(labels.node[label])
        self.steps.append(row)
        return _Labels(
            node,
            atoms[label, column],
            due,
            labels.cost[label] + self.options.cost[row],
            reduced[label, column],
            (reduced + ahead)[label, column] - self.paid_ns,
        )

    def narrow(self, labels: _Labels) -> _Labels:
        """Drop labels that another one can replace, and the least promising of too many."""
        labels = labels.keep(self.undominated(labels))
        if len(labels.node) > self.width:
            order = np.argpartition(labels.bound, self.width)
            self.floor_ns = min(self.floor_ns, int(labels.bound[order[self.width :]].min()))
            labels = labels.keep(order[: self.width])
        return labels

    def undominated(self, labels: _Labels) -> Ints:
        """Find labels for whose atoms no other one is as cheap and no later."""
        order = np.lexsort((labels.due.sum(axis=1), labels.cost, labels.atoms))
        atoms, due = labels.atoms[order], labels.due[order]
        kept = np.ones(len(order), dtype=bool)
        # In this order a label is at most as cheap as those before it. Looking at a few of them removes nearly all.
        for step in range(1, min(LOOK_BACK + 1, len(order))):
            kept[step:] &= ~((atoms[step:] == atoms[:-step]) & (due[:-step] <= due[step:]).all(axis=1))
        kept_order: Ints = order[kept]
        return kept_order

    def way_to(self, node: int) -> list[int]:
        """List the options that led to a label."""
        parent, step = np.concatenate(self.parents), np.concatenate(self.steps)
        rows = []
        while parent[node] >= 0:
            rows.append(int(step[node]))
            node = int(parent[node])
        return rows
