"""Cover: blocks are covered with largest islands, where every part of an island is an island too.

That is so where the network asks for nobody: all links of a component are equally fast, or only its fastest links
join blocks that may be together. Then the fewest islands are a set cover by those that nobody can be added to. For the
compute lost it matters who is first, so there every block says in whose island it is, as in
:mod:`formulations.islands_representatives`, and islands are drawn from the largest of each first block.

Data
    B            blocks 1..n, in the order of their slowest compute
    Q_r          largest islands whose first block is r; Q all of them
    Q*           those of Q that no block can be added to, not even one before r
    lost(r, u)   compute that u loses in an island whose first block is r

Variables
    y_q in {0,1}      q in Q is chosen; for the number of islands q in Q* only
    x_{u,r} in {0,1}  u is in the island of r, for u in some q of Q_r; not for the number of islands

Objective
    minimise  sum_q y_q
    then      sum_{u,r} lost(r, u) x_{u,r}

Constraints
    (covered_u)   sum over q in Q* that hold u of y_q >= 1; where there are x, instead of it:
    (one_u)       sum over r of x_{u,r} = 1
    (first_r)     x_{r,r} = sum over q in Q_r of y_q
    (drawn_u_r)   x_{u,r} <= sum over q in Q_r that hold u of y_q, for u other than r
    (islands)     sum_q y_q <= most islands
    (lost)        sum_{u,r} lost(r, u) x_{u,r} <= most lost
the last two where the target has such a limit; (lost) is divided by the greatest common divisor.

Exact where every set of blocks that may be together pair by pair is an island, and the largest of them can be written
out: up to 20,000.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formulations.islands_levels import Target
from formulations.islands_limits import limit_islands, limit_lost
from formulations.islands_sets import LIMIT, friends_of, is_largest, largest_islands
from formulations.linear import LinearModel
from tangram_opt.islands.closure import bits
from tangram_opt.islands.parts import Groups, Part


def not_exact(part: Part) -> str | None:
    """Say why it is not exact for a part."""
    if part.closures:
        return "the network asks for further nodes in some islands, so not every part of an island is one"
    return None if largest_islands(part) is not None else f"a component has more than {LIMIT} largest islands"


@dataclass(frozen=True)
class Cover:
    """The model of a part, and the way to its partitions and back.

    Attributes
    ----------
    linear : LinearModel
        The model.
    y : mapping of (int, int) to int
        Variables by first block and largest island, as bits.
    x : mapping of (int, int) to int
        Variables by block and first block; empty where the model is about the number of islands.
    """

    linear: LinearModel
    y: Mapping[tuple[int, int], int]
    x: Mapping[tuple[int, int], int]

    def decode(self, values: Sequence[int]) -> Groups:
        """Read the islands; a block that is covered twice goes to the first."""
        groups: dict[int, list[int]] = {}
        for (u, r), index in self.x.items():
            if values[index]:
                groups.setdefault(r, []).append(u)
        if not self.x:
            left = -1
            for (_, island), index in self.y.items():
                if values[index] and island & left:
                    groups[index] = list(bits(island & left))
                    left &= ~island
        return tuple(tuple(group) for group in groups.values())

    def encode(self, groups: Groups) -> list[int]:
        """Write islands as a solution."""
        values = [0] * len(self.linear.variables)
        for group in groups:
            mask = sum(1 << block for block in group)
            holding = (index for (r, q), index in self.y.items() if not mask & ~q and (not self.x or r == min(group)))
            values[next(holding)] = 1
            for block in group if self.x else ():
                values[self.x[block, min(group)]] = 1
        return values


def cover(part: Part, target: Target) -> Cover:
    """Build the model of a part.

    Parameters
    ----------
    part : Part
        The part, see :func:`not_exact`.
    target : Target
        Which level of the objective, and the limits of those before.

    Returns
    -------
    Cover
        The model.
    """
    islands = largest_islands(part)
    assert islands is not None
    model = LinearModel(tight=True)
    if target.most_islands is None:
        friends = friends_of(part)
        chosen = [each for each in islands if is_largest(each[1], friends)]
        y = {each: model.add_binary(f"y_{number}", 1) for number, each in enumerate(chosen)}
        for u in range(part.size):
            model.add_row(f"covered_{u}", {index: 1 for (_, q), index in y.items() if q >> u & 1}, lower=1)
        return Cover(model, y, {})
    y = {each: model.add_binary(f"y_{number}") for number, each in enumerate(islands)}
    drawn: dict[tuple[int, int], dict[int, int]] = {}
    for (r, q), index in y.items():
        for u in bits(q):
            drawn.setdefault((u, r), {})[index] = -1
    x = {(u, r): model.add_binary(f"x_{u}_{r}", target.cost(0, part.lost_with(r, u))) for u, r in sorted(drawn)}
    for u in range(part.size):
        model.add_row(f"one_{u}", {index: 1 for (block, _), index in x.items() if block == u}, lower=1, upper=1)
    for (u, r), terms in drawn.items():
        if u == r:
            model.add_row(f"first_{r}", {**terms, x[r, r]: 1}, lower=0, upper=0)
        else:
            model.add_row(f"drawn_{u}_{r}", {**terms, x[u, r]: 1}, upper=0)
    limit_islands(model, target, y.values())
    limit_lost(model, target, {index: part.lost_with(r, u) for (u, r), index in x.items()})
    return Cover(model, y, x)
