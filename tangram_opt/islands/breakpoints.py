"""Where the islands can change as a tolerance grows: at the ratios of two nodes' figures, and nowhere else.

A condition compares the ratio of two figures with 1 + tolerance, so between two neighbouring ratios minus 1 the same
partitions are allowed. Where the tolerance reaches a ratio more of them are.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from itertools import pairwise
from typing import Final, Literal, get_args

import numpy as np

from tangram_opt.data.island import IslandsProblem
from tangram_opt.islands.bandwidths import FASTEST, IntArray
from tangram_opt.islands.likeness import attributes
from tangram_opt.islands.network import MatrixLinks, links_of

Tolerance = Literal["compute", "memory", "intra_bandwidth", "network"]

TOLERANCES: Final[tuple[Tolerance, ...]] = get_args(Tolerance)
"""The tolerances that can be moved, by their names in :class:`tangram_opt.data.island.Tolerances`."""

CLOSEST: Final = Fraction(1, 10**12)
"""Breakpoints that are closer than this count as one, the larger: no tolerance that people write lies between."""


def breakpoints(
    problem: IslandsProblem, moved: Collection[Tolerance], low: Fraction, high: Fraction
) -> tuple[Fraction, ...]:
    """Find all tolerances at which more partitions become allowed.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster, and the other tolerances.
    moved : collection of str
        The tolerances that move together.
    low, high : Fraction
        Only tolerances above `low` and not above `high` are of interest.

    Returns
    -------
    tuple of Fraction
        Ascending.
    """
    nodes = problem.cluster.nodes
    found = np.empty((0, 2), dtype=np.int64)
    for position, name in enumerate(TOLERANCES[:3]):
        if name in moved:
            for gpus in {node.gpus for node in nodes}:
                values = np.array([attributes(node)[position] for node in nodes if node.gpus == gpus])
                found = np.unique(np.concatenate((found, _ratios(values, low, high))), axis=0)
    if "network" in moved:
        links = links_of(problem)
        rows = links.bandwidths if isinstance(links, MatrixLinks) else np.array([links.bandwidths])
        for row in np.unique(np.sort(rows, axis=1), axis=0):
            found = np.unique(np.concatenate((found, _ratios(row[row < FASTEST], low, high))), axis=0)
    tolerances = sorted(Fraction(int(larger), int(smaller)) - 1 for larger, smaller in found)
    inside = [each for each in tolerances if low < each <= high]
    last = inside[-1:]
    return (*(each for each, after in pairwise(inside) if after - each > CLOSEST), *last)


def _ratios(values: IntArray, low: Fraction, high: Fraction) -> IntArray:
    """Ratios of two of the values that are about 1 + `low` to 1 + `high`, as rows of two integers in lowest terms."""
    distinct = np.unique(values[values > 0])
    # Doubles only thin out here; the caller compares exactly.
    starts = np.searchsorted(distinct, distinct / (1 + float(high)) * (1 - 1e-9))
    ends = np.minimum(np.searchsorted(distinct, distinct / (1 + float(low)) * (1 + 1e-9)), np.arange(len(distinct)))
    counts = np.maximum(ends - starts, 0)
    larger = np.repeat(distinct, counts)
    smaller = distinct[np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts - starts, counts)]
    divisor = np.gcd(larger, smaller)
    return np.unique(np.column_stack((larger // divisor, smaller // divisor)), axis=0)
