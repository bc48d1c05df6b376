"""How alike the nodes of an island are, (C1) and (C2) of paper section 4.1, in exact integers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tangram_opt.data.cluster import Node
from tangram_opt.data.island import Tolerances
from tangram_opt.islands.bandwidths import FASTEST

Attributes = tuple[int, int, int]
Limits = tuple[Fraction, Fraction, Fraction]
Box = tuple[int, Attributes, Attributes]
"""GPUs per node, and the least and the most of each attribute over some nodes; twice the same for a single node."""

Figures = tuple[int, int, int, int]

ATTRIBUTES: Final = ("compute", "memory", "intra-node bandwidth")
"""What the tolerances of nodes bound, in the order of :func:`attributes`."""
RESPECTS: Final = ("GPUs per node", *ATTRIBUTES)
"""In what nodes of an island must be alike, in the order of :func:`figures`."""


class Unlike(NamedTuple):
    """A respect in which nodes are not alike, and the two that show it.

    Attributes
    ----------
    what : str
        One of `RESPECTS`.
    low, high : int
        Indices of the nodes with the least and the most of it.
    least, most : int
        What they have.
    limit : Fraction
        Largest allowed ratio.
    """

    what: str
    low: int
    high: int
    least: int
    most: int
    limit: Fraction


def attributes(node: Node) -> Attributes:
    """What the tolerances bound: compute (matrix products), memory, and intra-node bandwidth of a node."""
    return node.gpu.matmul_flops_per_s, node.gpu.memory_bytes, node.intra_bandwidth_bytes_per_s


def ratio_limit(tolerance: float) -> Fraction:
    """1 + tolerance, exactly as the tolerance is written: 0.2 is one fifth, not the binary number next to it."""
    return 1 + Fraction(str(tolerance))


def ratio_limits(tolerances: Tolerances) -> Limits:
    """Largest allowed ratio of each of the `attributes` inside an island."""
    return ratio_limit(tolerances.compute), ratio_limit(tolerances.memory), ratio_limit(tolerances.intra_bandwidth)


def figures(node: Node) -> Figures:
    """In what nodes of an island must be alike: GPUs per node, and the attributes."""
    return node.gpus, *attributes(node)


def unlike(found: Mapping[int, Figures], limits: Limits) -> Iterator[Unlike]:
    """Find the respects in which some nodes are not alike.

    Parameters
    ----------
    found : mapping of int to Figures
        Of each node, by its index.
    limits : tuple of Fraction
        Largest allowed ratio of each attribute; the numbers of GPUs must be equal.

    Yields
    ------
    Unlike
        At most one for each respect, in the order of `RESPECTS`.
    """
    for position, (what, limit) in enumerate(zip(RESPECTS, (Fraction(1), *limits), strict=True)):
        low, high = (pick(found, key=lambda i: found[i][position]) for pick in (min, max))
        least, most = found[low][position], found[high][position]
        if most > limit * least:
            yield Unlike(what, low, high, least, most, limit)


def alike(boxes: Sequence[Box], limits: Limits) -> NDArray[np.bool_]:
    """Which pairs of blocks of nodes (C1) and (C2) allow in one island.

    Parameters
    ----------
    boxes : sequence of Box
        Of each block.
    limits : tuple of Fraction
        Largest allowed ratio of each attribute.

    Returns
    -------
    ndarray of bool, blocks x blocks
        Blocks that are alike pair by pair are alike as a whole, as least and most are those of one pair.
    """
    counts = np.array([gpus for gpus, _, _ in boxes])
    result: NDArray[np.bool_] = counts[:, None] == counts[None, :]
    for position, limit in enumerate(limits):
        most = np.array([high[position] for _, _, high in boxes])
        tops = np.array([min(floor(limit * low[position]), int(FASTEST)) for _, low, _ in boxes])
        result &= most[:, None] <= tops[None, :]
    result &= result.T
    return result
