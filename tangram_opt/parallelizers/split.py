"""Cut a slice into pipeline stages of nearly equal work."""

from __future__ import annotations

from functools import lru_cache
from math import gcd

import numpy as np

from tangram_opt.parallelizers.collectives import IntArray

MAX_CACHED_SLICES = 4096


@lru_cache(maxsize=MAX_CACHED_SLICES)
def balanced_splits(weights: tuple[int, ...], max_stages: int) -> tuple[tuple[int, ...], ...]:
    """Cut a sequence into 1, 2, ... contiguous parts with the smallest possible maximum.

    Among the cuts with the smallest maximum, the one with the smallest sum of squares is taken, which levels the
    other parts; among equals, the parts in front hold fewer atoms, since they hold more micro-batches in flight.

    Parameters
    ----------
    weights : tuple of int
        Work of each atom, not negative.
    max_stages : int
        Largest number of parts; at most the number of atoms.

    Returns
    -------
    tuple of tuple of int
        Entry ``k - 1`` holds the numbers of atoms of the `k` parts, each at least 1.
    """
    length = len(weights)
    # In the largest common unit squares are small enough to be exact, so that equals compare as equal.
    unit = gcd(*weights) or 1
    ends = np.concatenate(([0.0], np.cumsum([weight // unit for weight in weights], dtype=np.float64)))
    # part[i, j]: weight of atoms i..j-1, infinite for empty parts.
    part = ends[None, :] - ends[:, None]
    part[np.tril_indices(length + 1)] = np.inf
    squares = part**2
    # smallest[k][j], level[k][j]: for the atoms from j on in k + 1 parts.
    smallest = part[:, length]
    level, choices = squares[:, length], [np.full(length + 1, length)]
    splits: list[tuple[int, ...]] = [(length,)]
    for _ in range(1, max_stages):
        worst = np.maximum(part, smallest[None, :])
        smallest_next = worst.min(axis=1)
        # The level of a suffix is that of its own best cut, a heuristic second criterion that costs no proof.
        total = np.where(worst <= smallest_next[:, None], squares + level[None, :], np.inf)
        choice = total.argmin(axis=1)
        level = total[np.arange(length + 1), choice]
        smallest = smallest_next
        choices.append(choice)
        splits.append(_walk(choices, length))
    return tuple(splits)


def _walk(choices: list[IntArray], length: int) -> tuple[int, ...]:
    """Follow the choices from the first atom: the last list entry cuts off the first part."""
    sizes, start = [], 0
    for choice in reversed(choices):
        end = int(choice[start])
        sizes.append(end - start)
        start = end
    if start != length:
        raise AssertionError(f"parts {sizes} do not cover {length} atoms")
    return tuple(sizes)
