"""Brute force: every sequence of options, judged by `check` and `evaluate` alone."""

from collections import Counter
from collections.abc import Iterator

from tangram_opt.composition import check, evaluate, positions
from tangram_opt.data.composition import Composition, CompositionProblem, Pick


def tilings(problem: CompositionProblem) -> Iterator[Composition]:
    """All tilings of the model that use no class more often than it has islands."""
    counts = {island.name: island.count for island in problem.islands}
    at: dict[int, list[int]] = {}
    for index, option in enumerate(problem.options):
        for first in positions(problem, option):
            at.setdefault(first, []).append(index)

    def grow(first: int, picks: tuple[Pick, ...], used: Counter[str]) -> Iterator[Composition]:
        if first == problem.length:
            yield Composition(problem.name, picks)
            return
        for index in at.get(first, ()):
            option = problem.options[index]
            if used[option.island] < counts[option.island]:
                yield from grow(first + option.length, (*picks, Pick(index, first)), used + Counter([option.island]))

    yield from grow(0, (), Counter())


def brute_force(problem: CompositionProblem) -> int | None:
    """The optimum, or None where nothing is allowed."""
    return min(
        (evaluate(problem, c).objective_ns for c in tilings(problem) if not check(problem, c)),
        default=None,
    )
