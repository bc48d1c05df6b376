"""A composition problem as arrays: what the exact dynamic program computes with.

Nothing is lost on the way: an option that is left out cannot stand anywhere, or another one is at least as good in
every respect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tangram_opt.composition.objective import (
    is_by_period,
    iteration_of_parts_ns,
    option_caps,
    own_slowest_ns,
    whole_period_ns,
)
from tangram_opt.composition.placement import depth_limit, positions
from tangram_opt.composition.ports import merge_ports
from tangram_opt.data.composition import CompositionProblem, SignatureRun
from tangram_opt.errors import InputError

Ints = NDArray[np.int64]

IMPOSSIBLE: Final = 1 << 60
"""More than any iteration time, and small enough that four of them can be added in 64 bits."""

LONGEST_NS: Final = 1 << 58
"""Iteration times of accepted problems stay below this."""

_COLUMNS: Final = (
    *("option", "island", "slice", "entry", "exit", "length", "stages", "limit"),
    *("sum_ns", "bottleneck_ns", "sync_ns", "swap_group", "front_ns", "back_ns", "time_ns", "hop_ns", "cap"),
)


@dataclass(frozen=True)
class OptionTable:
    """Options as columns, and the model and islands that they compete for.

    Attributes
    ----------
    option : array of int, shape (options,)
        Index in the problem; all columns below have the same shape.
    island, slice, entry, exit : array of int
        Indices of the island class, of the distinct slice, and of the merged entry and exit port.
    length, stages : array of int
        Atoms and pipeline stages.
    limit : array of int
        Most stages that may come after it, at most `depth`.
    sum_ns, bottleneck_ns, sync_ns : array of int
        Its share of the three parts of the objective: the bottleneck is its slowest stage, or its own period.
    front_ns, back_ns : array of int, shape (options, deepest)
        Times of its first, and of its last 1, 2, ... stages with both ways between them, -IMPOSSIBLE beyond its
        stages: what the period needs to know. No columns where the objective is the closed form.
    time_ns, hop_ns, cap : array of int, shape (options, deepest)
        Where depths are chosen, time of its last, last but one, ... stage, both ways over the boundary behind that
        inside the option, and the most micro-batches that it may keep in flight. No columns where they are not.
    first_atom, first_atom_start : array of int
        Atoms at which slices can start, slice by slice, and where those of each slice begin.
    swap_group : array of int
        Slices of equal atoms with equal ports: neighbours of one group can change places at no cost. -1 for none.
    round_trip_ns : array of int, shape (exit ports, entry ports + 1)
        Both ways over the boundary; the last column stands for the end of the pipeline and costs nothing.
    count, required : array of int, shape (classes,)
        Islands of each class, at most one per atom, and 1 where one of them must be used.
    atoms : int
        Atoms of the model.
    depth : int
        Stage counts from here on are alike: every limit that ends at all ends below it.
    micro_batches : int
        Micro-batches per iteration.
    problem : CompositionProblem
        Where it comes from.
    """

    option: Ints
    island: Ints
    slice: Ints
    entry: Ints
    exit: Ints
    length: Ints
    stages: Ints
    limit: Ints
    sum_ns: Ints
    bottleneck_ns: Ints
    sync_ns: Ints
    first_atom: Ints
    first_atom_start: Ints
    swap_group: Ints
    front_ns: Ints
    back_ns: Ints
    time_ns: Ints
    hop_ns: Ints
    cap: Ints
    round_trip_ns: Ints
    count: Ints
    required: Ints
    atoms: int
    depth: int
    micro_batches: int
    problem: CompositionProblem

    @property
    def by_period(self) -> bool:
        """Whether the slowest part of the objective is the period, and not just the slowest stage."""
        return bool(self.front_ns.shape[1])

    @property
    def chooses_depths(self) -> bool:
        """Whether stages may keep more micro-batches in flight than 1F1B does."""
        return bool(self.cap.shape[1])

    def slowest_ns(self, rows: Sequence[int]) -> int:
        """Slowest part of the objective of options in a row: the slowest stage, or the period."""
        if not self.by_period:
            return int(self.bottleneck_ns[list(rows)].max())
        options = [self.problem.options[self.option[row]] for row in rows]
        between = [int(self.round_trip_ns[self.exit[a], self.entry[b]]) // 2 for a, b in pairwise(rows)]
        times = [stage.time_ns for option in options for stage in option.stages]
        transfers = [
            time
            for option, link in zip(options, [*between, None], strict=True)
            for time in (*option.inner_transfers_ns, *(() if link is None else (link,)))
        ]
        caps = [cap for option in options for cap in option_caps(self.problem, option)] if self.chooses_depths else None
        return whole_period_ns(times, transfers, caps)

    def keep(self, rows: Ints) -> OptionTable:
        """Keep some rows only, in the given order."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _COLUMNS})

    def objective_ns(self, bottleneck_ns: int, sum_ns: int, sync_ns: int) -> int:
        """Iteration time, or a bound on it, by its parts."""
        return iteration_of_parts_ns(self.micro_batches, bottleneck_ns, sum_ns, sync_ns)


