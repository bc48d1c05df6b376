"""Anchors: islands are named after blocks of which no two can be together, where the network asks for nobody.

Each such block, an *anchor*, is in an island of its own. Where there are as many anchors as islands every island has
a name, and no two solutions are the same partition. Islands beyond the anchors are numbered, the slowest first. What
islands are worth is said by their speeds, as in :mod:`formulations.islands_cover`: nobody is first.

Data
    B           blocks 1..n
    A           anchors
    K           names of islands: first the anchors, then numbers, as many as islands are allowed or known to be enough
    K_u         those whose island u can be in: its own for an anchor, else numbers and the anchors u can be with
    V           the different values of slowest compute of blocks, in ascending order; V+ all but the first
    step(u, v)  compute that u loses between the value before v and v

Variables
    x_{u,k} in {0,1}  u is in the island of k, for k in K_u
    e_k in {0,1}      there is an island of k, for numbers k; for the number of islands only
    w_{k,v} in {0,1}  nobody in the island of k is slower than v, for v in V+ up to the compute of k, if an anchor
    z_{u,v} in {0,1}  u loses the step up to v, for v in V+ up to its compute
w and z are not there for the number of islands.

Objective
    minimise  |A| + sum_k e_k
    then      sum_{u,v} step(u, v) z_{u,v} + what the nodes of the blocks lose among themselves

Constraints
    (one_u)       sum over k in K_u of x_{u,k} = 1
    (apart_k_q)   sum over u in Q of x_{u,k} <= 1, for cliques Q of blocks of which no two can be together; together
                  they hold every such pair
    (open_k_u)    x_{u,k} <= e_k, for numbers k
    (order_k)     e_k >= e_{k+1}, for numbers k
    (slow_k_u)    w_{k,v} <= 1 - x_{u,k} for the first v above the compute of u
    (chain_k_v)   w_{k,v} >= w_{k,v'} for the next v'
    (pays_u_k_v)  z_{u,v} >= x_{u,k} - w_{k,v}
    (speed_k_v)   w_{k,v} <= w_{k+1,v}, for numbers k
    (lost)        sum_{u,v} step(u, v) z_{u,v} <= most lost, less what the blocks lose among themselves
the last where the target has such a limit, divided by the greatest common divisor; that on islands is in K.

Exact where every set of blocks that may be together pair by pair is an island.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from formulations.islands_levels import Target
from formulations.islands_limits import limit_steps
from formulations.islands_representatives import cliques, islands_by_name
from formulations.islands_sets import Tick
from formulations.linear import LinearModel
from tangram_opt.islands.parts import Groups, Part


def not_exact(part: Part, target: Target, tick: Tick) -> str | None:  # noqa: ARG001 (the same for all levels)
    """Say why it is not exact for a level of a part."""
    if part.closures:
        return "the network asks for further nodes in some islands, so not every part of an island is one"
    return None


def names_of(part: Part, target: Target) -> range:
    """List K by position: as many as islands are allowed, or known to be enough."""
    limit = target.known_islands if target.most_islands is None else target.most_islands
    return range(part.size if limit is None else limit)


@dataclass(frozen=True)
class Anchors:
    """The model of a part, and the way to its partitions and back.

    Attributes
    ----------
    part : Part
        The part.
    linear : LinearModel
        The model.
    anchors : tuple of int
        Blocks that islands are named after; names are their positions, and numbers from there on.
    x, w, z : mapping of (int, int) to int
        Variables by block and name, by name and value, and by block and value.
    e : mapping of int to int
        Variables by name.
    """

    part: Part
    linear: LinearModel
    anchors: tuple[int, ...]
    x: Mapping[tuple[int, int], int]
    e: Mapping[int, int]
    w: Mapping[tuple[int, int], int]
    z: Mapping[tuple[int, int], int]

    def decode(self, values: Sequence[int]) -> Groups:
        """Read the islands."""
        return islands_by_name(self.x, values)

    def encode(self, groups: Groups) -> list[int]:
        """Write islands as a solution."""
        named = {k: group for k, anchor in enumerate(self.anchors) for group in groups if anchor in group}
        others = sorted(group for group in map(sorted, groups) if not set(group) & set(self.anchors))
        named |= {len(self.anchors) + number: tuple(group) for number, group in enumerate(others)}
        values = [0] * len(self.linear.variables)
        slowest = {k: self.part.blocks[min(group)].low[0] for k, group in named.items()}
        island = {u: k for k, group in named.items() for u in group}
        for u, k in island.items():
            values[self.x[u, k]] = 1
        for k, index in self.e.items():
            values[index] = int(k in named)
        # A number without an island is as fast as any.
        for (k, v), index in self.w.items():
            values[index] = int(k not in slowest or v <= slowest[k])
        for (u, v), index in self.z.items():
            values[index] = int(v > slowest[island[u]])
        return values


def anchors(part: Part, target: Target, tick: Tick) -> Anchors:
    """Build the model of a part.

    Parameters
    ----------
    part : Part
        The part, see :func:`not_exact`.
    target : Target
        Which level of the objective, and the limits of those before.
    tick : callable
        Called again and again while the model is written; what it raises ends that.

    Returns
    -------
    Anchors
        The model.
    """
    model = LinearModel()
    strangers = part.strangers
    names = names_of(part, target)
    can_be = [[k for k in names if _can_be(part, strangers, u, k)] for u in range(part.size)]
    x = {(u, k): model.add_binary(f"x_{u}_{k}") for u, own in enumerate(can_be) for k in own}
    for u, own in enumerate(can_be):
        model.add_row(f"one_{u}", {x[u, k]: 1 for k in own}, lower=1, upper=1)
    apart = {u: set(np.flatnonzero(~row).tolist()) for u, row in enumerate(part.together)}
    for k in names:
        members = [u for u in range(part.size) if (u, k) in x]
        inside = {u: apart[u] & set(members) for u in members}
        for q, clique in enumerate(cliques(members, inside)):
            tick()
            model.add_row(f"apart_{k}_{q}", {x[u, k]: 1 for u in clique}, upper=1)
    if target.most_islands is None:
        model.constant = min(len(strangers), len(names))
        e = {k: model.add_binary(f"e_{k}", 1) for k in names[len(strangers) :]}
        for (u, k), index in x.items():
            if k in e:
                model.add_row(f"open_{k}_{u}", {index: 1, e[k]: -1}, upper=0)
        for k, following in pairwise(e):
            model.add_row(f"order_{k}", {e[k]: 1, e[following]: -1}, lower=0)
        return Anchors(part, model, strangers, x, e, {}, {})
    w, z = _speeds(model, part, target, strangers, names, x, tick)
    return Anchors(part, model, strangers, x, {}, w, z)


def _speeds(
    model: LinearModel,
    part: Part,
    target: Target,
    strangers: Sequence[int],
    names: Sequence[int],
    x: Mapping[tuple[int, int], int],
    tick: Tick,
) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]]:
    """Add how fast islands are, and what blocks lose."""
    lows = [block.low[0] for block in part.blocks]
    values = sorted(set(lows))
    top = {k: lows[strangers[k]] if k < len(strangers) else values[-1] for k in names}
    w = {(k, v): model.add_binary(f"w_{k}_{v}") for k in names for v in values[1:] if v <= top[k]}
    z: dict[tuple[int, int], int] = {}
    steps: dict[int, int] = {}
    above = dict(pairwise(values))
    for (u, k), index in x.items():
        faster = w.get((k, above[lows[u]])) if lows[u] in above else None
        if faster is not None:
            model.add_row(f"slow_{k}_{u}", {index: 1, faster: 1}, upper=1)
    for below, v in pairwise(values):
        for k in names:
            if (k, above.get(v)) in w:
                model.add_row(f"chain_{k}_{v}", {w[k, v]: 1, w[k, above[v]]: -1}, lower=0)
        for u in range(part.size):
            if v <= lows[u]:
                step = part.blocks[u].gpus * (v - below)
                z[u, v] = model.add_binary(f"z_{u}_{v}", target.cost(0, step))
                steps[z[u, v]] = step
    for (u, v), index in z.items():
        tick()
        for k in names:
            if (u, k) in x:
                fast = {w[k, v]: 1} if (k, v) in w else {}
                model.add_row(f"pays_{u}_{k}_{v}", {index: 1, x[u, k]: -1, **fast}, lower=0)
    for k, following in pairwise(names[len(strangers) :]):
        for v in values[1:]:
            model.add_row(f"speed_{k}_{v}", {w[k, v]: 1, w[following, v]: -1}, upper=0)
    limit_steps(model, target, part, steps)
    return w, z


def _can_be(part: Part, strangers: Sequence[int], u: int, k: int) -> bool:
    """Whether a block can be in the island of a name."""
    if k >= len(strangers):
        return u not in strangers
    return u == strangers[k] if u in strangers else bool(part.together[u, strangers[k]])
