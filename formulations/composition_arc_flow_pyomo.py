"""The positioned arc flow in Pyomo, for any MILP solver that Pyomo finds.

Mathematics and names: :mod:`formulations.composition_arc_flow`, with the linear rows (9) and (10) of
:mod:`formulations.composition_arc_flow_milp`. Times are in units of `unit_ns`. Exact for every problem.
"""

# Pyomo hands the model to every rule, and has no types.
# ruff: noqa: ARG005
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from formulations.composition_data import CompositionData
from formulations.composition_placements import Placement
from tangram_opt.composition.answer import placed
from tangram_opt.data.composition import Composition


def build(data: CompositionData, unit_ns: int) -> Any:
    """Write the model.

    Parameters
    ----------
    data : CompositionData
        The problem.
    unit_ns : int
        Unit of all times.

    Returns
    -------
    pyomo.environ.ConcreteModel
        With the components that the docstrings name.
    """
    import pyomo.environ as pyo

    m = pyo.ConcreteModel("composition_arc_flow")
    atoms, most = data.problem.length, data.most_stages
    place = {(p.option, first): p for p in data.placements for first in p.first_atoms}
    limit = {i: p.limit for i, p in place.items() if p.limit is not None}

    def places(where: Callable[[Placement, int, int], bool]) -> list[tuple[int, int]]:
        """Places whose placement, first atom and end satisfy a condition."""
        return [(o, first) for (o, first), p in place.items() if where(p, first, first + p.length)]

    # Sets
    m.B = pyo.RangeSet(0, atoms, doc="boundaries")
    m.Inner = pyo.RangeSet(1, atoms - 1, doc="boundaries inside the model")
    m.Atoms = pyo.RangeSet(0, atoms - 1)
    m.K = pyo.RangeSet(0, len(data.counts) - 1, doc="island classes")
    m.P = pyo.Set(dimen=2, initialize=list(place), doc="option and first atom")
    m.Ending = pyo.Set(m.B, dimen=2, initialize=lambda m, b: places(lambda p, first, end: end == b))
    m.Beginning = pyo.Set(m.B, dimen=2, initialize=lambda m, b: places(lambda p, first, end: first == b))
    m.Holding = pyo.Set(m.Atoms, dimen=2, initialize=lambda m, a: places(lambda p, first, end: first <= a < end))
    m.Class = pyo.Set(m.K, dimen=2, initialize=lambda m, k: places(lambda p, first, end: p.island == k))
    m.X = pyo.Set(m.Inner, initialize=lambda m, b: sorted({place[i].exit for i in m.Ending[b]}), doc="exit ports")
    m.E = pyo.Set(m.Inner, initialize=lambda m, b: sorted({place[i].entry for i in m.Beginning[b]}), doc="entry ports")

    # Variables
    m.use = pyo.Var(m.P, domain=pyo.Binary)
    m.link = pyo.Var(((b, x, e) for b in m.Inner for x in m.X[b] for e in m.E[b]), domain=pyo.Binary)
    m.after = pyo.Var(m.B, domain=pyo.NonNegativeReals, bounds=lambda m, b: (0, min(most, atoms - b)))
    m.M = pyo.Var(domain=pyo.NonNegativeReals)
    m.Y = pyo.Var(domain=pyo.NonNegativeReals)

    # Objective
    m.iteration_time = pyo.Objective(
        expr=(data.micro_batches - 1) * m.M
        + sum(place[i].sum_ns / unit_ns * m.use[i] for i in m.P)
        + sum(data.round_trip_ns[x][e] / unit_ns * m.link[b, x, e] for b, x, e in m.link)
        + m.Y
    )

    # Constraints
    m.first = pyo.Constraint(expr=sum(m.use[i] for i in m.Beginning[0]) == 1)  # (1)
    m.last = pyo.Constraint(expr=sum(m.use[i] for i in m.Ending[atoms]) == 1)  # (2)

    @m.Constraint((b, x) for b in m.Inner for x in m.X[b])
    def exit(m: Any, b: int, x: int) -> Any:  # (3)
        return sum(m.use[i] for i in m.Ending[b] if place[i].exit == x) == sum(m.link[b, x, e] for e in m.E[b])

    @m.Constraint((b, e) for b in m.Inner for e in m.E[b])
    def entry(m: Any, b: int, e: int) -> Any:  # (4)
        return sum(m.use[i] for i in m.Beginning[b] if place[i].entry == e) == sum(m.link[b, x, e] for x in m.X[b])

    @m.Constraint(m.K)
    def islands(m: Any, k: int) -> Any:  # (5)
        return sum(m.use[i] for i in m.Class[k]) <= data.counts[k] if m.Class[k] else pyo.Constraint.Skip

    @m.Constraint(data.required)
    def required(m: Any, k: int) -> Any:  # (6)
        return sum(m.use[i] for i in m.Class[k]) >= 1

    @m.Constraint(m.Atoms)
    def slowest(m: Any, a: int) -> Any:  # (7)
        return sum(place[i].bottleneck_ns / unit_ns * m.use[i] for i in m.Holding[a]) <= m.M

    @m.Constraint(m.Atoms)
    def sync(m: Any, a: int) -> Any:  # (8)
        return sum(place[i].sync_ns / unit_ns * m.use[i] for i in m.Holding[a]) <= m.Y

    @m.Constraint(m.P)
    def stages(m: Any, o: int, first: int) -> Any:  # (9)
        p = place[o, first]
        return m.after[first] >= m.after[first + p.length] + p.stages - (most + p.stages) * (1 - m.use[o, first])

    @m.Constraint(m.Inner)
    def depth(m: Any, b: int) -> Any:  # (10)
        return m.after[b] + sum((most - limit[i]) * m.use[i] for i in m.Ending[b] if i in limit) <= most

    return m


def decode(data: CompositionData, m: Any) -> Composition:
    """Read the composition from the values of a model's variables."""
    used = sorted((first, option) for option, first in m.P if m.use[option, first].value > 0.5)
    return placed(data.problem, (option for _, option in used))