def option_table(problem: CompositionProblem) -> OptionTable:
    """Lay a problem out in arrays.

    Parameters
    ----------
    problem : CompositionProblem
        The problem.

    Returns
    -------
    OptionTable
        Options that can stand somewhere, without those that another one dominates.

    Raises
    ------
    InputError
        Times are so long that sums of them do not fit 64-bit integers.
    """
    slices: dict[tuple[SignatureRun, ...], int] = {}
    first_atoms: list[tuple[int, ...]] = []
    uniform: list[int] = []
    signatures = {signature: i for i, signature in enumerate(dict.fromkeys(problem.signatures))}
    rows = []
    by_period = is_by_period(problem)
    for index, option in enumerate(problem.options):
        if option.atoms not in slices:
            slices[option.atoms] = len(slices)
            first_atoms.append(positions(problem, option))
            kinds = {run.signature for run in option.atoms}
            uniform.append(signatures.get(kinds.pop(), -1) if len(kinds) == 1 else -1)
        piece, island = slices[option.atoms], problem.class_index[option.island]
        limit = depth_limit(option, problem.islands[island], problem.micro_batches)
        if not first_atoms[piece] or (limit is not None and limit < 0):
            continue
        rows.append(
            (
                index,
                island,
                piece,
                problem.port_index[option.entry_port],
                problem.port_index[option.exit_port],
                option.length,
                len(option.stages),
                problem.length if limit is None else min(limit, problem.length),
                option.sum_ns,
                own_slowest_ns(problem, option) if by_period else option.bottleneck_ns,
                option.sync_ns,
                uniform[piece],
            )
        )
    _check_range(problem)
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), 12).T
    option_, island_, slice_, entry, exit_, length, stages, limit_, sum_ns, bottleneck_ns, sync_ns, kind = columns
    front_ns, back_ns = _stretches(problem, option_.tolist() if by_period else [])
    count = np.array([min(island.count, problem.length) for island in problem.islands], dtype=np.int64)
    entry, exit_, one_way = merge_ports(problem, island_, entry, exit_, count)
    round_trip = np.where(one_way < 0, IMPOSSIBLE, 2 * one_way)
    most = _most_stages(island_, stages, count, problem.length)
    ending = limit_[limit_ < most]
    chosen = by_period and problem.depths == "chosen"
    depth = int(ending.max()) + 1 if ending.size else 0
    if chosen:  # What a stage may keep beyond 1F1B depends on how many stages are behind it, down to the last one.
        depth = most + 1
    time_ns, hop_ns, cap = _stage_by_stage(problem, option_.tolist() if chosen else [], len(rows))
    ports = len(one_way) * (one_way.shape[1] + 1)
    table = OptionTable(
        option=option_,
        island=island_,
        slice=slice_,
        entry=entry,
        exit=exit_,
        length=length,
        stages=stages,
        limit=np.minimum(limit_, depth),
        sum_ns=sum_ns,
        bottleneck_ns=bottleneck_ns,
        sync_ns=sync_ns,
        first_atom=np.array([first for places in first_atoms for first in places], dtype=np.int64),
        first_atom_start=np.cumsum([0, *map(len, first_atoms)]),
        # The period depends on the order of options, even where nothing else does.
        swap_group=np.where((kind < 0) | by_period, -1, kind * ports + exit_ * one_way.shape[1] + entry),
        front_ns=front_ns if by_period else np.empty((len(rows), 0), dtype=np.int64),
        back_ns=back_ns if by_period else np.empty((len(rows), 0), dtype=np.int64),
        time_ns=time_ns,
        hop_ns=hop_ns,
        cap=cap,
        round_trip_ns=np.hstack([round_trip, np.zeros((len(round_trip), 1), dtype=np.int64)]),
        count=count,
        required=np.array([int(island.name in problem.required) for island in problem.islands], dtype=np.int64),
        atoms=problem.length,
        depth=depth,
        micro_batches=problem.micro_batches,
        problem=problem,
    )
    # Where the period counts, options are compared later, for a given period; where each pass counts, stage by stage.
    later = by_period or problem.objective == "simulated"
    return table if later else table.keep(undominated(table, (sum_ns, bottleneck_ns, sync_ns)))


