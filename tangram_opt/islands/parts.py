"""Independent parts of an islands problem: what is left to decide once structure has settled the rest.

Blocks that may share an island are the edges of a graph. Islands lie within its connected components, which are
therefore problems of their own: the numbers of islands and the compute lost add up, and the slowest link is the
slowest of any of them. A component in which all blocks may be together is one island.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
from scipy.sparse.csgraph import connected_components

from tangram_opt.data.island import IslandsProblem
from tangram_opt.errors import InputError
from tangram_opt.islands.bandwidths import IntArray, reach
from tangram_opt.islands.blocks import Block, merge_twins, single
from tangram_opt.islands.closure import BoolArray, Pair, bits, pair_closures, without_faster_strangers
from tangram_opt.islands.crowds import Crowd, linked_crowd
from tangram_opt.islands.evaluation import PartitionValue
from tangram_opt.islands.likeness import Limits, alike, ratio_limits
from tangram_opt.islands.network import Links, links_of

MOST_BLOCKS: Final = 2_000
"""All pairs of so many, with the sets that the network asks for around them, take about a gigabyte."""
MOST_NODES: Final = 8_000
"""Nodes at most that are written down with all links, before twins are found among them."""

Groups = tuple[tuple[int, ...], ...]
"""Islands of a part, by the indices of its blocks."""


@dataclass(frozen=True, eq=False)
class Part:
    """A component to be partitioned.

    Attributes
    ----------
    blocks : tuple of Block
        The slowest compute first: the first block of an island decides what compute the island loses.
    bandwidths : ndarray of int64, blocks x blocks
        Links, ``FASTEST`` on the diagonal.
    limit : Fraction
        1 + the tolerance of the network.
    together : ndarray of bool, blocks x blocks
        Pairs that may be in one island.
    closures : mapping of (int, int) to int
        Smallest set around each of these pairs as bits, where it is more than the pair; the smaller index first.
    """

    blocks: tuple[Block, ...]
    bandwidths: IntArray
    limit: Fraction
    together: BoolArray
    closures: Mapping[Pair, int]

    @property
    def size(self) -> int:
        """Number of blocks."""
        return len(self.blocks)

    @cached_property
    def strangers(self) -> tuple[int, ...]:
        """Blocks, taken greedily, of which no two may be together: each needs an island of its own."""
        left = np.ones(self.size, dtype=bool)
        friends = self.together.sum(axis=1)
        found = []
        while left.any():
            candidates = np.flatnonzero(left)
            chosen = int(candidates[friends[candidates].argmin()])
            gone = np.flatnonzero(left & self.together[chosen])
            friends -= self.together[:, gone].sum(axis=1)
            left[gone] = False
            found.append(chosen)
        return tuple(found)

    @property
    def lost_alone(self) -> int:
        """Compute that the nodes of the blocks lose among themselves, in whatever islands the blocks are."""
        return sum(self.lost_with(block, block) for block in range(self.size))

    def closure(self, i: int, j: int) -> int:
        """Smallest set around a pair that may be together, as bits."""
        return self.closures.get((min(i, j), max(i, j)), 1 << i | 1 << j)

    def lost_with(self, first: int, block: int) -> int:
        """Compute that a block loses in an island whose first block is `first`."""
        own = self.blocks[block]
        return own.flops_per_s - own.gpus * self.blocks[first].low[0]

    def value(self, groups: Groups) -> PartitionValue:
        """Objectives of a partition of the blocks; the slowest link is ``FASTEST`` where there is none."""
        lost = sum(self.lost_with(min(group), block) for group in groups for block in group)
        return PartitionValue(len(groups), lost, min(self.slowest_link(group) for group in groups))

    def slowest_link(self, group: Sequence[int]) -> int:
        """Slowest link inside an island, ``FASTEST`` for a single node."""
        between = int(self.bandwidths[np.ix_(group, group)].min())
        return min(between, *(self.blocks[block].slowest_link for block in group))

    def allows(self, groups: Groups) -> bool:
        """Whether these are islands: every pair may be together and has its smallest set inside."""
        if sorted(block for group in groups for block in group) != list(range(self.size)):
            return False
        for group in groups:
            mask = sum(1 << block for block in group)
            if not self.together[np.ix_(group, group)].all():
                return False
            if any(self.closure(i, j) & ~mask for i in group for j in group if i < j):
                return False
        return True

    def at_least(self, bandwidth: int) -> Part:
        """Leave out pairs whose smallest set has a link slower than `bandwidth` inside."""
        fast = np.minimum(self.bandwidths, self.bandwidths.T) >= bandwidth
        together, closures = pair_closures(self.bandwidths, self.limit, self.together & fast)
        return replace(self, together=together, closures=closures)


def adopted(part: Part, islands: Sequence[Sequence[int]]) -> Groups:
    """Put whole blocks where a partition has most of their nodes; the result may not be allowed.

    Parameters
    ----------
    part : Part
        The part.
    islands : sequence of sequence of int
        A partition of the nodes of the cluster, or of more than the part's.

    Returns
    -------
    Groups
        Islands of blocks.
    """
    owner = {node: number for number, island in enumerate(islands) for node in island}
    groups: dict[int, list[int]] = {}
    for index, block in enumerate(part.blocks):
        (number, _), *_ = Counter(owner[node] for node in block.nodes).most_common(1)
        groups.setdefault(number, []).append(index)
    return tuple(tuple(group) for group in groups.values())


def open_part(blocks: Sequence[Block], bandwidths: IntArray, limit: Fraction, limits: Limits) -> Part:
    """Make a part of blocks and the links between them.

    Parameters
    ----------
    blocks : sequence of Block
        In any order.
    bandwidths : ndarray of int64, blocks x blocks
        Links, ``FASTEST`` on the diagonal.
    limit : Fraction
        1 + the tolerance of the network.
    limits : tuple of Fraction
        Largest allowed ratio of each attribute.

    Returns
    -------
    Part
        With the pairs that may be together, and their smallest sets. It need not be connected.
    """
    return _part(blocks, bandwidths, limit, _alike_and_linked(blocks, bandwidths, limits))


def open_parts(
    blocks: Sequence[Block],
    bandwidths: IntArray,
    limit: Fraction,
    limits: Limits,
    most: int,
    stopped: Callable[[], bool],
) -> Iterator[Part | Crowd]:
    """Make connected parts of blocks and the links between them; parameters as for :func:`open_part`.

    Parameters
    ----------
    most : int
        Blocks of a part at most.
    stopped : callable
        Whether the islands of a crowd so far will do.

    Yields
    ------
    Part or Crowd
        A crowd where there are more.
    """
    if len(blocks) <= most:
        yield from components(open_part(blocks, bandwidths, limit, limits))
        return
    together = _alike_and_linked(blocks, bandwidths, limits)
    together = without_faster_strangers(bandwidths, reach(bandwidths, limit), together)
    count, labels = connected_components(together, directed=False)
    for label in range(count):
        chosen = np.flatnonzero(labels == label)
        square = np.ix_(chosen, chosen)
        own = [blocks[i] for i in chosen.tolist()]
        if len(own) > most:
            yield linked_crowd(own, bandwidths[square], limit, together[square], stopped)
        else:
            # Nobody in it has a link to the others that is faster than one inside allows: that is settled.
            yield from components(_part(own, bandwidths[square], limit, together[square]))


def whole_part(problem: IslandsProblem) -> Part:
    """Make one part of a whole problem, in which nothing but twins is settled.

    Parameters
    ----------
    problem : IslandsProblem
        Cluster and tolerances.

    Returns
    -------
    Part
        Not connected as a rule.

    Raises
    ------
    InputError
        There are too many blocks to write down all pairs of them.
    """
    links = links_of(problem)
    nodes = problem.cluster.nodes
    # Tiers have as many rows as nodes, however few of them are different.
    if len(nodes) <= MOST_NODES:
        blocks, bandwidths = merged_blocks(problem, links)
        if len(blocks) <= MOST_BLOCKS:
            return open_part(blocks, bandwidths, links.limit, ratio_limits(problem.tolerances))
    raise InputError(
        f"{problem.name}: {len(nodes)} nodes that would have to be in one model, "
        f"expected at most {MOST_BLOCKS} that differ in figures or links"
    )


def merged_blocks(problem: IslandsProblem, links: Links) -> tuple[list[Block], IntArray]:
    """Make blocks of twins, with the links between them."""
    nodes = problem.cluster.nodes
    bandwidths = np.array([links.row(node) for node in range(len(nodes))])
    return merge_twins([single(index, node) for index, node in enumerate(nodes)], bandwidths)


def _alike_and_linked(blocks: Sequence[Block], bandwidths: IntArray, limits: Limits) -> BoolArray:
    """Pairs that may be in one island as far as the two alone are concerned."""
    together: BoolArray = alike([block.box for block in blocks], limits) & (bandwidths > 0) & (bandwidths.T > 0)
    return together


def _part(blocks: Sequence[Block], bandwidths: IntArray, limit: Fraction, together: BoolArray) -> Part:
    """Make a part of blocks in their order, and find the smallest sets."""
    order = sorted(range(len(blocks)), key=lambda i: (blocks[i].low[0], blocks[i].nodes))
    square = np.ix_(order, order)
    closures = pair_closures(bandwidths[square], limit, together[square])
    return Part(tuple(blocks[i] for i in order), bandwidths[square], limit, *closures)


def components(part: Part) -> tuple[Part, ...]:
    """Split a part into connected components.

    Parameters
    ----------
    part : Part
        Any part.

    Returns
    -------
    tuple of Part
        By their first block; blocks keep their order. Smallest sets lie within components, as the pairs in them may
        be together.
    """
    count, labels = connected_components(part.together, directed=False)
    if count == 1:
        return (part,)
    # Labels are given out by the first block.
    found = [np.flatnonzero(labels == label).tolist() for label in range(count)]
    place = {block: (number, at) for number, blocks in enumerate(found) for at, block in enumerate(blocks)}
    renamed: dict[int, int] = {}
    closures: list[dict[Pair, int]] = [{} for _ in found]
    for (i, j), mask in part.closures.items():
        if mask not in renamed:
            renamed[mask] = sum(1 << place[block][1] for block in bits(mask))
        closures[place[i][0]][place[i][1], place[j][1]] = renamed[mask]
    return tuple(
        Part(
            tuple(part.blocks[block] for block in blocks),
            part.bandwidths[np.ix_(blocks, blocks)],
            part.limit,
            part.together[np.ix_(blocks, blocks)],
            closures[number],
        )
        for number, blocks in enumerate(found)
    )
