"""Deadline formulation: which placements, not in which order.

Where every boundary costs the same, the order of placements inside a run matters for memory alone, and there the
order of due dates is always as good as any, see :mod:`formulations.composition_due_dates`. So the order need not be
modelled, and islands of one class need not be told apart.

Sets
    p in P         placements
    k in K         island classes
    r in 1..R      runs

Data
    n_p(r), N_r    atoms of run r that p takes; atoms of run r
    s_p            sum of times
    c              both ways over a boundary
    m_k            islands of class k
    n              micro-batches

Variables
    x_p in {0..}   how often p is used
    M, Y           slowest stage and longest sync, see :mod:`formulations.composition_minmax`

Objective
    (n - 1) M + sum (s_p + c) x_p - c + Y

Constraints
    (cover_r)      sum n_p(r) x_p = N_r
    (boundary_r)   sum of x_p over crossing p that reach from run r or before into run r + 1  <=  1
    (islands_k)    sum of x_p over p of class k <= m_k
    (required_k)   sum of x_p over p of class k >= 1, for required classes
    and those of due dates and of the maxima.

Exact where all boundaries at which two placements can meet cost the same, whatever the runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from formulations.composition_data import CompositionData
from formulations.composition_due_dates import Unary, add_due_dates, encode_due_dates, in_order
from formulations.composition_minmax import Maximum, Use, add_maximum
from formulations.linear import LinearModel
from tangram_opt.data.composition import Composition


def not_exact(data: CompositionData) -> str | None:
    """Say why this formulation does not apply to a problem; None where it does."""
    if data.uniform_round_trip_ns is None:
        return "transfer times depend on which placements are neighbours"
    return None


@dataclass(frozen=True)
class Deadline:
    """The model of a problem, and the way to compositions and back.

    Attributes
    ----------
    data : CompositionData
        The problem.
    linear : LinearModel
        The model.
    x : mapping of str to int
        Variable of each placement, by its name.
    z : mapping of int to mapping of int to int
        For each run that needs them the variables z by a.
    sync, slowest : Maximum
        The maxima; the slowest stage may be free.
    """

    data: CompositionData
    linear: LinearModel
    x: Mapping[str, int]
    z: Unary
    sync: Maximum
    slowest: Maximum | None = None

    def decode(self, values: Sequence[int]) -> Composition:
        """Put what a solution uses in order."""
        return in_order(self.data, {name: values[index] for name, index in self.x.items()})

    def encode(self, composition: Composition) -> list[int]:
        """Write a composition, with better stand-ins for options that are not placed, as a solution."""
        values = [0] * len(self.linear.variables)
        used = self.data.placements_of(composition)
        for p in used:
            values[self.x[p.name]] += 1
        encode_due_dates(values, self.z, used)
        self.sync.encode(values, max(p.sync_ns for p in used))
        if self.slowest is not None:
            self.slowest.encode(values, max(p.bottleneck_ns for p in used))
        return values


def deadline(data: CompositionData) -> Deadline:
    """Build the model of a problem.

    Parameters
    ----------
    data : CompositionData
        The problem; see :func:`not_exact`.

    Returns
    -------
    Deadline
        The model.
    """
    model = deadline_without_slowest(data)
    slowest = [Use(p.name, model.x[p.name], p.most, p.island, p.bottleneck_ns) for p in data.placements]
    weight = data.micro_batches - 1
    return replace(model, slowest=add_maximum(model.linear, "slowest", weight, slowest, data.counts))


def deadline_without_slowest(data: CompositionData) -> Deadline:
    """Build the model without M: the slowest stage is free, for whoever limits it by leaving placements out."""
    round_trip_ns = data.uniform_round_trip_ns or 0
    model = LinearModel(constant=-round_trip_ns)
    x = {p.name: model.add_variable(p.name, 0, p.most, p.sum_ns + round_trip_ns) for p in data.placements}
    for r, run in enumerate(data.runs):
        atoms = {x[p.name]: p.atoms_of(r, run.count) for p in data.placements}
        model.add_row(f"cover_{r}", atoms, lower=run.count, upper=run.count)
    for r in range(len(data.runs) - 1):
        crossing = {x[p.name]: 1 for p in data.placements if p.first_run <= r < p.last_run}
        model.add_row(f"boundary_{r}", crossing, upper=1)
    for k, count in enumerate(data.counts):
        model.add_row(f"islands_{k}", {x[p.name]: 1 for p in data.placements if p.island == k}, upper=count)
    for k in data.required:
        model.add_row(f"required_{k}", {x[p.name]: 1 for p in data.placements if p.island == k}, lower=1)
    z = add_due_dates(model, data, {name: (index,) for name, index in x.items()})
    sync = [Use(p.name, x[p.name], p.most, p.island, p.sync_ns) for p in data.placements]
    return Deadline(data, model, x, z, add_maximum(model, "sync", 1, sync, data.counts))
