r"""The cost model: time of the stages of a slice, for many layouts and all memory-saving variants at once.

Arrays are over layouts `c`, distinct atoms `u`, stages `s`, and variants as axes zero `z`, recompute `r`, offload
`o`. One GPU of a layout handles :math:`m = \frac{\text{micro-batch}}{dp} \cdot \frac{\text{sequence}}{cp}` tokens
of a micro-batch. Forward pass of one atom:

- *products*: operations / (tp x achieved rate), but no less than it takes to read its weights once (the roofline,
  Williams et al. 2009); experts read the weights that the tokens of the micro-batch can visit at most, an
  embedding the rows of its tokens;
- *activations*: what is kept for the backward pass is written once to memory (everything between matrix products is
  bound by memory, Ivanov et al. 2021, Data movement is all you need);
- *tensor parallelism*: ring all-reduces of the hidden activation, or with sequence parallelism the equal volume of
  all-gathers and reduce-scatters (Shoeybi et al. 2019, section 3; Korthikanti et al. 2022, section 4.2);
- *context parallelism*: keys and values go around the ring in cp - 1 steps, each beside the attention to the chunk
  at hand; time that this does not hide is added (Liu et al. 2023, Ring attention, section 3);
- *expert parallelism*: two all-to-alls of the copies that go to experts (Lepikhin et al. 2020, GShard, section 3.2);
  experts that are split by tensor parallelism as well gather and reduce the copies instead of the tokens.

The backward pass takes twice the products, reads the kept activations back, and repeats the communication; around
the ring go keys and values and their gradients.
Recomputation repeats the attention scores (selective) or the whole forward pass of the layers (full), before it.
Offloading moves what is kept over the host link meanwhile: a pass takes at least that long (Rhu et al. 2016, vDNN).
ZeRO 3 gathers the weights in each pass, ZeRO 2 and 3 reduce and scatter gradients in every backward pass, since a
pipeline holds several micro-batches of them (Rajbhandari et al. 2020, section 7).

At the end of an iteration gradients are summed over the replicas, sharded weights are gathered, and the optimizer
reads and writes its state once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tangram_opt.data.island import Island
from tangram_opt.data.model import HALF_PRECISION_BYTES
from tangram_opt.data.units import NS_PER_S
from tangram_opt.data.workload import Workload
from tangram_opt.parallelizers.collectives import (
    FloatArray,
    IntArray,
    all_gather_ns,
    all_reduce_ns,
    all_to_all_ns,
    host_bandwidth,
    ring_bandwidth,
    transfer_ns,
)
from tangram_opt.parallelizers.figures import SliceFigures
from tangram_opt.parallelizers.layout import Layout
from tangram_opt.parallelizers.memory import KeptBytes, StageParameters


@dataclass(frozen=True)
class LayoutArrays:
    """The degrees of many layouts as columns of shape (layouts,), and tokens per GPU and micro-batch."""

    tp: IntArray
    cp: IntArray
    dp: IntArray
    ep: IntArray
    tokens: FloatArray

    @classmethod
    def of(cls, layouts: list[Layout], workload: Workload) -> LayoutArrays:
        """Collect the degrees of `layouts`."""
        tp, cp, dp, ep = (np.array([getattr(x, k) for x in layouts], dtype=np.int64) for k in ("tp", "cp", "dp", "ep"))
        tokens = workload.micro_batch * workload.sequence_length / (dp * cp)
        return cls(tp, cp, dp, ep, tokens)


@dataclass(frozen=True)
class PassTimes:
    """Nanoseconds of one micro-batch per distinct atom, of shape (layouts, distinct atoms).

    `recompute` has a leading axis over the kinds of recomputation: what each adds to the backward pass.
    """

    forward: FloatArray
    backward: FloatArray
    recompute: FloatArray


def pass_times(figures: SliceFigures, island: Island, layout: LayoutArrays) -> PassTimes:
    """Time of the forward and the backward pass of each distinct atom, apart from ZeRO and offloading."""
    gpu = island.gpu
    tp, cp, ep = (degree[:, None] for degree in (layout.tp, layout.cp, layout.ep))
    tokens = layout.tokens[:, None]
    local_tokens = tokens / tp
    ns_per_flop = NS_PER_S / gpu.matmul_flops_per_s
    ns_per_byte = NS_PER_S / gpu.memory_bytes_per_s

    hidden = figures.hidden_bytes * tokens
    weights = HALF_PRECISION_BYTES * (figures.parameters + figures.tied_parameters) / tp
    weights = np.where(figures.is_embedding, np.minimum(weights, hidden / tp), weights)
    # The tokens of all GPUs of an expert group meet; at most every local expert is visited.
    visited = np.minimum(1.0, tokens * ep * figures.visited_expert_share)
    expert_weights = HALF_PRECISION_BYTES * figures.expert_parameters / (tp * ep) * visited
    attention = figures.attention_flops * local_tokens * ns_per_flop
    products = (
        np.maximum(figures.linear_flops * local_tokens * ns_per_flop, weights * ns_per_byte)
        + np.maximum(figures.expert_flops * local_tokens * ns_per_flop, expert_weights * ns_per_byte)
        + attention
    )
    scores = figures.score_bytes * local_tokens * ns_per_byte
    traffic = figures.activation_bytes * local_tokens * ns_per_byte + scores

    tensor_bandwidth = ring_bandwidth(island, layout.tp, np.ones_like(layout.tp))[:, None]
    copies = np.where((ep > 1) & (figures.dispatch_bytes > 0), figures.dispatch_bytes * tokens - hidden, 0.0)
    tensor = all_reduce_ns(figures.all_reduces * hidden + copies, tp, tensor_bandwidth)
    tensor_backward = all_reduce_ns(figures.backward_all_reduces * hidden + copies, tp, tensor_bandwidth)
    ring = ring_bandwidth(island, layout.cp, layout.tp)[:, None]
    # Where there are fewer key/value heads than ranks, each rank has a copy of one.
    key_value_ranks = np.minimum(tp, np.maximum(1, figures.key_value_heads))
    sent = transfer_ns((cp - 1) * figures.key_value_bytes * tokens / key_value_ranks, ring)
    context = np.maximum(0.0, sent - attention * (cp - 1) / cp)
    # One column at a time: the all-to-all takes one size and stride per layout.
    expert = 2 * np.stack(
        [
            all_to_all_ns(island, per_token * layout.tokens / layout.tp, layout.ep, layout.tp)
            for per_token in figures.dispatch_bytes
        ],
        axis=1,
    )

    forward = products + traffic + tensor + context + expert
    backward = 2 * products + traffic + tensor_backward + 2 * context + expert
    layer_forward = np.where(figures.is_layer, forward, 0.0)
    recompute = np.stack([np.zeros_like(forward), attention + scores, layer_forward])
    return PassTimes(forward, backward, recompute)


@dataclass(frozen=True)
class StageTimes:
    """Nanoseconds per stage, of shape (zero, recompute, offload, layouts, stages)."""

    forward: FloatArray
    backward: FloatArray
    sync: FloatArray


def stage_times(
    passes: PassTimes,
    counts: FloatArray,
    parameters: StageParameters,
    kept: KeptBytes,
    island: Island,
    layout: LayoutArrays,
    workload: Workload,
) -> StageTimes:
    """Time of the stages of a split under every memory-saving variant.

    Parameters
    ----------
    passes : PassTimes
        Of the distinct atoms.
    counts : numpy.ndarray
        Atoms per stage, of shape (stages, distinct atoms).
    parameters, kept : StageParameters, KeptBytes
        What the stages hold per GPU.
    island, layout, workload
        Where and what.

    Returns
    -------
    StageTimes
        Arrays of shape (zero, recompute, offload, layouts, stages), where an axis may have length 1.
    """
    recipe = workload.recipe
    ranks = (layout.dp * layout.cp)[:, None]
    expert_ranks = ranks // layout.ep[:, None]
    dense_ring = ring_bandwidth(island, layout.dp * layout.cp, layout.tp)[:, None]
    expert_ring = ring_bandwidth(island, layout.dp * layout.cp // layout.ep, layout.tp * layout.ep)[:, None]

    def gather_ns(bytes_per_parameter: int) -> FloatArray:
        return all_gather_ns(parameters.dense * bytes_per_parameter, ranks, dense_ring) + all_gather_ns(
            parameters.expert * bytes_per_parameter, expert_ranks, expert_ring
        )

    gather_weights, scatter_gradients = gather_ns(recipe.weight_bytes), gather_ns(recipe.gradient_bytes)
    nothing = np.zeros_like(gather_weights)
    # Indexed by ZeRO stage.
    zero_forward = np.stack([nothing, nothing, nothing, gather_weights])
    zero_backward = np.stack([nothing, nothing, scatter_gradients, gather_weights + scatter_gradients])
    zero_sync = np.stack([2 * scatter_gradients, scatter_gradients + gather_weights, gather_weights, nothing])

    everything = parameters.dense + parameters.expert
    sharded = parameters.dense / ranks + parameters.expert / expert_ranks
    updated = np.stack([everything, sharded, sharded, sharded])
    # Read and written once.
    optimizer = 2 * NS_PER_S * updated * recipe.state_bytes / island.gpu.memory_bytes_per_s

    # Recomputation changes the backward pass only, and what offloading has to move in either pass.
    # An atom whose time is infinite leaves no finite time on any stage: infinite where it is, NaN elsewhere.
    with np.errstate(invalid="ignore"):
        forward = zero_forward[:, None] + np.broadcast_to(passes.forward, passes.recompute.shape) @ counts.T
        backward = zero_backward[:, None] + (passes.backward + passes.recompute) @ counts.T
    moved = transfer_ns(kept.in_flight, host_bandwidth(island))
    return StageTimes(
        forward=np.stack([forward, np.maximum(forward, moved)], axis=2),
        backward=np.stack([backward, np.maximum(backward, moved)], axis=2),
        sync=(zero_sync + optimizer)[:, None, None],
    )


def inner_transfers_ns(layouts: list[Layout], island: Island, stages: int, hidden_bytes: int) -> FloatArray:
    """One-way transfer times between neighbouring stages inside an island.

    Parameters
    ----------
    layouts : list of Layout
        All with `stages` pipeline stages.
    island : Island
        Where.
    stages : int
        Pipeline stages of the slice.
    hidden_bytes : int
        The activation of one micro-batch over all replicas.

    Returns
    -------
    numpy.ndarray
        Nanoseconds, of shape (layouts, stages - 1). Each GPU sends its share to its partner in the next stage;
        across nodes all GPUs of a node share its network link.
    """
    node = island.gpus_per_node
    transfers = np.zeros((len(layouts), max(0, stages - 1)))
    for row, layout in enumerate(layouts):
        width = layout.width
        for boundary in range(stages - 1):
            last_gpu = (boundary + 1) * width - 1
            if last_gpu // node == (last_gpu + 1) // node:
                rate = width * island.group_bandwidth_bytes_per_s(node)
            else:
                rate = max(1, width // node) * island.network_bytes_per_s
            transfers[row, boundary] = NS_PER_S * hidden_bytes / rate if rate else np.inf
    return transfers
