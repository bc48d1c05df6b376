"""The positioned arc flow of :mod:`formulations.composition_arc_flow` in linear rows, for MILP solvers.

Sets, data, variables, objective and constraints (1) to (8) are those of that module, over the placements of
:mod:`formulations.composition_data` in all their places. The implications become linear with B, the most stages that
can be behind a boundary:
    (9)  stages_p   after_i >= after_(i + len) + S_o - (B + S_o) (1 - use_p);  after_L = 0
    (10) depth_b    after_b <= D_o + B (1 - use_p) for all p that end at b, added up: at most one of them is used, so
                    after_b + sum over P-(b) of (B - D_o) use_p <= B

Exact for every problem.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from formulations.composition_data import CompositionData
from formulations.composition_depths import DepthRows
from formulations.composition_period import PeriodRows, Use
from formulations.composition_placements import Placement
from formulations.linear import LinearModel
from tangram_opt.composition.answer import placed
from tangram_opt.data.composition import Composition


def not_exact(data: CompositionData) -> str | None:  # noqa: ARG001 (the same question for all formulations)
    """It applies to every problem."""
    return None


def places(data: CompositionData) -> int:
    """Count the places of placements: the size of the model."""
    return sum(len(p.first_atoms) for p in data.placements)


@dataclass(frozen=True)
class ArcFlowMilp:
    """The model of a problem, and the way to compositions and back.

    Attributes
    ----------
    data : CompositionData
        The problem.
    linear : LinearModel
        The model.
    use : mapping of (Placement, int) to int
        Variables of placements by their first atom.
    link : mapping of (int, int, int) to int
        Variables by boundary, merged exit port and merged entry port.
    after : tuple of int
        Variables by boundary.
    sync, slowest : int
        Variables Y and M; the slowest stage may be free.
    """

    data: CompositionData
    linear: LinearModel
    use: Mapping[tuple[Placement, int], int]
    link: Mapping[tuple[int, int, int], int]
    after: tuple[int, ...]
    sync: int
    slowest: int | None = None

    def decode(self, values: Sequence[int]) -> Composition:
        """Order what is used by first atoms."""
        used = sorted((first, p.option) for (p, first), index in self.use.items() if values[index])
        return placed(self.data.problem, (option for _, option in used))

    def encode(self, composition: Composition) -> list[int]:
        """Write a composition, with better stand-ins for options that are not placed, as a solution."""
        values = [0] * len(self.linear.variables)
        used = self.data.placements_of(composition)
        firsts = [pick.first_atom for pick in composition.picks]
        for (front, back), first in zip(pairwise(used), firsts[1:], strict=True):
            values[self.link[first, front.exit, back.entry]] = 1
        stages = 0
        for p, first in zip(reversed(used), reversed(firsts), strict=True):
            values[self.use[p, first]] = 1
            stages += p.stages
            values[self.after[first]] = stages
        if self.slowest is not None:
            values[self.slowest] = max(p.bottleneck_ns for p in used)
        values[self.sync] = max(p.sync_ns for p in used)
        return values


def arc_flow(data: CompositionData) -> ArcFlowMilp:
    """Build the model of a problem.

    Parameters
    ----------
    data : CompositionData
        The problem.

    Returns
    -------
    ArcFlowMilp
        The model.
    """
    flow = arc_flow_without_slowest(data)
    values = [p.bottleneck_ns for p in data.placements]
    weight = data.micro_batches - 1
    slowest = flow.linear.add_maximum("slowest", min(values, default=0), max(values, default=0), weight)
    for atom, holding in _holding(flow.use).items():
        times = {index: p.bottleneck_ns for p, index in holding}
        flow.linear.add_row(f"slowest_{atom}", {**times, slowest: -1}, upper=0)  # (7)
    return replace(flow, slowest=slowest)


def arc_flow_without_slowest(data: CompositionData) -> ArcFlowMilp:
    """Build the model without M: the slowest stage is free, for whoever limits it by leaving placements out."""
    model = LinearModel()
    atoms, most = data.problem.length, data.most_stages
    use = {
        (p, first): model.add_binary(f"use_{p.option}_{first}", p.sum_ns)
        for p in data.placements
        for first in p.first_atoms
    }
    begin: defaultdict[int, list[tuple[Placement, int]]] = defaultdict(list)
    end: defaultdict[int, list[tuple[Placement, int]]] = defaultdict(list)
    for (p, first), index in use.items():
        begin[first].append((p, index))
        end[first + p.length].append((p, index))
    link = {
        (b, x, e): model.add_binary(f"link_{b}_{x}_{e}", data.round_trip_ns[x][e])
        for b in range(1, atoms)
        for x in sorted({p.exit for p, _ in end[b]})
        for e in sorted({p.entry for p, _ in begin[b]})
    }
    after = tuple(model.add_variable(f"after_{b}", 0, min(most, atoms - b)) for b in range(atoms + 1))
    syncs = [p.sync_ns for p in data.placements]
    sync = model.add_maximum("sync", min(syncs, default=0), max(syncs, default=0), 1)

    model.add_row("first", {index: 1 for _, index in begin[0]}, lower=1, upper=1)  # (1)
    model.add_row("last", {index: 1 for _, index in end[atoms]}, lower=1, upper=1)  # (2)
    for b in range(1, atoms):
        for x in sorted({p.exit for p, _ in end[b]}):  # (3)
            leaving = {index: 1 for p, index in end[b] if p.exit == x}
            joints = {index: -1 for (at, port, _), index in link.items() if (at, port) == (b, x)}
            model.add_row(f"exit_{b}_{x}", {**leaving, **joints}, lower=0, upper=0)
        for e in sorted({p.entry for p, _ in begin[b]}):  # (4)
            arriving = {index: 1 for p, index in begin[b] if p.entry == e}
            joints = {index: -1 for (at, _, port), index in link.items() if (at, port) == (b, e)}
            model.add_row(f"entry_{b}_{e}", {**arriving, **joints}, lower=0, upper=0)
        # Where nothing begins or nothing ends there are no joints, and the rows above forbid the other side.
    for k, count in enumerate(data.counts):
        used = {index: 1 for (p, _), index in use.items() if p.island == k}
        model.add_row(f"islands_{k}", used, upper=count)  # (5)
        if k in data.required:
            model.add_row(f"required_{k}", used, lower=1)  # (6)
    for atom, holding in _holding(use).items():
        waits = {index: p.sync_ns for p, index in holding}
        model.add_row(f"sync_{atom}", {**waits, sync: -1}, upper=0)  # (8)
    for (p, first), index in use.items():  # (9)
        rise = {after[first]: 1, after[first + p.length]: -1, index: -(most + p.stages)}
        model.add_row(f"stages_{p.option}_{first}", rise, lower=-most)
    for b in range(1, atoms):  # (10)
        excess = {index: most - p.limit for p, index in end[b] if p.limit is not None}
        if excess:
            model.add_row(f"depth_{b}", {after[b]: 1, **excess}, upper=most)
    if data.period_ns is not None:
        _add_period(model, data, use, link, after)
    return ArcFlowMilp(data, model, use, link, after, sync)


def _add_period(
    model: LinearModel,
    data: CompositionData,
    use: Mapping[tuple[Placement, int], int],
    link: Mapping[tuple[int, int, int], int],
    after: Sequence[int],
) -> None:
    """Add the rows of :mod:`formulations.composition_period`, or of :mod:`formulations.composition_depths`."""
    between: defaultdict[tuple[int, int], list[Use]] = defaultdict(list)
    starts: dict[str, list[Use]] = {f"{b}": [] for b in range(data.problem.length)}
    ends: defaultdict[int, list[Use]] = defaultdict(list)
    for (p, first), index in use.items():
        starts[f"{first}"].append((p, index))
        between[first, first + p.length].append((p, index))
        ends[first + p.length].append((p, index))
    times: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for (b, x, e), index in link.items():
        times[b][index] = data.round_trip_ns[x][e]
    if data.chooses_depths:
        behind = {b: {after[int(b)]: 1} | {index: -p.stages for p, index in uses} for b, uses in starts.items()}
        depths = DepthRows(model, data, starts, behind)
        for (b, e), uses in between.items():
            if e < data.problem.length:
                depths.add_in(f"{b}_{e}", f"{b}", f"{e}", [index for _, index in uses], times[e])
        return
    rows = PeriodRows(model, data, starts)
    margin = max((-tail for _, tail, _ in rows.excess.values()), default=0)
    for (b, e), uses in between.items():
        if e < data.problem.length:
            rows.add_through(f"{b}", f"{e}", uses, [index for _, index in uses], times[e], margin)
    for e, uses in ends.items():
        if e < data.problem.length:
            rows.add_tail(f"{e}", f"{e}", uses, times[e])


def _holding(use: Mapping[tuple[Placement, int], int]) -> dict[int, list[tuple[Placement, int]]]:
    """For each atom the placements whose slices hold it, with their variables."""
    holding: defaultdict[int, list[tuple[Placement, int]]] = defaultdict(list)
    for (p, first), index in use.items():
        for atom in range(first, first + p.length):
            holding[atom].append((p, index))
    return holding
