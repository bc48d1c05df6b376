"""Representatives: an island is named after its first block, and every other block says whose island it is in.

Blocks are in the order of their slowest compute, so what an island loses is known from its first block alone, and
which block is first distinguishes no two models of the same partition.

Data
    B                blocks 1..n, in order
    T                pairs that may be together
    cl(u, v)         smallest set around a pair of T: everybody whom the network puts into an island of u and v
    R_u              blocks r that can be the first of an island with u: r = u, or r before u, (r, u) in T, and
                     nobody in cl(r, u) is before r
    N_r              blocks u with r in R_u: who can be in the island of r
    lost(r, u)       compute that u loses in an island whose first block is r
    near(u, v)       direct reasons of (C3): the w with a faster link u-w than the link u-v allows, but only those whose
                     own link allows all the faster ones: u and w then ask for the rest

Variables
    x_{u,r} in {0,1} u is in the island of r, for r in R_u; x_{r,r} = 1 iff there is an island of r

Objective
    minimise  sum_r x_{r,r}
    then      sum_{u,r} lost(r, u) x_{u,r}

Constraints
    (one_u)          sum over r in R_u of x_{u,r} = 1
    (apart_r_q)      sum over u in Q of x_{u,r} <= x_{r,r}, for cliques Q of blocks in N_r of which no two can be with
                     r and each other; together they hold every such pair, and every block is in one
    (drawn_r_u_w)    x_{u,r} <= x_{w,r} for w in cl(r, u)
    (joined_r_u_v_w) x_{u,r} + x_{v,r} <= x_{r,r} + x_{w,r} for u, v in N_r and w in near(u, v), unless w is in cl(r, u)
                     or cl(r, v); a w that is not in N_r makes u and v a pair of (apart)
    (islands)        sum_r x_{r,r} <= most islands
    (lost)           sum_{u,r} lost(r, u) x_{u,r} <= most lost
the last two where the target has such a limit; (lost) is divided by the greatest common divisor.

Exact for every part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from formulations.islands_levels import Target
from formulations.islands_limits import limit_islands, limit_lost
from formulations.islands_sets import Tick
from formulations.linear import LinearModel
from tangram_opt.islands.bandwidths import reach
from tangram_opt.islands.closure import bits
from tangram_opt.islands.parts import Groups, Part


@dataclass(frozen=True)
class Representatives:
    """The model of a part, and the way to its partitions and back.

    Attributes
    ----------
    part : Part
        The part.
    linear : LinearModel
        The model.
    x : mapping of (int, int) to int
        Variables by block and first block.
    """

    part: Part
    linear: LinearModel
    x: Mapping[tuple[int, int], int]

    def decode(self, values: Sequence[int]) -> Groups:
        """Read the islands."""
        return islands_by_name(self.x, values)

    def encode(self, groups: Groups) -> list[int]:
        """Write islands as a solution."""
        values = [0] * len(self.linear.variables)
        for group in groups:
            for u in group:
                values[self.x[u, min(group)]] = 1
        return values


def islands_by_name(x: Mapping[tuple[int, int], int], values: Sequence[int]) -> Groups:
    """Read the islands of a solution, by the variables that say of a block and a name that it is in the island."""
    groups: dict[int, list[int]] = {}
    for (u, name), index in x.items():
        if values[index]:
            groups.setdefault(name, []).append(u)
    return tuple(tuple(group) for _, group in sorted(groups.items()))


@dataclass(frozen=True)
class Reasons:
    """The data of the model beyond the part's.

    Attributes
    ----------
    members : tuple of tuple of int
        N_r for each r, r first.
    near : mapping of (int, int) to int
        near(u, v) as bits, for ordered pairs where it is not empty.
    """

    members: tuple[tuple[int, ...], ...]
    near: Mapping[tuple[int, int], int]


def not_exact(part: Part, target: Target, tick: Tick) -> str | None:  # noqa: ARG001 (the same question for all formulations)
    """It applies to every part."""
    return None


def reasons(part: Part) -> Reasons:
    """Find out who can be in whose island, and the direct reasons of (C3)."""
    members = tuple(
        tuple(u for u in range(r, part.size) if u == r or (part.together[u, r] and _lowest(part.closure(r, u)) == r))
        for r in range(part.size)
    )
    tops = reach(part.bandwidths, part.limit)
    near: dict[tuple[int, int], int] = {}
    # Where all smallest sets are the pairs themselves nobody asks for anybody.
    for u in range(part.size) if part.closures else ():
        row, allowed = part.bandwidths[u], tops[u]
        for v in np.flatnonzero(part.together[u]):
            faster = np.flatnonzero(row > allowed[v])
            faster = faster[faster != u]
            if v != u and faster.size:
                nearest = allowed[faster].min()
                near[u, int(v)] = sum(1 << int(w) for w in faster if row[w] <= nearest)
    return Reasons(members, near)


def representatives(part: Part, target: Target, tick: Tick) -> Representatives:
    """Build the model of a part.

    Parameters
    ----------
    part : Part
        The part.
    target : Target
        Which level of the objective, and the limits of those before.
    tick : callable
        Called again and again while the model is written; what it raises ends that.

    Returns
    -------
    Representatives
        The model.
    """
    data = reasons(part)
    model = LinearModel(tight=True)
    x = {
        (u, r): model.add_binary(f"x_{u}_{r}", target.cost(int(u == r), part.lost_with(r, u)))
        for r, members in enumerate(data.members)
        for u in members
    }
    own: list[dict[int, int]] = [{} for _ in range(part.size)]
    for (u, _), index in x.items():
        own[u][index] = 1
    for u in range(part.size):
        model.add_row(f"one_{u}", own[u], lower=1, upper=1)
    for r, members in enumerate(data.members):
        tick()
        drawn, joined, apart = implications(part, data, r)
        for q, clique in enumerate(cliques(members[1:], apart)):
            tick()
            model.add_row(f"apart_{r}_{q}", {**{x[u, r]: 1 for u in clique}, x[r, r]: -1}, upper=0)
        for u, w in drawn:
            model.add_row(f"drawn_{r}_{u}_{w}", {x[u, r]: 1, x[w, r]: -1}, upper=0)
        for u, v, w in joined:
            terms = {x[u, r]: 1, x[v, r]: 1, x[w, r]: -1, x[r, r]: -1}
            model.add_row(f"joined_{r}_{u}_{v}_{w}", terms, upper=0)
    limit_islands(model, target, (x[r, r] for r in range(part.size)))
    limit_lost(model, target, {index: part.lost_with(r, u) for (u, r), index in x.items()})
    return Representatives(part, model, x)


def implications(
    part: Part, data: Reasons, r: int
) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]], dict[int, set[int]]]:
    """Find what holds in the island of a block.

    Parameters
    ----------
    part : Part
        The part.
    data : Reasons
        Of the part.
    r : int
        The first block of the island.

    Returns
    -------
    list of (int, int), list of (int, int, int), dict of int to set of int
        The u, w of (drawn), the u, v, w of (joined), and for each block of N_r those that cannot be in the island of
        r with it.
    """
    others = data.members[r][1:]
    can_be = sum(1 << u for u in data.members[r])
    closure = {u: part.closure(r, u) for u in others}
    drawn = [(u, w) for u in others for w in bits(closure[u] & ~(1 << u | 1 << r))]
    joined: list[tuple[int, int, int]] = []
    apart: dict[int, set[int]] = {u: set() for u in others}
    for position, u in enumerate(others):
        for v in others[position + 1 :]:
            asked = (data.near.get((u, v), 0) | data.near.get((v, u), 0)) & ~(closure[u] | closure[v])
            if not part.together[u, v] or (part.closure(u, v) | asked) & ~can_be:
                apart[u].add(v)
                apart[v].add(u)
            else:
                joined += [(u, v, w) for w in bits(asked)]
    return drawn, joined, apart


def cliques(blocks: Sequence[int], apart: Mapping[int, set[int]]) -> Iterator[list[int]]:
    """Cover blocks, and all pairs of them that are apart, with sets that are pairwise apart."""
    covered: set[tuple[int, int]] = set()
    for u in blocks:
        partners = [v for v in blocks if v > u and v in apart[u] and (u, v) not in covered]
        if not apart[u]:
            yield [u]
        for v in partners:
            if (u, v) in covered:
                continue
            clique = [u, v]
            for w in sorted(apart[u] & apart[v]):
                if all(w in apart[other] for other in clique[2:]):
                    clique.append(w)
            covered.update((min(a, b), max(a, b)) for a in clique for b in clique if a < b)
            yield sorted(clique)


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
