"""Keep what nothing else beats."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


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
    front = []
    while order.size:
        # Nothing after the lexicographically smallest row can dominate it.
        best, order = order[0], order[1:]
        front.append(best)
        order = order[(costs[order] < costs[best]).any(axis=1)]
    return np.array(front, dtype=np.int64)
