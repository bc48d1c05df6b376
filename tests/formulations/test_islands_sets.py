"""The islands that models write out are those that brute force finds, each once."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from islands_strategies import hard_problems

from formulations import islands_sets
from formulations.islands_sets import all_islands, largest_islands, largest_islands_by_compute
from tangram_opt.islands.closure import bits
from tangram_opt.islands.parts import Part, whole_part


def every_island(part: Part) -> set[int]:
    found = set()
    for size in range(1, part.size + 1):
        for chosen in combinations(range(part.size), size):
            mask = sum(1 << block for block in chosen)
            pairs = list(combinations(chosen, 2))
            if all(part.together[pair] and not part.closure(*pair) & ~mask for pair in pairs):
                found.add(mask)
    return found


def slowest(part: Part, island: int) -> int:
    return min(part.blocks[block].low[0] for block in bits(island))


def largest(islands: set[int]) -> set[int]:
    return {one for one in islands if not any(one != other and not one & ~other for other in islands)}


@given(hard_problems(most=7))
def test_islands_written_out_are_those_of_brute_force(problem):
    part = whole_part(problem)
    islands = every_island(part)
    found = all_islands(part)
    assert found is not None
    assert (len(found), set(found)) == (len(islands), islands)
    if part.closures:
        return
    for listed, expected in (
        (largest_islands(part), largest(islands)),
        (
            largest_islands_by_compute(part),
            set().union(
                *(
                    {
                        one
                        for one in largest({i for i in islands if slowest(part, i) >= low})
                        if slowest(part, one) == low
                    }
                    for low in {block.low[0] for block in part.blocks}
                )
            ),
        ),
    ):
        assert listed is not None
        assert (len(listed), set(listed)) == (len(expected), expected)


def test_too_many_sets_and_too_long_a_search_are_given_up(monkeypatch):
    @given(hard_problems(most=6))
    def holds(problem):
        part = whole_part(problem)
        assert largest_islands(part) is None or not part.size

    for name in ("LIMIT", "EFFORT"):
        with monkeypatch.context() as patched:
            patched.setattr(islands_sets, name, 0)
            holds()
