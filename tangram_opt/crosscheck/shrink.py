"""Make a problem as small as it gets while something stays true of it (delta debugging, Zeller 1999).

Every step makes a problem smaller in some respect and larger in none, so shrinking ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from tangram_opt.backend import Problem
from tangram_opt.data.cluster import Cluster, MatrixNetwork, TierNetwork
from tangram_opt.data.composition import CompositionProblem, Option, SignatureRun, Stage
from tangram_opt.data.island import IslandsProblem

ItemT = TypeVar("ItemT")
Step = Callable[[Any], Iterator[Problem]]


def shrink(problem: Problem, remains: Callable[[Problem], bool], seconds: float) -> Problem:
    """Simplify a problem step by step.

    Parameters
    ----------
    problem : IslandsProblem or CompositionProblem
        What to start from.
    remains : callable
        Whether a simpler problem still has what makes it interesting.
    seconds : float
        Time after which the best so far will do.

    Returns
    -------
    IslandsProblem or CompositionProblem
        Of which `remains` is true, or the problem itself. Unless time ran out, it is true of no problem that is one
        step simpler.
    """
    deadline = time.monotonic() + seconds
    steps = _ISLANDS_STEPS if isinstance(problem, IslandsProblem) else _COMPOSITION_STEPS
    improved = True
    while improved:
        improved = False
        for step in steps:
            simpler = _first(step(problem), remains, deadline)
            while simpler is not None:
                problem, improved = simpler, True
                simpler = _first(step(problem), remains, deadline)
    return problem


def _first(candidates: Iterable[Problem], remains: Callable[[Problem], bool], deadline: float) -> Problem | None:
    for candidate in candidates:
        if time.monotonic() >= deadline:
            return None
        if remains(candidate):
            return candidate
    return None


def _fewer_nodes(problem: IslandsProblem) -> Iterator[IslandsProblem]:
    for kept in _without_some(range(len(problem.cluster.nodes))):
        if kept:
            yield replace(problem, cluster=subcluster(problem.cluster, kept))


def _plainer_tolerances(problem: IslandsProblem) -> Iterator[IslandsProblem]:
    for plainer in ({"network": 0.0}, {"fast_link_bytes_per_s": None}):
        tolerances = replace(problem.tolerances, **plainer)
        if tolerances != problem.tolerances:
            yield replace(problem, tolerances=tolerances)


def subcluster(cluster: Cluster, kept: Sequence[int]) -> Cluster:
    """Keep some nodes of a cluster, by index, and the network between them."""
    network = cluster.network
    if isinstance(network, MatrixNetwork):
        rows = network.matrix_bytes_per_s
        smaller: MatrixNetwork | TierNetwork = MatrixNetwork(tuple(tuple(rows[i][j] for j in kept) for i in kept))
    else:
        smaller = replace(network, positions=tuple(network.positions[i] for i in kept))
    return replace(cluster, nodes=tuple(cluster.nodes[i] for i in kept), network=smaller)


def _fewer_options(problem: CompositionProblem) -> Iterator[CompositionProblem]:
    for kept in _without_some(problem.options):
        yield replace(problem, options=kept)


def _fewer_classes(problem: CompositionProblem) -> Iterator[CompositionProblem]:
    for gone in problem.islands if len(problem.islands) > 1 else ():
        yield replace(
            problem,
            islands=tuple(island for island in problem.islands if island is not gone),
            options=tuple(option for option in problem.options if option.island != gone.name),
            required=tuple(name for name in problem.required if name != gone.name),
        )


def _fewer_required(problem: CompositionProblem) -> Iterator[CompositionProblem]:
    for kept in _without_some(problem.required):
        yield replace(problem, required=kept)


def _fewer_islands(problem: CompositionProblem) -> Iterator[CompositionProblem]:
    for i, island in enumerate(problem.islands):
        for count in _lower(island.count, 1):
            yield replace(problem, islands=_with(problem.islands, i, replace(island, count=count)))


def _fewer_micro_batches(problem: CompositionProblem) -> Iterator[CompositionProblem]:
    for micro_batches in _lower(problem.micro_batches, 1):
        yield replace(problem, micro_batches=micro_batches)


def _fewer_atoms(problem: CompositionProblem) -> Iterator[CompositionProblem]:
    """Take atoms from the model, alone, together with the atoms of one option, or with those of all options."""
    for r, run in enumerate(problem.atoms):
        for count in _lower(run.count, 0 if len(problem.atoms) > 1 else 1):
            model = _with_count(problem.atoms, r, count)
            yield replace(problem, atoms=model)
            shorter = [next(_shorter(each, run.signature, run.count - count), each) for each in problem.options]
            for i, option in enumerate(shorter):
                if option is not problem.options[i]:
                    yield replace(problem, atoms=model, options=_with(problem.options, i, option))
            yield replace(problem, atoms=model, options=tuple(shorter))


def _shorter(option: Option, signature: str, by: int) -> Iterator[Option]:
    """Take atoms of a signature from an option, from its longest stage."""
    longest = max(range(len(option.stages)), key=lambda s: option.stages[s].atoms)
    stage = option.stages[longest]
    if stage.atoms > by:
        for r, run in enumerate(option.atoms):
            if run.signature == signature and run.count >= by:
                stages = _with(option.stages, longest, replace(stage, atoms=stage.atoms - by))
                yield replace(option, atoms=_with_count(option.atoms, r, run.count - by), stages=stages)


def _fewer_stages(problem: CompositionProblem) -> Iterator[CompositionProblem]:
    """Drop a stage of an option; its neighbour takes its atoms over."""
    for i, option in enumerate(problem.options):
        for s in range(1, len(option.stages)):
            before, gone = option.stages[s - 1 : s + 1]
            kept = replace(before, atoms=before.atoms + gone.atoms)
            shallower = replace(
                option,
                stages=(*option.stages[: s - 1], kept, *option.stages[s + 1 :]),
                inner_transfers_ns=option.inner_transfers_ns[: s - 1] + option.inner_transfers_ns[s:],
            )
            yield replace(problem, options=_with(problem.options, i, shallower))


def _fewer_ports(problem: CompositionProblem) -> Iterator[CompositionProblem]:
    """Drop a port; options that use it use another one."""
    for gone, port in enumerate(problem.ports if len(problem.ports) > 1 else ()):
        kept = [index for index in range(len(problem.ports)) if index != gone]
        other = problem.ports[kept[0]]
        yield replace(
            problem,
            options=tuple(
                replace(
                    option,
                    entry_port=other if option.entry_port == port else option.entry_port,
                    exit_port=other if option.exit_port == port else option.exit_port,
                )
                for option in problem.options
            ),
            ports=tuple(problem.ports[index] for index in kept),
            transfer_ns=tuple(tuple(problem.transfer_ns[i][j] for j in kept) for i in kept),
        )


def _plainer_objective(problem: CompositionProblem) -> Iterator[CompositionProblem]:
    if problem.depths != "standard":
        yield replace(problem, depths="standard")
    elif problem.objective != "closed":
        yield replace(problem, objective="closed")


def _smaller_transfers(problem: CompositionProblem) -> Iterator[CompositionProblem]:
    for i, row in enumerate(problem.transfer_ns):
        for j, value in enumerate(row):
            for lower in _lower(value, 0):
                yield replace(problem, transfer_ns=_with(problem.transfer_ns, i, _with(row, j, lower)))


def _plainer_options(problem: CompositionProblem) -> Iterator[CompositionProblem]:
    for i, option in enumerate(problem.options):
        if option.max_stages_after is not None:
            yield replace(problem, options=_with(problem.options, i, replace(option, max_stages_after=None)))
        if option.strategy:
            yield replace(problem, options=_with(problem.options, i, replace(option, strategy={})))


def _smaller_everywhere(problem: CompositionProblem) -> Iterator[CompositionProblem]:
    """Divide all times, or all sizes, by one number."""
    for divisor in (1_000_000, 1_000, 10, 2):
        for fields in (_TIMES, _SIZES):
            options = tuple(
                replace(
                    option,
                    stages=tuple(_divided(stage, fields, divisor) for stage in option.stages),
                    inner_transfers_ns=tuple(
                        value // divisor if fields is _TIMES else value for value in option.inner_transfers_ns
                    ),
                )
                for option in problem.options
            )
            if not all(_may_be(problem, stage) for option in options for stage in option.stages):
                continue
            transfers, islands = problem.transfer_ns, problem.islands
            if fields is _TIMES:
                transfers = tuple(tuple(value // divisor for value in row) for row in transfers)
            else:
                islands = tuple(replace(each, memory_bytes=max(1, each.memory_bytes // divisor)) for each in islands)
            smaller = replace(problem, options=options, transfer_ns=transfers, islands=islands)
            if smaller != problem:
                yield smaller


def _smaller_stages(problem: CompositionProblem, field: str) -> Iterator[CompositionProblem]:
    for i, option in enumerate(problem.options):
        for s, stage in enumerate(option.stages):
            for lower in _lower(getattr(stage, field), 1 if field == "gpus" else 0):
                smaller = replace(stage, **{field: lower})
                if _may_be(problem, smaller):
                    stages = _with(option.stages, s, smaller)
                    yield replace(problem, options=_with(problem.options, i, replace(option, stages=stages)))


def _smaller_inner_transfers(problem: CompositionProblem) -> Iterator[CompositionProblem]:
    for i, option in enumerate(problem.options):
        for s, value in enumerate(option.inner_transfers_ns):
            for lower in _lower(value, 0):
                inner = _with(option.inner_transfers_ns, s, lower)
                yield replace(problem, options=_with(problem.options, i, replace(option, inner_transfers_ns=inner)))


_TIMES: Final = ("forward_ns", "backward_ns", "sync_ns")
_SIZES: Final = ("static_bytes", "in_flight_bytes")

_ISLANDS_STEPS: Final[tuple[Step, ...]] = (_fewer_nodes, _plainer_tolerances)
_COMPOSITION_STEPS: Final[tuple[Step, ...]] = (
    _plainer_objective,
    _fewer_options,
    _fewer_classes,
    _fewer_required,
    _fewer_islands,
    _fewer_micro_batches,
    _fewer_atoms,
    _fewer_stages,
    _fewer_ports,
    _plainer_options,
    _smaller_everywhere,
    _smaller_transfers,
    _smaller_inner_transfers,
    *(partial(_smaller_stages, field=field) for field in ("gpus", "sync_ns", "backward_ns", *_SIZES, "forward_ns")),
)


def _may_be(problem: CompositionProblem, stage: Stage) -> bool:
    """Tell whether a problem may have a stage: where depths are chosen it must take time."""
    return problem.depths == "standard" or stage.time_ns > 0


def _divided(stage: Stage, fields: Sequence[str], divisor: int) -> Stage:
    return replace(stage, **{field: getattr(stage, field) // divisor for field in fields})


def _without_some(items: Sequence[ItemT]) -> Iterator[tuple[ItemT, ...]]:
    """Leave out one half, then quarters, and so on down to single items."""
    size = len(items)
    while size:
        size //= 2
        step = max(size, 1)
        for first in range(0, len(items), step):
            yield (*items[:first], *items[first + step :])
        if size <= 1:
            return


def _lower(value: int, least: int) -> Iterator[int]:
    """Smaller values, the smallest first; the nearest of a large one is a tenth below it, or this would not end."""
    for lower in dict.fromkeys((least, value // 1000, value // 10, value // 2, value - max(1, value // 10))):
        if least <= lower < value:
            yield lower


def _with(items: tuple[ItemT, ...], index: int, item: ItemT) -> tuple[ItemT, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _with_count(runs: tuple[SignatureRun, ...], index: int, count: int) -> tuple[SignatureRun, ...]:
    """Change the length of a run; without atoms it is gone."""
    changed = (replace(runs[index], count=count),) if count else ()
    return (*runs[:index], *changed, *runs[index + 1 :])
