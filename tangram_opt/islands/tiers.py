"""The recursion over a network of tiers: exact at any size, as every question is about one unit of the network.

An island whose nodes share a unit of tier t, and none further in, has a link of that tier at each of its nodes. So it
is a union of complete units of the first tier that is faster than links of tier t allow: the *whole tier* of t. Call t
*strict* when that is the next one, t + 1, which without a tolerance on the network every tier is; units behind the
innermost tier are single nodes.

Take a complete unit U of a tier t whose outer tier is strict, or the whole cluster, and the first strict tier s >= t.
The whole tiers of t..s are s + 1 or further out, so every island that reaches over several units of tier s + 1 in U is
a union of such units, complete. A unit of tier s + 1 that is not alike within is part of no such island, and is a
problem of its own, solved the same way. One that is alike is an island in itself, so a best partition does not tear
it: it would gain an island by joining the pieces. It is a block, and blocks of U are what is left to partition, with
links that depend on the tiers t..s they share. In the usual case t = s all of these are equally fast.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tangram_opt.data.cluster import Node
from tangram_opt.islands.bandwidths import FASTEST, IntArray
from tangram_opt.islands.blocks import Block, bounds, join, single
from tangram_opt.islands.likeness import Limits
from tangram_opt.islands.network import TierLinks


@dataclass(frozen=True, slots=True)
class Family:
    """Blocks in one unit, to be partitioned among themselves.

    Attributes
    ----------
    blocks : tuple of Block
        Those with equal boxes under the same unit of tier `inner` are one, as twins.
    outer, inner : int
        Tiers between which the blocks are apart.
    """

    blocks: tuple[Block, ...]
    outer: int
    inner: int

    def free(self, links: TierLinks) -> bool:
        """Whether the network asks for nobody: even the slowest links between blocks allow the fastest."""
        return links.whole_tier(self.outer) > self.inner


def families(nodes: Sequence[Node], links: TierLinks, limits: Limits) -> Iterator[Family]:
    """Split a cluster into independent families of blocks.

    Parameters
    ----------
    nodes : sequence of Node
        Of the cluster.
    links : TierLinks
        Its network.
    limits : tuple of Fraction
        Largest allowed ratio of each attribute.

    Yields
    ------
    Family
        Each node is in one block of one family.
    """
    singles = [single(index, node) for index, node in enumerate(nodes)]
    stack = [(list(range(len(nodes))), 0)]
    while stack:
        members, outer = stack.pop()
        inner = next(tier for tier in range(outer, links.tiers) if links.whole_tier(tier) == tier + 1)
        places: defaultdict[object, list[Block]] = defaultdict(list)
        for unit in _units(members, inner + 1, links):
            block = _block([singles[node] for node in unit], links, limits)
            if block is None:
                stack.append((unit, inner + 1))
            else:
                places[int(links.places[inner, unit[0]]), block.box].append(block)
        # Blocks with equal boxes in one place are twins, unless they have no links.
        if links.bandwidths[inner] > 0:
            blocks = [join(twins, links.bandwidths[inner]) for twins in places.values()]
        else:
            blocks = [block for twins in places.values() for block in twins]
        if blocks:
            yield Family(tuple(blocks), outer, inner)


def bandwidths_between(blocks: Sequence[Block], links: TierLinks) -> IntArray:
    """Links between blocks, ``FASTEST`` on the diagonal."""
    firsts = [block.nodes[0] for block in blocks]
    shared = np.zeros((len(firsts), len(firsts)), dtype=np.int8)
    for units in links.places[1:, firsts]:
        shared += units[:, None] == units[None, :]
    bandwidths = np.array(links.bandwidths, dtype=np.int64)[shared]
    np.fill_diagonal(bandwidths, FASTEST)
    return bandwidths


def _units(members: list[int], tier: int, links: TierLinks) -> list[list[int]]:
    """Nodes by their unit of a tier."""
    if tier == links.tiers:
        return [[node] for node in members]
    units: defaultdict[int, list[int]] = defaultdict(list)
    for node in members:
        units[int(links.places[tier, node])].append(node)
    return list(units.values())


def _block(unit: Sequence[Block], links: TierLinks, limits: Limits) -> Block | None:
    """Make a block of a unit; None where its nodes are not alike."""
    if len(unit) == 1:
        return unit[0]
    low, high = bounds(min, (block.low for block in unit)), bounds(max, (block.high for block in unit))
    if len({block.gpus_per_node for block in unit}) > 1 or any(
        most > limit * least for least, most, limit in zip(low, high, limits, strict=True)
    ):
        return None
    tier = links.shared_tier([block.nodes[0] for block in unit])
    return join(unit, links.bandwidths[tier])
