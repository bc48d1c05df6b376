"""Every contiguous slice, by the parallelizer's own hand."""

from __future__ import annotations

import pytest
from small_problems import LAYER, small_model

from tangram_opt.data.model import AtomRun, Model
from tangram_opt.enumeration import model_slices
from tangram_opt.parallelizers import ModelSlice, UniformParallelizer


class Noting(UniformParallelizer):
    """Remembers what it was told to join."""

    def __init__(self) -> None:
        self.joined: list[tuple[int, int]] = []

    def concatenate(self, front: ModelSlice, back: ModelSlice) -> ModelSlice:
        self.joined.append((front.length, back.length))
        return super().concatenate(front, back)


class InPairs(UniformParallelizer):
    """Never cuts between the two layers of a pair."""

    def slice_model(self, model: Model) -> list[ModelSlice]:
        atoms = super().slice_model(model)
        return [self.concatenate(front, back) for front, back in zip(atoms[::2], atoms[1::2], strict=True)]


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_a_model_has_as_many_slices_as_pairs_of_ends(layers: int) -> None:
    model = small_model(layers)
    atoms = [atom.signature for atom in model.atoms()]
    slices = [
        [run.signature for run in piece.signature for _ in range(run.count)]
        for piece in model_slices(UniformParallelizer(), model)
    ]
    length = layers + 2
    assert len(slices) == length * (length + 1) // 2
    assert slices == [atoms[first:last] for first in range(length) for last in range(first + 1, length + 1)]


def test_equal_neighbours_are_one_run() -> None:
    model = Model("layers", "example", (AtomRun(LAYER, 2), AtomRun(LAYER, 1)))
    pieces = list(model_slices(UniformParallelizer(), model))
    assert [(len(piece.runs), piece.length) for piece in pieces] == [(1, 1), (1, 2), (1, 3), (1, 1), (1, 2), (1, 1)]


def test_slices_grow_by_one_atom_through_the_parallelizers_own_function() -> None:
    parallelizer = Noting()
    list(model_slices(parallelizer, small_model(2)))
    assert parallelizer.joined == [(1, 1), (2, 1), (3, 1), (1, 1), (2, 1), (1, 1)]


def test_the_parallelizer_says_where_a_model_may_be_cut() -> None:
    assert [piece.length for piece in model_slices(InPairs(), small_model(4))] == [2, 4, 6, 2, 4, 2]
