"""A suffix of the pipeline with one value, as the two heuristic dynamic programs keep it."""

from __future__ import annotations

from dataclasses import dataclass

from tangram_opt.composition.objective import closed_form_of_parts_ns
from tangram_opt.composition.placement import depth_limit, positions
from tangram_opt.data.composition import CompositionProblem, Option


@dataclass(frozen=True, slots=True)
class Candidate:
    """An option with what the dynamic programs need of it.

    Attributes
    ----------
    index : int
        In the problem.
    option : Option
        The option.
    limit : int or None
        Most stages that may come after it.
    """

    index: int
    option: Option
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
    value_ns = closed_form_of_parts_ns(problem.micro_batches, bottleneck_ns, sum_ns, sync_ns)
    stages = suffix.stages + len(option.stages)
    return Partial(value_ns, bottleneck_ns, sum_ns, sync_ns, stages, candidate, suffix)


def candidates(problem: CompositionProblem) -> list[tuple[Candidate, tuple[int, ...]]]:
    """All options that fit in memory at least as the last of the pipeline, with the atoms behind their slices."""
    classes = {island.name: island for island in problem.islands}
    result = []
    for index, option in enumerate(problem.options):
        limit = depth_limit(option, classes[option.island], problem.micro_batches)
        if limit is None or limit >= 0:
            ends = tuple(first + option.length for first in positions(problem, option))
            result.append((Candidate(index, option, limit), ends))
    return result
