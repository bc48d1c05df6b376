"""A suffix of the pipeline with one value, as the two heuristic dynamic programs keep it."""

from __future__ import annotations

from dataclasses import dataclass

from tangram_opt.composition.answer import answer, placed
from tangram_opt.composition.base import CompositionBackend
from tangram_opt.composition.objective import iteration_of_parts_ns
from tangram_opt.composition.placement import depth_limit, positions
from tangram_opt.data.composition import Composition, CompositionProblem, Option
from tangram_opt.result import Result, StopReason


@dataclass(frozen=True, slots=True)
class Candidate:
    """An option with what the dynamic programs need of it.

    Attributes
    ----------
    index : int
        In the problem.
    option : Option
        The option.
    island : int
        Index of its island class.
    limit : int or None
        Most stages that may come after it.
    """

    index: int
    option: Option
    island: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Partial:
    """Options from some atom to the last one.

    Attributes
    ----------
    value_ns : int
        Iteration time if this were the whole pipeline.
    bottleneck_ns, sum_ns, sync_ns : int
        Its parts.
    stages : int
        Number of stages.
    first, rest : Candidate and Partial, or None
        Its first option, and what is behind it; None for the empty suffix.
    """

    value_ns: int
    bottleneck_ns: int
    sum_ns: int
    sync_ns: int
    stages: int
    first: Candidate | None
    rest: Partial | None

    def options(self) -> tuple[int, ...]:
        """Indices of its options, front to back."""
        indices = []
        suffix: Partial | None = self
        while suffix is not None and suffix.first is not None:
            indices.append(suffix.first.index)
            suffix = suffix.rest
        return tuple(indices)


EMPTY = Partial(0, 0, 0, 0, 0, None, None)


def prepend(problem: CompositionProblem, candidate: Candidate, suffix: Partial) -> Partial | None:
    """Put an option in front of a suffix; None where more stages come after it than it tolerates."""
    if candidate.limit is not None and suffix.stages > candidate.limit:
        return None
    option = candidate.option
    sum_ns = option.sum_ns + suffix.sum_ns
    if suffix.first is not None:
        entry = problem.port_index[suffix.first.option.entry_port]
        sum_ns += 2 * problem.transfer_ns[problem.port_index[option.exit_port]][entry]
    bottleneck_ns = max(option.bottleneck_ns, suffix.bottleneck_ns)
    sync_ns = max(option.sync_ns, suffix.sync_ns)
    value_ns = iteration_of_parts_ns(problem.micro_batches, bottleneck_ns, sum_ns, sync_ns)
    stages = suffix.stages + len(option.stages)
    return Partial(value_ns, bottleneck_ns, sum_ns, sync_ns, stages, candidate, suffix)


def candidates_by_end(problem: CompositionProblem) -> list[list[Candidate]]:
    """List, for each atom, the options that can end right before it and fit in memory as the last of the pipeline."""
    by_end: list[list[Candidate]] = [[] for _ in range(problem.length + 1)]
    for index, option in enumerate(problem.options):
        island = problem.class_index[option.island]
        limit = depth_limit(option, problem.islands[island], problem.micro_batches)
        if limit is None or limit >= 0:
            for first in positions(problem, option):
                by_end[first + option.length].append(Candidate(index, option, island, limit))
    return by_end


def better(one: Partial | None, other: Partial | None) -> Partial | None:
    """Take the one with the smaller value, the first of equals."""
    if one is None or (other is not None and other.value_ns < one.value_ns):
        return other
    return one


def heuristic_answer(
    solver: CompositionBackend,
    problem: CompositionProblem,
    best: Partial | None,
    stop_reason: StopReason,
    wall_s: float,
) -> Result[Composition]:
    """Re-evaluate what a heuristic found; it has no bound."""
    return answer(
        problem,
        placed(problem, best.options()) if best else None,
        bound=None,
        claimed=best.value_ns if best else None,
        stop_reason=stop_reason,
        wall_s=wall_s,
        solver=solver.name,
        solver_version=solver.version(),
        formulation=solver.formulation,
        log=() if best else ("found no composition, which does not prove that there is none",),
    )
