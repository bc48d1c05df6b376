"""Set partition: all islands that there can be are written out, and every block is in one of those chosen.

Data
    B          blocks
    S          all islands: sets of blocks of which all pairs may be together, with everybody for whom the network asks
    lost(s)    compute that the blocks of s lose in it

Variables
    y_s in {0,1}  island s is chosen

Objective
    minimise  sum_s y_s
    then      sum_s lost(s) y_s

Constraints
    (one_u)    sum over s that hold u of y_s = 1
    (islands)  sum_s y_s <= most islands
    (lost)     sum_s lost(s) y_s <= most lost
the last two where the target has such a limit; (lost) is divided by the greatest common divisor.

The relaxation is the strongest of all. Exact where the islands can be written out: up to 40,000 of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from formulations.islands_levels import Target
from formulations.islands_limits import limit_islands, limit_lost
from formulations.islands_sets import LIMIT, Tick, all_islands
from formulations.linear import LinearModel
from tangram_opt.islands.closure import bits
from tangram_opt.islands.parts import Groups, Part


def not_exact(part: Part, target: Target, tick: Tick) -> str | None:  # noqa: ARG001 (the same for all levels)
    """Say why it is not exact for a part: islands that were left out could be needed."""
    return None if all_islands(part, tick) is not None else f"a component has more than {LIMIT} possible islands"


@dataclass(frozen=True)
class SetPartition:
    """The model of a part, and the way to its partitions and back.

    Attributes
    ----------
    linear : LinearModel
        The model.
    y : mapping of int to int
        Variables by island, as bits.
    """

    linear: LinearModel
    y: Mapping[int, int]

    def decode(self, values: Sequence[int]) -> Groups:
        """Read the islands."""
        return tuple(tuple(bits(island)) for island, index in self.y.items() if values[index])

    def encode(self, groups: Groups) -> list[int]:
        """Write islands as a solution."""
        values = [0] * len(self.linear.variables)
        for group in groups:
            values[self.y[sum(1 << block for block in group)]] = 1
        return values


def set_partition(part: Part, target: Target, tick: Tick) -> SetPartition:
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
    SetPartition
        The model.
    """
    islands = all_islands(part, tick)
    assert islands is not None
    model = LinearModel(tight=True)
    lost = {island: lost_in(part, island) for island in islands}
    y = {island: model.add_binary(f"y_{number}", target.cost(1, lost[island])) for number, island in enumerate(islands)}
    holding: list[dict[int, int]] = [{} for _ in part.blocks]
    for island, index in y.items():
        tick()
        for block in bits(island):
            holding[block][index] = 1
    for block, terms in enumerate(holding):
        model.add_row(f"one_{block}", terms, lower=1, upper=1)
    limit_islands(model, target, y.values())
    limit_lost(model, target, {index: lost[island] for island, index in y.items()})
    return SetPartition(model, y)


def lost_in(part: Part, island: int) -> int:
    """Compute that the blocks of an island lose in it."""
    first, *_ = bits(island)
    return sum(part.lost_with(first, block) for block in bits(island))
