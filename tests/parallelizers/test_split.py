"""Balanced splits against all compositions."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tangram_opt.parallelizers.split import balanced_splits


def all_splits(length: int, parts: int) -> list[tuple[int, ...]]:
    return [tuple(b - a for a, b in pairwise((0, *cuts, length))) for cuts in combinations(range(1, length), parts - 1)]


def loads(weights: tuple[int, ...], sizes: tuple[int, ...]) -> list[int]:
    ends = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    return [sum(weights[a:b]) for a, b in pairwise(ends)]


@given(st.lists(st.one_of(st.integers(0, 9), st.integers(0, 10**13)), min_size=1, max_size=9).map(tuple))
def test_the_largest_part_is_as_small_as_possible(weights: tuple[int, ...]) -> None:
    splits = balanced_splits(weights, len(weights))
    assert len(splits) == len(weights)
    for parts, sizes in enumerate(splits, start=1):
        assert len(sizes) == parts
        assert min(sizes) >= 1
        assert sum(sizes) == len(weights)
        best = min(max(loads(weights, other)) for other in all_splits(len(weights), parts))
        assert max(loads(weights, sizes)) == best


@given(st.integers(1, 40), st.integers(1, 10**12))
def test_equal_atoms_are_shared_evenly_and_the_front_never_holds_more(length: int, weight: int) -> None:
    for sizes in balanced_splits((weight,) * length, length):
        assert list(sizes) == sorted(sizes)
        assert max(sizes) - min(sizes) <= 1


def test_parts_below_the_largest_are_levelled() -> None:
    # The last atom fixes the maximum; 4+2, 5+1, ... all reach it.
    assert balanced_splits((1, 1, 1, 1, 1, 1, 9), 3)[2] == (3, 3, 1)


def test_a_heavy_head_takes_its_stage_alone() -> None:
    assert balanced_splits((0, 4, 4, 4, 4, 8), 3)[2] == (3, 2, 1)


@pytest.mark.parametrize("most", [1, 2, 5])
def test_no_more_parts_than_asked_for(most: int) -> None:
    assert [len(sizes) for sizes in balanced_splits((3, 1, 4, 1, 5), most)] == list(range(1, most + 1))
