"""What a composition with a given placement takes at least, whatever the order: placements that cost too much can go.

A composition covers the model with at most as many placements of an island class as there are islands in it. Without
the order this is a knapsack: classes one after the other, each with its cheapest way to hold so many atoms. Only the
first and the last atom of the model are told from the others, where they are runs of their own: one placement has each
of them. Every placement but the first has a boundary in front of it, at the least cost that its entry port allows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from formulations.composition_data import CompositionData

Costs = NDArray[np.int64]
"""Least cost by what is held: shape (4, atoms + 1), the first index a set of first atom (1) and last atom (2)."""

NO_WAY: Final = 1 << 60
"""More than any cost that is compared, and small enough that two of them can be added in 64 bits."""

ENDS: Final = [(a, b) for a in range(4) for b in range(4) if not a & b]
"""Pairs of sets of first and last atom that have nothing in common: each of these atoms is held once."""


def completable(data: CompositionData, most_ns: int | None) -> CompositionData:
    """Keep the placements that can be part of a composition whose times and transfers are within a limit.

    Parameters
    ----------
    data : CompositionData
        A problem.
    most_ns : int or None
        The limit on the sum of times and transfers; None where any composition will do.

    Returns
    -------
    CompositionData
        With all placements of these compositions.
    """
    boundary = max((data.round_trip_ns[exit_][entry] for exit_, entry in data.meetings), default=0)
    if data.problem.length * (max((p.sum_ns for p in data.placements), default=0) + boundary) >= NO_WAY:
        return data  # Such times count as impossible here; solvers refuse them.
    least = least_sums_ns(data)
    limit = NO_WAY - 1 if most_ns is None else min(most_ns, NO_WAY - 1)
    return replace(data, placements=tuple(p for p in data.placements if least[p.name] <= limit))


def least_sums_ns(data: CompositionData) -> dict[str, int]:
    """Bound the sum of times and transfers of any composition with each placement from below.

    Parameters
    ----------
    data : CompositionData
        A problem.

    Returns
    -------
    dict of str to int
        Nanoseconds by the name of the placement; `NO_WAY` and more where there is no composition with it.
    """
    framed = data.runs[0].count == 1
    arrival = _arrivals_ns(data)
    # Where any placement can be the first one, one boundary too many is counted.
    alone, excess = (NO_WAY, 0) if framed else (0, max(arrival.values(), default=0))
    cost = {
        p.name: p.sum_ns + (0 if framed and p.first_run == 0 else arrival.get(p.entry, alone)) for p in data.placements
    }
    nothing = np.full((4, data.problem.length + 1), NO_WAY, dtype=np.int64)
    nothing[0, 0] = 0
    classes = [_class_costs(data, k, cost, nothing) for k in range(len(data.counts))]
    before = list(accumulate(classes, together, initial=nothing))
    behind = list(accumulate(reversed(classes), together, initial=nothing))[::-1]
    everything = _ends(data, *(len(data.runs) - 1,) * 2) | _ends(data, 0, 0)
    least = {}
    for k, count in enumerate(data.counts):
        others = together(before[k], behind[k + 1])
        if count > 1:
            others = together(others, classes[k])
        for p in data.placements:
            if p.island == k:
                rest = others[everything & ~_ends(data, p.first_run, p.last_run), data.problem.length - p.length]
                least[p.name] = int(rest) + cost[p.name] - excess
    return least


def together(one: Costs, other: Costs) -> Costs:
    """Combine two tables: what is held by either of them, at the sum of the costs."""
    atoms = one.shape[1]
    # shifted[i, j] is what the other one holds where the first holds i of j atoms.
    lag = np.arange(atoms)[np.newaxis, :] - np.arange(atoms)[:, np.newaxis]
    both = np.full_like(one, NO_WAY)
    for a, b in ENDS:
        if one[a].min() < NO_WAY and other[b].min() < NO_WAY:
            shifted = np.where(lag >= 0, other[b][lag], NO_WAY)
            both[a | b] = np.minimum(both[a | b], (one[a][:, np.newaxis] + shifted).min(axis=0))
    return np.minimum(both, NO_WAY)


def _class_costs(data: CompositionData, island: int, cost: dict[str, int], nothing: Costs) -> Costs:
    """Least costs of what the islands of a class hold, or of up to twice as many of them."""
    once = nothing.copy()
    for p in data.placements:
        if p.island == island:
            at = _ends(data, p.first_run, p.last_run), p.length
            once[at] = min(once[at], cost[p.name])
    doublings = (data.counts[island] - 1).bit_length()
    return reduce(lambda costs, _: together(costs, costs), range(doublings), once)


def _arrivals_ns(data: CompositionData) -> dict[int, int]:
    """Least cost of the boundary in front of a placement, by its entry port; none where it meets nothing."""
    arrival: dict[int, int] = {}
    for exit_, entry in data.meetings:
        time = data.round_trip_ns[exit_][entry]
        arrival[entry] = min(arrival.get(entry, time), time)
    return arrival


def _ends(data: CompositionData, first_run: int, last_run: int) -> int:
    """Tell whether a placement from a run to a run has the first and the last atom, where these are told apart."""
    first = data.runs[0].count == 1 and first_run == 0
    last = len(data.runs) > 1 and data.runs[-1].count == 1 and last_run == len(data.runs) - 1
    return first + 2 * last
