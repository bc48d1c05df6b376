"""Keep what nothing else beats."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

PIVOTS = 16
"""Candidates that are tried against all others first."""


def non_dominated(costs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Indices of the rows that no other row matches or beats in every column.

    Parameters
    ----------
    costs : numpy.ndarray
        Of shape (candidates, criteria), smaller is better.

    Returns
    -------
    numpy.ndarray
        In lexicographic order of their rows; of equal rows the first.
    """
    order = np.lexsort(costs.T[::-1])
    # One row per criterion: comparing whole rows is several times faster than candidate by candidate.
    left = np.ascontiguousarray(costs[order].T)
    # Candidates that are good on the whole beat most others at once.
    scale = np.maximum(1, np.abs(left).max(axis=1, initial=1))[:, None]
    for pivot in left[:, np.argsort((left / scale).sum(axis=0), kind="stable")[:PIVOTS]].T[:, :, None]:
        kept = (left < pivot).any(axis=0) | (left == pivot).all(axis=0)
        order, left = order[kept], left[:, kept]
    front = []
    while order.size:
        # Nothing after the lexicographically smallest candidate can dominate it.
        front.append(order[0])
        kept = (left[:, 1:] < left[:, :1]).any(axis=0)
        order, left = order[1:][kept], left[:, 1:][:, kept]
    return np.array(front, dtype=np.int64)
