"""Atoms, islands and workloads made by hand, and random ones."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from tangram_opt.data.cluster import Gpu
from tangram_opt.data.island import Island
from tangram_opt.data.model import Atom, AtomRun
from tangram_opt.data.workload import TrainingRecipe, Workload
from tangram_opt.parallelizers.interface import ModelSlice

GIGA = 10**9
MIXED_ADAM = TrainingRecipe("mixed-adam", weight_bytes=2, gradient_bytes=2, optimizer_bytes=12, reserved_bytes=0)


def gpt_layer(hidden: int = 1024, heads: int = 16) -> Atom:
    """A GPT layer with dropout: 12 h^2 weights, 34 h bytes a token and 5 bytes a pair and head."""
    return Atom(
        kind="layer",
        signature=f"gpt-{hidden}",
        hidden_size=hidden,
        parameters=12 * hidden**2 + 13 * hidden,
        tied_parameters=0,
        expert_parameters=0,
        experts=0,
        experts_per_token=0,
        linear_flops_per_token=24 * hidden**2,
        expert_flops_per_token=0,
        attention_flops_per_pair=4 * hidden,
        attention_window=None,
        attention_heads=heads,
        key_value_heads=heads,
        key_value_bytes_per_token=4 * hidden,
        activation_bytes_per_token=34 * hidden,
        attention_activation_bytes_per_pair=5 * heads,
        input_bytes_per_token=2 * hidden,
        tensor_parallel_all_reduces=2,
    )


def moe_layer(
    hidden: int = 1024, heads: int = 16, experts: int = 8, visited: int = 2, key_value_heads: int = 2
) -> Atom:
    """Grouped-query attention in front of gated experts of width 2 h."""
    keys = hidden // heads * key_value_heads
    expert = 6 * hidden**2
    return replace(
        gpt_layer(hidden, heads),
        signature=f"moe-{experts}",
        parameters=2 * hidden**2 + 2 * hidden * keys + hidden * experts + 2 * hidden,
        expert_parameters=experts * expert,
        experts=experts,
        experts_per_token=visited,
        linear_flops_per_token=4 * hidden**2 + 4 * hidden * keys + 2 * hidden * experts,
        expert_flops_per_token=visited * 2 * expert,
        key_value_heads=key_value_heads,
        key_value_bytes_per_token=4 * keys,
        activation_bytes_per_token=12 * hidden + 4 * keys + visited * 16 * hidden + 4 * experts,
        attention_activation_bytes_per_pair=0,
    )


def scan_layer(hidden: int = 1024) -> Atom:
    """A layer without attention."""
    return replace(
        gpt_layer(hidden),
        signature="scan",
        attention_heads=0,
        key_value_heads=0,
        key_value_bytes_per_token=0,
        attention_flops_per_pair=0,
        attention_activation_bytes_per_pair=0,
        tensor_parallel_all_reduces=1,
    )


def _without_attention(hidden: int) -> Atom:
    return replace(scan_layer(hidden), linear_flops_per_token=0)


def embedding(hidden: int = 1024, vocabulary: int = 32_000) -> Atom:
    """Look-up of tokens, with dropout behind it."""
    return replace(
        _without_attention(hidden),
        kind="embedding",
        signature="embedding",
        parameters=vocabulary * hidden,
        activation_bytes_per_token=8 + hidden,
        input_bytes_per_token=8,
        tensor_parallel_all_reduces=1,
    )


def head(hidden: int = 1024, vocabulary: int = 32_000, *, tied: bool = False) -> Atom:
    """Final norm and the projection to the vocabulary, with 32-bit logits."""
    weights = vocabulary * hidden
    return replace(
        _without_attention(hidden),
        kind="head",
        signature="head",
        parameters=hidden + (0 if tied else weights),
        tied_parameters=weights if tied else 0,
        linear_flops_per_token=2 * weights,
        activation_bytes_per_token=4 * hidden + 4 * vocabulary,
        tensor_parallel_all_reduces=0,
    )


def sliced(*runs: tuple[Atom, int]) -> ModelSlice:
    return ModelSlice(tuple(AtomRun(atom, count) for atom, count in runs))


GPT = sliced((embedding(), 1), (gpt_layer(), 6), (head(tied=True), 1))
MOE = sliced((embedding(), 1), (moe_layer(), 4), (head(), 1))
HYBRID = sliced((scan_layer(), 3), (moe_layer(), 1), (scan_layer(), 2))


def gpu(memory: int = 16 * GIGA) -> Gpu:
    return Gpu(
        name="example",
        peak_flops_per_s=125 * 10**12,
        matmul_flops_per_s=86 * 10**12,
        memory_bytes=memory,
        memory_bytes_per_s=900 * GIGA,
        host_link_bytes_per_s=16 * GIGA,
    )


def links(gpus: int, rate: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(0 if i == j else rate for j in range(gpus)) for i in range(gpus))


def bridged_links(pairs: int, fast: int, slow: int) -> tuple[tuple[int, ...], ...]:
    """Pairs of neighbours joined by a bridge."""
    return tuple(
        tuple(0 if i == j else fast if i // 2 == j // 2 else slow for j in range(2 * pairs)) for i in range(2 * pairs)
    )


def island(
    nodes: int = 2,
    gpus_per_node: int = 4,
    *,
    memory: int = 16 * GIGA,
    link: int = 100 * GIGA,
    network: int = 12 * GIGA,
    host_memory: int | None = None,
) -> Island:
    return Island(
        name="example",
        gpu=gpu(memory),
        nodes=nodes,
        gpus_per_node=gpus_per_node,
        link_bytes_per_s=links(gpus_per_node, link),
        network_bytes_per_s=network if nodes > 1 else 0,
        host_memory_bytes=host_memory,
    )


def workload(
    micro_batch: int = 4, micro_batches: int = 8, sequence_length: int = 1024, recipe: TrainingRecipe = MIXED_ADAM
) -> Workload:
    return Workload(micro_batch * micro_batches, sequence_length, micro_batch, recipe)


@st.composite
def slices(draw: st.DrawFn) -> ModelSlice:
    """Slices with or without an embedding and a head, of one or two runs of layers."""
    runs = []
    if draw(st.booleans()):
        runs.append((embedding(), 1))
    kinds = draw(st.lists(st.sampled_from([gpt_layer(), moe_layer(), scan_layer()]), unique=True, max_size=2))
    runs += [(atom, draw(st.integers(1, 4))) for atom in kinds]
    if not runs or draw(st.booleans()):
        runs.append((head(tied=draw(st.booleans())), 1))
    return sliced(*runs)


@st.composite
def islands(draw: st.DrawFn) -> Island:
    """Islands of up to three nodes whose memory is often the limit."""
    gpus_per_node = draw(st.sampled_from([1, 2, 4, 6, 8]))
    pairs = gpus_per_node % 2 == 0 and draw(st.booleans())
    nodes = draw(st.integers(1, 3))
    plain = island(
        nodes,
        gpus_per_node,
        memory=draw(st.integers(100, 12_000)) * 10**6,
        link=draw(st.sampled_from([8, 100])) * GIGA,
        network=draw(st.sampled_from([0, 1, 12])) * GIGA,
        host_memory=draw(st.sampled_from([None, 2 * GIGA, 64 * GIGA])),
    )
    return replace(plain, link_bytes_per_s=bridged_links(gpus_per_node // 2, 200 * GIGA, 8 * GIGA)) if pairs else plain


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    return workload(
        micro_batch=draw(st.sampled_from([1, 2, 3, 4, 8])),
        micro_batches=draw(st.sampled_from([1, 2, 4, 16])),
        sequence_length=draw(st.sampled_from([128, 512, 1000, 2048])),
        recipe=replace(MIXED_ADAM, reserved_bytes=draw(st.sampled_from([0, 50_000_000]))),
    )
