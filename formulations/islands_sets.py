"""The islands that a part can have, written out: all of them, or the largest ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from tangram_opt.islands.closure import bits, closed
from tangram_opt.islands.parts import Part

LIMIT: Final = 40_000
"""So many sets are written out at most."""
EFFORT: Final = 8_000_000
"""So many blocks are looked at, at most, to find them: seconds."""

Tick = Callable[[], object]
"""Called again and again in work that takes long; what it raises ends that."""


def remembered(write_out: Callable[[Part, Tick], tuple[int, ...] | None]) -> Callable[..., tuple[int, ...] | None]:
    """Write out the sets of a part once."""
    known: WeakKeyDictionary[Part, tuple[int, ...] | None] = WeakKeyDictionary()

    @wraps(write_out)
    def remember(part: Part, tick: Tick = lambda: None) -> tuple[int, ...] | None:
        if part not in known:
            known[part] = write_out(part, tick)
        return known[part]

    return remember


@remembered
def all_islands(part: Part, tick: Tick) -> tuple[int, ...] | None:
    """List all islands of a part.

    Parameters
    ----------
    part : Part
        The part.
    tick : callable
        May end the work.

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
        tick()
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


@remembered
def largest_islands(part: Part, tick: Tick) -> tuple[int, ...] | None:
    """List the islands that no block can be added to, in a part where every set of blocks that may be together is one.

    Parameters
    ----------
    part : Part
        Whose smallest sets are the pairs themselves.
    tick : callable
        May end the work.

    Returns
    -------
    tuple of int or None
        Sets of blocks as bits; None if there are more than ``LIMIT``.
    """
    return _cliques(friends_of(part), [(0, (1 << part.size) - 1, 0)], tick)


@remembered
def largest_islands_by_compute(part: Part, tick: Tick) -> tuple[int, ...] | None:
    """List the islands that no block can be added to without making their slowest compute slower still.

    Parameters
    ----------
    part : Part
        As for :func:`largest_islands`, which are among them.
    tick : callable
        May end the work.

    Returns
    -------
    tuple of int or None
        Sets of blocks as bits; None if there are more than ``LIMIT``.
    """
    friends = friends_of(part)
    lows = [block.low[0] for block in part.blocks]

    # Every such island by its first block: no block of the same compute before it, and no faster one, may be missing.
    starts = []
    for block, low in enumerate(lows):
        earlier = sum(1 << other for other in range(block) if lows[other] == low)
        starts.append((1 << block, friends[block] & -(2 << block), friends[block] & earlier))
    return _cliques(friends, starts, tick)


def friends_of(part: Part) -> list[int]:
    """For each block those that it may be with, itself among them, as bits."""
    return [int.from_bytes(row.tobytes(), "little") for row in np.packbits(part.together, axis=1, bitorder="little")]


def _cliques(friends: Sequence[int], starts: Iterable[tuple[int, int, int]], tick: Tick) -> tuple[int, ...] | None:
    """List the largest sets of blocks that may be together pair by pair, as far as `LIMIT` and `EFFORT` go.

    Each start is a set, blocks that may be added to it, and blocks that would have to be missing for no good reason.
    The method is that of Bron and Kerbosch with the pivot of Tomita, on sets that are bits of integers.
    """
    found: list[int] = []
    stack = list(starts)[::-1]
    effort = 0
    while stack:
        tick()
        clique, left, done = stack.pop()
        if not left:
            if not done:
                found.append(clique)
            continue
        effort += (left | done).bit_count()
        if len(found) > LIMIT or effort > EFFORT:
            return None
        pivot = max(bits(left | done), key=lambda block: _count(left, friends[block], block))
        for block in bits(left & ~(friends[pivot] & ~(1 << pivot))):
            near = friends[block] & ~(1 << block)
            stack.append((clique | 1 << block, left & near, done & near))
            left &= ~(1 << block)
            done |= 1 << block
    return tuple(found) if len(found) <= LIMIT else None


def _count(left: int, friends: int, block: int) -> int:
    """Others among some blocks that a block may be with."""
    return (left & friends & ~(1 << block)).bit_count()


def _common(island: int, friends: Sequence[int]) -> int:
    """Blocks that may be with all of an island."""
    common = -1
    for block in bits(island):
        common &= friends[block]
    return common