def undominated(table: OptionTable, costs: tuple[Ints, ...]) -> Ints:
    """Find the rows that no other row can replace.

    Parameters
    ----------
    table : OptionTable
        The options.
    costs : tuple of array of int, shape (options,)
        What counts as cost; fewer stages and a larger limit are better too.

    Returns
    -------
    array of int
        Rows in increasing order. Of equal rows one is kept.
    """
    criteria = np.stack([*costs, table.stages, -table.limit])
    ports = table.round_trip_ns.shape
    group = ((table.island * len(table.first_atom_start) + table.slice) * ports[0] + table.exit) * ports[
        1
    ] + table.entry
    order = np.lexsort((*criteria[::-1], group))
    group, criteria = group[order], criteria[:, order]
    kept = np.ones(len(order), dtype=bool)
    # In this order a row can only be dominated by one before it in its group.
    for step in range(1, len(order)):
        same = group[step:] == group[:-step]
        if not same.any():
            break
        kept[step:] &= ~(same & (criteria[:, :-step] <= criteria[:, step:]).all(axis=0))
    return np.sort(order[kept])


def _stretches(problem: CompositionProblem, options: Sequence[int]) -> tuple[Ints, Ints]:
    """Times of the first and of the last stages of options, see :class:`OptionTable`."""
    deepest = max((len(problem.options[index].stages) for index in options), default=0)
    front = np.full((len(options), deepest), -IMPOSSIBLE, dtype=np.int64)
    back = front.copy()
    for row, index in enumerate(options):
        option = problem.options[index]
        times = [stage.time_ns for stage in option.stages]
        both_ways = [2 * time for time in option.inner_transfers_ns]
        front[row, : len(times)] = list(accumulate(map(sum, zip(times, [0, *both_ways], strict=True))))
        back[row, : len(times)] = list(accumulate(map(sum, zip(times[::-1], [0, *both_ways[::-1]], strict=True))))
    return front, back


def _stage_by_stage(problem: CompositionProblem, options: Sequence[int], rows: int) -> tuple[Ints, Ints, Ints]:
    """Times, inner boundaries and caps of options from the back, see :class:`OptionTable`."""
    deepest = max((len(problem.options[index].stages) for index in options), default=0)
    time, hop = np.zeros((rows, deepest), dtype=np.int64), np.zeros((rows, deepest), dtype=np.int64)
    cap = np.full((rows, deepest), IMPOSSIBLE, dtype=np.int64)
    for row, index in enumerate(options):
        option = problem.options[index]
        stages = len(option.stages)
        time[row, :stages] = [stage.time_ns for stage in reversed(option.stages)]
        hop[row, 1:stages] = [2 * time for time in reversed(option.inner_transfers_ns)]
        cap[row, :stages] = [IMPOSSIBLE if most is None else most for most in reversed(option_caps(problem, option))]
    return time, hop, cap


def _check_range(problem: CompositionProblem) -> None:
    longest = max((option.sum_ns for option in problem.options), default=0)
    transfer = max((max(row) for row in problem.transfer_ns), default=0)
    sync = max((option.sync_ns for option in problem.options), default=0)
    bottleneck = max((option.bottleneck_ns for option in problem.options), default=0)
    if problem.objective == "period":
        inner = max((time for option in problem.options for time in option.inner_transfers_ns), default=0)
        bottleneck += 2 * max(transfer, inner)
    total = iteration_of_parts_ns(problem.micro_batches, bottleneck, problem.length * (longest + 2 * transfer), sync)
    if total >= LONGEST_NS:
        raise InputError(
            f"problem {problem.name!r}: an iteration could take {total} ns, expected less than {LONGEST_NS} ns (2^58)"
        )


def _most_stages(island: Ints, stages: Ints, count: Ints, atoms: int) -> int:
    most = np.zeros(len(count), dtype=np.int64)
    np.maximum.at(most, island, stages)
    return min(int((most * np.minimum(count, atoms)).sum()), atoms)
