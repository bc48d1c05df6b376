"""Blocks: nodes that stay together in every best partition, and enter models as one.

Two reasons put nodes into a block. *Twins* have equal attributes and equal links (see :func:`merge_twins`); a
*complete unit* of a network of tiers is kept whole where its nodes are alike (see :mod:`tangram_opt.islands.tiers`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tangram_opt.data.cluster import Node
from tangram_opt.islands.bandwidths import FASTEST, IntArray
from tangram_opt.islands.likeness import Attributes, Box, attributes


@dataclass(frozen=True, slots=True)
class Block:
    """Nodes that are in one island, whichever it is.

    Attributes
    ----------
    nodes : tuple of int
        Their indices, ascending.
    gpus_per_node : int
        GPUs in each of them.
    low, high : tuple of int
        Least and most of each attribute over its nodes.
    flops_per_s : int
        Compute of all its GPUs together.
    slowest_link : int
        Between two of its nodes, in bytes per second; ``FASTEST`` for a single node.
    """

    nodes: tuple[int, ...]
    gpus_per_node: int
    low: Attributes
    high: Attributes
    flops_per_s: int
    slowest_link: int

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return self.gpus_per_node * len(self.nodes)

    @property
    def box(self) -> Box:
        """What decides whom it is alike."""
        return self.gpus_per_node, self.low, self.high


def single(index: int, node: Node) -> Block:
    """Make the block of one node."""
    values = attributes(node)
    return Block((index,), node.gpus, values, values, node.gpus * values[0], int(FASTEST))


def join(blocks: Sequence[Block], link: int) -> Block:
    """Make one block of several, with `link` as the slowest link between them."""
    if len(blocks) == 1:
        return blocks[0]
    return Block(
        tuple(sorted(node for block in blocks for node in block.nodes)),
        blocks[0].gpus_per_node,
        bounds(min, (block.low for block in blocks)),
        bounds(max, (block.high for block in blocks)),
        sum(block.flops_per_s for block in blocks),
        min(link, *(block.slowest_link for block in blocks)),
    )


def bounds(pick: Callable[[Iterable[int]], int], values: Iterable[Attributes]) -> Attributes:
    """Pick the least or the most of each attribute."""
    compute, memory, bandwidth = (pick(column) for column in zip(*values, strict=True))
    return compute, memory, bandwidth


def merge_twins(blocks: Sequence[Block], bandwidths: IntArray) -> tuple[list[Block], IntArray]:
    """Make one block of blocks that are interchangeable.

    Parameters
    ----------
    blocks : sequence of Block
        Blocks.
    bandwidths : ndarray of int64, blocks x blocks
        Links between them, ``FASTEST`` on the diagonal.

    Returns
    -------
    list of Block, ndarray of int64
        Merged blocks and the links between them.

    Notes
    -----
    Blocks u and v are *twins* when they have the same box, equal links to and from every third block, and links to
    each other that are equal and as fast as the fastest link out of either, E > 0. This is an equivalence, and all
    twins of a class have links of E to one another. There is a best partition that keeps every class in one island,
    and every partition in which a class is torn becomes one at no loss:

    Let u be in island A and v in island B, where the least compute of A is at least that of B, and move v to A. What
    v needs in A: it is as alike as u is; where x is in A, the links x-v and v-x are those of x and u, or E if x is a
    twin; whoever is outside was outside before, but for w = v itself, and no link v-w is faster than E. If A = {u}
    the links u-v are E, which allows every link out of u and v. What the rest of B needs: for x, y in it a link x-v
    that is faster than x-y allows would have made u, whose links are the same (E, if x is a twin), a member of B.
    The number of islands falls or stays. Compute lost does not rise: v loses no more in A, whose minimum stays, and
    the minimum of B can only rise. The slowest link does not fall where the number of islands stays: A gains links
    as fast as those that u has, and E, which is at least as fast as the links that v had in B.
    """
    size = len(blocks)
    boxes: dict[object, int] = {}
    labels = np.array([boxes.setdefault(block.box, len(boxes)) for block in blocks])
    filled = bandwidths.copy()
    np.fill_diagonal(filled, 0)
    fastest = filled.max(axis=1, initial=0)
    np.fill_diagonal(filled, fastest)
    classes: dict[object, list[int]] = {}
    for u in range(size):
        # With E on the diagonal, which is the row's maximum for twins, their rows and columns are equal throughout.
        alone = u if fastest[u] == 0 else -1
        key = (int(labels[u]), alone, filled[u].tobytes(), filled[:, u].tobytes())
        classes.setdefault(key, []).append(u)
    firsts = [members[0] for members in classes.values()]
    merged = [join([blocks[u] for u in members], int(fastest[members[0]])) for members in classes.values()]
    return merged, bandwidths[np.ix_(firsts, firsts)]
