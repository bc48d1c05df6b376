"""A composition problem prepared for formulations: placements instead of options, and nothing that cannot matter.

Only options that could be part of a best composition are placed (:mod:`formulations.composition_placements`): of
options of one class with the same slice and ports, those that another one matches or beats in every respect are left
out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import le
from typing import Final

from formulations.composition_placements import Placement, merged_runs, placements
from tangram_opt.composition import evaluate
from tangram_opt.composition.objective import is_by_period, largest_slowest_ns, option_caps, own_slowest_ns
from tangram_opt.composition.potentials import potential
from tangram_opt.data.composition import Composition, CompositionProblem, SignatureRun

UNLIMITED: Final = 1 << 62
"""Stands for no limit where limits are compared."""


@dataclass(frozen=True, slots=True)
class StageLimits:
    """What the choice of depths needs to know of a stage.

    Attributes
    ----------
    time_ns : int
        Forward and backward time of one micro-batch.
    behind_ns : int
        Both ways over the boundary behind it inside the option; 0 for the last one.
    cap : int or None
        The most micro-batches that it may keep in flight; None where memory holds all of them.
    """

    time_ns: int
    behind_ns: int
    cap: int | None


@dataclass(frozen=True)
class CompositionData:
    """What formulations are built from.

    Attributes
    ----------
    problem : CompositionProblem
        Where it comes from.
    runs : tuple of SignatureRun
        The model, neighbouring runs unequal.
    counts : tuple of int
        Islands of each class.
    required : tuple of int
        Classes of which an island must be used.
    placements : tuple of Placement
        All that can matter.
    stand_in : mapping of int to int
        For each option that fits somewhere the one that is placed for it: itself, or one at least as good.
    round_trip_ns : tuple of tuple of int
        ``round_trip_ns[exit][entry]``: both ways over a boundary, by merged ports.
    most_stages : int
        No composition has more stages.
    by_period : bool
        Whether the slowest part of the objective is the period, and not just the slowest stage.
    period_ns : int or None
        The period that has to be kept, where one is given.
    constrained : bool
        Whether users may add constraints to the models.
    """

    problem: CompositionProblem
    runs: tuple[SignatureRun, ...]
    counts: tuple[int, ...]
    required: tuple[int, ...]
    placements: tuple[Placement, ...]
    stand_in: Mapping[int, int]
    round_trip_ns: tuple[tuple[int, ...], ...]
    most_stages: int
    by_period: bool = False
    period_ns: int | None = None
    constrained: bool = False

    @property
    def micro_batches(self) -> int:
        """Micro-batches per iteration, n."""
        return self.problem.micro_batches

    @cached_property
    def uniform_round_trip_ns(self) -> int | None:
        """Both ways over a boundary where all boundaries cost the same; None where they do not."""
        costs = {self.round_trip_ns[p][q] for p, q in self.meetings}
        return None if len(costs) > 1 else max(costs, default=0)

    @cached_property
    def meetings(self) -> frozenset[tuple[int, int]]:
        """Pairs of an exit and an entry port that can meet at a boundary."""
        return frozenset(_meetings(self.placements, self.counts))

    @property
    def impossible(self) -> bool:
        """Whether the placements cannot cover the model or use a required class, whatever is chosen."""
        covered = {a for p in self.placements for a in range(p.first_atoms[0], p.first_atoms[-1] + p.length)}
        return len(covered) < self.problem.length or not {*self.required} <= {p.island for p in self.placements}

    def most_stages_from(self, run: int) -> int:
        """Most stages that the atoms from the beginning of a run on can have."""
        return min(self.most_stages, sum(each.count for each in self.runs[run:]))

    @cached_property
    def _places(self) -> Mapping[int, tuple[Placement, ...]]:
        places: defaultdict[int, tuple[Placement, ...]] = defaultdict(tuple)
        for p in self.placements:
            places[p.option] += (p,)
        return places

    def placements_of(self, composition: Composition) -> list[Placement]:
        """Placements of a composition of the problem, front to back, stand-ins in place of options left out."""
        return [
            next(p for p in self._places[self.stand_in[pick.option]] if pick.first_atom in p.first_atoms)
            for pick in composition.picks
        ]

    def slowest_ns(self, composition: Composition) -> int:
        """Slowest part of the objective of a composition: its slowest stage, or its period."""
        return evaluate(self.problem, composition).slowest_ns

    def largest_slowest_ns(self) -> int:
        """Bound the slowest part from above: a stretch takes, per stage, at most an option alone and a boundary."""
        slowest = max((p.bottleneck_ns for p in self.placements), default=0)
        if self.chooses_depths:  # Alone an option may run ahead further than in front of others.
            slowest = largest_slowest_ns(self.problem.options[p.option] for p in self.placements)
        boundary = max((max(row, default=0) for row in self.round_trip_ns), default=0) if self.by_period else 0
        return slowest + boundary

    @property
    def chooses_depths(self) -> bool:
        """Whether stages may keep more micro-batches in flight than 1F1B does."""
        return self.problem.depths == "chosen"

    @property
    def longest_boundary_ns(self) -> int:
        """Both ways over the slowest boundary, between options or inside one."""
        inner = (2 * time for p in self.placements for time in self.problem.options[p.option].inner_transfers_ns)
        return max(max(inner, default=0), max((max(row, default=0) for row in self.round_trip_ns), default=0))

    def stage_limits(self, p: Placement) -> tuple[StageLimits, ...]:
        """Stages of a placement, front to back."""
        option = self.problem.options[p.option]
        behind = (*(2 * time for time in option.inner_transfers_ns), 0)
        caps = option_caps(self.problem, option)
        return tuple(
            StageLimits(stage.time_ns, both_ways, cap)
            for stage, both_ways, cap in zip(option.stages, behind, caps, strict=True)
        )

    @property
    def kept_period_ns(self) -> int:
        """The period that has to be kept."""
        if self.period_ns is None:
            raise ValueError("no period has to be kept")
        return self.period_ns

    def potential(self, p: Placement) -> tuple[int, int, int]:
        """Head, tail and through of a placement for the period to keep, see :mod:`.composition.potentials`."""
        return potential(self.problem.options[p.option], self.kept_period_ns)

    def within(self, slowest_ns: int) -> CompositionData:
        """Keep what can matter where the slowest part is within a limit, and costs nothing.

        Where users may add constraints, what is beaten within this limit alone stays.
        """
        kept = [p for p in self.placements if p.bottleneck_ns <= slowest_ns]
        if not self.by_period:
            return _reduced(self, kept, _respects if self.constrained else _respects_but_slowest)
        limited = replace(self, period_ns=slowest_ns)
        respects = limited.respects_of_stages if self.chooses_depths or self.constrained else limited.potential
        return _reduced(limited, kept, lambda p: (*_respects_but_slowest(p), *respects(p)))

    def respects_of_stages(self, p: Placement) -> tuple[int, ...]:
        """What should be small whatever the period and depths: stage by stage, in options of equally many stages."""
        stages = [
            (stage.time_ns, stage.behind_ns, -UNLIMITED if stage.cap is None else -stage.cap)
            for stage in self.stage_limits(p)
        ]
        # A longer tuple is never beaten by a shorter one, as its number of stages comes first.
        return (-p.stages, *(value for stage in stages for value in stage))


def composition_data(problem: CompositionProblem) -> CompositionData:
    """Prepare a problem.

    Parameters
    ----------
    problem : CompositionProblem
        The problem.

    Returns
    -------
    CompositionData
        Of the same optimum; every optimal composition of it is one of the problem.
    """
    runs = merged_runs(problem.atoms)
    counts = tuple(min(island.count, problem.length) for island in problem.islands)
    most_stages = _most_stages(problem, counts)
    by_period = is_by_period(problem)
    slices: dict[tuple[SignatureRun, ...], int] = {}
    placed: list[Placement] = []
    for index, option in enumerate(problem.options):
        pieces = merged_runs(option.atoms)
        number = slices.setdefault(pieces, len(slices))
        slowest_ns = own_slowest_ns(problem, option) if by_period else option.bottleneck_ns
        placed += placements(problem, runs, counts, most_stages, index, pieces, number, slowest_ns)
    whole = CompositionData(
        problem=problem,
        runs=runs,
        counts=counts,
        required=tuple(sorted({problem.class_index[name] for name in problem.required})),
        placements=(),
        stand_in={p.option: p.option for p in placed},
        round_trip_ns=tuple(tuple(2 * time for time in row) for row in problem.transfer_ns),
        most_stages=most_stages,
        by_period=by_period,
    )
    # Where the period counts, options are compared later, for a given period.
    return _reduced(whole, placed, (lambda p: (p.option, -p.option)) if by_period else _respects)


def _reduced(
    data: CompositionData, placed: Sequence[Placement], respects: Callable[[Placement], tuple[int, ...]]
) -> CompositionData:
    """Keep some placements of a problem only, and of these, what can matter: merge ports and drop the dominated."""
    entry, exit_, round_trip_ns = _merge_ports(data, placed)
    merged = [(p, entry[p.entry], exit_[p.exit]) for p in placed]
    placed = [p if (p.entry, p.exit) == (e, x) else replace(p, entry=e, exit=x) for p, e, x in merged]
    stand_in = _stand_ins(placed, respects)
    return replace(
        data,
        placements=tuple(p for p in placed if stand_in[p.option] == p.option),
        stand_in={option: stand_in[other] for option, other in data.stand_in.items() if other in stand_in},
        round_trip_ns=round_trip_ns,
    )


def _most_stages(problem: CompositionProblem, counts: Sequence[int]) -> int:
    deepest = [0] * len(counts)
    for option in problem.options:
        island = problem.class_index[option.island]
        deepest[island] = max(deepest[island], len(option.stages))
    return min(problem.length, sum(count * deep for count, deep in zip(counts, deepest, strict=True)))


def _stand_ins(placed: Iterable[Placement], respects: Callable[[Placement], tuple[int, ...]]) -> dict[int, int]:
    """For each placed option the best one that can stand in for it."""
    groups: defaultdict[tuple[int, ...], dict[int, tuple[int, ...]]] = defaultdict(dict)
    for p in placed:
        groups[p.island, p.slice, p.entry, p.exit][p.option] = respects(p)
    stand_in = {}
    for group in groups.values():
        kept: list[tuple[int, tuple[int, ...]]] = []
        # In this order an option can be beaten only by one before it.
        for values, option in sorted((values, option) for option, values in group.items()):
            better = next((o for o, v in kept if all(map(le, v, values))), option)
            stand_in[option] = better
            if better == option:
                kept.append((option, values))
    return stand_in


def _respects(p: Placement) -> tuple[int, ...]:
    """What should be small."""
    return (*_respects_but_slowest(p), p.bottleneck_ns)


def _respects_but_slowest(p: Placement) -> tuple[int, ...]:
    return (p.sum_ns, p.sync_ns, p.stages, -(UNLIMITED if p.limit is None else p.limit))


def _meetings(placed: Iterable[Placement], counts: Sequence[int]) -> set[tuple[int, int]]:
    """Pairs of an exit and an entry port that two placements can bring together.

    One placement must be able to end at an atom where the other can begin, and they must not both need the only
    island of a class.
    """
    ends: defaultdict[tuple[int, int], int] = defaultdict(int)
    begins: defaultdict[tuple[int, int], int] = defaultdict(int)
    for p in placed:
        atoms = ((1 << len(p.first_atoms)) - 1) << p.first_atoms.start  # a set of atoms as bits
        begins[p.entry, p.island] |= atoms
        ends[p.exit, p.island] |= atoms << p.length
    return {
        (exit_, entry)
        for (exit_, front), ending in ends.items()
        for (entry, back), beginning in begins.items()
        if ending & beginning and (front != back or counts[front] > 1)
    }


def _merge_ports(
    data: CompositionData, placed: Sequence[Placement]
) -> tuple[dict[int, int], dict[int, int], tuple[tuple[int, ...], ...]]:
    """Make one port of those whose transfer times agree wherever they can meet another port."""
    meet = _meetings(placed, data.counts)
    times = [
        [time if (x, e) in meet else None for e, time in enumerate(row)] for x, row in enumerate(data.round_trip_ns)
    ]
    exit_, rows = _merge_rows(times)
    entry, columns = _merge_rows([list(column) for column in zip(*rows, strict=True)])
    round_trip_ns = tuple(tuple(time or 0 for time in row) for row in zip(*columns, strict=True))
    return entry, exit_, round_trip_ns


def _merge_rows(rows: Sequence[Sequence[int | None]]) -> tuple[dict[int, int], list[list[int | None]]]:
    merged: list[list[int | None]] = []
    place: dict[int, int] = {}
    for index, row in enumerate(rows):
        for target, other in enumerate(merged):
            if all(a is None or b is None or a == b for a, b in zip(row, other, strict=True)):
                merged[target] = [b if a is None else a for a, b in zip(row, other, strict=True)]
                place[index] = target
                break
        else:
            place[index] = len(merged)
            merged.append(list(row))
    return place, merged
