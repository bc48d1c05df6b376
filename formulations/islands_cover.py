"""Cover: blocks are covered with largest islands, where every part of an island is an island too.

That is so where the network asks for nobody: all links of a component are equally fast, or only its fastest links
join blocks that may be together. Then the fewest islands are a set cover by those that nobody can be added to, and a
block that is covered twice is in the one of the two that has the faster compute. The compute lost is that of the steps
between the speeds of islands: a block loses a step where no chosen island with it is as fast as the upper end. So it
does not matter which block is first, and blocks of equal compute are not told apart.

Data
    B            blocks 1..n
    V            the different values of slowest compute of blocks
    Q            islands that no block can be added to without making their slowest compute v(q) slower
    Q*           those of Q that no block at all can be added to
    V_u          values v(q) of those q in Q that hold u, in ascending order; the last is the compute of u
    step(u, v)   compute that u loses between the value before v in V_u and v

Variables
    y_q in {0,1}      q in Q is chosen; for the number of islands q in Q* only
    z_{u,v} in {0,1}  u loses the step up to v, for v in V_u but the first; not for the number of islands

Objective
    minimise  sum_q y_q
    then      sum_{u,v} step(u, v) z_{u,v} + what the nodes of the blocks lose among themselves

Constraints
    (covered_u)  sum over q that hold u of y_q >= 1
    (step_u_v)   z_{u,v} + sum over q in Q that hold u, with v(q) >= v, of y_q >= 1
    (islands)    sum_q y_q <= most islands
    (lost)       sum_{u,v} step(u, v) z_{u,v} <= most lost, less what the blocks lose among themselves
the last two where the target has such a limit; (lost) is divided by the greatest common divisor.

Exact where every set of blocks that may be together pair by pair is an island, and the largest of them can be written
out: up to 40,000.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from formulations.islands_levels import Target
from formulations.islands_limits import limit_islands, limit_steps
from formulations.islands_sets import LIMIT, Tick, largest_islands, largest_islands_by_compute
from formulations.linear import LinearModel
from tangram_opt.islands.closure import bits
from tangram_opt.islands.parts import Groups, Part


def not_exact(part: Part, target: Target, tick: Tick) -> str | None:
    """Say why it is not exact for a level of a part."""
    if part.closures:
        return "the network asks for further nodes in some islands, so not every part of an island is one"
    return None if islands_of(part, target, tick) is not None else f"a component has more than {LIMIT} largest islands"


def islands_of(part: Part, target: Target, tick: Tick) -> tuple[int, ...] | None:
    """Write out Q, for the number of islands Q*; None if there are too many."""
    return largest_islands(part, tick) if target.most_islands is None else largest_islands_by_compute(part, tick)


@dataclass(frozen=True)
class Cover:
    """The model of a part, and the way to its partitions and back.

    Attributes
    ----------
    part : Part
        The part.
    linear : LinearModel
        The model.
    y : mapping of int to int
        Variables by largest island, as bits.
    z : mapping of (int, int) to int
        Variables by block and value of compute; empty where the model is about the number of islands.
    """

    part: Part
    linear: LinearModel
    y: Mapping[int, int]
    z: Mapping[tuple[int, int], int]

    def decode(self, values: Sequence[int]) -> Groups:
        """Read the islands; a block that is covered twice goes to the one with the fastest compute."""
        chosen = [island for island, index in self.y.items() if values[index]]
        groups: dict[int, list[int]] = {}
        for u in range(self.part.size):
            fastest = max((island for island in chosen if island >> u & 1), key=lambda q: (_value(self.part, q), q))
            groups.setdefault(fastest, []).append(u)
        return tuple(tuple(group) for group in groups.values())

    def greedy(self) -> Groups:
        """Choose islands one by one, each with as many blocks as possible that are in none yet."""
        left = (1 << self.part.size) - 1
        groups = []
        while left:
            best = max(self.y, key=lambda island: (island & left).bit_count())
            groups.append(tuple(bits(best & left)))
            left &= ~best
        return tuple(groups)

    def encode(self, groups: Groups) -> list[int]:
        """Write islands as a solution."""
        values = [0] * len(self.linear.variables)
        for group in groups:
            mask, slowest = sum(1 << block for block in group), self.part.blocks[min(group)].low[0]
            holding = (q for q in self.y if not mask & ~q and (not self.z or _value(self.part, q) == slowest))
            values[self.y[next(holding)]] = 1
        for (u, v), index in self.z.items():
            fastest = max(_value(self.part, q) for q, own in self.y.items() if values[own] and q >> u & 1)
            values[index] = int(fastest < v)
        return values


def cover(part: Part, target: Target, tick: Tick) -> Cover:
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
    Cover
        The model.
    """
    islands = islands_of(part, target, tick)
    assert islands is not None
    model = LinearModel(tight=True)
    y = {island: model.add_binary(f"y_{number}", target.cost(1, 0)) for number, island in enumerate(islands)}
    holding: list[list[tuple[int, int]]] = [[] for _ in part.blocks]
    for island, index in y.items():
        value = _value(part, island)
        for u in bits(island):
            holding[u].append((value, index))
    z: dict[tuple[int, int], int] = {}
    steps: dict[int, int] = {}
    for u, own in enumerate(holding):
        tick()
        model.add_row(f"covered_{u}", {index: 1 for _, index in own}, lower=1)
        if target.most_islands is None:
            continue
        for below, v in pairwise(sorted({value for value, _ in own})):
            step = part.blocks[u].gpus * (v - below)
            z[u, v] = model.add_binary(f"z_{u}_{v}", target.cost(0, step))
            steps[z[u, v]] = step
            fast = {index: 1 for value, index in own if value >= v}
            model.add_row(f"step_{u}_{v}", {**fast, z[u, v]: 1}, lower=1)
    limit_islands(model, target, y.values())
    limit_steps(model, target, part, steps)
    return Cover(part, model, y, z)


def _value(part: Part, island: int) -> int:
    """Slowest compute of an island: that of its first block."""
    return part.blocks[next(bits(island))].low[0]
