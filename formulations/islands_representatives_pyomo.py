"""The representatives formulation in Pyomo, for any MILP solver that Pyomo finds.

Mathematics and names: :mod:`formulations.islands_representatives`. Compute is in units of `unit_flops_per_s`.
"""

# Pyomo hands the model to every rule, and has no types.
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

from formulations.islands_levels import Target
from formulations.islands_representatives import cliques, implications, reasons
from formulations.islands_sets import Tick
from formulations.islands_target_pyomo import add_target
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

    m = pyo.ConcreteModel("islands_representatives")
    data = reasons(part)
    pairs: list[tuple[int, int, int]] = []
    triples: list[tuple[int, int, int, int]] = []
    clique: dict[tuple[int, int], list[int]] = {}
    for r, members in enumerate(data.members):
        with_one, with_two, never = implications(part, data, r)
        pairs += [(r, u, w) for u, w in with_one]
        triples += [(r, u, v, w) for u, v, w in with_two]
        for q, each in enumerate(cliques(members[1:], never)):
            tick()
            clique[r, q] = each

    # Sets
    m.B = pyo.RangeSet(0, part.size - 1, doc="blocks")
    m.In = pyo.Set(
        initialize=[(u, r) for r, members in enumerate(data.members) for u in members],
        dimen=2,
        doc="blocks and the first blocks of islands that they can be in",
    )
    m.Apart = pyo.Set(initialize=list(clique), dimen=2, doc="cliques by first block and number")
    m.Drawn = pyo.Set(initialize=pairs, dimen=3, doc="first block, block, block that it draws in")
    m.Joined = pyo.Set(initialize=triples, dimen=4, doc="first block, two blocks, block that they draw in")

    # Variables
    m.x = pyo.Var(m.In, domain=pyo.Binary)

    # Objective, and limits of the levels before
    islands = sum(m.x[r, r] for r in m.B)
    lost = sum(part.lost_with(r, u) / unit_flops_per_s * m.x[u, r] for u, r in m.In)
    add_target(m, target, islands, lost, unit_flops_per_s)

    # Constraints
    @m.Constraint(m.B)
    def one(m: Any, u: int) -> Any:
        return sum(m.x[u, r] for r in m.B if (u, r) in m.In) == 1

    @m.Constraint(m.Apart)
    def apart(m: Any, r: int, q: int) -> Any:
        tick()
        return sum(m.x[u, r] for u in clique[r, q]) <= m.x[r, r]

    @m.Constraint(m.Drawn)
    def drawn(m: Any, r: int, u: int, w: int) -> Any:
        tick()
        return m.x[u, r] <= m.x[w, r]

    @m.Constraint(m.Joined)
    def joined(m: Any, r: int, u: int, v: int, w: int) -> Any:
        tick()
        return m.x[u, r] + m.x[v, r] <= m.x[r, r] + m.x[w, r]

    return m


def decode(part: Part, m: Any) -> Groups:
    """Read the islands from the values of a model's variables."""
    return tuple(
        group
        for r in range(part.size)
        if (group := tuple(u for u in range(r, part.size) if (u, r) in m.In and m.x[u, r].value > 0.5))
    )
