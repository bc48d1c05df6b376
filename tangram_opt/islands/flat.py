"""Islands where all links count as equally fast: (C3) says nothing, and what is left is to cover boxes.

Boxes that are far apart in one attribute never share an island. Where a single attribute decides, and compute lost
follows it, a dynamic program over the sorted boxes is exact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from math import gcd

import numpy as np

from tangram_opt.islands.blocks import Block, bounds
from tangram_opt.islands.likeness import Limits


def apart(blocks: Sequence[Block], limits: Limits) -> Iterator[list[Block]]:
    """Split blocks so that those of different pieces are never alike.

    Parameters
    ----------
    blocks : sequence of Block
        Blocks.
    limits : tuple of Fraction
        Largest allowed ratio of each attribute.

    Yields
    ------
    list of Block
        With equally many GPUs per node, and without a gap in any attribute.
    """
    by_gpus: defaultdict[int, list[Block]] = defaultdict(list)
    for block in blocks:
        by_gpus[block.gpus_per_node].append(block)
    stack = list(by_gpus.values())
    while stack:
        piece = stack.pop()
        cut = _cut(piece, limits)
        if cut is None:
            yield piece
        else:
            stack += cut


def binding(blocks: Sequence[Block], limits: Limits) -> list[int]:
    """List the attributes in which blocks are not all alike."""
    low, high = bounds(min, (block.low for block in blocks)), bounds(max, (block.high for block in blocks))
    return [a for a, limit in enumerate(limits) if high[a] > limit * low[a]]


def along_a_line(blocks: Sequence[Block], limits: Limits) -> list[list[Block]] | None:
    """Partition blocks of which one attribute decides what is alike.

    Parameters
    ----------
    blocks : sequence of Block
        With equally many GPUs per node, all links between them equally fast.
    limits : tuple of Fraction
        Largest allowed ratio of each attribute.

    Returns
    -------
    list of list of Block or None
        The fewest islands, and with them the least compute lost; None where several attributes decide, or another
        one than compute while compute differs.

    Notes
    -----
    Sorted by their least value, blocks can be divided between islands without crossing: a block that moves to the
    island with the largest minimum that is not above its own keeps within the ratio, and loses no more compute. So
    islands are intervals. An interval is allowed from some first block on, and the fewest islands of longer prefixes
    are never fewer, so among the first blocks that are allowed only those with the fewest islands before them count.
    """
    decide = binding(blocks, limits)
    computes = {value for block in blocks for value in (block.low[0], block.high[0])}
    if len(decide) != 1 or (decide != [0] and len(computes) > 1):
        return None
    (a,) = decide
    order = sorted(blocks, key=lambda block: block.low[a])
    # Exact integers: in units of what all have in common, and of any size where 64 bits do not hold them.
    unit = gcd(*(block.flops_per_s for block in order), *(block.low[0] for block in order))
    kind = np.int64 if sum(block.flops_per_s for block in order) // unit < 1 << 60 else object
    gpus = np.array([0, *accumulate(block.gpus for block in order)], dtype=kind)
    flops = np.array([0, *accumulate(block.flops_per_s // unit for block in order)], dtype=kind)
    least = np.array([block.low[0] // unit for block in order], dtype=kind)
    # For each number of blocks from the left: islands, compute lost, and where the last island begins.
    fewest, lost, begins = [0], np.zeros(len(order) + 1, dtype=kind), [0]
    first = 0
    for end, block in enumerate(order, start=1):
        while block.high[a] > limits[a] * order[first].low[a]:
            first += 1
        after = first + 1
        while after < end and fewest[after] == fewest[first]:
            after += 1
        losses = (
            lost[first:after] + (flops[end] - flops[first:after]) - least[first:after] * (gpus[end] - gpus[first:after])
        )
        best = int(losses.argmin())
        lost[end] = losses[best]
        fewest.append(fewest[first] + 1)
        begins.append(first + best)
    islands = []
    end = len(order)
    while end:
        islands.append(order[begins[end] : end])
        end = begins[end]
    return islands[::-1]


def _cut(blocks: list[Block], limits: Limits) -> list[list[Block]] | None:
    """Cut at the gaps of an attribute; None where there are none."""
    for a, limit in enumerate(limits):
        order = sorted(blocks, key=lambda block: block.low[a])
        gaps = [i for i in range(1, len(order)) if order[i].low[a] > limit * order[i - 1].low[a]]
        if gaps:
            return [order[i:j] for i, j in pairwise([0, *gaps, len(order)])]
    return None
