"""Deadline formulation: which placements, not in which order.

Read from the back, an interior placement of run r is a job that takes S stages and must be done by stage S + D, its
due date: at most D stages may come after it. Jobs that start behind A stages can be ordered so that all are in time
iff they are in time in the order of their due dates: for every due date d, those due by d take at most d - A stages.
Crossing placements have their place between the runs. So the order inside a run need not be modelled, and islands of
one class need not be told apart.

Sets
    p in P       placements; P_r: interior ones of run r; C: crossing ones
    k in K       island classes; r in 1..R: runs

Data
    n_p(r)       atoms of run r that p takes; N_r: atoms of run r
    S_p, D_p     stages; most stages after it; d_p = S_p + D_p
    s_p, b_p, y_p  sum of times, slowest stage, longest sync
    c            both ways over a boundary
    m_k          islands of class k
    B            no composition has more stages

Variables
    x_p in {0..}     how often p is used
    z_{r,a} in {0,1} at least a stages come after the last interior placement of run r, "at least" only for the last a
    M, Y             slowest stage and longest sync, see :mod:`formulations.composition_minmax`

Objective
    (n - 1) M + sum (s_p + c) x_p - c + Y

Constraints
    (cover_r)      sum n_p(r) x_p = N_r
    (boundary_r)   sum of x_p over crossing p that reach from run r or before into run r + 1  <=  1
    (islands_k)    sum of x_p over p of class k <= m_k
    (required_k)   sum of x_p over p of class k >= 1, for required classes
    (behind_r)     sum of S_p x_p over all p that begin in a later run, or cross out of run r  <=  sum_a a z_{r,a}
    (one_r)        sum_a z_{r,a} = 1
    (due_r_d)      sum of S_p x_p over p in P_r with d_p <= d   <=  sum_a max(0, d - a) z_{r,a}
    (after_r)      stages after the crossing placement that ends in run r  <=  sum of D_p x_p + B (1 - sum of x_p),
                   both sums over crossing p that end in run r
    and those of the maxima.

Exact where every boundary between two placements that can meet costs the same, whatever the runs. Without limits
(D) there are no z, and for a single run none either: A is 0 there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from formulations.composition_data import CompositionData, Placement
from formulations.composition_minmax import Maximum, Use, add_maximum
from formulations.linear import LinearModel
from tangram_opt.composition.answer import placed
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
    z: Mapping[int, Mapping[int, int]]
    sync: Maximum
    slowest: Maximum | None = None

    def decode(self, values: Sequence[int]) -> Composition:
        """Put what a solution uses in order: by runs, and within a run so that the earliest due date comes last."""
        used = [p for p in self.data.placements for _ in range(values[self.x[p.name]])]
        used.sort(key=lambda p: (p.first_run, p.last_run, p.due is not None, -(p.due or 0)))
        return placed(self.data.problem, (p.option for p in used))

    def encode(self, composition: Composition) -> list[int]:
        """Write a composition, with better stand-ins for options that are not placed, as a solution."""
        values = [0] * len(self.linear.variables)
        used = self.data.placements_of(composition)
        for p in used:
            values[self.x[p.name]] += 1
        for r, unary in self.z.items():
            behind = sum(p.stages for p in used if _comes_after(p, r))
            values[unary.get(behind, unary[max(unary)])] = 1
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
    z = {r: unary for r in range(len(data.runs)) if (unary := _add_due_dates(model, data, x, r))}
    for r in range(1, len(data.runs)):
        _add_after(model, data, x, r)
    sync = [Use(p.name, x[p.name], p.most, p.island, p.sync_ns) for p in data.placements]
    return Deadline(data, model, x, z, add_maximum(model, "sync", 1, sync, data.counts))


def _comes_after(p: Placement, r: int) -> bool:
    """Whether a placement comes after the interior ones of run r."""
    return p.first_run > r or (p.first_run == r and not p.interior)


def _add_due_dates(model: LinearModel, data: CompositionData, x: Mapping[str, int], r: int) -> dict[int, int]:
    """Add the rows behind_r, one_r and due_r_d; return the variables z of the run by a."""
    jobs = [p for p in data.placements if p.interior and p.first_run == r]
    dates = sorted({p.due for p in jobs if p.due is not None})
    if not dates:
        return {}
    after = {x[p.name]: p.stages for p in data.placements if _comes_after(p, r)}
    most_after = data.most_stages_from(r) if after else 0
    z: dict[int, int] = {}
    if most_after:
        steps = [*range(min(dates[-1], most_after)), most_after]
        z = {a: model.add_binary(f"z_{r}_{a}") for a in steps}
        model.add_row(f"behind_{r}", {**after, **{z[a]: -a for a in steps}}, upper=0)
        model.add_row(f"one_{r}", dict.fromkeys(z.values(), 1), lower=1, upper=1)
    for d in dates:
        due = {x[p.name]: p.stages for p in jobs if p.due is not None and p.due <= d}
        room = {z[a]: -max(0, d - a) for a in z}
        model.add_row(f"due_{r}_{d}", {**due, **room}, upper=0 if z else d)
    return z


def _add_after(model: LinearModel, data: CompositionData, x: Mapping[str, int], r: int) -> None:
    """Add the row after_r."""
    ending = [p for p in data.placements if p.last_run == r and not p.interior]
    most = data.most_stages_from(r)
    slack = {x[p.name]: most - p.limit for p in ending if p.limit is not None and p.limit < most}
    if slack:
        stages = {x[p.name]: p.stages for p in data.placements if p.first_run >= r}
        model.add_row(f"after_{r}", {**stages, **slack}, upper=most)
