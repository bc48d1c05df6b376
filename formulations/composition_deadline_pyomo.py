"""The deadline formulation in Pyomo, for any MILP solver that Pyomo finds.

Mathematics, names and where it is exact: :mod:`formulations.composition_deadline`, with the due dates of
:mod:`formulations.composition_due_dates` and the maxima of :mod:`formulations.composition_minmax`. Times are in units
of `unit_ns`.
"""

# Pyomo hands the model to every rule, and has no types.
# ruff: noqa: ARG005
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from formulations.composition_data import CompositionData
from formulations.composition_due_dates import comes_after, in_order, stage_counts
from formulations.composition_placements import Placement
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

    m = pyo.ConcreteModel("composition_deadline")
    place = {p.name: p for p in data.placements}
    limit = {p.name: p.limit for p in data.placements if p.limit is not None}
    date = {p.name: p.due for p in data.placements if p.due is not None}
    atoms = [run.count for run in data.runs]
    most_after = [data.most_stages_from(r) for r in range(len(atoms))]
    round_trip = (data.uniform_round_trip_ns or 0) / unit_ns

    def names(where: Callable[[Placement], bool]) -> list[str]:
        return [p.name for p in data.placements if where(p)]

    # Sets
    m.P = pyo.Set(initialize=list(place), doc="placements")
    m.R = pyo.RangeSet(0, len(atoms) - 1, doc="runs")
    m.K = pyo.RangeSet(0, len(data.counts) - 1, doc="island classes")
    m.Class = pyo.Set(m.K, initialize=lambda m, k: names(lambda p: p.island == k), doc="placements of a class")
    m.Many = pyo.Set(initialize=names(lambda p: data.counts[p.island] > 1), doc="of classes with several islands")
    m.Interior = pyo.Set(m.R, initialize=lambda m, r: names(lambda p: p.interior and p.first_run == r))
    m.Ending = pyo.Set(m.R, initialize=lambda m, r: names(lambda p: not p.interior and p.last_run == r))
    m.Crossing = pyo.Set(m.R, initialize=lambda m, r: names(lambda p: p.first_run <= r < p.last_run))
    m.Behind = pyo.Set(m.R, initialize=lambda m, r: names(lambda p: comes_after(p, r)))
    m.From = pyo.Set(m.R, initialize=lambda m, r: names(lambda p: p.first_run >= r))
    m.Due = pyo.Set(m.R, initialize=lambda m, r: sorted({date[p] for p in m.Interior[r] if p in date}))
    m.A = pyo.Set(m.R, initialize=lambda m, r: stage_counts(max(m.Due[r]), most_after[r]) if len(m.Due[r]) else [])

    # Variables
    m.x = pyo.Var(m.P, domain=pyo.NonNegativeIntegers, bounds=lambda m, p: (0, place[p].most))
    m.y = pyo.Var(m.Many, domain=pyo.Binary)
    m.z = pyo.Var(((r, a) for r in m.R for a in m.A[r]), domain=pyo.Binary)
    m.M = pyo.Var(domain=pyo.NonNegativeReals)
    m.Y = pyo.Var(domain=pyo.NonNegativeReals)

    # Objective
    m.iteration_time = pyo.Objective(
        expr=(data.micro_batches - 1) * m.M
        + sum((place[p].sum_ns / unit_ns + round_trip) * m.x[p] for p in m.P)
        - round_trip
        + m.Y
    )

    # Constraints
    @m.Constraint(m.R)
    def cover(m: Any, r: int) -> Any:
        return sum(place[p].atoms_of(r, atoms[r]) * m.x[p] for p in m.P) == atoms[r]

    @m.Constraint(m.R)
    def boundary(m: Any, r: int) -> Any:
        return sum(m.x[p] for p in m.Crossing[r]) <= 1 if m.Crossing[r] else pyo.Constraint.Skip

    @m.Constraint(m.K)
    def islands(m: Any, k: int) -> Any:
        return sum(m.x[p] for p in m.Class[k]) <= data.counts[k] if m.Class[k] else pyo.Constraint.Skip

    @m.Constraint(data.required)
    def required(m: Any, k: int) -> Any:
        return sum(m.x[p] for p in m.Class[k]) >= 1

    # Due dates
    def stages(used: Iterable[str]) -> Any:
        return sum(place[p].stages * m.x[p] for p in used)

    @m.Constraint(m.R)
    def behind(m: Any, r: int) -> Any:
        return stages(m.Behind[r]) <= sum(a * m.z[r, a] for a in m.A[r]) if m.A[r] else pyo.Constraint.Skip

    @m.Constraint(m.R)
    def one(m: Any, r: int) -> Any:
        return sum(m.z[r, a] for a in m.A[r]) == 1 if m.A[r] else pyo.Constraint.Skip

    @m.Constraint((r, d) for r in m.R for d in m.Due[r])
    def due(m: Any, r: int, d: int) -> Any:
        jobs = [p for p in m.Interior[r] if p in date and date[p] <= d]
        return stages(jobs) <= sum(max(0, d - a) * m.z[r, a] for a in m.A[r])

    @m.Constraint(m.R)
    def after(m: Any, r: int) -> Any:
        limited = [p for p in m.Ending[r] if p in limit]
        spare = sum(max(0, most_after[r] - limit[p]) * m.x[p] for p in limited)
        return stages(m.From[r]) + spare <= most_after[r] if limited else pyo.Constraint.Skip

    # Maxima
    @m.Constraint(m.K)
    def slowest(m: Any, k: int) -> Any:
        times = sum(place[p].bottleneck_ns / unit_ns * m.x[p] for p in m.Class[k])
        return times <= data.counts[k] * m.M

    @m.Constraint(m.K)
    def sync(m: Any, k: int) -> Any:
        waits = sum(place[p].sync_ns / unit_ns * m.x[p] for p in m.Class[k])
        return waits <= data.counts[k] * m.Y

    @m.Constraint(m.Many)
    def used(m: Any, p: str) -> Any:
        return m.x[p] <= place[p].most * m.y[p]

    @m.Constraint(m.Many)
    def slowest_used(m: Any, p: str) -> Any:
        return place[p].bottleneck_ns / unit_ns * m.y[p] <= m.M

    @m.Constraint(m.Many)
    def sync_used(m: Any, p: str) -> Any:
        return place[p].sync_ns / unit_ns * m.y[p] <= m.Y

    return m


def decode(data: CompositionData, m: Any) -> Composition:
    """Read the composition from the values of a model's variables."""
    return in_order(data, {p: round(m.x[p].value) for p in m.P})
