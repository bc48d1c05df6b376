"""Memory without an order: placements as jobs with due dates.

Read from the back, an interior placement of run r is a job that takes S stages and must be done by stage S + D, its
due date: at most D stages may come after it. Jobs that start behind A stages can be ordered so that all are in time
iff they are in time in the order of their due dates: for every due date d, those due by d take at most d - A stages.
Crossing placements have their place between the runs.

Data
    P_r, C_r         interior placements of run r; crossing ones that end in run r
    S_p, D_p         stages; most stages after it; d_p = S_p + D_p
    B_r              most stages that the atoms from the beginning of run r on can have

Variables
    x_p in {0..}     how often p is used (of the formulation)
    z_{r,a} in {0,1} a stages come after the last interior placement of run r; for the last a: at least a

Constraints
    (behind_r)     sum of S_p x_p over all p that begin in a later run, or cross out of run r  <=  sum_a a z_{r,a}
    (one_r)        sum_a z_{r,a} = 1
    (due_r_d)      sum of S_p x_p over p in P_r with d_p <= d   <=  sum_a max(0, d - a) z_{r,a}
    (after_r)      sum of S_p x_p over all p that begin in run r or later  <=  sum of D_p x_p + B_r (1 - sum of x_p),
                   the last two sums over C_r

Necessary in every formulation, and sufficient where placements of a run may be put in any order. For the last run, and
so for a model of one run, there are no z: nothing comes after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from formulations.composition_data import CompositionData
from formulations.composition_placements import Placement
from formulations.linear import LinearModel
from tangram_opt.composition.answer import placed
from tangram_opt.data.composition import Composition

Uses = Mapping[str, Sequence[int]]
"""For each placement, by its name, the variables that add up to how often it is used."""

Unary = Mapping[int, Mapping[int, int]]
"""For each run that needs them the variables z by a."""


def add_due_dates(model: LinearModel, data: CompositionData, x: Uses) -> Unary:
    """Add the constraints to a model.

    Parameters
    ----------
    model : LinearModel
        The model.
    data : CompositionData
        The problem.
    x : mapping of str to sequence of int
        Variables of each placement.

    Returns
    -------
    mapping of int to mapping of int to int
        The variables z.
    """
    for r in range(1, len(data.runs)):
        _add_after(model, data, x, r)
    return {r: z for r in range(len(data.runs)) if (z := _add_due(model, data, x, r))}


def encode_due_dates(values: list[int], unary: Unary, used: Iterable[Placement]) -> None:
    """Set the variables z of a solution by the placements that it uses."""
    for r, z in unary.items():
        behind = sum(p.stages for p in used if comes_after(p, r))
        values[z.get(behind, z[max(z)])] = 1


def in_order(data: CompositionData, count: Mapping[str, int]) -> Composition:
    """Put placements in order: by runs, and within a run so that the earliest due date comes last.

    Parameters
    ----------
    data : CompositionData
        The problem.
    count : mapping of str to int
        How often each placement is used, by its name.

    Returns
    -------
    Composition
        In an order that memory allows, if there is one.
    """
    used = [p for p in data.placements for _ in range(count[p.name])]
    used.sort(key=lambda p: (p.first_run, p.last_run, p.due is not None, -(p.due or 0)))
    return placed(data.problem, (p.option for p in used))


def _stages(placements: Iterable[Placement], x: Uses) -> dict[int, int]:
    return {index: p.stages for p in placements for index in x[p.name]}


def stage_counts(last_date: int, most_after: int) -> list[int]:
    """Numbers of stages behind a run that its due dates tell apart; the last one stands for all from there on."""
    return [*range(min(last_date, most_after)), most_after]


def comes_after(p: Placement, r: int) -> bool:
    """Whether a placement comes after the interior ones of run r."""
    return p.first_run > r or (p.first_run == r and not p.interior)


def _add_due(model: LinearModel, data: CompositionData, x: Uses, r: int) -> dict[int, int]:
    """Add the rows behind_r, one_r and due_r_d; return the variables z of the run."""
    jobs = [p for p in data.placements if p.interior and p.first_run == r]
    dates = sorted({p.due for p in jobs if p.due is not None})
    if not dates:
        return {}
    after = _stages((p for p in data.placements if comes_after(p, r)), x)
    most_after = data.most_stages_from(r)
    z: dict[int, int] = {}
    if after:
        z = {a: model.add_binary(f"z_{r}_{a}") for a in stage_counts(dates[-1], most_after)}
        model.add_row(f"behind_{r}", {**after, **{z[a]: -a for a in z}}, upper=0)
        model.add_row(f"one_{r}", dict.fromkeys(z.values(), 1), lower=1, upper=1)
    for d in dates:
        due = _stages((p for p in jobs if p.due is not None and p.due <= d), x)
        room = {z[a]: -max(0, d - a) for a in z}
        model.add_row(f"due_{r}_{d}", {**due, **room}, upper=0 if z else d)
    return z


def _add_after(model: LinearModel, data: CompositionData, x: Uses, r: int) -> None:
    """Add the row after_r."""
    ending = [p for p in data.placements if p.last_run == r and not p.interior]
    most = data.most_stages_from(r)
    slack = {i: most - p.limit for p in ending if p.limit is not None and p.limit < most for i in x[p.name]}
    if slack:
        stages = _stages((p for p in data.placements if p.first_run >= r), x)
        model.add_row(f"after_{r}", {**stages, **slack}, upper=most)
