r"""The memory model: bytes on each GPU of the stages of a slice, for many layouts and variants at once.

Axes are those of :mod:`tangram_opt.parallelizers.cost`. Everything is rounded up.

- *Training state* (Rajbhandari et al. 2020, ZeRO, section 3.1 and 5): weights, gradients and optimizer states of the
  stage's parameters, divided by tp (experts also by ep); ZeRO 1, 2 and 3 divide optimizer states, gradients and
  weights by the number of replicas. Where gradients or weights are sharded, those of the largest atom are whole
  while it is being worked on.
- *Activations in flight* (Korthikanti et al. 2022, section 4 and 5): per micro-batch what the backward pass needs,
  divided by tp (with sequence parallelism) and cp. Selective recomputation drops attention scores, full
  recomputation keeps a layer's input only. The embedding and the head are not recomputed.
- *Working space*: under recomputation the dropped activations of one layer at a time.
- *Offloading* keeps activations in host memory; the GPU holds two micro-batches of them, one that is computed and
  one on its way.
- *Position*: under 1F1B a stage with `k` stages after it holds :math:`\min(n, k + 1)` micro-batches in flight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tangram_opt.data.island import Island
from tangram_opt.data.workload import Workload
from tangram_opt.parallelizers.collectives import FloatArray, IntArray
from tangram_opt.parallelizers.figures import SliceFigures

UNLIMITED: Final = np.iinfo(np.int64).max
"""A depth that is never reached."""

MOST_BYTES: Final = 2.0**62
"""More than any GPU has: larger demands count as this, which is in the range of 64-bit integers."""

OFFLOAD_BUFFERS: Final = 2
"""Micro-batches of activations that stay on the GPU when the rest is offloaded."""


@dataclass(frozen=True)
class StageParameters:
    """Parameters per GPU of the stages before ZeRO, of shape (layouts, stages).

    `largest_dense` and `largest_expert` are those of the largest atom of each stage.
    """

    dense: FloatArray
    expert: FloatArray
    largest_dense: FloatArray
    largest_expert: FloatArray


def stage_parameters(figures: SliceFigures, counts: FloatArray, tp: IntArray, ep: IntArray) -> StageParameters:
    """Parameters that each GPU of a stage holds.

    A tied head holds a copy of the embedding, unless the embedding is on the same stage.
    """
    apart = counts @ figures.is_embedding == 0
    held = figures.parameters + apart[:, None] * figures.tied_parameters
    expert = counts @ figures.expert_parameters
    present = counts > 0
    return StageParameters(
        dense=(counts * held).sum(axis=1) / tp[:, None],
        expert=expert / (tp * ep)[:, None],
        largest_dense=(present * held).max(axis=1) / tp[:, None],
        largest_expert=(present * figures.expert_parameters).max(axis=1) / (tp * ep)[:, None],
    )


@dataclass(frozen=True)
class KeptBytes:
    """Activation bytes per GPU of the stages, of shape (recompute, layouts, stages).

    `in_flight` is kept for every micro-batch in flight, `working` once.
    """

    in_flight: FloatArray
    working: FloatArray


def kept_bytes(figures: SliceFigures, counts: FloatArray, tokens: FloatArray, tp: IntArray) -> KeptBytes:
    """Activations that each GPU of a stage keeps, under each kind of recomputation."""
    everything = figures.activation_bytes + figures.score_bytes
    layer = figures.is_layer
    per_token = np.stack(
        [everything, figures.activation_bytes, np.where(layer, figures.input_bytes, figures.activation_bytes)]
    )
    dropped = np.stack([np.zeros_like(everything), figures.score_bytes, np.where(layer, everything, 0.0)])
    local_tokens = (tokens / tp)[None, :, None]
    largest = (dropped[:, None, :] * (counts > 0)).max(axis=2)
    return KeptBytes(
        in_flight=local_tokens * (per_token @ counts.T)[:, None, :],
        working=local_tokens * largest[:, None, :],
    )


@dataclass(frozen=True)
class StageMemory:
    """Bytes per GPU of the stages, as integers of shape (zero, recompute, offload, layouts, stages).

    `host_in_flight` is what an offloaded micro-batch takes of the host's memory, per GPU.
    """

    static: IntArray
    in_flight: IntArray
    host_in_flight: IntArray


def stage_memory(
    parameters: StageParameters, kept: KeptBytes, dp: IntArray, cp: IntArray, ep: IntArray, workload: Workload
) -> StageMemory:
    """Memory of the stages of a split under every memory-saving variant."""
    recipe = workload.recipe
    ranks = (dp * cp)[:, None]
    expert_ranks = ranks // ep[:, None]
    whole = parameters.dense + parameters.expert
    sharded = parameters.dense / ranks + parameters.expert / expert_ranks
    # Experts without replicas are not sharded.
    largest = parameters.largest_dense + np.where(expert_ranks > 1, parameters.largest_expert, 0.0)
    weights, gradients, optimizer = recipe.weight_bytes, recipe.gradient_bytes, recipe.optimizer_bytes
    state = np.stack(
        [
            whole * recipe.state_bytes,
            whole * (weights + gradients) + sharded * optimizer,
            whole * weights + sharded * (gradients + optimizer) + largest * gradients,
            sharded * recipe.state_bytes + largest * (weights + gradients),
        ]
    )
    static = state[:, None] + kept.working
    zero_stages = len(state)
    resident = np.broadcast_to(kept.in_flight, (zero_stages, *kept.in_flight.shape))
    nothing = np.zeros_like(resident)
    return StageMemory(
        static=_round_up(np.stack([static, static + OFFLOAD_BUFFERS * resident], axis=2)),
        in_flight=_round_up(np.stack([resident, nothing], axis=2)),
        host_in_flight=_round_up(np.stack([nothing, resident], axis=2)),
    )


def max_stages_after(memory: StageMemory, island: Island, workload: Workload) -> IntArray:
    """The most stages that may come after a slice's last stage, of shape (zero, recompute, offload, layouts).

    Returns
    -------
    numpy.ndarray
        Negative where a stage does not fit even as the last of the pipeline, :data:`UNLIMITED` where memory allows
        all micro-batches in flight. Every GPU of a node has an equal share of the host's memory.
    """
    limit = workload.recipe.usable_bytes(island.gpu)
    host = (island.host_memory_bytes or 0) // island.gpus_per_node
    room = np.minimum(
        _micro_batches_that_fit(limit - memory.static, memory.in_flight),
        _micro_batches_that_fit(np.full_like(memory.host_in_flight, host), memory.host_in_flight),
    )
    stages = memory.static.shape[-1]
    behind = np.arange(stages - 1, -1, -1)
    after = np.where(room >= workload.micro_batches, UNLIMITED, room - 1 - behind)
    return np.asarray(np.where(room < 1, -1, after).min(axis=-1))


def _micro_batches_that_fit(room: IntArray, each: IntArray) -> IntArray:
    fits = np.where(each > 0, room // np.maximum(each, 1), UNLIMITED)
    return np.where(room < 0, 0, fits)


def _round_up(values: FloatArray) -> IntArray:
    return np.ceil(np.minimum(values, MOST_BYTES)).astype(np.int64)
