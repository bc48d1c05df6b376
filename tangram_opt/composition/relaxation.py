"""A lower bound: compositions that pay a price for islands instead of counting them (Lagrangian relaxation).

For prices pi (one per island class) the cheapest sequence of options that tiles the model, where an option costs
its times plus the price of its class and may be used any number of times, is a shortest path over (first atom of the
suffix, stages of the suffix, entry port of the suffix). Its cost minus the prices of all islands that there are is a
lower bound on the sum of times of every composition. The distances bound the way from each state to the front of the
model, so one pass serves both as a bound of the whole and as a guide to the search of :mod:`.search`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tangram_opt.composition.table import IMPOSSIBLE, Ints, OptionTable

_LONGEST_WAY: Final = 8
"""Steps on the way along capacity, each four times as far as the one before."""


@dataclass(frozen=True)
class Ends:
    """Options by the atom behind their slice: those of atom e are ``row[start[e] : start[e + 1]]``.

    Attributes
    ----------
    row : array of int
        Rows of the table, once for each place, sorted by exit port within each atom.
    start : array of int, shape (atoms + 2,)
        Where each atom begins.
    port, port_start : array of int
        Exit port of each stretch of equal ones among the rows, and where it begins.
    stretch : array of int, shape (atoms + 2,)
        Where the stretches of each atom begin.
    """

    row: Ints
    start: Ints
    port: Ints
    port_start: Ints
    stretch: Ints


def ends(table: OptionTable) -> Ends:
    """List the options of a table by the atom behind their slice."""
    places = np.diff(table.first_atom_start)[table.slice]
    row = np.repeat(np.arange(len(places)), places)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(places) - places, places)
    end = table.first_atom[table.first_atom_start[table.slice[row]] + nth] + table.length[row]
    exits = len(table.round_trip_ns)
    order = np.argsort(end * exits + table.exit[row], kind="stable")
    row, end = row[order], end[order]
    port = table.exit[row]
    port_start = np.flatnonzero(np.diff(end * exits + port, prepend=-1))
    atoms = np.arange(table.atoms + 2)
    return Ends(row, np.searchsorted(end, atoms), port[port_start], port_start, np.searchsorted(end[port_start], atoms))


@dataclass(frozen=True)
class Relaxation:
    """Distances for given prices.

    Attributes
    ----------
    price_ns : array of int, shape (classes,)
        Price of an island; negative only for a required class.
    to_front_ns : array of int, shape (entry ports + 1, atoms + 1, depth + 1 + padding)
        Least cost, with prices, of what must come before a suffix with this entry port, first atom and number
        of stages.
    bound_ns : int
        Lower bound on the sum of times of a composition; IMPOSSIBLE where there is none at all.
    used : array of int, shape (classes,)
        How often the cheapest sequence uses each class.
    """

    price_ns: Ints
    to_front_ns: Ints
    bound_ns: int
    used: Ints


def refund_ns(price_ns: Ints, left: Ints, needed: Ints) -> Ints:
    """Write what prices of unused islands give back at most: a composition uses `needed` to `left` of each class."""
    return np.where(price_ns > 0, price_ns * left, price_ns * needed)


def relax(table: OptionTable, by_end: Ends, price_ns: Ints) -> Relaxation:
    """Compute the distances for given prices.

    Parameters
    ----------
    table, by_end : OptionTable, Ends
        The options.
    price_ns : array of int, shape (classes,)
        Price of an island of each class.

    Returns
    -------
    Relaxation
        Distances, bound, and the use of islands that leads to it.
    """
    width = table.depth + 1
    padded = width + int(table.stages.max(initial=0))
    cost = np.where(
        np.arange(width) <= table.limit[:, None], (table.sum_ns + price_ns[table.island])[:, None], IMPOSSIBLE
    )
    round_trip = table.round_trip_ns[:, :, None]
    front = np.full((table.round_trip_ns.shape[1], table.atoms + 1, padded), IMPOSSIBLE, dtype=np.int64)
    front[:, 0] = 0
    # windows[k] is front.ravel()[k : k + width]: the states of an option, for every number of stages behind it.
    step = front.itemsize
    windows = as_strided(front, shape=(front.size - width + 1, width), strides=(step, step), writeable=False)
    origin = (table.entry * (table.atoms + 1) - table.length) * padded + table.stages
    origin, cost = origin[by_end.row], cost[by_end.row]
    start, stretch = by_end.start.tolist(), by_end.stretch.tolist()
    for atom in range(1, table.atoms + 1):
        first, last = start[atom], start[atom + 1]
        if first == last:
            continue
        reached = windows[origin[first:last] + atom * padded]
        reached += cost[first:last]
        ports = slice(stretch[atom], stretch[atom + 1])
        by_exit = np.minimum.reduceat(reached, by_end.port_start[ports] - first, axis=0)
        best = (by_exit[:, None] + round_trip[by_end.port[ports]]).min(axis=0)
        np.minimum(best, IMPOSSIBLE, out=front[:, atom, :width])
        front[:, atom, width:] = front[:, atom, width - 1 : width]
    value = int(front[-1, -1, 0])
    if value >= IMPOSSIBLE // 2:
        return Relaxation(price_ns, front, IMPOSSIBLE, np.zeros_like(price_ns))
    bound = value - int(refund_ns(price_ns, table.count, table.required).sum())
    return Relaxation(price_ns, front, bound, _use_on_the_way(table, by_end, front, cost))


def _use_on_the_way(table: OptionTable, by_end: Ends, front: Ints, cost: Ints) -> Ints:
    used = np.zeros(len(table.count), dtype=np.int64)
    atom, stages, entry = table.atoms, 0, table.round_trip_ns.shape[1] - 1
    while atom:
        here = slice(by_end.start[atom], by_end.start[atom + 1])
        rows = by_end.row[here]
        reached = front[table.entry[rows], atom - table.length[rows], stages + table.stages[rows]]
        best = rows[np.argmin(reached + cost[here, stages] + table.round_trip_ns[table.exit[rows], entry])]
        used[table.island[best]] += 1
        atom -= int(table.length[best])
        stages = min(stages + int(table.stages[best]), table.depth)
        entry = int(table.entry[best])
    return used


def raise_along_capacity(table: OptionTable, by_end: Ends, start: Relaxation, target_ns: int) -> Relaxation:
    """Raise prices in proportion to how many atoms an island can hold, more and more as long as the bound gains.

    Where the islands cannot hold all atoms the bound grows without limit on this way, which subgradient steps alone
    take long to find.

    Parameters
    ----------
    table, by_end : OptionTable, Ends
        The options.
    start : Relaxation
        To begin with; a second way begins where islands are free.
    target_ns : int
        Stop where the bound reaches it.

    Returns
    -------
    Relaxation
        The one with the best bound.
    """
    capacity = np.zeros_like(table.count)
    np.maximum.at(capacity, table.island, table.length)
    step = capacity * max(target_ns // (8 * table.atoms), 1)
    best = start
    for origin in (start.price_ns, np.zeros_like(start.price_ns)):
        for power in range(_LONGEST_WAY):
            if best.bound_ns >= target_ns:
                return best
            tried = relax(table, by_end, allowed_price(table, origin + step * 4.0**power))
            if tried.bound_ns <= best.bound_ns:
                break
            best = tried
    return best


def slope(table: OptionTable, relaxed: Relaxation) -> Ints:
    """Tell in which direction prices raise the bound: towards a use of islands between what is required and there."""
    # At a price of 0 a class may be used any number of times between what is required and what there is.
    allowed = np.clip(relaxed.used, table.required, table.count)
    price = relaxed.price_ns
    return relaxed.used - np.where(price > 0, table.count, np.where(price < 0, table.required, allowed))


def allowed_price(table: OptionTable, price: NDArray[np.float64]) -> Ints:
    """Round to prices with a meaning: not negative unless the class is required, and so that sums fit 64 bits."""
    highest = IMPOSSIBLE // (16 * table.atoms)
    return np.rint(np.clip(price, np.where(table.required > 0, -highest, 0), highest)).astype(np.int64)
