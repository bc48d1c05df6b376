"""Joining units into islands: complete linkage proposes, the conditions decide in exact integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage

from tangram_opt.islands.bandwidths import Units, faster_outside, reach
from tangram_opt.islands.likeness import Attributes


def merge(
    units: Units,
    values: Sequence[Attributes],
    compatible: NDArray[np.bool_],
    limit: Fraction,
    stopped: Callable[[], bool] = lambda: False,
) -> list[list[int]]:
    """Join units into few islands, greedily and deterministically.

    Parameters
    ----------
    units : Units
        Nodes that stay together, and the links between them.
    values : sequence of tuple of int
        Attributes of the units.
    compatible : ndarray of bool, units x units
        Pairs that may be in one island as far as the two alone are concerned.
    limit : Fraction
        1 + the tolerance of the network.
    stopped : callable
        Whether the islands so far will do.

    Returns
    -------
    list of list of int
        Units of each island.
    """
    size = len(values)
    faster = _faster_links(units, limit)
    sizes = np.array([len(members) for members in units.members])
    # parts[c]: the islands that cluster c of the dendrogram consists of, most often one.
    parts: dict[int, list[list[int]]] = {unit: [[unit]] for unit in range(size)}
    for step, (left, right) in enumerate(_proposals(units, values, compatible)):
        if stopped():
            break
        ours, theirs = parts.pop(left), parts.pop(right)
        whole = [unit for island in ours + theirs for unit in island]
        if _is_island(whole, units, compatible, faster, limit):
            parts[size + step] = [whole]
            continue
        first = np.array([other[0] for other in theirs])
        nodes_in = np.array([sizes[other].sum() for other in theirs])
        free = np.ones(len(theirs), dtype=bool)
        for island in ours:
            # Whoever has a faster link from one node to the other must be inside, so there may be only so many.
            room = sizes[island].sum() + nodes_in - 2
            hopeful = free & compatible[island[0], first]
            hopeful &= (faster[island[0], first] <= room) & (faster[first, island[0]] <= room)
            for position in np.flatnonzero(hopeful):
                if _is_island(island + theirs[position], units, compatible, faster, limit):
                    island += theirs[position]
                    free[position] = False
        theirs = [other for position, other in enumerate(theirs) if free[position]]
        parts[size + step] = ours + theirs
    return [island for islands in parts.values() for island in islands]


def _is_island(
    island: list[int], units: Units, compatible: NDArray[np.bool_], faster: NDArray[np.int32], limit: Fraction
) -> bool:
    chosen = np.array(island)
    # The first row tells apart most of what is no island, at little cost.
    if not compatible[island[0], chosen].all() or not compatible[np.ix_(chosen, chosen)].all():
        return False
    others = sum(len(units.members[unit]) for unit in island) - 2
    if (faster[np.ix_(chosen, chosen)] > others).any():
        return False
    return faster_outside(units.bandwidths, chosen, limit) is None


def _faster_links(units: Units, limit: Fraction) -> NDArray[np.int32]:
    """For each pair of units, how many nodes have a faster link from the row's unit than the column's allows."""
    counts = np.zeros(units.bandwidths.shape, dtype=np.int32)
    sizes = np.array([len(members) for members in units.members])
    for unit, row in enumerate(units.bandwidths):
        others = np.delete(np.arange(len(row)), unit)
        order = others[np.argsort(-row[others], kind="stable")]
        before = np.concatenate(([0], np.cumsum(sizes[order])))
        counts[unit, order] = before[np.searchsorted(-row[order], -reach(row[order], limit))]
    return counts


def _proposals(units: Units, values: Sequence[Attributes], compatible: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Pairs of clusters in the order in which complete linkage joins them, ``size + step`` naming a joined one."""
    size = len(values)
    if size < 2:
        return []
    logs = np.log(np.array(values, dtype=float) + 1)
    speeds = np.unique(units.bandwidths)
    # Bandwidth decides, likeness breaks ties (it is brought below one rank), and the incompatible come last.
    unlikest = 1 + (logs.max(axis=0) - logs.min(axis=0)).max()
    # All pairs once, row by row: a square of them would not fit the memory where there are ten thousand units.
    distances = np.empty(size * (size - 1) // 2)
    start = 0
    for unit in range(size - 1):
        both_ways = np.minimum(units.bandwidths[unit, unit + 1 :], units.bandwidths[unit + 1 :, unit])
        rank = len(speeds) - 1 - np.searchsorted(speeds, both_ways)
        unlikeness = np.abs(logs[unit + 1 :] - logs[unit]).max(axis=1)
        row = np.where(compatible[unit, unit + 1 :], rank + unlikeness / unlikest, float(len(speeds) + 1))
        distances[start : start + len(row)] = row
        start += len(row)
    steps = linkage(distances, method="complete")
    return [(int(left), int(right)) for left, right, *_ in steps]
