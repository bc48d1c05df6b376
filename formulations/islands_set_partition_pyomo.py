"""The set-partition formulation in Pyomo, for any MILP solver that Pyomo finds.

Mathematics, names and where it is exact: :mod:`formulations.islands_set_partition`. Compute is in units of
`unit_flops_per_s`.
"""

# Pyomo hands the model to every rule, and has no types.
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

from formulations.islands_levels import Target
from formulations.islands_set_partition import lost_in
from formulations.islands_sets import Tick, all_islands
from formulations.islands_target_pyomo import add_target
from tangram_opt.islands.closure import bits
from tangram_opt.islands.parts import Groups, Part


def build(part: Part, target: Target, unit_flops_per_s: int, tick: Tick) -> Any:
    """Write the model.

    Parameters
    ----------
    part : Part
        The part.
    target : Target
        Which level of the objective, and the limits of those before.
    unit_flops_per_s : int
        Unit of compute.
    tick : callable
        Called again and again while the model is written; what it raises ends that.

    Returns
    -------
    pyomo.environ.ConcreteModel
        With the components that the docstring names.
    """
    import pyomo.environ as pyo

    m = pyo.ConcreteModel("islands_set_partition")
    sets = all_islands(part, tick)
    assert sets is not None
    members = [tuple(bits(island)) for island in sets]
    lost = [lost_in(part, island) / unit_flops_per_s for island in sets]

    # Sets
    m.B = pyo.RangeSet(0, part.size - 1, doc="blocks")
    m.S = pyo.RangeSet(0, len(sets) - 1, doc="islands")
    m.Holding = pyo.Set(m.B, initialize=lambda m, u: [s for s in m.S if u in members[s]], doc="islands with a block")

    # Variables
    m.y = pyo.Var(m.S, domain=pyo.Binary)

    # Objective, and limits of the levels before
    chosen = sum(m.y[s] for s in m.S)
    losing = sum(lost[s] * m.y[s] for s in m.S)
    add_target(m, target, chosen, losing, unit_flops_per_s)

    # Constraints
    @m.Constraint(m.B)
    def one(m: Any, u: int) -> Any:
        tick()
        return sum(m.y[s] for s in m.Holding[u]) == 1

    return m


def decode(part: Part, m: Any) -> Groups:
    """Read the islands from the values of a model's variables."""
    sets = all_islands(part)
    assert sets is not None
    return tuple(tuple(bits(island)) for s, island in enumerate(sets) if m.y[s].value > 0.5)
