"""All contiguous slices of a model, built with the parallelizer's own functions."""

from __future__ import annotations

from collections.abc import Iterator

from tangram_opt.data.model import Model
from tangram_opt.parallelizers.interface import ModelSlice, Parallelizer


def model_slices(parallelizer: Parallelizer, model: Model) -> Iterator[ModelSlice]:
    """Yield every contiguous slice of a model, by first atom and then by length.

    Parameters
    ----------
    parallelizer : Parallelizer
        Its `slice_model` gives the atoms, its `concatenate` joins them (paper section 4.2).
    model : Model
        What is sliced.

    Yields
    ------
    ModelSlice
        ``L * (L + 1) / 2`` slices of a model with `L` atoms, equal ones as often as they occur.
    """
    atoms = parallelizer.slice_model(model)
    for first in range(len(atoms)):
        joined = atoms[first]
        yield joined
        for atom in atoms[first + 1 :]:
            joined = parallelizer.concatenate(joined, atom)
            yield joined
