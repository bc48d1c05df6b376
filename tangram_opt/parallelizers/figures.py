"""The figures of a slice as arrays over its distinct atoms, for one sequence length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tangram_opt.data.model import HALF_PRECISION_BYTES, Atom
from tangram_opt.parallelizers.collectives import BoolArray, FloatArray
from tangram_opt.parallelizers.interface import ModelSlice


@dataclass(frozen=True)
class SliceFigures:
    """Arrays of shape (distinct atoms,); the names follow :class:`tangram_opt.data.model.Atom`.

    Attributes
    ----------
    order : tuple of int
        For each atom of the slice its index into the arrays.
    work : tuple of int
        Forward operations per token of each atom of the slice: the weights of a balanced split.
    visited_expert_share : numpy.ndarray
        Experts that a token visits over all experts; 0 for dense atoms.
    hidden_bytes, dispatch_bytes : numpy.ndarray
        Bytes per token of the activation between atoms, and of the copies that a token's experts are sent.
    all_reduces, backward_all_reduces : numpy.ndarray
        All-reduces of one hidden activation under tensor parallelism. A layer has as many in both passes; a split
        vocabulary sums what the embedding found in the forward pass and the gradient of the head's input in the
        backward pass (Shoeybi et al. 2019, section 3).
    """

    order: tuple[int, ...]
    work: tuple[int, ...]
    is_layer: BoolArray
    is_embedding: BoolArray
    parameters: FloatArray
    tied_parameters: FloatArray
    expert_parameters: FloatArray
    visited_expert_share: FloatArray
    linear_flops: FloatArray
    attention_flops: FloatArray
    expert_flops: FloatArray
    activation_bytes: FloatArray
    score_bytes: FloatArray
    input_bytes: FloatArray
    key_value_heads: FloatArray
    key_value_bytes: FloatArray
    hidden_bytes: FloatArray
    dispatch_bytes: FloatArray
    all_reduces: FloatArray
    backward_all_reduces: FloatArray

    def stage_counts(self, sizes: tuple[int, ...]) -> FloatArray:
        """How often each distinct atom occurs in each part of a split, of shape (parts, distinct atoms)."""
        counts = np.zeros((len(sizes), len(self.is_layer)))
        start = 0
        for stage, size in enumerate(sizes):
            np.add.at(counts[stage], list(self.order[start : start + size]), 1)
            start += size
        return counts


def slice_figures(model_slice: ModelSlice, sequence_length: int) -> SliceFigures:
    """Collect the figures of a slice for sequences of `sequence_length` tokens."""
    atoms: list[Atom] = []
    for run in model_slice.runs:
        if run.atom not in atoms:
            atoms.append(run.atom)

    def array(figure: Callable[[Atom], float]) -> FloatArray:
        return np.array([figure(atom) for atom in atoms], dtype=np.float64)

    order = tuple(atoms.index(run.atom) for run in model_slice.runs for _ in range(run.count))
    work = [atom.forward_flops_per_token(sequence_length) for atom in atoms]
    return SliceFigures(
        order=order,
        work=tuple(work[i] for i in order),
        is_layer=np.array([atom.kind == "layer" for atom in atoms]),
        is_embedding=np.array([atom.kind == "embedding" for atom in atoms]),
        parameters=array(lambda atom: atom.parameters),
        tied_parameters=array(lambda atom: atom.tied_parameters),
        expert_parameters=array(lambda atom: atom.expert_parameters),
        visited_expert_share=array(lambda atom: atom.experts_per_token / atom.experts if atom.experts else 0),
        linear_flops=array(lambda atom: atom.linear_flops_per_token),
        attention_flops=array(lambda atom: atom.attention_flops_per_token(sequence_length)),
        expert_flops=array(lambda atom: atom.expert_flops_per_token),
        activation_bytes=array(lambda atom: atom.activation_bytes_per_token),
        score_bytes=array(
            lambda atom: atom.attention_activation_bytes_per_pair * atom.attended_tokens(sequence_length)
        ),
        input_bytes=array(lambda atom: atom.input_bytes_per_token),
        key_value_heads=array(lambda atom: atom.key_value_heads),
        key_value_bytes=array(lambda atom: atom.key_value_bytes_per_token),
        hidden_bytes=array(lambda atom: atom.hidden_size * HALF_PRECISION_BYTES),
        dispatch_bytes=array(lambda atom: atom.experts_per_token * atom.hidden_size * HALF_PRECISION_BYTES),
        all_reduces=array(lambda atom: atom.tensor_parallel_all_reduces),
        backward_all_reduces=array(_backward_all_reduces),
    )


def _backward_all_reduces(atom: Atom) -> int:
    if atom.kind == "layer":
        return atom.tensor_parallel_all_reduces
    return 1 if atom.kind == "head" else 0
