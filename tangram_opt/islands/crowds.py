"""Components with so many blocks that all pairs of them are too many to search: a greedy partition, and a bound.

What is stated of a crowd is true, and most often not tight: islands that the conditions allow, and blocks of which no
two are alike, each of which needs an island of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Final

import numpy as np

from tangram_opt.islands.bandwidths import FASTEST, IntArray, Units
from tangram_opt.islands.blocks import Block, join
from tangram_opt.islands.closure import BoolArray
from tangram_opt.islands.likeness import Limits
from tangram_opt.islands.merging import merge

ROWS: Final = 500
"""Blocks that are compared with all others at a time."""
WINDOWS: Final = 24
"""Least values that are tried in an attribute."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """A component that was partitioned greedily.

    Attributes
    ----------
    islands : tuple of Block
        Its islands, each as one block.
    fewest_islands : int
        No partition has fewer.
    least_lost_flops_per_s : int
        No partition loses less compute.
    fastest_link_bytes_per_s : int
        No partition with fewer islands than blocks has a faster slowest link.
    """

    islands: tuple[Block, ...]
    fewest_islands: int
    least_lost_flops_per_s: int
    fastest_link_bytes_per_s: int


def linked_crowd(
    blocks: Sequence[Block],
    bandwidths: IntArray,
    limit: Fraction,
    together: BoolArray,
    stopped: Callable[[], bool],
) -> Crowd:
    """Partition blocks by agglomerative clustering.

    Parameters
    ----------
    blocks : sequence of Block
        The blocks.
    bandwidths : ndarray of int64, blocks x blocks
        Links, ``FASTEST`` on the diagonal.
    limit : Fraction
        1 + the tolerance of the network.
    together : ndarray of bool, blocks x blocks
        Pairs that may be in one island as far as the two alone are concerned.
    stopped : callable
        Whether the islands so far will do.

    Returns
    -------
    Crowd
        Valid islands.
    """
    units = Units(tuple(block.nodes for block in blocks), bandwidths)
    islands = []
    for island in merge(units, [block.low for block in blocks], together, limit, stopped):
        chosen = np.array(island)
        islands.append(join([blocks[u] for u in island], int(bandwidths[np.ix_(chosen, chosen)].min())))
    left = np.ones(len(blocks), dtype=bool)
    fewest = 0
    for block in np.argsort(together.sum(axis=1), kind="stable"):
        if left[block]:
            left &= ~together[block]
            fewest += 1
    off_diagonal = bandwidths[~np.eye(len(blocks), dtype=bool)]
    return _crowd(blocks, islands, fewest, int(off_diagonal.max()))


def flat_crowd(blocks: Sequence[Block], limits: Limits, link: int) -> Crowd:
    """Partition blocks between which all links are equally fast: what is left is to cover boxes.

    Parameters
    ----------
    blocks : sequence of Block
        With equally many GPUs per node.
    limits : tuple of Fraction
        Largest allowed ratio of each attribute.
    link : int
        Bandwidth between them.

    Returns
    -------
    Crowd
        Valid islands. Each holds the block with the slowest compute that is in none before, and as many others as a
        window of memory and one of intra-node bandwidth around it catch.
    """
    boxes = _Boxes(blocks, limits)
    left = np.ones(len(blocks), dtype=bool)
    islands = []
    for first in np.argsort(boxes.low[:, 0], kind="stable"):
        if left[first]:
            candidates = np.flatnonzero(left & boxes.alike(first))
            caught = boxes.window(int(first), candidates)
            left[caught] = False
            islands.append(join([blocks[u] for u in caught], link))
    return _crowd(blocks, islands, boxes.strangers(), link)


class _Boxes:
    """Least and most of each attribute of blocks, and up to what they tolerate others."""

    def __init__(self, blocks: Sequence[Block], limits: Limits) -> None:
        self.low = np.array([block.low for block in blocks], dtype=np.int64)
        self.high = np.array([block.high for block in blocks], dtype=np.int64)
        tops = [
            [min(floor(limit * value), int(FASTEST)) for value, limit in zip(block.low, limits, strict=True)]
            for block in blocks
        ]
        self.top = np.array(tops, dtype=np.int64)

    def alike(self, block: int) -> BoolArray:
        """Which blocks a block may be with."""
        found: BoolArray = ((self.high <= self.top[block]) & (self.high[block] <= self.top)).all(axis=1)
        return found

    def window(self, first: int, candidates: IntArray) -> IntArray:
        """Candidates that are alike among themselves: `first`, than which none is slower, and many others."""
        inside = [self._windows(first, candidates, attribute) for attribute in (1, 2)]
        counts = inside[0].astype(np.int64) @ inside[1].T.astype(np.int64)
        memory, bandwidth = np.unravel_index(int(counts.argmax()), counts.shape)
        caught: IntArray = candidates[inside[0][memory] & inside[1][bandwidth]]
        return caught

    def _windows(self, first: int, candidates: IntArray, attribute: int) -> BoolArray:
        """For each window of an attribute that holds `first`, which candidates are in it."""
        low, high, top = (each[candidates, attribute] for each in (self.low, self.high, self.top))
        starts = np.flatnonzero((low <= self.low[first, attribute]) & (self.high[first, attribute] <= top))
        starts = starts[np.argsort(low[starts], kind="stable")]
        starts = starts[np.unique(np.linspace(0, len(starts) - 1, WINDOWS).round().astype(np.int64))]
        inside: BoolArray = (low >= low[starts, None]) & (high <= top[starts, None])
        return inside

    def strangers(self) -> int:
        """Number of blocks of which no two are alike, taken greedily in several orders."""
        friends = np.zeros(len(self.low), dtype=np.int64)
        for start in range(0, len(friends), ROWS):
            rows = slice(start, start + ROWS)
            alike = np.ones((len(self.low[rows]), len(friends)), dtype=bool)
            for attribute in range(3):
                alike &= self.high[None, :, attribute] <= self.top[rows, None, attribute]
                alike &= self.high[rows, None, attribute] <= self.top[None, :, attribute]
            friends[rows] = alike.sum(axis=1)
        return max(self._strangers(key) for key in (friends, *self.low.T))

    def _strangers(self, key: IntArray) -> int:
        left = np.ones(len(key), dtype=bool)
        count = 0
        for block in np.argsort(key, kind="stable"):
            if left[block]:
                left &= ~self.alike(int(block))
                count += 1
        return count


def _crowd(blocks: Sequence[Block], islands: Sequence[Block], fewest: int, fastest: int) -> Crowd:
    lost = sum(block.flops_per_s - block.gpus * block.low[0] for block in blocks)
    links = [block.slowest_link for block in blocks]
    # Where blocks are joined, so they are in a partition into the fewest islands, over a link between blocks.
    return Crowd(tuple(islands), fewest, lost, min(links if len(islands) == len(blocks) else [*links, fastest]))
