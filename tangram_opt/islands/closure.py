"""Which nodes the network puts into an island that holds two given ones.

(C3) is a closure system: if u and v are in an island, and the link from u to w is faster than the one from u to v
allows, w is in it too. Sets that obey all such implications are closed under intersection, so for every pair there is
a smallest one that holds it, found by propagation. Where it holds two blocks that must not be together, the pair must
not be together either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tangram_opt.islands.bandwidths import IntArray, reach

Pair = tuple[int, int]
BoolArray = NDArray[np.bool_]


def bits(mask: int) -> Iterator[int]:
    """List the members of a set that is written as the bits of an integer."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def pair_closures(bandwidths: IntArray, limit: Fraction, together: BoolArray) -> tuple[BoolArray, dict[Pair, int]]:
    """Find the smallest set around every pair, and the pairs that cannot be in one island.

    Parameters
    ----------
    bandwidths : ndarray of int64, blocks x blocks
        Links, ``FASTEST`` on the diagonal.
    limit : Fraction
        1 + the tolerance of the network.
    together : ndarray of bool, blocks x blocks
        Pairs that may be in one island as far as the two alone are concerned; symmetric, true on the diagonal.

    Returns
    -------
    ndarray of bool, blocks x blocks
        Pairs whose smallest set holds only pairs that may be together.
    dict of (int, int) to int
        For each of these pairs, the smaller index first, its smallest set as bits; left out where it is the pair.
    """
    tops = reach(bandwidths, limit)
    alive = without_faster_strangers(bandwidths, tops, together)
    closures: dict[Pair, int] = {}
    known: dict[bytes, int | None] = {}
    # Where neither has a faster link than the one they share allows, nobody is asked for.
    others = np.where(np.eye(len(bandwidths), dtype=bool), -1, bandwidths).max(axis=1, initial=-1)
    asking = others[:, None] > tops
    firsts, seconds = np.nonzero(np.triu(alive & (asking | asking.T), 1))
    # Fast pairs have small sets, which larger ones then run into.
    slower = np.minimum(bandwidths[firsts, seconds], bandwidths[seconds, firsts])
    for position in np.argsort(-slower, kind="stable"):
        i, j = int(firsts[position]), int(seconds[position])
        found = _closure(i, j, bandwidths, tops, alive, known)
        if found is None:
            alive[i, j] = alive[j, i] = False
        elif found != 1 << i | 1 << j:
            closures[i, j] = found
    return alive, closures


def closed(mask: int, closures: Mapping[Pair, int]) -> int:
    """Find the smallest closed set that holds a set of blocks, all pairs of which may be together.

    The implications are about pairs, so a set is closed when it holds the smallest set around each of its pairs.
    """
    done, todo = 0, mask
    while todo:
        block = next(bits(todo))
        done |= 1 << block
        for other in bits(done):
            mask |= closures.get((min(block, other), max(block, other)), 0)
        todo = mask & ~done
    return mask


def without_faster_strangers(bandwidths: IntArray, tops: IntArray, together: BoolArray) -> BoolArray:
    """Leave out pairs with a link to somebody whom one of the two cannot be with that is faster than theirs allows.

    Parameters
    ----------
    bandwidths : ndarray of int64, blocks x blocks
        Links, ``FASTEST`` on the diagonal.
    tops : ndarray of int64, blocks x blocks
        Fastest links out of an island that they allow, see :func:`.reach`.
    together : ndarray of bool, blocks x blocks
        Pairs that may be in one island as far as the two alone are concerned.

    Returns
    -------
    ndarray of bool, blocks x blocks
        Those left.
    """
    alive = together.copy()
    while True:
        strangers = np.where(alive, -1, bandwidths).max(axis=1)
        one_way = tops >= strangers[:, None]
        smaller = alive & one_way & one_way.T
        if (smaller == alive).all():
            return alive
        alive = smaller


def _closure(
    i: int, j: int, bandwidths: IntArray, tops: IntArray, alive: BoolArray, known: dict[bytes, int | None]
) -> int | None:
    """Close a pair, as bits; None where that brings two together that must not be."""
    inside = np.zeros(len(bandwidths), dtype=bool)
    inside[[i, j]] = True
    passed: list[bytes] = []
    while True:
        key = inside.tobytes()
        if key in known:
            result = known[key]
            break
        passed.append(key)
        members = np.flatnonzero(inside)
        square = np.ix_(members, members)
        if not alive[square].all():
            result = None
            break
        slowest = tops[square].min(axis=1)
        grown = inside | (bandwidths[members] > slowest[:, None]).any(axis=0)
        if grown.sum() == len(members):
            result = sum(1 << int(member) for member in members)
            break
        inside = grown
    for key in passed:
        known[key] = result
    return result
