"""The islands that a part can have, written out: all of them, or the largest ones of each first block."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import networkx as nx
import numpy as np

from tangram_opt.islands.closure import bits, closed
from tangram_opt.islands.parts import Part

LIMIT: Final = 20_000
"""So many sets are written out at most."""


@lru_cache(maxsize=8)
def all_islands(part: Part) -> tuple[int, ...] | None:
    """List all islands of a part.

    Parameters
    ----------
    part : Part
        The part.

    Returns
    -------
    tuple of int or None
        Sets of blocks as bits, each once; None if there are more than ``LIMIT``.

    Notes
    -----
    Every island is found from one with fewer blocks, by adding a block and what the network then asks for. It is kept
    where all that is new comes after the block that was added last, which is true of exactly one way to every island
    (Kuznetsov's close-by-one). Islands with blocks that cannot be together lead to no others.
    """
    friends = friends_of(part)
    found: list[int] = []
    stack = [(1 << block, block) for block in range(part.size)]
    while stack:
        island, last = stack.pop()
        found.append(island)
        if len(found) > LIMIT:
            return None
        for block in bits(_common(island, friends) & ~island & -(2 << last)):
            larger = closed(island | 1 << block, part.closures)
            new = larger & ~island
            if new & -new == 1 << block and not larger & ~_common(larger, friends):
                stack.append((larger, block))
    return tuple(found)


@lru_cache(maxsize=8)
def largest_islands(part: Part) -> tuple[tuple[int, int], ...] | None:
    """List the largest islands by their first block, in a part where every set of blocks that may be together is one.

    Parameters
    ----------
    part : Part
        Whose smallest sets are the pairs themselves.

    Returns
    -------
    tuple of (int, int) or None
        First block and set as bits; None if there are more than ``LIMIT``.
    """
    graph = nx.from_numpy_array(np.triu(part.together, 1))
    found: list[tuple[int, int]] = []
    for first in range(part.size):
        later = [block for block in graph[first] if block > first]
        cliques = nx.find_cliques(graph.subgraph(later)) if later else [[]]
        for clique in cliques:
            found.append((first, sum((1 << block for block in clique), 1 << first)))
            if len(found) > LIMIT:
                return None
    return tuple(found)


def is_largest(island: int, friends: list[int]) -> bool:
    """Whether no block can be added to an island, not even one that would be its first; see :func:`friends_of`."""
    return not _common(island, friends) & ~island


def friends_of(part: Part) -> list[int]:
    """For each block those that it may be with, itself among them, as bits."""
    return [sum(1 << int(other) for other in np.flatnonzero(row)) for row in part.together]


def _common(island: int, friends: list[int]) -> int:
    """Blocks that may be with all of an island."""
    common = -1
    for block in bits(island):
        common &= friends[block]
    return common
